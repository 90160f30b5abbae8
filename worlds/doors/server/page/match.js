// Matching a pasted column: each name with the entities that it may mean, chosen by keyboard.

import { access, bindings, get, includes, language, post, worldName } from "./api.js";
import { chooser, classesOf } from "./choose.js";
import { changeOf } from "./difference.js";
import { actions, aside, count, h, hint, loading, many, option, put } from "./dom.js";
import { failure } from "./keys.js";
import { copy, notice } from "./notice.js";
import { address, leaving } from "./router.js";
import { csvOf, download, safe } from "./take.js";
import { apart, entityLink, learn, literal, nameOf, parseTerm, RDFS, SKOS } from "./terms.js";

const BATCH = 50; // names of one request
const MOST = 5000; // names
const CANDIDATES = 6;

export function matchView() {
  const node = h("section", { class: "match-view" });
  const place = h("div", { "aria-live": "off" });
  const text = h("textarea", { id: "match-names", rows: "8", dir: "auto", spellcheck: "false", placeholder: "Paris\nBerlin\nRome" });
  const kind = h("select", { id: "match-class" }, h("option", { value: "" }, "anything"));
  const column = h("select", { id: "match-column" });
  const columnPart = h("div", { class: "option", hidden: true }, h("label", { for: "match-column" }, "Names are in column"), column);
  classesOf().then((classes) => kind.append(...classes.map(({ iri }) => h("option", { value: iri }, nameOf(iri))))).catch(() => {});
  const table = () => text.value.split(/\r?\n/).filter((line) => line.trim()).map((line) => line.split("\t"));
  text.addEventListener("input", () => {
    const rows = table();
    const width = Math.max(1, ...rows.map((row) => row.length));
    columnPart.hidden = width < 2;
    if (column.options.length !== width) put(column, Array.from({ length: width }, (_, at) => h("option", { value: at }, `${at + 1}: ${(rows[0][at] ?? "").slice(0, 30)}`)));
  });

  async function begin(event) {
    event?.preventDefault();
    const rows = table();
    const at = Number(column.value) || 0;
    const items = rows.map((cells) => ({ cells, name: (cells[at] ?? "").trim(), candidates: [], chosen: null, state: "open", sure: false }));
    if (!items.length || items.length > MOST) {
      put(place, h("p", { class: "bad", role: "alert" }, items.length ? `${count(MOST)} names at most at once; these are ${count(items.length)}.` : "Paste some names first, one a line."));
      return;
    }
    const progress = h("progress", { max: items.length, value: "0", "aria-label": "Progress" });
    put(place, loading("Finding entities"), progress);
    try {
      for (let first = 0; first < items.length; first += BATCH) {
        const batch = items.slice(first, first + BATCH).filter(({ name }) => name);
        const found = batch.length ? await post("resolve", { names: batch.map(({ name }) => name), limit: CANDIDATES, ...(kind.value && { types: [kind.value] }) }) : [];
        batch.forEach((item, place) => {
          item.candidates = found[place].candidates.filter(({ confidence }) => confidence > 0.01);
          for (const { iri, label } of item.candidates) learn(iri, label);
          if (found[place].outcome === "match") Object.assign(item, { chosen: item.candidates[0], state: "sure" });
          else if (!item.candidates.length) item.state = "none";
        });
        progress.value = first + batch.length;
      }
      for (const item of items) if (!item.name) item.state = "none";
      put(place, deciding(items));
      leaving("Leave, and lose the matches?");
      place.querySelector("[role=listbox]")?.focus();
    } catch (error) {
      put(place, failure(error, begin));
    }
  }

  put(node, h("h1", null, "Match names"), h("form", { class: "match-form", onsubmit: begin },
    h("label", { for: "match-names" }, "Paste a column of names, one a line; or rows of a spreadsheet"), text,
    h("div", { class: "option-row" }, columnPart, option("match-class", "Class of the entities", kind), h("button", { type: "submit", class: "primary" }, "Find entities"))), place);
  return { node, title: `Match names · ${worldName}` };
}

const WORDS = { sure: "found", chosen: "chosen", open: "to decide", none: "none" };

