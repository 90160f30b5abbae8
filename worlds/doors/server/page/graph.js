// A picture of a graph: nodes are links, edges have labels. The layout is by forces and always the same.

import { freshId, h, s } from "./dom.js";
import { entityAddress } from "./terms.js";

const STEPS = 260;
const ROUNDS = 120; // of moving labels apart
const GRAVITY = 1.5; // keeps parts that nothing links together
const LABEL = 22; // characters
const LETTER = 6.4; // how wide one is, about
const ABOVE = 9; // what a node and its label take, from the node's middle
const BELOW = 23;

/** Places for nodes: [{x, y}], from forces that push nodes apart and pull along edges. `fixed` stays in the middle. */
function layout(nodes, edges, width, height, fixed) {
  const middle = [width / 2, height / 2];
  const radius = Math.min(width, height) * 0.38;
  const places = nodes.map((_, at) => {
    if (at === fixed) return { x: middle[0], y: middle[1] };
    const turn = 2.399963 * at; // the golden angle spreads them whatever their number
    const out = radius * (0.45 + 0.55 * Math.sqrt((at + 0.5) / nodes.length));
    return { x: middle[0] + out * Math.cos(turn), y: middle[1] + out * Math.sin(turn) };
  });
  const ideal = Math.sqrt((width * height) / Math.max(nodes.length, 4)) * 0.72;
  for (let step = 0; step < STEPS; step += 1) {
    const warmth = (1 - step / STEPS) * ideal * 0.22;
    const moves = places.map(() => ({ x: 0, y: 0 }));
    for (let a = 0; a < places.length; a += 1) {
      for (let b = a + 1; b < places.length; b += 1) {
        // Labels are wide and flat, so nodes need more room sideways.
        const dx = (places[a].x - places[b].x) / 1.5 || 0.1;
        const dy = places[a].y - places[b].y || 0.1;
        const far = Math.max(Math.hypot(dx, dy), 1);
        const push = (ideal * ideal) / (far * far);
        moves[a].x += dx * push;
        moves[a].y += dy * push;
        moves[b].x -= dx * push;
        moves[b].y -= dy * push;
      }
    }
    for (const { source, target } of edges) {
      if (source === target) continue;
      const dx = (places[source].x - places[target].x) / 1.5;
      const dy = places[source].y - places[target].y;
      const pull = Math.hypot(dx, dy) / ideal / 1.4;
      moves[source].x -= dx * pull;
      moves[source].y -= dy * pull;
      moves[target].x += dx * pull;
      moves[target].y += dy * pull;
    }
    places.forEach((place, at) => {
      if (at === fixed) return;
      const move = moves[at];
      move.x += (middle[0] - place.x) * GRAVITY;
      move.y += (middle[1] - place.y) * GRAVITY;
      const far = Math.hypot(move.x, move.y) || 1;
      const length = Math.min(far, warmth);
      place.x += (move.x / far) * length;
      place.y += (move.y / far) * length;
    });
  }
  return separate(fit(places, width, height, fixed), nodes, width, height, fixed);
}

/** Stretch the places to the frame, with room for the labels. */
function fit(places, width, height, fixed) {
  const left = 62;
  const top = 20;
  const xs = places.map((place) => place.x);
  const ys = places.map((place) => place.y);
  const spread = (values, size, margin, middle) => {
    if (middle !== undefined) {
      const far = Math.max(...values.map((value) => Math.abs(value - middle)), 1);
      return (value) => size / 2 + ((value - middle) / far) * (size / 2 - margin);
    }
    const least = Math.min(...values);
    const range = Math.max(...values) - least;
    return range < 1 ? () => size / 2 : (value) => margin + ((value - least) / range) * (size - 2 * margin);
  };
  const across = spread(xs, width, left, fixed === undefined ? undefined : xs[fixed]);
  const down = spread(ys, height, top, fixed === undefined ? undefined : ys[fixed]);
  return places.map((place) => ({ x: across(place.x), y: down(place.y) }));
}

