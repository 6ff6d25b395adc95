/**
 * What a panel tells beside its plane: caption, arithmetic, risks, measures, the error surface, the certificate, the code.
 *
 * @import {Code, Frame} from "./types.js"
 * @import {Run} from "./run.js"
 */
import { certificateList } from "./certificate.js";
import { codeBlocks } from "./code.js";
import { el, fill, setText } from "./dom.js";
import { Measures } from "./measures.js";
import { RiskBars } from "./risk.js";
import { SurfaceView } from "./surface.js";

/** The words "after epoch 50" of a caption that begins with them, of a state behind the last step; else none. @param {string} caption @param {string} word */
export function afterAll(caption, word) {
  const [first = ""] = caption.split(":", 1);
  return first.startsWith(`after ${word} `) ? first : "";
}

export class Facts {
  /** @param {HTMLElement} form the model's settings, which stand among them */
  constructor(form) {
    this.problem = el("p", { class: "problem", role: "alert", "data-role": "panel-error", hidden: true });
    this.caption = el("p", { class: "caption", "data-role": "caption" });
    this.arithmetic = el("pre", { class: "arithmetic", "data-role": "arithmetic", hidden: true });
    /** Most lines of arithmetic so far: the box keeps their height, so that nothing jumps while playing. */
    this.lines = 0;
    this.risk = new RiskBars();
    this.measures = new Measures();
    this.surface = new SurfaceView();
    this.claims = el("div", { class: "claims" });
    this.code = el("details", { class: "same", "data-role": "code", hidden: true }, el("summary", {}, "The same in code"));
    const { risk, measures, surface } = this;
    const parts = [this.caption, this.arithmetic, risk.root, form, measures.root, surface.root, this.claims, this.code];
    this.root = el("div", { class: "facts" }, this.problem, ...parts);
  }

  /** @param {string} words nothing hides it */
  showProblem(words) {
    setText(this.problem, words);
    this.problem.hidden = !words;
  }

  /** @param {Code | null} code */
  showCode(code) {
    const summary = this.code.firstElementChild;
    this.code.hidden = !code;
    if (code && summary) fill(this.code, summary, ...codeBlocks(code));
  }

  /** What is known only at the end; empty before. @param {Run} run @param {boolean} alone whether there is room to read all */
  showEnd({ end }, alone) {
    const notes = (end?.notes ?? []).map((note) => el("p", { class: "fine note" }, note));
    const list = end?.certificate ? [el("h4", {}, "Certificate"), certificateList(end.certificate, alone)] : [];
    fill(this.claims, ...list, ...notes);
  }

  /** What belongs to a frame. @param {Run} run @param {Frame} frame @param {number} position of the player */
  render(run, frame, position) {
    this.#say(frame, run.begin?.word ?? "step");
    const at = run.quick ? run.frames.length - 1 : Math.min(position, run.frames.length - 1);
    this.measures.render(at);
    this.surface.render(run.frames, at);
    const end = run.quick?.end ?? (at === run.frames.length - 1 ? run.end : null);
    const risk = end?.risk ?? frame.risk;
    this.risk.setTraining(risk?.training, risk?.loss ?? "zero-one");
    this.risk.setHeldOut(run.end?.risk.held_out, run.end?.risk.loss ?? "zero-one");
    this.root.classList.toggle("outdated", run.quick !== null);
  }

  /** @param {Frame} frame @param {string} word of a step */
  #say({ step, caption, arithmetic }, word) {
    const named = caption.startsWith(`${word} ${step}`) || afterAll(caption, word);
    const told = named ? caption : `${word} ${step}${caption ? `: ${caption}` : ""}`;
    setText(this.caption, told);
    setText(this.arithmetic, arithmetic.join("\n"));
    if (arithmetic.length <= this.lines) return;
    this.lines = arithmetic.length;
    this.arithmetic.hidden = false;
    this.arithmetic.style.minBlockSize = `${1.55 * this.lines + 1.25}em`;
  }
}
