// The SPARQL view: examples, the editor, and the results.

import { get, sparql, stats as figures } from "./api.js";
import { duration, h, hint, loading, put, quiet } from "./dom.js";
import { makeEditor } from "./editor.js";
import { examples, withPrefixes } from "./examples.js";
import { failure } from "./keys.js";
import { questionForm } from "./questions.js";
import { readResults, resultsView } from "./results.js";
import { address, parameters, record } from "./router.js";
import { isUpdate, tryUpdate } from "./update.js";

const LONGEST = 30_000; // characters of a query that an address can bear
const FIRST = "SELECT ?subject ?property ?value WHERE {\n  ?subject ?property ?value\n} LIMIT 20";

export function queryView(asked) {
  let running = null;
  let editor = null;
  let given = [];
  const place = h("div", { class: "editor" }, loading("Loading the editor"));
  const output = h("div", { class: "output" });
  const button = h("button", { class: "primary run", onclick: () => (running ? running.abort() : run()) }, "Run");
  const keysHint = h("span", { class: "unit", id: "editor-hint" });
  const chooser = h("select", { "aria-label": "Examples", onchange: () => {
    const example = given[chooser.selectedIndex - 1];
    if (!example) return;
    editor.value = example.query;
    chooser.selectedIndex = 0;
    run({ view: example.view });
  } }, h("option", { value: "" }, "Examples"));
  const union = h("input", { type: "checkbox" });
  let usual = false; // what a query sees if nobody says
  const tools = h("fieldset", { class: "query-tools", disabled: true, "aria-label": "Query" }, button, chooser,
    quiet({ onclick: () => {
      editor.value = withPrefixes(editor.value);
    } }, "Insert prefixes"),
    h("label", { class: "union", title: "Queries without a graph read all graphs, not the default graph alone" }, union, " All graphs"),
    keysHint);
  const question = questionForm({
    use: (query) => {
      editor.value = withPrefixes(query);
      run();
    },
    current: () => editor.value,
  });
  const node = h("section", { class: "query-view" }, h("h1", { class: "unseen" }, "SPARQL"), question, place, tools, output);

  function state(query, view) {
    return { query, ...(view === "table" ? {} : { as: view }), ...(union.checked === usual ? {} : { union: String(union.checked) }) };
  }

  async function run({ view, push = true } = {}) {
    running?.abort();
    const controller = new AbortController();
    running = controller;
    const query = editor.value;
    const chosen = view ?? "table";
    if (push) record(query.length > LONGEST ? address({ query: "" }) : address(state(query, chosen)), { replace: parameters().get("query") === query });
    editor.clear();
    button.textContent = "Stop";
    put(output, loading(isUpdate(query) ? "Trying it" : "Running"));
    const began = performance.now();
    try {
      if (isUpdate(query)) {
        await tryUpdate(query, output, editor, controller.signal);
        return;
      }
      const response = await sparql(query, { signal: controller.signal, union: union.checked });
      const results = await readResults(response);
      const notes = JSON.parse(response.headers.get("worlds-notes") ?? "[]");
      if (running !== controller) return;
      const taken = performance.now() - began;
      put(output, resultsView(results, { query, union: union.checked, view: chosen, taken: duration(taken), notes, onview: (name) => {
        if (query.length <= LONGEST) record(address(state(query, name)));
      } }));
    } catch (error) {
      if (running !== controller) return;
      if (error.name === "AbortError") put(output, hint("Stopped."));
      else {
        put(output, failure(error, run));
        if (error.line) editor.mark(error.line, error.column);
      }
    } finally {
      if (running === controller) {
        running = null;
        button.textContent = "Run";
      }
    }
  }

  async function begin() {
    const [stats, policy] = await Promise.all([figures(), get("policy")].map((asked) => asked.catch(() => ({}))));
    usual = policy.default_graph === "union" || (stats.quads > 0 && stats.named_quads === stats.quads);
    union.checked = asked.has("union") ? asked.get("union") === "true" : usual;
    given = examples(stats, asked.get("about"));
    chooser.append(...given.map(({ title }) => h("option", null, title)));
    get("questions", { limit: 100 }).then(({ questions }) => {
      if (!questions.length) return;
      given = [...given, ...questions.map(({ question, query }) => ({ title: question, query }))];
      chooser.append(h("optgroup", { label: "Kept questions" }, questions.map(({ question }) => h("option", null, question))));
    }, () => {});
    const text = asked.get("query");
    editor = await makeEditor({ value: text ? withPrefixes(text) : (given[0]?.query ?? FIRST), run: () => run(), edited: () => {}, label: "SPARQL query", described: keysHint.id });
    put(place, editor.node);
    tools.disabled = false; // not before: there is nothing to run while the editor is fetched
    keysHint.textContent = editor.hint;
    if (text) run({ view: asked.get("as") ?? undefined, push: false });
    else {
      put(output, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "No results yet"), h("p", null, "Run the query above, or choose an example.")));
      if (!node.contains(document.activeElement)) editor.focus(); // who has begun with a question is not disturbed
    }
  }

  begin();
  return {
    node,
    title: "SPARQL",
    follow: (now) => {
      const text = now.get("query");
      if (!editor || !text) return;
      editor.value = text;
      run({ view: now.get("as") ?? undefined, push: false });
    },
  };
}