/** Move nodes apart whose labels would cover one another. */
function separate(places, nodes, width, height, fixed) {
  const half = nodes.map(({ label }) => (Math.min(label.length, LABEL) * LETTER) / 2 + 5);
  for (let round = 0; round < ROUNDS; round += 1) {
    let moved = false;
    for (let a = 0; a < places.length; a += 1) {
      for (let b = a + 1; b < places.length; b += 1) {
        const across = half[a] + half[b] - Math.abs(places[a].x - places[b].x);
        const down = ABOVE + BELOW - Math.abs(places[a].y - places[b].y);
        if (across <= 0 || down <= 0) continue;
        moved = true;
        const [axis, by] = down <= across ? ["y", down / 2] : ["x", across / 2];
        const way = places[a][axis] < places[b][axis] || (places[a][axis] === places[b][axis] && a < b) ? -1 : 1;
        if (a !== fixed) places[a][axis] += way * by * (b === fixed ? 2 : 1);
        if (b !== fixed) places[b][axis] -= way * by * (a === fixed ? 2 : 1);
      }
    }
    places.forEach((place, at) => {
      if (at === fixed) return;
      place.x = Math.min(Math.max(place.x, half[at]), width - half[at]);
      place.y = Math.min(Math.max(place.y, ABOVE + 4), height - BELOW);
    });
    if (!moved) break;
  }
  return places;
}

const cut = (text) => (text.length > LABEL ? `${text.slice(0, LABEL - 1).trimEnd()}…` : text);

/** How wide a picture can be here, in pixels: its letters then have the size that they are drawn in. */
export const roomFor = (most = 1060) => Math.min(most, Math.max(300, (document.getElementById("main")?.clientWidth ?? most) - 64));

/**
 * The picture of `nodes` [{term, label}] and `edges` [{source, target, label}], which name nodes by their place. An
 * entity is a link to its page; a literal is a text. `middle` is the node that the others surround.
 */
export function graphPicture(nodes, edges, { width = 640, height = 420, middle, name = "Graph" } = {}) {
  const places = layout(nodes, edges, width, height, middle);
  const arrow = freshId("arrow");
  const lines = edges.map(({ source, target, label }) => {
    const a = places[source];
    const b = places[target];
    const far = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const gap = 8;
    const end = { x: b.x - ((b.x - a.x) / far) * gap, y: b.y - ((b.y - a.y) / far) * gap };
    return s("g", { class: "edge" }, s("title", null, label),
      s("path", { d: `M${a.x.toFixed(1)} ${a.y.toFixed(1)}L${end.x.toFixed(1)} ${end.y.toFixed(1)}`, "marker-end": `url(#${arrow})` }),
      s("text", { x: ((a.x + b.x) / 2).toFixed(1), y: ((a.y + b.y) / 2 - 3).toFixed(1), class: "edge-label" }, cut(label)));
  });
  const groups = nodes.map((node, at) => {
    const { x, y } = places[at];
    const shape = node.term.type === "literal" || node.term.type === "triple"
      ? s("rect", { x: x - 4, y: y - 4, width: 8, height: 8 })
      : s("circle", { cx: x, cy: y, r: at === middle ? 7 : 5 });
    const parts = [s("title", null, node.label), shape, s("text", { x, y: y + 17, class: "node-label" }, cut(node.label))];
    const kind = `node ${node.term.type}${at === middle ? " middle" : ""}`;
    if (node.term.type !== "iri" && node.term.type !== "bnode") return s("g", { class: kind }, parts);
    const link = s("a", { class: kind, href: entityAddress(node.term), "aria-label": node.label }, parts);
    const lit = (on) => () => lines.forEach((line, edge) => {
      if (edges[edge].source === at || edges[edge].target === at) line.classList.toggle("lit", on);
    });
    for (const type of ["focus", "pointerenter"]) link.addEventListener(type, lit(true));
    for (const type of ["blur", "pointerleave"]) link.addEventListener(type, lit(false));
    return link;
  });
  return h("figure", { class: "graph" },
    s("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": name },
      s("defs", null, s("marker", { id: arrow, viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto" },
        s("path", { d: "M0 .5L6 3L0 5.5Z", class: "arrow" }))),
      lines, groups));
}
