// Statements about one entity.

import { get, language } from "./api.js";
import { entityActs } from "./acts.js";
import { aside, count, disclosure, empty, h, hint, loading, many, put, quiet, s } from "./dom.js";
import { graphPicture } from "./graph.js";
import { shortList } from "./hits.js";
import { revisionLine } from "./revisions.js";
import { asItWas, whoButton, whyView } from "./who.js";
import { failure } from "./keys.js";
import { copy } from "./notice.js";
import { takeEntity } from "./take.js";
import { address } from "./router.js";
import { DATE, RDF, entityLink, identity, learn, nameOf, nt, parseTerm, prefixed, short, show, timeOf, webAddress } from "./terms.js";

const FEW = 20; // values of a property that are asked for at first
const ALL = 1000;
const NEIGHBOURS = 18;
const TYPE = `${RDF}type`;

const at = (iri) => `entities/${encodeURIComponent(iri)}`;

export function entityView(asked, entitle) {
  const iri = asked.get("entity");
  const node = h("article", { class: "entity" }, loading("Reading"));
  const read = async (entailed = false) => {
    try {
      const told = await get(at(iri), { limit: FEW, language, ...(entailed && { entailed }) });
      entitle(told.label ?? short(iri));
      put(node, page(told.iri, told, () => read(entailed), conclusionsSwitch(entailed, read), entailed)); // in full, and of the entity that a merged one has become
    } catch (error) {
      put(node, error.status === 404 ? nothing(iri) : failure(error, () => read(entailed)));
    }
  };
  read();
  return { node, title: short(iri) };
}

const nothing = (iri) => [
  h("h1", { dir: "auto" }, short(iri)),
  iriLine(iri),
  empty("No data about it", "No quad has it as subject or object."),
];

function iriLine(iri) {
  const web = webAddress(iri);
  const copied = h("span", { role: "status", class: "unit" });
  return h("p", { class: "iri" }, h("code", { dir: "ltr" }, iri),
    quiet({ onclick: async () => {
      if (!await copy(iri)) return;
      copied.textContent = "copied";
      setTimeout(() => { copied.textContent = ""; }, 2000);
    } }, "Copy"),
    web && h("a", { href: web, rel: "noreferrer noopener", target: "_blank", class: "quiet" }, "Open ↗"),
    copied);
}

/** The switch between what is written and what follows, too; only where the world has rules. */
function conclusionsSwitch(entailed, read) {
  const place = h("span");
  get("rules").then(({ sets, own }) => {
    if (sets.length || Object.keys(own).length) put(place, h("label", null, h("input", { type: "checkbox", checked: entailed, onchange: (event) => read(event.target.checked) }), " With conclusions"));
  }, () => {}); // without it, the page shows what is written
  return h("p", { class: "meta" }, place);
}

function page(iri, told, again, choice, entailed) {
  if (!told.properties.length && !told.incoming.length && !told.types.length && !told.former?.length) return nothing(iri);
  for (const part of [...told.properties, ...told.incoming]) {
    learn(part.predicate, part.label);
    for (const value of part.values) {
      const term = parseTerm(value.term);
      if (term.type === "iri") learn(term.value, value.label);
    }
  }
  const beside = h("aside", { "aria-label": "Around it" }, neighbourhood(iri, told), similar(iri), changes(iri));
  return [
    h("header", { class: "entity-head" },
      told.types.length > 0 && h("p", { class: "types" }, told.types.map((type) => [show(parseTerm(type.term), { label: type.label }), concluded(type, [nt(iri), `<${TYPE}>`, type.term])])),
      h("h1", { dir: "auto" }, told.label ?? short(iri)),
      iriLine(iri),
      entityActs(iri, told, again),
      choice,
      told.description && h("p", { class: "lead", dir: "auto" }, told.description)),
    h("div", { class: "entity-body" },
      h("div", { class: "entity-main" },
        properties("Properties", told.properties, iri, "properties", entailed),
        properties("Links to this entity", told.incoming, iri, "incoming", entailed),
        overTime(iri),
        !iri.startsWith("_:") && asItWas(iri),
        takeEntity(iri, told),
        !iri.startsWith("_:") && h("p", { class: "meta" }, h("a", { href: address({ query: about(iri) }) }, "Ask about it in SPARQL"))),
      beside),
  ];
}

const about = (iri) => `SELECT ?property ?value WHERE {\n  ${prefixed(iri) ?? `<${iri}>`} ?property ?value\n}`;

function properties(title, parts, iri, side, entailed) {
  if (!parts.length) return null;
  return h("section", { class: "properties" }, h("h2", null, title),
    h("dl", null, parts.map((part) => {
      const values = h("dd", { class: side === "incoming" ? null : "told" }, valueList(part, iri, side));
      if (part.count > part.values.length) values.append(rest(part, iri, side, values, entailed));
      if (side !== "incoming" && !iri.startsWith("_:")) values.append(...whoButton(iri, part));
      return [h("dt", null, side === "incoming" && h("span", { class: "unit", title: "from there to here" }, "← "), entityLink(part.predicate, part.label), part.count > 1 && h("span", { class: "count" }, count(part.count))), values];
    })));
}

/** Which revisions say it, and in which graphs: "revision 3, in urn:g". */
const said = (sources) => (sources ?? []).map(({ graph, revision, concluded: follows }) => `${follows ? "concluded" : `revision ${revision}`}${graph ? `, in ${graph.replace(/^<|>$/g, "")}` : ""}`).join("; ") || null;

/** A button that explains a value of a triple that no revision says. */
const concluded = ({ sources }, triple) => sources?.length > 0 && sources.every((one) => one.concluded) && disclosure("concluded", () => whyView(triple), { title: "It follows by the world's rules. Why?" });

