/**
 * The legend: what is drawn besides regions and points, one switch a role that has been seen, with a sample of how it looks.
 *
 * @import {Overlay} from "./types.js"
 * @import {Plane} from "./plane.js"
 */
import { el, fill } from "./dom.js";
import { ROLE_WORDS, drawOverlay } from "./overlays.js";
import { context2d } from "./regions.js";
import { Scale } from "./scale.js";

const WIDTH = 26;
const HEIGHT = 22;
const SAMPLE_POINT = 3.5; // the size of the point that is marked
const VIEW = { x: /** @type {[number, number]} */ ([0, 1]), y: /** @type {[number, number]} */ ([0, 1]) };
const ELLIPSE = Array.from({ length: 24 }, (_, i) => /** @type {[number, number]} */ ([
  0.5 + 0.42 * Math.cos((i * Math.PI) / 12),
  0.5 + 0.36 * Math.sin((i * Math.PI) / 12),
]));

/** A small overlay of each kind. @type {Record<Overlay["kind"], Omit<Overlay, "role">>} */
const SAMPLES = {
  line: { kind: "line", points: [[0, 0.5], [1, 0.5]] }, // prettier-ignore
  lines: { kind: "line", points: [[0, 0.5], [1, 0.5]] }, // prettier-ignore
  arrow: { kind: "arrow", points: [[0.05, 0.5], [0.95, 0.5]] }, // prettier-ignore
  polygon: { kind: "polygon", points: ELLIPSE },
  rectangle: { kind: "rectangle", x: [0.12, 0.88], y: [0.1, 0.9] },
  marks: { kind: "marks", at: [[0.5, 0.5]] },
};

export class Roles {
  /** @param {Plane} plane */
  constructor(plane) {
    this.plane = plane;
    /** The kind of the first overlay of each role. @type {Map<string, Overlay["kind"]>} */
    this.seen = new Map();
    this.root = el("div", { class: "roles", role: "group", "aria-label": "What is drawn" });
  }

  /** @param {Overlay[]} overlays of a frame */
  add(overlays) {
    const before = this.seen.size;
    for (const { role, kind } of overlays) if (ROLE_WORDS[role] && !this.seen.has(role)) this.seen.set(role, kind);
    if (this.seen.size > before) this.repaint();
  }

  /** Show all switches anew, in the colours of the theme. */
  repaint() {
    const there = Object.keys(ROLE_WORDS).filter((role) => this.seen.has(role));
    fill(this.root, ...there.map((role) => this.#switch(role)));
  }

  /** @param {string} role */
  #switch(role) {
    const { plane } = this;
    const turn = () => {
      if (box.checked) plane.hidden.delete(role);
      else plane.hidden.add(role);
      plane.later();
    };
    const box = el("input", { type: "checkbox", checked: !plane.hidden.has(role), "data-show": role, onchange: turn });
    return el("label", { class: "role" }, box, sample(role, this.seen.get(role) ?? "line"), ROLE_WORDS[role] ?? role);
  }
}

/** @param {string} role @param {Overlay["kind"]} kind */
function sample(role, kind) {
  const canvas = el("canvas", { class: "role-sample", "aria-hidden": "true" });
  const ratio = Math.min(3, devicePixelRatio || 1);
  canvas.width = WIDTH * ratio;
  canvas.height = HEIGHT * ratio;
  const context = context2d(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const scale = new Scale(VIEW, { left: 1, top: 1, width: WIDTH - 2, height: HEIGHT - 2 });
  drawOverlay(context, scale, { ...SAMPLES[kind], role }, SAMPLE_POINT);
  return canvas;
}
