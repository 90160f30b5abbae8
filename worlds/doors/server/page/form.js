// The widgets of a form: one for each kind of value. Each tells what it holds as a term, or null where it is empty.

import { chooser } from "./choose.js";
import { languageName } from "./facets.js";
import { aside, freshId, h } from "./dom.js";
import { nameOf, parseTerm, XSD } from "./terms.js";

const DATES = [[/^-?\d{4}$/, "gYear"], [/^-?\d{4}-\d\d$/, "gYearMonth"], [/^-?\d{4}-\d\d-\d\d$/, "date"], [/^-?\d{4}-\d\d-\d\dT/, "dateTime"]];
const HINTS = { date: "2026-05-31, 2026-05 or 2026", moment: "2026-05-31T12:00:00Z", year: "2026", iri: "an IRI", number: "" };
const LANGSTRING = /#langString$/;

/** The literal that was typed, of the field's datatype, or the one that its form tells where no shape says. */
function literal(field, text, was) {
  const given = was?.type === "literal" ? was.datatype : null;
  const asked = field.datatype && !LANGSTRING.test(field.datatype) ? field.datatype : null;
  let datatype = field.declared ? asked ?? given : given ?? asked;
  if (!field.declared && ["date", "moment", "year"].includes(field.widget)) {
    const kind = DATES.find(([form]) => form.test(text));
    if (kind) datatype = XSD + kind[1];
  }
  if (!field.declared && field.widget === "number" && datatype === `${XSD}integer` && !/^[+-]?\d+$/.test(text)) datatype = `${XSD}decimal`;
  return { type: "literal", value: text, datatype: datatype === `${XSD}string` ? null : datatype, language: null, direction: null };
}

function textWidget(field, row, changed, attributes) {
  const tagged = row.term?.language ?? (row.was === null ? row.language : null) ?? "";
  const area = h(field.widget === "long text" || (row.term?.value ?? "").length > 80 ? "textarea" : "input", {
    ...attributes, value: row.term?.value ?? "", dir: "auto", lang: tagged || null, spellcheck: "true", rows: field.widget === "long text" ? "4" : null,
    oninput: () => tell(),
  });
  const tags = [...new Set([tagged, ...field.languages ?? [], ""])];
  const wantsTag = tagged || field.languages?.length || LANGSTRING.test(field.datatype ?? "");
  const select = wantsTag && h("select", { "aria-label": "Language", class: "language", onchange: () => {
    if (select.value === "…") {
      const other = h("input", { class: "language", "aria-label": "Language tag", placeholder: "en-GB", maxlength: "35", onchange: () => tell(other.value.trim().toLowerCase()) });
      select.replaceWith(other);
      other.focus();
    } else tell();
  } }, tags.map((tag) => h("option", { value: tag, selected: tag === tagged }, tag ? `${languageName(tag)} (${tag})` : "no language")), h("option", { value: "…" }, "another…"));
  const tell = (tag = select ? select.value : "") => {
    const plain = row.was?.type === "literal" && !row.was.language ? row.was.datatype : null;
    area.lang = tag;
    changed(area.value === "" ? null : { type: "literal", value: area.value, datatype: tag ? null : plain, language: tag || null, direction: tag ? row.was?.direction ?? null : null });
  };
  return { nodes: [area, select], focus: area };
}

function choiceWidget(field, row, changed, attributes) {
  const held = row.term ? field.choices.findIndex(({ term }) => JSON.stringify(parseTerm(term)) === JSON.stringify(row.term)) : -1;
  const select = h("select", { ...attributes, onchange: () => changed(select.value === "" ? null : parseTerm(field.choices[Number(select.value)].term)) },
    h("option", { value: "" }, held < 0 && row.term ? row.term.value : "—"),
    field.choices.map(({ term, label }, at) => h("option", { value: at, selected: at === held }, label ?? (parseTerm(term).type === "iri" ? nameOf(parseTerm(term).value) : parseTerm(term).value))));
  return { nodes: [select], focus: select };
}

function booleanWidget(field, row, changed, attributes) {
  const select = h("select", { ...attributes, onchange: () => changed(select.value ? literal(field, select.value, row.was) : null) },
    [["", "—"], ["true", "yes"], ["false", "no"]].map(([value, words]) => h("option", { value, selected: (row.term?.value ?? "") === value }, words)));
  return { nodes: [select], focus: select };
}

function entityWidget(field, row, changed, { id, ...attributes }) {
  const made = chooser({
    id, iri: row.term?.type === "iri" ? row.term.value : null, classes: (field.classes ?? []).map(({ term }) => parseTerm(term).value),
    choose: (iri) => changed(iri ? { type: "iri", value: iri } : null), ...attributes,
    placeholder: field.classes?.length ? `Name: ${field.classes.map((one) => one.label ?? nameOf(parseTerm(one.term).value)).join(" or ")}` : "Name of an entity",
  });
  return { nodes: [made.node], focus: made.input };
}

function plainWidget(field, row, changed, attributes) {
  const known = freshId("values");
  const input = h("input", {
    ...attributes, value: row.term?.value ?? "", dir: "auto", placeholder: HINTS[field.widget] ?? null, spellcheck: "false",
    inputmode: field.widget === "number" || field.widget === "year" ? "decimal" : null, list: field.choices?.length && !field.closed ? known : null, pattern: null,
    oninput: () => {
      const text = input.value.trim();
      changed(text === "" ? null : field.widget === "iri" ? { type: "iri", value: text } : literal(field, text, row.was));
    },
  });
  const list = field.choices?.length && !field.closed ? h("datalist", { id: known }, field.choices.map(({ term }) => h("option", { value: parseTerm(term).value }))) : null;
  return { nodes: [input, list], focus: input };
}

/** The widget of a value: {nodes, focus}; `changed` is called with the term that it holds, null for none. */
export function widget(field, row, changed, attributes) {
  const held = row.term;
  if (held && (held.type === "triple" || held.type === "bnode")) return { nodes: [aside(held.type === "bnode" ? `_:${held.value}` : "a statement")], focus: null };
  if (field.widget === "choice" && field.choices) return choiceWidget(field, row, changed, attributes);
  if (held?.type === "iri" || (!held && field.widget === "entity")) return entityWidget(field, row, changed, attributes);
  if (held?.language || (!held && (field.widget === "text" || field.widget === "long text")) || (held && (!held.datatype || held.datatype === `${XSD}string`))) {
    return textWidget(field, row, changed, attributes);
  }
  if (field.widget === "boolean") return booleanWidget(field, row, changed, attributes);
  return plainWidget(field, row, changed, attributes);
}
