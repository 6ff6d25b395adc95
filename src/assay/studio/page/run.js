/**
 * What one panel asks the server, and what it has been answered: the frames of a play, and the quick fit that a dragged
 * point asks for. One question is under way at a time; a newer one ends the older.
 *
 * @import {Begin, End, Fitted, Frame, View} from "./types.js"
 * @import {Ask} from "./api.js"
 * @import {Picture} from "./plane.js"
 */
import { Refused, api } from "./api.js";
import { Latest } from "./latest.js";
import { RegionPicture, bytes } from "./regions.js";

const PATIENCE = 100; // ms until the panel says what it is doing
const SLOW = 300; // ms after which a newer question ends the older

/** @typedef {"begin" | "frame" | "end" | "quick" | "busy" | "error" | "surface"} News */

/** @param {Frame} frame @param {number} classes @param {[number, number] | null} range @returns {Picture} */
function pictureOf(frame, classes, range) {
  return {
    regions: frame.regions ? new RegionPicture(frame.regions, classes, range) : null,
    curve: frame.curve,
    overlays: frame.overlays,
  };
}

export class Run {
  /** @param {(news: News) => void} tell */
  constructor(tell) {
    this.tell = tell;
    /** @type {Begin | null} */
    this.begin = null;
    /** @type {Frame[]} */
    this.frames = [];
    /** @type {Picture[]} */
    this.pictures = [];
    /** @type {End | null} */
    this.end = null;
    /** @type {{frame: Frame, picture: Picture, end: End} | null} */
    this.quick = null;
    /** Cells of the mask that came with the beginning. @type {[number, number]} */
    this.grid = [1, 1];
    /** The numbers at the ends of the colours. @type {[number, number] | null} */
    this.range = null;
    this.error = "";
    this.busy = false;
    this.streaming = false;
    /** Milliseconds from the last quick question to its answer. */
    this.answered = 0;
    this.latest = new Latest();
    /** @type {AbortController | null} */
    this.underWay = null;
    this.since = 0;
  }

  /** Stop whatever is under way. */
  stop() {
    this.latest.clear();
    this.underWay?.abort();
    this.underWay = null;
    this.streaming = false;
  }

  /** Forget every answer. */
  clear() {
    this.stop();
    this.frames = [];
    this.pictures = [];
    this.end = null;
    this.quick = null;
    this.error = "";
  }

  /**
   * All steps, from the first. Until their first frame is there, the picture of before stays.
   *
   * @param {Ask} ask
   * @param {boolean} quickFirst keep the quick picture until the end is there
   */
  async play(ask, quickFirst) {
    this.stop();
    const control = (this.underWay = new AbortController());
    this.streaming = true;
    const stopWaiting = this.#wait();
    try {
      for await (const line of api.play(ask, control.signal)) {
        if (control.signal.aborted) return;
        if (line.kind === "error") throw new Refused(line.error, 400);
        if (line.kind === "begin") this.#begun(line, ask.grid);
        else if (line.kind === "frame") this.#add(line, quickFirst);
        else this.#ended(line);
        if (line.kind === "frame") stopWaiting();
        this.tell(line.kind);
      }
    } catch (problem) {
      if (!control.signal.aborted) this.#failed(problem);
    } finally {
      stopWaiting();
      if (this.underWay === control) {
        this.underWay = null;
        this.streaming = false;
        this.tell("busy");
      }
    }
  }

  /** @param {Begin} begin @param {[number, number]} grid */
  #begun(begin, grid) {
    this.begin = begin;
    this.grid = grid;
    this.frames = [];
    this.pictures = [];
    this.end = null;
    this.error = "";
  }

  /** @param {Frame} frame @param {boolean} quickFirst */
  #add(frame, quickFirst) {
    if (!quickFirst) this.quick = null;
    const picture = pictureOf(frame, this.begin?.classes?.length ?? 0, this.range);
    picture.regions?.picture(); // painted on arrival, so that playing only scales it
    this.frames.push(frame);
    this.pictures.push(picture);
  }

  /** @param {End} end */
  #ended(end) {
    this.end = end;
    this.streaming = false;
  }

  /**
   * The finished model only, soon: of many questions that come meanwhile the latest is asked next.
   *
   * @param {() => Ask} makeAsk
   * @param {() => void} [then]
   */
  fit(makeAsk, then) {
    if (this.streaming) this.stop();
    if (this.underWay && performance.now() - this.since > SLOW) this.underWay.abort();
    return this.latest.run(async () => {
      const ask = makeAsk();
      if (await this.#answer((signal) => api.fit({ ...ask, quick: true }, signal), ask.grid)) then?.();
    });
  }

  /**
   * A model from a file, shown on the data.
   *
   * @returns {Promise<boolean>}
   * @param {{model: string, data: Ask["data"], view: View, grid: [number, number]}} ask
   */
  show(ask) {
    this.stop();
    return this.#answer((signal) => api.show(ask, signal), ask.grid, true);
  }

  /**
   * Ask, and return whether an answer came.
   *
   * @param {(signal: AbortSignal) => Promise<Fitted>} question
   * @param {[number, number]} grid
   * @param {boolean} [only] there are no frames besides
   */
  async #answer(question, grid, only = false) {
    const control = (this.underWay = new AbortController());
    this.since = performance.now();
    const stopWaiting = this.#wait();
    try {
      const { begin, frame, end } = await question(control.signal);
      if (control.signal.aborted) return false;
      this.answered = performance.now() - this.since;
      this.begin = begin;
      this.grid = grid;
      this.error = "";
      this.quick = { frame, picture: pictureOf(frame, begin.classes?.length ?? 0, this.range), end };
      if (only) {
        this.frames = [frame];
        this.pictures = [this.quick.picture];
        this.end = end;
        this.quick = null;
      }
      this.tell(only ? "end" : "quick");
      return true;
    } catch (problem) {
      if (!control.signal.aborted) this.#failed(problem);
      return false;
    } finally {
      stopWaiting();
      if (this.underWay === control) {
        this.underWay = null;
        this.tell("busy");
      }
    }
  }

  /** Say that work is under way if it takes longer than a moment. */
  #wait() {
    const timer = setTimeout(() => {
      this.busy = true;
      this.tell("busy");
    }, PATIENCE);
    return () => {
      clearTimeout(timer);
      if (!this.busy) return;
      this.busy = false;
      this.tell("busy");
    };
  }

  /** @param {unknown} problem */
  #failed(problem) {
    this.error = problem instanceof Error ? problem.message : String(problem);
    this.tell("error");
  }

  /** What is shown at a position of the player. @param {number} position */
  at(position) {
    if (this.quick) return { frame: this.quick.frame, picture: this.quick.picture };
    const index = Math.min(position, this.frames.length - 1);
    const frame = this.frames[index];
    const picture = this.pictures[index];
    return frame && picture ? { frame, picture } : null;
  }

  /** The risk that a bar has to hold: that of the finished model with its interval, as soon as it is there. Before, models may be worse by far. */
  mostRisk() {
    const risk = (this.quick?.end ?? this.end)?.risk;
    const known = Math.max(risk?.training ?? 0, this.end?.risk.held_out?.high ?? 0);
    return known || (this.frames[0]?.risk?.training ?? 0);
  }

  /** Where rows are near, as bytes. */
  support() {
    const text = this.begin?.support;
    const [w, h] = this.grid;
    return text ? { bytes: bytes(text), w, h } : null;
  }
}
