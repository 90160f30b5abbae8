// The results of a query: as a table, a graph and a chart, and to take away.

import { chartOf, chartView } from "./chart.js";
import { count, empty, freshId, h, many, put, quiet } from "./dom.js";
import { graphPicture, roomFor } from "./graph.js";
import { mapView, pointsOf } from "./map.js";
import { save } from "./take.js";
import { fromBinding, identity, nameOf, numberOf, short, show, statements, timeOf } from "./terms.js";

const ROWS = 100; // that are shown at a time
const NODES = 80; // of the picture
const RESULTS = { csv: ["CSV", "text/csv"], tsv: ["TSV", "text/tab-separated-values"], srj: ["JSON", "application/sparql-results+json"], srx: ["XML", "application/sparql-results+xml"] };
const TRIPLES = { ttl: ["Turtle", "text/turtle"], jsonld: ["JSON-LD", "application/ld+json"], nt: ["N-Triples", "application/n-triples"] };

/** What a response of the SPARQL endpoint says: {boolean}, or {columns, rows, triples}, rows of terms or null. */
export async function readResults(response) {
  const kind = response.headers.get("content-type") ?? "";
  if (!kind.includes("json")) {
    const rows = [...statements(await response.text())].map((terms) => terms.slice(0, 3));
    return { columns: ["subject", "property", "value"], rows, triples: true };
  }
  const document = await response.json();
  if (typeof document.boolean === "boolean") return { boolean: document.boolean };
  const columns = document.head.vars;
  const rows = document.results.bindings.map((binding) => columns.map((name) => (binding[name] ? fromBinding(binding[name]) : null)));
  return { columns, rows, triples: false };
}

export function resultsView(results, { query, union, view, taken, notes, onview }) {
  const told = notes.map((text) => h("p", { class: "unit note", dir: "auto" }, text));
  if (results.boolean !== undefined) {
    return [h("p", { class: "status", role: "status" }, `Answered in ${taken}`), h("p", { class: "verdict" }, results.boolean ? "Yes" : "No"), ...told];
  }
  const number = results.triples ? many(results.rows.length, "triple") : many(results.rows.length, "row");
  const status = h("p", { class: "status", role: "status" }, `${number} in ${taken}`);
  if (!results.rows.length) return [status, empty("No results", ...(told.length ? told : ["No data match this query."]))];
  const panel = h("div", { role: "tabpanel", id: freshId("results"), tabindex: "-1" });
  const placed = pointsOf(results) !== null;
  const views = {
    table: ["Table", () => tableView(results)],
    graph: ["Graph", () => graphView(results)],
    chart: ["Chart", () => (chartOf(results) ? chartView(results) : empty("No chart", "A chart needs a column of numbers, such as a COUNT."))],
    ...(placed && { map: ["Map", () => mapView(results)] }),
  };
  const tabs = Object.entries(views).map(([name, [words]]) => h("button", {
    role: "tab", id: `${panel.id}-${name}`, "aria-controls": panel.id, onclick: () => choose(name),
  }, words));
  const names = Object.keys(views);
  const choose = (name, focus = false) => {
    names.forEach((one, at) => {
      tabs[at].setAttribute("aria-selected", String(one === name));
      tabs[at].tabIndex = one === name ? 0 : -1;
      if (one === name && focus) tabs[at].focus();
    });
    panel.setAttribute("aria-labelledby", `${panel.id}-${name}`);
    put(panel, views[name][1]());
    onview(name);
  };
  const list = h("div", { role: "tablist", "aria-label": "Show as", onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(names[(names.indexOf(names.find((_, at) => tabs[at].tabIndex === 0)) + step + names.length) % names.length], true);
  } }, tabs);
  choose(views[view] ? view : "table");
  return [h("div", { class: "results-head" }, list, status, downloads(query, union, results)), panel, ...told];
}

function downloads(query, union, results) {
  const place = h("div", { class: "downloads" });
  for (const [ending, [words, type]] of Object.entries(results.triples ? TRIPLES : RESULTS)) {
    place.append(quiet({ "aria-label": `Download as ${words}`, onclick: () => save(query, type, `results.${ending}`, place, union) }, words));
  }
  return place;
}

// -- table --

/** The order of terms of one column: numbers, times, then texts; what is unbound comes last. */
function order(a, b) {
  if (!a || !b) return a ? -1 : b ? 1 : 0;
  const [x, y] = [numberOf(a) ?? timeOf(a), numberOf(b) ?? timeOf(b)];
  if (x !== null && y !== null) return x - y;
  if ((x === null) !== (y === null)) return x === null ? 1 : -1;
  return identity(a).localeCompare(identity(b));
}

