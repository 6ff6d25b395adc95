/**
 * Drawing overlays: the page knows shapes and roles, not models.
 *
 * @import {Overlay, Place} from "./types.js"
 * @import {Scale} from "./scale.js"
 */
import { classColour, inks, isDark } from "./colours.js";
import { canvasOf, context2d } from "./regions.js";
import { shapePath } from "./shapes.js";

/**
 * @typedef {{width: number, dash: number[], colour: "ink" | "soft" | "accent" | "class", alpha: number, fill: number}} Stroke
 */

/** @param {Partial<Stroke>} [own] @returns {Stroke} */
const stroke = (own) => ({ width: 1.5, dash: [], colour: "ink", alpha: 1, fill: 0, ...own });

/** @type {Record<string, Stroke>} */
const STROKES = {
  boundary: stroke({ width: 2.25 }),
  margin: stroke({ width: 1.25, dash: [6, 4] }),
  split: stroke({ width: 1.5, dash: [2, 3] }),
  cell: stroke({ width: 1, alpha: 0.55 }),
  box: stroke({ width: 2.25 }),
  ellipse: stroke({ width: 2, colour: "class" }),
  radius: stroke({ width: 1.25, dash: [4, 4], colour: "ink", alpha: 0.8 }),
  neighbour: stroke({ width: 1.25, alpha: 0.85 }),
  residual: stroke({ width: 1.25, colour: "soft" }),
  unit: stroke({ width: 1.25, dash: [8, 3, 2, 3], colour: "accent" }),
  weight: stroke({ width: 2.25, colour: "accent" }),
  path: stroke({ width: 1.75, colour: "accent" }),
  vote: stroke({ width: 0.75, alpha: 0.35 }),
  landmark: stroke({ width: 1.5, colour: "accent" }),
  current: stroke({ width: 2.25, colour: "accent" }),
};

/** What stands above the points; everything else lies below them. */
const ABOVE = new Set(["mistake", "support", "current", "centre", "neighbour", "landmark", "weight", "path"]);

/** @param {string} role */
export function isAbove(role) {
  return ABOVE.has(role);
}

/** The words of the legend for each role; a role without words has no switch. @type {Record<string, string>} */
export const ROLE_WORDS = {
  boundary: "boundary",
  margin: "margin",
  support: "support vectors",
  mistake: "mistakes",
  current: "row in turn",
  neighbour: "neighbours",
  radius: "radius",
  centre: "means",
  ellipse: "covariance",
  cell: "cells",
  split: "split",
  residual: "residuals",
  unit: "hidden units",
  weight: "weights",
  path: "path",
  landmark: "landmarks",
  box: "box",
  vote: "votes",
};

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scale} scale
 * @param {Overlay} overlay
 * @param {number} r size of points
 */
export function drawOverlay(context, scale, overlay, r) {
  const style = STROKES[overlay.role] ?? stroke();
  const single = typeof overlay.class === "number" ? overlay.class : 0;
  const ink = inks();
  context.save();
  context.lineWidth = style.width;
  context.setLineDash(style.dash);
  context.lineJoin = "round";
  context.globalAlpha = style.alpha;
  context.strokeStyle = style.colour === "class" ? classColour(single) : ink[style.colour];
  if (overlay.kind === "marks") drawMarks(context, scale, overlay, r);
  else if (overlay.kind === "rectangle" && overlay.x && overlay.y) {
    const [left, right] = overlay.x;
    const [low, high] = overlay.y;
    context.strokeRect(scale.x(left), scale.y(high), scale.x(right) - scale.x(left), scale.y(low) - scale.y(high));
  } else if (overlay.kind === "lines") for (const points of overlay.lines ?? []) drawLine(context, scale, points, false);
  else {
    const points = overlay.points ?? [];
    if (overlay.kind === "arrow") drawArrow(context, scale, points);
    else {
      haloed(context, style, () => drawLine(context, scale, points, overlay.kind === "polygon"));
    }
    const last = points.at(overlay.kind === "polygon" ? 0 : -1);
    if (overlay.label && last) drawWords(context, overlay.label, scale.x(last[0]) + 6, scale.y(last[1]) - 6);
  }
  context.restore();
}

/**
 * A light edge keeps strong lines readable on strong regions.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Stroke} style
 * @param {() => void} draw
 */
function haloed(context, style, draw) {
  if (style.width >= 2) {
    context.save();
    context.strokeStyle = inks().halo;
    context.lineWidth = style.width + 2;
    context.globalAlpha = 0.6;
    draw();
    context.restore();
  }
  draw();
}

