// A difference for people: by entity, with the old value of each beside the new one.

import { aside, count, h, hint, many } from "./dom.js";
import { named } from "./names.js";
import { identity, parseTerm } from "./terms.js";

const LONG = 300; // characters of a value

const value = (term) => named(parseTerm(term), { most: LONG });

function line({ path, old, new: now, graph }) {
  const [kind, sign] = old === null ? ["added", "+"] : now === null ? ["removed", "−"] : ["changed", "~"];
  return h("li", { class: kind },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    h("span", { class: "unseen" }, `${kind}: `),
    path.map((part, place) => [place > 0 && " / ", value(part)]), " ",
    old !== null && h(now === null ? "span" : "del", { class: "old" }, value(old)),
    old !== null && now !== null && h("span", { class: "unit", "aria-label": "became" }, " → "),
    now !== null && h(old === null ? "span" : "ins", { class: "new" }, value(now)),
    graph && aside(" in ", value(graph)));
}

/** The edits of a revision, a proposal or a rehearsal; null where there are none. */
export function differenceView({ entities, unread = 0, added, removed }) {
  if (!entities.length) return null;
  return h("section", { class: "diff", "aria-label": added === undefined ? "Changes" : `${many(added, "quad")} added, ${count(removed)} removed` },
    entities.map(({ entity, label, edits }) => h("div", { class: "diff-group" },
      h("p", { class: "diff-subject" }, named(parseTerm(entity), { label })),
      h("ul", null, edits.map(line)))),
    unread > 0 && hint(`${count(unread)} more quads were not read.`));
}

/** Quads as edits: what was removed and what was added of one subject and predicate stand side by side. */
export function editsOf(added, removed) {
  const entities = new Map();
  const of = (subject) => {
    if (!entities.has(subject)) entities.set(subject, { entity: subject, label: null, edits: [] });
    return entities.get(subject).edits;
  };
  const waiting = new Map();
  for (const [subject, predicate, object, graph] of removed) {
    const edit = { path: [predicate], old: object, new: null, graph };
    of(subject).push(edit);
    const key = `${subject} ${predicate} ${graph}`;
    waiting.set(key, [...(waiting.get(key) ?? []), edit]);
  }
  for (const [subject, predicate, object, graph] of added) {
    const edit = waiting.get(`${subject} ${predicate} ${graph}`)?.shift();
    if (edit) edit.new = object;
    else of(subject).push({ path: [predicate], old: null, new: object, graph });
  }
  return { entities: [...entities.values()], added: added.length, removed: removed.length };
}

/** A quad of N-Triples terms as a line of N-Quads. */
export const nquad = ([subject, predicate, object, graph]) => `${subject} ${predicate} ${object} ${graph ? `${graph} ` : ""}.`;

/** Quads to add and to remove, as requests take them. */
export const changeOf = (add = [], remove = []) => ({ ...(add.length && { add: add.map(nquad) }), ...(remove.length && { remove: remove.map(nquad) }) });

/** Whether two terms, as N-Triples, are the same. */
export const same = (one, other) => one === other || (one !== null && other !== null && identity(parseTerm(one)) === identity(parseTerm(other)));
