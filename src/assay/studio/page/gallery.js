/**
 * The figures of the lecture notes, by group; the one that is open says what to look for.
 *
 * @import {Studio} from "./studio.js"
 */
import { api } from "./api.js";
import { byId, el, fill } from "./dom.js";

export class Gallery {
  /** @param {Studio} studio @param {(words: string) => void} fail */
  constructor(studio, fail) {
    this.studio = studio;
    this.fail = fail;
    this.root = byId("gallery", HTMLElement);
    this.look = byId("look", HTMLElement);
    this.#build();
    studio.addEventListener("data", () => this.#mark());
  }

  #build() {
    /** @type {Map<string, import("./types.js").PresetEntry[]>} */
    const groups = new Map();
    for (const preset of this.studio.about.presets) groups.set(preset.group, [...(groups.get(preset.group) ?? []), preset]);
    const parts = [...groups].map(([group, presets]) =>
      el(
        "section",
        { class: "group" },
        el("h3", {}, group),
        el(
          "ul",
          {},
          ...presets.map((preset) =>
            el(
              "li",
              {},
              el(
                "button",
                {
                  type: "button",
                  class: "figure",
                  "data-role": `preset-${preset.id}`,
                  "data-preset": preset.id,
                  "aria-pressed": "false",
                  onclick: () => this.open(preset.id),
                },
                preset.title,
              ),
            ),
          ),
        ),
      ),
    );
    fill(this.root, ...(parts.length ? parts : [el("p", {}, "This studio has no figures.")]));
  }

  /** @param {string} id */
  async open(id) {
    const opened = ++this.last;
    try {
      const preset = await api.preset(id);
      const { data } = preset;
      const table =
        "table" in data
          ? {
              table: await this.#table(data.table),
              data: { columns: [], at: {}, ...data },
              shown: await api.points(data.table, data),
            }
          : null;
      if (opened === this.last) this.studio.openPreset(preset, table);
    } catch (problem) {
      this.fail(problem instanceof Error ? problem.message : String(problem));
    }
  }

  last = 0;

  /** A figure's table is known by its id alone. @param {string} id @returns {Promise<import("./types.js").Table>} */
  async #table(id) {
    return { id, name: id, n_rows: 0, columns: [], target: null, notes: [] };
  }

  #mark() {
    const { preset } = this.studio;
    for (const button of this.root.querySelectorAll("[data-preset]"))
      button.setAttribute("aria-pressed", String(button.getAttribute("data-preset") === preset?.id));
    if (this.look.dataset["of"] === (preset?.id ?? "")) return;
    this.look.dataset["of"] = preset?.id ?? "";
    this.look.hidden = !preset;
    const open = this.root.querySelector("[aria-pressed=true]");
    const list = this.root.parentElement;
    if (open instanceof HTMLElement && list) {
      const top = open.getBoundingClientRect().top - list.getBoundingClientRect().top;
      if (top < 0 || top > list.clientHeight - open.offsetHeight) list.scrollTop += top - list.clientHeight / 2;
    }
    if (preset)
      fill(
        this.look,
        el("h2", {}, preset.title),
        el("p", {}, el("span", { class: "look-word" }, "What to look for. "), preset.look.join(" ")),
        el("p", { class: "look-note", "data-role": "note" }, `From the notes: ${preset.note}.`),
      );
  }
}
