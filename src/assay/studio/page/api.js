/**
 * Talking to the studio's server: token, JSON, streams, files, and whether it is there at all.
 *
 * @import {About, Data, Fitted, LoadedModel, Near, PlayLine, Preset, Surface, Table, TablePoints, View} from "./types.js"
 */

const KEY = "assay-studio-token";

/** A name of this tab, so that its questions end no other tab's. */
export const TAB = Math.random().toString(36).slice(2, 10);

/** What the server refused, in its own words; `status` is 0 where it could not be reached. */
export class Refused extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** @type {Set<(there: boolean) => void>} */
const watchers = new Set();
let there = true;

/** Tell of the connection's loss and return. @param {(there: boolean) => void} watcher */
export function watchConnection(watcher) {
  watchers.add(watcher);
}

/** @param {boolean} now */
function setThere(now) {
  if (now === there) return;
  there = now;
  for (const watcher of watchers) watcher(now);
}

/**
 * Take the token from the address, keep it for this tab, and remove it from the address bar. The other words of the
 * fragment are returned.
 */
export function takeToken() {
  const words = new URLSearchParams(location.hash.slice(1));
  const token = words.get("token");
  if (token) {
    sessionStorage.setItem(KEY, token);
    words.delete("token");
    history.replaceState(null, "", location.pathname); // a figure asked for by name is opened once, not at each reload
  }
  return words;
}

/** The token of this tab. */
export function tokenNow() {
  return sessionStorage.getItem(KEY) ?? "";
}

/**
 * @param {string} path
 * @param {{method?: string, body?: BodyInit, json?: unknown, signal?: AbortSignal}} [ask]
 * @returns {Promise<Response>}
 */
async function send(path, { method, body, json, signal } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${tokenNow()}` };
  if (json !== undefined) headers["Content-Type"] = "application/json";
  /** @type {Response} */
  let answer;
  try {
    answer = await fetch(path, {
      method: method ?? (json === undefined && body === undefined ? "GET" : "POST"),
      headers,
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      signal: signal ?? null,
    });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    setThere(false);
    throw new Refused("The studio does not answer. Is `assay studio` still running?", 0);
  }
  setThere(true);
  if (answer.ok) return answer;
  const words = await answer.text();
  throw new Refused(refusal(words) || `The studio answered ${answer.status}.`, answer.status);
}

/** @param {string} words */
function refusal(words) {
  try {
    const told = JSON.parse(words);
    return typeof told.error === "string" ? told.error : "";
  } catch {
    return words.slice(0, 300);
  }
}

/**
 * The lines of a stream as they come.
 *
 * @template T
 * @param {string} path
 * @param {unknown} json
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<T>}
 */
async function* lines(path, json, signal) {
  const answer = await send(path, { json, signal });
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { done, value } = await reader.read().catch((problem) => {
      if (signal.aborted) throw problem;
      setThere(false);
      throw new Refused("The connection broke while the studio was answering.", 0);
    });
    rest += value ?? "";
    const parts = rest.split("\n");
    rest = done ? "" : (parts.pop() ?? "");
    for (const part of parts) if (part.trim()) yield JSON.parse(part);
    if (done) return;
  }
}

/**
 * @template T
 * @param {string} path
 * @param {{body?: BodyInit, json?: unknown, signal?: AbortSignal}} [ask]
 * @returns {Promise<T>}
 */
async function json(path, ask) {
  return (await send(path, ask)).json();
}

/**
 * @typedef {{data: Data, model: string, params: Record<string, unknown>, view: View, grid: [number, number], panel: string, turn: number, frames?: number, quick?: boolean}} Ask
 */

/** Every question the page can ask. */
export const api = {
  /** @returns {Promise<About>} */
  about: () => json("/api/about"),
  /** @param {string} id @returns {Promise<Preset>} */
  preset: (id) => json(`/api/presets/${encodeURIComponent(id)}`),
  /** @param {File} file @returns {Promise<Table>} */
  upload: (file) => json(`/api/tables?name=${encodeURIComponent(file.name)}`, { body: file }),
  /** @param {string} name @returns {Promise<Table>} */
  dataset: (name) => json("/api/tables/dataset", { json: { name } }),
  /** @param {string} id @param {Data} data @returns {Promise<TablePoints>} */
  points: (id, data) => json(`/api/tables/${encodeURIComponent(id)}/points`, { json: data }),
  /** @param {Ask} ask @param {AbortSignal} signal @returns {AsyncGenerator<PlayLine>} */
  play: (ask, signal) => lines("/api/play", ask, signal),
  /** @param {Ask} ask @param {AbortSignal} signal @returns {Promise<Fitted>} */
  fit: (ask, signal) => json("/api/fit", { json: ask, signal }),
  /** @param {{model: string, at: [number, number], data: Data, view: View}} ask @returns {Promise<Near>} */
  near: (ask) => json("/api/near", { json: ask }),
  /** @param {{data: Data, model: string, params: Record<string, unknown>, view: View}} ask @returns {Promise<Surface>} */
  surface: (ask) => json("/api/surface", { json: ask }),
  /**
   * @param {{data: Data, seconds: number | null, panel: string}} ask
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<import("./types.js").CompareRow | import("./types.js").Doing | import("./types.js").CompareEnd | import("./types.js").Failure>}
   */
  compare: (ask, signal) => lines("/api/compare", ask, signal),
  /** @param {string} id */
  report: async (id) => (await send(`/api/reports/${encodeURIComponent(id)}`)).text(),
  /** @param {string} id */
  modelFile: async (id) => (await send(`/api/models/${encodeURIComponent(id)}/file`)).blob(),
  /** @param {File} file @returns {Promise<LoadedModel>} */
  loadModel: (file) => json("/api/models", { body: file }),
  /**
   * @param {{model: string, data: Data, view: View, grid: [number, number]}} ask
   * @param {AbortSignal} signal
   * @returns {Promise<Fitted>}
   */
  show: (ask, signal) => json("/api/show", { json: ask, signal }),
};
