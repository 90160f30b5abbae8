// The review: all that waits for a person in one list, decided one by one by keyboard, or many at once.

import { access, get, includes, stats as figures } from "./api.js";
import { actions, aside, count, empty, h, hint, loading, many, put, quiet } from "./dom.js";
import { failure } from "./keys.js";
import { nameOfIri, sentence } from "./names.js";
import { done, notice, revisionLink, undoLast } from "./notice.js";
import { about, accept, decidable, itemsOf, propose, reject, SOURCES, sureness, uncalibrated } from "./queue.js";
import { batchDialog } from "./batch.js";
import { itemView } from "./item.js";
import { address, record } from "./router.js";

const SMALL = 100_000; // quads of a world whose slow sources are read unasked
const FIRST = 60; // items of a source that are shown
const KEYS = [["j", "next"], ["k", "back"], ["a", "accept"], ["r", "reject"], ["s", "skip"], ["e", "amend"], ["x", "select"], ["u", "undo"], ["o", "open"]];

const KEPT = "worlds-review-keys";

/** The switch of the keys: who speaks to the page, or has other shortcuts, turns them off (WCAG 2.1.4). */
function switchOf() {
  const box = h("input", { type: "checkbox", checked: keysOn(), onchange: () => {
    try {
      localStorage.setItem(KEPT, box.checked ? "on" : "off");
    } catch {
      // Then they stay as they are.
    }
  } });
  return box;
}

function keysOn() {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true;
  }
}

