"""Loads RDF from files, folders, URLs, streams and rdflib graphs as one revision."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.history import NEVER, History
from worlds.core.history.threeway import Conflicting, three_way
from worlds.core.history.writer import Progress, Writer, Writing
from worlds.core.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Dictionary, Ids, json_ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.namespaces import OWN_PREFIX, Namespaces
from worlds.core.quads.reader import ParsedBlock, pays, quad_ids, read_beside, read_documents, read_graph
from worlds.core.quads.recognition import Recognition
from worlds.core.quads.rows import NO_QUADS, decoded, difference, distinct, in_storing_order, read_quads
from worlds.core.texts.chunks import ChunkStore
from worlds.errors import WorldsError
from worlds.graph.patches import read_patch, write_patch
from worlds.graph.rdf_sources import is_local, sources
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.graph.terms import GraphName, is_prefix, listed
from worlds.sql import statements
from worlds.sql.connection import Connection

_LEAST = 50  # IRIs of a namespace, of those that are looked at
_SHARE = 0.1  # of them that it has at least
_MOST_PREFIXES = 3  # prefixes
_LONGEST = 12  # characters of one
_namespace = re.compile(r"(https?://[^/?#]+/(?:[^?#]*[/#])?|https?://[^?#]+#)[^/?#]+").fullmatch
_words = re.compile(r"[A-Za-z][A-Za-z0-9]*").findall
_COMMON = frozenset({"www", "http", "https", "com", "org", "net", "id", "rdf", "ns", "ontology", "html", "owl"})
_SQL = statements("queries.sql")
_LOOKED_AT = 2000  # subjects, for the namespaces of instances
_IMPORTS = ox.NamedNode("http://www.w3.org/2002/07/owl#imports")
_VERSION = ox.NamedNode("http://www.w3.org/2002/07/owl#versionIRI")
_SHOWN = 10  # of what is imported and not there
_PREFIX = ox.NamedNode("http://purl.org/vocab/vann/preferredNamespacePrefix")
_NAMESPACE = ox.NamedNode("http://purl.org/vocab/vann/preferredNamespaceUri")
_PAST = "{:,} blank nodes are taken as new: the bound of comparing them with those that are there was reached before"
_NAME = "load of graph {}"  # in the table meta
_MOST = 100  # graphs of one load that are remembered


def prefixes_for(iris: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Prefix → namespace, of the commonest namespaces of IRIs that no known prefix shortens."""
    namespaces = tuple(known.values())
    counted = Counter(match[1] for iri in iris if (match := _namespace(iri)) and not iri.startswith(namespaces))
    found: dict[str, str] = {}
    for namespace, count in counted.most_common(_MOST_PREFIXES):
        if count >= _LEAST and count >= _SHARE * counted.total():
            found[_name(namespace, {*known, *found})] = namespace
    return found


