/** One piece of work under way, and of those that wait only the latest: what dragging needs. */
export class Latest {
  /** @type {(() => Promise<void>) | null} */
  #waiting = null;
  #busy = false;

  /** Run `work` now, or when what is under way has ended, unless newer work comes. @param {() => Promise<void>} work */
  async run(work) {
    if (this.#busy) {
      this.#waiting = work;
      return;
    }
    this.#busy = true;
    /** @type {(() => Promise<void>) | null} */
    let next = work;
    try {
      while (next) {
        this.#waiting = null;
        await next();
        next = this.#waiting;
      }
    } finally {
      this.#busy = false;
      this.#waiting = null;
    }
  }

  /** Forget what waits. */
  clear() {
    this.#waiting = null;
  }
}
