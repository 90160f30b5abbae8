// RDF terms: reading them from N-Triples and SPARQL results, and showing them.

import { h, quiet } from "./dom.js";
import { address } from "./router.js";

export const XSD = "http://www.w3.org/2001/XMLSchema#";
export const RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
export const RDFS = "http://www.w3.org/2000/01/rdf-schema#";
export const OWL = "http://www.w3.org/2002/07/owl#";
export const SKOS = "http://www.w3.org/2004/02/skos/core#";
export const SHACL = "http://www.w3.org/ns/shacl#";
export const DATE = `${XSD}date`;
/** The property path from a concept to its scheme. */
export const IN_SCHEME = `<${SKOS}inScheme>|<${SKOS}topConceptOf>|^<${SKOS}hasTopConcept>`;
const NUMBERS = new Set(
  ("integer decimal double float long int short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger " +
    "unsignedLong unsignedInt unsignedShort unsignedByte").split(" ").map((name) => XSD + name),
);
const LONG = 600; // characters of a text that are shown before it is unfolded

let prefixes = [];
const labels = new Map();

/** Set the prefixes that names are shortened with, longest namespace first. */
export function setPrefixes(map) {
  prefixes = Object.entries(map).filter(([, iri]) => iri).sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
}

/** The prefixes that a query need not declare. */
export const prefixMap = () => ({ w: "urn:worlds:", ...Object.fromEntries(prefixes) });

/** Remember what an IRI is called. */
export function learn(iri, label) {
  if (label && iri) labels.set(iri, label);
}

const browsed = new Set();

/** Links to a class, a scheme or a property lead to its members from now on. */
export const browses = (iri) => browsed.add(iri);

/** Whether the label of an IRI is known. */
export const knows = (iri) => labels.has(iri);

/** An IRI as a prefixed name, or null. */
export function prefixed(iri) {
  for (const [prefix, namespace] of prefixes) {
    if (iri.startsWith(namespace)) {
      const local = iri.slice(namespace.length);
      if (/^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?$/u.test(local)) return `${prefix}:${local}`;
    }
  }
  return null;
}

