// Who said a value, when, where and on what evidence, and what was said before.

import { get } from "./api.js";
import { aside, disclosure, h, hint, loading, put } from "./dom.js";
import { failure } from "./keys.js";
import { named } from "./names.js";
import { proposalLink, revisionLink } from "./notice.js";
import { timeNode } from "./revisions.js";
import { parseTerm } from "./terms.js";

const by = (entry) => [
  revisionLink(entry.revision), " by ",
  h("span", { dir: "auto" }, entry.author ?? "somebody without a name"), ", ", timeNode(entry.time),
  entry.message && h("span", { class: "unit", dir: "auto" }, ` “${entry.message}”`),
  entry.proposal && [" (", proposalLink(entry.proposal), entry.reviewer && `, accepted by ${entry.reviewer}`, ")"],
];

/** All that was ever said of an entity under a predicate, the newest first. */
function whoSaid(iri, predicate, annotations = []) {
  const place = h("div", { class: "who" }, loading("Reading the history of the value"));
  const read = async () => {
    try {
      const { quads } = await get("provenance", { subject: iri, predicate });
      const order = quads.sort((a, b) => (a.removed !== null) - (b.removed !== null) || (b.added?.revision ?? 0) - (a.added?.revision ?? 0));
      put(place, h("ol", { class: "timeline" }, order.map(({ quad, added, removed, said }) => h("li", { class: removed ? "past" : null },
        h("p", null, h(removed ? "del" : "span", null, named(parseTerm(quad[2]), { most: 160 })), quad[3] && aside(" in ", named(parseTerm(quad[3])))),
        added ? hint("said in ", by(added)) : hint("said in a revision that was forgotten"),
        said && added && said.revision !== added.revision && hint("first said in ", by(said)),
        removed && hint("taken back in ", by(removed))))),
      annotations.length > 0 && h("dl", { class: "evidence" }, annotations.map(({ label, predicate: name, value }) => [h("dt", null, label ?? name), h("dd", null, named(parseTerm(value)))])));
    } catch (error) {
      put(place, failure(error, read));
    }
  };
  read();
  return place;
}

/** The proof of a triple that follows by the world's rules: each step by its rule, down to what is written. */
export function whyView([subject, predicate, object]) {
  const place = h("div", { class: "who" }, loading("Looking for a proof"));
  const read = async () => {
    try {
      const { steps } = await get("why", { subject, predicate, object });
      put(place, h("ol", { class: "timeline" }, steps.map(({ number, quad, rule, premises, revision, author, time }) => h("li", null,
        h("p", null, `${number}. `, quad.slice(0, 3).map((term, at) => [at > 0 && " ", named(parseTerm(term), { most: 160 })]), quad[3] && aside(" in ", named(parseTerm(quad[3])))),
        hint(rule ? `follows by ${rule} from ${premises.join(", ")}` : time ? ["said in ", by({ revision, author, time })] : "said in a revision that was forgotten")))));
    } catch (error) {
      put(place, failure(error, read));
    }
  };
  read();
  return place;
}

/** A button beside a property that shows who said its values. */
export const whoButton = (iri, part) => disclosure("Who stated this?", () => whoSaid(iri, part.predicate, part.values.flatMap(({ annotations }) => annotations ?? [])),
  { "aria-label": `Who says so: ${part.label}`, class: "quiet who-button" });

/** The entity as it was at a revision or a time that one chooses, from all that was ever said of it. */
export function asItWas(iri) {
  const fill = () => {
    const input = h("input", { id: "as-of", autocomplete: "off", placeholder: "Revision 12, or 2026-05-31", "aria-label": "Revision or time" });
    const place = h("div", { "aria-live": "polite" });
    let all = null;
    const look = async (event) => {
      event.preventDefault();
      const text = input.value.trim();
      const number = /^#?(?:revision )?(\d{1,9})$/i.exec(text);
      const time = number && number[1].length !== 4 ? NaN : Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T23:59:59.999Z` : text);
      if (!number && Number.isNaN(time)) {
        put(place, h("p", { class: "bad" }, "A revision is a number, a time is written as 2026-05-31."));
        return;
      }
      try {
        all ??= (await get("provenance", { subject: iri })).quads;
        const before = (entry) => (Number.isNaN(time) ? entry.revision <= Number(number[1]) : Date.parse(entry.time) <= time);
        const held = all.filter(({ added, removed }) => (!added || before(added)) && !(removed && before(removed)));
        const groups = Map.groupBy(held, ({ quad }) => quad[1]);
        put(place, held.length ? h("dl", { class: "as-was" }, [...groups].map(([predicate, ones]) => [h("dt", null, named(parseTerm(predicate))), h("dd", null, h("ul", null, ones.map(({ quad, removed }) => h("li", { class: removed ? "past" : null }, named(parseTerm(quad[2]), { most: 160 }), removed && aside(" until ", by(removed))))))])) : hint("There were no data about it."));
      } catch (error) {
        put(place, failure(error));
      }
    };
    return [h("form", { class: "as-of", onsubmit: look }, input, h("button", { type: "submit" }, "Show")), place];
  };
  return h("section", { class: "as-it-was" }, disclosure("The entity at a time…", fill));
}
