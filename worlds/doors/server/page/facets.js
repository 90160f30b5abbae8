// Facets: what the results are, with counts; each value is a toggle that filters.

import { count, h, hint, put, quiet } from "./dom.js";
import { nameOfIri } from "./names.js";
import { apart } from "./terms.js";

const TITLES = { types: "Type", predicates: "Property", graphs: "Graph", sources: "Source", languages: "Language" };
const FIRST = 8; // values that are shown before all are asked for
const unfolded = new Set();

export const TAG = /^[a-z]{1,8}(?:-[a-z0-9]{1,8})*$/i;

let languageNames = null;
try {
  languageNames = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });
} catch {
  // Then the tag has to do.
}

/** What a language tag stands for. */
export function languageName(tag) {
  if (tag === "") return "none";
  try {
    return languageNames?.of(tag) ?? tag;
  } catch {
    return tag; // not every tag in the wild is well formed
  }
}

function words(kind, value, names) {
  if (kind === "languages") return languageName(value);
  if (kind === "graphs" && value === "default") return "default graph";
  return kind === "graphs" ? h("span", { title: value, dir: "auto" }, names.get(value)) : nameOfIri(value);
}

/** Fill `place` with the facets; `change` gets the filters that a toggle makes, `note` says what was counted. */
export function showFacets(place, facets, state, change, note) {
  const focused = place.contains(document.activeElement) ? document.activeElement.id : null;
  const groups = Object.keys(TITLES).map((kind) => group(kind, facets[kind] ?? [], state, change, () => showFacets(place, facets, state, change, note)));
  const active = Object.keys(TITLES).reduce((sum, kind) => sum + state[kind].length, 0);
  const clear = active > 0 && h("button", { class: "quiet clear", onclick: () => change({ types: [], predicates: [], graphs: [], sources: [], languages: [] }) }, "Remove all filters");
  const open = place.querySelector("details")?.open ?? matchMedia("(min-width: 52rem)").matches;
  if (!groups.some(Boolean)) {
    put(place);
    return;
  }
  put(place, h("details", { open },
    h("summary", null, active ? `Filters (${active})` : "Filters"),
    hint(note), groups, clear));
  if (focused) document.getElementById(focused)?.focus();
}

function group(kind, values, state, change, again) {
  const chosen = state[kind];
  const known = new Set(values.map(({ value }) => value));
  // What is chosen stays in sight, even where nothing is found with it.
  const all = [...chosen.filter((value) => !known.has(value)).map((value) => ({ value, count: 0 })), ...values];
  if (!all.length || (all.length === 1 && !chosen.length && (kind === "graphs" || kind === "sources" || kind === "languages"))) return null;
  const unfold = unfolded.has(kind);
  const shown = unfold ? all : all.filter(({ value }, at) => at < FIRST || chosen.includes(value));
  const rest = all.length - shown.length;
  const names = kind === "graphs" ? apart(all.map(({ value }) => value)) : null;
  return h("fieldset", { class: "facet-group" }, h("legend", null, TITLES[kind]),
    shown.map(({ value, count: number }, at) => {
      const id = `facet-${kind}-${at}`;
      const box = h("input", {
        type: "checkbox", id, checked: chosen.includes(value),
        onchange: () => change({ [kind]: chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value] }),
      });
      return h("div", { class: "facet" }, box,
        h("label", { for: id, title: value || "no language" }, words(kind, value, names)),
        h("span", { class: "count" }, count(number)));
    }),
    (rest > 0 || unfold) && all.length > FIRST && quiet({ onclick: () => {
      if (unfold) unfolded.delete(kind);
      else unfolded.add(kind);
      again();
    } }, unfold ? "Fewer" : `${count(rest)} more`));
}
