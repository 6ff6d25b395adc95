/**
 * What the whole page shares: the data, the task, the view, the panels' settings. Parts change it through methods and
 * listen to its events: "data" (detail: why), "panels", "tools". It is kept for the tab, so that nothing is lost by reloading.
 *
 * @import {About, Data, PanelSetting, Point, Preset, Table, TableData, TablePoints, Task, View} from "./types.js"
 * @import {Shown} from "./plane.js"
 */
import { tokenNow } from "./api.js";
import { viewOf } from "./scale.js";
import { Undo } from "./undo.js";

const KEY = "assay-studio-state";
const PLAIN_VIEW = /** @type {View} */ ({ x: [-6, 6], y: [-6, 6] });

/**
 * @typedef {"open" | "drag" | "edit" | "classes"} Why what happened to the data: all new, one point moving, edited, only the order of classes
 */
/** @typedef {{table: Table, data: TableData, shown: TablePoints}} TableState */

export class Studio extends EventTarget {
  /** @param {About} about */
  constructor(about) {
    super();
    this.about = about;
    /** Tables and models live as long as one server does, and its token. */
    this.server = tokenNow();
    /** @type {Point[]} */
    this.points = [];
    /** @type {TableState | null} */
    this.table = null;
    /** @type {Task} */
    this.task = "classes";
    /** @type {View} */
    this.view = structuredClone(PLAIN_VIEW);
    /** @type {string[]} */
    this.classes = ["A", "B"];
    /** @type {PanelSetting[]} */
    this.panels = [];
    /** @type {Pick<Preset, "id" | "title" | "note" | "look" | "show" | "speed" | "asked" | "axes"> | null} */
    this.preset = null;
    /** @type {"ask" | "draw" | "erase"} */
    this.tool = "ask";
    this.brush = "A";
    this.undo = new Undo();
  }

