// What is being edited: the values of each field as they were and as they are now, and the quads that this makes.

import { identity, learn, parseTerm, RDF, write } from "./terms.js";

const identical = (one, other) => one !== null && other !== null && identity(one) === identity(other) && (one.direction ?? null) === (other.direction ?? null);

export class Draft {
  /** A draft of a form; `made` is the class of an entity that is new, null where there is one. */
  constructor(iri, form, made = null) {
    this.iri = iri;
    this.made = made;
    this.take(form);
  }

  take(form) {
    this.form = form;
    this.fields = form.fields.map((field) => ({ ...field, rows: field.values.map(rowOf) }));
    this.checked = form.fields.some(({ declared }) => declared);
    this.watchers = [];
    if (!this.made) return;
    for (const field of this.fields) {
      if (field.least > 0 && !field.rows.length) this.add(field, field.default ? parseTerm(field.default) : null);
    }
  }

  /** A further value of a field. */
  add(field, term = null, attributes = {}) {
    const used = field.rows.map((row) => row.term?.language);
    const free = (field.languages ?? []).find((tag) => !field.one_each || !used.includes(tag)) ?? null;
    const row = { was: null, term, graphs: null, removed: false, language: free, ...attributes };
    field.rows.push(row);
    return row;
  }

  /** Name a new entity by its first field that is a text. */
  name(label, language) {
    const field = this.fields.find(({ widget }) => widget === "text");
    if (!field) return;
    const tagged = (field.languages ?? []).length > 0 || /#langString$/.test(field.datatype ?? "");
    const term = { type: "literal", value: label, datatype: null, language: tagged ? language : null, direction: null };
    const empty = field.rows.find((row) => row.was === null && row.term === null);
    if (empty) empty.term = term;
    else this.add(field, term);
  }

  /** A field for a predicate that the form has not. */
  field(predicate, label) {
    const known = this.fields.find((one) => one.predicate === predicate);
    if (known) return known;
    const made = { predicate, label, widget: "text", least: 0, most: null, declared: false, values: [], count: 0, rows: [], languages: [] };
    this.fields.push(made);
    return made;
  }

  /** {added, removed}: quads as lists of N-Triples terms, the graph null for the default one. */
  changes() {
    const added = [];
    const removed = [];
    const subject = `<${this.iri}>`;
    const home = this.form.graph ? `<${this.form.graph}>` : null;
    if (this.made) added.push([subject, `<${RDF}type>`, `<${this.made}>`, home]);
    for (const { predicate, rows } of this.fields) {
      const name = `<${predicate}>`;
      for (const row of rows) {
        const now = row.removed ? null : row.term;
        if (row.was !== null && now !== null && identical(row.was, now)) continue;
        const graphs = row.graphs ?? [home];
        if (row.was !== null) removed.push(...graphs.map((graph) => [subject, name, row.written, graph]));
        if (now !== null) added.push(...graphs.map((graph) => [subject, name, write(now), graph]));
      }
    }
    return { added: each(added), removed: each(removed) };
  }

  /** Put the changes on top of a form that was read anew; gives those whose old value is gone. */
  rebase(form) {
    const before = this.fields;
    this.made = null;
    this.take(form);
    const lost = [];
    for (const old of before) {
      const changes = old.rows.filter((row) => (row.was === null ? row.term !== null : row.removed || !identical(row.was, row.term)));
      if (!changes.length) continue;
      const field = this.field(old.predicate, old.label);
      for (const row of changes) {
        const same = row.was !== null && field.rows.find((one) => one.was !== null && identical(one.was, row.was));
        if (same) Object.assign(same, { term: row.term, removed: row.removed });
        else if (!row.removed && row.term !== null && !field.rows.some((one) => identical(one.was, row.term))) {
          this.add(field, row.term, { late: row.was !== null });
          if (row.was !== null) lost.push({ old: row.was, now: row.term });
        }
      }
    }
    return lost;
  }

  /** Call `watcher` with the problems of a field whenever the shapes have looked. */
  watch(field, watcher) {
    this.watchers = this.watchers.filter((one) => one.predicate !== field.predicate);
    this.watchers.push({ predicate: field.predicate, watcher });
  }

  /** Tell the fields what the shapes find in a form as it would be; null is what they found when it was read. */
  show(form) {
    const told = new Map((form ?? this.form).fields.map((one) => [one.predicate, one.problems ?? []]));
    for (const { predicate, watcher } of this.watchers) watcher(told.get(predicate) ?? []);
  }
}

function rowOf(value) {
  const term = parseTerm(value.term);
  if (term.type === "iri") learn(term.value, value.label);
  const graphs = (value.sources ?? []).map(({ graph }) => graph);
  return { was: term, written: value.term, term, graphs: graphs.length ? graphs : [null], removed: false, language: null, value };
}

/** Quads, each once. */
function each(quads) {
  const seen = new Map(quads.map((quad) => [JSON.stringify(quad), quad]));
  return [...seen.values()];
}
