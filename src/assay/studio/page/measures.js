/**
 * The certificate as it fills: each measure a small chart over the steps, with its bound as a line.
 *
 * @import {Frame, Measure} from "./types.js"
 */
import { inks, isDark } from "./colours.js";
import { el, fill, setText } from "./dom.js";
import { canvasOf, context2d } from "./regions.js";

const WIDTH = 132;
const HEIGHT = 40;
const PAD = 4;

/**
 * @typedef {{canvas: HTMLCanvasElement, text: HTMLElement, values: (number | null)[], steps: number[], of: number | null, log: boolean, ground: Ground | null}} Chart
 *
 * @typedef {object} Ground what stays the same while a chart fills
 * @property {HTMLCanvasElement} picture the bound and the whole line, faint
 * @property {boolean} dark
 * @property {(i: number) => number} x
 * @property {(v: number) => number} y
 */

export class Measures {
  constructor() {
    this.root = el("div", { class: "measures", "data-role": "measures" });
    /** @type {Map<string, Chart>} */
    this.charts = new Map();
    /** @type {Frame[]} */
    this.frames = [];
  }

  /** @param {Frame[]} frames all frames that are there */
  setFrames(frames) {
    this.frames = frames;
    const names = [...new Set(frames.flatMap((frame) => frame.measures.map((measure) => measure.name)))];
    if (names.join("\n") !== [...this.charts.keys()].join("\n")) this.#build(names);
    for (const [name, chart] of this.charts) {
      const all = frames.map((frame) => frame.measures.find((measure) => measure.name === name));
      chart.values = all.map((measure) => measure?.value ?? null);
      chart.steps = frames.map((frame) => frame.step);
      const bounded = all.findLast((measure) => measure?.of !== null && measure?.of !== undefined);
      chart.of = bounded?.of ?? null;
      chart.log = all.some((measure) => measure?.scale === "log");
      chart.ground = null;
    }
  }

  /** @param {string[]} names */
  #build(names) {
    this.charts = new Map();
    fill(this.root);
    for (const name of names) {
      const canvas = el("canvas", { class: "spark", "aria-hidden": "true" });
      const text = el("span", { class: "measure-text" });
      this.root.append(
        el("div", { class: "measure", "data-measure": name }, canvas, el("span", { class: "measure-name" }, name), text),
      );
      this.charts.set(name, { canvas, text, values: [], steps: [], of: null, log: false, ground: null });
    }
  }

  /** Show the measures up to a frame. @param {number} upTo */
  render(upTo) {
    for (const [name, chart] of this.charts) {
      const now = latest(this.frames, upTo, name);
      setText(chart.text, now?.text ?? "");
      drawChart(chart, upTo);
    }
  }
}

/** @param {Frame[]} frames @param {number} upTo @param {string} name @returns {Measure | undefined} */
function latest(frames, upTo, name) {
  for (let i = Math.min(upTo, frames.length - 1); i >= 0; i -= 1) {
    const found = frames[i]?.measures.find((measure) => measure.name === name);
    if (found) return found;
  }
  return undefined;
}

/** @param {Chart} chart @param {number} upTo */
function drawChart(chart, upTo) {
  const { canvas, values } = chart;
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [width, height] = [Math.round(WIDTH * ratio), Math.round(HEIGHT * ratio)];
  if (canvas.width !== width) {
    canvas.width = width;
    canvas.height = height;
  }
  if (chart.ground?.dark !== isDark() || chart.ground.picture.width !== width) chart.ground = groundOf(chart, ratio);
  const { picture, x, y } = chart.ground;
  const context = context2d(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, WIDTH, HEIGHT);
  context.drawImage(picture, 0, 0, WIDTH, HEIGHT);
  const { accent } = inks();
  const end = trace(context, values, upTo, x, y, accent, 2);
  if (end) {
    context.fillStyle = accent;
    context.beginPath();
    context.arc(end[0], end[1], 3, 0, 2 * Math.PI);
    context.fill();
  }
}

/** @param {Chart} chart @param {number} ratio @returns {Ground} */
function groundOf({ values, steps, of, log }, ratio) {
  const picture = canvasOf(WIDTH * ratio, HEIGHT * ratio);
  const context = context2d(picture);
  const ink = inks();
  const height = (/** @type {number} */ v) => (log ? (v > 0 ? Math.log10(v) : low) : v);
  const known = /** @type {number[]} */ (values.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0)));
  let low = 0;
  const all = (of === null || (log && of <= 0) ? known : [...known, of]).map(height);
  low = Math.min(...all, ...(log ? [] : [0]));
  let high = Math.max(...all);
  if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
  const first = steps[0] ?? 0;
  const share = (/** @type {number} */ i) => ((steps[i] ?? first) - first) / Math.max(1, (steps.at(-1) ?? first) - first);
  const x = (/** @type {number} */ i) => PAD + (WIDTH - 2 * PAD) * share(i);
  const y = (/** @type {number} */ v) => HEIGHT - PAD - ((HEIGHT - 2 * PAD) * (height(v) - low)) / (high - low);
  const ground = { picture, dark: isDark(), x, y };
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (!all.length) return ground;
  if (of !== null && (!log || of > 0)) {
    context.strokeStyle = ink.ink;
    context.setLineDash([4, 3]);
    context.lineWidth = 1.25;
    context.beginPath();
    context.moveTo(0, y(of));
    context.lineTo(WIDTH, y(of));
    context.stroke();
    context.setLineDash([]);
  }
  trace(context, values, values.length - 1, x, y, ink.faint, 1.25);
  return ground;
}

/**
 * A line through the values that are there; returns its end.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {(number | null)[]} values
 * @param {number} upTo
 * @param {(i: number) => number} x
 * @param {(v: number) => number} y
 * @param {string} colour
 * @param {number} width
 * @returns {[number, number] | null}
 */
function trace(context, values, upTo, x, y, colour, width) {
  /** @type {[number, number] | null} */
  let end = null;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.lineJoin = "round";
  context.beginPath();
  for (let i = 0; i <= Math.min(upTo, values.length - 1); i += 1) {
    const value = values[i];
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    end = [x(i), y(value)];
    context.lineTo(...end);
  }
  context.stroke();
  return end;
}
