// What is shown, taken away as a file: an entity, what a class or a scheme has, a list of hits.

import { bindings, sparql } from "./api.js";
import { actions, aside, h, put, quiet } from "./dom.js";
import { failure } from "./keys.js";
import { fromBinding, IN_SCHEME, nt, write } from "./terms.js";

const PARTS = ["subject", "property", "value"];
const SHAPE = "?subject ?property ?value";
const FORMS = { ttl: ["Turtle", "text/turtle"], jsonld: ["JSON-LD", "application/ld+json"], csv: ["CSV", "text/csv"] };

/** Give the user a text, or a blob, as a file. */
export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A cell of a spreadsheet, which takes none for a formula. */
export const safe = (cell) => (/^[=+\-@\t\r]/.test(cell) && Number.isNaN(Number(cell)) ? `'${cell}` : cell);

/** Rows of texts as CSV, for spreadsheets. */
export const csvOf = (rows) => rows.map((row) => row.map((cell) => `"${safe(cell).replaceAll('"', '""')}"`).join(",")).join("\r\n");

async function give(name, type, place, read) {
  try {
    download(name, await read(), type);
  } catch (error) {
    put(place, failure(error));
  }
}

/** Save the answer of a query as a file; what went wrong is said in `place`. */
export const save = (query, type, name, place, union) => give(name, type, place, async () => (await sparql(query, { accept: type, union })).blob());

const textOf = (term) => (term.type === "literal" || term.type === "iri" ? term.value : write(term));

async function rowsOf(pattern) {
  const rows = await bindings(`SELECT DISTINCT * WHERE { ${pattern} ${SHAPE} } ORDER BY ?subject ?property ?value`, true);
  return csvOf([PARTS, ...rows.map((row) => PARTS.map((part) => textOf(fromBinding(row[part]))))]);
}

const file = (words) => words.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "quads";

/** A menu of files of the quads whose subjects fit a pattern over ?subject; `name` is that of the file. */
function takeOut(parts) {
  const place = h("div");
  const lines = Object.entries(parts).filter(([, part]) => part).map(([words, { pattern, name }]) => actions(aside(words),
    Object.entries(FORMS).map(([ending, [form, type]]) => quiet({ "aria-label": `${words} as ${form}`, onclick: () => {
      const to = `${file(name)}.${ending}`;
      if (ending === "csv") give(to, type, place, () => rowsOf(pattern));
      else save(`CONSTRUCT { ${SHAPE} } WHERE { ${pattern} ${SHAPE} }`, type, to, place, true);
    } }, form))));
  return h("details", { class: "take" }, h("summary", null, "Take out"), lines, place);
}

const CLASS = /#(Class|ConceptScheme)>?$/;

/** The menu of an entity: itself, and what is in it where it is a class or a scheme. */
export function takeEntity(iri, told) {
  if (iri.startsWith("_:")) return null;
  const name = told.label ?? iri;
  const holds = told.types.some(({ term }) => CLASS.test(term));
  return takeOut({
    "This entity": { pattern: `VALUES ?subject { <${iri}> }`, name },
    "Its instances or concepts": holds && { pattern: `?subject (a|${IN_SCHEME}) <${iri}> .`, name },
  });
}

export const takeList = (iris, name) => takeOut({ "These entities": iris.length > 0 && { pattern: `VALUES ?subject { ${iris.map(nt).join(" ")} }`, name } });