  /** @param {string} name @param {unknown} [detail] */
  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
    this.keep();
  }

  /** Whether the points are the user's own to move. */
  get editable() {
    return this.table === null;
  }

  /** What the server is asked to learn from. @returns {Data} */
  data() {
    if (this.table) return asked(this.table.data);
    const x = this.points.map((p) => p.x);
    const y = this.points.map((p) => p.y);
    return this.task === "numbers"
      ? { points: { x, target: y } }
      : { points: { x, y, label: this.points.map((p) => p.label) } };
  }

  /** What the planes show. @returns {Shown} */
  shown() {
    const index = new Map(this.classes.map((name, k) => [name, k]));
    if (this.table) {
      const { x, y, label, target, axes } = this.table.shown;
      const cls = label ? label.map((name) => index.get(String(name)) ?? 0) : null;
      return {
        x,
        y,
        cls,
        value: this.table.data.projection === "slice" && this.table.data.columns.length === 1 ? null : target,
        classes: this.classes,
        axes,
        editable: false,
      };
    }
    return {
      x: this.points.map((p) => p.x),
      y: this.points.map((p) => p.y),
      cls: this.task === "classes" ? this.points.map((p) => index.get(p.label) ?? 0) : null,
      value: null,
      classes: this.classes,
      axes: this.preset?.axes ?? { x: { label: "x" }, y: { label: this.task === "numbers" ? "target" : "y" } },
      asked: this.preset?.asked ?? [],
      editable: true,
    };
  }

  /**
   * The least and greatest number at a point, which scale the colours of numbers; null where there are none.
   *
   * @returns {[number, number] | null}
   */
  range() {
    const values = this.shown().value;
    return values?.length ? [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))] : null;
  }

  /** Models for the task of the moment. */
  forms() {
    const kind = this.task === "classes" ? "classifier" : "regressor";
    return this.about.models.filter((form) => form.kinds.includes(kind));
  }

  /** Open a figure of the lecture notes. @param {Preset} preset @param {TableState | null} table */
  openPreset(preset, table) {
    const { id, title, note, look, show, speed, asked, axes } = preset;
    this.preset = { id, title, note, look, show, speed, ...(asked ? { asked } : {}), ...(axes ? { axes } : {}) };
    this.task = preset.task;
    this.table = table;
    this.view = preset.view ?? table?.shown.view;
    this.panels = preset.panels.map(({ model, params }) => ({ model, params: { ...params } }));
    if (!table) this.points = pointsOf(preset.data);
    this.#opened();
  }

  /** @param {TableState} table @param {boolean} another another table, not another look at the same */
  openTable(table, another) {
    const before = this.preset ? null : this.task;
    this.preset = null;
    this.table = table;
    this.task = table.shown.classes ? "classes" : "numbers";
    this.view = table.shown.view;
    const others = before !== this.task || !this.panels.length;
    if (others) this.panels = this.plainPanels();
    this.#opened(others, another || others ? "open" : "edit");
  }

  /** A clean plane for drawing. @param {Task} task */
  openDrawing(task) {
    const before = this.preset ? null : this.task;
    this.preset = null;
    this.table = null;
    this.task = task;
    this.points = [];
    this.view = structuredClone(PLAIN_VIEW);
    this.classes = ["A", "B"];
    this.brush = "A";
    this.tool = "draw";
    const others = before !== task || !this.panels.length;
    if (others) this.panels = this.plainPanels();
    this.#opened(others);
  }

  /** One panel with a model that shows its steps well. @returns {PanelSetting[]} */
  plainPanels() {
    const forms = this.forms();
    const wanted = this.task === "classes" ? "logistic-regression" : "linear-regression";
    const form = forms.find((f) => f.name === wanted) ?? forms[0];
    return form ? [{ model: form.name, params: {} }] : [];
  }

  /** @param {boolean} [otherPanels] @param {Why} [why] */
  #opened(otherPanels = true, why = "open") {
    this.undo.clear();
    this.#settleClasses();
    if (this.table && this.tool !== "ask") this.tool = "ask";
    if (otherPanels) this.tell("panels");
    this.tell("tools");
    this.tell("data", why);
  }

  #settleClasses() {
    if (this.task === "numbers") this.classes = [];
    else if (this.table) this.classes = (this.table.shown.classes ?? []).map(String);
    else {
      const names = [...new Set(this.points.map((p) => p.label))].sort();
      this.classes = names.length ? names : ["A", "B"];
    }
    if (this.editable && !this.classes.includes(this.brush)) this.brush = this.classes[0] ?? "";
  }

  /** The server's own order of classes, by which regions are coloured. @param {string[]} classes */
  adoptClasses(classes) {
    const rest = this.classes.filter((name) => !classes.includes(name));
    const order = [...classes, ...rest];
    if (order.join("\n") === this.classes.join("\n")) return;
    this.classes = order;
    this.tell("tools");
    this.tell("data", "classes");
  }

  /** @param {Point[]} points @param {Why} why */
  setPoints(points, why) {
    if (why === "edit") this.undo.push(this.points);
    this.points = points;
    this.tell("data", why);
    if (why === "edit") this.tell("tools");
  }

  /** Take back the last change of points, or bring it back. @param {"back" | "forth"} way */
  undoPoints(way) {
    const points = way === "back" ? this.undo.back(this.points) : this.undo.forth(this.points);
    if (!points || !this.editable) return false;
    this.points = points;
    for (const { label } of points) if (this.task === "classes" && !this.classes.includes(label)) this.classes.push(label);
    this.tell("tools");
    this.tell("data", "edit");
    return true;
  }

  /** Choose a view that holds every point. */
  fitView() {
    const { x, y } = this.shown();
    this.view = this.table ? this.table.shown.view : viewOf(x, y);
    this.tell("data", "edit");
  }

  /** Remember the state for this tab. */
  keep() {
    const { points, table, task, view, classes, panels, preset, tool, brush } = this;
    try {
      sessionStorage.setItem(
        KEY,
        JSON.stringify({ server: this.server, points, table, task, view, classes, panels, preset, tool, brush }),
      );
    } catch {
      // A table too large for the tab's store: the server still has it, only a reload asks for it again.
      sessionStorage.removeItem(KEY);
    }
  }

  /** Bring back what this tab held; false if there is nothing. */
  recall() {
    const text = sessionStorage.getItem(KEY);
    if (!text) return false;
    const { server, ...held } = JSON.parse(text);
    if (server !== this.server && (held.table || this.about.start)) return false;
    Object.assign(this, held);
    const known = new Set(this.about.models.map((form) => form.name));
    this.panels = this.panels.filter((panel) => known.has(panel.model));
    if (!this.panels.length) return false;
    this.tell("panels");
    this.tell("tools");
    this.tell("data", "open");
    return true;
  }
}

/** A table's data as the server is asked: columns and cuts belong to slices alone. @param {TableData} data @returns {Data} */
export function asked(data) {
  if (data.projection === "slice" && data.columns.length) return data;
  const { at: _, columns: __, ...rest } = data;
  return rest;
}

/** @param {Data} data @returns {Point[]} */
function pointsOf(data) {
  if (!("points" in data)) return [];
  const { points } = data;
  if ("target" in points) return points.x.map((x, i) => ({ x, y: points.target[i] ?? 0, label: "" }));
  return points.x.map((x, i) => ({ x, y: points.y[i] ?? 0, label: String(points.label[i]) }));
}
