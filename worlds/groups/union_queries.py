"""SPARQL over several worlds: the union of what they hold, and each by itself as `SERVICE <worlds:NAME> { … }`.

pyoxigraph asks a SERVICE over the network alone. So each is answered by its world before, and a sub-SELECT of its
solutions takes its place.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Mapping, Sequence

import pyoxigraph as ox

from worlds.core.sparql.available_memory import room
from worlds.core.sparql.notes import absent
from worlds.errors import QueryError, WorldsError
from worlds.graph.query.default_graph import MergedStores
from worlds.graph.query.evaluation import answer, parse, run
from worlds.graph.query.exact import is_wide
from worlds.graph.query.query import Query
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.shape import Element, QueryShape
from worlds.graph.query.tables import Tables
from worlds.graph.query.tokens import Edit, declared_prefixes
from worlds.verbs.grouped import solutions_of, unknown_to
from worlds.world import World, connection_of

SCHEME = "worlds:"
_QUAD = 500  # bytes in memory
ROWS = 1_000_000  # solutions of a SERVICE, which stand in the text of the query
SHARE = 0.5  # of the memory that is free, which the union may take


class GroupQueries:
    """Answers the queries of a group. The union is made when a query first needs it, and anew when a world changed."""

    def __init__(self, worlds: Mapping[str, World]) -> None:
        self._worlds = worlds
        self._merging = MergedStores()
        self._store: ox.Store | None = None
        self._states: list[object] = []  # of the worlds, when the union was made
        self._wide = False  # whether it has numbers that pyoxigraph has no room for

    def answer(self, query: Query) -> Solutions | Triples | bool:
        """`Solutions` for SELECT, a bool for ASK, `Triples` for CONSTRUCT and DESCRIBE."""
        query = query.started()
        parse(query)
        shape = query.shape
        services = list(self._services(query, shape))
        inside = {inner for element, _ in services for inner in _within(element)}
        others = any(
            element.kind in ("triples", "service") and element not in inside for _, element in shape.walk()
        )  # all else joins and computes only
        self._check_prefixes(query, [element for element, _ in services])
        spliced = _Answered(query, shape, [(element, self._worlds[name]) for element, name in services]).result()
        store = self._union() if others or "DESCRIBE" in query.text.upper() else ox.Store()
        found = run(store, spliced.replaced(wide=self._wide), merging=self._merging)
        return answer(spliced, found, notes=lambda: () if isinstance(found, bool) or found else self._unknown(query))

    def _check_prefixes(self, query: Query, services: Sequence[Element]) -> None:
        """QueryError for a prefix that means one thing in one world, and another in the next."""
        declared = declared_prefixes(query.text)
        for place, token in enumerate(query.tokens):
            prefix, colon, _ = token.text.partition(":")
            if token.kind != "name" or not colon or prefix in declared:
                continue
            if any(element.first <= place < element.last for element in services):
                continue  # there it is the world's own
            bound = {world.prefixes[prefix]: name for name, world in self._worlds.items() if prefix in world.prefixes}
            if len(bound) > 1:
                told = " and ".join(f"<{iri}> in {name}" for iri, name in sorted(bound.items(), key=lambda one: one[1]))
                raise QueryError(f"the prefix {prefix}: is {told}: declare it in the query")

    def _unknown(self, query: Query) -> tuple[str, ...]:
        """Notes on names that no world knows."""
        query = query.replaced(prefixes={**query.prefixes, **declared_prefixes(query.text)})
        told = [unknown_to(world, query) for world in self._worlds.values()]
        common = [name for name in told[0] if all(name in one for one in told)] if told else []
        return tuple(
            absent(name, list(dict.fromkeys(one for names in told for one in names[name])), "any world of the group")
            for name in common
        )

    def _services(self, query: Query, shape: QueryShape) -> Iterator[tuple[Element, str]]:
        inner: set[Element] = set()
        for _, element in shape.walk():
            if element.kind != "service" or element in inner:
                continue
            place = query.tokens[element.first + 1 + query.tokens[element.first + 1].is_word("SILENT")]
            name = query.iri(place)
            if name is None or not name.startswith(SCHEME):
                continue
            if name.removeprefix(SCHEME) not in self._worlds:
                raise QueryError(f"the group has no world {name.removeprefix(SCHEME)!r}: {', '.join(self._worlds)}")
            inner |= _within(element)
            yield element, name.removeprefix(SCHEME)

    def _union(self) -> ox.Store:
        states = [connection_of(world).state() for world in self._worlds.values()]
        if self._store is None or any(one is not other for one, other in zip(states, self._states, strict=True)):
            self._store = None
            quads = sum(map(len, self._worlds.values()))
            if quads * _QUAD > room() * SHARE:
                raise WorldsError(
                    f"the union of {quads:,} quads does not fit into memory: ask each world by SERVICE <{SCHEME}NAME>"
                )
            store = ox.Store()
            for world in self._worlds.values():
                written = io.BytesIO()
                world.export(written, format="nq")
                # What a blank node is named in one world has nothing to do with what it is in another.
                parsed = list(ox.parse(written.getvalue(), ox.RdfFormat.N_QUADS, rename_blank_nodes=True))
                self._wide = self._wide or any(is_wide(quad.object) for quad in parsed)
                store.bulk_extend(parsed)
            self._store, self._states = store, states
        return self._store


class _Answered:
    """A query, whose services are answered."""

    def __init__(self, query: Query, shape: QueryShape, services: Sequence[tuple[Element, World]]) -> None:
        self._query = query
        self._shape = shape
        self._services = services
        self._functions = dict(query.functions)
        self._tables = Tables("group", self._functions)

    def result(self) -> Query:
        """The query with the solutions in the places of the services."""
        edits: list[Edit] = []
        for element, world in self._services:
            start, end = self._query.tokens[element.first].start, self._query.tokens[element.last - 1].end
            edits.append((start, end, self._table(element, world) + "\n" * self._query.text.count("\n", start, end)))
        return self._query.spliced(edits).replaced(functions=self._functions)

    def _table(self, element: Element, world: World) -> str:
        (group,) = element.groups
        prologue = self._shape.source(0, self._shape.prologue)
        text = f"{prologue}\nSELECT * WHERE {self._shape.source(group.first, group.last)}"
        given, rows = solutions_of(world, text, self._query)
        kept = [place for place, name in enumerate(given) if name not in self._query.bindings]
        names = [given[place] for place in kept]
        solutions = [[row[place] for place in kept] for row in map(list, itertools.islice(rows, ROWS + 1))]
        if len(solutions) > ROWS:
            raise QueryError(f"a SERVICE has more than {ROWS:,} solutions: narrow it, or ask the union")
        return self._tables.table(names, solutions)


def _within(element: Element) -> set[Element]:
    """The element, and all in it."""
    found = {element}
    groups = list(element.groups)
    while groups:
        group = groups.pop()
        groups += [*group.others, *([] if group.body is None else [group.body])]
        for inner in group.elements:
            found.add(inner)
            groups += inner.groups
    return found
