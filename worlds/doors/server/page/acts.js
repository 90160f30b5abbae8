// What can be done with an entity besides editing it: compare and merge, comment, retire, delete.

import { access, get, includes, language, post } from "./api.js";
import { changeOf } from "./difference.js";
import { actions, h, linkButton, many, put } from "./dom.js";
import { ask, failure } from "./keys.js";
import { kept, waits } from "./notice.js";
import { address, go } from "./router.js";
import { entityAddress, literal, OWL, SKOS, write, XSD } from "./terms.js";

const graphOf = (form) => (form.graph ? `<${form.graph}>` : null);

/** Write quads of an entity, or propose them where the key may only propose; `after` shows what came of it. */
async function change(me, iri, quads, words, after, base) {
  const document = changeOf(quads.add, quads.remove);
  if (includes(me.level, "write")) {
    const made = await post("quads", { ...document, message: words, ...(base !== undefined && { base }) });
    kept(words, made, after);
    after();
  } else {
    const { id } = await post("proposals", { ...document, why: words });
    waits(id);
  }
}

/** A dialog with one text; gives the text, null if it was dismissed. */
const askText = (title, label, words, yes, { required = true } = {}) => ask(title, (close) => {
  const text = h("textarea", { id: "ask-text", rows: "3", dir: "auto", required, autofocus: true });
  return [h("form", { onsubmit: (event) => {
    event.preventDefault();
    close(text.value.trim());
  } }, words && h("p", null, words), h("label", { for: "ask-text" }, label), text,
  actions(h("button", { type: "submit", class: "primary" }, yes), h("button", { onclick: () => close(null) }, "Cancel")))];
});

/** The line of buttons of an entity, for who may propose or write; `again` reads it anew. */
export function entityActs(iri, told, again) {
  const place = h("div", { class: "entity-acts" });
  if (iri.startsWith("_:")) return place;
  const outcome = h("div");
  const subject = `<${iri}>`;
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
      await change(me, iri, { add: [[subject, `<${SKOS}editorialNote>`, literal(text, language), graphOf(form)]] }, `Comment on ${name}`, again);
    };
    const retire = async () => {
      const why = await askText(`Retire ${name}?`, "Why", "It stays, and what points to it too; it is marked as deprecated (owl:deprecated).", "Retire it", { required: false });
      if (why === null) return;
      const form = await get("form", { iri });
      const yes = write({ type: "literal", value: "true", datatype: `${XSD}boolean` });
      await change(me, iri, { add: [[subject, `<${OWL}deprecated>`, yes, graphOf(form)]] }, why || `Retire ${name}`, again);
    };
    const remove = async () => {
      const { quads } = await get("provenance", { subject: iri });
      const held = quads.filter(({ removed }) => removed === null).map(({ quad }) => quad);
      const pointing = told.incoming.reduce((sum, part) => sum + part.count, 0);
      const why = await askText(`Delete ${name}?`, "Why", `The ${many(held.length, "quad")} with it as the subject ${held.length === 1 ? "is" : "are"} removed${pointing ? `; ${many(pointing, "quad")} that point${pointing === 1 ? "s" : ""} to it stay${pointing === 1 ? "s" : ""}. To retire or to merge it is often better` : ""}. It can be undone.`, "Delete it", { required: false });
      if (why === null) return;
      await change(me, iri, { remove: held }, why || `Delete ${name}`, () => go(entityAddress(iri)));
    };
    put(place, actions(
      linkButton(address({ edit: iri }), "Edit"),
      linkButton(address({ merge: iri }), "Compare and merge"),
      h("button", { onclick: act(comment) }, "Comment"),
      h("details", { class: "menu" }, h("summary", null, "More"), h("div", null,
        h("button", { onclick: act(retire) }, "Retire…"), h("button", { onclick: act(remove) }, "Delete…"),
        told.types.length > 0 && linkButton(address({ new: told.types[0].term.replace(/^<|>$/g, "") }), "New entity of its class")))), outcome);
  };
  access().then((me) => includes(me.level, "propose") && draw(me));
  return place;
}