/** The class of a term's cell: long names break, long texts keep their width, dates do not break. */
function lengthClass(term) {
  if (term.type === "iri") return short(term.value).length > 40 ? "name" : null;
  const length = term.value?.length ?? 0;
  if (length > 60 && term.type === "literal") return "long";
  return term.type === "literal" && term.datatype && length <= 24 ? "brief" : null;
}

/** A number, rounded where it has more digits than anybody reads. */
function figure(term) {
  const digits = term.value.replace(/^.*\./, "");
  if (digits === term.value || digits.length <= 6) return term.value;
  return h("span", { title: term.value }, String(Number(numberOf(term).toPrecision(6))));
}

function tableView({ columns, rows }) {
  let shown = ROWS;
  let sorted = rows.map((row, at) => [row, at]);
  let by = null; // {column, down}
  const numeric = columns.map((_, at) => rows.every((row) => !row[at] || numberOf(row[at]) !== null) && rows.some((row) => row[at]));
  const body = h("tbody");
  const more = h("p", { class: "more" });
  const draw = () => {
    put(body, sorted.slice(0, shown).map(([row, at]) => h("tr", null, h("td", { class: "row-number" }, count(at + 1)),
      row.map((term, column) => h("td", { class: numeric[column] ? "number" : term && lengthClass(term) },
        term && (numeric[column] ? figure(term) : show(term, { most: 240 })))))));
    const rest = sorted.length - shown;
    put(more, rest > 0 && h("button", { onclick: () => {
      shown += ROWS * 5;
      draw();
    } }, `Show ${count(Math.min(rest, ROWS * 5))} more of ${count(rest)}`));
  };
  const heads = columns.map((name, column) => h("th", { scope: "col", class: numeric[column] ? "number" : null, "aria-sort": "none" },
    h("button", { title: "Sort", onclick: () => {
      by = by?.column === column ? (by.down ? null : { column, down: true }) : { column, down: false };
      sorted = rows.map((row, at) => [row, at]);
      if (by) sorted.sort(([a], [b]) => order(a[column], b[column]) * (by.down && a[column] && b[column] ? -1 : 1));
      heads.forEach((head, at) => head.setAttribute("aria-sort", by?.column === at ? (by.down ? "descending" : "ascending") : "none"));
      draw();
    } }, name)));
  draw();
  return [h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of results" },
    h("table", { class: "rows" }, h("thead", null, h("tr", null, h("th", { class: "row-number" }, h("span", { class: "unseen" }, "Row")), heads)), body)), more];
}

// -- graph --

function graphView({ columns, rows, triples }) {
  const node = (term) => term && (term.type === "iri" || term.type === "bnode");
  let edges = null; // [source, label, target]
  if (triples || columns.length >= 3 && rows.some((row) => node(row[0]) && row[1]?.type === "iri" && row[2])) {
    edges = rows.filter((row) => node(row[0]) && row[1] && row[2]).map(([source, label, target]) => [source, label.type === "iri" ? nameOf(label.value) : label.value ?? "", target]);
  } else if (columns.length >= 2 && rows.some((row) => node(row[0]) && node(row[1]))) {
    edges = rows.filter((row) => node(row[0]) && node(row[1])).map(([source, target]) => [source, columns[1], target]);
  }
  if (!edges?.length) {
    return empty("No graph", "A graph needs triples: a CONSTRUCT query, or columns for subject, property and value.");
  }
  const places = new Map();
  const nodes = [];
  const drawn = [];
  let left = 0;
  const put_ = (term) => {
    const id = identity(term);
    if (!places.has(id)) {
      if (nodes.length >= NODES) return null;
      places.set(id, nodes.length);
      nodes.push({ term, label: term.type === "iri" ? nameOf(term.value) : term.type === "bnode" ? id : term.type === "triple" ? id : term.value });
    }
    return places.get(id);
  };
  for (const [source, label, target] of edges) {
    const [from, to] = [put_(source), put_(target)];
    if (from === null || to === null) left += 1;
    else drawn.push({ source: from, target: to, label });
  }
  const width = roomFor();
  const height = Math.max(380, Math.min(1400, (nodes.length * 17_000) / width));
  const picture = graphPicture(nodes, drawn, { width, height, name: "Graph of the results" });
  if (left) picture.append(h("figcaption", null, `The first ${count(nodes.length)} nodes; ${many(left, "link")} to others not shown. A narrower query shows them.`));
  return picture;
}
