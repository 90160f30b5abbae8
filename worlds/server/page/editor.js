// The query editor: YASGUI's where the package has it, else a text area with line numbers. Both have the same interface:
// {node, value, hint, focus(), mark(line, column), clear()}.

import { get, hasEditor } from "./api.js";
import { h, put } from "./dom.js";
import { prefixed, prefixMap } from "./terms.js";

const VENDOR = "/page/vendor/yasqe.min";
const MOST_LINES = 26;
const LEAST_LINES = 9;
const MOST_NAMES = 200; // that are offered

/** An editor with this text; `run` is called for Ctrl-Enter, `edited` when the text changes. */
export async function makeEditor(options) {
  if (!hasEditor) return plainEditor(options);
  try {
    return yasqeEditor(await yasqe(), options);
  } catch {
    return plainEditor(options);
  }
}

// -- plain ----------------------------------------------------------------------------------------------------------

function plainEditor({ value, run, edited, label }) {
  const numbers = h("div", { class: "line-numbers", "aria-hidden": "true" });
  const area = h("textarea", {
    class: "code", wrap: "off", spellcheck: "false", autocapitalize: "off", autocomplete: "off", dir: "ltr",
    "aria-label": label, "aria-describedby": "editor-hint",
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

// -- YASGUI's -------------------------------------------------------------------------------------------------------

let loaded = null;

/** The class of the editor; its files are fetched when it is first needed. It measures itself, so its style is there. */
function yasqe() {
  loaded ??= Promise.all([
    arrival(h("link", { rel: "stylesheet", href: `${VENDOR}.css` })),
    arrival(h("script", { src: `${VENDOR}.js` })),
  ]).then(() => {
    const found = globalThis.Yasqe?.Yasqe ?? globalThis.Yasqe;
    if (typeof found !== "function") throw new Error("the editor's file holds no editor");
    // Its own ways to complete names, to run queries and to keep them are off: they ask others, or store what the page
    // has in its address.
    found.defaults.autocompleters = [];
    // What it reads begins with the prefixes that need no declaration: it would mark their names as mistakes.
    found.extendMode("sparql11", {
      startState() {
        return { ...this._startState(), prefixes: prefixMap() };
      },
    });
    found.registerAutocompleter({
      name: "world", bulk: false, autoShow: false, persistenceId: null,
      isValidCompletionPosition: (editor) => !/^[?$"'#]/.test(editor.getCompleteToken().string),
      preProcessToken: (_, token) => ({ ...token, autocompletionString: token.string.trim() }),
      postProcessSuggestion: (_, __, suggested) => suggested,
      get: async (_, token) => {
        const begun = (token?.autocompletionString ?? "").toLowerCase();
        const names = await worldNames();
        return names.filter((name) => name.toLowerCase().includes(begun)).slice(0, MOST_NAMES);
      },
    });
    return found;
  });
  return loaded;
}

let names = null;

/** The names of the world's classes and properties, as a query has them. */
function worldNames() {
  names ??= get("schema", { limit: 500 }).then(({ classes, predicates }) =>
    [...new Set([...predicates, ...classes].map(({ iri }) => prefixed(iri) ?? `<${iri}>`))].sort());
  return names;
}

function arrival(element) {
  return new Promise((resolve, reject) => {
    element.addEventListener("load", resolve);
    element.addEventListener("error", () => reject(new Error("the editor could not be fetched")));
    document.head.append(element);
  });
}

function yasqeEditor(Yasqe, { value, run, edited, label }) {
  const node = h("div", { class: "yasqe-editor" });
  const editor = new Yasqe(node, {
    value, persistenceId: null, prefixCcApi: null, createShareableLink: null, showQueryButton: false, resizeable: false, autofocus: false,
    lineWrapping: true, viewportMargin: Infinity,
    extraKeys: {
      "Ctrl-Enter": run, "Cmd-Enter": run,
      "Ctrl-Space": (cm) => cm.autocomplete(),
      Tab: (cm) => (cm.somethingSelected() ? cm.indentSelection("add") : cm.replaceSelection("  ")),
      Esc: (cm) => cm.getInputField().blur(),
    },
  });
  let line = null;
  const clear = () => {
    if (line !== null) editor.removeLineClass(line, "background", "wrong");
    line = null;
  };
  editor.setValue(value);
  editor.getInputField().setAttribute("aria-label", label);
  editor.getInputField().setAttribute("aria-describedby", "editor-hint");
  editor.on("change", () => {
    clear();
    edited();
  });
  requestAnimationFrame(() => editor.refresh());
  return {
    node,
    hint: "Ctrl-Enter runs it, Ctrl-Space completes a name. Escape, then Tab leaves the editor.",
    get value() {
      return editor.getValue();
    },
    set value(text) {
      editor.setValue(text);
    },
    focus: () => editor.focus(),
    clear,
    mark: (number, column) => {
      clear();
      line = editor.addLineClass(number - 1, "background", "wrong");
      editor.setCursor(number - 1, Math.max(0, (column ?? 1) - 1));
      editor.focus();
    },
  };
}
