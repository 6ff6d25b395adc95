/**
 * What the model says where the pointer is: words in a box beside it, neighbours and the like on the plane.
 *
 * @import {Overlay, Place} from "./types.js"
 * @import {Plane} from "./plane.js"
 * @import {Studio} from "./studio.js"
 */
import { api } from "./api.js";
import { el, setText } from "./dom.js";
import { Latest } from "./latest.js";

export class Pointing {
  /** @param {Plane} plane @param {Studio} studio @param {() => string | null} model the fitted model's id, once there is one */
  constructor(plane, studio, model) {
    this.plane = plane;
    this.studio = studio;
    this.model = model;
    this.readout = el("p", { class: "readout", "data-role": "readout", hidden: true });
    this.questions = new Latest();
    /** @type {Place | null} */
    this.asked = null;
  }

  /** @param {Place | null} at null: the pointer has left */
  ask(at) {
    const model = this.model();
    this.asked = model ? at : null;
    if (!at || !model) {
      this.questions.clear();
      this.#show([], "");
      return;
    }
    void this.questions.run(async () => {
      const told = await api.near({ model, at, data: this.studio.data(), view: this.studio.view }).catch(() => null);
      if (told && this.asked === at) this.#show(told.overlays, told.text);
    });
  }

  /** @param {Overlay[]} overlays @param {string} text */
  #show(overlays, text) {
    if (!overlays.length && !this.plane.pointed.length && this.readout.textContent === text) return;
    this.plane.pointed = overlays;
    setText(this.readout, text);
    this.readout.hidden = !text;
    this.readout.classList.toggle("aside", this.#covers());
    this.plane.later();
  }

  /** Whether the box would stand on the pointer. */
  #covers() {
    const { view } = this.plane;
    const [x, y] = this.asked ?? [view.x[0], view.y[1]];
    return x > (view.x[0] + view.x[1]) / 2 && y < (view.y[0] + 2 * view.y[1]) / 3;
  }
}
