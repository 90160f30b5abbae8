// The review: proposals and findings as items of one form; and deciding.

import { get, post } from "./api.js";
import { nquad } from "./difference.js";
import { learn, nameOf, nt, parseTerm } from "./terms.js";

const LIMIT = 200; // findings of each source
const PAGE = 200; // proposals that are read at once
const MOST = 2000; // of them, in all

const plain = (quad) => nquad(quad).replace(/ \.$/, "");

/** What tells one change from another: a merge by its entities. */
const changeKey = (merged, added, removed) => JSON.stringify(merged.length ? [[...merged].sort()] : [[], [...added].sort(), [...removed].sort()]);

function ofProposal(one) {
  const quads = one.added.length + one.removed.length;
  for (const { entity, label } of one.edits.entities) learn(parseTerm(entity).value, label);
  return {
    key: `proposal ${one.id}`, source: "proposals", kind: one.kind, score: one.confidence, points: one.score, proposal: one, edits: one.edits,
    title: one.why ?? (one.merged.length ? "To merge two entities" : `${quads} ${quads === 1 ? "quad" : "quads"} to change`),
    subjects: one.merged.length ? one.merged.map((term) => parseTerm(term).value) : one.edits.entities.map(({ entity }) => parseTerm(entity).value),
    merge: one.merged.length ? one.merged.map((term) => parseTerm(term).value) : null, author: one.author, time: one.time, evidence: [], version: one.version,
    moved: one.moved, validation: one.validation,
  };
}

/** The sentences of examples of a rule, or of its exceptions. */
const cases = (found) => found?.map(({ sentence }) => sentence) ?? null;

const ofFinding = (source) => (one, at) => ({
  key: `${source} ${at} ${one.message}`, source, kind: one.kind, score: "probability" in one ? one.probability : one.score, points: "probability" in one ? one.score : null, title: one.message, subjects: one.subjects, severity: one.severity,
  merge: one.action === "merge" ? one.subjects : null, change: one.add.length || one.remove.length ? { add: one.add, remove: one.remove } : null,
  evidence: one.quads, pair: one.evidence ?? cases(one.examples), against: one.against ?? cases(one.exceptions), sentence: one.sentence ?? null, moved: [], validation: [],
});

/** What several findings have in common; what would put it right is decided once for all of them. */
const ofCause = (source) => (one) => ({
  key: `${source} cause ${one.message}`, source, kind: "what several have in common", cause: one.count, score: null, title: one.message, subjects: one.subjects,
  merge: null, change: one.add.length || one.remove.length ? { add: one.add, remove: one.remove } : null, evidence: [], examples: one.findings, moved: [], validation: [],
});

const ofQuestion = (one) => ({
  key: `questions ${one.iri}`, source: "questions", kind: one.trouble, score: null, title: `“${one.question}” ${{ fails: "fails", slow: "takes too long", empty: "finds nothing" }[one.trouble] ?? one.trouble}`,
  subjects: [one.iri], question: one, evidence: [], moved: [], validation: [], merge: null, change: null,
});

/** All proposals of a status, page by page; `total` is how many there are, of which the first thousands are read. */
async function proposals(status) {
  const found = [];
  for (let more = 1; more > 0 && found.length < MOST;) {
    const page = await get("proposals", { status, limit: PAGE, ...(found.length && { after: found.at(-1).id }) });
    found.push(...page.proposals);
    more = page.total - page.proposals.length;
    found.total = found.length + more;
  }
  return found;
}

/** Items with how many there are in all, where a limit left some out. */
const withTotal = (items, total) => Object.assign(items, { total });
const counted = ({ findings, counts }, source) => withTotal(findings.map(ofFinding(source)), Object.values(counts).reduce((sum, one) => sum + one, 0));

/** The sources in their order: {title, hint, slow, load()}; those that are slow read the whole world. */
export const SOURCES = {
  proposals: { title: "Proposals", hint: "Proposed changes", load: async () => {
    const found = await proposals("open");
    return withTotal(found.map(ofProposal), found.total);
  } },
  duplicates: { title: "Duplicates", hint: "Possible duplicates", slow: true, load: async () => counted(await get("duplicates", { limit: LIMIT }), "duplicates") },
  violations: { title: "Violations", hint: "Violations of the shapes", slow: true, load: () => contradictions(true) },
  contradictions: { title: "Contradictions", hint: "Contradictions", slow: true, load: () => contradictions(false) },
  links: { title: "Missing links", hint: "Entities named in texts", slow: true, load: async () => counted(await get("links", { limit: LIMIT }), "links") },
  questions: { title: "Broken questions", hint: "Kept questions without an answer now", slow: true, load: async () => (await get("questions/broken")).questions.map(ofQuestion) },
};

let shared = null; // one request serves two sources

async function contradictions(ofShapes) {
  shared ??= get("contradictions", { limit: LIMIT }).finally(() => setTimeout(() => { shared = null; }, 1000));
  const { causes, findings } = await shared;
  const source = ofShapes ? "violations" : "contradictions";
  return [...causes.filter(({ counts }) => ("shape" in counts) === ofShapes).map(ofCause(source)), ...findings.filter(({ kind }) => (kind === "shape") === ofShapes).map(ofFinding(source))];
}

/** The items of a source; of findings those are left out that wait as proposals, or were rejected as such. */
export async function itemsOf(source) {
  const items = await SOURCES[source].load();
  if (source === "proposals" || !items.length) return items;
  const known = await Promise.all(["open", "rejected"].map(proposals));
  const decided = new Set(known.flat().map((one) => changeKey(one.merged, one.added, one.removed)));
  const left = items.filter(({ merge, change }) => !decided.has(changeKey((merge ?? []).map(nt), (change?.add ?? []).map(plain), (change?.remove ?? []).map(plain))));
  return withTotal(left, items.total && items.total - items.length + left.length);
}

/** Whether an item has a score that is no probability yet: these are decided one by one. */
export const uncalibrated = (item) => (item.points ?? null) !== null && item.score === null;

/** How sure an item is, in words; null where nothing says it. */
export const sureness = (item) => (uncalibrated(item) ? `score ${item.points.toFixed(2)}` : (item.score ?? null) !== null ? `${Math.round(100 * item.score)} %` : null);

/** Whether something can be done with an item as it is. */
export const decidable = (item) => Boolean(item.proposal || item.merge || item.change);

const proposing = (item) => post("proposals", {
  ...(item.merge ? { merge: item.merge } : { add: item.change.add.map(nquad), remove: item.change.remove.map(nquad) }), why: item.title, kind: item.kind, ...((item.points ?? item.score) !== null && { confidence: Math.min(1, item.points ?? item.score) }),
});

/** Propose what would put a finding right; gives the proposal. */
export const propose = (item) => proposing(item);

/** Make the change, of the version that was seen; gives the revision, null where nothing was left to change. */
export async function accept(item, { why, force } = {}) {
  const { id, version } = item.proposal ?? await proposing(item);
  const options = { ...(why && { why }), ...(force && { force }) };
  const change = await post(`proposals/${id}/accept`, options, { headers: { "if-match": `"${version}"` } });
  return change.revision;
}

/** Decide that it is not done. A pair that was rejected is kept apart, and counts for the scale of scores. */
export async function reject(item, { why } = {}) {
  const { id } = item.proposal ?? await proposing(item);
  await post(`proposals/${id}/reject`, why ? { why } : {});
  return null;
}

/** What an item is about, in a few words. */
export const about = (item) => item.subjects.slice(0, 2).map((iri) => nameOf(iri)).join(", ");
