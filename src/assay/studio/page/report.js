/**
 * The report inside the page: a frame without scripts, whose document is built by hand. The page's policy forbids styles
 * within markup, so the report's style sheet is adopted as an object and its style attributes are set one by one.
 */
import { byId, el, fill, pictureButton, saveAs } from "./dom.js";

/** @param {string} markup the report as a file */
export function openReport(markup) {
  const dialog = byId("report", HTMLDialogElement);
  const frame = el("iframe", { title: "Report", sandbox: "allow-same-origin", "data-role": "report-frame" });
  const save = () => saveAs(new Blob([markup], { type: "text/html" }), "report.html");
  fill(
    dialog,
    el(
      "div",
      { class: "dialog-head" },
      el("h2", {}, "Report"),
      pictureButton("save-report", "Save the report as a file", "save", save, "Save"),
      pictureButton("close-report", "Close the report", "close", () => dialog.close()),
    ),
    frame,
  );
  dialog.showModal();
  build(frame, new DOMParser().parseFromString(setAside(markup), "text/html"));
}

/** Give styles other names before parsing, as the parser obeys the page's policy too. @param {string} markup */
function setAside(markup) {
  return markup.replace(/<[^>]*>/g, (tag) =>
    tag
      .replace(/^<style\b/i, "<template data-sheet")
      .replace(/^<\/style\b/i, "</template")
      .replace(/\sstyle=/gi, " data-style="),
  );
}

/** @param {Element} node a template holds its text apart */
function sheetText(node) {
  return (node instanceof HTMLTemplateElement ? node.content.textContent : node.textContent) ?? "";
}

/** @param {HTMLIFrameElement} frame @param {Document} report */
function build(frame, report) {
  const page = frame.contentDocument;
  const inside = /** @type {(Window & typeof globalThis) | null} */ (frame.contentWindow);
  if (!page || !inside) return;
  const sheets = [...report.querySelectorAll("[data-sheet]")].map((node) => {
    const sheet = new inside.CSSStyleSheet();
    sheet.replaceSync(sheetText(node));
    return sheet;
  });
  for (const unwanted of report.querySelectorAll("[data-sheet], script, link, meta, base, iframe, object, embed, form"))
    unwanted.remove();
  page.documentElement.lang = report.documentElement.lang || "en";
  page.title = report.title;
  page.body.replaceChildren(...[...report.body.childNodes].map((node) => page.adoptNode(node)));
  for (const node of page.body.querySelectorAll("[data-style]")) {
    /** @type {HTMLElement | SVGElement} */ (node).style.cssText = node.getAttribute("data-style") ?? "";
  }
  page.adoptedStyleSheets = sheets;
  page.addEventListener("click", (event) => follow(event, page));
}

/** Links within the report scroll to their place; by itself the frame would load the studio's own address. @param {Event} event @param {Document} page */
function follow(event, page) {
  const link = /** @type {Element} */ (event.target).closest("a[href]");
  if (!link) return;
  event.preventDefault();
  const place = link.getAttribute("href") ?? "";
  if (place.startsWith("#")) page.getElementById(decodeURIComponent(place.slice(1)))?.scrollIntoView();
}
