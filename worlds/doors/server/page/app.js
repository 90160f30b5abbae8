// The page's beginning: which view, the theme, the key, and the keys of the keyboard.

import { get, worldName } from "./api.js";
import { h, loading, put, s } from "./dom.js";
import { askForKey } from "./keys.js";
import { forget, go, start } from "./router.js";
import { browses, learn, rename, setPrefixes } from "./terms.js";
import { searchView } from "./search.js";

const later = {
  browse: () => import("./browse.js").then((module) => module.browseView),
  entity: () => import("./entity.js").then((module) => module.entityView),
  query: () => import("./query.js").then((module) => module.queryView),
  edit: () => import("./edit.js").then((module) => module.editView),
  new: () => import("./new.js").then((module) => module.newView),
  merge: () => import("./merge.js").then((module) => module.mergeView),
  review: () => import("./review.js").then((module) => module.reviewView),
  health: () => import("./health.js").then((module) => module.healthView),
  history: () => import("./history.js").then((module) => module.historyView),
  bring: () => import("./bring.js").then((module) => module.bringView),
  translate: () => import("./translate.js").then((module) => module.translateView),
  match: () => import("./match.js").then((module) => module.matchView),
};

/** A view whose module is fetched when it is first needed. */
function lazily(kind, asked) {
  const view = { kind, node: h("div", null, loading()), title: document.title };
  later[kind]().then((make) => {
    const entitle = (title) => {
      view.title = title;
      if (view.node.isConnected) document.title = title;
    };
    const made = make(asked, entitle);
    view.node.replaceChildren(made.node);
    view.follow = made.follow;
    view.arrive = made.arrive;
    entitle(made.title);
    if (view.node.isConnected) made.arrive?.();
  });
  return view;
}

// -- theme --

const THEMES = {
  system: ["M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16ZM12 4v16M12 8h4.5M12 12h8M12 16h5", "as the system has it"],
  light: ["M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4", "light"],
  dark: ["M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10Z", "dark"],
};

function showTheme() {
  const chosen = document.documentElement.dataset.theme ?? "system";
  const button = document.getElementById("theme");
  const [sign, words] = THEMES[chosen];
  put(button, s("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true" }, s("path", { d: sign })));
  button.setAttribute("aria-label", `Theme: ${words}`);
  button.title = `Theme: ${words}`;
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const chosen = names[(names.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % names.length];
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem("worlds-theme", chosen);
  } catch {
    // Then it holds for this page only.
  }
  showTheme();
}

// -- keyboard --

function typing(target) {
  return target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], .code-editor, dialog");
}

function shortcut(event) {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  event.preventDefault();
  const box = document.getElementById("search-box");
  if (box) {
    box.focus();
    box.select();
  } else if (worldName) go("#");
}

// -- beginning --

showTheme();
document.getElementById("theme").addEventListener("click", nextTheme);
document.getElementById("key").addEventListener("click", async () => {
  if (await askForKey()) {
    forget();
    location.reload();
  }
});
addEventListener("keydown", shortcut);

if (worldName) {
  const name = document.getElementById("world-name");
  name.textContent = worldName;
  name.setAttribute("href", "#");
  name.dataset.view = "search";
  document.getElementById("views").hidden = false;
  // Names are shortened by the prefixes: nothing that shows one is made before they are there.
  get("prefixes").then(setPrefixes).catch(() => {}).finally(() => {
    start((kind, asked) => (kind === "search" ? searchView(asked) : lazily(kind, asked)));
  });
  // What classes and properties are called is nice to have, and can take a moment.
  get("schema", { limit: 200 }).then(({ classes, predicates }) => {
    for (const { iri, label } of [...classes, ...predicates]) {
      learn(iri, label);
      browses(iri);
    }
    rename();
  }).catch(() => {});
} else {
  import("./worlds.js").then(({ worldsView }) => document.getElementById("main").replaceChildren(worldsView()));
}
