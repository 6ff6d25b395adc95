/**
 * One field of a form, from one line of a model's hyper-parameter table.
 *
 * @import {Param} from "./types.js"
 */
import { el, freshId } from "./dom.js";

/** @typedef {{root: HTMLElement, set: (value: unknown) => void, fail: (words: string) => void}} Field */

const DECADES = 4;

/** @param {unknown} value */
function wordOf(value) {
  return value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value);
}

/** @param {Param} param @param {unknown} value @param {(value: unknown) => void} onChange @returns {Field} */
export function field(param, value, onChange) {
  const id = freshId("field");
  const help = el("p", { class: "fine", id: `${id}-help` }, param.doc);
  const problem = el("p", { class: "problem", id: `${id}-problem`, role: "alert", hidden: true });
  const made = control(param, id, (now) => {
    problem.hidden = true;
    onChange(now);
  });
  for (const input of made.inputs) {
    input.setAttribute("aria-describedby", `${id}-help ${id}-problem`);
    if (input.id !== id)
      input.setAttribute("aria-label", `${param.name}, ${input instanceof HTMLSelectElement ? "word or number" : "slider"}`);
    input.dataset["param"] = param.name;
  }
  made.set(value);
  const root = el(
    "div",
    { class: "field", "data-field": param.name },
    el("label", { for: id }, param.name),
    el("div", { class: "control" }, ...made.inputs, made.list),
    help,
    problem,
  );
  return {
    root,
    set: made.set,
    fail: (words) => {
      problem.textContent = words;
      problem.hidden = !words;
      for (const input of made.inputs) input.toggleAttribute("aria-invalid", Boolean(words));
    },
  };
}

/** @typedef {{inputs: (HTMLInputElement | HTMLSelectElement)[], set: (value: unknown) => void, list?: HTMLElement}} Control */

/** @param {Param} param @param {string} id @param {(value: unknown) => void} onChange @returns {Control} */
function control(param, id, onChange) {
  const words = param.words ?? [];
  if (param.kind === "flag" && !words.length) {
    const input = el("input", { type: "checkbox", id, onchange: () => onChange(input.checked) });
    return {
      inputs: [input],
      set: (value) => {
        input.checked = Boolean(value);
      },
    };
  }
  if (param.kind === "choice" || param.kind === "flag") {
    const values = [...(param.kind === "flag" ? [true, false] : (param.options ?? [])), ...words];
    const input = el(
      "select",
      { id, onchange: () => onChange(values[input.selectedIndex]) },
      ...values.map((v) => el("option", {}, wordOf(v))),
    );
    return {
      inputs: [input],
      set: (value) => {
        input.selectedIndex = values.findIndex((v) => v === value);
      },
    };
  }
  return param.kind === "range" ? numberControl(param, id, onChange) : textControl(param, id, onChange);
}

/**
 * Free values are written as JSON, words as they are.
 *
 * @param {Param} param
 * @param {string} id
 * @param {(value: unknown) => void} onChange
 * @returns {Control}
 */
function textControl(param, id, onChange) {
  const read = () => {
    const text = input.value.trim();
    const word = (param.words ?? []).find((w) => wordOf(w) === text);
    if (word !== undefined) return word;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };
  const list = el("datalist", { id: `${id}-words` }, ...(param.words ?? []).map((w) => el("option", { value: wordOf(w) })));
  const input = el("input", { type: "text", id, autocomplete: "off", spellcheck: false, onchange: () => onChange(read()) });
  input.setAttribute("list", list.id);
  return {
    inputs: [input],
    set: (value) => {
      input.value = wordOf(value);
    },
    list,
  };
}

/**
 * A number with a slider beside it; where words are allowed too, a choice between them and a number.
 *
 * @param {Param} param
 * @param {string} id
 * @param {(value: unknown) => void} onChange
 * @returns {Control}
 */
function numberControl(param, id, onChange) {
  const words = param.words ?? [];
  const track = sliderScale(param);
  const number = el("input", {
    type: "number",
    id,
    step: param.whole ? "1" : "any",
    inputMode: param.whole ? "numeric" : "decimal",
  });
  if (param.low !== null && param.low !== undefined) number.min = String(param.low);
  if (param.high !== null && param.high !== undefined) number.max = String(param.high);
  const slider = el("input", { type: "range", min: "0", max: String(track.places), step: "1" });
  const choice = words.length
    ? el("select", {}, ...words.map((w) => el("option", {}, wordOf(w))), el("option", {}, "number"))
    : null;
  let held = ""; // what an emptied field goes back to
  const show = (/** @type {boolean} */ on) => {
    number.hidden = !on;
    slider.hidden = !on;
  };
  number.addEventListener("change", () => {
    const value = number.valueAsNumber;
    if (Number.isNaN(value)) {
      number.value = held;
      return;
    }
    held = number.value;
    slider.value = String(track.place(value));
    onChange(value);
  });
  slider.addEventListener("input", () => {
    const value = track.value(Number(slider.value));
    held = number.value = String(value);
    onChange(value);
  });
  choice?.addEventListener("change", () => {
    const word = words[choice.selectedIndex];
    show(word === undefined);
    if (word !== undefined) onChange(word);
    else onChange(number.valueAsNumber);
  });
  const inputs = choice ? [choice, number, slider] : [number, slider];
  return {
    inputs,
    set: (value) => {
      const isNumber = typeof value === "number";
      held = number.value = String(isNumber ? value : track.value(Math.round(track.places / 2)));
      slider.value = String(track.place(number.valueAsNumber));
      if (choice) {
        choice.selectedIndex = isNumber
          ? words.length
          : Math.max(
              0,
              words.findIndex((w) => w === value),
            );
        show(isNumber);
      }
    },
  };
}

/**
 * Places of a slider and the numbers they stand for: even steps within a short range, decades where a range has no end.
 *
 * @param {Param} param
 */
function sliderScale(param) {
  const low = param.low ?? -Infinity;
  const high = param.high ?? Infinity;
  const start = typeof param.default === "number" && param.default > 0 ? param.default : 1;
  if (Number.isFinite(low) && Number.isFinite(high)) {
    const step = param.whole ? Math.max(1, Math.round((high - low) / 200)) : (high - low) / 100;
    const first = param.open_low ? low + step : low;
    const places = Math.max(1, Math.round(((param.open_high ? high - step : high) - first) / step));
    return {
      places,
      value: (/** @type {number} */ place) => Number((first + place * step).toPrecision(6)),
      place: (/** @type {number} */ value) => Math.round((value - first) / step),
    };
  }
  if (param.whole && start < 40) {
    const first = Number.isFinite(low) ? low + (param.open_low ? 1 : 0) : 0;
    return {
      places: 60,
      value: (/** @type {number} */ place) => first + place,
      place: (/** @type {number} */ value) => value - first,
    };
  }
  const each = 8;
  const middle = (DECADES * each) / 2;
  return {
    places: DECADES * each,
    value: (/** @type {number} */ place) => {
      const value = start * 10 ** ((place - middle) / each);
      return param.whole ? Math.max(1, Math.round(value)) : Number(value.toPrecision(3));
    },
    place: (/** @type {number} */ value) => Math.round(middle + each * Math.log10(Math.max(value, 1e-300) / start)),
  };
}
