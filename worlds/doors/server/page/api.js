// The server's JSON interface, as the page uses it.

const place = document.documentElement.dataset;

/** The path before a world's routes: "" for the only world, else "/worlds/name". */
export const base = place.base;
export const worldName = place.world;
export const hasEditor = place.editor === "full";

/** The reader's language, in which labels come first. */
export const language = (navigator.languages?.[0] ?? navigator.language ?? "en").split("-")[0];

const KEY = "worlds-key";
let keptKey = null; // where storage is forbidden

/** The key that the user gave; it lives as long as the tab. */
export function key() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return keptKey;
  }
}

export function setKey(value) {
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    keptKey = value || null;
  }
}

/** A failed request: the server's problem document (RFC 9457), or status 0 without an answer. */
class Problem extends Error {
  constructor(status, document) {
    const said = document.detail || document.title || `The server answered ${status}`;
    super(document.line ? said.replace(/^line \d+(?:, column \d+)?: /, "") : said);
    this.status = status;
    this.title = document.title || "";
    this.kind = document.kind ?? null;
    this.line = document.line ?? null;
    this.column = document.column ?? null;
  }

  get needsKey() {
    return this.status === 401 || this.status === 403;
  }
}

async function problem(response) {
  let document = {};
  try {
    if ((response.headers.get("content-type") || "").includes("json")) document = await response.json();
  } catch {
    // The status alone has to do.
  }
  return new Problem(response.status, document);
}

/** The response of a request to `path` below `from`; throws a Problem where it fails. */
export async function request(path, { from = base, headers = {}, ...options } = {}) {
  const given = key();
  const sent = { ...headers };
  if (given) sent.authorization = `Bearer ${given}`;
  let response;
  try {
    response = await fetch(`${from}/${path}`, { ...options, headers: sent, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { title: "No answer", detail: "The server does not answer. Is it still running?" });
  }
  if (!response.ok) throw await problem(response);
  return response;
}

/** The JSON document at `path`; `parameters` become the query string, lists by repetition. */
export async function get(path, parameters = {}, options = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined) query.append(name, one);
    }
  }
  const text = query.toString();
  const response = await request(text ? `${path}?${text}` : path, { headers: { accept: "application/json" }, ...options });
  return response.json();
}

export async function post(path, document = {}, options = {}) {
  const response = await request(path, {
    method: "POST",
    body: JSON.stringify(document),
    ...options,
    headers: { accept: "application/json", "content-type": "application/json", ...options.headers },
  });
  return response.json();
}

const FRESH = 60_000; // milliseconds for which figures that only help are good enough
let figures = null;

/** The world has changed: its figures are asked for anew. */
export const forgetFigures = () => { figures = null; };

/** The figures of the world, a minute old at most. */
export function stats() {
  if (!figures || performance.now() - figures.at > FRESH) {
    const asked = get("stats");
    figures = { at: performance.now(), asked };
    asked.catch(() => { figures = null; });
  }
  return figures.asked;
}

const LEVELS = ["none", "read", "propose", "write", "admin"];
let asked = null;

/** Who the reader is here: {name, level, graphs}; the level is "none" where the server does not say. */
export const access = () => (asked ??= get("access").catch(() => ({ name: null, level: "none", graphs: null })));

/** Whether a level includes another. */
export const includes = (held, level) => LEVELS.indexOf(held) >= LEVELS.indexOf(level);

/** The bindings that answer a SELECT query. */
export const bindings = async (query, union) => (await (await sparql(query, { accept: "application/sparql-results+json", union })).json()).results.bindings;

/** Run a SPARQL query; the response has the results in the first of `accept` that fits. */
export function sparql(query, { accept = "application/sparql-results+json, application/n-triples;q=0.9", signal, union } = {}) {
  return request(union === undefined ? "sparql" : `sparql?union=${union}`, { method: "POST", body: query, signal, headers: { accept, "content-type": "application/sparql-query" } });
}
