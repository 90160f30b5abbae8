// A new world's first steps: what new IRIs begin with, prefixes, and a first entity.

import { get, language, post, worldName } from "./api.js";
import { changeOf } from "./difference.js";
import { actions, h, hint, put } from "./dom.js";
import { failure } from "./keys.js";
import { kept } from "./notice.js";
import { address, forget, go } from "./router.js";
import { entityAddress, expanded, literal, nt, prefixMap, RDF, RDFS, setPrefixes, SKOS } from "./terms.js";


/** "solar cell" → "SolarCell"; "has part" → "hasPart" with `lower`. */
export function localName(words, lower = false) {
  const parts = words.normalize("NFC").split(/[^\p{L}\p{N}]+/u).filter(Boolean).map((part) => part[0].toUpperCase() + part.slice(1));
  const name = parts.join("");
  return lower ? name.slice(0, 1).toLowerCase() + name.slice(1) : name;
}

const suggested = () => `https://example.org/${encodeURIComponent(worldName)}/`;
const namespaceOf = () => get("policy").then(({ iris }) => iris?.namespace ?? null);

function field(id, label, help, attributes = {}) {
  const input = h("input", { id, autocomplete: "off", dir: "auto", ...attributes });
  return [input, [h("label", { for: id }, label), input, help && hint(help)]];
}

/** A form that makes the first entity of a world, with its namespace and its class. */
export function firstEntity() {
  const [space, spacePart] = field("begin-namespace", "New names begin with", "An address of yours, ending with / or #. It need not exist on the web; it is kept for this world.", { value: suggested(), dir: "ltr", required: true, pattern: ".+[\\/#]" });
  const [kind, kindPart] = field("begin-class", "Its class", "A word of yours, such as Person, or a term such as skos:Concept.", { required: true, placeholder: "Person" });
  const [name, namePart] = field("begin-name", "Its name", null, { required: true });
  const place = h("div", { "aria-live": "polite" });
  namespaceOf().then((held) => {
    if (!held) return;
    space.value = held;
    space.readOnly = true;
  }).catch(() => {});
  const make = async (event) => {
    event?.preventDefault();
    try {
      const namespace = space.value.trim();
      setPrefixes(await post("namespace", { namespace, ...(!prefixMap().ex && { prefix: "ex" }) }));
      const said = kind.value.trim();
      const known = expanded(said);
      const type = /^[a-z][a-z0-9+.-]*:\S+$/i.test(known) ? known : namespace + localName(said);
      const { iri: made } = await get("mint", { label: name.value.trim(), type });
      const add = [[nt(made), nt(`${RDF}type`), nt(type), null], [nt(made), nt(type.startsWith(SKOS) ? `${SKOS}prefLabel` : `${RDFS}label`), literal(name.value.trim(), language), null]];
      if (known === said && type.startsWith(namespace)) add.push([nt(type), nt(`${RDF}type`), nt(`${RDFS}Class`), null], [nt(type), nt(`${RDFS}label`), literal(said, language), null]);
      const change = await post("quads", { ...changeOf(add), message: `New: ${name.value.trim()}` });
      kept(`${name.value.trim()} is made`, change, () => go(address({})));
      go(entityAddress(made));
    } catch (error) {
      put(place, failure(error));
    }
  };
  return h("form", { class: "new-form", onsubmit: make }, spacePart, kindPart, namePart, actions(h("button", { type: "submit", class: "primary" }, "Make it")), place);
}

/** The namespace and the prefixes of the world, to be said. */
export function beginning() {
  const place = h("div", { "aria-live": "polite" });
  const spacePlace = h("div");
  const list = h("dl", { class: "facts" });
  const [prefix, prefixPart] = field("begin-prefix", "Prefix", null, { dir: "ltr", required: true, pattern: "[\\p{L}_][\\p{L}\\p{N}_.\\-]*", placeholder: "ex" });
  const [space, spacePart] = field("begin-prefix-iri", "stands for", null, { dir: "ltr", required: true, placeholder: "https://example.org/" });
  const show = () => put(list, Object.entries(prefixMap()).filter(([name]) => name !== "w").sort().map(([name, value]) => [h("dt", null, h("code", null, `${name}:`)), h("dd", { dir: "ltr" }, value)]));
  const told = async (job) => {
    try {
      setPrefixes(await job());
      forget();
      put(place);
      show();
    } catch (error) {
      put(place, failure(error));
    }
  };
  namespaceOf().then((held) => {
    if (held) {
      put(spacePlace, h("p", null, "New IRIs begin with ", h("code", null, held)));
      return;
    }
    const [input, part] = field("begin-space", "New IRIs begin with", "It ends with / or #. Names of new entities follow it.", { dir: "ltr", value: suggested(), required: true });
    put(spacePlace, h("form", { class: "new-form", onsubmit: async (event) => {
      event.preventDefault();
      await told(() => post("namespace", { namespace: input.value.trim() }));
      if (!place.childElementCount) put(spacePlace, h("p", null, "New IRIs begin with ", h("code", null, input.value.trim())));
    } }, part, actions(h("button", { type: "submit" }, "Use this beginning"))));
  }).catch((error) => put(spacePlace, failure(error)));
  show();
  return h("section", { class: "beginning" }, h("h2", null, "New IRIs and prefixes"), spacePlace,
    h("details", null, h("summary", null, "Prefixes"), list,
      h("form", { class: "new-form", onsubmit: (event) => {
        event.preventDefault();
        told(() => post("prefixes", { prefix: prefix.value.trim(), iri: space.value.trim() }));
      } }, prefixPart, spacePart, actions(h("button", { type: "submit" }, "Add the prefix")))), place);
}
