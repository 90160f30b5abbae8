// Shapes, edited beside their effect: how many things they would find wrong, and which.

import { access, get, includes, post, request } from "./api.js";
import { actions, count, h, hint, loading, many, put, remarks } from "./dom.js";
import { failure } from "./keys.js";
import { named } from "./names.js";
import { done } from "./notice.js";
import { parseTerm, SHACL } from "./terms.js";
import { makeEditor } from "./editor.js";

const GRAPH = "graphs?graph=urn:worlds:shapes";
const PAUSE = 900; // milliseconds after the last key
const SHOWN = 30;
const FRESH = `PREFIX sh: <>\n# No shapes yet. Write your own.\n`;

/** The results of a validation: what was not checked, and counts by shape and path, then the first of them. */
export function violations(told) {
  const unchecked = [...told.left_out.map(({ shape, reason }) => `Not checked: ${shape}: ${reason}`), ...told.notes];
  const notes = remarks(unchecked);
  if (told.conforms) return [h("p", { class: "outcome" }, notes.length ? "No checked data violate them." : "No data violate them."), notes];
  const groups = Map.groupBy(told.results, ({ path, message }) => `${path ?? ""} ${message.replace(/^\S+ is /, "")}`);
  return [h("p", { class: "status", role: "status" }, many(told.results.length, "violation")), notes,
    h("ul", { class: "checks" }, [...groups.values()].sort((a, b) => b.length - a.length).slice(0, SHOWN).map((ones) => h("li", { class: "check" },
      h("p", { class: "check-head" }, h("span", { class: "level" }, ones[0].severity.toLowerCase()), ones[0].path && named(parseTerm(ones[0].path)), h("span", { dir: "auto" }, ones[0].message), h("span", { class: "count" }, count(ones.length))),
      h("p", { class: "flow" }, ones.slice(0, 6).map(({ focus }) => h("span", null, named({ type: "iri", value: focus })))))))];
}

/** The shapes as they are, an editor for them, and what they find while they are edited. */
export function shapesPart(node) {
  const effect = h("div", { class: "effect", "aria-live": "polite" });
  const place = h("div", { class: "editor" }, loading("Reading the shapes"));
  const outcome = h("div");
  let editor = null;
  let tag = null;
  let timer = 0;
  let turn = 0;
  let stored = "";
  let compared = false;

  async function look() {
    const mine = ++turn;
    put(effect, loading("Validating"));
    try {
      const text = editor.value;
      const told = /\S/.test(text.replace(/^\s*(?:#.*|(?:@?prefix)[^\n]*)$/gim, "")) ? await post("validate", { shapes: text }) : null;
      if (mine !== turn) return;
      editor.clear();
      put(effect, told ? violations(told) : hint("Without shapes nothing is a violation."));
    } catch (error) {
      if (mine !== turn) return;
      if (error.line) editor.mark(error.line, error.column);
      put(effect, failure(error));
    }
  }

  async function save() {
    put(outcome, loading("Saving"));
    try {
      await request(GRAPH, { method: "PUT", body: editor.value, headers: { "content-type": "text/turtle", ...(tag && { "if-match": tag }) } });
      const { revisions } = await get("history", { limit: 1 });
      put(outcome);
      done("Shapes saved", [revisions[0].revision], () => location.reload());
      stored = editor.value;
      await fetchThem();
    } catch (error) {
      put(outcome, error.status === 412 ? h("div", { class: "failure", role: "alert" }, h("p", { class: "failure-title" }, "Somebody else has changed the shapes"), h("p", null, "Yours are still in the editor. Copy them, and read the page anew.")) : failure(error, save));
    }
  }

  async function fetchThem() {
    try {
      const response = await request(GRAPH, { headers: { accept: "text/turtle" } });
      tag = response.headers.get("etag");
      return await response.text();
    } catch (error) {
      if (error.status !== 404) throw error;
      tag = null;
      return "";
    }
  }

  async function begin() {
    try {
      const [text, me] = await Promise.all([fetchThem(), access()]);
      editor = await makeEditor({
        value: text || FRESH.replace("<>", `<${SHACL}>`), run: look, label: "Shapes, as Turtle", language: "turtle",
        edited: () => {
          clearTimeout(timer);
          timer = setTimeout(look, PAUSE);
        },
      });
      put(node, h("h2", null, "Shapes"), h("div", { class: "pair" }, h("div", null, place,
        actions(includes(me.level, "write") && h("button", { class: "primary", onclick: save }, "Save the shapes"), h("button", { "aria-pressed": "false", onclick: (event) => {
          compared = !compared;
          editor.compare(compared ? stored : null);
          event.currentTarget.setAttribute("aria-pressed", String(compared));
        } }, "Show what changed")), outcome),
      h("div", null, h("h3", null, "Violations found"), effect)));
      put(place, editor.node);
      stored = editor.value;
      look();
    } catch (error) {
      put(node, h("h2", null, "Shapes"), failure(error, begin));
    }
  }
  begin();
}
