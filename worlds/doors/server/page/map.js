// Results on a map: points by their coordinates, over outlines of the land that the package brings; nothing is fetched
// from anybody.

import { hasEditor } from "./api.js";
import { h, many, s } from "./dom.js";
import { entityAddress, nameOf, numberOf } from "./terms.js";

const LAND = "/page/vendor/land.min.js";
const WIDTH = 720;
const MOST = 2000; // points
const NAMED = 24; // names that are written beside points
const LONGEST = 28; // characters of one
const POINT = /^(?:<[^>]*>\s*)?POINT\s*Z?\s*\(\s*(-?[\d.]+(?:[eE][-+]?\d+)?)\s+(-?[\d.]+(?:[eE][-+]?\d+)?)/i;

/** Where a row is: [longitude, latitude], or null. */
function placer({ columns, rows }) {
  const find = (pattern) => columns.findIndex((name, at) => pattern.test(name) && rows.some((row) => numberOf(row[at]) !== null));
  const [latitude, longitude] = [find(/^(?:.*_)?lat(?:itude)?$/i), find(/^(?:.*_)?(?:long?|lng|longitude)$/i)];
  const fits = (x, y) => (Math.abs(x) <= 180 && Math.abs(y) <= 90 ? [x, y] : null);
  if (latitude >= 0 && longitude >= 0) {
    return (row) => {
      const [y, x] = [numberOf(row[latitude]), numberOf(row[longitude])];
      return x === null || y === null ? null : fits(x, y);
    };
  }
  const wkt = columns.findIndex((_, at) => rows.some((row) => row[at]?.type === "literal" && POINT.test(row[at].value)));
  return wkt < 0 ? null : (row) => {
    const found = row[wkt]?.type === "literal" ? POINT.exec(row[wkt].value) : null;
    return found ? fits(Number(found[1]), Number(found[2])) : null;
  };
}

/** The points of the results: [{x, y, name, term}]; null where they have no coordinates. */
export function pointsOf(results) {
  const place = placer(results);
  if (!place) return null;
  const found = results.rows.map((row) => ({ at: place(row), term: row.find((term) => term?.type === "iri") ?? null, text: row.find((term) => term?.type === "literal" && numberOf(term) === null && !POINT.test(term.value)) ?? null })).filter(({ at }) => at);
  return found.length ? found.map(({ at: [x, y], term, text }) => ({ x, y, term, name: text?.value ?? (term ? nameOf(term.value) : `${y}, ${x}`) })) : null;
}

/** The part of the world that is shown: that of the points, with room around, in the shape of a map. */
function windowOf(points) {
  const [west, east] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))];
  const [south, north] = [Math.min(...points.map(({ y }) => y)), Math.max(...points.map(({ y }) => y))];
  const width = Math.min(360, Math.max((east - west) * 1.3, (north - south) * 2.6, 12));
  const middle = [(west + east) / 2, (south + north) / 2];
  const left = Math.max(-180, Math.min(180 - width, middle[0] - width / 2));
  const top = Math.min(90, Math.max(-90 + width / 2, middle[1] + width / 4));
  return { left, top, width, scale: WIDTH / width };
}

/** A ring as a path; where it crosses the date line it is taken up again on the other side. */
const outline = (at) => (ring) => ring.map(([x, y], place) => `${place && Math.abs(x - ring[place - 1][0]) < 180 ? "L" : "M"}${at(x, y).join(",")}`).join("");

/** The names that are written: those that no other one is in the way of. */
function written(marks) {
  const taken = [];
  return marks.map(({ x, y, name }) => {
    const width = 6.3 * Math.min(name.length, LONGEST);
    const left = x + 8 + width > WIDTH ? x - 8 - width : x + 8;
    const free = taken.every((one) => left > one.left + one.width || one.left > left + width || Math.abs(one.y - y) > 12);
    if (!free || taken.length >= NAMED) return null;
    taken.push({ left, width, y });
    return s("text", { x: left, y: y + 4 }, name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name);
  });
}

export function mapView(results) {
  const points = pointsOf(results).slice(0, MOST);
  const { left, top, scale } = windowOf(points);
  const at = (x, y) => [(x - left) * scale, (top - y) * scale].map((one) => one.toFixed(1));
  const ground = s("path", { class: "land" });
  const names = written(points.map(({ x, y, name }) => ({ x: Number(at(x, y)[0]), y: Number(at(x, y)[1]), name })));
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${WIDTH / 2}`, role: "group", "aria-label": `Map with ${many(points.length, "point")}` }, ground,
    points.map(({ x, y, term, name }, place) => {
      const [cx, cy] = at(x, y);
      const mark = [s("circle", { cx, cy, r: points.length > 200 ? 2.5 : 4.5 }), s("title", null, name), names[place]].filter(Boolean);
      return term ? s("a", { href: entityAddress(term), "aria-label": name }, mark) : s("g", null, mark);
    }));
  if (hasEditor) {
    import(LAND).then(({ land }) => {
      ground.setAttribute("d", land.map(outline(at)).join(""));
    }).catch(() => {});
  }
  return h("figure", { class: "map" }, svg, h("figcaption", null, `${many(points.length, "point")}${results.rows.length > points.length ? ` of ${many(results.rows.length, "row")}` : ""}. Outlines: Natural Earth.`));
}
