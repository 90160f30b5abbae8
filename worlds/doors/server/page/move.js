// Moving an entity in a tree: where to, what that would change, and whether it is done or proposed.

import { get, includes, language, post } from "./api.js";
import { chooser } from "./choose.js";
import { changeOf, differenceView } from "./difference.js";
import { actions, h, loading, messageBox, put, quiet, remarks } from "./dom.js";
import { ask, failure } from "./keys.js";
import { nameOfIri } from "./names.js";
import { kept, waits } from "./notice.js";
import { nameOf } from "./terms.js";
import { way } from "./tree.js";

const TOP = "the top";

/**
 * Ask where an entity of a tree is to stand, unless `to` says it (null for the top), show what would change, and do it.
 * `after` is called once it is done, and once it is taken back.
 */
export function moveDialog(me, { iri, of, away = null, to, named, after }) {
  const name = nameOf(iri);
  return ask(`Move ${name}`, (close) => {
    const place = h("div", { class: "move-outcome", "aria-live": "polite", onclick: (event) => event.target.closest("a") && close(null) });
    const remark = messageBox("move-message");
    const act = h("button", { class: "primary", disabled: true }, includes(me.level, "write") ? "Move it" : "Propose it");
    let running = 0;
    let target = to;
    const rehearse = async () => {
      running += 1;
      const mine = running;
      act.disabled = true;
      put(place, loading("Trying it"));
      try {
        const move = await get("moving", { iri, of, away, to: target });
        const quads = changeOf(move.add, move.remove);
        const tried = await post("rehearsal", { ...quads, language });
        if (mine !== running) return;
        put(place, h("p", null, "Moves below ", h("strong", { dir: "auto" }, target ? nameOf(target) : TOP), away && of !== away && [", and no longer below ", h("span", { dir: "auto" }, nameOf(away))], move.stays.length > 0 && [", and it stays below ", move.stays.map((one, at) => [at > 0 && ", ", nameOfIri(one)])], "."),
          remarks(tried.notes), differenceView(tried.edits));
        act.disabled = false;
        act.onclick = () => carryOut(quads, move.revision);
        if (to !== undefined) act.focus();
      } catch (error) {
        if (mine === running) put(place, failure(error, rehearse));
      }
    };
    const carryOut = async (quads, base) => {
      const words = remark.value.trim() || `Move ${name} below ${target ? nameOf(target) : TOP}`;
      act.disabled = true;
      try {
        if (includes(me.level, "write")) {
          const made = await post("quads", { ...quads, message: words, base });
          kept(`Moved ${name}`, made, after);
          after();
        } else {
          const { id } = await post("proposals", { ...quads, why: words });
          waits(id);
        }
        close(true);
      } catch (error) {
        put(place, failure(error, rehearse));
      }
    };
    const find = async (text, signal) => (await get("tree", { of, matching: text, limit: 8, language }, { signal })).nodes
      .filter((one) => one.iri !== iri).map((one) => ({ iri: one.iri, label: one.label, types: [], apart: way(one.path) }));
    const box = to === undefined && chooser({ id: "move-to", find, placeholder: `An entity of ${named}`, autofocus: true, choose: (one) => {
      target = one;
      if (one) rehearse();
      else put(place);
    } });
    if (to !== undefined) rehearse();
    return [
      box && h("div", null, h("label", { for: "move-to" }, "New place below"), box.node,
        h("p", null, quiet({ onclick: () => {
          target = null;
          rehearse();
        } }, "At the top"))),
      place, h("label", { for: "move-message" }, "Message"), remark,
      actions(act, h("button", { onclick: () => close(null) }, "Cancel")),
    ].filter(Boolean);
  });
}
