// The search: a box, what was found as it is typed, facets that filter, and options.

import { get } from "./api.js";
import { count, duration, empty, h, many, option, put } from "./dom.js";
import { showFacets } from "./facets.js";
import { showHits } from "./hits.js";
import { failure } from "./keys.js";
import { overview } from "./overview.js";
import { address, parameters, record } from "./router.js";
import { explainQuery } from "./explain.js";
import { takeList } from "./take.js";
import { webAddress } from "./terms.js";

const PAUSE = 90; // milliseconds after the last key
const COUNTED = 100; // passages that the facets count
const DEFAULTS = { mode: "hybrid", limit: "10", fusion: "relative", group_by: "subject" };
const UNGROUPED = "none"; // what the URL says where each passage is a result
const LISTS = ["types", "predicates", "graphs", "sources", "languages"];

/** What the URL asks for. */
function read(asked) {
  const state = { q: asked.get("q") ?? "", where: asked.get("where") ?? "" };
  for (const [name, value] of Object.entries(DEFAULTS)) state[name] = asked.get(name) ?? value;
  for (const name of LISTS) state[name] = asked.getAll(name);
  return state;
}

/** What differs from the defaults, as parameters. */
function write(state) {
  const values = {};
  for (const [name, value] of Object.entries(state)) {
    if (Array.isArray(value) ? value.length : value && value !== DEFAULTS[name]) values[name] = value;
  }
  return values;
}

/** The options of a request that the server takes. */
const request = (state) => ({ ...write(state), limit: state.limit, group_by: state.group_by === UNGROUPED ? null : "subject" });

export function searchView(asked) {
  let state = read(asked);
  let running = null; // the request under way
  let timer = 0;
  let shown = null; // the address of what is shown

  const status = h("p", { class: "status", role: "status", "aria-live": "polite" });
  const results = h("div", { class: "results" });
  const facets = h("aside", { class: "facets", "aria-label": "Filters" });
  const box = h("input", {
    id: "search-box", type: "search", name: "q", dir: "auto", autocomplete: "off", spellcheck: "false",
    placeholder: "Search this world", "aria-label": "Search this world", "aria-describedby": "search-hint", enterkeyhint: "search",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => change({ q: box.value }, { replace: state.q !== "" }), PAUSE);
    },
    onkeydown: keyInBox,
  });
  const options = optionsPart((values) => change(values));
  const form = h("form", { class: "search", role: "search", onsubmit: (event) => {
    event.preventDefault();
    clearTimeout(timer);
    change({ q: box.value }, { replace: state.q !== "" });
  } },
  h("div", { class: "box" }, box, h("kbd", { id: "search-hint", title: "Press / to come here" }, "/")), options.node);
  const body = h("div", { class: "search-body" }, facets, h("div", { class: "found" }, status, results));
  const node = h("section", { class: "search-view", "aria-label": "Search" }, h("h1", { class: "unseen" }, "Search"), form, body);

  function keyInBox(event) {
    if (event.key === "Escape" && box.value) {
      event.preventDefault();
      box.value = "";
      change({ q: "" });
    } else if (event.key === "ArrowDown") {
      const first = results.querySelector(".hit h3 a");
      if (first) {
        event.preventDefault();
        first.focus();
      }
    }
  }

  node.addEventListener("keydown", (event) => {
    const hit = event.target.closest?.(".hit");
    if (!hit) return;
    if (event.key === "Escape") box.focus();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const links = [...results.querySelectorAll(".hit h3 a")];
      const at = links.indexOf(hit.querySelector("h3 a")) + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      (at < 0 ? box : links[Math.min(at, links.length - 1)]).focus();
    }
  });

  function change(values, { replace = false } = {}) {
    state = { ...state, ...values };
    record(address(write(state)), { replace });
    run();
  }

  /** Show what the state says; the request before is given up. */
  async function run() {
    running?.abort();
    running = null;
    options.show(state);
    if (box.value !== state.q && document.activeElement !== box) box.value = state.q;
    view.title = title(state);
    document.title = view.title;
    const wanted = address(write(state));
    if (!state.q.trim()) {
      shown = wanted;
      status.textContent = "";
      put(facets);
      node.classList.remove("busy");
      node.classList.add("start");
      put(results, await overview(state));
      return;
    }
    node.classList.remove("start");
    const controller = new AbortController();
    running = controller;
    node.classList.add("busy");
    try {
      const began = performance.now();
      const answer = await get("search", request(state), { signal: controller.signal });
      if (running !== controller) return;
      shown = wanted;
      arrived(answer, performance.now() - began);
      await countFacets(controller);
    } catch (error) {
      if (error.name === "AbortError" || running !== controller) return;
      status.textContent = "";
      put(results, failure(error, run));
    } finally {
      if (running === controller) {
        running = null;
        node.classList.remove("busy");
      }
    }
  }

  function arrived(answer, took) {
    const { hits } = answer;
    performance.mark("worlds-results");
    const filters = LISTS.some((name) => state[name].length) || state.where;
    if (!hits.length) {
      status.textContent = "Nothing found";
      put(results, empty("Nothing found", notes(answer) ?? (filters
        ? "No text has these words and passes the filters."
        : "No text has these words. Try others; word* finds words with this beginning."),
      filters && h("p", null, h("button", { onclick: () => change({ types: [], predicates: [], graphs: [], sources: [], languages: [], where: "" }) }, "Remove the filters"))));
      return;
    }
    const list = showHits(answer, { ...request(state) });
    const more = h("p", { class: "more" });
    put(results, h("h2", { class: "unseen" }, "Results"), notes(answer), list.node, more, takeList([...new Set(hits.map(({ subject }) => subject))].filter((iri) => webAddress(iri) || iri.startsWith("urn:")), state.q), explainQuery(answer.explain));
    tell(hits.length, answer.cursor, took);
    offer(more, list, answer.cursor);
  }

  function tell(number, cursor, took) {
    const time = took === undefined ? "" : ` in ${duration(took)}`;
    status.textContent = cursor ? `The best ${many(number, "result")}${time}` : `${many(number, "result")}${time}`;
  }

  function offer(place, list, cursor) {
    if (!cursor) {
      put(place);
      return;
    }
    const button = h("button", { onclick: async () => {
      button.disabled = true;
      button.textContent = "Loading…";
      try {
        const answer = await get("search", { ...request(state), cursor });
        const first = list.add(answer, { ...request(state), cursor });
        tell(list.length, answer.cursor);
        offer(place, list, answer.cursor);
        first?.focus();
      } catch (error) {
        put(place, failure(error, () => offer(place, list, cursor)));
      }
    } }, "More results");
    put(place, button);
  }

  /** Facets count what the other filters leave, so each that filters is asked for without its own. */
  async function countFacets(controller) {
    const active = LISTS.filter((name) => state[name].length);
    const ask = (without) => get("search", { ...request(state), ...without, group_by: null, limit: COUNTED, facets: "true" }, { signal: controller.signal });
    const [all, ...others] = await Promise.all([ask({}), ...active.map((name) => ask({ [name]: [] }))]);
    if (running !== controller) return;
    const found = { ...all.facets };
    active.forEach((name, at) => {
      found[name] = others[at].facets[name];
    });
    const cut = [all, ...others].some(({ cursor }) => cursor);
    showFacets(facets, found, state, change, `Counts are of ${cut ? `passages, among the best ${COUNTED}` : "the passages"} that the other filters leave.`);
  }

  const view = {
    kind: "search",
    node,
    title: title(state),
    follow: (now) => {
      state = read(now);
      box.value = state.q;
      if (address(write(state)) !== shown) run();
      if (!state.q) box.focus();
    },
    arrive: () => {
      if (!state.q && matchMedia("(hover: hover)").matches) box.focus({ preventScroll: true });
      // A view that comes back from the history may be older than its address.
      if (address(write(read(parameters()))) !== shown && shown !== null) view.follow(parameters());
    },
  };
  box.value = state.q;
  run();
  return view;
}

