// What is shown before anything is sought: what the world holds.

import { access, includes, stats as figuresOf } from "./api.js";
import { actions, count, empty, h, linkButton, put } from "./dom.js";
import { failure, needs } from "./keys.js";
import { address } from "./router.js";
import { treeLinks, trees } from "./trees.js";
import { nameOf } from "./terms.js";

function bars(title, figures, hint) {
  const entries = Object.entries(figures);
  if (!entries.length) return null;
  const most = Math.max(...entries.map(([, number]) => number));
  return h("section", { class: "bars" }, h("h2", null, title),
    h("ul", null, entries.map(([iri, number]) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" });
      bar.style.inlineSize = `${Math.max(1, (100 * number) / most)}%`;
      return h("li", null,
        h("a", { href: address({ browse: iri }), title: `${hint} ${iri}`, dir: "auto", "data-name": iri }, nameOf(iri)),
        h("span", { class: "count" }, count(number)), bar);
    })));
}

/** What an empty world begins with. */
async function first(me) {
  if (!includes(me.level, "write")) return [empty("This world is empty"), needs(me, "write", "Filling it")];
  const { firstEntity } = await import("./begin.js");
  return h("div", { class: "first-steps" }, empty("This world is empty", "Load your data, or make a first entity by hand."), h("div", { class: "pair" },
    h("section", null, h("h2", null, "Import data"), h("p", null, "A table, or RDF: you see what it becomes before it is kept."), actions(linkButton(address({ bring: "" }), "Choose a file"))),
    h("section", null, h("h2", null, "Make a first entity"), firstEntity())));
}

/** The figures of the world, and where to begin. */
export async function overview() {
  let stats;
  try {
    stats = await figuresOf();
  } catch (error) {
    if (error.status === 404) return empty("There is no such world", error.message, h("p", null, h("a", { href: "/" }, "See which worlds there are")));
    return failure(error, () => location.reload());
  }
  if (!stats.quads) {
    return first(await access());
  }
  const figures = [
    ["quads", stats.quads], ["texts", stats.texts], ["named graphs", stats.graphs], ["revisions", stats.revisions],
  ];
  const { level } = await access();
  const pending = stats.pending > 0 && h("p", { class: "notes" }, `${count(stats.pending)} passages have no vector yet, and are found by their words only.`);
  const browse = h("div", { class: "overview-trees" });
  trees().then((found) => put(browse, found.trees.length > 0 && treeLinks(found.trees))).catch(() => {});
  return h("div", { class: "overview" },
    h("dl", { class: "figures" }, figures.map(([name, number]) => h("div", null, h("dt", null, name), h("dd", null, count(number))))),
    pending, browse,
    includes(level, "propose") && actions(linkButton(address({ new: "" }), "New entity"), linkButton(address({ bring: "" }), "Bring in"), linkButton(address({ translate: "" }), "Translate"), linkButton(address({ match: "" }), "Match names")),
    h("div", { class: "pair" },
      bars("Commonest types", stats.types ?? {}, "List what is a"),
      bars("Commonest properties", stats.predicates ?? {}, "List what has a")));
}
