// Deciding many at once: what it would come to first, then one after the other, until it is done or stopped.

import { post } from "./api.js";
import { differenceView, nquad } from "./difference.js";
import { actions, count, h, hint, loading, many, put, remarks } from "./dom.js";
import { ask } from "./keys.js";
import { accept, reject } from "./queue.js";

const SHOWN = 20; // entities of the difference

/** What accepting them would do together; merges are told by their number. */
async function rehearsed(items) {
  const merges = items.filter(({ merge }) => merge).length;
  const add = items.flatMap(({ proposal, change }) => (proposal?.merged.length ? [] : proposal ? proposal.added.map((quad) => `${quad} .`) : (change?.add ?? []).map(nquad)));
  const remove = items.flatMap(({ proposal, change }) => (proposal?.merged.length ? [] : proposal ? proposal.removed.map((quad) => `${quad} .`) : (change?.remove ?? []).map(nquad)));
  const moved = items.filter((item) => item.moved.length).length;
  const told = add.length + remove.length ? await post("rehearsal", { ...(add.length && { add }), ...(remove.length && { remove }) }) : null;
  return [
    h("p", null, [told && `${many(told.edits.added, "quad")} added, ${count(told.edits.removed)} removed`, merges && many(merges, "merge"), moved && `${many(moved, "item")} moved since: these stop it`].filter(Boolean).join("; "), "."),
    remarks(told?.notes),
    told && h("div", { class: "batch-difference" }, differenceView({ ...told.edits, entities: told.edits.entities.slice(0, SHOWN) }), told.edits.entities.length > SHOWN && hint(`and ${count(told.edits.entities.length - SHOWN)} more entities`)),
  ];
}

/** Ask, and decide: gives {decided, revisions}, null where nothing was done. */
export function batchDialog(items, accepting) {
  const result = { decided: [], revisions: [] };
  let stopped = false;
  return ask(`${accepting ? "Accept" : "Reject"} ${many(items.length, "item")}?`, (close) => {
    const told = h("div", null, accepting ? loading("Trying the changes") : h("p", null, "Rejecting changes no data; each decision is kept."));
    const progress = h("progress", { max: items.length, value: "0", hidden: true, "aria-label": "Progress" });
    const why = h("input", { id: "batch-why", dir: "auto", autocomplete: "off" });
    const start = h("button", { class: "primary", disabled: accepting, onclick: run }, accepting ? "Accept them" : "Reject them");
    const stop = h("button", { onclick: () => {
      stopped = true;
      if (start.hidden === false) close(null);
    } }, "Cancel");

    async function run() {
      start.hidden = true;
      progress.hidden = false;
      stop.textContent = "Stop";
      for (const item of items) {
        if (stopped) break;
        try {
          const revision = await (accepting ? accept : reject)(item, { why: why.value.trim() || undefined });
          if (revision) result.revisions.push(revision);
          result.decided.push(item);
          progress.value = result.decided.length;
        } catch (error) {
          put(told, h("p", { class: "bad", dir: "auto" }, `It stopped at “${item.title}”: ${error.message}`), h("p", null, `${many(result.decided.length, "item")} before it ${result.decided.length === 1 ? "is" : "are"} decided.`));
          stop.textContent = "Close";
          stop.onclick = () => close(result);
          return;
        }
      }
      close(result);
    }

    if (accepting) {
      rehearsed(items).then((content) => {
        put(told, content);
        start.disabled = false;
      }, (error) => put(told, h("p", { class: "bad", dir: "auto" }, error.message)));
    }
    return [told, h("label", { for: "batch-why" }, "Reason for the decision (optional)"), why, progress, actions(start, stop)];
  }).then((answer) => answer ?? (result.decided.length ? result : null));
}
