/** A shape for each class, in the order of the report's figures, so that colour is never alone. */
import { classColour } from "./colours.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Corners on circles: how many, at which radii in turn, from which angle in degrees.
 *
 * @type {{name: string, corners: [number, number][]}[]}
 */
const SHAPES = [
  { name: "circle", corners: [] },
  { name: "square", corners: regular(4, 1.22, -45) },
  { name: "triangle", corners: regular(3, 1.3, -90) },
  { name: "diamond", corners: regular(4, 1.28, -90) },
  { name: "triangle downwards", corners: regular(3, 1.3, 90) },
  { name: "plus", corners: cross(1.2, 0) },
  { name: "cross", corners: cross(1.25, 45) },
  { name: "triangle to the left", corners: regular(3, 1.3, 180) },
  { name: "triangle to the right", corners: regular(3, 1.3, 0) },
  { name: "star", corners: star(1.4) },
];

/** @param {number} r @param {number} degrees @returns {[number, number]} */
function polar(r, degrees) {
  return [r * Math.cos((degrees * Math.PI) / 180), r * Math.sin((degrees * Math.PI) / 180)];
}

/** @param {number} sides @param {number} r @param {number} turn */
function regular(sides, r, turn) {
  return Array.from({ length: sides }, (_, i) => polar(r, turn + (360 * i) / sides));
}

/** @param {number} r @param {number} turn */
function cross(r, turn) {
  const inner = Math.SQRT2 * 0.36 * r;
  const outer = Math.hypot(0.36 * r, r);
  const half = (Math.atan2(0.36, 1) * 180) / Math.PI;
  return [0, 90, 180, 270].flatMap((arm) => [
    polar(outer, turn + arm - half),
    polar(outer, turn + arm + half),
    polar(inner, turn + arm + 45),
  ]);
}

/** @param {number} r */
function star(r) {
  return Array.from({ length: 10 }, (_, i) => polar(i % 2 ? 0.45 * r : r, -90 + 36 * i));
}

/** The outline as an SVG path about the origin. @param {number} k @param {number} r */
function outline(k, r) {
  const corners = SHAPES[k]?.corners ?? [];
  const size = SHAPES[k] ? r : 0.6 * r;
  if (!corners.length) return `M${-size} 0A${size} ${size} 0 1 1 ${size} 0A${size} ${size} 0 1 1 ${-size} 0Z`;
  return `M${corners.map(([x, y]) => `${(x * r).toFixed(2)} ${(y * r).toFixed(2)}`).join("L")}Z`;
}

/** @type {Map<string, Path2D>} */
const made = new Map();

/** @param {number} k @param {number} r */
export function shapePath(k, r) {
  const key = `${k} ${r}`;
  const path = made.get(key) ?? new Path2D(outline(k, r));
  made.set(key, path);
  return path;
}

/** @param {number} k */
export function shapeName(k) {
  return SHAPES[k]?.name ?? "dot";
}

/** A small picture of class k's colour and shape, for legends. @param {number} k */
export function shapeIcon(k) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "shape");
  svg.setAttribute("viewBox", "-8 -8 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", outline(k, 5));
  path.setAttribute("fill", classColour(k));
  svg.append(path);
  return svg;
}
