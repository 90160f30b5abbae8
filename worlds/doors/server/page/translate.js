// Translations: entities by language in a grid that is edited like a table, and saved as one revision.

import { access, bindings, get, includes, language, post, worldName } from "./api.js";
import { classesOf } from "./choose.js";
import { choice } from "./choice.js";
import { changeOf, differenceView, editsOf } from "./difference.js";
import { actions, count, empty, h, hint, linkButton, loading, many, messageBox, messageLine, option, put } from "./dom.js";
import { languageName, TAG } from "./facets.js";
import { failure, needs } from "./keys.js";
import { want } from "./names.js";
import { kept, waits } from "./notice.js";
import { address, go, leaving } from "./router.js";
import { entityLink, expanded, fromBinding, IN_SCHEME, learn, nameOf, nt, prefixed, RDFS, SKOS, write } from "./terms.js";
import { trees } from "./trees.js";

const PAGE = 30; // entities

/** The view of `#translate`: `predicate`, `within` ("class IRI" or "scheme IRI"), `lang` (several), `all`, `from`. */
export function translateView(asked) {
  const node = h("section", { class: "translate-view" }, loading());
  let me = { level: "none" };
  let state = null;
  let changes = new Map(); // "iri lang" → {entity, tag, held, text}

  const at = (values) => {
    const next = { ...state, ...values };
    return address({ translate: "", predicate: next.predicate, within: next.within || null, lang: next.tags, all: next.all ? "1" : null, from: next.from || null });
  };

  async function read() {
    try {
      const [who, schema] = await Promise.all([access(), get("schema", { limit: 200 })]);
      me = who;
      if (!includes(me.level, "propose")) {
        put(node, h("h1", null, "Translations"), needs(me, "propose", "Translating"));
        return;
      }
      const used = new Map(schema.predicates.map((one) => [one.iri, one.quads]));
      const usual = [`${SKOS}prefLabel`, `${RDFS}label`].sort((a, b) => (used.get(b) ?? 0) - (used.get(a) ?? 0));
      const spoken = Object.entries(schema.languages).filter(([tag]) => tag).sort(([, a], [, b]) => b - a).map(([tag]) => tag);
      const tags = asked.getAll("lang").map((tag) => tag.toLowerCase()).filter((tag) => TAG.test(tag));
      const within = asked.get("within") ?? "";
      if ([asked.get("predicate") ?? "", ...within.split(" ")].some((one) => /[\s<>"{}|^`\\]/.test(one))) throw new Error("The address has no valid IRI.");
      state = { predicate: asked.get("predicate") ?? (/^scheme|core#Concept$/.test(within) ? `${SKOS}prefLabel` : usual[0]), within, tags: tags.length ? tags : [...new Set([...spoken.slice(0, 3), language])].slice(0, 3), all: asked.has("all"), from: Number(asked.get("from")) || 0 };
      await draw(schema.predicates.map((one) => one.iri), spoken, usual);
    } catch (error) {
      put(node, failure(error, read));
    }
  }

  const scope = () => {
    const [kind, value] = state.within.split(" ");
    return kind === "class" ? `?e a ${nt(value)} .` : kind === "scheme" ? `?e ${IN_SCHEME} ${nt(value)} .` : `?e ${nt(state.predicate)} ?any .`;
  };

  async function draw(predicates, spoken, usual) {
    const grid = h("div", null, loading("Reading"));
    const chosen = state.within.split(" ")[1];
    if (chosen) want(chosen);
    const [within] = choice([["", "the whole world"], ...(chosen ? [[state.within, nameOf(chosen)]] : [])], state.within, (value) => go(at({ within: value, from: 0 })), { id: "tr-within" });
    if (chosen) within.lastChild.dataset.name = chosen;
    const group = (label, kind, iris) => iris.length && within.append(h("optgroup", { label }, iris.filter((one) => `${kind} ${one}` !== state.within).map((one) => h("option", { value: `${kind} ${one}` }, nameOf(one)))));
    trees().then((found) => {
      group("Concept schemes", "scheme", found.trees.filter(({ kind }) => kind === "scheme").map(({ iri }) => iri));
      return classesOf();
    }).then((classes) => group("Classes", "class", classes.map((one) => one.iri))).catch(() => {});
    const [predicate] = choice([...new Set([...usual, state.predicate, ...predicates])].map((one) => [one, usual.includes(one) ? prefixed(one) ?? one : nameOf(one)]), state.predicate, (value) => go(at({ predicate: value, from: 0 })), { id: "tr-predicate" });
    const tag = h("input", { id: "tr-tag", list: "tr-tags", autocomplete: "off", placeholder: "de", onchange: () => {
      const text = expanded(tag.value.trim().toLowerCase());
      if (TAG.test(text) && !state.tags.includes(text)) go(at({ tags: [...state.tags, text], from: 0 }));
    } });
    const [show] = choice([["", "what is missing"], ["all", "all"]], state.all ? "all" : "", (value) => go(at({ all: value === "all", from: 0 })), { id: "tr-show" });
    put(node, h("h1", null, "Translations"), h("div", { class: "option-row" },
      option("tr-within", "Within", within), option("tr-predicate", "Property", predicate), option("tr-show", "Show", show),
      option("tr-tag", "Another language", tag, h("datalist", { id: "tr-tags" }, [...new Set([...spoken, "en", "de", "fr", "es", "it"])].map((value) => h("option", { value }, languageName(value)))))), grid);
    try {
      const missing = state.tags.map((one, place) => `!EXISTS { ?e ${nt(state.predicate)} ?t${place} FILTER(LANG(?t${place}) = "${one}") }`).join(" || ");
      const page = await bindings(`SELECT DISTINCT ?e { ${scope()} FILTER(isIRI(?e)) ${state.all ? "" : `FILTER(${missing})`} } LIMIT ${PAGE} OFFSET ${state.from}`);
      const entities = page.map(({ e }) => e.value);
      // The revision that the cells show is asked for first: what changes after it is a conflict.
      const { revisions: [last] } = await get("history", { limit: 1 });
      const found = entities.length ? await bindings(`SELECT ?e ?t ?g { VALUES ?e { ${entities.map(nt).join(" ")} } { ?e ${nt(state.predicate)} ?t } UNION { GRAPH ?g { ?e ${nt(state.predicate)} ?t } } }`, false) : [];
      fill(grid, entities, found, last?.revision ?? 0);
    } catch (error) {
      put(grid, failure(error, read));
    }
  }

  function fill(grid, entities, found, revision) {
    changes = new Map();
    if (!entities.length) {
      put(grid, empty(state.from ? "No more entities" : state.all ? "No labels to translate" : "No translation is missing", h("p", null, h("a", { href: at({ from: 0, all: true }) }, "Show all entities"))));
      return;
    }
    const of = Map.groupBy(found, ({ e }) => e.value);
    const review = h("div");
    const outcome = h("div", { class: "edit-outcome", "aria-live": "polite" });
    const message = messageBox("tr-message");
    const cells = [];
    const rank = ({ t }) => (state.tags.indexOf(t["xml:lang"] ?? "") + 1) || state.tags.length + 1;
    const nameIn = (texts) => [...texts].sort((a, b) => rank(a) - rank(b))[0]?.t.value;
    const counts = state.tags.map(() => h("span", { class: "unit" }));

    function cell(entity, tag, row, column, name) {
      const ones = (of.get(entity) ?? []).filter(({ t }) => (t["xml:lang"] ?? "") === tag);
      const held = ones[0] ?? null;
      const was = held?.t.value ?? "";
      const input = h("input", { value: was, lang: tag, dir: "auto", autocomplete: "off", "aria-label": `${name}, ${languageName(tag)}`, "data-row": row, "data-column": column, class: was ? null : "missing", title: ones.length > 1 ? `${ones.length} values; this is the first` : null, oninput: () => {
        const text = input.value.trim();
        const key = `${entity} ${tag}`;
        if (text === was) changes.delete(key);
        else changes.set(key, { entity, tag, held, text, input });
        input.classList.toggle("changed", text !== was);
        changed();
      } });
      (cells[row] ??= [])[column] = input;
      return h("td", null, input);
    }

    function quads() {
      const home = (entity) => (of.get(entity) ?? []).find(({ g }) => g);
      const added = [];
      const removed = [];
      for (const { entity, tag, held, text } of changes.values()) {
        const graph = (held ?? home(entity))?.g?.value;
        const place = graph ? nt(graph) : null;
        const old = held ? fromBinding(held.t) : { type: "literal", language: tag };
        if (held) removed.push([nt(entity), nt(state.predicate), write(old), place]);
        if (text) added.push([nt(entity), nt(state.predicate), write({ ...old, value: text }), place]);
      }
      return { added, removed };
    }

    function changed() {
      const { added, removed } = quads();
      put(review, changes.size ? [h("p", { class: "status", role: "status" }, many(changes.size, "change")), h("details", null, h("summary", null, "Show the changes"), differenceView(editsOf(added, removed)))] : hint("No changes yet."));
      leaving(changes.size ? "There are translations that are not saved." : null);
    }

    async function save(proposing) {
      if (!changes.size) return;
      const { added, removed } = quads();
      const words = message.value.trim() || `Translations: ${[...new Set([...changes.values()].map(({ tag }) => languageName(tag)))].join(", ")}`;
      put(outcome, loading(proposing ? "Proposing" : "Saving"));
      try {
        const made = await post(proposing ? "proposals" : "quads", { ...changeOf(added, removed), ...(proposing ? { why: words } : { message: words, base: revision }) });
        leaving(null);
        put(outcome);
        if (proposing) waits(made.id);
        else kept(`${many(changes.size, "translation")} saved`, made, read);
        if (!state.all) state.from = 0;
        await read();
      } catch (error) {
        put(outcome, failure(error, () => save(proposing)), error.status === 409 && h("p", null, "Somebody else has changed some of these entities meanwhile. Yours are still here: propose them, or read the page anew."));
      }
    }

    const table = h("table", { class: "translations", onkeydown: (event) => {
      const { row, column } = event.target.dataset ?? {};
      const step = { ArrowDown: 1, Enter: event.shiftKey ? -1 : 1, ArrowUp: -1 }[event.key];
      if (row === undefined || event.isComposing) return;
      if (event.key === "Escape") {
        event.target.value = event.target.defaultValue;
        event.target.dispatchEvent(new Event("input"));
      } else if (step) {
        event.preventDefault();
        const next = cells[Number(row) + step]?.[column];
        next?.focus();
        next?.select();
      }
    } },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Entity"), state.tags.map((tag, place) => h("th", { scope: "col" }, `${languageName(tag)} `, counts[place], state.tags.length > 1 && h("a", { class: "quiet", href: at({ tags: state.tags.filter((one) => one !== tag) }), "aria-label": `Leave out ${languageName(tag)}` }, "×"))))),
    h("tbody", null, entities.map((entity) => [entity, nameIn(of.get(entity) ?? []) ?? nameOf(entity)]).sort(([, a], [, b]) => a.localeCompare(b, undefined, { numeric: true })).map(([entity, name], row) => {
      learn(entity, name);
      return h("tr", null, h("th", { scope: "row" }, entityLink(entity, name)), state.tags.map((tag, column) => cell(entity, tag, row, column, name)));
    })));
    for (const input of table.querySelectorAll("input")) input.defaultValue = input.value;
    put(grid, hint("Enter and the arrows go down and up, Tab to the next language, Esc takes a cell back."),
      h("div", { class: "scroll" }, table),
      actions(state.from > 0 && linkButton(at({ from: Math.max(0, state.from - PAGE) }), "Back"), entities.length === PAGE && linkButton(at({ from: state.from + PAGE }), `The next ${PAGE}`)),
      h("section", { class: "edit-foot", "aria-label": "Changes" }, outcome, review,
        messageLine(message),
        actions(includes(me.level, "write") && h("button", { class: "primary", onclick: () => save(false) }, "Save"), h("button", { class: includes(me.level, "write") ? null : "primary", onclick: () => save(true) }, "Propose"))));
    changed();
    // How far each language is takes a moment in a large world.
    bindings(`SELECT ?l (COUNT(*) AS ?n) { ${state.within ? scope() : ""} ?e ${nt(state.predicate)} ?t } GROUP BY (LANG(?t) AS ?l)`).then((told) => {
      const numbers = new Map(told.map(({ l, n }) => [l?.value ?? "", Number(n.value)]));
      state.tags.forEach((tag, place) => { counts[place].textContent = `${count(numbers.get(tag) ?? 0)} `; });
    }).catch(() => {});
  }

  read();
  return { node, title: `Translations · ${worldName}` };
}
