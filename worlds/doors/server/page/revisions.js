// Revisions in words: when, who, why, and how much.

import { aside, count, h } from "./dom.js";
import { address } from "./router.js";

const full = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["year", 31_557_600], ["month", 2_629_800], ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60]];

/** A time as a person tells it, the exact one behind it. */
export function timeNode(iso) {
  const time = new Date(iso);
  const seconds = (time - Date.now()) / 1000;
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  const words = Math.abs(seconds) < 60 ? "just now" : relative.format(Math.round(seconds / unit[1]), unit[0]);
  return h("time", { datetime: iso, title: full.format(time) }, words);
}

/** "+3 −1", coloured and in words for those who hear it. */
export function amounts(added, removed) {
  return h("span", { class: "amounts" },
    added > 0 && h("span", { class: "added" }, h("span", { "aria-hidden": "true" }, "+"), count(added), h("span", { class: "unseen" }, " added")),
    removed > 0 && h("span", { class: "removed" }, h("span", { "aria-hidden": "true" }, "−"), count(removed), h("span", { class: "unseen" }, " removed")));
}

/** One revision in a line, linked to its page. */
export function revisionLine(entry, attributes = {}) {
  return h("a", { class: "revision", href: address({ history: entry.revision }), ...attributes },
    h("span", { class: "number" }, `#${entry.revision}`),
    h("span", { class: "message", dir: "auto" }, entry.message ?? aside("no message")),
    entry.tags?.map((name) => h("span", { class: "badge", dir: "auto" }, name)),
    amounts(entry.added, entry.removed),
    entry.undone_by && aside(`undone by #${entry.undone_by}`),
    h("span", { class: "who" }, entry.author && h("span", { dir: "auto" }, entry.author), entry.author && " · ", timeNode(entry.time)));
}
