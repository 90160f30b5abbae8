// The reader's language on every page; on the first one the tree and the search. A classic script: it runs from the disk.
"use strict";
(() => {
  const KEY = "worlds-language";
  const SHOWN = 50; // results, and children of a concept, at first
  const select = document.querySelector(".languages select");
  const tags = select ? [...select.options].map((option) => option.value) : [];
  const near = (tag) => tags.find((one) => one === tag) ?? tags.find((one) => one.split("-")[0] === tag.split("-")[0]);

  function kept() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is forbidden
    }
  }

  let language = [kept(), ...(navigator.languages ?? [])].filter(Boolean).map((tag) => near(tag.toLowerCase())).find(Boolean)
    ?? near(document.documentElement.dataset.default) ?? document.documentElement.dataset.default;

  /** [text, language] of labels by language: the reader's, else the site's own, English, or any. */
  function chosen(labels) {
    const own = document.documentElement.dataset.default;
    const tag = [language, language.split("-")[0], own, "en", "", ...Object.keys(labels)].find((one) => labels[one] !== undefined) ?? "";
    return [labels[tag] ?? "", tag];
  }

  function say(node, labels) {
    const [text, tag] = chosen(labels);
    node.textContent = text;
    if (tag) node.lang = tag;
    else node.removeAttribute("lang");
  }

  const translate = () => document.querySelectorAll("[data-labels]").forEach((node) => say(node, JSON.parse(node.dataset.labels)));

  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  function make(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function link([file, labels, , , hint]) {
    const text = make("bdi", {});
    say(text, labels);
    return [make("a", { href: `c/${file}` }, text), ...(hint ? [" ", make("small", {}, `(${hint})`)] : [])];
  }

  function first({ concepts, roots }) {
    const below = concepts.map(() => []);
    concepts.forEach(([, , , parents], place) => parents.forEach((parent) => below[parent].push(place)));
    const words = concepts.map(([, labels, others]) => [Object.values(labels).map(fold), others.map(fold)]);
    const tree = document.querySelector("#tree");
    const found = document.querySelector("#found");
    const field = document.querySelector(".search input");

    /** The items of concepts, by their labels, some at a time. */
    function items(places, list) {
      const order = new Intl.Collator(language);
      const sorted = places.map((place) => [chosen(concepts[place][1])[0], place]).sort(([a], [b]) => order.compare(a, b));
      const more = (from) => {
        list.append(...sorted.slice(from, from + SHOWN * 4).map(([, place]) => item(place)));
        if (sorted.length > from + SHOWN * 4) {
          const button = make("button", { type: "button" }, "More");
          const line = make("li", {}, button);
          button.style.width = "auto";
          button.onclick = () => { line.remove(); more(from + SHOWN * 4); };
          list.append(line);
        }
      };
      list.replaceChildren();
      more(0);
    }

    function item(place) {
      if (!below[place].length) return make("li", {}, make("span", { class: "leaf" }), ...link(concepts[place]));
      const button = make("button", { type: "button", "aria-expanded": "false", "aria-label": `Narrower: ${chosen(concepts[place][1])[0]}` }, "▸");
      const line = make("li", {}, button, ...link(concepts[place]));
      button.onclick = () => {
        const open = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!open));
        button.textContent = open ? "▸" : "▾";
        if (open) line.querySelector("ul").remove();
        else {
          const list = make("ul", {});
          line.append(list);
          items(below[place], list);
        }
      };
      return line;
    }

    /** How well texts fit: the whole, the beginning, the beginning of a word, a part, all
        words in any order; 0 for not at all. */
    function fit(texts, sought) {
      let best = 0;
      for (const text of texts) {
        const at = text.indexOf(sought);
        if (at < 0) continue;
        best = Math.max(best, text === sought ? 4 : at === 0 ? 3 : /[^\p{L}\p{N}]/u.test(text[at - 1]) ? 2 : 1);
      }
      const each = sought.split(/\s+/);
      return best || (texts.some((text) => each.every((word) => text.includes(word))) ? 0.75 : 0);
    }

    function search() {
      const sought = fold(field.value.trim());
      tree.hidden = Boolean(sought);
      found.hidden = !sought;
      if (!sought) return;
      const hits = words.map(([labels, others], place) => [Math.max(fit(labels, sought) * 2, fit(others, sought) * 2 - 1), place])
        .filter(([score]) => score > 0)
        .sort(([a, one], [b, two]) => b - a || words[one][0][0].length - words[two][0][0].length);
      const list = make("ul", {}, ...hits.slice(0, SHOWN).map(([, place]) => make("li", {}, ...link(concepts[place]))));
      found.replaceChildren(make("p", { class: "count" }, hits.length > SHOWN ? `The best ${SHOWN} of ${hits.length}` : `${hits.length} found`), list);
    }

    const draw = () => {
      items(roots, tree);
      search();
    };
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.oninput = search;
    field.form.onsubmit = (event) => {
      event.preventDefault();
      search();
      found.querySelector("a")?.focus();
    };
    draw();
    return draw;
  }

  const draw = window.WORLDS ? first(window.WORLDS) : () => {};
  if (select) {
    select.value = language;
    select.parentElement.hidden = false;
    select.onchange = () => {
      language = select.value;
      try {
        localStorage.setItem(KEY, language);
      } catch { /* it lasts as long as the page */ }
      translate();
      draw();
    };
  }
  translate();
})();
