// Editing an entity, or making one: a form by its shapes and by what others like it have.

import { access, get, includes, language, post } from "./api.js";
import { changeOf, differenceView, editsOf } from "./difference.js";
import { actions, h, hint, loading, messageBox, messageLine, put, quiet } from "./dom.js";
import { Draft } from "./draft.js";
import { failure, needs } from "./keys.js";
import { want } from "./names.js";
import { kept, waits } from "./notice.js";
import { addField, fieldNode } from "./fields.js";
import { revisionLine } from "./revisions.js";
import { entityAddress, entityLink, learn, nameOf, parseTerm, short } from "./terms.js";
import { address, go, leaving } from "./router.js";

const PAUSE = 400; // milliseconds after the last change, before the shapes are asked

/** The view of `#edit=IRI`, and of `#new=TYPE` with the IRI and the label that were given. */
export function editView(asked, entitle) {
  const made = asked.get("new");
  let iri = made ? asked.get("iri") : asked.get("edit");
  const node = h("section", { class: "edit-view" }, loading("Reading"));
  const fields = h("div", { class: "fields" });
  const review = h("div", { class: "edit-review" });
  const remark = messageBox("edit-message");
  const outcome = h("div", { class: "edit-outcome" });
  let me = { level: "none" };
  let draft = null;
  let timer = 0;
  let checking = 0;

  async function read() {
    try {
      const [form, who] = await Promise.all([get("form", { iri, types: made || undefined, language }), access()]);
      me = who;
      iri = form.iri; // in full, and of the entity that a merged one has become
      draft = new Draft(iri, form, made);
      if (made && asked.get("label")) draft.name(asked.get("label"), language);
      entitle(`${made ? "New" : "Edit"} ${form.label ?? asked.get("label") ?? short(iri)}`);
      draw();
    } catch (error) {
      put(node, failure(error, read));
    }
  }

  function draw() {
    const { form } = draft;
    const title = form.label ?? asked.get("label") ?? short(iri);
    for (const { term, label } of form.types) learn(parseTerm(term).value, label);
    if (!includes(me.level, "propose")) {
      put(node, h("h1", { dir: "auto" }, title), needs(me, "propose", "Editing, or proposing a change,"));
      return;
    }
    drawFields();
    put(node,
      h("header", { class: "entity-head" },
        form.types.length > 0 && h("p", { class: "types" }, form.types.map((type) => entityLink(parseTerm(type.term), type.label))),
        h("h1", null, made ? "New: " : "Edit ", h("span", { dir: "auto" }, title)),
        h("p", { class: "iri" }, h("code", { dir: "ltr" }, iri))),
      form.problems?.length > 0 && h("ul", { class: "problems" }, form.problems.map((text) => h("li", { dir: "auto" }, text))),
      h("form", { onsubmit: (event) => {
        event.preventDefault();
        save();
      } }, fields, addField(draft, () => {
        drawFields();
        changed();
      }),
      h("section", { class: "edit-foot", "aria-label": "Changes" }, outcome, review,
        messageLine(remark),
        actions(
          includes(me.level, "write") && h("button", { type: "submit", class: "primary" }, "Save"),
          h("button", { type: includes(me.level, "write") ? "button" : "submit", class: includes(me.level, "write") ? null : "primary", onclick: includes(me.level, "write") ? () => save(true) : null }, "Propose"),
          quiet({ onclick: () => {
            draft = null;
            leaving(null);
            history.back();
          } }, "Cancel")))));
    changed();
  }

  const drawFields = () => put(fields, draft.fields.map((field) => fieldNode(field, draft, changed)));

  /** The changes so far, and, after a moment, what the shapes would say of them. */
  function changed() {
    const { added, removed } = draft.changes();
    const any = added.length + removed.length > 0;
    const edits = editsOf(added, removed);
    for (const { entity } of edits.entities) learn(parseTerm(entity).value, draft.form.label);
    put(review, any ? differenceView(edits) : hint("No changes yet."));
    leaving(any ? "There are changes that are not saved." : null);
    clearTimeout(timer);
    if (any && draft.checked) timer = setTimeout(check, PAUSE);
    else draft.show(null);
  }

  async function check() {
    const { added, removed } = draft.changes();
    const turn = ++checking;
    try {
      const told = await post("rehearsal", { ...changeOf(added, removed), form: iri, language });
      if (turn === checking && draft) draft.show(told.form);
    } catch {
      // What is wrong with it, saving says.
    }
  }

  async function save(proposing = !includes(me.level, "write")) {
    const { added, removed } = draft.changes();
    if (!added.length && !removed.length) {
      put(outcome, h("p", { class: "unit", role: "alert" }, "Nothing has been changed."));
      return;
    }
    put(outcome, loading(proposing ? "Proposing" : "Saving"));
    const change = changeOf(added, removed);
    const words = remark.value.trim();
    try {
      if (proposing) {
        const proposal = await post("proposals", { ...change, ...(words && { why: words }) });
        leaving(null);
        waits(proposal.id);
        go(made ? address({ review: proposal.id }) : entityAddress(iri));
        return;
      }
      const saved = await post("quads", { ...change, base: draft.form.revision, message: words || (made ? `New: ${asked.get("label") ?? nameOf(iri)}` : `Edit ${draft.form.label ?? nameOf(iri)}`) });
      leaving(null);
      kept("Saved", saved, () => go(entityAddress(iri)));
      go(entityAddress(iri));
    } catch (error) {
      if (error.kind === "changed since") await meanwhile();
      else put(outcome, failure(error, () => save(proposing)));
    }
  }

  /** Show another person's change of the entity, and put this edit on top of it, to be saved again. */
  async function meanwhile() {
    const before = draft.form.revision;
    const [form, { revisions }] = await Promise.all([get("form", { iri, types: made || undefined, language }), get("history", { entity: iri, limit: 20 })]);
    const others = revisions.filter(({ revision }) => revision > before);
    const told = await Promise.all(others.map(({ revision }) => get(`history/${revision}`, { limit: 200 })));
    const lost = draft.rebase(form);
    for (const term of lost.flatMap(({ old, now }) => [old, now]).filter((one) => one?.type === "iri")) want(term.value);
    drawFields();
    changed();
    put(outcome, h("div", { class: "failure", role: "alert" },
      h("p", { class: "failure-title" }, "Somebody else changed this meanwhile"),
      h("p", null, "Nothing is lost: their changes are in the form now, and yours below. Look at both, then save again."),
      told.map((entry) => [h("ol", { class: "revision-list short" }, h("li", null, revisionLine(entry))), differenceView({ ...entry.edits, entities: entry.edits.entities.filter(({ entity }) => entity === `<${iri}>`) })]),
      lost.length > 0 && h("p", { class: "bad" }, `${lost.length === 1 ? "A value" : `${lost.length} values`} that you replaced ${lost.length === 1 ? "is" : "are"} gone: what you wrote would now be added beside the new one.`)));
    outcome.scrollIntoView({ block: "center" });
  }

  read();
  return { node, title: "Edit" };
}