/** @param {CanvasRenderingContext2D} context @param {Scale} scale @param {Place[]} points @param {boolean} closed */
function drawLine(context, scale, points, closed) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(scale.x(x), scale.y(y));
  if (closed) context.closePath();
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {Scale} scale @param {Place[]} points */
function drawArrow(context, scale, points) {
  const [from, to] = [points[0], points.at(-1)];
  if (!from || !to) return;
  const [x0, y0, x1, y1] = [scale.x(from[0]), scale.y(from[1]), scale.x(to[0]), scale.y(to[1])];
  const angle = Math.atan2(y1 - y0, x1 - x0);
  const head = 10;
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1 - 0.8 * head * Math.cos(angle), y1 - 0.8 * head * Math.sin(angle));
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = context.strokeStyle;
  context.beginPath();
  context.moveTo(x1, y1);
  for (const turn of [0.42, -0.42]) context.lineTo(x1 - head * Math.cos(angle + turn), y1 - head * Math.sin(angle + turn));
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scale} scale
 * @param {Overlay} overlay
 * @param {number} r
 */
function drawMarks(context, scale, overlay, r) {
  const classes = Array.isArray(overlay.class) ? overlay.class : null;
  const ratio = context.getTransform().a;
  for (const [i, at] of (overlay.at ?? []).entries()) {
    const k = classes?.[i] ?? (typeof overlay.class === "number" ? overlay.class : 0);
    const [x, y] = [scale.x(at[0]), scale.y(at[1])];
    const mark = stamp(overlay.role, k, r, ratio);
    const side = mark.width / ratio;
    const whole = (/** @type {number} */ v) => Math.round((v - side / 2) * ratio) / ratio; // a copy between pixels is blurred
    context.drawImage(mark, whole(x), whole(y), side, side);
    const words = overlay.labels?.[i];
    if (words) drawWords(context, words, x + r + 5, y - r - 2);
  }
}

const MARK_ROOM = 9; // how far a mark reaches beyond the point that it marks

/** @type {Map<string, HTMLCanvasElement>} */
const stamps = new Map();

/**
 * A mark painted once: copying it takes a tenth of the time that its outlines take, and a frame may have hundreds.
 *
 * @param {string} role
 * @param {number} k
 * @param {number} r
 * @param {number} ratio
 */
function stamp(role, k, r, ratio) {
  const key = `${role} ${k} ${r} ${ratio} ${isDark()}`;
  const known = stamps.get(key);
  if (known) return known;
  const side = 2 * (r + MARK_ROOM) * ratio;
  const made = canvasOf(side, side);
  const context = context2d(made);
  const style = STROKES[role] ?? stroke();
  context.setTransform(ratio, 0, 0, ratio, made.width / 2, made.height / 2);
  context.lineWidth = style.width;
  context.strokeStyle = style.colour === "class" ? classColour(k) : inks()[style.colour];
  drawMark(context, role, k, r);
  stamps.set(key, made);
  return made;
}

/** @param {CanvasRenderingContext2D} context @param {string} role @param {number} k @param {number} r */
function drawMark(context, role, k, r) {
  const ink = inks();
  if (role === "mistake") {
    context.fillStyle = ink.halo;
    context.strokeStyle = ink.ink;
    context.lineWidth = 4;
    context.stroke(shapePath(k, r));
    context.fill(shapePath(k, r));
    context.strokeStyle = classColour(k);
    context.lineWidth = 2.25;
    context.stroke(shapePath(k, r));
    context.strokeStyle = ink.ink;
    context.lineWidth = 1.5;
    crossing(context, 0.5 * r);
  } else if (role === "centre") {
    context.lineCap = "round";
    for (const [colour, width] of /** @type {[string, number][]} */ ([
      [ink.halo, 6.5],
      [ink.ink, 5],
      [classColour(k), 2.5],
    ])) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      crossing(context, 1.1 * r);
    }
  } else if (role === "current") {
    ring(context, r + 5, ink.halo, 5);
    ring(context, r + 5, ink.accent, 2.5);
  } else if (role === "asked") {
    context.fillStyle = ink.halo;
    context.beginPath();
    context.arc(0, 0, r + 4, 0, 2 * Math.PI);
    context.fill();
    ring(context, r + 4, ink.ink, 2);
    context.fillStyle = ink.ink;
    context.font = `700 ${Math.round(2.2 * r)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText("?", 0, 0.5);
  } else if (role === "landmark") {
    context.stroke(shapePath(3, r + 2));
  } else {
    ring(context, r + 3.5, ink.halo, 3.5);
    ring(context, r + 3.5, ink.ink, 1.6);
  }
}

/** @param {CanvasRenderingContext2D} context @param {number} r @param {string} colour @param {number} width */
function ring(context, r, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.arc(0, 0, r, 0, 2 * Math.PI);
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {number} r */
function crossing(context, r) {
  context.beginPath();
  context.moveTo(-r, -r);
  context.lineTo(r, r);
  context.moveTo(r, -r);
  context.lineTo(-r, r);
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {string} words @param {number} x @param {number} y */
function drawWords(context, words, x, y) {
  const ink = inks();
  context.save();
  context.setLineDash([]);
  context.globalAlpha = 1;
  context.font = "600 12px system-ui, sans-serif";
  context.lineWidth = 3.5;
  context.strokeStyle = ink.halo;
  context.strokeText(words, x, y);
  context.fillStyle = ink.ink;
  context.fillText(words, x, y);
  context.restore();
}
