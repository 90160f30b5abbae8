// Bringing in a file: chosen or dropped, previewed, then kept; sources; and a new world.

import { access, base, get, includes, post, worldName } from "./api.js";
import { beginning } from "./begin.js";
import { choice } from "./choice.js";
import { classesOf } from "./choose.js";
import { changeOf, differenceView } from "./difference.js";
import { actions, aside, count, h, hint, loading, many, messageLine, option, put, remarks } from "./dom.js";
import { failure, needs } from "./keys.js";
import { mappingPart } from "./mapping.js";
import { nameOfIri, sentence } from "./names.js";
import { done, kept, notice, proposalLink, revisionLink, waits } from "./notice.js";
import { timeNode } from "./revisions.js";
import { address, forget, leaving } from "./router.js";
import { violations } from "./shapes.js";
import { expanded } from "./terms.js";

const TABLES = ["csv", "tsv", "jsonl", "ndjson", "xlsx"];
const RDF = ["ttl", "nt", "nq", "trig", "n3", "rdf", "owl", "xml", "jsonld", "json"];
const WITH_GRAPHS = ["nq", "trig", "jsonld", "json"];
const MOST = 16 * 2 ** 20; // bytes of a file that is looked at first
const SHOWN = 40; // entities of the difference
const PROPOSED = 10_000; // quads of one proposal
const PAUSE = 300; // milliseconds after the last change of a mapping

const endingOf = (name) => name.split(".").pop().toLowerCase();

const contentOf = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
});

