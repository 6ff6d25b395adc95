/**
 * One panel: a model on the plane, its settings, what it says of itself, and the code that does the same.
 *
 * @import {Form, PanelSetting} from "./types.js"
 * @import {Studio} from "./studio.js"
 */
import { TAB, api } from "./api.js";
import { el, fill, pictureButton, saveAs, setText } from "./dom.js";
import { Facts } from "./facts.js";
import { ModelForm } from "./forms.js";
import { Plane } from "./plane.js";
import { PlaneInput } from "./plane_input.js";
import { Pointing } from "./pointing.js";
import { Roles } from "./roles.js";
import { Run } from "./run.js";

const GRID = /** @type {[number, number]} */ ([128, 128]);
const QUICK_GRID = /** @type {[number, number]} */ ([96, 96]);
const MOST_FRAMES = 240;
const SETTLE = 250; // ms after the last edit until the steps are asked for again

/**
 * @typedef {{changed: (panel: Panel) => void, remove: (panel: Panel) => void, news: (panel: Panel, news: import("./run.js").News) => void}} Owner
 */

export class Panel {
  /** @param {Studio} studio @param {PanelSetting} setting @param {number} number @param {Owner} owner */
  constructor(studio, setting, number, owner) {
    this.studio = studio;
    this.setting = setting;
    this.owner = owner;
    this.number = number;
    /** @type {import("./types.js").LoadedModel | null} */
    this.loaded = null;
    this.key = `${TAB}-${Math.random().toString(36).slice(2, 8)}`;
    /** Questions asked so far: their order, where the server hears them in another. */
    this.turns = 0;
    this.settling = 0;
    this.surfaceAsked = "";
    /** What was drawn last; null: something has changed since. @type {{frame: import("./types.js").Frame, at: number, most: number} | null} */
    this.drawn = null;
    /** What is missing before anything can be learnt. */
    this.wanting = "";

    this.heading = el("h3", { class: "unseen" });
    this.picker = el("select", {
      "aria-label": "Model",
      class: "model-picker",
      "data-role": "model",
      onchange: () => this.#pick(),
    });
    this.removal = pictureButton("remove-panel", "Remove this panel", "close", () => owner.remove(this));
    this.status = el("p", { class: "status", role: "status", hidden: true });
    this.canvas = el("canvas", {
      class: "plane",
      tabIndex: 0,
      role: "application",
      "data-role": "plane",
      "aria-describedby": "plane-keys",
    });
    this.plane = new Plane(this.canvas);
    this.run = new Run((news) => this.#news(news));
    this.roles = new Roles(this.plane);
    this.pointing = new Pointing(this.plane, studio, () => this.run.quick?.end.model ?? this.run.end?.model ?? null);
    new PlaneInput(this.plane, studio, (at) => this.pointing.ask(at));
    this.form = new ModelForm((params) => this.#setParams(params));
    this.facts = new Facts(this.form.root);
    this.save = pictureButton("save-model", "Save this model as a file", "save", () => this.#save(), "Save");
    this.save.disabled = true;
    this.root = el(
      "section",
      { class: "panel", "data-role": `panel-${number}` },
      this.heading,
      el("div", { class: "panel-head" }, this.picker, this.save, this.removal),
      el(
        "div",
        { class: "panel-body" },
        el("div", { class: "stage" }, this.canvas, this.status, this.pointing.readout, this.roles.root),
        this.facts.root,
      ),
    );
    this.showSetting();
  }

  /** The form of the model in this panel. @returns {Form | undefined} */
  get model() {
    return this.studio.about.models.find((form) => form.name === this.setting.model);
  }

  /** Whether what is shown is the end of what was asked last. */
  get settled() {
    const { run } = this;
    return run.end !== null && !run.quick && !run.underWay && !run.streaming && !this.settling;
  }

  /** Fill picker and form from the settings. */
  showSetting() {
    const forms = this.studio.forms();
    fill(this.picker, ...forms.map((form) => el("option", { value: form.name }, this.#titled(form.name))));
    if (this.loaded) this.picker.prepend(el("option", { value: "" }, `${this.loaded.name} (from a file)`));
    this.picker.value = this.loaded ? "" : this.setting.model;
    this.picker.title = this.model?.title ?? "";
    this.form.root.hidden = this.loaded !== null;
    if (this.model) this.form.show(this.model, this.setting.params);
    this.setNumber(this.number);
  }

  /** A model's name, of the one that is shown with the settings in which it is not as usual. @param {string} name */
  #titled(name) {
    const given = Object.entries(this.setting.params).map(([key, value]) => `${key}=${value}`);
    return name === this.setting.model && given.length ? `${name} (${given.join(", ")})` : name;
  }

  /** @param {number} number */
  setNumber(number) {
    this.number = number;
    this.root.dataset["role"] = `panel-${number}`;
    setText(this.heading, `Model ${number + 1}: ${this.loaded?.name ?? this.setting.model}`);
    this.picker.setAttribute("aria-label", `Model ${number + 1}`);
    this.removal.setAttribute("aria-label", `Remove model ${number + 1}`);
    this.canvas.setAttribute(
      "aria-label",
      `Plane of model ${number + 1}, ${this.setting.model}: ${this.studio.shown().x.length} points`,
    );
  }

  #pick() {
    if (!this.picker.value) return;
    this.loaded = null;
    this.setting = { model: this.picker.value, params: {} };
    this.run.error = "";
    this.showSetting();
    this.owner.changed(this);
    this.refresh(false);
  }

  /** @param {import("./types.js").Params} params */
  #setParams(params) {
    this.setting = { ...this.setting, params };
    const shown = this.picker.selectedOptions[0];
    if (shown && !this.loaded) setText(shown, this.#titled(this.setting.model));
    this.owner.changed(this);
    this.refresh(true);
  }

  /** @param {[number, number]} grid */
  #question(grid) {
    const { studio, setting } = this;
    return {
      data: studio.data(),
      model: setting.model,
      params: setting.params,
      view: studio.view,
      grid,
      panel: this.key,
      turn: ++this.turns,
    };
  }

  /** Show the studio's points, before any answer. */
  showPoints() {
    const shown = this.studio.shown();
    const named = this.studio.editable && !this.studio.preset?.axes && this.run.begin?.axes;
    this.run.range = this.studio.range();
    this.plane.setShown({ ...shown, axes: named || shown.axes }, this.studio.view);
    this.setNumber(this.number);
  }

  /** Whether there is anything to learn from. */
  #enough() {
    const { studio } = this;
    const labels = new Set(studio.points.map((point) => point.label));
    const words = !studio.editable
      ? ""
      : studio.points.length < 2
        ? "Draw at least two points."
        : studio.task === "classes" && labels.size < 2
          ? "Draw points of at least two classes."
          : "";
    this.wanting = words;
    if (words) {
      this.run.clear();
      this.plane.picture = null;
      this.plane.setSupport(null);
      this.facts.showEnd(this.run, true);
      setText(this.facts.caption, words);
      this.#news("busy");
    }
    return !words;
  }

  /** Ask for all steps: at once, or after a quick answer has shown the end. @param {boolean} quickFirst */
  refresh(quickFirst) {
    clearTimeout(this.settling);
    this.settling = 0;
    if (!this.#enough()) return;
    if (this.loaded) {
      void this.run.show({ model: this.loaded.model, data: this.studio.data(), view: this.studio.view, grid: GRID });
      return;
    }
    const play = () => this.run.play({ ...this.#question(GRID), frames: MOST_FRAMES }, quickFirst);
    if (!quickFirst) {
      this.run.quick = null;
      void play();
      return;
    }
    this.quickly(() => {
      clearTimeout(this.settling);
      this.settling = setTimeout(() => {
        this.settling = 0;
        void play();
      }, SETTLE);
    });
  }

  /** Ask for the finished model only. @param {() => void} [then] */
  quickly(then) {
    clearTimeout(this.settling);
    this.settling = 0;
    if (!this.#enough()) return;
    if (this.loaded) this.refresh(false);
    else void this.run.fit(() => this.#question(QUICK_GRID), then);
  }

  /** @param {import("./run.js").News} news */
  #news(news) {
    const { run } = this;
    this.drawn = null;
    if (news === "begin" || news === "quick") {
      if (run.begin?.classes) this.studio.adoptClasses(run.begin.classes.map(String));
      if (run.begin) this.facts.showCode(run.begin.code);
      this.showPoints();
    }
    if (news === "begin" || news === "quick" || (news === "end" && this.loaded)) this.plane.setSupport(run.support());
    if (news === "frame" || news === "end") this.facts.measures.setFrames(run.frames);
    if (news === "end") run.quick = null;
    if (news === "end" || (news === "begin" && !run.quick)) this.facts.showEnd(run, this.studio.panels.length === 1);
    if (news === "begin" || news === "end") this.#askSurface();
    this.save.disabled = !run.end?.model;
    this.#showProblem();
    const doing = run.busy ? `fitting ${this.loaded?.name ?? this.setting.model}…` : "";
    setText(this.status, doing);
    this.status.hidden = !doing;
    this.root.setAttribute("aria-busy", String(run.streaming || run.busy));
    this.root.dataset["state"] = this.wanting ? "empty" : run.error ? "error" : this.settled ? "ended" : "busy";
    this.owner.news(this, news);
  }

  #showProblem() {
    const { error } = this.run;
    const beside = this.form.fail(error);
    this.facts.showProblem(beside ? "" : error);
    this.root.classList.toggle("stale", error !== "");
  }

  /**
   * Draw the frame at a position of the player, unless it stands there already: of several panels most have ended before the last.
   *
   * @param {number} position
   * @param {number} most the risk that fills a bar
   */
  render(position, most) {
    const { run, drawn } = this;
    const now = run.at(position);
    if (!now) return;
    const at = Math.min(position, run.frames.length - 1);
    if (drawn?.frame === now.frame && drawn.at === at && drawn.most === most) return;
    this.drawn = { frame: now.frame, at, most };
    this.facts.risk.setMost(most);
    this.plane.picture = now.picture;
    this.plane.draw();
    this.roles.add(now.frame.overlays);
    this.facts.render(run, now.frame, position);
  }

  #askSurface() {
    const wanted = this.studio.preset?.show.includes("surface") ?? false;
    const { data, model, params, view } = this.#question(GRID);
    const question = wanted ? JSON.stringify([data, model, params]) : "";
    if (question === this.surfaceAsked) return;
    this.surfaceAsked = question;
    if (!wanted) {
      this.facts.surface.set(null);
      return;
    }
    const show = (/** @type {import("./types.js").Surface | null} */ surface) => {
      if (question !== this.surfaceAsked) return;
      this.facts.surface.set(surface);
      this.drawn = null;
      this.owner.news(this, "surface");
    };
    api.surface({ data, model, params, view }).then(show, () => show(null));
  }

  async #save() {
    const model = this.run.end?.model;
    if (!model) return;
    try {
      saveAs(await api.modelFile(model), `${this.setting.model}.assay`);
    } catch (problem) {
      this.run.error = problem instanceof Error ? problem.message : String(problem);
      this.#showProblem();
    }
  }

  /** Draw anew what depends on the theme. */
  repaint() {
    this.drawn = null;
    this.plane.repaint();
    this.roles.repaint();
  }

  /** Leave nothing under way. */
  close() {
    clearTimeout(this.settling);
    this.settling = 0;
    this.run.stop();
    this.root.remove();
  }
}
