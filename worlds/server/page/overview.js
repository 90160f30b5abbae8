// What is shown before anything is sought: what the world holds.

import { get } from "./api.js";
import { count, empty, h } from "./dom.js";
import { failure } from "./keys.js";
import { address } from "./router.js";
import { nameOf } from "./terms.js";

/** A query that lists what is of a type, with its label, by the predicate that has most of them in the world. */
const instances = (label) => (type) => `SELECT ?thing (SAMPLE(?name) AS ?label) WHERE {
  ?thing a <${type}> .
  OPTIONAL { ?thing ${label} ?name }
}
GROUP BY ?thing ORDER BY ?label LIMIT 200`;

/** The commonest predicate that gives labels, as a query has it. */
function labelling(predicates) {
  const iri = Object.entries(predicates).sort(([, a], [, b]) => b - a).map(([one]) => one).find((one) => /[/#:](prefLabel|label|name|title)$/.test(one));
  return iri ? `<${iri}>` : "rdfs:label";
}

const usage = (predicate) => `SELECT ?subject ?value WHERE {
  ?subject <${predicate}> ?value
} LIMIT 200`;

function bars(title, figures, query, hint) {
  const entries = Object.entries(figures);
  if (!entries.length) return null;
  const most = Math.max(...entries.map(([, number]) => number));
  return h("section", { class: "bars" }, h("h2", null, title),
    h("ul", null, entries.map(([iri, number]) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" });
      bar.style.inlineSize = `${Math.max(1, (100 * number) / most)}%`;
      return h("li", null,
        h("a", { href: address({ query: query(iri) }), title: `${hint} ${iri}`, dir: "auto", "data-name": iri }, nameOf(iri)),
        h("span", { class: "count" }, count(number)), bar);
    })));
}

/** The figures of the world, and where to begin. */
export async function overview() {
  let stats;
  try {
    stats = await get("stats");
  } catch (error) {
    return failure(error, () => location.reload());
  }
  if (!stats.quads) {
    return empty("This world is empty", h("p", null, "Load a file into it: ", h("code", null, "worlds load FILE data.ttl")));
  }
  const figures = [
    ["quads", stats.quads], ["texts", stats.texts], ["named graphs", stats.graphs], ["revisions", stats.revisions],
  ];
  const pending = stats.pending > 0 && h("p", { class: "notes" }, `${count(stats.pending)} passages have no vector yet, and are found by their words only.`);
  return h("div", { class: "overview" },
    h("dl", { class: "figures" }, figures.map(([name, number]) => h("div", null, h("dt", null, name), h("dd", null, count(number))))),
    pending,
    h("div", { class: "pair" },
      bars("Commonest types", stats.types ?? {}, instances(labelling(stats.predicates ?? {})), "List what is a"),
      bars("Commonest properties", stats.predicates ?? {}, usage, "List what has a")));
}