export function bringView() {
  const node = h("section", { class: "bring-view" }, loading());
  const place = h("div", { class: "bring-place", "aria-live": "polite" });
  let me = { level: "none" };

  async function read() {
    try {
      me = await access();
      if (!includes(me.level, "propose")) {
        put(node, h("h1", null, "Bring in"), needs(me, "propose", "Bringing something in"));
        return;
      }
      draw();
    } catch (error) {
      put(node, failure(error, read));
    }
  }

  function draw() {
    const input = h("input", { type: "file", id: "bring-file", accept: [...RDF, ...TABLES].map((one) => `.${one}`).join(","), onchange: () => input.files[0] && open(input.files[0]) });
    const drop = h("div", { class: "drop", ondragover: (event) => {
      event.preventDefault();
      drop.classList.add("over");
    }, ondragleave: () => drop.classList.remove("over"), ondrop: (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
    } },
    h("label", { for: "bring-file" }, "Choose a file, or drop it here"), input,
    hint("A table (CSV, TSV, Excel, JSON lines) or RDF. You see what it would change first; nothing is kept until you say so."));
    put(node, h("h1", null, "Bring in"), drop, place, includes(me.level, "write") && sourcesPart(), includes(me.level, "write") && beginning());
  }

  async function open(file) {
    const ending = endingOf(file.name);
    leaving(null);
    const no = (title, ...why) => put(place, h("div", { class: "failure", role: "alert" }, h("p", { class: "failure-title", dir: "auto" }, `${file.name} ${title}`), why.length > 0 && h("p", null, why)));
    if (!RDF.includes(ending) && !TABLES.includes(ending)) return no("cannot be read here", `The end of the name tells the format: .${[...TABLES, ...RDF].join(", .")}. Texts and PDF come in by the command `, h("code", null, "worlds sources add-document"), ".");
    if (!file.size) return no("is empty");
    if (file.size > MOST) return no(`is larger than ${MOST / 2 ** 20} MB`, "The command line can show its changes first: ", h("code", null, `worlds load FILE ${file.name} ${TABLES.includes(ending) ? "--map - " : ""}--dry-run`));
    put(place, loading(`Reading ${file.name}`));
    try {
      await look({ name: file.name, size: file.size, ending, content: await contentOf(file) });
    } catch (error) {
      put(place, h("h2", { dir: "auto" }, file.name), failure(error));
    }
    return null;
  }

  /** Show a file: of a table the mapping first, of RDF what it would change. */
  async function look(file) {
    const isTable = TABLES.includes(file.ending);
    const options = { graph: null, mode: "merge" };
    const outcome = h("div", { class: "bring-outcome", "aria-live": "polite" });
    let told = isTable ? await post("files/trial", { name: file.name, content: file.content, difference: false }) : null;
    let timer = 0;
    let turn = 0;
    const sent = () => ({ name: file.name, content: file.content, mode: options.mode, ...(told && { mapping: told.mapping }), ...(options.graph && { graph: options.graph }), ...(!isTable && { base: `${location.origin}${base}/graphs` }) });

    /** The mapping has changed: the first rows follow, and a difference that was shown holds no more. */
    function changed() {
      turn += 1; // what is being tried is the mapping of before
      if (!outcome.querySelector(".see")) put(outcome, next()); // a click on the button that is there ends the change
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const mine = ++turn;
        try {
          const found = await post("files/trial", { ...sent(), difference: false });
          if (mine === turn) mapping.show(found);
        } catch (error) {
          if (mine === turn) mapping.wrong(error.message);
        }
      }, PAUSE);
    }

    const next = () => h("p", { class: "actions see" }, h("button", { class: "primary", onclick: difference }, "Preview the changes"));

    async function difference() {
      clearTimeout(timer);
      const [mine, tried] = [++turn, sent()];
      put(outcome, loading("Trying it"));
      try {
        const found = await post("files/trial", { ...tried, limit: includes(me.level, "write") ? SHOWN : PROPOSED });
        if (mine === turn) put(outcome, effect(found, tried));
      } catch (error) {
        if (mine === turn) put(outcome, failure(error), isTable && next());
      }
    }

    function effect({ difference: { quads_added: added, quads_removed: removed, edits, notes, truncated }, violations: report }, tried) {
      const nothing = !edits.added && !edits.removed;
      const why = h("input", { id: "bring-why", dir: "auto", autocomplete: "off", value: `Bring in ${file.name}` });
      const result = h("div");
      const act = (job, words) => async () => {
        put(result, loading(words));
        try {
          await job(why.value.trim());
        } catch (error) {
          put(result, failure(error, act(job, words)));
        }
      };
      const keep = act(async (message) => {
        const change = await post("files", { ...tried, message });
        leaving(null);
        forget();
        put(place, h("p", { class: "outcome", role: "status" }, !change.proposal && [`${file.name} is in: ${many(change.added, "quad")} added, ${count(change.removed)} removed. `, change.revision && h("a", { href: address({ history: change.revision }) }, `Revision ${change.revision}`), change.revision && " is the import, which can be undone there."]),
          remarks(change.notes, sentence));
        if (change.proposal || change.revision) kept(`${file.name} is in`, change, () => put(place, h("p", { class: "outcome", role: "status" }, `${file.name} is out again.`)));
      }, "Loading it");
      const propose = act(async (message) => {
          const { id } = await post("proposals", { ...changeOf(added, removed), why: message });
        leaving(null);
        put(place);
        waits(id);
      }, "Proposing it");
      leaving(nothing ? null : `${file.name} is not kept yet.`);
      return [
        h("h2", null, nothing ? "No changes" : `It would add ${many(edits.added, "quad")} and remove ${count(edits.removed)}`),
        remarks(notes, sentence),
        report && h("section", { class: "bring-violations", "aria-label": "Violations" }, violations(report)),
        !nothing && messageLine(why),
        !nothing && actions(
          includes(me.level, "write") && h("button", { class: "primary", onclick: keep }, "Keep it"),
          !includes(me.level, "write") && !truncated && h("button", { class: "primary", onclick: propose }, "Propose it"),
          h("button", { onclick: () => {
            leaving(null);
            put(place);
          } }, "Leave it"),
          !includes(me.level, "write") && truncated && aside(`A proposal has ${count(PROPOSED)} quads at most: split the file.`)),
        result,
        differenceView({ ...edits, entities: edits.entities.slice(0, SHOWN) }),
        edits.added + edits.removed > 0 && edits.entities.length >= SHOWN && hint(`The first ${SHOWN} entities are shown.`)];
    }

    const mapping = isTable ? mappingPart(told, await classesOf().catch(() => []), changed) : null;
    put(place, h("h2", { class: "bring-name", dir: "auto" }, file.name),
      mapping?.node, graphPart(options, WITH_GRAPHS.includes(file.ending), changedGraph), outcome);
    if (isTable) put(outcome, next());
    else await difference();
    function changedGraph() {
      turn += 1;
      if (isTable) put(outcome, next());
      else difference();
    }
  }

  read();
  return { node, title: `Bring in · ${worldName}` };
}