/** The names with their candidates, and what comes of them. */
function deciding(items) {
  const status = h("p", { class: "status", role: "status", "aria-live": "polite" });
  const list = h("ol", { class: "match-list" });
  const detail = h("div", { class: "match-detail" });
  const open = () => items.filter(({ state }) => state === "open");
  let current = items.find(({ state }) => state === "open") ?? items[0];
  let at = 0;

  function draw() {
    const left = open().length;
    status.textContent = `${many(items.filter(({ chosen }) => chosen).length, "name")} of ${count(items.length)} matched, ${count(items.filter(({ state }) => state === "none").length)} without a match, ${count(left)} to decide`;
    put(list, items.slice(0, 1000).map((item) => h("li", null, h("button", { class: `item ${item.state}`, "aria-current": item === current ? "true" : null, onclick: () => turn(item) },
      h("span", { class: "item-title", dir: "auto" }, item.name || "—"), aside(item.chosen ? `${nameOf(item.chosen.iri)} · ${WORDS[item.state]}` : WORDS[item.state])))));
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    show();
  }

  function turn(item) {
    current = item;
    at = Math.max(0, item.candidates.indexOf(item.chosen));
    draw();
    detail.querySelector("[role=listbox]")?.focus();
  }

  /** The next that is to be decided, else the next one. */
  function onward() {
    const from = items.indexOf(current);
    turn([...items.slice(from + 1), ...items.slice(0, from)].find(({ state }) => state === "open") ?? items[Math.min(from + 1, items.length - 1)]);
  }

  function take(candidate) {
    Object.assign(current, { chosen: candidate, state: candidate ? "chosen" : "none" });
    onward();
  }

  function show() {
    const { candidates } = current;
    const tails = apart(candidates.map(({ iri }) => iri));
    const kinds = (one) => one.types.slice(0, 3).map((type) => nameOf(type)).join(", ");
    const twin = (one) => candidates.some((other) => other !== one && nameOf(other.iri) === nameOf(one.iri) && kinds(other) === kinds(one));
    const options = candidates.map((one, place) => h("li", { id: `match-option-${place}`, role: "option", "aria-selected": String(place === at), onclick: () => take(one) },
      h("p", { dir: "auto" }, h("strong", null, one.label ?? nameOf(one.iri)), one.matched && one.matched !== one.label && aside(` also “${one.matched}”`)),
      h("p", { class: "unit", dir: "auto" }, [kinds(one), one.apart?.startsWith("type: ") ? null : one.apart, twin(one) && !one.apart && tails.get(one.iri), `${Math.round(100 * one.confidence)} %`].filter(Boolean).join(" · ")),
      h("p", { class: "unit match-about", dir: "auto" })));
    const box = h("ul", { role: "listbox", tabindex: "0", class: "match-options", "aria-label": `Entities for ${current.name}`, "aria-activedescendant": candidates.length ? `match-option-${at}` : null, onkeydown: key }, options);
    put(detail, h("h2", { class: "item-head", dir: "auto" }, current.name), current.cells.length > 1 && h("p", { class: "unit", dir: "auto" }, current.cells.join(" · ")),
      candidates.length ? box : hint("No entity has this name."),
      h("div", { class: "add-field" }, chooser({ "aria-label": "Another entity", placeholder: "Another entity, by its name", classes: [], choose: (iri, label) => iri && take({ iri, label, matched: label, confidence: 1, types: [] }) }).node),
      actions(h("button", { onclick: () => take(null) }, "No match"), current.chosen && entityLink(current.chosen.iri, `Open ${nameOf(current.chosen.iri)}`, { target: "_blank" })),
      h("p", { class: "unit keys" }, h("kbd", null, "↓"), " ", h("kbd", null, "↑"), " choose, ", h("kbd", null, "Enter"), " takes it, ", h("kbd", null, "n"), " none, ", h("kbd", null, "p"), " the name before"));
    if (candidates.length > 1) describe(current);
  }

  async function describe(item) {
    item.about ??= Promise.all(item.candidates.map(({ iri }) => get(`entities/${encodeURIComponent(iri)}`, { limit: 3, language }).then(aboutOf, () => "")));
    const words = await item.about;
    if (item === current) detail.querySelectorAll(".match-about").forEach((part, place) => { part.textContent = words[place]; });
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && current.candidates.length) {
      at = (at + step + current.candidates.length) % current.candidates.length;
      [...event.currentTarget.children].forEach((one, place) => one.setAttribute("aria-selected", String(place === at)));
      event.currentTarget.setAttribute("aria-activedescendant", `match-option-${at}`);
      event.currentTarget.children[at].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") take(current.candidates[at] ?? null);
    else if (event.key === "n") take(null);
    else if (event.key === "p") turn(items[Math.max(0, items.indexOf(current) - 1)]);
    else return;
    event.preventDefault();
  }

  const result = () => items.map(({ cells, chosen, state }) => [...cells, chosen?.iri ?? "", chosen ? nameOf(chosen.iri) : "", WORDS[state], chosen ? chosen.confidence.toFixed(2) : ""]);
  const csv = () => csvOf([[...items[0].cells.map((_, place) => (items[0].cells.length > 1 ? `column ${place + 1}` : "name")), "iri", "label", "match", "confidence"], ...result()]);
  const save = () => {
    download("matches.csv", csv(), "text/csv");
    leaving(null);
  };
  const copyAll = async () => {
    if (!await copy(result().map((row) => row.map((cell) => safe(cell).replace(/[\t\r\n]/g, " ")).join("\t")).join("\n"))) return;
    leaving(null);
    notice("Copied: paste it into a spreadsheet.");
  };

  /** Names that the chosen entities do not have yet, as proposals of other names. */
  async function propose() {
    const fresh = items.filter(({ chosen, name }) => chosen && ![chosen.label, chosen.matched].some((one) => one?.toLowerCase() === name.toLowerCase()));
    try {
      const left = fresh.filter((one) => !one.proposed); // again after an error: those that are left
      const labels = left.map(({ chosen }) => `(<${chosen.iri}> ${literal(nameOf(chosen.iri))})`);
      const told = left.length ? await bindings(`SELECT ?e (GROUP_CONCAT(LANG(?l)) AS ?t) { VALUES (?e ?n) { ${labels.join(" ")} } ?e <${SKOS}prefLabel>|<${RDFS}label> ?l FILTER(STR(?l) = ?n) } GROUP BY ?e`, true) : [];
      // Where labels in several languages are alike, the reader's counts, else the first.
      const tags = new Map(told.map(({ e, t }) => [e.value, t.value.split(" ").sort((a, b) => (b === language) - (a === language) || (a < b ? -1 : 1))[0]]));
      for (const item of left) {
        const { chosen, name } = item;
        const quad = [`<${chosen.iri}>`, `<${SKOS}altLabel>`, literal(name, tags.get(chosen.iri)), null];
        await post("proposals", { ...changeOf([quad]), why: `“${name}” was matched with ${nameOf(chosen.iri)}`, kind: "match", confidence: chosen.confidence });
        item.proposed = true;
      }
      leaving(null);
      notice(fresh.length ? [`${many(fresh.length, "proposal")}: `, h("a", { href: address({ review: "" }) }, "review")] : "The entities have these names already.");
    } catch (error) {
      put(detail, failure(error, propose));
    }
  }

  const proposing = h("span", null);
  access().then((me) => includes(me.level, "propose") && put(proposing, h("button", { title: "The names that were pasted, as other names (skos:altLabel) of the entities", onclick: propose }, "Propose as other names")));
  draw();
  return [status, actions(h("button", { onclick: save }, "Download as CSV"), h("button", { onclick: copyAll }, "Copy"), proposing),
    h("div", { class: "review-body" }, list, detail)];
}

/** The description of an entity in a line, or its first values. */
function aboutOf({ description, properties }) {
  const values = properties.filter(({ predicate }) => !/type>?$|label>?$/i.test(predicate)).slice(0, 3).map(({ label, values: [one] }) => `${label}: ${one.label ?? parseTerm(one.term).value}`);
  return (description?.value ?? description ?? values.join("; ")).slice(0, 200);
}
