/**
 * The bar above the panels: what a click does, the classes as legend and brush, undo, clear, view.
 *
 * @import {Studio} from "./studio.js"
 */
import { announce, byId, el, fill, icon, pictureButton } from "./dom.js";
import { css, valueColour } from "./colours.js";
import { context2d } from "./regions.js";
import { short } from "./scale.js";
import { shapeIcon, shapeName } from "./shapes.js";

const TOOLS = /** @type {const} */ ([
  ["ask", "Ask", "What does the model say here?"],
  ["draw", "Draw", "Add and drag points"],
  ["erase", "Erase", "Remove points"],
]);
const MOST_CLASSES = 10;

export class Tools {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.root = byId("tools", HTMLElement);
    studio.addEventListener("tools", () => this.#show());
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  #show() {
    const { studio } = this;
    const held = document.activeElement?.getAttribute("data-role");
    fill(
      this.root,
      studio.editable ? this.#toolChoice() : null,
      studio.task === "classes" ? this.#classes() : this.#values(),
      studio.editable ? this.#changes() : null,
    );
    if (held) this.#refocus(held);
  }

  /** @param {string} role */
  #refocus(role) {
    const again = this.root.querySelector(`[data-role="${CSS.escape(role)}"]`);
    if (again instanceof HTMLElement && !this.root.contains(document.activeElement)) again.focus();
  }

  #toolChoice() {
    const { studio } = this;
    return el(
      "fieldset",
      { class: "segments" },
      el("legend", { class: "unseen" }, "What the pointer does"),
      ...TOOLS.map(([name, word, about]) =>
        el(
          "label",
          { title: about },
          el("input", {
            type: "radio",
            name: "tool",
            value: name,
            checked: studio.tool === name,
            "data-role": `tool-${name}`,
            onchange: () => {
              studio.tool = name;
              studio.tell("tools");
            },
          }),
          icon(name),
          word,
        ),
      ),
    );
  }

  /** Classes: a legend, and where points are drawn the brush. */
  #classes() {
    const { studio } = this;
    if (!studio.editable) {
      return el(
        "ul",
        { class: "legend", "aria-label": "Classes" },
        ...studio.classes
          .slice(0, MOST_CLASSES + 1)
          .map((name, k) => el("li", { class: "chip" }, shapeIcon(k), k < MOST_CLASSES ? name : "others")),
      );
    }
    return el(
      "fieldset",
      { class: "legend" },
      el("legend", { class: "unseen" }, "Class of new points"),
      ...studio.classes.map((name, k) =>
        el(
          "label",
          { class: "chip", title: `New points are of class ${name} (${shapeName(k)}); key ${k + 1}` },
          el("input", {
            type: "radio",
            name: "brush",
            value: name,
            checked: studio.brush === name,
            "data-role": `class-${k}`,
            onchange: () => this.#brush(name),
          }),
          shapeIcon(k),
          name,
        ),
      ),
      studio.classes.length < MOST_CLASSES ? pictureButton("add-class", "Add a class", "plus", () => this.#addClass()) : null,
    );
  }

  /** The scale of colours, where points have numbers. */
  #values() {
    const range = this.studio.range();
    if (!range) return null;
    const canvas = el("canvas", { width: 128, height: 1, "aria-hidden": "true" });
    const context = context2d(canvas);
    for (let i = 0; i < 128; i += 1) {
      context.fillStyle = css(valueColour(i / 127));
      context.fillRect(i, 0, 1, 1);
    }
    return el(
      "p",
      { class: "value-scale" },
      el("b", {}, this.studio.table?.data.target ?? "target"),
      short(range[0]),
      canvas,
      short(range[1]),
    );
  }

  /** @param {string} name */
  #brush(name) {
    this.studio.brush = name;
    if (this.studio.tool !== "draw") this.studio.tool = "draw";
    this.studio.tell("tools");
  }

  #addClass() {
    const { studio } = this;
    const free = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".split("").find((name) => !studio.classes.includes(name));
    if (!free) return;
    studio.classes = [...studio.classes, free];
    this.#brush(free);
    announce(`Class ${free} added. Draw its points.`);
  }

  #changes() {
    const { studio } = this;
    const button = (
      /** @type {string} */ role,
      /** @type {string} */ words,
      /** @type {boolean} */ able,
      /** @type {() => void} */ act,
    ) => Object.assign(pictureButton(role, words, role, act), { disabled: !able });
    return el(
      "div",
      { class: "changes" },
      button("undo", "Undo (Ctrl+Z)", studio.undo.canGoBack, () => studio.undoPoints("back")),
      button("redo", "Redo (Ctrl+Shift+Z)", studio.undo.canGoForth, () => studio.undoPoints("forth")),
      button("fit-view", "Show all points", studio.points.length > 0, () => studio.fitView()),
      button("clear", "Remove all points", studio.points.length > 0, () => studio.setPoints([], "edit")),
    );
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (
      !(event.ctrlKey || event.metaKey) ||
      (event.target instanceof HTMLInputElement && ["text", "number"].includes(event.target.type))
    )
      return;
    const key = event.key.toLowerCase();
    const way = key === "y" || (key === "z" && event.shiftKey) ? "forth" : key === "z" ? "back" : null;
    if (!way) return;
    event.preventDefault();
    announce(
      this.studio.undoPoints(way)
        ? `${way === "back" ? "Undone" : "Redone"}. ${this.studio.points.length} points.`
        : "Nothing to undo.",
    );
  }
}
