/**
 * The command line and the Python lines that do the same, with buttons that copy them.
 *
 * @import {Code} from "./types.js"
 */
import { announce, el, fill, freshId, icon, saveAs } from "./dom.js";

/** A block of text with a copy button. @param {string} name @param {string} text @param {string} role */
export function codeBlock(name, text, role) {
  const id = freshId("code");
  const copied = el("span", { class: "copied" });
  const button = el(
    "button",
    { type: "button", class: "quiet small", "data-role": `copy-${role}`, onclick: () => copy(text, copied) },
    icon("copy"),
    "Copy",
  );
  button.setAttribute("aria-label", `Copy ${name}`);
  return el(
    "div",
    { class: "code" },
    el("div", { class: "code-head" }, el("span", { id }, name), copied, button),
    el("pre", { tabIndex: 0, role: "group", "aria-labelledby": id, "data-role": role }, el("code", {}, text)),
  );
}

/** @param {string} text @param {HTMLElement} told */
async function copy(text, told) {
  try {
    await navigator.clipboard.writeText(text);
    fill(told, "copied");
    announce("Copied.");
  } catch {
    fill(told, "select the text and press Ctrl+C");
  }
  setTimeout(() => fill(told), 4000);
}

/** Both, and where points were drawn a button for the file that the lines read. @param {Code} code */
export function codeBlocks(code) {
  const { file, name = "points.csv" } = code;
  const save = () => saveAs(new Blob([file ?? ""], { type: "text/csv" }), name);
  return [
    file === undefined
      ? null
      : el(
          "p",
          { class: "fine first-save" },
          "They read your points from a file. ",
          el(
            "button",
            { type: "button", class: "small", "data-role": "save-points", onclick: save },
            icon("save"),
            `Save ${name}`,
          ),
        ),
    codeBlock("Command line", code.shell, "shell"),
    codeBlock("Python", code.python, "python"),
  ];
}
