// The members of a class, a scheme or a property from A to Z, with any property as a facet that counts all of them.

import { get, language } from "./api.js";
import { aside, count, empty, freshId, h, hint, loading, many, put, quiet } from "./dom.js";
import { failure } from "./keys.js";
import { nameOfIri } from "./names.js";
import { entityLink, learn, nameOf, parseTerm, show, write } from "./terms.js";

const PAGE = 50;
const FIRST = 8; // values of a facet before all are asked for
const NAMES = { class: ["instance", "instances"], scheme: ["concept", "concepts"], property: ["subject", "subjects"] };

/** The SPARQL pattern of filters, each "property value" in N-Triples; those of one property are alternatives. */
function patternOf(filters) {
  const groups = Map.groupBy(filters, (one) => one.slice(0, one.indexOf(" ")));
  return [...groups].map(([property, all], at) => `?subject ${property} ?v${at} . VALUES ?v${at} { ${all.map((one) => one.slice(property.length + 1)).join(" ")} }`).join(" ") || null;
}

/** A page of the members of a state's class, scheme or property. */
export const askMembers = (state, options) => get("members", { of: state.of, language, where: patternOf(state.filters), subclasses: state.subclasses, offset: state.offset, limit: PAGE, ...options });

/** The list of `of`; `state` has {filters, facets, offset, subclasses}; `change(more)` gets the changes. */
export function memberList({ state, change, first = null }) {
  const node = h("section", { class: "members" }, loading("Reading"));
  const facets = h("div", { class: "member-facets" });

  async function read() {
    try {
      draw(await (first ?? askMembers(state)));
      first = null;
      readFacets();
    } catch (error) {
      put(node, failure(error, read));
    }
  }

  function draw(answer) {
    const [one, several] = NAMES[answer.kind] ?? ["member", "members"];
    const pages = answer.total > PAGE;
    for (const { iri, label } of answer.members) learn(iri, label);
    const kinds = new Set(answer.members.flatMap(({ types }) => types));
    const letters = Object.entries(answer.letters);
    const here = letters.findLast(([, at]) => at <= state.offset)?.[0];
    put(node,
      h("div", { class: "members-head" }, h("h2", null, h("span", { role: "status" }, many(answer.total, one, several), state.filters.length > 0 && " that pass the filters")),
        answer.subclasses > 0 && h("label", { class: "check" }, h("input", { type: "checkbox", checked: state.subclasses, onchange: (event) => change({ subclasses: event.target.checked, offset: 0 }) }), " with those of subclasses")),
      chooseFacet(answer), facets,
      pages && letters.length > 1 && h("nav", { class: "letters", "aria-label": "Letters" }, letters.map(([letter, at]) => h("button", {
        class: "quiet", "aria-current": letter === here ? "true" : null, onclick: () => change({ offset: Math.floor(at / PAGE) * PAGE }),
      }, letter))),
      answer.total === 0 ? empty(state.filters.length ? "Nothing matches these filters" : "There is nothing to list") : h("ul", { class: "member-list" }, answer.members.map((member) => h("li", null,
        entityLink(member.iri, member.label ?? nameOf(member.iri), { "data-browse": "no" }),
        member.apart && h("span", { class: "unit", dir: "auto" }, member.apart),
        kinds.size > 1 && h("span", { class: "meta" }, member.types.slice(0, 2).map((type) => nameOfIri(type)))))),
      pages && h("p", { class: "pages" },
        h("button", { disabled: state.offset === 0, onclick: () => change({ offset: Math.max(0, state.offset - PAGE) }) }, "Previous"),
        aside(`${count(state.offset + 1)} to ${count(state.offset + answer.members.length)} of ${count(answer.total)}`),
        h("button", { disabled: state.offset + answer.members.length >= answer.total, onclick: () => change({ offset: state.offset + PAGE }) }, "Next")));
  }

  function chooseFacet(answer) {
    const left = answer.properties.filter((one) => !state.facets.includes(one) && !/#(?:pref|alt|hidden)?label$/i.test(one));
    if (!left.length) return null;
    const id = freshId("facet");
    const options = left.map((one) => h("option", { value: one, "data-name": one }, nameOfIri(one).textContent)).sort((a, b) => a.textContent.localeCompare(b.textContent));
    return h("p", { class: "facet-choice" }, h("label", { for: id }, "Filter by"), h("select", { id, onchange: (event) => event.target.value && change({ facets: [...state.facets, event.target.value] }) },
      h("option", { value: "" }, "a property…"), options));
  }

  /** Each facet counts what passes the filters of the others, so that its own alternatives stay in sight. */
  async function readFacets() {
    put(facets, state.facets.map((property) => {
      const place = h("fieldset", { class: "facet-group" }, h("legend", null, nameOfIri(property)), loading("Counting"));
      const own = `<${property}> `;
      askMembers(state, { facet: property, limit: 1, offset: 0, where: patternOf(state.filters.filter((one) => !one.startsWith(own))) })
        .then(({ facets: [facet] }) => put(place, facetValues(facet, own, property, false)))
        .catch((error) => put(place, failure(error)));
      return place;
    }));
  }

  function facetValues(facet, own, property, whole) {
    const values = whole ? facet.values : facet.values.filter(({ term }, at) => at < FIRST || state.filters.includes(own + term));
    const legend = h("legend", null, nameOfIri(property), quiet({ "aria-label": `Remove the filter ${nameOf(property)}`, onclick: () => change({ facets: state.facets.filter((one) => one !== property), filters: state.filters.filter((one) => !one.startsWith(own)), offset: 0 }) }, "×"));
    const rest = facet.values.length - values.length;
    const group = h("div", null, values.map(({ term, label, count: number }) => {
      const parsed = parseTerm(term);
      const filter = own + write(parsed);
      const id = freshId("value");
      if (label) learn(parsed.value, label);
      return h("div", { class: "facet" },
        h("input", { type: "checkbox", id, disabled: parsed.type === "bnode" || parsed.type === "triple", checked: state.filters.includes(filter), onchange: () => change({ offset: 0, filters: state.filters.includes(filter) ? state.filters.filter((one) => one !== filter) : [...state.filters, filter] }) }),
        h("label", { for: id, title: parsed.value }, parsed.type === "iri" ? nameOfIri(parsed.value) : parsed.type === "literal" ? show(parsed, { most: 80 }) : term),
        h("span", { class: "count" }, count(number)));
    }));
    return [legend, facet.values.length ? group : hint("No entity has this property."),
      rest > 0 && quiet({ onclick: (event) => event.target.closest("fieldset").replaceChildren(...facetValues(facet, own, property, true).filter(Boolean)) }, `${count(rest)} more`),
      facet.count > facet.values.length && hint(`The commonest ${count(facet.values.length)} of ${count(facet.count)} values.`)];
  }

  read();
  return node;
}
