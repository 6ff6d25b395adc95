/**
 * Regions of the plane: bytes from the server, decoded once, painted once into a small canvas that every later frame only scales.
 *
 * @import {Regions, Surface} from "./types.js"
 * @import {RGB} from "./colours.js"
 */
import { css, inks, isDark, nearestClass, paper, regionColour, valueColour } from "./colours.js";

const LITTLE = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** @param {string} text base64 */
export function bytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) out[i] = raw.charCodeAt(i);
  return out;
}

/** @param {RGB} colour */
function word([r, g, b]) {
  return LITTLE ? ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0 : ((r << 24) | (g << 16) | (b << 8) | 255) >>> 0;
}

/** The colours of all bytes: of classes (class, strength), or of numbers. @param {(byte: number) => RGB} colourOf */
function shades(colourOf) {
  return Uint32Array.from({ length: 256 }, (_, byte) => word(/** @type {RGB} */ (colourOf(byte).map(Math.round))));
}

/** @type {Map<string, Uint32Array>} */
const tables = new Map();

/** @param {string} key @param {(byte: number) => RGB} colourOf */
function table(key, colourOf) {
  const name = `${isDark()} ${key}`;
  const known = tables.get(name) ?? shades(colourOf);
  tables.set(name, known);
  return known;
}

/** The picture of one frame's regions. Row 0 of the bytes is the bottom of the plane. */
export class RegionPicture {
  /**
   * @param {Regions} regions
   * @param {number} classes
   * @param {[number, number] | null} [range] numbers of the ends of the colours; else those of the regions
   */
  constructor(regions, classes, range) {
    this.w = regions.w;
    this.h = regions.h;
    this.classes = classes;
    const [low, high] = [regions.low ?? 0, regions.high ?? 1];
    const [first, last] = range ?? [low, high];
    /** Where a byte lies between the ends of the colours. */
    this.share = (/** @type {number} */ byte) => (low + (byte / 255) * (high - low) - first) / (last - first || 1);
    this.label = regions.label ? bytes(regions.label) : null;
    this.strength = regions.strength ? bytes(regions.strength) : null;
    this.value = regions.value ? bytes(regions.value) : null;
    /** @type {HTMLCanvasElement | null} */
    this.canvas = null;
    this.dark = false;
  }

  /** The painted canvas, in the theme of the moment. */
  picture() {
    if (!this.canvas || this.dark !== isDark()) this.#paint();
    return /** @type {HTMLCanvasElement} */ (this.canvas);
  }

  #paint() {
    const { w, h, label, strength, value } = this;
    this.dark = isDark();
    this.canvas = canvasOf(w, h);
    const context = context2d(this.canvas, true);
    const image = context.createImageData(w, h);
    const pixels = new Uint32Array(image.data.buffer);
    const numbers = shades((byte) => softened(valueColour(this.share(byte))));
    const ofClass = Array.from({ length: this.classes }, (_, k) => table(`class ${k}`, (byte) => regionColour(k, byte / 255)));
    for (let row = 0; row < h; row += 1) {
      const to = (h - 1 - row) * w;
      for (let i = row * w, j = to; i < row * w + w; i += 1, j += 1) {
        const shade = label ? ofClass[label[i] ?? 0] : numbers;
        const byte = label ? (strength ? strength[i] : 150) : value?.[i];
        pixels[j] = shade?.[byte ?? 0] ?? 0;
      }
    }
    context.putImageData(image, 0, 0);
  }

  /**
   * The class whose colour the picture shows at a place of the view, read from its pixels.
   *
   * @param {number} u
   * @param {number} v shares of the view
   */
  classAt(u, v) {
    if (!this.label || u < 0 || u > 1 || v < 0 || v > 1) return null;
    const column = Math.min(this.w - 1, Math.floor(u * this.w));
    const row = this.h - 1 - Math.min(this.h - 1, Math.floor(v * this.h));
    const [r = 0, g = 0, b = 0] = context2d(this.picture(), true).getImageData(column, row, 1, 1).data;
    return nearestClass([r, g, b], this.classes);
  }
}

/** Numbers fill the whole plane, so they are drawn calmer than the scale itself. @param {RGB} colour @returns {RGB} */
function softened(colour) {
  const base = paper();
  return [0.35 * base[0] + 0.65 * colour[0], 0.35 * base[1] + 0.65 * colour[1], 0.35 * base[2] + 0.65 * colour[2]];
}

/**
 * A layer that greys and hatches the plane where `mask` is 0: no rows are near.
 *
 * @param {Uint8Array} mask
 * @param {number} w
 * @param {number} h
 * @param {number} width
 * @param {number} height in device pixels
 * @param {number} ratio
 */
export function hatchLayer(mask, w, h, width, height, ratio) {
  const stencil = canvasOf(w, h);
  const small = context2d(stencil);
  const image = small.createImageData(w, h);
  for (let row = 0; row < h; row += 1) {
    for (let column = 0; column < w; column += 1) {
      image.data[4 * ((h - 1 - row) * w + column) + 3] = mask[row * w + column] ? 0 : 255;
    }
  }
  small.putImageData(image, 0, 0);
  const layer = canvasOf(width, height);
  const context = context2d(layer);
  context.fillStyle = css(paper(), 0.62);
  context.fillRect(0, 0, width, height);
  context.strokeStyle = inks().soft;
  context.globalAlpha = 0.3;
  context.lineWidth = ratio;
  context.beginPath();
  for (let x = -height; x < width; x += 9 * ratio) {
    context.moveTo(x, height);
    context.lineTo(x + height, 0);
  }
  context.stroke();
  context.globalAlpha = 1;
  context.globalCompositeOperation = "destination-in";
  context.drawImage(stencil, 0, 0, width, height);
  return layer;
}

/** An error surface or any other field of numbers as a picture. @param {Surface} surface */
export function fieldPicture(surface) {
  return new RegionPicture({ w: surface.w, h: surface.h, value: surface.value, low: surface.low, high: surface.high }, 0);
}

/** @param {number} width @param {number} height */
export function canvasOf(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width));
  canvas.height = Math.max(1, Math.round(height));
  return canvas;
}

/** @param {HTMLCanvasElement} canvas @param {boolean} [readOften] */
export function context2d(canvas, readOften = false) {
  const context = canvas.getContext("2d", { willReadFrequently: readOften });
  if (!context) throw new Error("This browser cannot draw on a canvas.");
  return context;
}
