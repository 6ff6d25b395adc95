/**
 * Compare: every model on the same data, its table filling as answers come, then the report.
 *
 * @import {CompareRow} from "./types.js"
 * @import {Studio} from "./studio.js"
 */
import { TAB, api } from "./api.js";
import { announce, byId, el, fill, icon, saveAs } from "./dom.js";
import { codeBlocks } from "./code.js";
import { openReport } from "./report.js";
import { riskWords } from "./risk.js";
import { short } from "./scale.js";

export class Compare {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.start = byId("compare-start", HTMLButtonElement);
    this.seconds = byId("compare-seconds", HTMLInputElement);
    this.state = byId("compare-state", HTMLElement);
    this.result = byId("compare-result", HTMLElement);
    /** @type {Map<string, CompareRow>} */
    this.rows = new Map();
    /** @type {AbortController | null} */
    this.underWay = null;
    this.body = el("tbody");
    this.start.addEventListener("click", () => (this.underWay ? this.#stop() : void this.#run()));
    studio.addEventListener("data", () => {
      if (this.rows.size && !this.underWay) fill(this.state, "The data have changed since this comparison.");
    });
  }

  #stop() {
    this.underWay?.abort();
    this.underWay = null;
    fill(this.start, "Compare all models");
    fill(this.state, "Stopped. The rows so far stay.");
  }

  async #run() {
    const control = (this.underWay = new AbortController());
    this.rows = new Map();
    fill(this.start, "Stop");
    fill(this.state, "Comparing…");
    const table = el(
      "table",
      { "data-role": "compare-table" },
      el("caption", { class: "unseen" }, "Risk of each model on rows it has not seen"),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...["Model", "Risk", "on new rows", "95 % interval", "Seconds", "Note"].map((word, i) =>
            el("th", { scope: "col", class: [1, 3, 4].includes(i) ? "number" : "" }, word),
          ),
        ),
      ),
      this.body,
    );
    fill(this.body);
    fill(this.result, el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Comparison" }, table));
    const seconds = this.seconds.value ? Number(this.seconds.value) : null;
    const ask = { data: this.studio.data(), seconds, panel: `${TAB}-compare` };
    try {
      for await (const line of api.compare(ask, control.signal)) {
        if (line.kind === "error") throw new Error(line.error);
        if (line.kind === "row") this.#row(line);
        else if (line.kind === "doing") fill(this.state, line.text);
        else this.#ended(line);
      }
    } catch (problem) {
      if (!control.signal.aborted) this.#fail(problem);
    } finally {
      if (this.underWay === control) {
        this.underWay = null;
        fill(this.start, "Compare all models");
      }
    }
  }

  /** @param {CompareRow} row */
  #row(row) {
    this.rows.set(row.name, row);
    const sorted = [...this.rows.values()].sort((a, b) => rank(a) - rank(b) || (a.risk ?? 0) - (b.risk ?? 0));
    const most = Math.max(1e-12, ...sorted.map((r) => r.high ?? r.risk ?? 0));
    const loss = this.studio.task === "classes" ? "zero-one" : "squared";
    fill(this.body, ...sorted.map((r) => tableRow(r, most, loss)));
    const done = sorted.filter((r) => rank(r) === 0).length;
    fill(this.state, `Comparing… ${done} of ${sorted.length} models done`);
  }

  /** @param {import("./types.js").CompareEnd} end */
  #ended(end) {
    const words = end.recommended ? `Recommended: ${end.recommended}` : "No model can be recommended.";
    fill(this.state, el("strong", { "data-role": "recommended" }, words));
    announce(words);
    const { report, model } = end;
    this.result.append(
      el(
        "div",
        { class: "after" },
        el(
          "div",
          { class: "begin-row" },
          report
            ? el(
                "button",
                { type: "button", "data-role": "open-report", onclick: () => this.#open(report) },
                icon("page"),
                "Open the report",
              )
            : null,
          model
            ? el(
                "button",
                {
                  type: "button",
                  "data-role": "save-recommended",
                  onclick: () => this.#save(model, end.recommended ?? "model"),
                },
                icon("save"),
                `Save ${end.recommended}`,
              )
            : null,
        ),
        ...(end.notes ?? []).map((note) => el("p", { class: "fine note" }, note)),
        el(
          "details",
          {},
          el("summary", {}, "In full"),
          el("pre", { class: "full", tabIndex: 0, role: "region", "aria-label": "Result of the comparison" }, end.text),
        ),
        el("details", {}, el("summary", {}, "The same in code"), ...codeBlocks(end.code).filter((part) => part !== null)),
      ),
    );
  }

  /** @param {string} id @param {string} name */
  async #save(id, name) {
    try {
      saveAs(await api.modelFile(id), `${name}.assay`);
    } catch (problem) {
      this.#fail(problem);
    }
  }

  /** @param {string} id */
  async #open(id) {
    try {
      openReport(await api.report(id));
    } catch (problem) {
      this.#fail(problem);
    }
  }

  /** @param {unknown} problem */
  #fail(problem) {
    fill(
      this.state,
      el("span", { class: "problem", role: "alert" }, problem instanceof Error ? problem.message : String(problem)),
    );
  }
}

/** What is finished comes first, then what runs, waits, and was left out. @param {CompareRow} row */
function rank(row) {
  if (row.risk !== null && row.risk !== undefined) return 0;
  return { running: 1, waiting: 2, "left out": 4 }[row.state ?? ""] ?? 3;
}

/** @param {CompareRow} row @param {number} most @param {string} loss */
function tableRow(row, most, loss) {
  const known = typeof row.low === "number" && typeof row.high === "number";
  return el(
    "tr",
    { "data-model": row.name, "data-state": row.state ?? "" },
    el("th", { scope: "row", title: row.name }, row.title ?? row.name),
    el("td", { class: "number" }, rank(row) ? "" : riskWords(row.risk, loss)),
    el("td", { class: "bar-cell" }, rank(row) === 0 ? rangeBar(row, most) : row.state === "running" ? progressBar(row) : null),
    el("td", { class: "number fine" }, known ? `${riskWords(row.low, loss)} to ${riskWords(row.high, loss)}` : ""),
    el("td", { class: "number" }, row.seconds === null || row.seconds === undefined ? "" : short(row.seconds, 2)),
    el("td", { class: "fine" }, row.note || (rank(row) ? row.state : "") || ""),
  );
}

/** @param {CompareRow} row */
function progressBar(row) {
  return el("progress", { value: row.share ?? 0, max: 1, "aria-label": `${row.name}: ${row.note ?? "running"}` });
}

/** @param {CompareRow} row @param {number} most */
function rangeBar(row, most) {
  const share = (/** @type {number | null} */ value) => `${Math.min(100, (100 * (value ?? 0)) / most).toFixed(2)}%`;
  const bar = el("span", { class: "bar-fill" });
  const whisker = el("span", { class: "bar-whisker", hidden: row.low === null || row.high === null });
  bar.style.inlineSize = share(row.risk);
  whisker.style.insetInlineStart = share(row.low);
  whisker.style.inlineSize = `calc(${share(row.high)} - ${share(row.low)})`;
  return el("span", { class: "bar-track", "aria-hidden": "true" }, bar, whisker);
}
