// The dialogs: asking for a key, asking for a yes; and what is shown in place of an answer that did not come.

import { key, setKey } from "./api.js";
import { h } from "./dom.js";

/** Show a dialog that `make(close)` fills; gives what `close` was called with, null if it was dismissed. */
export function ask(title, make) {
  return new Promise((resolve) => {
    let answer = null;
    const dialog = h("dialog", { "aria-label": title });
    const close = (value) => {
      answer = value;
      dialog.close();
    };
    dialog.append(h("h2", null, title), ...make(close));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Ask for a key; true if there is a new one. */
export async function askForKey(reason) {
  const given = await ask("Key", (close) => {
    const input = h("input", { type: "password", id: "key-text", autocomplete: "off", spellcheck: "false", placeholder: "wk_…", autofocus: true });
    const form = h("form", { onsubmit: (event) => {
      event.preventDefault();
      if (input.value.trim()) close(input.value.trim());
    } },
    h("p", null, reason ?? "The server may ask for a key. It is kept for this tab only, and is gone when the tab is closed."),
    h("label", { for: "key-text" }, "Your key"),
    input,
    h("p", { class: "actions" },
      h("button", { type: "submit", class: "primary" }, "Use this key"),
      h("button", { type: "button", onclick: () => close(null) }, "Cancel"),
      key() && h("button", { type: "button", class: "quiet", onclick: () => close("") }, "Forget the key")));
    return [form];
  });
  if (given === null) return false;
  setKey(given);
  return true;
}

/** Ask whether to do it; true for yes. */
export function confirm(title, question, yes) {
  return ask(title, (close) => [
    h("p", null, question),
    h("p", { class: "actions" },
      h("button", { type: "button", class: "primary", autofocus: true, onclick: () => close(true) }, yes),
      h("button", { type: "button", onclick: () => close(false) }, "Cancel")),
  ]).then(Boolean);
}

const TITLES = {
  0: "No connection",
  400: "That does not work",
  401: "A key is needed",
  403: "Not allowed",
  404: "Not found",
  408: "It took too long",
  409: "A conflict",
  413: "Too large",
  429: "Too many requests",
  503: "Not now",
};

/** What an error says, with a way on: another key, with which the page is read anew, or another try. */
export function failure(problem, again, withKey = () => location.reload()) {
  const place = problem.line ? h("p", { class: "place" }, `Line ${problem.line}${problem.column ? `, column ${problem.column}` : ""}`) : null;
  const retry = again && h("button", { type: "button", onclick: async () => {
    if (!problem.needsKey) again();
    else if (await askForKey()) withKey();
  } }, problem.needsKey ? "Enter a key" : "Try again");
  return h("div", { class: "failure", role: "alert" },
    h("p", { class: "failure-title" }, TITLES[problem.status] ?? problem.title ?? "Something went wrong"),
    place,
    h("p", { class: "failure-detail", dir: "auto" }, problem.message),
    retry && (problem.status === 0 || problem.needsKey || problem.status >= 429) && h("p", { class: "actions" }, retry));
}
