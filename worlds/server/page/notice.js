// What was done, at the lower edge, with a way to take it back; it stays until the next, or until it is closed.

import { post } from "./api.js";
import { h, put } from "./dom.js";
import { address, forget } from "./router.js";

const STAYS = 15_000; // milliseconds

let bar = null;
let timer = 0;

export function notice(...content) {
  bar ??= document.body.appendChild(h("div", { class: "notice", role: "status", "aria-live": "polite" }));
  clearTimeout(timer);
  put(bar, h("div", null, content), h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => put(bar) }, "×"));
  timer = setTimeout(() => {
    if (!bar.contains(document.activeElement)) put(bar);
  }, STAYS);
}

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
  const undo = async () => {
    if (last !== undo) return;
    last = null;
    try {
      for (const revision of [...made].reverse()) await post(`history/${revision}/undo`);
      forget();
      notice(h("span", null, made.length > 1 ? `Undone: ${made.length} revisions.` : "Undone."));
      after();
    } catch (error) {
      notice(h("span", { class: "bad", dir: "auto" }, `It could not be undone: ${error.message}`));
    }
  };
  last = undo;
  const button = h("button", { type: "button", class: "quiet", onclick: undo }, made.length > 1 ? "Undo all" : "Undo");
  const link = h("a", { href: address({ history: made.at(-1) }) }, `revision ${made.at(-1)}`);
  notice(h("span", { dir: "auto" }, `${words} as `), link, " ", button);
}

/** Take the last back, if it can be. */
export const undoLast = () => last?.();
