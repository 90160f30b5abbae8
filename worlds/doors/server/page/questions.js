// A question in words: the query that is kept for it, and the kept questions that are near.

import { get, post } from "./api.js";
import { aside, h, hint, loading, put, quiet } from "./dom.js";
import { failure } from "./keys.js";

const SHORT = 400; // tokens of a brief, of which only the queries are shown

/** A form for a question; `use` takes a query, `current` gives the editor's. */
export function questionForm({ use, current }) {
  const field = h("input", { type: "search", id: "question", maxlength: "2000", placeholder: "How many … are there?", autocomplete: "off" });
  const found = h("div", { class: "queries", "aria-live": "polite" });
  const form = h("form", { class: "question", role: "search", "aria-label": "Question", onsubmit: ask },
    h("label", { for: "question" }, "Ask in words"), field, h("button", { type: "submit", class: "quiet" }, "Find the query"));

  async function ask(event) {
    event.preventDefault();
    const question = field.value.trim();
    if (!question) return;
    put(found, loading("Looking for the query"));
    try {
      const { answer, near = [] } = await get("brief", { q: question, budget: SHORT });
      const rows = [
        answer && row(answer.told ? "Kept query of this question" : "The kept query finds nothing", answer.query),
        ...near.map((one) => row(`Kept: ${one.question}`, one.adapted ?? one.query, differences(one))),
      ].filter(Boolean);
      put(found, rows.length ? h("ul", null, rows) : hint("No query is kept for it. Write one below, and keep it for whoever asks next."), keep(question));
    } catch (error) {
      put(found, failure(error, () => form.requestSubmit()));
    }
  }

  function row(name, query, remark) {
    return h("li", null, quiet({ onclick: () => use(query) }, name), remark && aside(` ${remark}`));
  }

  function differences({ differs, adapted }) {
    const parts = differs.map(({ words, asked }) => (asked ? `${words} → ${asked}` : words));
    return parts.length ? `${adapted ? "with" : "differs:"} ${parts.join("; ")}` : null;
  }

  function keep(question) {
    const said = h("span", { class: "unit", role: "status" });
    const button = quiet({ onclick: async () => {
      button.disabled = true;
      try {
        const { revision } = await post("questions", { question, query: current() });
        put(said, revision ? ` Kept as revision ${revision}.` : " It is kept so already.");
      } catch (error) {
        put(said, failure(error));
      } finally {
        button.disabled = false;
      }
    } }, "Keep the query in the editor for this question");
    return h("p", null, button, said);
  }

  return h("div", null, form, found);
}
