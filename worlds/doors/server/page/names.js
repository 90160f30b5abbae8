// What things are called: labels that are not known yet are asked for together, and written where they are wanted.

import { language, post } from "./api.js";
import { entityLink, expanded, knows, learn, nameNode, nameOf, rename, show } from "./terms.js";

const PAUSE = 15; // milliseconds in which those that are wanted are collected
const MOST = 500; // of one request

const asked = new Set();
let wanted = new Set();
let timer = 0;

async function fetchThem() {
  timer = 0;
  const iris = [...wanted].slice(0, MOST);
  wanted = new Set([...wanted].slice(MOST));
  if (wanted.size) timer = setTimeout(fetchThem, PAUSE);
  try {
    const { labels } = await post("labels", { iris, language });
    for (const [iri, label] of Object.entries(labels)) learn(iri, label);
    rename();
  } catch {
    // Then the names have to do that IRIs have of themselves.
  }
}

/** Have the label of an IRI asked for, once; a known one only for who reads another language than English. */
export function want(iri) {
  if (asked.has(iri) || (knows(iri) && language === "en") || /[\s<>"{}|^`\\]/.test(iri)) return;
  asked.add(iri);
  wanted.add(iri);
  timer ||= setTimeout(fetchThem, PAUSE);
}

/** The name of an IRI, which follows when its label becomes known. */
export function nameOfIri(iri) {
  want(iri);
  return nameNode(iri);
}

/** A sentence of the server, with names for IRIs and prefixed names; as links, if wanted. */
export function sentence(text, { links = false } = {}) {
  const parts = text.split(/(<[^<>\s]+>|(?<![\p{L}\p{N}_"/:])[\p{L}\p{N}_-]*:[\p{L}\p{N}_][\p{L}\p{N}_.-]*)/u);
  return parts.map((part, at) => {
    if (at % 2 === 0 || !part) return part;
    const end = /\.+$/.exec(part)?.[0] ?? ""; // of the sentence
    const name = part.slice(0, part.length - end.length);
    const iri = name.startsWith("<") ? name.slice(1, -1) : expanded(name);
    if (name.startsWith("<") ? !/^[a-z][a-z0-9+.-]*:/i.test(iri) : iri === name) return part;
    return [links ? named({ type: "iri", value: iri }) : nameOfIri(iri), end];
  });
}

/** A term as people name it: an entity by its label, once that is known; a literal as `show` has it. */
export function named(term, { label = null, most } = {}) {
  if (term.type !== "iri") return show(term, { label, most });
  if (label) {
    learn(term.value, label);
    return entityLink(term, label);
  }
  want(term.value);
  return entityLink(term, nameOf(term.value), { "data-name": term.value });
}
