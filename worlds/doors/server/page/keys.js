// The dialogs: asking for a key, asking for a yes; and what is shown in place of an answer that did not come.

import { base, key, setKey } from "./api.js";
import { actions, empty, h, quiet } from "./dom.js";

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
    actions(
      h("button", { type: "submit", class: "primary" }, "Use this key"),
      h("button", { onclick: () => close(null) }, "Cancel"),
      key() && quiet({ onclick: () => close("") }, "Forget the key")));
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
    actions(
      h("button", { class: "primary", autofocus: true, onclick: () => close(true) }, yes),
      h("button", { onclick: () => close(false) }, "Cancel")),
  ]).then(Boolean);
}

/** What stands where a reader may not: what it takes, and how to get it. */
export function needs(me, level, what) {
  const held = me.level === "none" ? "This server does not know who you are" : me.name === null ? `Without a key you may ${me.level}` : `The key “${me.name}” has the level ${me.level}`;
  return empty(`${what} takes a key with the level ${level}`, `${held}. Whoever runs the server makes such a key, and sends it to you:`,
    h("p", null, h("code", null, `worlds keys add ${base ? "FOLDER" : "FILE"} YOUR-NAME --level ${level}`)),
    h("p", null, "On a machine of your own the server can do without keys: ", h("code", null, `worlds serve ${base ? "FOLDER" : "FILE"} --allow-writes`)),
    h("p", null, h("button", { onclick: async () => {
      if (await askForKey()) location.reload();
    } }, "Enter a key")));
}

const TITLES = {
  0: "The server does not answer",
  400: "The request is not valid",
  401: "A key is needed",
  403: "Not allowed",
  404: "Not found",
  408: "It took too long",
  409: "A conflict",
  413: "Too large",
  429: "Too many requests",
  503: "The server is busy",
};

/** What an error says, with a way on: another key, with which the page is read anew, or another try. */
export function failure(problem, again, withKey = () => location.reload()) {
  const place = problem.line ? h("p", { class: "place" }, `Line ${problem.line}${problem.column ? `, column ${problem.column}` : ""}`) : null;
  const retry = again && h("button", { onclick: async () => {
    if (!problem.needsKey) again();
    else if (await askForKey()) withKey();
  } }, problem.needsKey ? "Enter a key" : "Try again");
  return h("div", { class: "failure", role: "alert" },
    h("p", { class: "failure-title" }, TITLES[problem.status] ?? problem.title ?? "Something went wrong"),
    place,
    h("p", { class: "failure-detail", dir: "auto" }, problem.message),
    retry && (problem.status === 0 || problem.needsKey || problem.status >= 429) && actions(retry));
}