/** Values one below the other; names of entities, which are short, side by side. */
function valueList({ values, predicate }, iri, side) {
  const terms = values.map((value) => parseTerm(value.term));
  const triple = (value) => (side === "incoming" ? [value.term, `<${predicate}>`, nt(iri)] : [nt(iri), `<${predicate}>`, value.term]);
  return h("ul", { class: terms.length > 2 && terms.every((term) => term.type === "iri") ? "flow" : null },
    values.map((value, at) => h("li", { title: said(value.sources) }, show(terms[at], { label: value.label }), concluded(value, triple(value)))));
}

function rest(part, iri, side, place, entailed) {
  const button = quiet({ onclick: async () => {
    button.disabled = true;
    try {
      const all = await get(at(iri), { limit: ALL, language, ...(entailed && { entailed }) });
      const same = all[side].find((one) => one.predicate === part.predicate);
      put(place, valueList(same, iri, side), same.count > same.values.length && hint(`The first ${count(same.values.length)} of ${count(same.count)}.`));
    } catch (error) {
      put(place, failure(error, () => button.click()));
    }
  } }, `${count(part.count - part.values.length)} more`);
  return button;
}

/** The picture of the neighbours: properties and incoming links in turn. */
function neighbourhood(iri, told) {
  const centre = { term: iri.startsWith("_:") ? { type: "bnode", value: iri.slice(2) } : { type: "iri", value: iri }, label: told.label ?? short(iri) };
  const nodes = [centre];
  const places = new Map([[identity(centre.term), 0]]);
  const edges = [];
  const columns = [...told.properties, ...told.incoming].map((part) => ({
    part,
    incoming: told.incoming.includes(part),
    left: part.values.map((value) => ({ value, term: parseTerm(value.term) })).filter(({ term }) => term.type === "iri" || term.type === "bnode"),
  })).filter(({ left, part }) => left.length && !part.predicate.endsWith("#type"));
  for (let round = 0; nodes.length <= NEIGHBOURS && columns.some(({ left }) => left.length > round); round += 1) {
    for (const { part, incoming, left } of columns) {
      if (round >= left.length) continue;
      const { value, term } = left[round];
      const id = identity(term);
      if (!places.has(id)) {
        if (nodes.length > NEIGHBOURS) continue;
        places.set(id, nodes.length);
        nodes.push({ term, label: value.label ?? (term.type === "bnode" ? id : short(term.value)) });
      }
      const other = places.get(id);
      edges.push(incoming ? { source: other, target: 0, label: part.label } : { source: 0, target: other, label: part.label });
    }
  }
  if (nodes.length < 2) return null;
  const all = columns.reduce((sum, { part }) => sum + part.count, 0);
  const picture = graphPicture(nodes, edges, { width: 440, height: 410, middle: 0, name: `Neighbours of ${centre.label}` });
  if (all > edges.length) picture.append(h("figcaption", null, `${count(edges.length)} of ${many(all, "link")}`));
  return h("section", null, h("h2", null, "Neighbourhood"), picture);
}

/** A section whose content comes later; it goes away where there is none. */
function later(title, fetchIt) {
  const body = h("div", null, loading());
  const section = h("section", null, h("h2", null, title), body);
  const read = async () => {
    try {
      const content = await fetchIt();
      if (content) put(body, content);
      else section.remove();
    } catch (error) {
      if (error.status === 404) section.remove();
      else put(body, failure(error, read));
    }
  };
  read();
  return section;
}

/** When its facts held, each with a bar between the first and the last time that is said. */
const overTime = (iri) => later("Values over time", async () => {
  const { facts } = await get("timeline", { iri });
  const dated = facts.filter((fact) => fact.valid_from || fact.valid_to).map((fact) => ({
    ...fact,
    value: parseTerm(fact.value),
    since: fact.valid_from && parseTerm(fact.valid_from),
    until: fact.valid_to && parseTerm(fact.valid_to),
  }));
  const time = (term) => term && timeOf({ ...term, datatype: DATE }); // a year may be an integer
  const times = dated.flatMap(({ since, until }) => [time(since), time(until)]).filter((one) => one !== null);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const place = (one, other) => (one === null || last === first ? other : 6 + (88 * (one - first)) / (last - first));
  const line = ({ value, label, since, until, holds }) => {
    const [from, to] = [place(time(since), 0), place(time(until), 100)];
    return h("li", { class: holds ? null : "past" },
      h("span", null, show(value, { label })),
      aside(`${!until ? "from " : ""}${since?.value ?? "until "}${since && until ? " – " : ""}${until?.value ?? ""}${holds ? "" : time(since) > Date.now() ? ", to come" : ", ended"}`),
      s("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, s("rect", { x: from, width: Math.max(to - from, 1), y: 1, height: 4 })));
  };
  const groups = Map.groupBy(dated, ({ incoming, predicate }) => `${incoming ?? false} ${predicate}`);
  const heading = ({ incoming, predicate, predicate_label }) => h("dt", null, incoming && "← ", entityLink(predicate, predicate_label ?? nameOf(predicate)));
  return dated.length ? h("dl", { class: "over-time" }, [...groups.values()].map((all) => [heading(all[0]), h("dd", null, h("ul", null, all.map(line)))])) : null;
});

const similar = (iri) => later("Similar", async () => {
  const { hits } = await get("similar", { iri, limit: 6 });
  return hits.length ? shortList(hits) : null;
});

const changes = (iri) => later("Changes", async () => {
  const found = await get("history", { entity: iri, limit: 8 });
  return found.revisions.length ? h("ol", { class: "revision-list short" }, found.revisions.map((entry) => h("li", null, revisionLine(entry)))) : null;
});
