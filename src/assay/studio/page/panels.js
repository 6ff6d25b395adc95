/**
 * Up to four panels side by side on the same data, and the one player that moves them.
 *
 * @import {LoadedModel, PanelSetting} from "./types.js"
 * @import {Studio, Why} from "./studio.js"
 */
import { byId, el, icon, stillWanted } from "./dom.js";
import { afterAll } from "./facts.js";
import { Panel } from "./panel.js";
import { Player } from "./player.js";

export class Panels {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.root = byId("panels", HTMLElement);
    /** @type {Panel[]} */
    this.list = [];
    this.adder = el(
      "button",
      { type: "button", class: "add-panel", "data-role": "add-panel", onclick: () => this.add() },
      icon("plus"),
      "Add a model beside",
    );
    this.root.after(this.adder);
    /** Whether the player starts by itself with the next frame that comes. */
    this.autoplay = false;
    /** Whether the finished models are shown as soon as they are there. */
    this.follow = false;
    /** @type {Player} */
    this.player = new Player({
      length: () => Math.max(0, ...this.list.map((panel) => panel.run.frames.length)),
      streaming: () => this.list.some((panel) => panel.run.streaming),
      render: (frame) => this.#render(frame),
      label: (frame) => this.#label(frame),
      touched: () => this.#touched(),
    });
    studio.addEventListener("panels", () => this.#build());
    studio.addEventListener("data", (event) => this.#dataChanged(/** @type {CustomEvent<Why>} */ (event).detail));
  }

  #build() {
    for (const panel of this.list) panel.close();
    this.list = this.studio.panels.map((setting, number) => this.#make(setting, number));
    this.root.append(...this.list.map((panel) => panel.root));
    this.#arrange();
  }

  /** @param {PanelSetting} setting @param {number} number */
  #make(setting, number) {
    return new Panel(this.studio, setting, number, {
      changed: () => {
        this.follow = !this.player.playing;
        this.#keep();
      },
      remove: (panel) => this.#remove(panel),
      news: (_, news) => this.#news(news),
    });
  }

  #keep() {
    this.studio.panels = this.list.map((panel) => panel.setting);
    this.studio.keep();
  }

  #arrange() {
    this.root.dataset["count"] = String(this.list.length);
    this.list.forEach((panel, number) => panel.setNumber(number));
    for (const panel of this.list) panel.removal.hidden = this.list.length === 1;
    this.adder.hidden = this.list.length >= this.studio.about.limits.panels;
  }

  /**
   * Another model beside those there: the next of the list that is not shown yet.
   *
   * @param {LoadedModel} [loaded] a model from a file
   */
  add(loaded) {
    if (this.list.length >= this.studio.about.limits.panels) return false;
    const shown = new Set(this.list.map((panel) => panel.setting.model));
    const forms = this.studio.forms();
    const next =
      forms.find((form) => form.name === loaded?.name) ??
      forms.find((form) => !shown.has(form.name) && !form.name.includes("baseline")) ??
      forms[0];
    if (!next) return false;
    const panel = this.#make({ model: next.name, params: loaded?.params ?? {} }, this.list.length);
    this.list.push(panel);
    this.root.append(panel.root);
    if (loaded) {
      panel.loaded = loaded;
      panel.showSetting();
    }
    this.#arrange();
    this.#keep();
    panel.showPoints();
    panel.refresh(false);
    if (!loaded) panel.picker.focus();
    return true;
  }

  /** @param {Panel} panel */
  #remove(panel) {
    panel.close();
    this.list = this.list.filter((other) => other !== panel);
    this.#arrange();
    this.#keep();
    this.player.refresh();
    this.list.at(-1)?.picker.focus();
  }

  /** @param {Why} why */
  #dataChanged(why) {
    for (const panel of this.list) panel.showPoints();
    if (why === "classes") return;
    if (why === "open") {
      this.player.pause();
      this.player.moveTo(0);
      this.player.setSpeed(this.studio.preset?.speed ?? 8);
      this.autoplay = !stillWanted();
      this.follow = !this.autoplay;
      for (const panel of this.list) panel.refresh(false);
    } else {
      this.player.pause();
      this.autoplay = false;
      this.follow = true;
      for (const panel of this.list) {
        if (why === "drag") panel.quickly();
        else panel.refresh(true);
      }
    }
  }

  /** @param {import("./run.js").News} news */
  #news(news) {
    const done = !this.list.some((panel) => panel.run.streaming);
    if (news === "frame" && this.autoplay) {
      this.autoplay = false;
      this.player.start();
    }
    if (done && this.follow) this.player.moveTo(Infinity);
    else if (news !== "busy" && news !== "error") this.player.refresh();
  }

  /** The user took the player in hand: it stays where they put it. */
  #touched() {
    this.follow = false;
    this.autoplay = false;
    for (const { run } of this.list) if (run.streaming && run.frames.length) run.quick = null;
  }

  /** @param {number} frame */
  #render(frame) {
    const most = Math.max(...this.list.map((panel) => panel.run.mostRisk()));
    for (const panel of this.list) panel.render(frame, most);
  }

  /** @param {number} frame @returns {string} */
  #label(frame) {
    const length = this.player.stage.length();
    if (!length) return "no steps yet";
    const first = this.list.find((panel) => panel.run.frames.length === length) ?? this.list[0];
    const run = first?.run;
    const shown = run?.frames[Math.min(frame, run.frames.length - 1)];
    const after = afterAll(shown?.caption ?? "", run?.begin?.word ?? "step");
    if (after) return after;
    const step = shown?.step ?? 0;
    const last = run?.begin?.total ?? run?.frames.at(-1)?.step ?? 0;
    return `${run?.begin?.word ?? "step"} ${step} of ${Math.max(last, step)}`;
  }
}