def _name(namespace: str, taken: set[str]) -> str:
    """A prefix after the last word of a namespace that says something."""
    words = [word.lower() for word in _words(namespace.partition("://")[2]) if word.lower() not in _COMMON]
    name = next((word[:_LONGEST] for word in reversed(words) if len(word) > 1 and is_prefix(word)), "i")
    numbered = (f"{name}{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


class LastLoads:
    """The documents that the graphs of one world were loaded with last."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history

    def base(self, graphs: Collection[int], held: Ids, given: Callable[[Ids], Ids]) -> Ids | None:
        """The quads of the documents that graphs were loaded with last; `held` are those of now, int64 [n, 4].

        `given` tells how quads came that stand under the names that merges kept, as `held` has them.

        It is `held` itself where nothing was edited since. None where it is not known of a graph that has quads: it was
        never loaded so, or that is forgotten.
        """
        found: list[Ids] = []
        edited = False
        for graph in graphs:
            here = held[held[:, 3] == graph]
            kept = self._connection.setting(_NAME.format(graph), json.loads)
            if kept is None:
                if len(here):
                    return None
                continue
            revision = kept["revision"]
            if revision < self._history.first - 1:
                return None
            since, gone = self._history.held(revision, NEVER)[:, :4], self._history.gone(revision, revision)[:, :4]
            since, gone = since[since[:, 3] == graph], gone[(gone[:, 3] == graph) & (gone[:, 0] != 0)]
            own, lost = self._edits(kept["edits"])
            edited = edited or any(map(len, (since, gone, own, lost)))
            kept_here = difference(here, given(since))
            then = np.concatenate([kept_here, difference(gone, kept_here)])
            found.append(np.concatenate([difference(then, own), difference(lost, then)]))
        return np.concatenate([NO_QUADS, *found]) if edited else held

    def _edits(self, patch: str) -> tuple[Ids, Ids]:
        rows = [row for row in read_patch(io.BytesIO(patch.encode()), "edits") if row.quad is not None]
        added, removed = (
            quad_ids(self._connection, self._dictionary, [row.quad for row in rows if row.quad and row.code == code])
            for code in ("A", "D")
        )
        return added, removed

    def note(self, graphs: Collection[int], quads: Ids, held: Ids, revision: int) -> None:
        """Remember that graphs were loaded with `quads`, after which, by a revision, they hold `held`.

        Not of a load that fills more than a hundred graphs.
        """
        if len(graphs) > _MOST:
            return
        own, lost = difference(held, quads), difference(quads, held)
        for graph in graphs:
            name = _NAME.format(graph)
            edits = "".join(self._patch(*(rows[rows[:, 3] == graph] for rows in (lost, own))))
            before = self._connection.setting(name, json.loads) or {}
            if before.get("edits") != edits or self._edited(graph, before.get("revision", 0), revision):
                stored = json.dumps({"revision": revision, "edits": edits}, ensure_ascii=False)
                self._connection.run(_SQL["set_meta"], (name, stored))

    def _edited(self, graph: int, after: int, last: int) -> bool:
        """Whether a graph is not as it was after a revision; a new setting makes others read the file anew."""
        if after == last:
            return False
        if not self._history.first - 1 <= after:
            return True
        rows = self._history.held(after, NEVER)[:, 3], self._history.gone(after, after)[:, 3]
        return any(bool((column == graph).any()) for column in rows)

    def _patch(self, removed: Ids, added: Ids) -> Iterable[str]:
        return write_patch(self._decoded(removed), self._decoded(added), {}) if len(removed) or len(added) else ()

    def _decoded(self, rows: Ids) -> Iterable[ox.Quad]:
        return decoded(rows, self._dictionary.terms(distinct(rows.ravel()).tolist()))


@dataclass(eq=False, repr=False)
class Loader:
    """Loads documents into one world."""

    _connection: Connection
    _dictionary: Dictionary
    _namespaces: Namespaces
    _writer: Writer
    _chunks: ChunkStore
    _history: History

    def __post_init__(self) -> None:
        self._loads = LastLoads(self._connection, self._dictionary, self._history)

    @rehearsable(Change)
    def load(
        self,
        source: object,
        *,
        format: str | None = None,
        graph: object = None,
        mode: Literal["merge", "replace"] = "merge",
        base: str | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        allow_network: bool | Collection[str] = False,
        max_unpacked: int | None = None,
        keep_edits: bool = False,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """See `World.load`."""
        if mode not in ("merge", "replace"):
            raise ValueError(f"mode must be 'merge' or 'replace', not {mode!r}")
        if keep_edits and mode != "replace":
            raise ValueError("keep_edits (--keep-edits) is for mode='replace' (--replace): merging takes nothing away")
        target = None if graph is None else self._namespaces.graph(graph)
        writing = self._writer.revision(author=author, message=message, embed=embed, progress=progress, dry_run=dry_run)
        with writing as revision, self._chunks.ahead() as ahead:
            interner = Interner(self._connection, self._dictionary, rename_blank_nodes=True)
            options = {"format": format, "base": base, "allow_network": allow_network, "max_unpacked": max_unpacked}
            read = _Read(interner, progress)
            with interner.bulk():
                for blocks, beside in self._blocks(source, interner, target, **options):
                    with contextlib.closing(blocks):
                        read.take(blocks, ahead.cut if beside else None)
            ahead.finish()
            quads = self._at_home(read.quads())
            targets = self._targets(target, quads, read.triples)
            held, past = NO_QUADS, 0
            conflicts: tuple[Conflicting, ...] = ()
            if mode == "replace":
                held = self._held(targets)
                held = held if revision.leading is None else revision.leading.given(held, graphs=targets)
            fresh = mode == "replace" or not interner.before or not self._has_quads(targets)
            if interner.blank_nodes and interner.before:
                recognition = Recognition(self._connection, self._dictionary, interner.before)
                quads = recognition.among(quads, held) if len(held) else quads
                quads = recognition.alike(quads, quads if revision.leading is None else revision.leading.led(quads)[0])
                past = recognition.past
            self._namespaces.adopt(read.prefixes)
            self._namespaces.adopt(self._preferred(quads))
            self._namespaces.adopt(prefixes_for(self._instances(quads), self._namespaces.prefixes))
            document, removed = quads, NO_QUADS
            if mode == "replace":
                quads, removed, conflicts = self._replaced(revision, document, held, targets, keep_edits=keep_edits)

            def report(done: int) -> None:
                if progress:
                    progress("write", done, len(quads))

            report(0)
            revision.apply(quads, removed, report, as_given=True)
            if past:
                revision.note(_PAST.format(past))
            revision.note(*self._missing(quads, read.prefixes))
            if not len(document):
                revision.note("the source holds no quads")
            now = np.concatenate([difference(held, removed), difference(quads, held)])
            if fresh and not conflicts:
                number = revision.number if len(quads) or len(removed) else self._history.last
                self._loads.note(targets, document, now, number)
            elif conflicts and dry_run:
                revision.note(f"{len(conflicts):,} changes of the file conflict with edits, and would be proposed")
        if conflicts and not dry_run and isinstance(revision.change, Change) and revision.change.proposal is None:
            numbers = self._writer.propose(conflicts)
            revision.note(f"{len(conflicts):,} changes of the file conflict with edits: proposals {numbers} wait")
            # Not before: where this ends in between, the next load finds the conflicts again.
            self._loads.note(targets, document, now, self._history.last)
        return revision.change

    def _missing(self, quads: Ids, prefixes: dict[str, str]) -> Iterator[str]:
        """Notes on a document's names: ontologies that it imports and nobody loaded, and its own `w:`."""
        if (iri := prefixes.get("w", NAMESPACE)) != NAMESPACE:
            yield OWN_PREFIX.format(f"<{iri}>")
        imports, version = self._dictionary.find([_IMPORTS, _VERSION])
        asked = NO_QUADS[:, 2] if imports is None else distinct(quads[quads[:, 1] == imports, 2])
        if not len(asked):
            return
        statement = _SQL["not_described"]
        missing = self._connection.column(statement, statement.bind(ids_json=json_ids(asked), version=version or 0))
        if len(missing):
            terms = self._dictionary.terms(missing[:_SHOWN].tolist())
            names = listed(missing.tolist(), _SHOWN, lambda number: str(terms[number]))
            yield f"imported by owl:imports, and not loaded: {names}"

    def _replaced(
        self, revision: Writing, quads: Ids, held: Ids, targets: set[int], *, keep_edits: bool
    ) -> tuple[Ids, Ids, tuple[Conflicting, ...]]:
        """The quads to add and to remove so that `quads` replace the held ones, and the conflicts.

        Edits of the world since the last load are kept, or what becomes of them is said.
        """
        added, removed = difference(quads, held), difference(held, quads)
        base = self._loads.base(targets, held, _given(revision))
        if base is None:
            if keep_edits:
                told = "the last load of the graph is not known, nor are its edits"
                raise WorldsError(f"{told}: load it once without keep_edits", kind="edits")
            return added, removed, ()
        if base is held:
            return added, removed, ()
        own, lost = difference(held, base), difference(base, held)
        if not keep_edits:
            gone, back = len(own) - len(difference(own, quads)), len(difference(lost, quads))
            gone, back = len(own) - gone, len(lost) - back
            if gone or back:
                revision.note(
                    f"edits of this world since the last load are taken back: {gone:,} quads added here go, {back:,} "
                    "removed here come again; keep_edits (--keep-edits) keeps them"
                )
            return added, removed, ()
        if len(own) or len(lost):
            outcome = three_way(held, quads, base, self._dictionary)
            return outcome.added, outcome.removed, outcome.conflicts
        return added, removed, ()

    def _has_quads(self, graphs: Iterable[int]) -> bool:
        """Whether one of the graphs has quads; the default graph of a world that is not empty counts as if it had."""
        return any(
            graph == DEFAULT_GRAPH_ID or self._connection.row(_SQL["graph_exists"], (graph,)) is not None
            for graph in graphs
        )

    def _blocks(
        self, source: object, interner: Interner, target: GraphName | None, **options: Any
    ) -> Iterator[tuple[Generator[ParsedBlock], bool]]:
        """The blocks of each source, local ones together, and whether a process beside this one parses them."""
        items = source if isinstance(source, (list, tuple)) else [source]
        for kind, group in itertools.groupby(items, _kind):
            if kind == "graph":
                for graph in group:
                    yield read_graph(graph, interner.numbering, target), False
            elif kind == "stream":
                for item in group:
                    yield read_documents(sources(item, **options), interner.numbering, target), False
            elif pays(documents := list(sources(list(group), **options))):
                yield read_beside(documents, interner, target), True
            else:
                yield read_documents(documents, interner.numbering, target), False

    def _instances(self, quads: Ids) -> Iterator[str]:
        """The IRIs of some subjects, spread over all."""
        subjects = distinct(quads[:, 0])
        terms = self._dictionary.terms(subjects[:: max(1, len(subjects) // _LOOKED_AT)].tolist())
        return (term.value for term in terms.values() if isinstance(term, ox.NamedNode))

    def _preferred(self, quads: Ids) -> dict[str, str]:
        """The prefixes that vocabularies among the quads prefer (VANN)."""
        prefix, namespace = self._dictionary.find([_PREFIX, _NAMESPACE])
        if prefix is None or namespace is None:
            return {}
        said = quads[np.isin(quads[:, 1], (prefix, namespace))]
        terms = self._dictionary.terms(said[:, 2].tolist())
        texts = {(subject, of): getattr(terms[value], "value", "") for subject, of, value, _ in said.tolist()}
        return {
            text: texts[subject, namespace]
            for (subject, of), text in texts.items()
            if of == prefix and (subject, namespace) in texts
        }

    def _targets(self, target: GraphName | None, quads: Ids, triples: bool) -> set[int]:
        """The graphs that a load of `quads` replaces."""
        if isinstance(target, ox.NamedNode):
            return {number for number in self._dictionary.find([target]) if number is not None}
        graphs = set(np.unique(quads[:, 3]).tolist())  # a blank node is another one in each load
        return graphs | {self._home()} if target == DEFAULT_GRAPH or (triples and target is None) else graphs

    def _home(self) -> int:
        """The graph of quads that have none: a scope's one graph, if it is there, else the default graph."""
        home = self._namespaces.home
        if home is None or isinstance(home, ox.DefaultGraph):
            return DEFAULT_GRAPH_ID
        return self._dictionary.find([home])[0] or DEFAULT_GRAPH_ID

    def _at_home(self, quads: Ids) -> Ids:
        """The quads, with the default graph of the target for quads without a graph."""
        home = self._home()
        if home == DEFAULT_GRAPH_ID:
            return quads
        return in_storing_order(np.where((quads == DEFAULT_GRAPH_ID) & (np.arange(4) == 3), home, quads))

    def _held(self, graphs: Iterable[int]) -> Ids:
        blocks = [block for graph in graphs for block in read_quads(self._connection, "quads_of_graph", graph=graph)]
        return np.concatenate([NO_QUADS, *blocks])


def _given(writing: Writing) -> Callable[[Ids], Ids]:
    """A function that gives the original form of quads under names that merges kept."""
    return (lambda quads: quads) if writing.leading is None else writing.leading.given


def _kind(item: object) -> str:
    if hasattr(item, "triples") and hasattr(item, "namespaces"):
        return "graph"
    return "local" if is_local(item) else "stream"


class _Read:
    """The quads read so far, block by block."""

    def __init__(self, interner: Interner, progress: Progress | None) -> None:
        self._interner = interner
        self._progress = progress
        self._blocks: list[Ids] = []
        self._count = 0
        self.triples = False  # whether a document was in a format without named graphs
        self.prefixes: dict[str, str] = {}

    def take(self, blocks: Iterable[ParsedBlock], cut: Callable[[Ids], None] | None) -> None:
        """Store the terms of documents, keep their quads, and show each block to `cut`."""
        for block in blocks:
            self._interner.add(block.terms)
            self._blocks.append(self._interner.quads(block.numbers))
            if cut is not None:
                cut(self._blocks[-1])
            if block.prefixes is not None:
                self.prefixes |= block.prefixes
                self.triples = self.triples or not block.graphs
            self._count += len(self._blocks[-1])
            if self._progress and block.name:
                self._progress("quads", self._count, None)
                self._progress(f"read {Path(block.name).name}", block.taken, block.size)

    def quads(self) -> Ids:
        """The distinct quads, int64 [n, 4]."""
        return in_storing_order(np.concatenate([NO_QUADS, *self._blocks]))
