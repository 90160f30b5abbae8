// The start page of a folder: its worlds.

import { get } from "./api.js";
import { empty, h, loading, put } from "./dom.js";
import { failure } from "./keys.js";
import { timeNode } from "./revisions.js";

const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** 123456 → "121 KB". */
export function size(bytes) {
  let at = 0;
  let value = bytes;
  while (value >= 1024 && at < UNITS.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${value < 10 && at ? value.toFixed(1) : Math.round(value)} ${UNITS[at]}`;
}

export function worldsView() {
  const list = h("div", null, loading());
  const read = async () => {
    try {
      const found = await get("worlds", {}, { from: "" });
      const { worlds } = found;
      if (!worlds.length) {
        put(list, empty("This folder has no world yet", h("p", null, "Create a world with ", h("code", null, "worlds init NAME.db"), " in the folder that is served.")));
        return;
      }
      put(list, h("ul", { class: "worlds" }, worlds.map((world) => h("li", null,
        h("a", { href: `/worlds/${encodeURIComponent(world.name)}`, dir: "auto" }, world.name),
        h("span", { class: "meta" },
          h("span", null, size(world.bytes)),
          h("span", null, "changed ", timeNode(new Date(world.modified * 1000).toISOString())))))));
    } catch (error) {
      put(list, failure(error, read));
    }
  };
  read();
  return h("section", { class: "worlds-view" }, h("h1", null, "Worlds"), list);
}