/** The choice of the graph, and whether it is added to. */
function graphPart(options, named, changed) {
  const graph = choice([["", named ? "as the file says" : "the default graph"]], "", (value) => {
    options.graph = value ? expanded(value) : null;
    changed();
  }, { id: "bring-graph", other: "Another graph", hint: "IRI of the graph" });
  const [mode] = choice([["merge", "is added to what is there"], ["replace", "takes the place of what is there"]], "merge", (value) => {
    options.mode = value;
    changed();
  }, { id: "bring-mode" });
  get("schema", { limit: 100 }).then(({ graphs }) => graph[0].lastChild.before(...graphs.filter(({ iri }) => iri && iri !== "default").map(({ iri }) => h("option", { value: iri }, iri)))).catch(() => {});
  return h("div", { class: "option-row" },
    option("bring-graph", "Graph", graph),
    option("bring-mode", "The file", mode));
}

/** What the world follows, with the state of each, and a way to run it. */
function sourcesPart() {
  const list = h("div", null, loading());
  const node = h("section", { class: "sources" }, h("h2", null, "Sources"), list);
  const run = (name, place) => async () => {
    put(place, loading(`Reading ${name}`));
    try {
      const { runs: [told] } = await post("sync", { name });
      const said = [[told.new, "new"], [told.changed, "changed"], [told.moved, "moved"], [told.deleted, "gone"]].filter(([ones]) => ones.length).map(([ones, words]) => `${count(ones.length)} ${words}`);
      await read();
      if (told.revision) done(`${name}: ${said.join(", ") || "read anew"}`, [told.revision], read);
      else notice(h("span", { dir: "auto" }, told.proposal ? `${name} waits as proposal ${told.proposal}.` : `${name}: nothing has changed there.`));
    } catch (error) {
      put(place, failure(error, run(name, place)));
    }
  };
  const line = (source) => {
    const place = h("div");
    return h("li", null,
      h("p", { class: "check-head" }, h("strong", { dir: "auto" }, source.name), aside(source.kind),
        h("button", { onclick: run(source.name, place), disabled: !source.trusted, "aria-label": `Sync ${source.name}` }, "Sync")),
      h("p", { class: "meta" }, h("span", null, many(source.files, "file")), h("span", null, "graph ", nameOfIri(source.graph)),
        source.run ? h("span", null, "read ", timeNode(source.run)) : h("span", null, "never read"),
        source.revision && revisionLink(source.revision),
        source.proposal && proposalLink(source.proposal)),
      source.error && h("p", { class: "bad", dir: "auto" }, source.error),
      source.errors.map(({ path, error }) => h("p", { class: "bad", dir: "auto" }, `${path}: ${error}`)),
      !source.trusted && h("p", { class: "notes" }, "It came with the file. The server's owner can trust it by ", h("code", null, `worlds sources trust FILE ${source.name}`)), place);
  };
  async function read() {
    try {
      const { sources } = await get("sources");
      put(list, sources.length ? h("ul", { class: "checks" }, sources.map(line)) : hint("A world can follow a folder, a file or an address. Whoever runs the server adds one: ", h("code", null, "worlds sources sync FILE FOLDER")));
    } catch (error) {
      put(list, failure(error, read));
    }
  }
  read();
  return node;
}
