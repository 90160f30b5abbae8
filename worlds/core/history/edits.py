"""Differences as people read them: by entity, with the old value beside the new one."""

from __future__ import annotations

import difflib
import html
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH, Dictionary
from worlds.core.quads.patterns import Patterns
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.policy import TextPolicy
from worlds.graph.records import Count, Node, Record
from worlds.graph.terms import RDF, format_term, to_oxigraph, to_rdflib
from worlds.sql.connection import Connection

READ = 20_000
"""Quads of a difference that are read, of each kind."""
_COMPARED = 30  # values of one subject and predicate whose likeness is looked at
_LONGEST = 2000  # characters of a value whose likeness is looked at
_DEEPEST = 8  # blank nodes between an entity and a value
_RDF_TYPE = ox.NamedNode(RDF + "type")


@dataclass(frozen=True, slots=True)
class Edit(Record):
    """A value of an entity that changed: `old` is None where one was added, `new` where one was removed.

    `path` leads from the entity to the value: the predicate, and before it those to the blank nodes in between.
    """

    path: tuple[Node, ...]
    old: Node | None
    new: Node | None
    graph: Node | None


@dataclass(frozen=True, slots=True)
class EditedEntity(Record):
    """The changes of one entity, with its label and its classes."""

    entity: Node
    label: str | None
    types: tuple[Node, ...]
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class EditCount(Record):
    """The number of changed values of a predicate, on entities of one class (None for no class)."""

    predicate: Node
    type: Node | None
    added: Count
    removed: Count
    changed: Count


class Around(Protocol):
    """Context of a difference: the quads beside its quads."""

    def names(self, terms: Sequence[Any]) -> Mapping[Any, tuple[str | None, tuple[Any, ...]]]:
        """Term → label and classes."""

    def holders(self, nodes: Sequence[Any]) -> Mapping[Any, tuple[Any, Any]]:
        """Blank node → (a subject that leads to it, the predicate between them)."""


@dataclass(frozen=True)
class Edits(Record):
    """A difference by entity, the most changed first.

    `added` and `removed` count the quads of the whole difference, `created` and `dropped` are named graphs that came to
    exist or ceased to; `unread` counts quads beyond the first 20,000 of each kind, which stand in no entity.
    """

    _also = ("summary",)

    entities: tuple[EditedEntity, ...]
    added: Count
    removed: Count
    created: tuple[Node, ...] = ()
    dropped: tuple[Node, ...] = ()
    unread: Count = 0

    @property
    def summary(self) -> tuple[EditCount, ...]:
        """The changes counted by predicate and class, the most first."""
        counts: dict[tuple[Any, Any], Counter[str]] = defaultdict(Counter)
        for one in self.entities:
            for edit in one.edits:
                kind = "added" if edit.old is None else "removed" if edit.new is None else "changed"
                counts[edit.path[-1], one.types[0] if one.types else None][kind] += 1
        rows = [EditCount(*key, found["added"], found["removed"], found["changed"]) for key, found in counts.items()]
        return tuple(sorted(rows, key=lambda row: (-row.added - row.removed - row.changed, str(row.predicate))))

    def lines(self, prefixes: Mapping[str, str] | None = None, limit: int | None = None) -> Iterator[tuple[str, str]]:
        """(kind, text) of each line, for a person: "head", "changed", "added", "removed" or "more".

        At most `limit` entities are told. A blank node that came or went is told by its values alone, if it has some.
        """
        for graphs, kind in ((self.dropped, "removed"), (self.created, "added")):
            yield from ((kind, f"graph {_shown(graph, prefixes)}") for graph in graphs)
        for one in self.entities[:limit]:
            yield "head", _titled(one, prefixes)
            inner = {edit.path[:-1] for edit in one.edits}
            for edit in one.edits:
                value = edit.new if edit.old is None else edit.old
                if None in (edit.old, edit.new) and edit.path in inner and type(value).__name__ == "BNode":
                    continue  # what the blank node has is told
                where = "" if edit.graph is None else f" in {_shown(edit.graph, prefixes)}"
                path = " / ".join(_shown(part, prefixes) for part in edit.path)
                if edit.old is None or edit.new is None:
                    yield "added" if edit.old is None else "removed", f"{path}: {_shown(value, prefixes)}{where}"
                else:
                    yield "changed", f"{path}: {_shown(edit.old, prefixes)} → {_shown(edit.new, prefixes)}{where}"
        if limit is not None and len(self.entities) > limit:
            yield "more", f"… and {len(self.entities) - limit:,} more entities"
        if self.unread:
            yield "more", f"… and {self.unread:,} more quads, which were not read"

    def to_markdown(self, prefixes: Mapping[str, str] | None = None, limit: int | None = None) -> str:
        """The difference as Markdown, for a review elsewhere."""
        signs = {"head": "\n### ", "changed": "- ", "added": "- **added** ", "removed": "- **removed** ", "more": "\n"}
        lines = [f"{self.added:,} quads added, {self.removed:,} removed\n"]
        lines += [signs[kind] + _escaped(text) for kind, text in self.lines(prefixes, limit)]
        return "\n".join(lines) + "\n"

    def to_html(self, name: str = "", prefixes: Mapping[str, str] | None = None, limit: int | None = None) -> str:
        """The difference as a page of its own."""
        rows = []
        for kind, text in self.lines(prefixes, limit):
            shown = html.escape(text)
            rows.append(f"<h2>{shown}</h2>" if kind == "head" else f'<p class="{kind}" dir="auto">{shown}</p>')
        title = html.escape(name or "Difference")
        return _PAGE.format(title=title, added=self.added, removed=self.removed, rows="\n".join(rows))


