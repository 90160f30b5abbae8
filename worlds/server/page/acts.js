// What can be done with an entity besides editing it: compare and merge, comment, retire, delete.

import { access, get, includes, language, post } from "./api.js";
import { nquad } from "./difference.js";
import { h, many, put } from "./dom.js";
import { ask, failure } from "./keys.js";
import { done, notice } from "./notice.js";
import { address, go } from "./router.js";
import { entityAddress, OWL, SKOS, write, XSD } from "./terms.js";

const graphOf = (form) => (form.graph ? write({ type: "iri", value: form.graph }) : null);

/** Write quads of an entity, or propose them where the key may only propose; `after` shows what came of it. */
async function change(me, iri, quads, words, after, base) {
  const document = { ...(quads.add?.length && { add: quads.add.map(nquad) }), ...(quads.remove?.length && { remove: quads.remove.map(nquad) }) };
  if (includes(me.level, "write")) {
    const made = await post("quads", { ...document, message: words, ...(base !== undefined && { base }) });
    done(words, [made.revision], after);
    after();
  } else {
    const { id } = await post("proposals", { ...document, why: words });
    notice(h("span", null, "It waits as "), h("a", { href: address({ review: id }) }, `proposal ${id}`));
  }
}

/** A dialog with one text; gives the text, null if it was dismissed. */
const askText = (title, label, words, yes, { required = true } = {}) => ask(title, (close) => {
  const text = h("textarea", { id: "ask-text", rows: "3", dir: "auto", required, autofocus: true });
  return [h("form", { onsubmit: (event) => {
    event.preventDefault();
    close(text.value.trim());
  } }, words && h("p", null, words), h("label", { for: "ask-text" }, label), text,
  h("p", { class: "actions" }, h("button", { type: "submit", class: "primary" }, yes), h("button", { type: "button", onclick: () => close(null) }, "Cancel")))];
});

/** The line of buttons of an entity, for who may propose or write; `again` reads it anew. */
export function entityActs(iri, told, again) {
  const place = h("div", { class: "entity-acts" });
  if (iri.startsWith("_:")) return place;
  const outcome = h("div");
  const subject = write({ type: "iri", value: iri });
  const name = told.label ?? iri;

  const act = (job) => async () => {
    try {
      await job();
    } catch (error) {
      put(outcome, failure(error, act(job)));
    }
  };
  const draw = (me) => {
    const comment = async () => {
      const text = await askText(`Comment on ${name}`, "Comment", "It is kept as a note for editors (skos:editorialNote), and the history says who wrote it.", "Keep it");
      if (!text) return;
      const form = await get("form", { iri });
      const term = write({ type: "literal", value: text, language, datatype: null });
      await change(me, iri, { add: [[subject, write({ type: "iri", value: `${SKOS}editorialNote` }), term, graphOf(form)]] }, `Comment on ${name}`, again);
    };
    const retire = async () => {
      const why = await askText(`Retire ${name}?`, "Why", "It stays, and what points to it too; it is marked as deprecated (owl:deprecated).", "Retire it", { required: false });
      if (why === null) return;
      const form = await get("form", { iri });
      const yes = write({ type: "literal", value: "true", datatype: `${XSD}boolean`, language: null });
      await change(me, iri, { add: [[subject, write({ type: "iri", value: `${OWL}deprecated` }), yes, graphOf(form)]] }, why || `Retire ${name}`, again);
    };
    const remove = async () => {
      const { quads } = await get("provenance", { subject: iri });
      const held = quads.filter(({ removed }) => removed === null).map(({ quad }) => quad);
      const pointing = told.incoming.reduce((sum, part) => sum + part.count, 0);
      const why = await askText(`Delete ${name}?`, "Why", `The ${many(held.length, "quad")} with it as the subject ${held.length === 1 ? "is" : "are"} removed${pointing ? `; ${many(pointing, "quad")} that point${pointing === 1 ? "s" : ""} to it stay${pointing === 1 ? "s" : ""}. To retire or to merge it is often better` : ""}. It can be undone.`, "Delete it", { required: false });
      if (why === null) return;
      await change(me, iri, { remove: held }, why || `Delete ${name}`, () => go(entityAddress(iri)));
    };
    put(place, h("p", { class: "actions" },
      h("a", { class: "button", href: address({ edit: iri }) }, "Edit"),
      h("a", { class: "button", href: address({ merge: iri }) }, "Compare and merge"),
      h("button", { type: "button", onclick: act(comment) }, "Comment"),
      h("details", { class: "menu" }, h("summary", null, "More"), h("div", null,
        h("button", { type: "button", onclick: act(retire) }, "Retire…"), h("button", { type: "button", onclick: act(remove) }, "Delete…"),
        told.types.length > 0 && h("a", { class: "button", href: address({ new: told.types[0].term.replace(/^<|>$/g, "") }) }, "New one like it")))), outcome);
  };
  access().then((me) => includes(me.level, "propose") && draw(me));
  return place;
}
