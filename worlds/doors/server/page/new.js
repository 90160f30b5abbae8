// A new entity: its class and its name, from which the world's policy makes an IRI; then its form.

import { access, get, includes } from "./api.js";
import { chooser, classesOf } from "./choose.js";
import { actions, h, loading, put, remarks } from "./dom.js";
import { editView } from "./edit.js";
import { failure, needs } from "./keys.js";
import { address, go } from "./router.js";
import { entityLink, nameOf } from "./terms.js";

/** The view of `#new`: the class and the name are asked for first, then it is the form. */
export function newView(asked, entitle) {
  if (asked.get("new") && asked.get("iri")) return editView(asked, entitle);
  const node = h("section", { class: "new-view" }, loading());

  async function read() {
    try {
      const me = await access();
      if (!includes(me.level, "propose")) {
        put(node, h("h1", null, "New entity"), needs(me, "propose", "Making an entity"));
        return;
      }
      draw();
    } catch (error) {
      put(node, failure(error, read));
    }
  }

  function draw() {
    const given = asked.get("new");
    const another = h("option", { value: "" }, "another class…");
    const type = h("select", { id: "new-type" }, given && h("option", { value: given, selected: true }, nameOf(given)), another);
    const other = chooser({ id: "new-class", placeholder: "Name or IRI of the class", choose: (iri) => { chosen = iri; } });
    const otherPart = h("div", { hidden: given !== "" && given !== null }, h("label", { for: "new-class" }, "Class"), other.node);
    let chosen = null;
    // A large world takes a moment to tell its classes.
    classesOf().then((classes) => {
      const offered = classes.filter(({ iri }) => !/\/(?:rdf-schema|owl|22-rdf-syntax-ns|shacl)#/.test(iri) && iri !== given);
      another.before(...offered.map(({ iri, label }) => h("option", { value: iri }, label ?? nameOf(iri))));
      if (!chosen && !given && offered.length) type.selectedIndex = 0;
      otherPart.hidden = type.value !== "";
    }, () => {});
    type.addEventListener("change", () => { otherPart.hidden = type.value !== ""; });
    const name = h("input", { id: "new-label", dir: "auto", autocomplete: "off", required: true });
    const iri = h("input", { id: "new-iri", dir: "ltr", autocomplete: "off", spellcheck: "false", placeholder: "made by the world's policy" });
    const place = h("div", { "aria-live": "polite" });

    async function next() {
      const kind = type.value || chosen;
      if (!kind) {
        put(place, h("p", { class: "bad" }, "Choose a class."));
        return;
      }
      const start = (made) => go(address({ new: kind, iri: made, label: name.value.trim() }));
      if (iri.value.trim()) {
        start(iri.value.trim());
        return;
      }
      put(place, loading("Looking for an entity of this name"));
      try {
        const minted = await get("mint", { label: name.value.trim(), type: kind });
        if (minted.new && !minted.notes?.length) start(minted.iri);
        else put(place, minted.new ? remarks(minted.notes) : h("p", { class: "notes" }, "The world has it already: ", entityLink(minted.iri)),
          actions(h("button", { onclick: () => start(minted.new ? minted.iri : iri.value.trim() || `${minted.iri}-2`) }, minted.new ? "Create it anyway" : "Create another entity")));
      } catch (error) {
        put(place, h("p", { class: "notes", dir: "auto" }, error.message), h("p", null, "Give an IRI of your own above, or ", h("a", { href: address({ bring: "" }) }, "say what new IRIs begin with"), "."));
        iri.focus();
      }
    }

    put(node, h("h1", null, "New entity"), h("form", { class: "new-form", onsubmit: (event) => {
      event.preventDefault();
      next();
    } },
    h("label", { for: "new-type" }, "Class of the new entity"), type, otherPart,
    h("label", { for: "new-label" }, "Name"), name,
    h("details", null, h("summary", null, "An IRI of your own"), h("label", { for: "new-iri" }, "IRI"), iri),
    actions(h("button", { type: "submit", class: "primary" }, "Go on to its form")), place));
    name.focus();
  }

  read();
  return { node, title: "New entity" };
}
