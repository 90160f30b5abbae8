// The browser: the trees of the world, and beside each the entity that is chosen in it, or a list of members.

import { access, get, includes, language } from "./api.js";
import { actions, count, empty, h, hint, linkButton, loading, put } from "./dom.js";
import { failure } from "./keys.js";
import { askMembers, memberList } from "./list.js";
import { moveDialog } from "./move.js";
import { address, go, record } from "./router.js";
import { entityAddress, entityLink, learn, nameOf, parseTerm, show } from "./terms.js";
import { treeView, way } from "./tree.js";
import { nameOfTree, SUB_CLASS, treeLinks, trees } from "./trees.js";

/** The view of `#browse=IRI&at=IRI`: a scheme, a class or a property; without an IRI, all trees. */
export function browseView(asked, entitle) {
  const node = h("section", { class: "browse-view" }, loading("Reading"));
  const side = h("div", { class: "browse-side" });
  const panel = h("div", { class: "browse-panel" });
  let tree = null; // what stands at the side
  let known = null; // {of, name} of it
  let every = [];
  let me = { level: "none" };

  const stateOf = (values) => ({
    of: values.get("browse"), at: values.get("at"), filters: values.getAll("f"), facets: values.getAll("facet"),
    offset: Number(values.get("offset") ?? 0) || 0, subclasses: values.get("subclasses") !== "no",
  });
  const addressOf = (state) => address({
    browse: state.of, at: state.at || null, f: state.filters, facet: state.facets, offset: state.offset || null, subclasses: state.subclasses ? null : "no",
  });

  async function start() {
    try {
      const [given, told] = await Promise.all([access(), trees()]);
      me = given;
      every = told.trees;
      await follow(asked);
    } catch (error) {
      put(node, failure(error, start));
    }
  }

  async function follow(values) {
    const state = stateOf(values);
    if (!state.of) {
      entitle("Browse");
      tree = known = null;
      put(node, h("h1", null, "Browse"), every.length ? treeLinks(every) : empty("There is no tree here", "A tree comes of a concept scheme, of classes, or of a property such as partOf."));
      return;
    }
    try {
      if (state.at || state.of === SUB_CLASS) {
        await beside(state.of, every.find(({ iri }) => iri === state.of), state.at);
        await (state.at ? showEntity(state) : showTop(state));
      } else await showMembers(state);
    } catch (error) {
      put(node, failure(error, () => follow(values)));
    }
  }

  /** Show a tree at the side, and an entity of it as chosen. */
  async function beside(of, told, at) {
    if (known?.of === of) await tree.reveal(at);
    else {
      const label = told ? null : (await get("tree", { of, limit: 1, language })).label;
      const name = told ? nameOfTree(told) : label ?? nameOf(of);
      known = { of, name };
      tree = treeView({ of, name, at, select: (iri) => {
        const next = { of: of === SUB_CLASS ? iri : of, at: of === SUB_CLASS ? null : iri, filters: [], facets: [], offset: 0, subclasses: true };
        go(addressOf(next));
      }, move: includes(me.level, "propose") ? (iri, to, away) => moving(of, iri, away ?? (of === SUB_CLASS ? null : of), to) : null });
      put(side, chooseTree(of), tree.node);
    }
    if (!node.contains(side) || !node.contains(panel)) put(node, side, panel);
  }

  function chooseTree(of) {
    if (every.length < 2) return null;
    return h("select", { "aria-label": "Tree", onchange: (event) => go(address({ browse: event.target.value })) },
      every.map((one) => h("option", { value: one.iri, selected: one.iri === of }, `${nameOfTree(one)} (${count(one.instances ?? 0)})`)));
  }

  const moving = (of, iri, away, to) => moveDialog(me, { iri, of, away, to, named: known.name, after: () => {
    tree?.reload(iri);
    if (of !== SUB_CLASS) follow(new URLSearchParams(location.hash.slice(1)));
  } });

  const moveButton = (of, iri) => includes(me.level, "propose") && h("button", { onclick: () => moving(of, iri, tree.parentOf(iri) ?? (of === SUB_CLASS ? null : undefined)) }, "Move…");

  /** The members of a class, a scheme or a property, with the tree that it stands in, or is. */
  async function showMembers(state) {
    const told = await askMembers(state);
    const name = told.label ?? nameOf(told.of);
    learn(told.of, told.label);
    entitle(name);
    const isTree = every.find(({ iri }) => iri === told.of);
    if (told.kind === "class") await beside(SUB_CLASS, every.find(({ kind }) => kind === "classes"), told.of);
    else if (isTree) await beside(told.of, isTree, null);
    else {
      tree = known = null;
      put(node, panel);
    }
    node.classList.toggle("alone", !tree);
    if (told.kind === "property" && !state.facets.length) state.facets = [told.of];
    const change = (more) => {
      const next = { ...state, ...more };
      record(addressOf(next), { replace: false });
      showMembers(next);
    };
    const kinds = { class: "Class", scheme: "Concept scheme", property: "Property" };
    put(panel, head(kinds[told.kind] ?? "", told.of, name, [
      linkButton(entityAddress(told.of), "Open its page"),
      told.kind === "class" && moveButton(SUB_CLASS, told.of),
      told.kind === "class" && includes(me.level, "propose") && linkButton(address({ new: told.of }), "New entity of this class"),
    ]), memberList({ state, change, first: Promise.resolve(told) }));
  }

  function head(kind, iri, name, acts) {
    return h("header", { class: "browse-head" }, kind && hint(kind), h("h1", { dir: "auto", title: iri }, name), actions(acts));
  }

  /** The top of a tree without a list of its own. */
  async function showTop() {
    entitle(known.name);
    put(panel, head("Tree", known.of, known.name, []), hint("Open a level with ▸ or →. A class shows its instances."));
  }

  /** An entity of a tree: what it is, where it stands, and what can be done with it. */
  async function showEntity(state) {
    const [told, { path }] = await Promise.all([
      get(`entities/${encodeURIComponent(state.at)}`, { limit: 8, language }), get("tree", { of: state.of, parent: state.at, limit: 1, language })]);
    const name = told.label ?? nameOf(state.at);
    learn(told.iri, told.label);
    entitle(name);
    for (const { values } of told.properties) for (const { term, label } of values) if (label) learn(parseTerm(term).value, label);
    const parent = path?.at(-2);
    put(panel, head(parent ? way(path.slice(0, -1)) : known.name, told.iri, name, [
      linkButton(entityAddress(told.iri), "Open its page"), moveButton(state.of, state.at),
      includes(me.level, "propose") && linkButton(address({ edit: told.iri }), "Edit"),
    ]), told.description && h("p", { class: "lead", dir: "auto" }, told.description),
    h("dl", { class: "facts" }, told.properties.flatMap((part) => [h("dt", null, entityLink(part.predicate, part.label)),
      h("dd", null, part.values.map((value, at) => [at > 0 && ", ", show(parseTerm(value.term), { label: value.label, most: 200 })]), part.count > part.values.length && ` and ${count(part.count - part.values.length)} more`)])));
  }

  start();
  return { node, title: "Browse", follow };
}
