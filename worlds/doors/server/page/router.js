// The state is in the URL's fragment, which never leaves the browser: what is sought stands in no server's log. A view
// is made for it, or, if it can, follows it.

import { forgetFigures } from "./api.js";

const cached = new Map(); // URL → {node, scroll}: what "back" shows again at once
const KEPT = 8;

const KINDS = ["browse", "entity", "edit", "new", "merge", "review", "health", "query", "history", "bring", "translate", "match"]; // else it is the search
let unsaved = null; // what is asked before something is left that is not saved

/** Ask this before the view is left; null for no question. */
export function leaving(question) {
  unsaved = question;
}

const mayLeave = () => !unsaved || globalThis.confirm(`${unsaved} Leave all the same?`);

let make = null;
let current = null; // {key, kind, node, scroll}

/** `build(parameters)` gives {kind, node, follow?, title} for what the URL asks. */
export function start(build) {
  make = build;
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => {
    if (mayLeave()) show(true);
    else history.pushState(null, "", current.key);
  });
  addEventListener("beforeunload", (event) => unsaved && event.preventDefault());
  document.addEventListener("click", follow);
  show(false);
}

const here = () => location.hash || "#";

export const parameters = () => new URLSearchParams(location.hash.slice(1));

export function address(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined) query.append(name, one);
    }
  }
  return `#${query}`;
}

/** Go to an address; the view that shows is asked to follow, or is replaced. */
export function go(url, { replace = false } = {}) {
  if (!mayLeave()) return;
  if (replace) history.replaceState(null, "", url);
  else if (url !== here()) history.pushState(null, "", url);
  show(false);
}

/** Change the URL only: the view shows this state already. */
export function record(url, { replace = true } = {}) {
  if (url === here()) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  if (current) current.key = here();
}

/** Forget what was kept: the world has changed. */
export function forget() {
  forgetFigures();
  cached.clear();
}

function follow(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const target = link.getAttribute("href");
  if (link.target || !target.startsWith("#")) return;
  event.preventDefault();
  if (link.classList.contains("skip")) document.getElementById("main").focus();
  else go(target);
}

function keep() {
  if (!current) return;
  cached.delete(current.key);
  cached.set(current.key, { ...current, scroll: scrollY });
  if (cached.size > KEPT) cached.delete(cached.keys().next().value);
}

/** Make the view of this address anew: the world has changed under it. */
export function again() {
  current = null;
  show(false);
}

function show(back) {
  unsaved = null;
  for (const one of document.querySelectorAll("dialog[open]")) one.close();
  const asked = parameters();
  const key = here();
  const main = document.getElementById("main");
  const kept = back ? cached.get(key) : null;
  const kind = kindOf(asked);
  if (current && current.kind === kind && current.follow && !(kept && kept.node !== current.node)) {
    current.key = key;
    current.follow(asked);
    return;
  }
  keep();
  current = kept ?? make(kind, asked);
  current.key = key;
  current.kind = kind;
  main.replaceChildren(current.node);
  document.title = current.title;
  current.arrive?.();
  if (!main.contains(document.activeElement) && document.activeElement !== document.body) main.focus({ preventScroll: true });
  scrollTo(0, kept ? kept.scroll : 0);
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === kind) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function kindOf(asked) {
  return KINDS.find((kind) => asked.has(kind)) ?? "search";
}
