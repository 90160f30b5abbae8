// Elements out of names, attributes and children. Data only ever becomes text nodes and attribute values.

const SVG = "http://www.w3.org/2000/svg";

const present = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...present(children));
  return element;
}

/** An HTML element; `on…` attributes are listeners, null and false leave an attribute or a child out. */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), name === "button" ? { type: "button", ...attributes } : attributes, children);
}

export const hint = (...children) => h("p", { class: "unit" }, ...children);
export const aside = (...children) => h("span", { class: "unit" }, ...children);
export const actions = (...children) => h("p", { class: "actions" }, ...children);
export const quiet = (attributes, ...children) => h("button", { class: "quiet", ...attributes }, ...children);

export const linkButton = (href, ...children) => h("a", { class: "button", href }, ...children);

/** The box of a message. */
export const messageBox = (id) => h("input", { id, dir: "auto", maxlength: "10000", placeholder: "Why, for the history", autocomplete: "off" });

/** The box of a message, beside its label. */
export const messageLine = (box) => h("div", { class: "edit-message" }, h("label", { for: box.id }, "Message"), box);

/** A control under its label. */
export const option = (id, label, ...control) => h("div", { class: "option" }, h("label", { for: id }, label), control);

/** What the server remarks on a change. */
export const remarks = (notes, told = (text) => text) => (notes ?? []).map((text) => h("p", { class: "notes", dir: "auto" }, told(text)));

/** An SVG element. */
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Put these children in place of all that the element has. */
export function put(element, ...children) {
  element.replaceChildren(...present(children));
  return element;
}

let last = 0;

/** An id for a label or a controlled element. */
export function freshId(stem) {
  last += 1;
  return `${stem}-${last}`;
}

/** A button that opens and closes what `fillIn` returns, which is made when it is first opened. */
export function disclosure(label, fillIn, attributes = {}) {
  const id = freshId("part");
  const part = h("div", { id, class: "part", hidden: true });
  let made = false;
  const button = quiet({
    "aria-expanded": "false",
    "aria-controls": id,
    ...attributes,
    onclick: () => {
      part.hidden = !part.hidden;
      button.setAttribute("aria-expanded", String(!part.hidden));
      if (!made) {
        made = true;
        put(part, fillIn());
      }
    },
  }, label);
  return [button, part];
}

/** A sign of loading; it shows after a moment, so that quick answers do not flicker. */
export function loading(what = "Loading") {
  return h("p", { class: "loading", role: "status" }, `${what}…`);
}

/** What stands where there is nothing. */
export function empty(title, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), ...more.map((part) => (typeof part === "string" ? h("p", null, part) : part)));
}

const whole = new Intl.NumberFormat("en");

/** 12345 → "12,345". */
export const count = (number) => whole.format(number);

/** "1 quad", "2 quads". */
export const many = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;

/** Milliseconds for people. */
export function duration(milliseconds) {
  if (milliseconds < 1) return "< 1 ms";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
