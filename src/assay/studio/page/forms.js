/**
 * The form of a model, generated from its hyper-parameter table. What stands at its default is left out of the settings.
 *
 * @import {Form, Params} from "./types.js"
 * @import {Field} from "./fields.js"
 */
import { el, fill, setText } from "./dom.js";
import { field } from "./fields.js";

export class ModelForm {
  /** @param {(params: Params) => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Params} */
    this.params = {};
    /** @type {Form | null} */
    this.form = null;
    /** @type {Map<string, Field>} */
    this.fields = new Map();
    this.title = el("span");
    this.reset = el(
      "button",
      { type: "button", class: "quiet small", "data-role": "reset", onclick: () => this.#resetAll() },
      "Back to defaults",
    );
    this.about = el("p", { class: "fine" });
    this.body = el("div", { class: "fields" });
    this.root = el(
      "details",
      { class: "settings", "data-role": "settings" },
      el("summary", {}, this.title),
      this.about,
      this.body,
      this.reset,
    );
  }

  /** @param {Form} form @param {Params} params */
  show(form, params) {
    this.params = { ...params };
    this.form = form;
    this.fields = new Map();
    setText(this.about, form.about);
    fill(this.body);
    for (const param of form.params) {
      const value = param.name in params ? params[param.name] : param.default;
      const made = field(param, value, (now) => this.#change(param.name, now));
      this.fields.set(param.name, made);
      this.body.append(made.root);
    }
    this.#count();
  }

  /** @param {string} name @param {unknown} value */
  #change(name, value) {
    const usual = this.form?.params.find((param) => param.name === name)?.default;
    const { [name]: _, ...rest } = this.params;
    this.params = JSON.stringify(value) === JSON.stringify(usual) ? rest : { ...rest, [name]: value };
    this.fail("");
    this.#count();
    this.onChange(this.params);
  }

  #resetAll() {
    if (!this.form) return;
    this.show(this.form, {});
    this.onChange(this.params);
  }

  #count() {
    const changed = Object.keys(this.params).length;
    const words = Object.entries(this.params).map(
      ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    setText(this.title, changed ? `Settings: ${words.join(", ")}` : "Settings: all defaults");
    this.reset.hidden = !changed;
  }

  /** Show the server's words beside the field they name; returns whether there is one. @param {string} words */
  fail(words) {
    let found = false;
    for (const [name, made] of this.fields) {
      const named = /** @type {boolean} */ (
        words !== "" && !found && new RegExp(`(^|[^\\w])${name}\\s*=|['"\`]${name}['"\`]`).test(words)
      );
      made.fail(named ? words : "");
      found ||= named;
    }
    if (found) this.root.open = true;
    return found;
  }
}
