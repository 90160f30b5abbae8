// The world's health: what it lacks, contradicts and repeats, over its revisions; its shapes, and what they forbid.

import { access, get, includes, post, stats } from "./api.js";
import { actions, aside, count, empty, h, hint, loading, many, put, quiet, s } from "./dom.js";
import { failure } from "./keys.js";
import { done, proposalLink } from "./notice.js";
import { named, sentence } from "./names.js";
import { address } from "./router.js";
import { shapesPart } from "./shapes.js";
import { timeNode } from "./revisions.js";

const POINTS = 8; // earlier revisions whose counts are asked for
const LEVELS = { error: "errors", warning: "warnings", info: "remarks" };

/** How a count went over revisions: a line with its last value. */
function sparkline(values, name) {
  const most = Math.max(...values, 1);
  const step = 100 / Math.max(values.length - 1, 1);
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${(22 - (20 * value) / most).toFixed(1)}`);
  return s("svg", { viewBox: "-2 0 104 24", class: "spark", role: "img", "aria-label": `${name}: ${values.map(count).join(", ")}` },
    s("polyline", { points: points.join(" ") }), s("circle", { cx: 100, cy: points.at(-1).split(",")[1], r: 2 }));
}

function check(one) {
  return h("li", { class: `check ${one.level}` },
    h("p", { class: "check-head" }, h("span", { class: "level" }, one.level), h("span", { dir: "auto" }, one.title),
      h("a", { class: "count", href: address({ query: one.query, union: "true" }), title: "List them all by a SPARQL query" }, count(one.count)), one.new > 0 && aside(`${count(one.new)} new`)),
    one.examples.length > 0 && h("p", { class: "flow" }, one.examples.map((example) => h("span", { dir: "auto" }, sentence(example, { links: true })))));
}

function reportPart(place) {
  const read = async () => {
    const waiting = loading("Checking the whole world");
    put(place, waiting);
    stats().then(({ quads, texts, revisions }) => waiting.isConnected && put(place,
      h("dl", { class: "figures" }, Object.entries({ quads, texts, revisions }).map(([name, number]) => h("div", null, h("dt", null, name), h("dd", null, count(number))))), waiting), () => {});
    try {
      const told = await get("report", { points: POINTS });
      const found = told.checks.filter((one) => one.count);
      const fine = told.checks.filter((one) => !one.count);
      const levels = Object.entries(LEVELS).map(([level, words]) => h("div", null, h("dt", null, words), h("dd", null, count(told.counts[level] ?? 0)),
        told.points.length > 1 && h("dd", { class: "spark-place" }, sparkline(told.points.map(({ counts }) => counts[level] ?? 0), words))));
      put(place, h("dl", { class: "figures" }, h("div", null, h("dt", null, "entities"), h("dd", null, count(told.entities))), levels),
        told.points.length > 1 && hint(`The lines go over ${many(told.points.length, "state")} of the world, up to revision ${told.revision}.`),
        told.causes.length > 0 && h("section", null, h("h2", null, "Main causes"), h("ul", { class: "causes" }, told.causes.map((one) => h("li", null, h("span", { dir: "auto" }, sentence(one.message)), h("span", { class: "count" }, ` ${count(one.count)}`), h("p", { class: "flow" }, one.subjects.slice(0, 6).map((iri) => h("span", null, named({ type: "iri", value: iri })))))))),
        h("section", null, h("h2", null, "Findings"), found.length ? h("ul", { class: "checks" }, found.map(check)) : empty("Nothing was found", "Every check passed.")),
        fine.length > 0 && h("details", null, h("summary", null, `${many(fine.length, "check")} found nothing`), h("ul", null, fine.map((one) => h("li", { class: "unit", dir: "auto" }, one.title)))),
        h("p", { class: "meta" }, h("a", { href: address({ review: "" }) }, "Review these findings"), told.time && h("span", null, "the last change was ", timeNode(told.time))));
    } catch (error) {
      put(place, failure(error, read));
    }
  };
  read();
}

/** Links from texts to the entities that they name: for who may write, or propose. */
function linkingPart(place, again) {
  const said = h("div", { role: "status" });
  const link = (propose) => async () => {
    put(said, loading("Reading all texts"));
    try {
      const made = await post("links/texts", { propose });
      put(said, made.proposal ? h("p", null, "The links are proposed as ", proposalLink(made.proposal)) : h("p", null, made.revision ? `${many(made.added, "link")} made, ${count(made.removed)} taken away.` : "The texts are linked already."));
      if (made.revision) done("Texts are linked", [made.revision], again);
    } catch (error) {
      put(said, failure(error, link(propose)));
    }
  };
  access().then((me) => includes(me.level, "write") && put(place, h("h2", null, "Links of texts"),
    hint("A text that names an entity gets a link to it, which related hits and contexts follow."),
    actions(h("button", { onclick: link(false) }, "Link texts to the entities they name"), quiet({ onclick: link(true) }, "Propose the links")), said));
}

export function healthView() {
  const report = h("div", null, loading("Reading"));
  const shapes = h("section", { class: "shapes" });
  const linking = h("section");
  const node = h("section", { class: "health-view" }, h("h1", null, "Health"), report, linking, shapes);
  linkingPart(linking, () => reportPart(report));
  // The figures come first: what reads the whole world would keep them waiting.
  stats().catch(() => {}).finally(() => {
    reportPart(report);
    shapesPart(shapes);
  });
  return { node, title: "Health" };
}
