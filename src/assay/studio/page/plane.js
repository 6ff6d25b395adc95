/**
 * The plane: one canvas with regions, overlays, points, axes and a cursor. It draws what it is given; what the user does
 * with it is in plane_input.js.
 *
 * @import {Axes, Overlay, Place, View} from "./types.js"
 */
import { drawAxes, drawGrid } from "./axes.js";
import { classColour, css, inks, isDark, paper, valueColour } from "./colours.js";
import { drawOverlay, isAbove } from "./overlays.js";
import { canvasOf, context2d, hatchLayer } from "./regions.js";
import { Scale } from "./scale.js";
import { shapePath } from "./shapes.js";

/**
 * @typedef {object} Shown what stands on the plane besides the model
 * @property {number[]} x
 * @property {number[]} y
 * @property {number[] | null} cls class of each point
 * @property {number[] | null} value a number at each point, where the plane's regions are numbers
 * @property {string[]} classes
 * @property {Axes} axes
 * @property {Place[]} [asked] places that a figure asks about
 * @property {boolean} editable
 *
 * @typedef {object} Picture one frame, ready to draw
 * @property {import("./regions.js").RegionPicture | null} regions
 * @property {{x: number[], y: number[]} | null} curve
 * @property {Overlay[]} overlays
 */

const EDGE = { left: 40, right: 10, top: 10, bottom: 34 };

export class Plane {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = context2d(canvas);
    /** @type {View} */
    this.view = { x: [-6, 6], y: [-6, 6] };
    /** @type {Shown} */
    this.shown = {
      x: [],
      y: [],
      cls: null,
      value: null,
      classes: [],
      axes: { x: { label: "x" }, y: { label: "y" } },
      editable: false,
    };
    /** @type {Picture | null} */
    this.picture = null;
    /** @type {{bytes: Uint8Array, w: number, h: number} | null} */
    this.support = null;
    /** @type {Overlay[]} */
    this.pointed = [];
    /** @type {{at: Place, held: number | null} | null} */
    this.cursor = null;
    /** @type {Set<string>} */
    this.hidden = new Set();
    this.scale = new Scale(this.view, { left: 0, top: 0, width: 1, height: 1 });
    this.ratio = 1;
    this.waiting = false;
    /** @type {HTMLCanvasElement | null} */
    this.pointLayer = null;
    /** @type {HTMLCanvasElement | null} */
    this.hatch = null;
    /** @type {HTMLCanvasElement | null} */
    this.axes = null;
    /** Whether any of it can be seen: what is farther down the page is drawn when it comes into view. */
    this.inView = true;
    new ResizeObserver(() => this.#resize()).observe(canvas);
    new IntersectionObserver((seen) => this.#cameIntoView(seen.at(-1)?.isIntersecting ?? true)).observe(canvas);
    this.#resize();
  }

  /** @param {boolean} inView */
  #cameIntoView(inView) {
    this.inView = inView;
    if (inView) this.draw();
  }

