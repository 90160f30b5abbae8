// The mapping of a table, changed by menus: a row's entity, each column, and a preview of the first rows.

import { bindings, get, post } from "./api.js";
import { choice } from "./choice.js";
import { languageName, TAG } from "./facets.js";
import { aside, freshId, h, hint, option, put, quiet } from "./dom.js";
import { localName } from "./begin.js";
import { named } from "./names.js";
import { download } from "./take.js";
import { expanded, knows, learn, nameOf, parseTerm, prefixed, RDF, RDFS, SKOS } from "./terms.js";

const TYPE = `${RDF}type`;
const KINDS = { text: "text", lang: "text in a language", date: "date", dateTime: "date and time", gYear: "year", integer: "whole number", decimal: "number", boolean: "yes or no", entity: "name of an entity", iri: "IRI", asIs: "as it was proposed", out: "left out" };
const DATES = { "": "1999-12-31", "dd.MM.yyyy": "31.12.1999", "dd/MM/yyyy": "31/12/1999", "MM/dd/yyyy": "12/31/1999", "d/M/yyyy": "1/2/1999 (day first)", "M/d/yyyy": "1/2/1999 (month first)", yyyyMMdd: "19991231", "d MMMM yyyy": "31 December 1999" };
const TIMES = { "": "1999-12-31T12:00:00", "yyyy-MM-dd HH:mm": "1999-12-31 12:00", "dd.MM.yyyy HH:mm": "31.12.1999 12:00" };
const NUMBERS = { "": "1234.5", "#,##0.00": "1,234.5", "#.##0,00": "1.234,5" };
const SEPARATORS = { "": "one value", "|": "split at |", ";": "split at ;", ",": "split at ," };
const LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pl", "pt"];
const USUAL = [`${RDFS}label`, `${RDFS}comment`, ...["prefLabel", "altLabel", "definition", "notation", "broader", "related", "scopeNote"].map((one) => SKOS + one)];
const ROWS = 3; // of the samples
const IRI = /^[a-z][a-z0-9+.-]*:[^\s<>"]+$/i; // or a prefixed name

const entries = (known, held) => [...Object.entries(known), ...(held && !(held in known) ? [[held, held]] : [])];

/** The kind of a column, by its description. */
function kindOf(column) {
  if (column.suppressOutput || !column.propertyUrl) return "out";
  if (column["worlds:type"] || column["worlds:where"]) return "entity";
  if (column.valueUrl) return column.valueUrl === `{${column.name}}` ? "iri" : "asIs";
  if (column.lang) return "lang";
  const base = typeof column.datatype === "object" ? column.datatype.base ?? "string" : column.datatype ?? "string";
  if (column.datatype?.["@id"]) return "asIs";
  return { string: "text", datetime: "dateTime", number: "decimal", double: "decimal" }[base] ?? (base in KINDS ? base : "asIs");
}

const formatOf = (column) => (typeof column.datatype === "object" ? column.datatype.format ?? "" : "");

/** {node, show, wrong}: the menus of a mapping, which they change in place; `changed` is called then. */
export function mappingPart(told, classes, changed) {
  const { mapping } = told;
  const schema = mapping.tableSchema;
  const columns = schema.columns.filter(({ virtual }) => !virtual);
  const proposed = new Map(columns.map((column) => [column, { ...column }]));
  const virtual = (property) => schema.columns.find((column) => column.virtual && column.propertyUrl === property);
  let base = (schema.aboutUrl.startsWith("{") ? virtual(TYPE)?.valueUrl : schema.aboutUrl)?.replace(/[^/#]*(?:\/\{.*)?$/, "") ?? "https://example.org/";
  const rows = new Map(); // column → where its samples are
  const trouble = h("div", { "aria-live": "polite" });
  const names = new Map();
  const list = h("datalist", { id: freshId("properties") });

  function know(iri, label) {
    learn(iri, label);
    const name = prefixed(iri) && USUAL.includes(iri) ? prefixed(iri) : nameOf(iri);
    names.set(names.has(name) && names.get(name) !== iri ? iri : name, iri);
  }
  USUAL.forEach((iri) => know(iri, null));
  const offer = () => put(list, [...names.keys()].map((value) => h("option", { value })));
  offer();
  get("schema", { limit: 500 }).then(({ predicates }) => {
    for (const { iri, label } of predicates) know(iri, label);
    offer();
  }).catch(() => {});

  const shownName = (iri) => (USUAL.includes(iri) ? prefixed(iri) ?? iri : iri.startsWith(base) ? decodeURIComponent(iri.slice(base.length)) : nameOf(iri));
  /** The property that a text names: one of the world, an IRI, or a new one. */
  const propertyOf = (text) => names.get(text) ?? (IRI.test(text) ? expanded(text) : base + encodeURIComponent(localName(text, true)));

  function setVirtual(property, name, value) {
    const held = virtual(property);
    if (held) schema.columns.splice(schema.columns.indexOf(held), 1);
    if (value) schema.columns.push({ virtual: true, name, propertyUrl: property, valueUrl: value });
    changed();
  }

  function classMenu(held, take, { none = null, ...attributes } = {}) {
    const known = [...new Set([...(held ? [held] : []), ...classes.map(({ iri }) => iri), `${SKOS}Concept`])];
    return choice([...(none ? [["", none]] : []), ...known.map((iri) => [iri, iri.startsWith(base) && !knows(iri) ? shownName(iri) : nameOf(iri)])], held,
      (text, written) => take(!written ? text || null : IRI.test(text) ? expanded(text) : base + encodeURIComponent(localName(text))),
      { other: "Class, a word or an IRI", hint: "A word, or an IRI", ...attributes });
  }

  function rowPart() {
    const kind = classMenu(virtual(TYPE)?.valueUrl ?? null, (iri) => setVirtual(TYPE, "type", iri), { none: "nothing in particular", id: "map-class" });
    const [scheme] = choice([["", "no scheme"]], "", (value) => setVirtual(`${SKOS}inScheme`, "scheme", value), { id: "map-scheme" });
    const schemePart = h("div", { class: "option", hidden: true }, h("label", { for: "map-scheme" }, "In the concept scheme"), scheme);
    bindings(`SELECT ?s { ?s a <${SKOS}ConceptScheme> } LIMIT 200`).then((found) => {
      scheme.append(...found.filter(({ s }) => s.type === "uri").map(({ s }) => h("option", { value: s.value, "data-name": s.value }, nameOf(s.value))));
      schemePart.hidden = scheme.options.length < 2;
    }).catch(() => {});
    const [key] = choice([["", "all of the row"], ...columns.map(({ name, titles }) => [name, titles ?? name])], schema.primaryKey ?? "", (value) => {
      const column = columns.find(({ name }) => name === value);
      const stem = schema.aboutUrl.match(/([^/#]*)\/\{[^{}]*\}$/)?.[1] ?? localName(mapping.url.replace(/\.[^.]*$/, ""), true);
      const iris = column && told.rows.length && told.rows.every(({ cells }) => /^(?:https?|urn):\S+$/.test(cells[columns.indexOf(column)] ?? ""));
      schema.aboutUrl = !column ? `${base}${stem}/{_hash}` : iris ? `{${column.name}}` : `${base}${stem}/{${column.name}}`;
      if (column) schema.primaryKey = column.name;
      else delete schema.primaryKey;
      changed();
    }, { id: "map-key" });
    const start = h("input", { id: "map-base", dir: "ltr", spellcheck: "false", value: base, onchange: () => {
      const now = start.value.trim();
      if (!/^[a-z][a-z0-9+.-]*:\S*[/#:]$/i.test(now)) {
        start.setCustomValidity("An IRI that ends with / or #");
        start.reportValidity();
        return;
      }
      start.setCustomValidity("");
      const moved = (text) => (text?.startsWith(base) ? now + text.slice(base.length) : text);
      schema.aboutUrl = moved(schema.aboutUrl);
      for (const column of schema.columns) for (const part of ["propertyUrl", "valueUrl"]) if (column[part]) column[part] = moved(column[part]);
      base = now;
      changed();
    } });
    return h("fieldset", { class: "map-row option-row" }, h("legend", null, "Each row is"),
      option("map-class", "A", kind),
      schemePart,
      option("map-key", "Known by (key)", key),
      h("div", { class: "option wide" }, h("label", { for: "map-base" }, "New IRIs begin with"), start));
  }

  function columnPart(column) {
    const id = freshId("column");
    const title = [column.titles].flat()[0] ?? column.name;
    const more = h("span", { class: "map-more" });
    const property = h("input", { id: `${id}-property`, list: list.id, autocomplete: "off", value: column.propertyUrl ? shownName(column.propertyUrl) : "", title: column.propertyUrl ?? "", "aria-label": `${title}: property`, onchange: () => {
      const text = property.value.trim();
      if (!text) return;
      column.propertyUrl = propertyOf(text);
      property.title = column.propertyUrl;
      property.value = text.includes(":") && text !== column.propertyUrl ? text : shownName(column.propertyUrl);
      changed();
    } });
    const [kind] = choice(Object.entries(KINDS).filter(([value]) => value !== "asIs" || kindOf(column) === "asIs"), kindOf(column), (value) => {
      become(value);
      changed();
    }, { "aria-label": `${title}: kind of value` });
    const [separator] = choice(entries(SEPARATORS, column.separator), column.separator ?? "", (value) => {
      if (value) column.separator = value;
      else delete column.separator;
      changed();
    }, { "aria-label": `${title}: several values in a cell` });

    function become(value) {
      for (const part of ["lang", "datatype", "valueUrl", "worlds:type", "worlds:where", "worlds:note", "suppressOutput"]) delete column[part];
      column.propertyUrl ??= propertyOf(property.value.trim() || title);
      if (value === "out") column.suppressOutput = true;
      else if (value === "asIs") Object.assign(column, proposed.get(column));
      else if (value === "lang") column.lang = proposed.get(column).lang ?? "en";
      else if (value === "iri") column.valueUrl = `{${column.name}}`;
      else if (value === "entity") {
        column["worlds:type"] = proposed.get(column)["worlds:type"] ?? classes[0]?.iri ?? `${SKOS}Concept`;
        if (!proposed.get(column)["worlds:type"]) meant();
      }
      else if (value !== "text") column.datatype = value;
      detail(value);
    }

    /** The class of most of the entities that the first cells name. */
    async function meant() {
      const names = [...new Set(told.rows.flatMap(({ cells }) => cells[columns.indexOf(column)] ?? []))].filter(Boolean);
      const found = names.length ? await post("resolve", { names, limit: 1 }).catch(() => []) : [];
      const types = found.filter(({ outcome }) => outcome === "match").flatMap(({ candidates: [best] }) => best.types);
      const often = Map.groupBy(types, (type) => type);
      const [best] = [...often.keys()].sort((a, b) => often.get(b).length - often.get(a).length);
      if (!best || kind.value !== "entity") return;
      column["worlds:type"] = best;
      detail("entity");
      changed();
    }

    /** The menus that only some kinds have. */
    function detail(value) {
      node.classList.toggle("out", value === "out");
      property.disabled = value === "out";
      separator.disabled = value === "out";
      const set = (part, made) => {
        column[part] = made;
        changed();
      };
      const format = (known, words) => choice(entries(known, formatOf(column)), formatOf(column), (form) => set("datatype", form ? { base: value, format: form } : value), { "aria-label": `${title}: ${words}`, other: `${title}: another format`, hint: "yyyy-MM-dd" });
      const menus = {
        date: () => format(DATES, "format of dates"),
        dateTime: () => format(TIMES, "format of times"),
        decimal: () => format(NUMBERS, "format of numbers"),
        integer: () => format(NUMBERS, "format of numbers"),
        boolean: () => h("input", { "aria-label": `${title}: words for yes and no`, placeholder: "true|false", value: formatOf(column), onchange: (event) => {
          const text = event.target.value.trim();
          set("datatype", text ? { base: "boolean", format: text } : "boolean");
        } }),
        lang: () => choice([...new Set([column.lang, ...LANGUAGES])].map((tag) => [tag, `${languageName(tag)} (${tag})`]), column.lang, (tag) => TAG.test(tag) && set("lang", tag), { "aria-label": `${title}: language`, other: `${title}: another tag`, hint: "pt-BR" }),
        entity: () => [classMenu([column["worlds:type"]].flat()[0] ?? null, (iri) => set("worlds:type", iri), { "aria-label": `${title}: class of the entities` }), aside("A name that no entity has is left out.")],
      };
      put(more, menus[value]?.());
    }

    const samples = h("ul", { class: "map-samples" });
    rows.set(column, samples);
    const node = h("li", { class: "map-column" },
      h("p", { class: "map-title", dir: "auto" }, title, column["worlds:unit"] && aside(` in ${column["worlds:unit"]}`)),
      h("div", { class: "map-menus" }, property, kind, more, separator), samples);
    detail(kindOf(column));
    return node;
  }

  /** The first rows as they would be by the mapping as it is. */
  function show(found) {
    told.rows = found.rows;
    for (const column of columns) if (column.propertyUrl?.startsWith(base) && !knows(column.propertyUrl)) learn(column.propertyUrl, shownName(column.propertyUrl));
    for (const column of columns) {
      const place = columns.indexOf(column);
      const values = schema.columns.indexOf(column);
      put(rows.get(column), found.rows.slice(0, ROWS).map(({ cells, values: made }) => {
        const cell = [cells[place] ?? ""].flat().join("; ");
        const shown = (made[values] ?? []).map((term) => named(parseTerm(term), { most: 60 }));
        return h("li", null, h("span", { class: "was", dir: "auto" }, cell || "—"), h("span", { class: "unit", "aria-label": "becomes" }, " → "), shown.length ? h("span", null, shown.map((one, at) => [at > 0 && ", ", one])) : aside(schema.aboutUrl === `{${column.name}}` ? "the IRI of the row" : !cell || column.suppressOutput || [column.null ?? ""].flat().includes(cell) ? "nothing" : "does not fit"));
      }));
    }
    const wrong = found.rows.map(({ problem }, at) => problem && `Row ${at + 1}: ${problem}.`).filter(Boolean);
    const [first] = found.rows;
    put(trouble, first?.iri && hint("IRI of the first row: ", h("code", { dir: "ltr" }, first.iri)), wrong.length > 0 && h("ul", { class: "problems" }, wrong.map((text) => h("li", { dir: "auto" }, text))));
  }

  const node = h("section", { class: "mapping", "aria-label": "Mapping" }, rowPart(), list,
    h("h3", null, "Use of each column"), h("ul", { class: "map-columns" }, columns.map(columnPart)), trouble,
    quiet({ title: "For other tables of this form: worlds load --map", onclick: () => download(`${mapping.url}-metadata.json`, JSON.stringify(mapping, null, 2), "application/json") }, "Download the mapping"));
  show(told);
  return { node, show, wrong: (text) => put(trouble, h("p", { class: "bad", role: "alert", dir: "auto" }, text)) };
}
