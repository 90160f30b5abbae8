// Why a score is what it is, and how a search was answered.

import { get } from "./api.js";
import { aside, count, disclosure, duration, h, loading, put } from "./dom.js";
import { failure } from "./keys.js";
import { nameOf } from "./terms.js";

const LEGS = { vector: ["Meaning", "cosine similarity"], text: ["Words", "BM25, lower is better"], label: ["Label", "it is what was asked"] };
const STAGES = { related: "Related", rerank: "Reranking", boost: "Boost", decay: "Decay", diversity: "Diversity", group: "Grouping" };

const number = (value) => (value === null || value === undefined ? "–" : Number(value).toFixed(4).replace(/(\.\d\d)0+$/, "$1"));

/** For the hits of one answer: rank → a node that explains. They are fetched once, at the first use. */
export function explainHit(options) {
  let answer = null;
  return (rank) => {
    const node = h("div", { class: "explanation" }, loading("Explaining the score"));
    const fetchIt = async () => {
      try {
        answer ??= get("search", { ...options, explain: "true" });
        const hit = (await answer).hits.find((one) => one.rank === rank);
        put(node, hit ? legs(hit) : h("p", null, "The world has changed since: search again."));
      } catch (error) {
        answer = null;
        put(node, failure(error, fetchIt));
      }
    };
    fetchIt();
    return node;
  };
}

function legs(hit) {
  const found = Object.entries(hit.explain ?? {});
  const most = Math.max(...found.map(([, leg]) => Math.abs(leg.contribution)), Number.EPSILON);
  const rows = found.map(([name, leg]) => {
    const bar = h("span", { class: `bar ${name}`, "aria-hidden": "true" });
    bar.style.inlineSize = `${(100 * Math.abs(leg.contribution)) / most}%`;
    return h("tr", null,
      h("th", { scope: "row" }, LEGS[name]?.[0] ?? name, aside(LEGS[name]?.[1] ?? "")),
      h("td", null, leg.rank === null ? h("span", { title: "not in this list; its value was worked out" }, "–") : `#${leg.rank}`),
      h("td", null, number(leg.value)),
      h("td", null, `× ${number(leg.weight)}`),
      h("td", { class: "sum" }, number(leg.contribution), bar));
  });
  const table = h("div", { class: "scroll" }, h("table", { class: "legs" },
    h("caption", null, "Score of this hit, by list"),
    h("thead", null, h("tr", null, ["List", "Rank", "Value", "Weight", "Contribution"].map((words) => h("th", { scope: "col" }, words)))),
    h("tbody", null, rows),
    found.length > 1 && h("tfoot", null, h("tr", null, h("th", { scope: "row", colspan: "4" }, "Together"),
      h("td", { class: "sum" }, number(found.reduce((sum, [, leg]) => sum + leg.contribution, 0)))))));
  return [table, stages(hit.steps ?? [])];
}

function stages(steps) {
  if (!steps.length) return null;
  return h("ol", { class: "stages" }, steps.map((step) => h("li", null,
    h("strong", null, STAGES[step.stage] ?? step.stage), " ",
    step.rank_before === step.rank ? `stays at ${step.rank}` : `from ${step.rank_before} to ${step.rank}`,
    step.score_before !== step.score && `, score ${number(step.score_before)} → ${number(step.score)}`,
    details(step.detail))));
}

function details(detail) {
  const entries = Object.entries(detail ?? {});
  if (!entries.length) return null;
  return aside(entries.map(([name, value]) => `${name.replaceAll("_", " ")}: ${brief(value)}`).join(" · "));
}

function brief(value) {
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : number(value);
  if (Array.isArray(value)) return value.map(brief).join(", ");
  if (value && typeof value === "object") return Object.entries(value).map(([name, one]) => `${name} ${brief(one)}`).join(", ");
  if (typeof value === "string" && /^https?:/.test(value)) return nameOf(value);
  return String(value);
}

const PLANS = {
  exact: "all vectors that the filter lets through are compared",
  codes: "the vectors' signs choose, their cosines decide",
  index: "the vector index chooses, the cosines decide",
};

/** How the search was answered, folded. */
export function explainQuery(explain) {
  if (!explain) return null;
  const [button, part] = disclosure("How this was answered", () => {
    const facts = [
      ["Mode", explain.mode],
      ["Plan", explain.plan && `${explain.plan}: ${PLANS[explain.plan] ?? ""}${explain.reason ? ` (${explain.reason})` : ""}`],
      ["Passages that pass the filter", explain.eligible !== null && count(explain.eligible)],
      ["Vectors compared", explain.compared !== null && count(explain.compared)],
      ["Search terms", explain.match && h("code", { dir: "auto" }, explain.match)],
      ["Fusion", `${explain.fusion}, lists of up to ${count(explain.depth)}, ${count(explain.candidates)} candidates`],
      ["After fusion", explain.stages?.length ? explain.stages.map((name) => STAGES[name] ?? name).join(", ") : "nothing"],
    ];
    return [
      h("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
      timings(explain.milliseconds ?? {}),
    ];
  });
  return h("div", { class: "how" }, button, part);
}

function timings(milliseconds) {
  const { all, ...steps } = milliseconds;
  const entries = Object.entries(steps);
  if (!entries.length) return null;
  const most = Math.max(...entries.map(([, time]) => time), Number.EPSILON);
  return h("table", { class: "timings" }, h("caption", null, all === undefined ? "Time" : `Time: ${duration(all)} in all`),
    h("tbody", null, entries.map(([name, time]) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" });
      bar.style.inlineSize = `${(100 * time) / most}%`;
      return h("tr", null, h("th", { scope: "row" }, name.replaceAll("_", " ")), h("td", null, duration(time)), h("td", { class: "track" }, bar));
    })));
}
