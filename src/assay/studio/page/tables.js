/**
 * The user's own table: drop or choose a file, or take a bundled dataset; then choose the target and the plane to look at.
 *
 * @import {Column, Plain, Table, TableData} from "./types.js"
 * @import {Studio} from "./studio.js"
 */
import { api } from "./api.js";
import { announce, byId, el, fill, freshId } from "./dom.js";
import { short } from "./scale.js";
import { asked } from "./studio.js";

/** The kinds of columns that have an axis, those that show most first. */
const LEARNABLE = ["number", "category", "boolean", "date"];

export class Tables {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.root = byId("own-table", HTMLElement);
    this.problem = el("p", { class: "problem", role: "alert", hidden: true });
    this.choice = el("div", { class: "choice" });
    this.shownNotes = el("div", { class: "shown-notes" });
    /** @type {Table | null} */
    this.table = null;
    /** @type {TableData} */
    this.data = { table: "", target: "", columns: [], projection: "slice", at: {}, only: null };
    const file = el("input", {
      type: "file",
      id: "table-file",
      class: "unseen",
      "data-role": "table-file",
      accept: ".csv,.tsv,.txt,.parquet,.arrow,.feather,.json,.jsonl,.ndjson,.xlsx,.gz,.arff,.svm,.libsvm,.svmlight",
      onchange: () => this.#upload(file.files?.[0]),
    });
    const drop = el(
      "label",
      { class: "drop", for: "table-file" },
      el("b", {}, "Choose a file"),
      " or drop it here",
      el("span", { class: "fine" }, `CSV, Parquet, Arrow, Excel; up to ${megabytes(studio.about.limits.bytes)}`),
    );
    fill(this.root, file, drop, this.#datasets(), this.problem, this.choice, this.shownNotes);
    this.#acceptDrops(drop);
  }

  #datasets() {
    const { datasets } = this.studio.about;
    if (!datasets.length) return null;
    const id = freshId("datasets");
    const select = el(
      "select",
      { id, "data-role": "dataset", onchange: () => select.value && this.#open(() => api.dataset(select.value)) },
      el("option", { value: "" }, "choose…"),
      ...datasets.map((set) => el("option", { value: set.name, title: set.about }, set.title || set.name)),
    );
    return el("div", { class: "row-field" }, el("label", { for: id }, "or a bundled table"), select);
  }

