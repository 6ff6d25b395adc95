/**
 * The three ways to data as tabs (arrow keys move between them): figures, the user's table, drawn points.
 */
import { byId } from "./dom.js";

const NAMES = /** @type {const} */ (["figures", "table", "draw"]);

/** @typedef {typeof NAMES[number]} Source */

export class Sources {
  constructor() {
    this.tabs = NAMES.map((name) => byId(`tab-${name}`, HTMLButtonElement));
    this.tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => this.show(/** @type {Source} */ (NAMES[i])));
      tab.addEventListener("keydown", (event) => {
        const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!way) return;
        event.preventDefault();
        const next = (i + way + NAMES.length) % NAMES.length;
        this.show(/** @type {Source} */ (NAMES[next]));
        this.tabs[next]?.focus();
      });
    });
  }

  /** @param {Source} name */
  show(name) {
    NAMES.forEach((other, i) => {
      const tab = this.tabs[i];
      tab?.setAttribute("aria-selected", String(other === name));
      if (tab) tab.tabIndex = other === name ? 0 : -1;
      byId(`source-${other}`, HTMLElement).hidden = other !== name;
    });
  }
}