const title = (state) => [state.q.trim(), document.documentElement.dataset.world].filter(Boolean).join(" · ");

/** What could not be done as asked, from the answer. */
function notes(answer) {
  const said = answer.explain?.notes ?? [];
  return said.length ? h("ul", { class: "notes" }, said.map((text) => h("li", { dir: "auto" }, text))) : null;
}

function choice(name, label, values, change) {
  const select = h("select", { id: `option-${name}`, onchange: () => change({ [name]: select.value }) },
    Object.entries(values).map(([value, words]) => h("option", { value }, words)));
  return [select, option(select.id, label, select)];
}

function optionsPart(change) {
  const [mode, modePart] = choice("mode", "Find by", { hybrid: "meaning and words", vector: "meaning", text: "words" }, change);
  const [limit, limitPart] = choice("limit", "Results", { 10: "10", 20: "20", 50: "50", 100: "100" }, change);
  const [fusion, fusionPart] = choice("fusion", "Fusion", { relative: "relative scores", rrf: "ranks (RRF)" }, change);
  const group = h("input", { type: "checkbox", id: "option-group", onchange: () => change({ group_by: group.checked ? DEFAULTS.group_by : UNGROUPED }) });
  const where = h("textarea", {
    id: "option-where", rows: "2", spellcheck: "false", class: "code", placeholder: "?subject a s:Rover ; s:launched ?day",
    onchange: () => change({ where: where.value.trim() }),
    onkeydown: (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) change({ where: where.value.trim() });
    },
  });
  const node = h("details", { class: "options" }, h("summary", null, "Options"),
    h("div", { class: "option-row" }, modePart, limitPart, fusionPart,
      h("div", { class: "option check" }, group, h("label", { for: group.id }, "One result for each subject"))),
    h("div", { class: "option wide" }, h("label", { for: where.id }, "Only subjects with this SPARQL pattern over ", h("code", null, "?subject")), where));
  return {
    node,
    show: (state) => {
      mode.value = state.mode;
      limit.value = state.limit;
      fusion.value = state.fusion;
      group.checked = state.group_by !== UNGROUPED;
      if (document.activeElement !== where) where.value = state.where;
      const changed = [state.mode !== "hybrid", state.limit !== "10", state.fusion !== "relative", state.group_by === UNGROUPED, state.where].filter(Boolean).length;
      node.firstChild.textContent = changed ? `Options (${count(changed)} set)` : "Options";
      if (state.where) node.open = true;
    },
  };
}
