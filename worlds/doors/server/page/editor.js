// The editor: CodeMirror if the package was built with it, else a text area with line numbers. Both have the same
// interface: {node, value, hint, focus(), mark(line, column), clear(), compare(text)}.

import { get, hasEditor } from "./api.js";
import { h, put } from "./dom.js";
import { prefixed, prefixMap } from "./terms.js";

const SOURCE = "/page/vendor/editor.min.js";
const MOST_LINES = 26;
const LEAST_LINES = 9;

/** An editor with this text, in `language` (sparql or turtle); `run` is called for Ctrl-Enter, `edited` when the text
 * changes; `described` is the id of what tells of its keys. */
export async function makeEditor(options) {
  if (!hasEditor) return plainEditor(options);
  try {
    return await codeEditor(options);
  } catch {
    return plainEditor(options);
  }
}

// -- plain --

function plainEditor({ value, run, edited, label, described }) {
  const numbers = h("div", { class: "line-numbers", "aria-hidden": "true" });
  const area = h("textarea", {
    class: "code", wrap: "off", spellcheck: "false", autocapitalize: "off", autocomplete: "off", dir: "ltr",
    "aria-label": label, "aria-describedby": described,
    oninput: () => {
      clear();
      count();
      edited();
    },
    onscroll: () => {
      numbers.scrollTop = area.scrollTop;
    },
    onkeydown: (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        run();
      } else if (event.key === "Tab" && !event.shiftKey && !left) {
        event.preventDefault();
        area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
        area.dispatchEvent(new Event("input"));
      }
      left = event.key === "Escape"; // Escape, then Tab leaves the editor
    },
  });
  let left = false;
  let marked = null;
  const count = () => {
    const lines = area.value.split("\n").length;
    if (numbers.childElementCount !== lines) put(numbers, Array.from({ length: lines }, (_, at) => h("span", null, at + 1)));
    area.rows = Math.min(MOST_LINES, Math.max(LEAST_LINES, lines + 1));
  };
  const clear = () => {
    marked?.classList.remove("wrong");
    marked = null;
  };
  area.value = value;
  count();
  return {
    node: h("div", { class: "plain-editor" }, numbers, area),
    hint: "Ctrl-Enter runs it. Escape, then Tab leaves the editor.",
    get value() {
      return area.value;
    },
    set value(text) {
      area.value = text;
      clear();
      count();
    },
    focus: () => area.focus(),
    compare: () => {},
    clear,
    mark: (line, column) => {
      clear();
      marked = numbers.children[line - 1] ?? null;
      marked?.classList.add("wrong");
      const lines = area.value.split("\n");
      const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, (column ?? 1) - 1);
      area.focus();
      area.setSelectionRange(start, Math.min(start + 1, area.value.length));
    },
  };
}

// -- CodeMirror --

let names = null;

/** What can be completed: the world's predicates and classes, as a query has them, and the prefixes. */
function worldNames() {
  names ??= get("schema", { limit: 500 }).then(({ classes, predicates }) => {
    const told = (kind) => ({ iri, label }) => ({ name: prefixed(iri) ?? `<${iri}>`, label, kind });
    const known = Object.keys(prefixMap()).map((prefix) => ({ name: `${prefix}:`, label: prefixMap()[prefix], kind: "namespace" }));
    const found = new Map([...predicates.map(told("property")), ...classes.map(told("class")), ...known].map((one) => [one.name, one]));
    return [...found.values()];
  }, () => []);
  return names;
}

async function codeEditor({ value, run, edited, label, language, original }) {
  const { makeCode } = await import(SOURCE);
  const node = h("div", { class: "code-editor" });
  const editor = makeCode(node, { value, run, edited, label, language, original, names: worldNames });
  return {
    node,
    hint: "Ctrl-Enter runs it, Ctrl-Space completes a name. Escape, then Tab leaves the editor.",
    get value() {
      return editor.value;
    },
    set value(text) {
      editor.value = text;
    },
    focus: editor.focus,
    clear: editor.clear,
    mark: editor.mark,
    compare: editor.compare,
  };
}
