/**
 * Risks as bars: training, and held out with its interval. All panels share one scale, so that bars can be compared.
 *
 * @import {HeldOut} from "./types.js"
 */
import { el, setText } from "./dom.js";
import { short } from "./scale.js";

/**
 * A risk in words: a share of rows as per cent, other losses as numbers.
 *
 * @param {number | null | undefined} value
 * @param {string} loss
 */
export function riskWords(value, loss) {
  if (value === null || value === undefined) return "–";
  return loss === "zero-one" ? `${short(100 * value, value < 0.1 ? 2 : 3)} %` : short(value, 3);
}

/** What a risk is the mean of. @type {Record<string, string>} */
const LOSSES = { "zero-one": "Share of rows answered wrongly", squared: "Mean squared error" };

/** @param {string} name */
function bar(name) {
  const value = el("b", { class: "bar-value" });
  const fillBar = el("span", { class: "bar-fill" });
  const whisker = el("span", { class: "bar-whisker", hidden: true });
  const row = el(
    "div",
    { class: "bar", "data-role": `risk-${name.replace(" ", "-")}` },
    el("span", { class: "bar-name" }, name),
    el("span", { class: "bar-track" }, fillBar, whisker),
    value,
  );
  return { row, value, fillBar, whisker };
}

export class RiskBars {
  constructor() {
    this.training = bar("training");
    this.heldOut = bar("held out");
    this.range = el("summary");
    this.what = el("p", { class: "fine", "data-role": "risk-what" });
    this.how = el("p");
    this.root = el(
      "div",
      { class: "risk" },
      this.what,
      this.training.row,
      this.heldOut.row,
      (this.told = el("details", { class: "fine told", hidden: true }, this.range, this.how)),
    );
    this.most = 1;
  }

  /** @param {number} most the risk that fills the track */
  setMost(most) {
    this.most = most > 0 ? most : 1;
  }

  /** @param {number | null | undefined} value @param {string} loss */
  setTraining(value, loss) {
    setText(this.what, LOSSES[loss] ?? loss);
    setText(this.training.value, riskWords(value, loss));
    this.training.fillBar.style.inlineSize = this.#share(value ?? 0);
  }

  /** @param {HeldOut | null | undefined} risk @param {string} loss */
  setHeldOut(risk, loss) {
    const { row, value, fillBar, whisker } = this.heldOut;
    row.hidden = !risk;
    this.told.hidden = !risk;
    if (!risk) return;
    setText(value, riskWords(risk.value, loss));
    fillBar.style.inlineSize = this.#share(risk.value);
    whisker.hidden = false;
    whisker.style.insetInlineStart = this.#share(risk.low);
    whisker.style.inlineSize = `calc(${this.#share(risk.high)} - ${this.#share(risk.low)})`;
    setText(this.range, `${riskWords(risk.low, loss)} to ${riskWords(risk.high, loss)}, on ${risk.rows} held-out rows`);
    setText(this.how, risk.how);
  }

  /** @param {number} value */
  #share(value) {
    return `${Math.min(100, Math.max(0, (100 * value) / this.most)).toFixed(2)}%`;
  }
}
