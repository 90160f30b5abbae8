// The list of what a search found.

import { language } from "./api.js";
import { disclosure, h, put } from "./dom.js";
import { languageName } from "./facets.js";
import { want } from "./names.js";
import { entityAddress, learn, nameNode, nameOf, parseTerm, short } from "./terms.js";
import { explainHit } from "./explain.js";

/** A snippet whose matches stand between pairs of asterisks. */
function snippet(text) {
  const parts = text.split("**");
  // An odd number of parts is what pairs give; a text with asterisks of its own is shown as it is.
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, at) => (at % 2 ? h("mark", null, part) : part));
}

/** The hit's subject as a term: the quads tell a blank node from an IRI. */
function subjectOf(hit) {
  const written = hit.quads?.[0]?.[0];
  return written ? parseTerm(written) : { type: "iri", value: hit.subject };
}

/** What stands where a score is: a short number. */
export const score = (value) => (Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3));

function hitItem(hit, explanation) {
  const subject = subjectOf(hit);
  const name = hit.label ?? (subject.type === "bnode" ? `_:${subject.value}` : short(subject.value));
  const about = [
    ...hit.types.slice(0, 3).map((type) => nameNode(type, { class: "type" })),
    nameNode(hit.predicate),
    hit.graph && h("span", { title: hit.graph, dir: "auto" }, `in ${nameOf(hit.graph)}`),
    hit.language && h("span", { title: `language: ${hit.language}` }, languageName(hit.language)),
    hit.quads.length > 1 && h("span", { title: "This text is in several quads" }, `${hit.quads.length} quads`),
  ];
  const [button, part] = disclosure(h("span", { class: "score", title: "Score: how it came about" }, score(hit.score)), () => explanation(hit.rank), {
    class: "quiet why", "aria-label": `Score ${score(hit.score)}: how it came about`,
  });
  const same = hit.label && hit.snippet.replaceAll("**", "") === hit.label;
  // Labels come in the language of the world; a reader of another one gets theirs as soon as it is known.
  const translated = language !== "en" && subject.type === "iri" && !same;
  if (translated) {
    learn(subject.value, name);
    want(subject.value);
  }
  for (const iri of [...hit.types.slice(0, 3), hit.predicate]) if (language !== "en") want(iri);
  return h("li", { class: "hit" },
    h("h3", null, h("a", { href: entityAddress(subject), dir: "auto", "data-name": translated ? subject.value : null }, same ? snippet(hit.snippet) : name)),
    button,
    !same && h("p", { class: "snippet", dir: "auto", lang: hit.language }, snippet(hit.snippet)),
    h("p", { class: "meta" }, about),
    part);
}

/** A list of hits. `add` appends those of the next answer and returns the first link. */
export function showHits(answer, asked) {
  const node = h("ol", { class: "hits", "aria-label": "Results" });
  const list = {
    node,
    length: 0,
    add(more, options) {
      const explanation = explainHit(options);
      const items = more.hits.map((hit) => hitItem(hit, explanation));
      node.append(...items);
      list.length += items.length;
      return items[0]?.querySelector("h3 a");
    },
  };
  list.add(answer, asked);
  return list;
}

/** The hits of `similar`, in short. */
export function shortList(hits) {
  return h("ul", { class: "short-list" }, hits.map((hit) => {
    const subject = subjectOf(hit);
    return h("li", null, h("a", { href: entityAddress(subject), dir: "auto" }, hit.label ?? short(hit.subject)),
      put(h("span", { class: "meta" }), hit.types.slice(0, 1).map((type) => nameNode(type))));
  }));
}
