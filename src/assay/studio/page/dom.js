/** Elements without markup text: data never passes through an HTML parser. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with its properties and children. Names with a dash become attributes, names that start with "on" listeners.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on") && typeof value === "function") {
      node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "class") node.className = String(value);
    else if (name.includes("-") || name === "role" || name === "for") node.setAttribute(name, String(value));
    else Object.assign(node, { [name]: value });
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * A picture from the page's own sprite; it only decorates, the words stand beside it or in a label.
 *
 * @param {string} name
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/**
 * A button that shows a picture and, where there is room, a word; `words` say in full what it does.
 *
 * @param {string} role for tests
 * @param {string} words
 * @param {string} picture
 * @param {() => void} onclick
 * @param {string} [shown]
 */
export function pictureButton(role, words, picture, onclick, shown) {
  const look = shown ? "quiet small" : "quiet icon-only";
  const names = { "aria-label": words, title: words, "data-role": role };
  return el("button", { type: "button", class: look, ...names, onclick }, icon(picture), shown);
}

/**
 * The element of that id, which the page must have.
 *
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page lacks #${id}.`);
  return found;
}

/** @param {Element} parent @param {...(Node | string | null)} children */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null));
}

/** Set the text of a node only where it changes: playing asks sixty times a second. @param {Node} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

let number = 0;

/** A new id for a label and its field. @param {string} stem */
export function freshId(stem) {
  number += 1;
  return `${stem}-${number}`;
}

/** Say something to a screen reader. @param {string} text */
export function announce(text) {
  byId("live", HTMLElement).textContent = text;
}

/** Whether the user asked for little movement. */
export function stillWanted() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Hand a file to the user. @param {Blob} blob @param {string} name */
export function saveAs(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
