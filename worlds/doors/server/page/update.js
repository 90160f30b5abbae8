// SPARQL updates in the editor: what one would do first, then doing it, or proposing it.

import { access, includes, post, request } from "./api.js";
import { differenceView } from "./difference.js";
import { actions, h, hint, loading, many, put, remarks } from "./dom.js";
import { failure, needs } from "./keys.js";
import { done, revisionLink, waits } from "./notice.js";
import { forget } from "./router.js";

const UPDATE = /^(?:\s|#[^\n]*\n|(?:BASE|PREFIX)\b[^>]*>)*(?:INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH)\b/i;

export const isUpdate = (text) => UPDATE.test(text);

/** Show in `output` what an update would do, and offer to do it. */
export async function tryUpdate(text, output, editor, signal) {
  const me = await access();
  if (!includes(me.level, "propose")) {
    put(output, needs(me, "propose", "An update, or proposing it,"));
    return;
  }
  const writes = includes(me.level, "write");
  try {
    const told = await post("rehearsal", { update: text }, { signal });
    const nothing = !told.edits.added && !told.edits.removed;
    const place = h("div", { class: "edit-outcome", "aria-live": "polite" });
    const message = h("input", { id: "update-message", dir: "auto", autocomplete: "off", placeholder: "Why, for whoever reviews it" });
    put(output, h("p", { class: "status", role: "status" }, "Dry run: nothing has been written yet."),
      h("h2", null, nothing ? "No changes" : `It would add ${many(told.edits.added, "quad")} and remove ${many(told.edits.removed, "quad")}`),
      remarks(told.notes),
      !nothing && actions(
        writes && h("button", { class: "primary", onclick: () => run(text, place) }, "Run it"),
        h("button", { onclick: () => suggest(text, message.value.trim(), place) }, "Propose it"),
        h("label", { class: "unseen", for: "update-message" }, "Reason"), message),
      place, differenceView(told.edits), told.truncated && hint("Only the first changes are shown."));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const large = /more than [\d,]+ quads|changes more than/i.test(error.message);
    const place = h("div", { class: "edit-outcome" });
    put(output, failure(error), large && writes && actions(h("button", { onclick: () => run(text, place) }, "Skip the dry run and run the update")), place);
    if (error.line) editor.mark(error.line, error.column);
  }
}

async function run(text, place) {
  put(place, loading("Running it"));
  try {
    await request("sparql", { method: "POST", body: text, headers: { "content-type": "application/sparql-update" } });
    forget();
    const { revisions } = await (await request("history?limit=1", { headers: { accept: "application/json" } })).json();
    put(place, h("p", { class: "outcome", role: "status" }, "Done: ", revisionLink(revisions[0].revision)));
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
    waits(id);
  } catch (error) {
    put(place, failure(error, () => suggest(text, why, place)));
  }
}
