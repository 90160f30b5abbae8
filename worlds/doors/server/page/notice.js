// What was done, at the lower edge, with a way to take it back; it stays until the next, or until it is closed.

import { post } from "./api.js";
import { h, put, quiet } from "./dom.js";
import { address, again, forget } from "./router.js";

const STAYS = 15_000; // milliseconds

let bar = null;
let timer = 0;

export function notice(...content) {
  bar ??= document.body.appendChild(h("div", { class: "notice", role: "status", "aria-live": "polite" }));
  clearTimeout(timer);
  put(bar, h("div", null, content), quiet({ "aria-label": "Close", onclick: () => put(bar) }, "×"));
  timer = setTimeout(() => {
    if (!bar.contains(document.activeElement)) put(bar);
  }, STAYS);
}

/** Copy a text; where the page may not, as on plain http, it is shown to be copied by hand. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { "aria-label": "Text to copy", readonly: true, rows: "3", value: text });
    notice("Copy it from here: ", area);
    area.select();
    return false;
  }
}

export const revisionLink = (revision) => h("a", { href: address({ history: revision }) }, `revision ${revision}`);
export const proposalLink = (id) => h("a", { href: address({ review: id }) }, `proposal ${id}`);
export const waits = (id) => notice(h("span", null, "Proposed as "), proposalLink(id));

/** Say that a change was made, or waits where the guard has it wait. */
export const kept = (words, change, after) => (change.proposal ? waits(change.proposal) : done(words, [change.revision], after));

let last = null; // what the key "u" takes back

/** Say that something was done by revisions, which can be undone together; `after` shows what holds then. */
export function done(words, revisions, after = () => {}) {
  forget();
  const made = revisions.filter((one) => one !== null && one !== undefined);
  if (!made.length) {
    last = null;
    notice(h("span", null, `${words}. Nothing was left to change.`));
    return;
  }
  const where = location.hash;
  const undo = async () => {
    if (last !== undo) return;
    last = null;
    try {
      for (const revision of [...made].reverse()) await post(`history/${revision}/undo`);
      forget();
      notice(h("span", null, made.length > 1 ? `Undone: ${made.length} revisions.` : "Undone."));
      if (location.hash === where) after();
      else again();
    } catch (error) {
      notice(h("span", { class: "bad", dir: "auto" }, `It could not be undone: ${error.message}`));
    }
  };
  last = undo;
  const button = quiet({ onclick: undo }, made.length > 1 ? "Undo all" : "Undo");
  notice(h("span", { dir: "auto" }, `${words} as `), revisionLink(made.at(-1)), " ", button);
}

/** Take the last back, if it can be. */
export const undoLast = () => last?.();
