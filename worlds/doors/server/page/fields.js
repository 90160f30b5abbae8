// The fields of a form: label, help, values with their widgets, and what the shapes find wrong.

import { get, post } from "./api.js";
import { actions, freshId, h, put, quiet } from "./dom.js";
import { widget } from "./form.js";
import { ask, failure } from "./keys.js";
import { done } from "./notice.js";
import { forget } from "./router.js";
import { learn, nameOf, show } from "./terms.js";

/** A field with all its values; `changed` is called when one of them changes. */
export function fieldNode(field, draft, changed) {
  const help = freshId("help");
  const title = freshId("field");
  const list = h("ul", { class: "values" });
  const problems = h("ul", { class: "problems", id: freshId("problems"), "aria-live": "polite" });
  const label = field.label || nameOf(field.predicate);
  const node = h("div", { class: "field", role: "group", "aria-labelledby": title });

  function rowNode(row) {
    const told = (term) => {
      row.term = term;
      changed();
    };
    const { nodes, focus } = widget(field, row, told, { id: freshId("value"), "aria-labelledby": title, "aria-describedby": `${help} ${problems.id}` });
    row.focus = () => focus?.focus();
    const isStatement = row.term?.type === "triple" || row.term?.type === "bnode";
    const remove = quiet({ "aria-label": `Remove this value of ${label}`, onclick: () => {
      if (row.was === null) field.rows.splice(field.rows.indexOf(row), 1);
      else row.removed = true;
      draw();
      changed();
    } }, "Remove");
    const end = row.was !== null && !isStatement && quiet({ "aria-label": `This value of ${label} ended`, title: "The value held until a time", onclick: () => endIt(row) }, "Ended…");
    return h("li", { class: row.late ? "late" : null }, h("div", { class: "value" }, nodes), h("div", { class: "value-tools" }, end, remove));
  }

  function removedNode(row) {
    return h("li", { class: "gone" }, h("del", null, show(row.was, { label: row.value?.label, most: 120 })),
      quiet({ onclick: () => {
        row.removed = false;
        draw();
        changed();
      } }, "Keep it"));
  }

  async function endIt(row) {
    const answer = await ask(`When did it end?`, (close) => {
      const at = h("input", { id: "end-at", placeholder: "2026-05-31, 2026-05 or 2026; empty is now", autocomplete: "off", autofocus: true });
      const why = h("input", { id: "end-why", dir: "auto", autocomplete: "off" });
      return [h("form", { onsubmit: (event) => {
        event.preventDefault();
        close({ at: at.value.trim(), reason: why.value.trim() });
      } },
      h("p", null, "The value is no longer asserted; the history and the timeline say that it held until then. This is saved at once."),
      h("label", { for: "end-at" }, "It ended"), at, h("label", { for: "end-why" }, "Reason"), why,
      actions(h("button", { type: "submit", class: "primary" }, "It ended"), h("button", { onclick: () => close(null) }, "Cancel")))];
    });
    if (!answer) return;
    try {
      const graph = row.graphs[0] ?? null;
      const quad = [`<${draft.iri}>`, `<${field.predicate}>`, row.written, ...(graph ? [graph] : [])];
      const change = await post("facts/end", { quad, ...(answer.at && { at: answer.at }), ...(answer.reason && { reason: answer.reason }) });
      field.rows.splice(field.rows.indexOf(row), 1);
      forget();
      done("Ended", [change.revision], () => location.reload());
      draft.form.revision = change.revision ?? draft.form.revision;
      draw();
      changed();
    } catch (error) {
      list.append(h("li", null, failure(error, () => endIt(row))));
    }
  }

  function draw() {
    const held = field.rows.filter((row) => !row.removed).length;
    put(list, field.rows.map((row) => (row.removed ? removedNode(row) : rowNode(row))),
      field.count > field.values.length && h("li", { class: "unit" }, `The first ${field.values.length} of ${field.count} values.`),
      (field.most === null || held < field.most || !field.declared) && h("li", { class: "add" }, h("button", {
        class: "quiet", "aria-label": `Add a value of ${label}`, onclick: () => {
          const row = draft.add(field);
          draw();
          row.focus();
        },
      }, "Add")));
  }

  draft.watch(field, (found) => {
    put(problems, found.map((text) => h("li", { dir: "auto" }, text)));
    node.classList.toggle("wrong", found.length > 0);
    for (const input of node.querySelectorAll("input, textarea, select")) input.setAttribute("aria-invalid", String(found.length > 0));
  });
  const needed = field.declared && field.least > 0 && h("span", { class: "needed", title: `At least ${field.least}` }, field.least > 1 ? ` at least ${field.least}` : " required");
  const usual = !field.declared && field.share !== undefined && h("span", { class: "unit", title: "Share of the entities of these classes" }, ` ${Math.round(100 * field.share)} % have it`);
  put(node,
    h("div", { class: "field-head" }, h("span", { class: "field-label", id: title, dir: "auto", title: field.predicate }, label), needed, usual),
    h("p", { class: "unit", id: help, dir: "auto" }, field.help ?? ""),
    list, problems);
  draw();
  return node;
}

/** A way to say something else: a predicate of the world, or any IRI. */
export function addField(draft, then) {
  const id = freshId("predicates");
  const list = h("datalist", { id });
  const names = new Map();
  const input = h("input", { id: `${id}-box`, list: id, autocomplete: "off", placeholder: "Another property", "aria-label": "Another property", onfocus: fill });
  let filled = false;

  async function fill() {
    if (filled) return;
    filled = true;
    try {
      const { predicates } = await get("schema", { limit: 500 });
      for (const { iri, label } of predicates) {
        learn(iri, label);
        const name = nameOf(iri);
        names.set(names.has(name) ? iri : name, iri);
      }
      put(list, [...names.keys()].map((value) => h("option", { value })));
    } catch {
      filled = false;
    }
  }

  const button = h("button", { onclick: () => {
    const text = input.value.trim();
    const iri = names.get(text) ?? (/^[a-z][a-z0-9+.-]*:[^\s<>"]+$/i.test(text) ? text : null);
    if (!iri) {
      input.setCustomValidity("Choose a property of the list, or give an IRI");
      input.reportValidity();
      return;
    }
    input.value = "";
    const field = draft.field(iri, names.has(text) ? text : nameOf(iri));
    const row = draft.add(field);
    then();
    row.focus?.();
  } }, "Add property");
  input.addEventListener("input", () => input.setCustomValidity(""));
  return h("div", { class: "add-field" }, input, list, button);
}

