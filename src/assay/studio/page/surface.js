/**
 * The error surface over two weights, with the path that the steps take on it.
 *
 * @import {Frame, Place, Surface} from "./types.js"
 */
import { drawAxes } from "./axes.js";
import { inks, isDark } from "./colours.js";
import { el, fill } from "./dom.js";
import { context2d, fieldPicture } from "./regions.js";
import { Scale, short } from "./scale.js";

const SIDE = 260;
const BOX = { left: 40, top: 8, width: SIDE - 48, height: SIDE - 42 };

export class SurfaceView {
  constructor() {
    this.canvas = el("canvas", {
      class: "surface-canvas",
      role: "img",
      "aria-label": "Error surface over two weights, with the path of the steps",
    });
    this.caption = el("figcaption", { class: "fine" });
    this.root = el("figure", { class: "surface", "data-role": "surface", hidden: true }, this.canvas, this.caption);
    /** @type {Surface | null} */
    this.surface = null;
    /** @type {import("./regions.js").RegionPicture | null} */
    this.picture = null;
  }

  /** @param {Surface | null} surface */
  set(surface) {
    this.surface = surface;
    this.picture = surface ? fieldPicture(surface) : null;
    this.root.hidden = !surface;
    if (surface)
      fill(
        this.caption,
        `The mean squared error over ${surface.labels.join(" and ")}: from ${short(surface.low)} (dark) to ${short(surface.high)} (bright), with lines of equal error. The path shows the weights after each step, the cross where the error is least.`,
      );
  }

  /** @param {Frame[]} frames @param {number} upTo */
  render(frames, upTo) {
    if (!this.surface || !this.picture) return;
    const ratio = Math.min(3, devicePixelRatio || 1);
    this.canvas.width = SIDE * ratio;
    this.canvas.height = SIDE * ratio;
    const context = context2d(this.canvas);
    const { x, y, labels, least, lines } = this.surface;
    const scale = new Scale({ x, y }, BOX);
    const [across = "", up = ""] = labels;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.drawImage(this.picture.picture(), BOX.left, BOX.top, BOX.width, BOX.height);
    for (const line of lines) drawPath(context, scale, line, inks().halo, 0.75);
    const path = frames.slice(0, upTo + 1).flatMap((frame) => (frame.at ? [frame.at] : []));
    for (const [colour, width] of /** @type {[string, number][]} */ ([
      [inks().halo, 4.5],
      [isDark() ? "#ffffff" : "#191b1f", 2],
    ])) {
      drawPath(context, scale, path, colour, width);
      drawCross(context, scale.x(least[0]), scale.y(least[1]));
      for (const [i, at] of path.entries()) {
        context.beginPath();
        context.arc(scale.x(at[0]), scale.y(at[1]), width / 2 + (i === path.length - 1 ? 3.5 : 1), 0, 2 * Math.PI);
        context.fill();
      }
    }
    drawAxes(context, scale, { x: { label: across }, y: { label: up } });
  }
}

/** @param {CanvasRenderingContext2D} context @param {Scale} scale @param {Place[]} path @param {string} colour @param {number} width */
function drawPath(context, scale, path, colour, width) {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = width;
  context.lineJoin = "round";
  context.beginPath();
  for (const [x, y] of path) context.lineTo(scale.x(x), scale.y(y));
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y */
function drawCross(context, x, y) {
  context.beginPath();
  context.moveTo(x - 6, y);
  context.lineTo(x + 6, y);
  context.moveTo(x, y - 6);
  context.lineTo(x, y + 6);
  context.stroke();
}
