// Queries to begin with, made from what the world holds.

import { nameOf, prefixed, prefixMap } from "./terms.js";

const name = (iri) => prefixed(iri) ?? `<${iri}>`;
const quoted = (words) => `"${words.replace(/["\\\n\r]/g, " ").trim()}"`;

const NAMES = /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|#[^\n]*|(?<![\w?$:])([\p{L}](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?)?:(?=[\p{L}\p{N}_%\\:]|\s*(?:<|$))/gmu;

/** The query with a PREFIX line for each of the world's prefixes that it uses and does not declare. */
export function withPrefixes(query) {
  const known = prefixMap();
  const declared = new Set([...query.matchAll(/\bPREFIX\s+([^\s:]*):/gi)].map(([, prefix]) => prefix));
  const used = new Set([...query.matchAll(NAMES)].map(([, prefix]) => prefix).filter((prefix) => prefix !== undefined));
  const lines = [...used].filter((prefix) => known[prefix] && !declared.has(prefix)).sort().map((prefix) => `PREFIX ${prefix}: <${known[prefix]}>`);
  return lines.length ? `${lines.join("\n")}\n\n${query.trimStart()}` : query;
}

/** [{title, query, view}] for the figures that `stats` gives; `words` are what a search was about. */
export function examples(stats, words) {
  const [type] = Object.entries(stats.types ?? {}).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([iri]) => iri).filter((iri) => !/rdf-schema#|22-rdf-syntax|owl#/.test(iri));
  const described = Object.keys(stats.predicates ?? {}).find((iri) => /(description|comment|abstract|definition)$/i.test(iri)) ?? "http://www.w3.org/2000/01/rdf-schema#label";
  const sought = quoted(words || (type ? nameOf(type) : "") || "something");
  const found = [
    { title: "Search, with labels and scores", query: `SELECT ?subject ?label ?score ?text WHERE {
  SERVICE w:search {
    ?hit w:query ${sought} ; w:limit 20 ;
         w:subject ?subject ; w:label ?label ;
         w:score ?score ; w:text ?text .
  }
} ORDER BY DESC(?score)` },
    type && { title: "Search within a pattern", query: `# What surrounds a search is its filter: the best ten of this type.
SELECT ?subject ?score ?text WHERE {
  ?subject a ${name(type)} .
  SERVICE w:search {
    ?hit w:query ${sought} ; w:limit 10 ;
         w:subject ?subject ; w:score ?score ; w:text ?text .
  }
} ORDER BY DESC(?score)` },
    { title: "Types of the search results", view: "chart", query: `SELECT ?type (COUNT(DISTINCT ?subject) AS ?number) (MAX(?score) AS ?best) WHERE {
  SERVICE w:search {
    ?hit w:query ${sought} ; w:limit 100 ;
         w:subject ?subject ; w:score ?score .
  }
  ?subject a ?type .
} GROUP BY ?type ORDER BY DESC(?number)` },
    { title: "Links of the results", view: "graph", query: `CONSTRUCT { ?a ?property ?b } WHERE {
  SERVICE w:search {
    ?hit w:query ${sought} ; w:subject ?a ; w:limit 12 .
  }
  ?a ?property ?b .
  FILTER(isIRI(?b) && ?property != rdf:type)
} LIMIT 60` },
    { title: "The types and their numbers", view: "chart", query: `SELECT ?type (COUNT(?thing) AS ?number) WHERE {
  ?thing a ?type
} GROUP BY ?type ORDER BY DESC(?number) LIMIT 20` },
    { title: "Properties and types of their values", query: `SELECT ?property (COUNT(*) AS ?uses) (SAMPLE(?value) AS ?example) WHERE {
  ?subject ?property ?value
} GROUP BY ?property ORDER BY DESC(?uses) LIMIT 50` },
    stats.graphs > 0 && { title: "Contents of each graph", query: `SELECT ?graph (COUNT(*) AS ?quads) WHERE {
  GRAPH ?graph { ?subject ?property ?value }
} GROUP BY ?graph ORDER BY DESC(?quads)` },
    stats.embedder && { title: "Order by similar meaning", query: `SELECT ?subject ?text (w:similarity(?text, ${sought}) AS ?likeness) WHERE {
  ?subject ${name(described)} ?text
} ORDER BY DESC(?likeness) LIMIT 20` },
  ];
  return found.filter(Boolean).map((example) => ({ view: "table", ...example, query: withPrefixes(example.query) }));
}
