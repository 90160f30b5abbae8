// Two entities side by side: to make them one, or to keep that they are two.

import { access, get, includes, language, post } from "./api.js";
import { chooser } from "./choose.js";
import { differenceView } from "./difference.js";
import { actions, aside, empty, h, hint, loading, messageBox, messageLine, put, remarks } from "./dom.js";
import { failure } from "./keys.js";
import { named } from "./names.js";
import { done, waits } from "./notice.js";
import { address, go } from "./router.js";
import { entityAddress, learn, parseTerm, short } from "./terms.js";

const SHOWN = 12; // values of a property

/** Statements about two entities, property by property: what both have, what only one of them has. */
function sideBySide(one, other) {
  const rows = new Map();
  for (const [place, told] of [one, other].entries()) {
    const types = told.types.length ? [{ predicate: null, label: "type", values: told.types }] : [];
    for (const part of [...types, ...told.properties]) {
      const row = rows.get(part.predicate) ?? { label: part.label, sides: [[], []] };
      row.sides[place] = part.values;
      rows.set(part.predicate, row);
    }
  }
  const cell = (values, others) => {
    const theirs = new Set(others.map(({ term }) => term));
    return h("td", null, values.length ? h("ul", null, values.slice(0, SHOWN).map((value) => h("li", { class: theirs.has(value.term) ? "shared" : null },
      named(parseTerm(value.term), { label: value.label, most: 160 })))) : aside("—"));
  };
  const head = (told) => h("th", { scope: "col" }, h("a", { href: entityAddress(told.iri), dir: "auto" }, told.label ?? short(told.iri)), h("br"), h("code", { class: "unit", dir: "ltr" }, short(told.iri)));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Side by side" },
    h("table", { class: "sides" },
      h("thead", null, h("tr", null, h("td"), head(one), head(other))),
      h("tbody", null, [...rows.values()].map(({ label, sides }) => h("tr", { class: sides[0].some(({ term }) => sides[1].some((value) => value.term === term)) ? "agrees" : sides[0].length && sides[1].length ? "differs" : null },
        h("th", { scope: "row", dir: "auto" }, label), cell(sides[0], sides[1]), cell(sides[1], sides[0]))))));
}

export async function compare(a, b) {
  const [one, other] = await Promise.all([a, b].map((iri) => get(`entities/${encodeURIComponent(iri)}`, { limit: SHOWN, language })));
  for (const told of [one, other]) learn(told.iri, told.label);
  return { one, other, node: sideBySide(one, other) };
}

/** The view of `#merge=IRI&with=IRI`. */
export function mergeView(asked, entitle) {
  const first = asked.get("merge");
  const second = asked.get("with");
  const node = h("section", { class: "merge-view" }, loading("Reading"));

  async function read() {
    const me = await access();
    if (!second) {
      const told = await get(`entities/${encodeURIComponent(first)}`, { limit: 1, language }).catch(() => null);
      const name = told?.label ?? short(first);
      const box = chooser({ classes: (told?.types ?? []).map(({ term }) => parseTerm(term).value), "aria-label": "The other entity", choose: (iri) => iri && iri !== first && go(address({ merge: first, with: iri })) });
      put(node, h("h1", null, "Compare and merge ", h("span", { dir: "auto" }, name)), h("p", { class: "lead" }, "With which entity? Both are shown side by side before anything is done."), box.node);
      box.input.focus();
      return;
    }
    try {
      const { one, other, node: table } = await compare(first, second);
      if (one.iri === other.iri) {
        put(node, empty("They are merged already", h("p", null, h("a", { href: entityAddress(one.iri) }, one.label ?? short(one.iri)))));
        return;
      }
      entitle(`${one.label ?? short(first)} and ${other.label ?? short(second)}`);
      put(node, h("h1", null, h("span", { dir: "auto" }, one.label ?? short(first)), " and ", h("span", { dir: "auto" }, other.label ?? short(second))), table,
        includes(me.level, "propose") ? decision(me, one, other) : hint("This key may only read."));
    } catch (error) {
      put(node, error.status === 404 ? empty("One entity is missing", "No data describe it; it may have been merged.") : failure(error, read));
    }
  }

  function decision(me, one, other) {
    const place = h("div", { class: "edit-outcome" });
    const remark = messageBox("merge-message");
    const radio = (told, checked) => h("label", { class: "check" }, h("input", { type: "radio", name: "kept", value: told.iri, checked, onchange: rehearse }), " ", h("span", { dir: "auto" }, told.label ?? short(told.iri)), aside(` ${short(told.iri)}`));
    const choices = h("fieldset", { class: "kept" }, h("legend", null, "Which one stays? The other's name redirects to it."), radio(one, true), radio(other, false));
    const kept = () => choices.querySelector("input:checked").value;
    const gone = () => (kept() === one.iri ? other.iri : one.iri);
    const rehearsal = h("div", { class: "rehearsal" });

    async function rehearse() {
      put(rehearsal, loading("Trying it"));
      try {
        const told = await post("rehearsal", { merge: [kept(), gone()], language });
        put(rehearsal, h("h2", null, "Effect of the merge"), remarks(told.notes), differenceView(told.edits));
      } catch (error) {
        put(rehearsal, failure(error, rehearse));
      }
    }

    async function act(job) {
      put(place, loading("Trying the merge"));
      try {
        await job(remark.value.trim() || undefined);
      } catch (error) {
        put(place, failure(error, () => act(job)));
      }
    }
    const merge = (message) => post("merge", { kept: kept(), others: [gone()], ...(message && { message }) }).then((change) => {
      done("Merged", [change.revision], () => go(address({ merge: first, with: second })));
      go(entityAddress(kept()));
    });
    const propose = (why) => post("proposals", { merge: [kept(), gone()], ...(why && { why }) }).then(({ id }) => {
      waits(id);
      go(address({ review: id }));
    });
    const distinct = (message) => post("distinct", { a: one.iri, b: other.iri, ...(message && { message }) }).then((change) => {
      done("Recorded as different", [change.revision]);
      put(place, h("p", { class: "outcome", role: "status" }, "They are no longer shown as duplicates."));
    });
    rehearse();
    const writes = includes(me.level, "write");
    return h("section", { class: "decision" }, choices, messageLine(remark),
      actions(
        writes && h("button", { class: "primary", onclick: () => act(merge) }, "Merge"),
        h("button", { class: writes ? null : "primary", onclick: () => act(propose) }, "Propose to merge"),
        writes && h("button", { onclick: () => act(distinct) }, "Keep as two entities")),
      place, rehearsal);
  }

  read();
  return { node, title: "Merge" };
}
