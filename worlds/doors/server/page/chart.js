// A chart of a column of numbers: bars, or a line where the other column is a time or an order.

import { count, h, hint, put, s } from "./dom.js";
import { roomFor } from "./graph.js";
import { nameOf, numberOf, timeOf } from "./terms.js";

const MOST_BARS = 60;
const MOST_POINTS = 2000;
const ROW = 30;

/** What can be drawn: {numbers, names}, the columns of numbers and all columns; null where there are no numbers. */
export function chartOf({ columns, rows }) {
  const numbers = columns.map((_, at) => at).filter((at) => {
    const bound = rows.filter((row) => row[at]);
    return bound.length && bound.filter((row) => numberOf(row[at]) !== null).length >= bound.length / 2;
  });
  return numbers.length ? { numbers, names: columns.map((_, at) => at) } : null;
}

const words = (term) => (term === null ? "" : term.type === "iri" ? nameOf(term.value) : term.type === "bnode" ? `_:${term.value}` : term.value ?? "");

/** The chart with the choice of its kind and columns. */
export function chartView(results) {
  const { columns, rows } = results;
  const { numbers } = chartOf(results);
  const others = columns.map((_, at) => at).filter((at) => !numbers.includes(at));
  const timed = columns.map((_, at) => at).find((at) => rows.every((row) => !row[at] || timeOf(row[at]) !== null) && rows.some((row) => row[at]));
  const state = { kind: timed === undefined ? "bar" : "line", x: timed ?? others[0] ?? -1, y: numbers[0] };
  const figure = h("figure", { class: "chart" });
  const draw = () => put(figure, (state.kind === "bar" ? bars : line)(results, state));
  const chooser = (label, values, name) => {
    const select = h("select", { onchange: () => {
      state[name] = name === "kind" ? select.value : Number(select.value);
      draw();
    } }, values.map(([value, text]) => h("option", { value }, text)));
    select.value = String(state[name]);
    return h("label", null, `${label} `, select);
  };
  draw();
  return [h("div", { class: "chart-tools" },
    chooser("Draw", [["bar", "bars"], ["line", "a line"]], "kind"),
    chooser("of", numbers.map((at) => [at, columns[at]]), "y"),
    chooser("by", [[-1, "row"], ...columns.map((name, at) => [at, name])], "x")), figure];
}

/** Round steps from 0, or from the least value, to the greatest. */
function ticks(least, most, wanted = 5) {
  const raw = (most - least || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((one) => one * power >= raw) ?? 10);
  const found = [];
  for (let at = Math.ceil(least / step - 1e-9); at * step <= most + step * 1e-9; at += 1) found.push(at * step || 0) // not -0;
  return found;
}

const figureOf = (value) => (Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(1) : Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4))));

function bars({ columns, rows }, { x, y }) {
  const points = rows.map((row, at) => ({ name: x < 0 ? String(at + 1) : words(row[x]), value: numberOf(row[y]) })).filter(({ value }) => value !== null);
  const shown = points.slice(0, MOST_BARS);
  const width = roomFor();
  const letters = width < 600 ? 16 : 34;
  const longest = Math.max(...shown.map(({ name }) => Math.min(name.length, letters)));
  const left = 24 + longest * 7.4;
  const right = width < 600 ? 50 : 80;
  const [least, most] = [Math.min(0, ...shown.map(({ value }) => value)), Math.max(0, ...shown.map(({ value }) => value))];
  const across = (value) => left + ((value - least) / (most - least || 1)) * (width - left - right);
  const height = shown.length * ROW + 34;
  const grid = ticks(least, most).map((value) => s("g", { class: "tick" },
    s("line", { x1: across(value), x2: across(value), y1: 4, y2: height - 28 }),
    s("text", { x: across(value), y: height - 10 }, figureOf(value))));
  const drawn = shown.map(({ name, value }, at) => {
    const from = across(Math.min(0, value));
    const to = across(Math.max(0, value));
    return s("g", { class: "column" }, s("title", null, `${name}: ${figureOf(value)}`),
      s("text", { x: left - 10, y: at * ROW + 23, class: "name" }, name.length > letters ? `${name.slice(0, letters - 1)}…` : name),
      s("rect", { x: from, y: at * ROW + 8, width: Math.max(1, to - from), height: ROW - 10, rx: 2 }),
      s("text", { x: to + 8, y: at * ROW + 23, class: "value" }, figureOf(value)));
  });
  return [s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Bars of ${columns[y]}${x < 0 ? "" : ` by ${columns[x]}`}` }, grid, drawn),
    points.length > shown.length && h("figcaption", null, `The first ${count(shown.length)} of ${count(points.length)} rows.`)];
}

function line({ columns, rows }, { x, y }) {
  const time = x >= 0 && rows.some((row) => timeOf(row[x]) !== null);
  const numeric = x >= 0 && !time && rows.every((row) => !row[x] || numberOf(row[x]) !== null);
  const points = rows.map((row, at) => ({
    at: time ? timeOf(row[x]) : numeric ? numberOf(row[x]) : at,
    name: x < 0 ? String(at + 1) : words(row[x]),
    value: numberOf(row[y]),
  })).filter((point) => point.at !== null && point.value !== null).slice(0, MOST_POINTS);
  if (time || numeric) points.sort((a, b) => a.at - b.at);
  if (!points.length) return hint("No row has both a place and a number.");
  const width = roomFor();
  const height = width < 600 ? 280 : 420;
  const [left, right, top, bottom] = [width < 600 ? 56 : 80, 30, 16, 40];
  const values = points.map(({ value }) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const [first, last] = [points[0].at, points.at(-1).at];
  const across = (value) => left + ((value - first) / (last - first || 1)) * (width - left - right);
  const down = (value) => height - bottom - ((value - low) / (high - low || 1)) * (height - top - bottom);
  const rowsOfGrid = ticks(low, high).map((value) => s("g", { class: "tick row" },
    s("line", { x1: left, x2: width - right, y1: down(value), y2: down(value) }),
    s("text", { x: left - 10, y: down(value) + 4 }, figureOf(value))));
  const many = Math.min(width < 600 ? 4 : 7, points.length);
  const marks = Array.from({ length: many }, (_, at) => {
    const value = first + ((last - first) * at) / Math.max(1, many - 1);
    const text = time ? new Date(value).toISOString().slice(0, last - first > 3e11 ? 4 : 10) : numeric ? figureOf(value) : (points[Math.round(value)]?.name ?? "").slice(0, 16);
    return s("g", { class: "tick" }, s("text", { x: across(value), y: height - 14 }, text));
  });
  const path = points.map((point, at) => `${at ? "L" : "M"}${across(point.at).toFixed(1)} ${down(point.value).toFixed(1)}`).join("");
  const dots = points.length <= 200 && points.map((point) => s("circle", { cx: across(point.at), cy: down(point.value), r: 3.5 }, s("title", null, `${point.name}: ${figureOf(point.value)}`)));
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Line of ${columns[y]}${x < 0 ? "" : ` by ${columns[x]}`}` }, rowsOfGrid, marks, s("path", { d: path, class: "line" }), dots || null);
}
