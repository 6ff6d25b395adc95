/**
 * What mouse, touch and keyboard do on a plane: ask the model, draw, drag and erase points. Every plane shows the same
 * points, so all of them edit the same list.
 *
 * @import {Plane} from "./plane.js"
 * @import {Studio} from "./studio.js"
 * @import {Place} from "./types.js"
 */
import { announce } from "./dom.js";
import { short } from "./scale.js";

const REACH = { mouse: 9, pen: 14, touch: 22 };

/** @param {number} value to a thousandth of what a screen can show */
const rounded = (value) => Number(value.toPrecision(4));

export class PlaneInput {
  /**
   * @param {Plane} plane
   * @param {Studio} studio
   * @param {(at: Place | null) => void} onAsk the pointer rests at a place of the plane
   */
  constructor(plane, studio, onAsk) {
    this.plane = plane;
    this.studio = studio;
    this.onAsk = onAsk;
    /** @type {{index: number, moved: boolean, before: import("./types.js").Point[]} | null} */
    this.drag = null;
    /** The point that the keyboard went to last: points may lie upon each other. */
    this.hopped = -1;
    const { canvas } = plane;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#up(event));
    canvas.addEventListener("pointerleave", () => this.onAsk(null));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("blur", () => this.#leave());
    studio.addEventListener("tools", () => this.#showTool());
    this.#showTool();
  }

  #showTool() {
    const { canvas } = this.plane;
    canvas.dataset["tool"] = this.studio.editable ? this.studio.tool : "ask";
  }

  /** @param {PointerEvent} event @returns {{px: number, py: number, at: Place}} */
  #place(event) {
    const box = this.plane.canvas.getBoundingClientRect();
    const px = event.clientX - box.left;
    const py = event.clientY - box.top;
    const [x, y] = this.plane.scale.back(px, py);
    return { px, py, at: [rounded(x), rounded(y)] };
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    const { px, py, at } = this.#place(event);
    const { studio, plane } = this;
    if (!plane.scale.holds(px, py)) return;
    const reach = REACH[/** @type {keyof typeof REACH} */ (event.pointerType)] ?? REACH.mouse;
    const index = plane.hit(px, py, reach);
    const byTouch = event.pointerType === "touch";
    if (!studio.editable || (studio.tool === "ask" && (byTouch || index < 0))) {
      this.onAsk(at);
      return;
    }
    if (studio.tool === "erase") {
      if (index >= 0) this.#remove(index);
    } else {
      const before = studio.points;
      const grabbed = index >= 0 ? index : this.#add(at);
      if (grabbed < 0) return;
      this.drag = { index: grabbed, moved: false, before };
      plane.canvas.setPointerCapture(event.pointerId);
    }
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const { px, py, at } = this.#place(event);
    if (!this.drag) {
      const inside = this.plane.scale.holds(px, py);
      const over = this.studio.editable && this.plane.hit(px, py, REACH.mouse) >= 0;
      this.plane.canvas.dataset["over"] = over ? "point" : "";
      if (event.pointerType !== "touch" && this.studio.tool === "ask") this.onAsk(inside && !over ? at : null);
      return;
    }
    this.drag.moved = true;
    this.#put(this.drag.index, this.#within(at), "drag");
  }

