// A box in which an entity is chosen by its name: an editable combobox with a list (WAI-ARIA, Combobox Pattern).

import { get } from "./api.js";
import { freshId, h, put } from "./dom.js";
import { apart, expanded, learn, nameOf, prefixed } from "./terms.js";

const PAUSE = 120; // milliseconds after the last key
const SHOWN = 8;

/** Entities that are named so, or begin so: [{iri, label, types, apart}], those of some classes first. */
async function candidates(text, classes, signal) {
  const words = text.replace(/["*()^:+-]/g, " ").trim();
  if (!words) return [];
  const find = async (types) => {
    const limits = types.length ? { types, subclasses: "true" } : {};
    const [known, begun] = await Promise.all([
      get("resolve", { name: text, limit: SHOWN, types }, { signal }),
      get("search", { q: `${words}*`, mode: "text", group_by: "subject", limit: SHOWN, ...limits }, { signal }),
    ]);
    return [...known.candidates.filter(({ confidence }) => confidence >= 0.05), ...begun.hits.map((hit) => ({ iri: hit.subject, label: hit.label, types: hit.types }))];
  };
  const found = await find(classes);
  if (!found.length && classes.length) found.push(...await find([]));
  const seen = new Set();
  return found.filter(({ iri }) => !iri.startsWith("_:") && !seen.has(iri) && seen.add(iri)).slice(0, SHOWN);
}

/** The IRI that a text is: one in full, or a prefixed name. */
const asIri = (text) => (/^<?[a-z][a-z0-9+.-]*:[^\s<>"{}|\\^`]+>?$/i.test(text) ? expanded(text.replace(/^<|>$/g, "")) : null);

/** What tells one of several apart: its types, and of namesakes a fact, or as much of the IRI as it takes. */
function detail(one, tails) {
  const alone = tails.get(one.iri) === nameOf(one.iri);
  const types = (one.types ?? []).slice(0, 2).map((type) => nameOf(type)).join(", ");
  return [types, one.apart ?? (alone ? null : tails.get(one.iri))].filter(Boolean).join(" · ") || prefixed(one.iri) || "";
}

/** A combobox; `choose(iri, label)` is called with what was chosen, null where the box was emptied. */
export function chooser({ id = freshId("choose"), iri = null, classes = [], choose, find = null, placeholder = "Name of an entity", ...attributes }) {
  const list = h("ul", { id: freshId("options"), role: "listbox", class: "options-list", hidden: true, "aria-label": "Entities" });
  let found = [];
  let at = -1;
  let timer = 0;
  let running = null;
  let chosen = iri;
  let looked = null; // the text that was looked for last
  const input = h("input", {
    id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", dir: "auto", placeholder, value: iri ? nameOf(iri) : "",
    "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list", ...attributes,
    oninput: () => {
      input.setCustomValidity("");
      clearTimeout(timer);
      timer = setTimeout(look, PAUSE);
    },
    onkeydown: key,
    onblur: () => setTimeout(leave, 100),
  });

  async function look() {
    running?.abort();
    const text = input.value.trim();
    if (!text) {
      take(null);
      return;
    }
    const controller = new AbortController();
    running = controller;
    try {
      const more = await (find ? find(text, controller.signal) : candidates(text, classes, controller.signal));
      if (running !== controller) return;
      const written = asIri(text);
      found = written && !more.some((one) => one.iri === written) ? [...more, { iri: written, label: null, types: [] }] : more;
      looked = text;
      draw();
    } catch (error) {
      if (error.name === "AbortError") return;
      found = [];
      put(list, h("li", { class: "unit", role: "option", "aria-disabled": "true" }, error.message));
      open(true);
    }
  }

  function draw() {
    at = -1;
    for (const one of found) learn(one.iri, one.label);
    const tails = apart(found.map((one) => one.iri));
    put(list, found.length ? found.map((one, place) => h("li", {
      id: `${list.id}-${place}`, role: "option", "aria-selected": "false", title: one.iri,
      onmousedown: (event) => {
        event.preventDefault();
        take(one);
      },
    }, h("span", { dir: "auto" }, one.label ?? prefixed(one.iri) ?? one.iri), h("span", { class: "unit", dir: "auto" }, detail(one, tails)))) : h("li", { class: "unit", role: "option", "aria-disabled": "true" }, "No entity has this name; an IRI is taken as it is."));
    open(true);
  }

  function open(shown) {
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    if (!shown) input.removeAttribute("aria-activedescendant");
  }

  function point(place) {
    list.children[at]?.setAttribute("aria-selected", "false");
    at = (place + found.length) % found.length;
    list.children[at].setAttribute("aria-selected", "true");
    list.children[at].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", `${list.id}-${at}`);
  }

  function key(event) {
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && found.length) {
      event.preventDefault();
      if (list.hidden) open(true);
      point(at + (event.key === "ArrowDown" ? 1 : at < 0 ? 0 : -1));
    } else if (event.key === "Enter" && !list.hidden && found.length) {
      event.preventDefault();
      take(found[Math.max(at, 0)]);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      open(false);
    }
  }

  function take(one) {
    running?.abort();
    running = null;
    chosen = one?.iri ?? null;
    input.value = one ? nameOf(one.iri) : "";
    input.title = chosen ?? "";
    input.setCustomValidity("");
    found = [];
    open(false);
    choose(chosen, one?.label ?? null);
  }

  /** Take text that was not chosen where it is an IRI or the name of one entity; else show an error. */
  async function leave() {
    if (input === document.activeElement) return;
    open(false);
    const text = input.value.trim();
    if (chosen && text === nameOf(chosen)) return;
    const written = asIri(text);
    if (written) take({ iri: written, label: null });
    else if (text) await takeNamed(text);
    else if (chosen) take(null);
  }

  async function takeNamed(text) {
    const same = (one) => (one.label ?? nameOf(one.iri)).toLowerCase() === text.toLowerCase();
    try {
      const named = (looked === text ? found : await (find ? find(text) : candidates(text, classes))).filter(same);
      if (input === document.activeElement || input.value.trim() !== text) return;
      if (named.length === 1) take(named[0]);
      else refuse(named.length ? `Several are named “${text}”: choose one of the list` : `Nothing is named “${text}”: choose one of the list, or give an IRI`);
    } catch (error) {
      refuse(error.message);
    }
  }

  /** Say that what is written is no entity; what was chosen before stays. */
  function refuse(words) {
    input.setCustomValidity(chosen ? `${words}. ${nameOf(chosen)} stays.` : words);
    input.reportValidity();
  }

  if (iri) input.title = iri;
  return { node: h("div", { class: "chooser" }, input, list), input };
}

/** The classes of the world to choose from, the commonest first: [{iri, label}]. */
export async function classesOf(limit = 200) {
  const { classes } = await get("schema", { limit });
  for (const { iri, label } of classes) learn(iri, label);
  return classes;
}