def edits_of(
    removed: Iterable[ox.Quad],
    added: Iterable[ox.Quad],
    around: Around,
    *,
    counts: tuple[int, int] | None = None,
    created: Sequence[Any] = (),
    dropped: Sequence[Any] = (),
) -> Edits:
    """The edits that make the one of the other; `counts` are how many quads there are in all (added, removed)."""
    went, came = list(removed), list(added)
    total = counts or (len(came), len(went))
    holders = _Holders(came, went, around)
    values: dict[tuple[Any, tuple[Any, ...], Any], tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for side, quads in enumerate((went, came)):
        for quad in quads:
            entity, path = holders.path(quad.subject)
            values[entity, (*path, quad.predicate), quad.graph_name][side].append((quad.subject, quad.object))
    edits: dict[Any, list[Edit]] = defaultdict(list)
    for (entity, path, graph), (old, new) in values.items():
        where = None if graph == DEFAULT_GRAPH else to_rdflib(graph)
        told = tuple(map(to_rdflib, path))
        for before, after in _paired(old, new):
            edits[entity].append(Edit(told, before and to_rdflib(before), after and to_rdflib(after), where))
    names = around.names(list(edits))
    own = InQuads([*came, *went]).names(list(edits))
    found = []
    for entity, some in edits.items():
        label, types = names.get(entity, (None, ()))
        label, types = label or own[entity][0], types or own[entity][1]
        some.sort(key=lambda edit: (list(map(str, edit.path)), edit.old is None, str(edit.old), str(edit.new)))
        found.append(EditedEntity(to_rdflib(entity), label, tuple(map(to_rdflib, types)), tuple(some)))
    found.sort(key=lambda one: (-len(one.edits), str(one.entity)))
    unread = sum(total) - len(came) - len(went)
    return Edits(tuple(found), *total, tuple(created), tuple(dropped), unread)


class _Holders:
    """Finds the entity that a blank node belongs to."""

    def __init__(self, came: Sequence[ox.Quad], went: Sequence[ox.Quad], around: Around) -> None:
        self._known: dict[Any, tuple[Any, Any]] = {}
        for quad in (*went, *came):  # what came last counts, and a named subject
            known = self._known.get(quad.object)
            if isinstance(quad.object, ox.BlankNode) and not (
                known and isinstance(known[0], ox.NamedNode) and isinstance(quad.subject, ox.BlankNode)
            ):
                self._known[quad.object] = (quad.subject, quad.predicate)
        left = {quad.subject for quad in (*went, *came) if isinstance(quad.subject, ox.BlankNode)}
        for _ in range(_DEEPEST):
            left = {self._known[node][0] if node in self._known else node for node in left}
            sought = [node for node in left if isinstance(node, ox.BlankNode) and node not in self._known]
            if not (more := around.holders(sought) if sought else {}):
                break
            self._known.update(more)

    def path(self, subject: Any) -> tuple[Any, tuple[Any, ...]]:
        """The entity, and the predicates that lead from it to the subject."""
        path: list[Any] = []
        node = subject
        for _ in range(_DEEPEST):
            if not isinstance(node, ox.BlankNode) or node not in self._known:
                break
            node, predicate = self._known[node]
            path.insert(0, predicate)
        return node, tuple(path)


def _paired(old: list[tuple[Any, Any]], new: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Pairs of a removed and an added value of the same subject and language, the most similar together."""
    groups: dict[str, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for side, values in enumerate((old, new)):
        for subject, value in sorted(values, key=str):
            groups[(getattr(value, "language", None) or "").lower()][side].append((subject, value))
    for went, came in groups.values():
        if len(went) > 1 or len(came) > 1:
            scores = [
                (-_likeness(*one, *other), place, at)
                for place, one in enumerate(went[:_COMPARED])
                for at, other in enumerate(came[:_COMPARED])
            ]
            chosen: dict[int, int] = {}
            for _, place, at in sorted(scores):
                if place not in chosen and at not in chosen.values():
                    chosen[place] = at
        else:
            chosen = {0: 0} if went and came else {}
        yield from ((went[place][1], came[at][1]) for place, at in chosen.items())
        yield from ((value, None) for place, (_, value) in enumerate(went) if place not in chosen)
        yield from ((None, value) for at, (_, value) in enumerate(came) if at not in chosen.values())


def _likeness(subject: Any, value: Any, other_subject: Any, other: Any) -> float:
    one, two = str(value)[:_LONGEST], str(other)[:_LONGEST]
    alike: float = difflib.SequenceMatcher(None, one, two, autojunk=False).ratio()
    return alike + 2 * bool(subject == other_subject) + (type(value) is type(other))


class InWorld:
    """The labels and classes of entities, and the holders of blank nodes, in the world as it is now."""

    def __init__(self, connection: Connection, dictionary: Dictionary, policy: TextPolicy) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._policy = policy
        self._patterns = Patterns(connection, dictionary)

    def names(self, terms: Sequence[Any]) -> Mapping[Any, tuple[str | None, tuple[Any, ...]]]:
        """See `Around`."""
        with self._connection.snapshot():
            ids = {number: term for term, number in zip(terms, self._dictionary.find(terms), strict=True) if number}
            labels, types = Facts(self._connection, self._dictionary).labels_and_types(self._policy, ids)
            known = self._dictionary.terms({one for own in types.values() for one in own})
            return {
                term: (
                    labels[number].label if number in labels else None,
                    tuple(known[t] for t in types.get(number, ())),
                )
                for number, term in ids.items()
            }

    def holders(self, nodes: Sequence[Any]) -> Mapping[Any, tuple[Any, Any]]:
        """See `Around`."""
        with self._connection.snapshot():
            found = {}
            for node in nodes:
                rows = self._patterns.matching((None, None, node), None)
                terms = self._dictionary.terms(set(rows[:, :2].ravel().tolist()))
                held = [(terms[s], terms[p]) for s, p in rows[:, :2].tolist() if terms[s] != node]
                if held:
                    found[node] = min(held, key=lambda one: (isinstance(one[0], ox.BlankNode), str(one)))
            return found


class InQuads:
    """The labels and classes of entities, and the holders of blank nodes, among other quads."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self._quads = quads

    @cached_property
    def _known(self) -> tuple[dict[Any, tuple[int, str]], dict[Any, list[Any]], dict[Any, tuple[Any, Any]]]:
        """Labels, types and holders."""
        labels: dict[Any, tuple[int, str]] = {}
        types: dict[Any, list[Any]] = defaultdict(list)
        holders: dict[Any, tuple[Any, Any]] = {}
        order = {iri: place for place, iri in enumerate(TextPolicy().predicates("label"))}
        for quad in self._quads:
            value = quad.object
            place = order.get(quad.predicate.value)
            if place is not None and isinstance(value, ox.Literal):
                best = (place, value.value)
                labels[quad.subject] = min(best, labels.get(quad.subject, best))
            elif quad.predicate == _RDF_TYPE:
                types[quad.subject].append(value)
            if isinstance(value, ox.BlankNode) and value != quad.subject:
                held = (quad.subject, quad.predicate)
                known = holders.get(value, held)
                holders[value] = min(held, known, key=lambda one: (isinstance(one[0], ox.BlankNode), str(one)))
        self._quads = ()
        return labels, types, holders

    def names(self, terms: Sequence[Any]) -> Mapping[Any, tuple[str | None, tuple[Any, ...]]]:
        """See `Around`."""
        labels, types, _ = self._known
        return {term: (labels.get(term, (0, None))[1], tuple(dict.fromkeys(types.get(term, ())))) for term in terms}

    def holders(self, nodes: Sequence[Any]) -> Mapping[Any, tuple[Any, Any]]:
        """See `Around`."""
        holders = self._known[2]
        return {node: holders[node] for node in nodes if node in holders}


class Surroundings:
    """The labels and classes of entities, and the holders of blank nodes, of some quads, looked up at once."""

    def __init__(self, quads: Iterable[ox.Quad], around: Around) -> None:
        subjects = {quad.subject for quad in quads}
        self._holders: dict[Any, tuple[Any, Any]] = {}
        left = [one for one in subjects if isinstance(one, ox.BlankNode)]
        for _ in range(_DEEPEST):
            if not left:
                break
            found = around.holders(left)
            self._holders.update(found)
            subjects |= {subject for subject, _ in found.values()}
            left = [one for one, _ in found.values() if isinstance(one, ox.BlankNode) and one not in self._holders]
        self._names = around.names(list(subjects))

    def names(self, terms: Sequence[Any]) -> Mapping[Any, tuple[str | None, tuple[Any, ...]]]:
        """See `Around`."""
        return {term: self._names[term] for term in terms if term in self._names}

    def holders(self, nodes: Sequence[Any]) -> Mapping[Any, tuple[Any, Any]]:
        """See `Around`."""
        return {node: self._holders[node] for node in nodes if node in self._holders}


def _titled(one: EditedEntity, prefixes: Mapping[str, str] | None) -> str:
    shown = _shown(one.entity, prefixes)
    return f"{one.label} ({shown})" if one.label else shown


def _shown(term: Any, prefixes: Mapping[str, str] | None) -> str:
    return format_term(to_oxigraph(term), prefixes or {}).replace("\n", " ")


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\`*_<>[]#|~":
        text = text.replace(sign, f"\\{sign}")
    return text


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }}
h2 {{ font-size: 1rem; margin: 1.5rem 0 .25rem }}
p {{ margin: 0; padding: .1rem .75rem; border-left: .25rem solid #888; overflow-wrap: anywhere; white-space: pre-wrap }}
.added {{ border-color: #1a7f37 }} .added::before {{ content: "+ " }}
.removed {{ border-color: #cf222e }} .removed::before {{ content: "− " }}
.changed {{ border-color: #9a6700 }} .more {{ border: 0 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #eee }} }}
</style></head><body>
<h1>{title}</h1>
<div>{added:,} quads added, {removed:,} removed</div>
{rows}
</body></html>
"""
