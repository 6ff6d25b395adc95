/**
 * Colours that colour-blind readers tell apart (Petroff, 2021), the same ten as in the figures of the report, and how
 * they shade the plane. Nothing is said by colour alone: class k also has its own shape (shapes.js).
 */

/** @typedef {[number, number, number]} RGB */

export const CLASS_COLOURS = [
  "#3f90da",
  "#ffa90e",
  "#bd1f01",
  "#94a4a2",
  "#832db6",
  "#a96b59",
  "#e76300",
  "#b9ac70",
  "#717581",
  "#92dadd",
];

/** On a dark page the two darkest are lifted so that they stay three times as light as the paper. */
const ON_DARK = ["#4d9de6", "#ffa90e", "#f0553a", "#a7b6b4", "#b479dd", "#c48a78", "#f57a1f", "#c9bd85", "#9197a6", "#92dadd"];

/** Low, middle and high values of a number: blue-violet through grey to amber, told apart by lightness too. */
const VALUE_STOPS = /** @type {RGB[]} */ ([
  [38, 56, 122],
  [118, 128, 140],
  [250, 196, 60],
]);

const system = matchMedia("(prefers-color-scheme: dark)");

export function isDark() {
  const chosen = document.documentElement.dataset["theme"];
  return chosen ? chosen === "dark" : system.matches;
}

/** The colour of class k; beyond the tenth all look alike. @param {number} k */
export function classColour(k) {
  const colours = isDark() ? ON_DARK : CLASS_COLOURS;
  return colours[k] ?? (isDark() ? "#e8eaed" : "#1b1c1d");
}

/** @param {string} hex @returns {RGB} */
export function rgb(hex) {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** @param {RGB} a @param {RGB} b @param {number} share of b @returns {RGB} */
export function blend(a, b, share) {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

/** The paper that the plane is drawn on. @returns {RGB} */
export function paper() {
  return isDark() ? [24, 27, 32] : [255, 255, 255];
}

/** The share of the class's colour in a region, from the weakest to the surest answer. */
const WEAK = 0.14;
const SURE = 0.52;

/** The colour of a region of class k; strength runs from 0 to 1. @param {number} k @param {number} strength @returns {RGB} */
export function regionColour(k, strength) {
  return blend(paper(), rgb(classColour(k)), WEAK + (SURE - WEAK) * strength);
}

/** The class whose shades come nearest to a pixel of the region layer. @param {RGB} pixel @param {number} classes */
export function nearestClass(pixel, classes) {
  let best = 0;
  let least = Infinity;
  for (let k = 0; k < classes; k += 1) {
    const from = regionColour(k, 0);
    const to = regionColour(k, 1);
    const along = to.map((v, i) => v - /** @type {number} */ (from[i]));
    const off = pixel.map((v, i) => v - /** @type {number} */ (from[i]));
    const dot = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a.reduce((sum, v, i) => sum + v * (b[i] ?? 0), 0);
    const t = Math.min(1, Math.max(0, dot(off, along) / (dot(along, along) || 1)));
    const away = off.reduce((sum, v, i) => sum + (v - t * (along[i] ?? 0)) ** 2, 0);
    if (away < least) [best, least] = [k, away];
  }
  return best;
}

/** The colour of a number, 0 for the least and 1 for the greatest. @param {number} share @returns {RGB} */
export function valueColour(share) {
  const place = Math.min(1, Math.max(0, share)) * (VALUE_STOPS.length - 1);
  const i = Math.min(VALUE_STOPS.length - 2, Math.floor(place));
  return blend(/** @type {RGB} */ (VALUE_STOPS[i]), /** @type {RGB} */ (VALUE_STOPS[i + 1]), place - i);
}

/** @param {RGB} colour @param {number} [alpha] */
export function css(colour, alpha = 1) {
  return `rgb(${colour.map((v) => Math.round(v)).join(" ")} / ${alpha})`;
}

/** The inks of the plane in the theme of the moment. */
export function inks() {
  return isDark()
    ? { ink: "#e9ebee", soft: "#a5adb7", faint: "#3b424b", halo: "#0d0f12", accent: "#e2b857" }
    : { ink: "#191b1f", soft: "#5b626b", faint: "#d9dce1", halo: "#ffffff", accent: "#8a5a00" };
}
