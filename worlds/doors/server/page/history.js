// Curation: the revisions, what one of them did, and taking it back.

import { get, post, request } from "./api.js";
import { chooser } from "./choose.js";
import { differenceView } from "./difference.js";
import { actions, aside, count, empty, h, hint, loading, many, put, quiet } from "./dom.js";
import { askForKey, confirm, failure } from "./keys.js";
import { amounts, revisionLine, timeNode } from "./revisions.js";
import { done, revisionLink } from "./notice.js";
import { address, forget, go } from "./router.js";
import { parseTerm, show } from "./terms.js";

const PAGE = 50; // revisions
const QUADS = 200; // of each side of a difference, at first
const MOST_QUADS = 5000;
const FILTERS = ["author", "entity", "message", "since", "until"];
const REDIRECTS = "<urn:worlds:redirects>";

export function historyView(asked) {
  const chosen = asked.get("history");
  const filter = Object.fromEntries(FILTERS.map((name) => [name, asked.get(name)]).filter(([, value]) => value));
  const list = h("div", { class: "history-list" }, loading("Reading the history"));
  const detail = h("div", { class: "history-detail" });
  const node = h("section", { class: "history-view" },
    h("h1", null, "History"), filters(filter),
    h("div", { class: chosen ? "history-body open" : "history-body" }, list, detail));

  async function readList() {
    const lines = h("ol", { class: "revision-list", "aria-label": "Revisions, newest first" });
    const more = h("p", { class: "more" });
    const read = async (before) => {
      try {
        const { revisions } = await get("history", { ...filter, limit: PAGE + 1, before });
        if (before === undefined) {
          put(list, revisions.length ? [lines, more] : Object.keys(filter).length ? empty("No such revision", "No revision passes the filters.") : empty("No revisions yet", "Every write that changes something appears here."));
        }
        lines.append(...revisions.slice(0, PAGE).map((entry) => h("li", null,
          revisionLine(entry, { ...(String(entry.revision) === chosen && { "aria-current": "true" }), href: address({ history: entry.revision, ...filter }) }))));
        put(more, revisions.length > PAGE && h("button", { onclick: () => read(revisions[PAGE - 1].revision) }, "Earlier revisions"));
      } catch (error) {
        put(before === undefined ? list : more, failure(error, () => (before === undefined ? readList() : read(before))));
      }
    };
    await read();
  }

  async function readDetail(most = QUADS, outcome = null) {
    if (!chosen) {
      put(detail, empty("Choose a revision", "Its changes are shown here, and can be undone."));
      return;
    }
    put(detail, outcome, loading(`Reading revision ${chosen}`));
    try {
      const told = await get(`history/${encodeURIComponent(chosen)}`, { limit: most });
      put(detail, outcome, difference(told, most, readDetail, undo));
    } catch (error) {
      put(detail, outcome, failure(error, () => readDetail(most)));
    }
  }

  async function undo(entry, place) {
    const sure = await confirm(`Undo revision ${entry.revision}?`,
      `A new revision will ${deeds(entry)}. Nothing is lost: it can be undone, too.`, "Undo it");
    if (sure) await takeBack(entry, place, {});
  }

  async function takeBack(entry, place, options) {
    put(place, loading("Undoing"));
    try {
      const change = await post(`history/${entry.revision}/undo`, options);
      forget();
      readList();
      readDetail(QUADS, outcome(entry, change));
    } catch (error) {
      const again = () => takeBack(entry, place, options);
      put(place);
      if (error.needsKey && await askForKey(error.message)) {
        await again();
        return;
      }
      put(place, failure(error, again, again),
        error.status === 409 && !options.force && actions(
          h("button", { onclick: () => takeBack(entry, place, { force: true }) }, "Undo the other changes"),
          aside("Later changes stay as they are.")));
    }
  }

  readList();
  readDetail();
  return { node, title: chosen ? `Revision ${chosen}` : "History" };
}

function deeds({ added, removed }) {
  const parts = [
    added > 0 && `remove the ${many(added, "quad")} that it added`,
    removed > 0 && `add the ${many(removed, "quad")} that it removed`,
  ].filter(Boolean);
  return parts.join(", and ") || "take back what it did";
}