export function reviewView(asked) {
  const chosen = asked.get("review");
  const found = new Map(); // source → {state, items, shown}
  const list = h("div", { class: "review-list", role: "region", "aria-label": "To review" });
  const detail = h("div", { class: "review-detail", role: "region", "aria-label": "Details", tabindex: "-1" });
  const filter = h("input", { type: "search", "aria-label": "Filter", placeholder: "Filter by words or author", dir: "auto", oninput: () => draw() });
  const least = h("input", { type: "number", min: "0", max: "1", step: "0.05", "aria-label": "Lowest confidence", placeholder: "0–1", oninput: () => draw() });
  const bar = h("div", { class: "review-batch", "aria-live": "polite" });
  const node = h("section", { class: "review-view" }, h("h1", null, "Review"),
    h("p", { class: "keys unit" }, h("label", { class: "check" }, switchOf(), " Keys: "), " ", KEYS.map(([key, words]) => [h("kbd", null, key), ` ${words}  `])),
    h("div", { class: "review-filters" }, filter, h("label", { class: "check" }, "Confidence at least ", least)), bar,
    h("div", { class: chosen ? "review-body open" : "review-body" }, list, detail));
  const selected = new Set();
  let me = { level: "none" };
  let current = null;
  let skipped = 0;
  const decidedKeys = new Set();

  const passes = (item) => {
    const words = filter.value.trim().toLowerCase();
    if (least.value && (item.score ?? 0) < Number(least.value)) return false;
    return !words || `${item.title} ${item.author ?? ""} ${item.kind} ${about(item)} ${item.evidence.map(({ author }) => author ?? "").join(" ")}`.toLowerCase().includes(words);
  };
  const visible = () => [...found.values()].flatMap(({ items = [], shown }) => items.filter((item) => passes(item) && !decidedKeys.has(item.key)).slice(0, shown));

  async function look(source) {
    found.set(source, { state: "loading", items: [], shown: FIRST });
    draw();
    try {
      const items = await itemsOf(source);
      const left = (items.total ?? items.length) - items.length;
      items.sort((a, b) => (b.cause ?? 0) - (a.cause ?? 0) || a.kind.localeCompare(b.kind) || (b.score ?? b.points ?? 0) - (a.score ?? a.points ?? 0));
      found.set(source, { state: "there", items, left, shown: FIRST });
    } catch (error) {
      found.set(source, { state: "failed", items: [], shown: 0, error });
    }
    draw();
    if (!current) start();
  }

  /** The first item is shown without being asked for; of an address, the proposal that it names. */
  function start() {
    const items = visible();
    const wanted = chosen ? items.find(({ proposal }) => String(proposal?.id) === chosen) : items[0];
    if (wanted) show(wanted, false);
    else if (chosen && found.get("proposals")?.state === "there") showDecided();
    else if (!chosen) {
      const states = Object.keys(SOURCES).map((source) => found.get(source)?.state);
      if (states.includes("loading")) put(detail, loading("Looking"));
      else if (states.includes(undefined)) put(detail, empty("No open proposals", "Checks of the data run when you choose them in the list."));
      else put(detail, empty("Nothing to review", "Proposals, and findings in the data, appear here."));
    }
  }

  async function showDecided() {
    try {
      const one = await get(`proposals/${encodeURIComponent(chosen)}`);
      put(detail, h("h2", { dir: "auto" }, one.why ?? `Proposal ${one.id}`), h("p", { class: "meta" }, h("span", null, `Proposal ${one.id} is ${one.status}`), one.reviewer && h("span", { dir: "auto" }, `by ${one.reviewer}`), one.revision && revisionLink(one.revision)), one.decision && h("p", { dir: "auto" }, one.decision));
    } catch (error) {
      put(detail, failure(error));
    }
  }

  function draw() {
    const focused = document.activeElement?.dataset?.item;
    put(list, Object.entries(SOURCES).map(([source, told]) => group(source, told, found.get(source))));
    if (focused) [...list.querySelectorAll("[data-item]")].find((one) => one.dataset.item === focused)?.focus();
    drawBar();
  }

  function group(source, told, held) {
    const items = (held?.items ?? []).filter((item) => passes(item) && !decidedKeys.has(item.key));
    const head = h("h2", null, told.title, held?.state === "there" && h("span", { class: "count" }, ` ${count(items.length)}`));
    if (!held) return h("section", { class: "review-group" }, head, hint(told.hint, " ", quiet({ onclick: () => look(source) }, "Run this check")));
    if (held.state === "loading") return h("section", { class: "review-group" }, head, loading("Looking"));
    if (held.state === "failed") return h("section", { class: "review-group" }, head, failure(held.error, () => look(source)));
    if (!items.length) return h("section", { class: "review-group none" }, head, hint("None."));
    const kinds = Map.groupBy(items.slice(0, held.shown), ({ kind }) => kind);
    return h("section", { class: "review-group" }, head,
      [...kinds].map(([kind, own]) => [(kinds.size > 1 || kind !== "edit") && h("h3", null, kind, h("span", { class: "count" }, ` ${count(own.length)}`)), h("ul", null, own.map(line))]),
      held.left > 0 && hint(`${count(held.left)} more were not read: they come when some of these are decided.`),
      items.length > held.shown && quiet({ onclick: () => {
        held.shown += 5 * FIRST;
        draw();
      } }, `${count(items.length - held.shown)} more`));
  }

  function line(item) {
    const box = decidable(item) && includes(me.level, "write") && h("input", { type: "checkbox", "aria-label": `Select: ${item.title}`, checked: selected.has(item), onchange: () => select(item, box.checked) });
    return h("li", { class: item.moved.length ? "moved" : null }, box,
      h("button", { class: "item", "data-item": item.key, "aria-current": item === current ? "true" : null, onclick: () => show(item) },
        h("span", { class: "item-title", dir: "auto" }, item.proposal ? item.title : sentence(item.title)),
        h("span", { class: "meta" }, item.subjects.slice(0, 2).map(nameOfIri), item.author && h("span", { dir: "auto" }, item.author), item.score !== 1 && sureness(item) && h("span", null, sureness(item)), item.moved.length > 0 && h("span", null, "has moved"))));
  }

  function select(item, on) {
    if (on) selected.add(item);
    else selected.delete(item);
    drawBar();
  }

  function drawBar() {
    const every = visible().filter(decidable);
    const items = every.filter((item) => !uncalibrated(item));
    const chosenItems = every.filter((item) => selected.has(item));
    if (!includes(me.level, "write") || !every.length) {
      put(bar);
      return;
    }
    put(bar, items.length > 0 && quiet({ onclick: () => {
      const all = chosenItems.length < items.length;
      selected.clear();
      if (all) for (const item of items) selected.add(item);
      draw();
    } }, chosenItems.length < items.length ? `Select ${many(items.length, "item")}${least.value ? ` of at least ${least.value}` : ""}` : "Select none"),
    items.length < every.length && aside(`${many(every.length - items.length, "item")} with a score alone: after 30 decisions, one by one, these have a probability. `),
    chosenItems.length > 0 && [h("button", { onclick: () => batch(chosenItems, true) }, `Accept ${count(chosenItems.length)}…`), h("button", { onclick: () => batch(chosenItems, false) }, `Reject ${count(chosenItems.length)}…`)]);
  }

  async function batch(items, accepting) {
    const ended = await batchDialog(items, accepting);
    if (!ended) return;
    for (const item of ended.decided) {
      selected.delete(item);
      decidedKeys.add(item.key);
    }
    done(`${accepting ? "Accepted" : "Rejected"} ${many(ended.decided.length, "item")}`, ended.revisions, again);
    draw();
    next();
  }

  const again = () => {
    decidedKeys.clear();
    current = null;
    for (const source of found.keys()) look(source);
  };

  function show(item, focus = true) {
    current = item;
    record(address({ review: item.proposal ? item.proposal.id : "" }));
    put(detail, itemView(item, me, { accept: (options) => decide(item, accept, "Accepted", options), reject: (options) => decide(item, reject, "Rejected", options), propose: () => decide(item, async (one) => { await propose(one); return null; }, "Proposed"), skip: () => next(), amended: () => again() }));
    node.querySelector(".review-body").classList.add("open");
    for (const one of list.querySelectorAll("[data-item]")) {
      if (one.dataset.item === item.key) {
        one.setAttribute("aria-current", "true");
        one.scrollIntoView({ block: "nearest" });
        if (focus && !matchMedia("(max-width: 52rem)").matches) one.focus();
      } else one.removeAttribute("aria-current");
    }
  }

  /** The item after the current one that is not decided. */
  function next(step = 1) {
    const items = visible();
    if (!items.length) {
      current = null;
      put(detail, empty("Everything is decided", `${count(decidedKeys.size)} decided.`));
      draw();
      return;
    }
    const at = items.indexOf(current);
    const place = at < 0 ? Math.min(skipped, items.length - 1) : Math.min(Math.max(at + step, 0), items.length - 1);
    show(items[place]);
  }

  async function decide(item, job, words, options = {}) {
    const outcome = detail.querySelector(".edit-outcome");
    if (outcome) put(outcome, loading("Saving the decision"));
    try {
      const items = visible();
      const revision = await job(item, options);
      skipped = Math.max(items.indexOf(item), 0);
      decidedKeys.add(item.key);
      selected.delete(item);
      if (revision) done(words, [revision], again);
      else notice(h("span", null, `${words}.`));
      current = null;
      draw();
      next();
    } catch (error) {
      const place = detail.querySelector(".edit-outcome") ?? detail.appendChild(h("div", { class: "edit-outcome" }));
      put(place, failure(error, () => decide(item, job, words, options)), error.status === 409 && job === accept && actions(h("button", { onclick: () => decide(item, accept, "Accepted", { force: true }) }, "Apply the other changes"), h("button", { onclick: again }, "Reload the proposal")));
    }
  }

  const pressed = (event) => {
    if (!node.isConnected || !keysOn() || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select, dialog")) return;
    const press = (name) => detail.querySelector(`[data-key="${name}"]`)?.click();
    const deeds = {
      j: () => next(), ArrowDown: () => next(), k: () => next(-1), ArrowUp: () => next(-1), s: () => next(), a: () => press("a"), r: () => press("r"), e: () => press("e"), o: () => press("o"), u: undoLast,
      x: () => current && decidable(current) && (select(current, !selected.has(current)), draw()),
    };
    if (!deeds[event.key] || (event.key.startsWith("Arrow") && !event.target.closest(".review-list"))) return;
    event.preventDefault();
    deeds[event.key]();
  };
  document.addEventListener("keydown", pressed);

  async function begin() {
    me = await access();
    await look("proposals");
    const stats = await figures().catch(() => ({ quads: SMALL + 1 }));
    if (stats.quads <= SMALL) for (const source of Object.keys(SOURCES)) if (SOURCES[source].slow) look(source);
    if (!current) start();
  }
  draw();
  begin();
  return { node, title: "Review", arrive: () => list.querySelector("[aria-current]")?.focus({ preventScroll: true }) };
}

