/**
 * The studio's page: joins its parts and opens what the tab held, the command's table, or the first figure.
 *
 * For tests. Elements carry data-role: preset-ID, tab-figures / tab-table / tab-draw, table-file, dataset, table-target, table-projection,
 * table-across, table-up, draw-classes, draw-numbers; tool-ask / tool-draw / tool-erase, class-K, add-class, undo, redo, fit-view, clear;
 * play, step, back, to-start, to-end, scrub, speed, loop; panel-0 … panel-3, and within a panel: model, plane (the canvas), caption,
 * arithmetic, risk-training, risk-held-out, measures, surface, certificate (li[data-status]), settings, [data-param=NAME], reset,
 * code, shell, python, copy-shell, copy-python, save-model, remove-panel, panel-error, readout; add-panel, load-model;
 * compare, compare-start, compare-table, open-report, report-frame, save-report, close-report.
 *
 * What to wait for, as the page's policy forbids evaluated text: #app[data-ready], and on each panel data-state =
 * "busy" | "ended" | "error" | "empty" (too few points).
 * window.assayStudio = {
 *   ready,                      true once the first data are open
 *   panels: [{model, params, frame, frames, streaming, ended, classes, view, error, answered, plane, colourAt(x, y), pixel(x, y)}],
 *                               frame: number shown; ended: the end of what was asked last is there; answered: ms of the last quick fit; colourAt: class index by the picture's pixels or null;
 *                               pixel: where a place lies, in CSS pixels of the window
 *   points, data,               drawn points; what the server is asked to learn from
 *   playing, position, length,  of the player
 *   frameTimes, drawTimes       ms between frames while playing, ms spent drawing each
 * }
 */
import { api, takeToken, watchConnection } from "./api.js";
import { Compare } from "./compare.js";
import { announce, byId, fill } from "./dom.js";
import { Gallery } from "./gallery.js";
import { Panels } from "./panels.js";
import { Sources } from "./sources.js";
import { Studio } from "./studio.js";
import { Tables } from "./tables.js";
import { startTheme } from "./theme.js";
import { Tools } from "./tools.js";

const banner = byId("banner", HTMLElement);

/** @param {string} words nothing hides the banner */
function say(words) {
  fill(banner, words);
  banner.hidden = !words;
}

/** Ask again and again until the studio answers. @param {() => void} then */
function retry(then) {
  let pause = 500;
  const attempt = async () => {
    try {
      await api.about();
      then();
    } catch {
      pause = Math.min(8000, 2 * pause);
      setTimeout(attempt, pause);
    }
  };
  setTimeout(attempt, pause);
}

/** @param {Studio} studio @param {Panels} panels */
function showForTests(studio, panels) {
  const { player } = panels;
  const hooks = {
    ready: true,
    get panels() {
      return panels.list.map(({ run, setting, plane, canvas, loaded, settled }) => ({
        model: loaded?.name ?? setting.model,
        params: setting.params,
        frame: run.quick ? run.frames.length : Math.min(player.position, run.frames.length - 1),
        frames: run.frames.length,
        streaming: run.streaming,
        ended: settled,
        classes: run.begin?.classes ?? null,
        view: plane.view,
        error: run.error,
        answered: run.answered,
        plane,
        colourAt: (/** @type {number} */ x, /** @type {number} */ y) => plane.colourAt(x, y),
        pixel: (/** @type {number} */ x, /** @type {number} */ y) => {
          const box = canvas.getBoundingClientRect();
          return [box.left + plane.scale.x(x), box.top + plane.scale.y(y)];
        },
      }));
    },
    get points() {
      return studio.points;
    },
    get data() {
      return studio.data();
    },
    get playing() {
      return player.playing;
    },
    get position() {
      return player.position;
    },
    get length() {
      return player.stage.length();
    },
    frameTimes: player.frameTimes,
    drawTimes: player.drawTimes,
  };
  Object.assign(window, { assayStudio: hooks });
  byId("app", HTMLElement).dataset["ready"] = "true";
}

/** Model files, chosen or dropped. @param {Panels} panels */
function startModelFiles(panels) {
  const input = byId("model-file", HTMLInputElement);
  const open = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    try {
      const loaded = await api.loadModel(file);
      const shown = panels.add(loaded);
      say(shown ? "" : "There are four panels already. Remove one to show the model file.");
      if (shown) announce(`${loaded.name} loaded from ${file.name}.`);
    } catch (problem) {
      say(`${file.name}: ${problem instanceof Error ? problem.message : problem}`);
    }
  };
  input.addEventListener("change", () => {
    void open(input.files?.[0]);
    input.value = "";
  });
  document.addEventListener(
    "drop",
    (event) => void open([...(event.dataTransfer?.files ?? [])].find((file) => file.name.endsWith(".assay"))),
  );
}

async function start() {
  const words = takeToken();
  /** @type {Panels | null} */
  let panels = null;
  startTheme(() => {
    panels?.list.forEach((panel) => panel.repaint());
    panels?.player.refresh();
  });
  const studio = new Studio(await api.about());
  fill(byId("version", HTMLElement), studio.about.version);
  const sources = new Sources();
  const all = (panels = new Panels(studio));
  new Tools(studio);
  const gallery = new Gallery(studio, say);
  const tables = new Tables(studio);
  new Compare(studio);
  startModelFiles(all);
  for (const task of /** @type {const} */ (["classes", "numbers"]))
    byId(`draw-${task}`, HTMLButtonElement).addEventListener("click", () => studio.openDrawing(task));
  watchConnection((there) => {
    say(there ? "" : "The connection to the studio is lost. Your points and settings are kept; trying again…");
    if (!there) retry(() => all.list.forEach((panel) => panel.run.error && panel.refresh(false)));
  });
  byId("app", HTMLElement).hidden = false;
  const first = words.get("preset") ?? studio.about.presets[0]?.id;
  const startTable = studio.about.start;
  if (words.has("preset") && first) await gallery.open(first);
  else if (studio.recall()) {
    tables.recall();
    sources.show(studio.preset ? "figures" : studio.table ? "table" : "draw");
  } else if (startTable) {
    sources.show("table");
    await tables.take(startTable);
  } else if (first) await gallery.open(first);
  else {
    sources.show("draw");
    studio.openDrawing("classes");
  }
  showForTests(studio, all);
}

start().catch((problem) => {
  say(problem instanceof Error ? problem.message : String(problem));
  if (problem?.status === 0) retry(() => location.reload());
});