  /** @param {HTMLElement} drop */
  #acceptDrops(drop) {
    const files = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
    document.addEventListener("dragover", (event) => {
      if (!files(event)) return;
      event.preventDefault();
      drop.classList.add("dropping");
    });
    document.addEventListener("dragleave", (event) => event.relatedTarget === null && drop.classList.remove("dropping"));
    document.addEventListener("drop", (event) => {
      drop.classList.remove("dropping");
      if (!files(event)) return;
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file && !file.name.endsWith(".assay")) void this.#upload(file);
    });
  }

  /** @param {File | undefined} file */
  async #upload(file) {
    if (!file) return;
    const most = this.studio.about.limits.bytes;
    if (file.size > most)
      this.#fail(
        `${file.name} has ${megabytes(file.size)}, more than the ${megabytes(most)} that the studio takes. Use the command line for tables of any size.`,
      );
    else await this.#open(() => api.upload(file));
  }

  /** @param {() => Promise<Table>} get */
  async #open(get) {
    this.#fail("");
    try {
      await this.take(await get());
    } catch (problem) {
      this.#fail(problem instanceof Error ? problem.message : String(problem));
    }
  }

  /** @param {string} words */
  #fail(words) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
  }

  /** Show a table that the server knows. @param {Table} table */
  async take(table) {
    this.table = table;
    const target = table.target ?? table.columns.at(-1)?.name ?? "";
    this.data = { table: table.id, target, columns: this.#firstColumns(target), projection: "slice", at: {}, only: null };
    this.#build();
    announce(`${table.name}: ${table.n_rows} rows, ${table.columns.length} columns.`);
    await this.#show(true);
  }

  /** Show the choices again for the table that the tab held. */
  recall() {
    const held = this.studio.table;
    if (!held || !held.table.columns.length) return;
    this.table = held.table;
    this.data = held.data;
    this.#build();
  }

  /** @param {string} target */
  #firstColumns(target) {
    const usable = (this.table?.columns ?? []).filter((column) => learnable(column) && column.name !== target);
    return usable
      .sort((a, b) => LEARNABLE.indexOf(a.kind) - LEARNABLE.indexOf(b.kind))
      .slice(0, 2)
      .map((column) => column.name);
  }

  #build() {
    const { table, data } = this;
    if (!table) return;
    const names = table.columns.map((column) => column.name);
    const others = table.columns.filter(learnable).flatMap(({ name }) => (name === data.target ? [] : [name]));
    const numeric = table.columns.find((column) => column.name === data.target)?.kind === "number";
    const slice = data.projection === "slice";
    const [across = "", up = ""] = data.columns;
    fill(
      this.choice,
      el("h3", {}, table.name),
      el("p", { class: "fine" }, `${table.n_rows} rows, ${table.columns.length} columns`),
      ...table.notes.map((note) => el("p", { class: "fine note" }, note)),
      select("target", "Target", names, data.target, (now) =>
        this.#change({ target: now, columns: this.#firstColumns(now), at: {} }),
      ),
      select(
        "projection",
        "Plane",
        ["slice", "pca", "lda"],
        data.projection,
        (now) => this.#change({ projection: /** @type {TableData["projection"]} */ (now) }),
        ["two columns", "principal components", "discriminant axes"],
      ),
      slice
        ? select("across", "Across", others, across, (now) =>
            this.#change({
              columns: [now, ...(up && up !== now ? [up] : others.filter((n) => n !== now).slice(0, up ? 1 : 0))],
            }),
          )
        : null,
      slice
        ? select(
            "up",
            "Up",
            [...(numeric ? [""] : []), ...others.filter((name) => name !== across)],
            up,
            (now) => this.#change({ columns: now ? [across, now] : [across] }),
            [...(numeric ? ["the target"] : []), ...others.filter((name) => name !== across)],
          )
        : null,
      slice && others.length > data.columns.length
        ? this.#sliceFields(others.filter((name) => !data.columns.includes(name)))
        : null,
      this.#onlyFields(others),
    );
  }

  /** Where the plane cuts through the other columns. @param {string[]} names */
  #sliceFields(names) {
    const columns = /** @type {Table} */ (this.table).columns;
    const fields = names.map((name) =>
      this.#sliceField(/** @type {Column} */ (columns.find((column) => column.name === name))),
    );
    return el(
      "details",
      { class: "slice" },
      el("summary", {}, `Slice at (${names.length} other ${names.length === 1 ? "column" : "columns"})`),
      el("p", { class: "fine" }, "The model learns from all columns; the plane is cut at these values. Empty: the middle."),
      ...fields,
    );
  }

  /** @param {Column} column */
  #sliceField(column) {
    const id = freshId("slice");
    const set = (/** @type {Plain} */ value) => {
      const { [column.name]: _, ...rest } = this.data.at;
      void this.#change({ at: value === "" ? rest : { ...rest, [column.name]: value } }, false);
    };
    const now = this.data.at[column.name];
    const input = column.levels
      ? el(
          "select",
          { id, onchange: (/** @type {Event} */ event) => set(/** @type {HTMLSelectElement} */ (event.target).value) },
          el("option", { value: "" }, "the middle"),
          ...column.levels.map((level) => el("option", { value: String(level), selected: level === now }, String(level))),
        )
      : el("input", {
          id,
          type: "number",
          step: "any",
          value: now ?? "",
          onchange: (/** @type {Event} */ event) => {
            const { valueAsNumber } = /** @type {HTMLInputElement} */ (event.target);
            set(Number.isNaN(valueAsNumber) ? "" : valueAsNumber);
          },
        });
    return el("div", { class: "row-field" }, el("label", { for: id }, column.name), input);
  }

  /** Which columns the model learns from. @param {string[]} names */
  #onlyFields(names) {
    const used = new Set(this.data.only ?? names);
    return el(
      "details",
      { class: "slice" },
      el(
        "summary",
        {},
        this.data.only ? `Learns from ${used.size} of ${names.length} columns` : `Learns from all ${names.length} columns`,
      ),
      el(
        "div",
        { class: "ticks" },
        ...names.map((name) =>
          el(
            "label",
            {},
            el("input", {
              type: "checkbox",
              checked: used.has(name),
              onchange: (/** @type {Event} */ event) => {
                if (/** @type {HTMLInputElement} */ (event.target).checked) used.add(name);
                else used.delete(name);
                void this.#change({ only: used.size === names.length ? null : names.filter((n) => used.has(n)) }, false);
              },
            }),
            name,
          ),
        ),
      ),
    );
  }

  /** @param {Partial<TableData>} change @param {boolean} [rebuild] */
  async #change(change, rebuild = true) {
    this.data = { ...this.data, ...change };
    if (rebuild) this.#build();
    await this.#show();
  }

  /** @param {boolean} [another] */
  async #show(another = false) {
    const { table, data } = this;
    if (!table) return;
    this.#fail("");
    try {
      const shown = await api.points(table.id, asked(data));
      if (data !== this.data) return;
      fill(this.shownNotes, ...shown.notes.map((note) => el("p", { class: "fine note" }, note)));
      this.studio.openTable({ table, data, shown }, another);
    } catch (problem) {
      this.#fail(problem instanceof Error ? problem.message : String(problem));
    }
  }
}

/** Whether a model can learn from a column that a plane can show. @param {Column} column */
function learnable({ kind }) {
  return LEARNABLE.includes(kind);
}

/** @param {number} bytes */
function megabytes(bytes) {
  return `${short(bytes / 2 ** 20)} MB`;
}

/**
 * @param {string} role
 * @param {string} word
 * @param {string[]} values
 * @param {string} now
 * @param {(now: string) => void} onChange
 * @param {string[]} [words]
 */
function select(role, word, values, now, onChange, words = values) {
  const id = freshId(role);
  const input = el(
    "select",
    { id, "data-role": `table-${role}`, onchange: () => onChange(input.value) },
    ...values.map((value, i) => el("option", { value, selected: value === now }, words[i] ?? value)),
  );
  return el("div", { class: "row-field" }, el("label", { for: id }, word), input);
}