  #resize() {
    const { width, height } = this.canvas.getBoundingClientRect();
    if (width < 2 || height < 2) return;
    this.ratio = Math.min(3, devicePixelRatio || 1);
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.#rescale();
    this.draw();
  }

  #rescale() {
    const width = this.canvas.width / this.ratio - EDGE.left - EDGE.right;
    const height = this.canvas.height / this.ratio - EDGE.top - EDGE.bottom;
    this.scale = new Scale(this.view, {
      left: EDGE.left,
      top: EDGE.top,
      width: Math.max(1, width),
      height: Math.max(1, height),
    });
    this.#forget();
  }

  /** Layers that have to be painted anew. */
  #forget() {
    this.pointLayer = null;
    this.hatch = null;
    this.axes = null;
  }

  /** @param {Shown} shown @param {View} view */
  setShown(shown, view) {
    this.shown = shown;
    this.view = view;
    this.#rescale();
    this.later();
  }

  /** @param {{bytes: Uint8Array, w: number, h: number} | null} support */
  setSupport(support) {
    this.support = support;
    this.hatch = null;
    this.later();
  }

  /** Forget what depends on the theme. */
  repaint() {
    this.#forget();
    this.later();
  }

  /** Draw once before the next frame, however often it is asked for. */
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  /** The size of points: smaller where there are many. */
  get r() {
    return this.shown.x.length > 1500 ? 2.5 : this.shown.x.length > 400 ? 3.5 : this.scale.box.width < 300 ? 4 : 5;
  }

  draw() {
    if (!this.inView) return;
    const { context, scale, picture } = this;
    const { left, top, width, height } = scale.box;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.fillStyle = css(paper());
    context.fillRect(left, top, width, height);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    if (picture?.regions) {
      context.imageSmoothingEnabled = true;
      context.imageSmoothingQuality = "low"; // between neighbouring cells: "high" takes 16 of them a pixel, and looks the same
      context.drawImage(picture.regions.picture(), left, top, width, height);
    }
    this.#drawSupport();
    drawGrid(context, scale, this.shown.axes);
    const overlays = (picture?.overlays ?? []).filter((overlay) => !this.hidden.has(overlay.role));
    for (const overlay of overlays) if (!isAbove(overlay.role)) drawOverlay(context, scale, overlay, this.r);
    if (picture?.curve) this.#drawCurve(picture.curve);
    this.#drawPoints();
    for (const overlay of overlays) if (isAbove(overlay.role)) drawOverlay(context, scale, overlay, this.r);
    if (this.shown.asked?.length)
      drawOverlay(context, scale, { kind: "marks", role: "asked", at: this.shown.asked }, this.r);
    for (const overlay of this.pointed) drawOverlay(context, scale, overlay, this.r);
    this.#drawCursor();
    context.restore();
    this.#drawAxes();
  }

  #drawAxes() {
    const { width, height } = this.canvas;
    if (!this.axes) {
      this.axes = canvasOf(width, height);
      const context = context2d(this.axes);
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      drawAxes(context, this.scale, this.shown.axes);
    }
    this.context.drawImage(this.axes, 0, 0, width / this.ratio, height / this.ratio);
  }

  #drawSupport() {
    if (!this.support) return;
    const { left, top, width, height } = this.scale.box;
    const { bytes, w, h } = this.support;
    this.hatch ??= hatchLayer(bytes, w, h, width * this.ratio, height * this.ratio, this.ratio);
    this.context.drawImage(this.hatch, left, top, width, height);
  }

  /** @param {{x: number[], y: number[]}} curve */
  #drawCurve(curve) {
    const { context, scale } = this;
    context.save();
    context.lineJoin = "round";
    for (const [colour, width] of /** @type {[string, number][]} */ ([
      [inks().halo, 6],
      [inks().accent, 2.75],
    ])) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      curve.x.forEach((x, i) => context.lineTo(scale.x(x), scale.y(curve.y[i] ?? 0)));
      context.stroke();
    }
    context.restore();
  }

  #drawPoints() {
    const { left, top, width, height } = this.scale.box;
    if (!this.pointLayer) {
      this.pointLayer = canvasOf(width * this.ratio, height * this.ratio);
      const context = context2d(this.pointLayer);
      context.setTransform(this.ratio, 0, 0, this.ratio, -left * this.ratio, -top * this.ratio);
      this.#paintPoints(context);
    }
    this.context.drawImage(this.pointLayer, left, top, width, height);
  }

  /** @param {CanvasRenderingContext2D} context */
  #paintPoints(context) {
    const { shown, scale, r } = this;
    const values = shown.value ?? [];
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const spread = values.reduce((a, b) => Math.max(a, b), -Infinity) - low || 1;
    context.lineWidth = r > 3 ? 1.1 : 0.7;
    context.strokeStyle = isDark() ? "#0d0f12" : "rgb(20 24 32 / 0.8)";
    for (let i = 0; i < shown.x.length; i += 1) {
      const k = shown.cls?.[i] ?? 0;
      context.save();
      context.translate(scale.x(shown.x[i] ?? 0), scale.y(shown.y[i] ?? 0));
      context.fillStyle = shown.value ? css(valueColour(((values[i] ?? low) - low) / spread)) : classColour(k);
      context.fill(shapePath(k, r));
      context.stroke(shapePath(k, r));
      context.restore();
    }
  }

  #drawCursor() {
    if (!this.cursor) return;
    const { context, scale } = this;
    const { left, top, width, height } = scale.box;
    const x = scale.x(this.cursor.at[0]);
    const y = scale.y(this.cursor.at[1]);
    context.save();
    context.strokeStyle = inks().ink;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + height);
    context.moveTo(left, y);
    context.lineTo(left + width, y);
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 2;
    context.strokeStyle = inks().accent;
    context.beginPath();
    context.arc(x, y, this.r + (this.cursor.held === null ? 5 : 9), 0, 2 * Math.PI);
    context.stroke();
    context.restore();
  }

  /** The point nearest to a pixel, within reach. @param {number} px @param {number} py @param {number} reach in pixels */
  hit(px, py, reach) {
    let best = -1;
    let least = reach * reach;
    this.shown.x.forEach((x, i) => {
      const away = (this.scale.x(x) - px) ** 2 + (this.scale.y(this.shown.y[i] ?? 0) - py) ** 2;
      if (away <= least) [best, least] = [i, away];
    });
    return best;
  }

  /** The class whose colour is shown at a place, or null where there is none. @param {number} x @param {number} y */
  colourAt(x, y) {
    const { view } = this;
    const u = (x - view.x[0]) / (view.x[1] - view.x[0]);
    const v = (y - view.y[0]) / (view.y[1] - view.y[0]);
    return this.picture?.regions?.classAt(u, v) ?? null;
  }
}
