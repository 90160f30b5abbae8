// What is shown before anything is sought: what the world holds.

import { access, includes, request, stats as figuresOf } from "./api.js";
import { count, empty, h, loading, put } from "./dom.js";
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

const FORMATS = { ttl: "text/turtle", nt: "application/n-triples", nq: "application/n-quads", trig: "application/trig", rdf: "application/rdf+xml", xml: "application/rdf+xml", jsonld: "application/ld+json", json: "application/ld+json" };

/** A way to load a file here, for who may write; null for others. */
async function upload() {
  if (!includes((await access()).level, "write")) return null;
  const place = h("div", { "aria-live": "polite" });
  const input = h("input", { type: "file", id: "upload", accept: Object.keys(FORMATS).map((ending) => `.${ending}`).join(","), onchange: async () => {
    const [file] = input.files;
    const type = FORMATS[file?.name.split(".").pop().toLowerCase()];
    if (!file) return;
    if (!type) {
      put(place, h("p", { class: "bad" }, `The end of its name tells the format: .${Object.keys(FORMATS).join(", .")}.`));
      return;
    }
    put(place, loading(`Loading ${file.name}`));
    try {
      // What names graphs of its own goes into these; the rest into the default graph.
      await request(type.endsWith("quads") || type.endsWith("trig") ? "graphs" : "graphs?default", { method: "POST", body: file, headers: { "content-type": type } });
      location.reload();
    } catch (error) {
      put(place, failure(error));
    }
  } });
  return h("div", null, h("label", { for: "upload" }, "or choose one here: "), input, place);
}

/** The figures of the world, and where to begin. */
export async function overview() {
  let stats;
  try {
    stats = await figuresOf();
  } catch (error) {
    if (error.status === 404) return empty("There is no such world", error.message, h("p", null, h("a", { href: "/" }, "See which worlds there are")));
    return failure(error, () => location.reload());
  }
  if (!stats.quads) {
    return empty("This world is empty", h("p", null, "Load a file into it: ", h("code", null, "worlds load FILE data.ttl")), await upload());
  }
  const figures = [
    ["quads", stats.quads], ["texts", stats.texts], ["named graphs", stats.graphs], ["revisions", stats.revisions],
  ];
  const { level } = await access();
  const pending = stats.pending > 0 && h("p", { class: "notes" }, `${count(stats.pending)} passages have no vector yet, and are found by their words only.`);
  return h("div", { class: "overview" },
    h("dl", { class: "figures" }, figures.map(([name, number]) => h("div", null, h("dt", null, name), h("dd", null, count(number))))),
    pending,
    includes(level, "propose") && h("p", { class: "actions" }, h("a", { class: "button", href: address({ new: "" }) }, "New entity")),
    h("div", { class: "pair" },
      bars("Commonest types", stats.types ?? {}, instances(labelling(stats.predicates ?? {})), "List what is a"),
      bars("Commonest properties", stats.predicates ?? {}, usage, "List what has a")));
}
