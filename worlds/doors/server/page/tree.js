// A tree, opened a level at a time (WAI-ARIA, Tree View Pattern), with a search; entities move by drag or menu.

import { get, language } from "./api.js";
import { count, freshId, h, loading, many, put } from "./dom.js";
import { failure } from "./keys.js";
import { learn, nameOf } from "./terms.js";

const PAGE = 100;
const PAUSE = 200; // milliseconds after the last key

const nameOfNode = ({ iri, label }) => label ?? (iri.startsWith("_:") ? iri : nameOf(iri));

/**
 * The tree of a scheme or a property. `select(iri)` is called with what is chosen; `move(iri, to, away)` with what was
 * dragged, `to` null for the top, where entities may be moved.
 */
export function treeView({ of, name, at = null, select, move = null }) {
  const list = h("ul", { role: "tree", "aria-label": name, class: "tree", onkeydown: key });
  const found = h("div", { class: "tree-found", hidden: true });
  const status = h("p", { class: "unit", role: "status" });
  const box = h("input", { type: "search", id: freshId("within"), placeholder: "Find in this tree", "aria-label": `Find in ${name}`, autocomplete: "off", dir: "auto", oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(find, PAUSE);
  } });
  const node = h("div", { class: "tree-box" }, box, status, found, h("div", { class: "tree-scroll" }, list));
  let timer = 0;
  let chosen = at;
  let dragged = null; // {iri, away}
  let looked = 0;
  let queue = Promise.resolve();

  const level = (parent, offset = 0) => get("tree", { of, parent, offset, limit: PAGE, language });

  function row(one, parent, depth) {
    learn(one.iri, one.label);
    const group = h("ul", { role: "group", hidden: true });
    const text = h("span", { class: "tree-name", dir: "auto" }, nameOfNode(one));
    const line = h("div", { class: "tree-row", title: one.iri, draggable: move && !one.iri.startsWith("_:") ? "true" : null, onclick: () => choose(item) },
      h("span", { class: "tree-toggle", "aria-hidden": "true", onclick: (event) => {
        event.stopPropagation();
        toggle(item);
      } }), text,
      one.apart && h("span", { class: "unit", dir: "auto" }, one.apart),
      one.instances > 0 && h("span", { class: "count tree-instances", title: many(one.instances, "instance") }, count(one.instances)),
      one.children > 0 && h("span", { class: "count", title: `${count(one.children)} directly below` }, count(one.children)));
    const item = h("li", { role: "treeitem", tabindex: "-1", "data-iri": one.iri, "aria-level": depth, "aria-selected": String(one.iri === chosen), "aria-expanded": one.children ? "false" : null,
      "aria-label": [nameOfNode(one), one.apart, one.instances > 0 && many(one.instances, "instance"), one.children > 0 && `${count(one.children)} below`].filter(Boolean).join(", ") }, line, group);
    Object.assign(item, { group, parentIri: parent, depth });
    if (move) dropping(line, one.iri, parent);
    return item;
  }

  function dropping(line, iri, parent) {
    line.addEventListener("dragstart", (event) => {
      dragged = { iri, away: parent };
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", iri);
    });
    line.addEventListener("dragend", () => {
      dragged = null;
      for (const one of node.querySelectorAll(".over")) one.classList.remove("over");
    });
    target(line, () => iri);
  }

  function target(element, to) {
    element.addEventListener("dragover", (event) => {
      if (!dragged || dragged.iri === to()) return;
      event.preventDefault();
      element.classList.add("over");
    });
    element.addEventListener("dragleave", () => element.classList.remove("over"));
    element.addEventListener("drop", (event) => {
      event.preventDefault();
      element.classList.remove("over");
      if (dragged) move(dragged.iri, to(), dragged.away);
    });
  }

  /** Fill a list with a level, and with a way to its next page. */
  async function fill(group, parent, depth, offset = 0) {
    const answer = await level(parent, offset);
    if (!offset) group.replaceChildren();
    group.querySelector(":scope > .tree-more")?.remove();
    group.append(...answer.nodes.map((one) => row(one, parent, depth)));
    const left = answer.total - offset - answer.nodes.length;
    if (left > 0) {
      const more = h("li", { role: "treeitem", class: "tree-more", tabindex: "-1", "aria-level": depth, "aria-selected": "false", onclick: async (event) => {
        event.stopPropagation();
        const last = more.previousElementSibling;
        await fill(group, parent, depth, offset + answer.nodes.length);
        focus(last.nextElementSibling ?? last);
      } }, h("span", { class: "tree-row" }, `${count(Math.min(left, PAGE))} more of ${count(answer.total)}`));
      group.append(more);
    }
    return answer;
  }

  async function toggle(item, open = item.getAttribute("aria-expanded") !== "true") {
    if (!item.hasAttribute("aria-expanded")) return;
    item.setAttribute("aria-expanded", String(open));
    item.group.hidden = !open;
    if (!open || item.group.childElementCount) return;
    // A circle may lead to itself again: each step of it is a row of its own.
    put(item.group, h("li", { role: "treeitem", "aria-selected": "false" }, loading("Reading")));
    try {
      await fill(item.group, item.dataset.iri, item.depth + 1);
    } catch (error) {
      put(item.group, h("li", { role: "treeitem", "aria-selected": "false" }, failure(error, () => {
        item.group.replaceChildren();
        toggle(item, true);
      })));
    }
  }

  function focus(item) {
    for (const one of list.querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
    if (!item) return;
    item.tabIndex = 0;
    item.focus({ preventScroll: true });
    (item.querySelector(".tree-row") ?? item).scrollIntoView({ block: "nearest" });
  }

  function mark(item) {
    for (const one of list.querySelectorAll('[aria-selected="true"]')) one.setAttribute("aria-selected", "false");
    item?.setAttribute("aria-selected", "true");
    for (const one of list.querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
    const first = item ?? list.querySelector('[role="treeitem"]');
    if (first) first.tabIndex = 0;
  }

  function choose(item) {
    chosen = item.dataset.iri;
    mark(item);
    item.focus({ preventScroll: true });
    select(chosen);
  }

  const rows = () => [...list.querySelectorAll('[role="treeitem"]')].filter((one) => !one.parentElement.closest('[role="group"][hidden]'));

  function key(event) {
    const item = event.target.closest('[role="treeitem"]');
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const seen = rows();
    const place = seen.indexOf(item);
    const open = item.getAttribute("aria-expanded");
    const above = item.parentElement.closest('[role="treeitem"]');
    const steps = {
      ArrowDown: () => focus(seen[Math.min(place + 1, seen.length - 1)]),
      ArrowUp: () => focus(seen[Math.max(place - 1, 0)]),
      Home: () => focus(seen[0]),
      End: () => focus(seen.at(-1)),
      ArrowRight: () => (open === "false" ? toggle(item, true) : open === "true" && focus(item.group.querySelector('[role="treeitem"]'))),
      ArrowLeft: () => (open === "true" ? toggle(item, false) : above && focus(above)),
      Enter: () => (item.classList.contains("tree-more") ? item.click() : choose(item)),
      " ": () => (item.classList.contains("tree-more") ? item.click() : choose(item)),
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    steps[event.key]();
  }

  /** Read and open one after the other: two at once would put rows twice. */
  const inTurn = (job) => (queue = queue.then(job, job));
  const reveal = (iri) => {
    chosen = iri;
    return inTurn(() => open(iri));
  };

  /** Open the way to an entity and mark it; it is put into its level where its page is not read yet. */
  async function open(iri) {
    if (!iri) {
      mark(null);
      return;
    }
    const shown = list.querySelector(`[data-iri="${CSS.escape(iri)}"]`);
    if (shown && !shown.parentElement.closest('[role="group"][hidden]')) {
      mark(shown);
      return;
    }
    const { path } = await get("tree", { of, parent: iri, limit: 1, language });
    let group = list;
    let item = null;
    for (const [depth, step] of (path ?? []).entries()) {
      item = [...group.children].find((one) => one.dataset.iri === step.iri);
      if (!item) {
        // It stands on a later page of a long level: it comes before the way to that page.
        const below = (await level(step.iri)).total;
        item = row({ ...step, children: below }, path[depth - 1]?.iri ?? null, depth + 1);
        group.insertBefore(item, group.querySelector(":scope > .tree-more"));
      }
      if (depth < path.length - 1) {
        await toggle(item, true);
        group = item.group;
      }
    }
    mark(item);
    item?.querySelector(".tree-row").scrollIntoView({ block: "nearest" });
  }

  async function read() {
    put(list, h("li", { role: "treeitem", "aria-selected": "false" }, loading("Reading")));
    try {
      const { total } = await fill(list, null, 1);
      status.textContent = total ? "" : "This tree is empty.";
      mark(null);
      if (chosen) await open(chosen);
    } catch (error) {
      put(list, h("li", { role: "treeitem", "aria-selected": "false" }, failure(error, () => inTurn(read))));
    }
  }

  async function find() {
    const words = box.value.trim();
    looked += 1;
    const mine = looked;
    found.hidden = !words;
    list.parentElement.hidden = Boolean(words);
    if (!words) {
      status.textContent = "";
      return;
    }
    try {
      const answer = await get("tree", { of, matching: words, limit: 50, language });
      if (mine !== looked) return;
      status.textContent = answer.total ? `${many(answer.total, "entity", "entities")} found${answer.total > 50 ? ", the best 50 are shown" : ""}` : "No name in this tree matches.";
      put(found, h("ul", { "aria-label": "Found" }, answer.nodes.map((one) => {
        learn(one.iri, one.label);
        return h("li", null, h("button", { class: "quiet tree-hit", dir: "auto", title: one.iri, onclick: () => {
          box.value = "";
          find();
          reveal(one.iri).then(() => select(one.iri));
        } }, nameOfNode(one)), h("span", { class: "unit", dir: "auto" }, way(one.path)));
      })));
    } catch (error) {
      put(found, failure(error, find));
    }
  }

  if (move) {
    const top = h("p", { class: "tree-top unit" }, "Top");
    target(top, () => null);
    list.before(top);
  }
  inTurn(read);
  return { node, reveal, reload: (iri = chosen) => {
    chosen = iri;
    return inTurn(read);
  }, parentOf: (iri) => list.querySelector(`[data-iri="${CSS.escape(iri)}"][aria-selected="true"]`)?.parentIri ?? null };
}

/** The way to an entity in words, from the top. */
export const way = (path) => (path?.length ? path.map(nameOfNode).join(" › ") : "at the top");
