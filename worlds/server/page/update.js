// SPARQL updates in the editor: what one would do first, then doing it, or proposing it.

import { access, includes, post, request } from "./api.js";
import { differenceView } from "./difference.js";
import { h, loading, many, put } from "./dom.js";
import { failure } from "./keys.js";
import { done, notice } from "./notice.js";
import { address, forget } from "./router.js";

const UPDATE = /^(?:\s|#[^\n]*\n|(?:BASE|PREFIX)\b[^>]*>)*(?:INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH)\b/i;

/** Whether a text is an update rather than a query. */
export const isUpdate = (text) => UPDATE.test(text);

/** Show in `output` what an update would do, and offer to do it. */
export async function tryUpdate(text, output, editor, signal) {
  const me = await access();
  if (!includes(me.level, "propose")) {
    put(output, h("div", { class: "failure", role: "alert" }, h("p", { class: "failure-title" }, "This is an update, and this key may only read"), h("p", null, "Take a key with the level propose or write: the key button is at the top right.")));
    return;
  }
  const writes = includes(me.level, "write");
  try {
    const told = await post("rehearsal", { update: text }, { signal });
    const nothing = !told.edits.added && !told.edits.removed;
    const place = h("div", { class: "edit-outcome", "aria-live": "polite" });
    const message = h("input", { id: "update-message", dir: "auto", autocomplete: "off", placeholder: "Why, for whoever reviews it" });
    put(output, h("p", { class: "status", role: "status" }, "Dry run: nothing has been written yet."),
      h("h2", null, nothing ? "It would change nothing" : `It would add ${many(told.edits.added, "quad")} and remove ${many(told.edits.removed, "quad")}`),
      (told.notes ?? []).map((note) => h("p", { class: "notes", dir: "auto" }, note)),
      !nothing && h("p", { class: "actions" },
        writes && h("button", { type: "button", class: "primary", onclick: () => run(text, place) }, "Run it"),
        h("button", { type: "button", onclick: () => suggest(text, message.value.trim(), place) }, "Propose it"),
        h("label", { class: "unseen", for: "update-message" }, "Reason"), message),
      place, differenceView(told.edits), told.truncated && h("p", { class: "unit" }, "The first of them are shown."));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const large = /more than [\d,]+ quads|changes more than/i.test(error.message);
    const place = h("div", { class: "edit-outcome" });
    put(output, failure(error), large && writes && h("p", { class: "actions" }, h("button", { type: "button", onclick: () => run(text, place) }, "Run it without a dry run")), place);
    if (error.line) editor.mark(error.line, error.column);
  }
}

async function run(text, place) {
  put(place, loading("Running it"));
  try {
    await request("sparql", { method: "POST", body: text, headers: { "content-type": "application/sparql-update" } });
    forget();
    const { revisions } = await (await request("history?limit=1", { headers: { accept: "application/json" } })).json();
    put(place, h("p", { class: "outcome", role: "status" }, "Done: ", h("a", { href: address({ history: revisions[0].revision }) }, `revision ${revisions[0].revision}`)));
    done("Done", [revisions[0].revision], () => put(place));
  } catch (error) {
    put(place, failure(error, () => run(text, place)));
  }
}

async function suggest(text, why, place) {
  put(place, loading("Proposing it"));
  try {
    const { id } = await post("proposals", { update: text, ...(why && { why }) });
    put(place);
    notice(h("span", null, "It waits as "), h("a", { href: address({ review: id }) }, `proposal ${id}`));
  } catch (error) {
    put(place, failure(error, () => suggest(text, why, place)));
  }
}
