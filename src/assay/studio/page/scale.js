/**
 * From the plane's numbers to pixels and back, and where ticks go.
 *
 * @import {View, Place} from "./types.js"
 */

/** A view laid into a rectangle of CSS pixels, y upwards. */
export class Scale {
  /** @param {View} view @param {{left: number, top: number, width: number, height: number}} box */
  constructor(view, box) {
    this.view = view;
    this.box = box;
    this.kx = box.width / (view.x[1] - view.x[0]);
    this.ky = box.height / (view.y[1] - view.y[0]);
  }

  /** @param {number} x */
  x(x) {
    return this.box.left + (x - this.view.x[0]) * this.kx;
  }

  /** @param {number} y */
  y(y) {
    return this.box.top + this.box.height - (y - this.view.y[0]) * this.ky;
  }

  /** The plane's numbers at a pixel. @param {number} px @param {number} py @returns {Place} */
  back(px, py) {
    return [this.view.x[0] + (px - this.box.left) / this.kx, this.view.y[0] + (this.box.top + this.box.height - py) / this.ky];
  }

  /** @param {number} px @param {number} py */
  holds(px, py) {
    const { left, top, width, height } = this.box;
    return px >= left && px <= left + width && py >= top && py <= top + height;
  }
}

/**
 * Round numbers between low and high, about `wanted` of them.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} wanted
 */
export function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((k) => k * power >= raw) ?? 10);
  const out = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) out.push(i * step);
  return out;
}

/** A number in few characters. @param {number} value @param {number} [digits] */
export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    size >= 1e5 || size < 1e-3 ? value.toExponential(Math.max(0, digits - 2)) : String(Number(value.toPrecision(digits)));
  return text.replace("e+", "e").replaceAll("-", "−");
}

/**
 * A view that holds all points with some room; a view without width gets one.
 *
 * @param {number[]} xs
 * @param {number[]} ys
 * @returns {View}
 */
export function viewOf(xs, ys) {
  /** @type {(values: number[]) => [number, number]} */
  const around = (values) => {
    const low = Math.min(...values);
    const high = Math.max(...values);
    const room = (high - low || 2) * 0.12;
    return [low - room, high + room];
  };
  return xs.length ? { x: around(xs), y: around(ys) } : { x: [-6, 6], y: [-6, 6] };
}
