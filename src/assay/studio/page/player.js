/**
 * One clock for all panels: play, pause, step, back, scrub, speed, loop. Its position is the number of a frame; a panel with fewer
 * frames stays at its last. Panels only draw what was decoded before.
 */
import { announce, byId, fill, icon, setText } from "./dom.js";

/**
 * @typedef {{length: () => number, streaming: () => boolean, render: (frame: number) => void, label: (frame: number) => string, touched: () => void}} Stage
 */

const MOST_TIMES = 1200;
const SPEEDS = [0.5, 1, 2, 4, 8, 15, 30, 60];

export class Player {
  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    this.position = 0;
    /** The position between two frames. */
    this.clock = 0;
    this.playing = false;
    this.speed = 8;
    this.loop = false;
    /** Milliseconds from one drawn frame to the next while playing, and what drawing took of them. @type {number[]} */
    this.frameTimes = [];
    /** @type {number[]} */
    this.drawTimes = [];
    this.play = byId("play", HTMLButtonElement);
    this.scrub = byId("scrub", HTMLInputElement);
    this.where = byId("where", HTMLElement);
    this.rate = byId("speed", HTMLInputElement);
    this.rateText = byId("speed-text", HTMLElement);
    this.repeat = byId("loop", HTMLButtonElement);
    this.play.addEventListener("click", () => this.toggle());
    byId("step", HTMLButtonElement).addEventListener("click", () => this.stepBy(1));
    byId("back", HTMLButtonElement).addEventListener("click", () => this.stepBy(-1));
    byId("to-start", HTMLButtonElement).addEventListener("click", () => this.userTo(0));
    byId("to-end", HTMLButtonElement).addEventListener("click", () => this.#toEnd());
    this.repeat.addEventListener("click", () => {
      this.loop = !this.loop;
      this.repeat.setAttribute("aria-pressed", String(this.loop));
    });
    this.scrub.addEventListener("input", () => this.userTo(Number(this.scrub.value)));
    this.rate.addEventListener("input", () => this.setSpeed(SPEEDS[Number(this.rate.value)] ?? 8));
    this.rate.max = String(SPEEDS.length - 1);
    document.addEventListener("keydown", (event) => this.#key(event));
    this.setSpeed(8);
  }

  /** Frames a second. @param {number} speed */
  setSpeed(speed) {
    const near = SPEEDS.reduce((a, b) => (Math.abs(Math.log(b / speed)) < Math.abs(Math.log(a / speed)) ? b : a));
    this.speed = near;
    this.rate.value = String(SPEEDS.indexOf(near));
    const words = `${near} ${near === 1 ? "frame" : "frames"} a second`;
    this.rate.setAttribute("aria-valuetext", words);
    setText(this.rateText, `${near}/s`);
  }

  toggle() {
    this.stage.touched();
    if (this.playing) this.pause();
    else this.start();
  }

  /** Play on, from the start if the end is reached. */
  start() {
    if (this.playing) return;
    if (!this.stage.streaming() && this.position >= this.stage.length() - 1) this.moveTo(0);
    this.playing = true;
    this.#showButton();
    let last = performance.now();
    const turn = (/** @type {number} */ now) => {
      if (!this.playing) return;
      this.#note(this.frameTimes, now - last);
      this.#advance((Math.min(now - last, 250) / 1000) * this.speed);
      last = now;
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  }

  /** @param {number} frames */
  #advance(frames) {
    const end = Math.max(0, this.stage.length() - 1);
    this.clock += frames;
    if (this.clock >= end + 1 && !this.stage.streaming()) {
      if (this.loop) this.clock = 0;
      else this.pause();
    }
    this.clock = Math.min(this.clock, end + 1);
    const frame = Math.min(end, Math.floor(this.clock));
    if (frame === this.position) return;
    this.position = frame;
    this.#show();
  }

  pause() {
    this.playing = false;
    this.#showButton();
  }

  /** @param {number} steps */
  stepBy(steps) {
    this.pause();
    this.userTo(this.position + steps);
    announce(this.stage.label(this.position));
  }

  #toEnd() {
    this.pause();
    this.userTo(Infinity);
  }

  /** The user goes to a frame. @param {number} frame */
  userTo(frame) {
    this.stage.touched();
    this.moveTo(frame);
  }

  /** @param {number} frame */
  moveTo(frame) {
    const end = Math.max(0, this.stage.length() - 1);
    this.position = Math.min(end, Math.max(0, Math.round(Math.min(frame, end))));
    this.clock = this.position;
    this.#show();
  }

  /** The number of frames changed, or a panel has something new to show. */
  refresh() {
    const end = Math.max(0, this.stage.length() - 1);
    if (this.position > end) this.position = this.clock = end;
    this.#show();
  }

  #show() {
    const before = performance.now();
    this.stage.render(this.position);
    this.#note(this.drawTimes, performance.now() - before);
    const end = Math.max(0, this.stage.length() - 1);
    if (this.scrub.max !== String(end)) this.scrub.max = String(end);
    this.scrub.value = String(this.position);
    const words = this.stage.label(this.position);
    this.scrub.setAttribute("aria-valuetext", words);
    setText(this.where, words);
  }

  #showButton() {
    const words = this.playing ? "Pause" : "Play";
    if (this.play.getAttribute("aria-label") === words) return;
    this.play.setAttribute("aria-label", words);
    fill(this.play, icon(this.playing ? "pause" : "play"));
  }

  /** @param {number[]} times @param {number} value */
  #note(times, value) {
    times.push(value);
    if (times.length > MOST_TIMES) times.splice(0, times.length - MOST_TIMES);
  }

  /** Keys of the player, unless the element in focus needs them itself. @param {KeyboardEvent} event */
  #key(event) {
    const at = event.target instanceof Element ? event.target : null;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      at?.closest("input, select, textarea, canvas[tabindex], dialog, [role=tab], summary, iframe")
    )
      return;
    if (event.key === " " && at?.closest("button, a, label")) return;
    if (event.key === " ") this.toggle();
    else if (event.key === "ArrowRight") this.stepBy(1);
    else if (event.key === "ArrowLeft") this.stepBy(-1);
    else if (event.key === "Home") this.userTo(0);
    else if (event.key === "End") this.#toEnd();
    else return;
    event.preventDefault();
  }
}
