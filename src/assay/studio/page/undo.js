/**
 * Earlier and later states of the drawn points. States are never changed in place, so keeping one costs nothing.
 *
 * @import {Point} from "./types.js"
 */
const MOST = 200;

export class Undo {
  /** @type {Point[][]} */
  #earlier = [];
  /** @type {Point[][]} */
  #later = [];

  get canGoBack() {
    return this.#earlier.length > 0;
  }

  get canGoForth() {
    return this.#later.length > 0;
  }

  /** Remember a state that is about to be left. @param {Point[]} points */
  push(points) {
    this.#earlier.push(points);
    if (this.#earlier.length > MOST) this.#earlier.shift();
    this.#later = [];
  }

  /** @param {Point[]} now */
  back(now) {
    const before = this.#earlier.pop();
    if (before) this.#later.push(now);
    return before;
  }

  /** @param {Point[]} now */
  forth(now) {
    const after = this.#later.pop();
    if (after) this.#earlier.push(now);
    return after;
  }

  clear() {
    this.#earlier = [];
    this.#later = [];
  }
}