  /** @param {PointerEvent} event */
  #up(event) {
    if (!this.drag) return;
    const { before, moved } = this.drag;
    this.drag = null;
    if (this.plane.canvas.hasPointerCapture(event.pointerId)) this.plane.canvas.releasePointerCapture(event.pointerId);
    const after = this.studio.points;
    if (!moved || after === before) return;
    this.studio.points = before.length === after.length ? before : this.studio.points;
    if (before.length === after.length) this.studio.setPoints(after, "edit");
    else this.studio.tell("data", "edit");
  }

  /** @param {Place} at @returns {Place} */
  #within([x, y]) {
    const { view } = this.plane;
    return [Math.min(view.x[1], Math.max(view.x[0], x)), Math.min(view.y[1], Math.max(view.y[0], y))];
  }

  /** @param {number} index @param {Place} at @param {"drag" | "edit"} why */
  #put(index, [x, y], why) {
    const { studio } = this;
    studio.setPoints(
      studio.points.map((point, i) => (i === index ? { ...point, x, y } : point)),
      why,
    );
  }

  /** Add a point and return its number, or −1 where there are too many. @param {Place} at */
  #add([x, y]) {
    const { studio } = this;
    const most = studio.about.limits.points;
    if (studio.points.length >= most) {
      announce(`There are ${most} points, the most that can be drawn. Remove some first.`);
      return -1;
    }
    const label = studio.task === "classes" ? studio.brush : "";
    studio.setPoints([...studio.points, { x, y, label }], "edit");
    announce(`Point ${label} added at ${short(x)}, ${short(y)}. ${studio.points.length} points.`);
    return studio.points.length - 1;
  }

  /** @param {number} index */
  #remove(index) {
    const gone = this.studio.points[index];
    this.studio.setPoints(
      this.studio.points.filter((_, i) => i !== index),
      "edit",
    );
    if (gone)
      announce(`Point ${gone.label} at ${short(gone.x)}, ${short(gone.y)} removed. ${this.studio.points.length} points left.`);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { plane, studio } = this;
    const { view } = plane;
    const cursor = (plane.cursor ??= { at: [(view.x[0] + view.x[1]) / 2, (view.y[0] + view.y[1]) / 2], held: null });
    const step = event.shiftKey ? 0.005 : 0.03;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (way) {
      const [dx = 0, dy = 0] = way;
      cursor.at = this.#within([
        rounded(cursor.at[0] + dx * step * (view.x[1] - view.x[0])),
        rounded(cursor.at[1] + dy * step * (view.y[1] - view.y[0])),
      ]);
      if (cursor.held !== null) this.#put(cursor.held, cursor.at, "drag");
      else this.onAsk(cursor.at);
      announce(`${short(cursor.at[0])}, ${short(cursor.at[1])}`);
    } else if (event.key === "n" || event.key === "p") this.#hop(event.key === "n" ? 1 : -1);
    else if (event.key === "Enter" && studio.editable) this.#enter();
    else if ((event.key === "Delete" || event.key === "Backspace") && studio.editable) this.#delete();
    else if (event.key === "Escape") this.#leave();
    else if (/^[1-9]$/.test(event.key) && studio.classes[Number(event.key) - 1]) {
      studio.brush = /** @type {string} */ (studio.classes[Number(event.key) - 1]);
      studio.tell("tools");
      announce(`New points are of class ${studio.brush}.`);
    } else return;
    event.preventDefault();
    event.stopPropagation();
    plane.later();
  }

  /** The point under the cursor. */
  #under() {
    const { plane } = this;
    if (!plane.cursor) return -1;
    if (plane.cursor.held !== null) return plane.cursor.held;
    return plane.hit(plane.scale.x(plane.cursor.at[0]), plane.scale.y(plane.cursor.at[1]), 10);
  }

  /** Take up the point under the cursor, put it down, or add one. */
  #enter() {
    const cursor = this.plane.cursor;
    if (!cursor) return;
    if (cursor.held !== null) {
      cursor.held = null;
      announce(`Put down at ${short(cursor.at[0])}, ${short(cursor.at[1])}.`);
      this.studio.tell("data", "edit");
      return;
    }
    const index = this.#under();
    if (index < 0) {
      this.#add(cursor.at);
      return;
    }
    const point = this.studio.points[index];
    if (!point) return;
    this.studio.undo.push(this.studio.points);
    cursor.held = index;
    cursor.at = [point.x, point.y];
    announce(`Point ${point.label} taken up. Arrows move it, Enter puts it down, Delete removes it.`);
  }

  #delete() {
    const index = this.#under();
    if (index < 0) {
      announce("No point under the cursor. Press n to go to the next point.");
      return;
    }
    if (this.plane.cursor) this.plane.cursor.held = null;
    this.#remove(index);
  }

  /** Go to the next or previous point. @param {number} way */
  #hop(way) {
    const { plane } = this;
    const cursor = plane.cursor;
    const count = plane.shown.x.length;
    if (!cursor || !count) return;
    const { at } = cursor;
    const there = plane.shown.x[this.hopped] === at[0] && plane.shown.y[this.hopped] === at[1];
    const now = there ? this.hopped : this.#under();
    const next = now < 0 ? (way > 0 ? 0 : count - 1) : (now + way + count) % count;
    this.hopped = next;
    cursor.held = null;
    cursor.at = [plane.shown.x[next] ?? 0, plane.shown.y[next] ?? 0];
    const name = plane.shown.cls ? `, class ${plane.shown.classes[plane.shown.cls[next] ?? 0]}` : "";
    announce(`Point ${next + 1} of ${count} at ${short(cursor.at[0])}, ${short(cursor.at[1])}${name}.`);
  }

  #leave() {
    if (this.plane.cursor?.held !== null && this.plane.cursor) this.studio.tell("data", "edit");
    this.plane.cursor = null;
    this.onAsk(null);
    this.plane.later();
  }
}
