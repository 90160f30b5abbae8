// Which trees the world has: concept schemes, classes, and properties that lead to something broader.

import { get, language } from "./api.js";
import { aside, count, h, many } from "./dom.js";
import { address } from "./router.js";
import { browses, learn, nameOf } from "./terms.js";

export const SUB_CLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf";

const UNITS = { scheme: ["concept"], classes: ["class", "classes"], property: ["link"] };

export const nameOfTree = ({ iri, label, kind }) => (kind === "classes" ? "Classes" : label ?? nameOf(iri));

export async function trees() {
  const { nodes, total } = await get("tree", { limit: 200, language });
  for (const { iri, label } of nodes) {
    learn(iri, label);
    browses(iri);
  }
  return { trees: nodes, total };
}

export function treeLinks(nodes) {
  const titles = { scheme: "Concept schemes", classes: "Classes", property: "Hierarchies" };
  return h("div", { class: "tree-links" }, Object.entries(titles).map(([kind, title]) => {
    const mine = nodes.filter((one) => one.kind === kind);
    return mine.length > 0 && h("section", null, h("h2", null, title), h("ul", null, mine.map((one) => h("li", null,
      h("a", { href: address({ browse: one.iri }), title: one.iri, dir: "auto" }, kind === "classes" ? "All classes, as a tree" : nameOfTree(one)),
      one.apart && aside(one.apart),
      h("span", { class: "count" }, many(one.instances ?? 0, ...UNITS[kind]), one.children > 0 && `, ${count(one.children)} at the top`)))));
  }));
}