function outcome(entry, change) {
  const said = change.revision === null
    ? `Nothing was left of revision ${entry.revision} to undo.`
    : [`Revision ${entry.revision} is undone by `, revisionLink(change.revision),
      `: ${many(change.added, "quad")} added, ${many(change.removed, "quad")} removed.`];
  return h("div", { class: "outcome", role: "status" }, h("p", null, said), (change.notes ?? []).map((text) => h("p", null, text)));
}

/** Name a revision, such as a release; its names are removed by their own buttons. */
function tagging(told, read) {
  const said = h("div", { role: "status" });
  const send = async (sent) => {
    try {
      await sent();
      await read();
    } catch (error) {
      if (error.needsKey && await askForKey(error.message)) await send(sent);
      else put(said, failure(error, () => send(sent)));
    }
  };
  const name = h("input", { name: "tag", required: true, autocomplete: "off", dir: "auto", placeholder: "2026-11" });
  return h("div", { class: "tagging" },
    told.tags.map((one) => h("span", { class: "badge", dir: "auto" }, one, quiet({ "aria-label": `Remove the tag ${one}`, onclick: () => send(() => request(`tags?name=${encodeURIComponent(one)}`, { method: "DELETE" })) }, "×"))),
    h("form", { onsubmit: (event) => { event.preventDefault(); send(() => post("tags", { name: name.value, revision: told.revision })); } },
      h("label", null, "Tag ", name), h("button", { type: "submit" }, "Add the tag")), said);
}

function difference(told, most, read, undo) {
  const place = h("div", { class: "undoing" });
  const graphs = [...told.graphs_created.map((iri) => ["created", iri]), ...told.graphs_dropped.map((iri) => ["dropped", iri])];
  return [
    h("header", { class: "detail-head" },
      h("div", null,
        h("h2", { dir: "auto" }, told.message ?? `Revision ${told.revision}`),
        h("p", { class: "meta" }, h("span", null, `#${told.revision}`), told.author && h("span", { dir: "auto" }, told.author),
          h("span", null, timeNode(told.time)), h("span", null, amounts(told.added, told.removed)))),
      told.undone
        ? hint("Nothing is left to undo.")
        : actions(merged(told) && h("button", { onclick: () => split(told, place, read) }, "Undo its merge"),
          h("button", { onclick: () => undo(told, place) }, "Undo this revision"))),
    tagging(told, read),
    place,
    differenceView(told.edits),
    graphs.length > 0 && h("ul", { class: "unit" }, graphs.map(([what, term]) => h("li", null, `Graph ${what}: `, show(parseTerm(term))))),
    told.truncated && most < MOST_QUADS && h("p", { class: "more" },
      h("button", { onclick: () => read(MOST_QUADS) }, `Show up to ${count(MOST_QUADS)} of each`)),
  ];
}

/** Whether a revision merged entities: it says where the old name leads. */
const merged = ({ quads_added: quads }) => quads.some(([, , , graph]) => graph === REDIRECTS);

async function split({ revision }, place, read) {
  put(place, loading("Splitting"));
  try {
    const change = await post(`history/${revision}/split`);
    forget();
    done("Split", [change.revision], () => read());
    put(place, change.unassigned?.length > 0 && h("p", { class: "notes" }, `${many(change.unassigned.length, "quad")} that came since stayed with the entity that was kept: look whose they are.`));
  } catch (error) {
    put(place, failure(error, () => split({ revision }, place, read)));
  }
}

/** Who, what, when: each narrows the list. */
function filters(held) {
  const field = (name, label, attributes = {}) => h("label", null, label, " ", h("input", { name, value: held[name] ?? "", autocomplete: "off", dir: "auto", ...attributes }));
  let entity = held.entity ?? null;
  const about = chooser({ iri: entity, "aria-label": "Entity", choose: (iri) => { entity = iri; } });
  const form = h("form", { class: "history-filters", role: "search", "aria-label": "Revisions", onsubmit: (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
    go(address({ history: "", ...values, ...(entity && { entity }) }));
  } },
  field("author", "By"), h("label", null, "About ", about.node), field("message", "Message"),
  field("since", "From", { placeholder: "2026-05-01" }), field("until", "Until", { placeholder: "2026-05-31" }), h("button", { type: "submit" }, "Filter"),
  Object.keys(held).length > 0 && h("a", { class: "quiet", href: address({ history: "" }) }, "Show all"));
  return h("details", { class: "filters", open: Object.keys(held).length > 0 }, h("summary", null, "Filter by author, text and time"), form);
}
