// One item of the review: what it would change, what speaks for it, who said what, and the ways to decide.

import { includes, post } from "./api.js";
import { differenceView, editsOf } from "./difference.js";
import { actions, aside, h, hint, loading, put } from "./dom.js";
import { failure } from "./keys.js";
import { compare } from "./merge.js";
import { named, sentence } from "./names.js";
import { decidable, sureness } from "./queue.js";
import { timeNode } from "./revisions.js";
import { address } from "./router.js";
import { entityAddress, parseTerm } from "./terms.js";

const FEW = 12; // quads of evidence that are shown

/** The texts that name the same twice are told once. */
const lines = (texts, kind) => texts?.length > 0 && h("ul", { class: kind }, [...new Set(texts)].map((text) => h("li", { dir: "auto" }, sentence(text))));

function evidence(quads) {
  if (!quads.length) return null;
  return h("section", null, h("h3", null, "Origin of the quads"), h("ul", { class: "evidence-list" }, quads.slice(0, FEW).map(({ quad, author, time, revision }) => h("li", null,
    quad.slice(0, 3).map((term, at) => [at > 0 && " ", named(parseTerm(term), { most: 160 })]), quad[3] && aside(" in ", named(parseTerm(quad[3]))),
    hint(author && [h("span", { dir: "auto" }, author), ", "], h("a", { href: address({ history: revision }) }, `revision ${revision}`), time && [", ", timeNode(time)])))),
  quads.length > FEW && hint(`and ${quads.length - FEW} more`));
}

function difference(item) {
  if (item.edits && !item.merge) return differenceView(item.edits);
  if (item.change) return differenceView(editsOf(item.change.add, item.change.remove));
  if (!item.merge) return null;
  const place = h("div", null, loading("Loading both entities"));
  const read = async () => {
    try {
      const { node } = await compare(item.merge[0], item.merge[1]);
      put(place, node, item.merge.length > 2 && hint(`and ${item.merge.length - 2} more entities`), item.edits && h("details", null, h("summary", null, "Effect of the merge"), differenceView(item.edits)));
    } catch (error) {
      put(place, error.status === 404 ? hint("One entity is no longer there.") : failure(error, read));
    }
  };
  read();
  return place;
}

/** The discussion of a proposal: the versions before, and remarks. */
function discussion(proposal) {
  if (!proposal?.discussion?.length) return null;
  return h("section", null, h("h3", null, "Discussion"), h("ul", { class: "evidence-list" }, proposal.discussion.map((remark) => h("li", null, h("p", { dir: "auto" }, remark.text), hint(remark.author && h("span", { dir: "auto" }, remark.author), remark.time && [" ", timeNode(remark.time)])))));
}

function amending(proposal, amended) {
  const add = h("textarea", { id: "amend-add", class: "code", dir: "ltr", rows: "4", spellcheck: "false", value: proposal.added.map((quad) => `${quad} .`).join("\n") });
  const remove = h("textarea", { id: "amend-remove", class: "code", dir: "ltr", rows: "4", spellcheck: "false", value: proposal.removed.map((quad) => `${quad} .`).join("\n") });
  const why = h("input", { id: "amend-why", dir: "auto", autocomplete: "off" });
  const place = h("div");
  const send = async (path, document) => {
    try {
      await post(`proposals/${proposal.id}/${path}`, document);
      amended();
    } catch (error) {
      put(place, failure(error));
    }
  };
  return h("form", { class: "amend", onsubmit: (event) => {
    event.preventDefault();
    send("amend", { add: add.value, remove: remove.value, ...(why.value.trim() && { why: why.value.trim() }) });
  } },
  !proposal.merged.length && [h("label", { for: "amend-add" }, "To add (N-Quads)"), add, h("label", { for: "amend-remove" }, "To remove (N-Quads)"), remove],
  h("label", { for: "amend-why" }, "Remark"), why,
  actions(!proposal.merged.length && h("button", { type: "submit", class: "primary" }, "Amend"), h("button", { onclick: () => why.value.trim() && send("remarks", { why: why.value.trim() }) }, "Comment only")), place);
}

/** The item and its buttons; `acts` has accept, reject, propose, skip and amended. */
export function itemView(item, me, acts) {
  const writes = includes(me.level, "write");
  const proposes = includes(me.level, "propose");
  const reason = h("input", { id: "review-why", dir: "auto", autocomplete: "off", placeholder: "Reason for the decision (optional)", "aria-label": "Reason", onkeydown: (event) => {
    if (event.key === "Escape") event.target.blur();
  } });
  const why = () => ({ why: reason.value.trim() || undefined });
  const extra = h("div");
  const button = (key, words, onclick, primary = false) => h("button", { "data-key": key, class: primary ? "primary" : null, onclick, title: `Key: ${key}` }, words);
  const open = item.merge && item.merge.length === 2
    ? h("a", { class: "button", "data-key": "o", href: address({ merge: item.merge[0], with: item.merge[1] }) }, "Compare side by side")
    : item.question ? h("a", { class: "button", "data-key": "o", href: address({ query: item.question.repair ?? item.question.query }) }, "Open the query in SPARQL")
      : item.subjects.length > 0 && h("a", { class: "button", "data-key": "o", href: proposes && !item.proposal ? address({ edit: item.subjects[0] }) : entityAddress(item.subjects[0]) }, proposes && !item.proposal ? "Edit it" : "Open it");
  return [
    h("header", null, h("h2", { class: "item-head", dir: "auto" }, item.proposal ? item.title : sentence(item.title)),
      h("p", { class: "meta" }, h("span", null, item.kind), sureness(item) && h("span", null, sureness(item)), item.author && h("span", { dir: "auto" }, item.author), item.time && h("span", null, timeNode(item.time)), item.proposal && h("span", null, `proposal ${item.proposal.id}, version ${item.version}`))),
    item.sentence && h("blockquote", { dir: "auto" }, item.sentence),
    item.question && h("p", { class: "notes", dir: "auto" }, item.question.why),
    item.moved.length > 0 && h("div", { class: "failure" }, h("p", { class: "failure-title" }, "Data changed since the proposal"), lines(item.moved)),
    lines(item.validation, "problems"),
    difference(item),
    item.pair?.length > 0 && h("section", null, h("h3", null, "Evidence for it"), lines(item.pair, "evidence-list")),
    item.against?.length > 0 && h("section", null, h("h3", null, "Evidence against it"), lines(item.against, "evidence-list")),
    item.examples?.length > 0 && h("section", null, h("h3", null, `${item.examples.length} of the ${item.cause} findings`), lines(item.examples, "evidence-list")),
    evidence(item.evidence), discussion(item.proposal),
    h("div", { class: "edit-foot" }, writes && decidable(item) && reason,
      h("p", { class: "actions" },
        writes && decidable(item) && [button("a", item.merge ? "Merge" : "Accept", () => acts.accept(why()), true), button("r", item.source === "duplicates" ? "Keep as two entities" : "Reject", () => acts.reject(why()))],
        !writes && proposes && !item.proposal && decidable(item) && button("a", "Propose", () => acts.propose(), true),
        button("s", "Skip", () => acts.skip()), proposes && item.proposal && button("e", "Amend", () => put(extra, amending(item.proposal, acts.amended))), open),
      h("div", { class: "edit-outcome", "aria-live": "polite" }), extra),
  ];
}
