// A menu whose last entry opens a box for another value.

import { h } from "./dom.js";

/** [select, box]: `entries` are [value, words]; `take` gets the chosen value, or the text in the box of `other`. */
export function choice(entries, held, take, { other = null, hint = null, ...attributes } = {}) {
  const box = h("input", { "aria-label": other, placeholder: hint, hidden: true, spellcheck: "false", autocomplete: "off", onchange: () => box.value.trim() && take(box.value.trim(), true) });
  const select = h("select", { ...attributes, onchange: () => {
    box.hidden = select.value !== "…";
    if (box.hidden) take(select.value, false);
    else box.focus();
  } }, entries.map(([value, words]) => h("option", { value, selected: value === held }, words)), other && h("option", { value: "…" }, "another…"));
  return [select, box];
}