/** An IRI in short: a prefixed name, or its end. */
export function short(iri) {
  const name = prefixed(iri);
  if (name) return name;
  const end = iri.replace(/[/#]+$/, "").split(/[/#]/).pop();
  if (!end || end === iri || iri.length <= 40) return iri;
  let text = end;
  try {
    text = decodeURIComponent(end);
  } catch {
    // An IRI may have a lone percent sign.
  }
  return `…${text}`;
}

/** The IRI of a prefixed name; what has no known prefix is an IRI already. */
export function expanded(name) {
  const [, prefix, local] = /^([^:/]*):(.*)$/s.exec(name) ?? [];
  const found = prefix === undefined || local.startsWith("//") ? null : prefixes.find(([known]) => known === prefix);
  return found ? found[1] + local : name;
}

/** What a person calls an IRI: its label, else its local name. */
export function nameOf(iri) {
  const label = labels.get(iri);
  if (label) return label;
  const name = short(iri);
  return name.startsWith("…") ? name.slice(1) : name.replace(/^[^:/]*:(?=[^/])/, "") || name;
}

/** Names that tell the IRIs of a list apart; namesakes get a part of their IRI. */
export function apart(iris) {
  const names = new Map(iris.map((iri) => [iri, nameOf(iri)]));
  for (const name of new Set(names.values())) {
    const group = iris.filter((iri) => nameOf(iri) === name);
    const parts = group.map((iri) => iri.split(/[/#]+/).filter(Boolean));
    for (let length = 2; group.length > 1 && length <= Math.max(...parts.map((one) => one.length)); length += 1) {
      const told = parts.map((one) => one.slice(-length).join("/"));
      group.forEach((iri, at) => names.set(iri, told[at]));
      if (new Set(told).size === told.length) break;
    }
  }
  return names;
}

/** What a person calls an IRI, in an element that follows when its label becomes known. */
export function nameNode(iri, attributes = {}) {
  return h("span", { "data-name": iri, title: iri, dir: "auto", ...attributes }, nameOf(iri));
}

/** Write the names anew: more labels are known. */
export function rename() {
  for (const element of document.querySelectorAll("[data-name]")) element.textContent = nameOf(element.dataset.name);
  for (const link of document.querySelectorAll("a[data-entity]")) if (browsed.has(link.dataset.entity)) link.setAttribute("href", address({ browse: link.dataset.entity }));
}

// -- reading --

const ESCAPES = { t: "\t", b: "\b", n: "\n", r: "\r", f: "\f", '"': '"', "'": "'", "\\": "\\" };
const unescape_ = (text) =>
  text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/gs, (_, four, eight, one) =>
    one !== undefined ? (ESCAPES[one] ?? one) : String.fromCodePoint(Math.min(Number.parseInt(four ?? eight, 16), 0x10ffff)));

const TOKEN = /\s*(?:<([^<>"{}|^`\x00-\x20]*)>|_:([\p{L}\p{N}_:](?:[\p{L}\p{N}_:.·-]*[\p{L}\p{N}_:·-])?)|"((?:[^"\\]|\\.)*)"(?:\^\^<([^<>]*)>|@([A-Za-z]+(?:-[A-Za-z0-9]+)*)(?:--(ltr|rtl))?)?|(<<\()|(\)>>)|(\.))/uys;

/** An IRI or "_:label" as N-Triples writes it. */
export const nt = (entity) => (entity.startsWith("_:") ? entity : `<${entity}>`);

/** The terms and full stops of N-Triples or N-Quads, in turn; stops at what is none. */
function* tokens(text) {
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) return;
    const [, iri, blank, literal, datatype, language, direction, open, close] = match;
    if (iri !== undefined) yield { type: "iri", value: unescape_(iri) };
    else if (blank !== undefined) yield { type: "bnode", value: blank };
    else if (literal !== undefined) {
      yield {
        type: "literal",
        value: unescape_(literal),
        datatype: datatype === undefined ? null : unescape_(datatype),
        language: language ?? null,
        direction: direction ?? null,
      };
    } else yield { type: open ? "open" : close ? "close" : "end" };
  }
}

/** The statements of N-Triples or N-Quads, each a list of three or four terms. */
export function* statements(text) {
  const stack = [[]];
  for (const token of tokens(text)) {
    if (token.type === "open") stack.push([]);
    else if (token.type === "close" && stack.length > 1) {
      const terms = stack.pop();
      stack.at(-1).push({ type: "triple", terms });
    } else if (token.type === "end") {
      const terms = stack.pop();
      stack.length = 0;
      stack.push([]);
      if (terms.length >= 3) yield terms;
    } else if (token.type !== "close") stack.at(-1).push(token);
  }
}

/** One term as N-Triples writes it; what is no term is shown as it is. */
export function parseTerm(text) {
  const [terms] = statements(`<x:> <x:> ${text} .`);
  return terms?.[2] ?? { type: "literal", value: text, datatype: null, language: null, direction: null };
}

/** A term of the SPARQL 1.1 results in JSON, triple terms included. */
export function fromBinding(binding) {
  if (binding.type === "uri") return { type: "iri", value: binding.value };
  if (binding.type === "bnode") return { type: "bnode", value: binding.value };
  if (binding.type === "triple") {
    const { subject, predicate, object } = binding.value;
    return { type: "triple", terms: [subject, predicate, object].map(fromBinding) };
  }
  return {
    type: "literal",
    value: binding.value,
    datatype: binding.datatype ?? null,
    language: binding["xml:lang"] ?? null,
    direction: binding["its:dir"] ?? null,
  };
}

/** A term as text that tells it from all others. */
export function identity(term) {
  if (term.type === "triple") return `<<( ${term.terms.map(identity).join(" ")} )>>`;
  if (term.type === "iri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  return `"${term.value}"^^${term.datatype ?? ""}@${term.language ?? ""}`;
}

/** The number that a literal is, or null. */
export function numberOf(term) {
  if (!term || term.type !== "literal" || !NUMBERS.has(term.datatype)) return null;
  const text = term.value.trim();
  const value = text === "INF" || text === "+INF" ? Infinity : text === "-INF" ? -Infinity : Number(text);
  return text !== "" && Number.isFinite(value) ? value : null;
}

/** Milliseconds since 1970 of a date, a time stamp or a year, or null. */
export function timeOf(term) {
  if (!term || term.type !== "literal" || !term.datatype?.startsWith(XSD)) return null;
  const kind = term.datatype.slice(XSD.length);
  if (!["date", "dateTime", "gYear", "gYearMonth"].includes(kind)) return null;
  const match = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?(T.*)?/.exec(term.value);
  if (!match) return null;
  const time = match[4] ? Date.parse(term.value) : Date.UTC(match[1], (match[2] ?? 1) - 1, match[3] ?? 1);
  return Number.isNaN(time) ? null : time;
}

/** A term as N-Triples writes it. */
export function write(term) {
  if (term.type === "iri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  if (term.type === "triple") return `<<( ${term.terms.map(write).join(" ")} )>>`;
  const text = term.value.replace(/[\\"\n\r]/g, (one) => ({ "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r" })[one]);
  const direction = term.direction ? `--${term.direction}` : "";
  const end = term.language ? `@${term.language}${direction}` : term.datatype && term.datatype !== `${XSD}string` ? `^^<${term.datatype}>` : "";
  return `"${text}"${end}`;
}

/** A text as N-Triples writes it. */
export const literal = (value, language) => write({ type: "literal", value, language });

// -- showing --

/** The address of the page of an entity, given as a term, or as an IRI or "_:label". */
export function entityAddress(entity) {
  return address({ entity: typeof entity === "string" ? entity : entity.type === "bnode" ? `_:${entity.value}` : entity.value });
}

/** A link to the page of an entity. The IRI is never the target, so it cannot be a script. */
export function entityLink(term, label, attributes = {}) {
  const iri = typeof term === "string" ? term : term.type === "bnode" ? `_:${term.value}` : term.value;
  return h("a", { href: browsed.has(iri) ? address({ browse: iri }) : entityAddress(term), "data-entity": iri, title: iri, dir: "auto", ...attributes }, label ?? short(iri));
}

/** The address of an IRI itself where a browser may open it, else null. */
export function webAddress(iri) {
  try {
    const url = new URL(iri);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

/** A literal's text in its own direction, folded where it is long. */
export function textOf(term, most = LONG) {
  const attributes = { dir: term.direction ?? "auto", lang: term.language, class: "text" };
  if (term.value.length <= most) return h("span", attributes, term.value);
  const cut = term.value.slice(0, most).replace(/[\ud800-\udbff]$/, "");
  const shown = h("span", attributes, `${cut}…`);
  const button = quiet({ onclick: () => {
    shown.textContent = term.value;
    button.remove();
  } }, "Show all");
  return [shown, " ", button];
}

/** A term as a node: an entity is a link, a literal its text with its language or datatype beside it. */
export function show(term, { label = null, most = LONG } = {}) {
  if (term.type === "iri" || term.type === "bnode") return entityLink(term, label);
  if (term.type === "triple") return h("span", { class: "triple" }, "⟪ ", term.terms.map((part, at) => [at ? " " : "", show(part)]), " ⟫");
  const tag = term.language ? h("span", { class: "tag", title: `language: ${term.language}` }, term.language)
    : term.datatype && term.datatype !== `${XSD}string` && !NUMBERS.has(term.datatype) && timeOf(term) === null
      ? h("span", { class: "tag", title: term.datatype }, short(term.datatype)) : null;
  return h("span", { class: "literal" }, textOf(term, most), tag && " ", tag);
}
