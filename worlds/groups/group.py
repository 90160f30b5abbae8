"""Several worlds as one, to search and to ask."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyoxigraph as ox

from worlds.core.embedders import Embedder, resolve_embedder
from worlds.core.search.federation import GroupSearches
from worlds.core.search.hits import SearchResults
from worlds.core.sparql.merging import room
from worlds.core.sparql.notes import absent
from worlds.errors import QueryError, WorldsError
from worlds.graph.query.bindings import terms_of
from worlds.graph.query.default_graph import MergedStores
from worlds.graph.query.evaluation import answer, parse, run
from worlds.graph.query.exact import is_wide
from worlds.graph.query.query import Query
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.shape import Element, QueryShape
from worlds.graph.query.tables import Tables
from worlds.graph.query.tokens import Edit, declared_prefixes
from worlds.verbs.grouped import searches_of, solutions_of, unknown_to
from worlds.world import World, connection_of
from worlds.world import open as open_world

Member = World | str | os.PathLike[str]
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


def group(
    worlds: Iterable[Member] | Mapping[str, Member], *, embedder: str | Embedder | None = "auto", read_only: bool = True
) -> Group:
    """Several worlds as one: open worlds, and paths, which are opened here.

    A world's name is that of its file without the suffix, or its key in a mapping. What is opened here gets the
    `embedder` and is closed with the group. TypeError for what is no list and no mapping of worlds, ValueError for no
    worlds, and for names that are not distinct.
    """
    if isinstance(worlds, (str, bytes, Path)) or not isinstance(worlds, Iterable):
        raise TypeError(f"a group is made of a list of worlds, or a mapping from names to worlds, not of {worlds!r}")
    given = dict(worlds) if isinstance(worlds, Mapping) else _named(list(worlds))
    if not given:
        raise ValueError("a group must have at least one world")
    if strange := next((name for name in given if not isinstance(name, str) or not name), None):
        raise TypeError(f"a world of a group must be named by a text, not by {strange!r}")
    chosen = resolve_embedder(embedder) if any(not isinstance(one, World) for one in given.values()) else None
    with contextlib.ExitStack() as stack:
        opened: dict[str, World] = {}
        for name, one in given.items():
            if not isinstance(one, World):
                one = stack.enter_context(open_world(one, embedder=chosen, read_only=read_only, create=False))
            opened[name] = one
        return Group(opened, stack.pop_all())


def _named(worlds: list[Member]) -> dict[str, Member]:
    names = [Path(one.path if isinstance(one, World) else one).stem for one in worlds]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two of the worlds are named {twice!r}: give them as a mapping from names to worlds")
    return dict(zip(names, worlds, strict=True))


class Group:
    """Several worlds, searched as one. Made by `worlds.group`; `worlds` maps their names to them."""

    def __init__(self, worlds: Mapping[str, World], owned: contextlib.ExitStack) -> None:
        self.worlds = MappingProxyType(dict(worlds))
        self._owned = owned
        self._queries = GroupQueries(self.worlds)

    @functools.cached_property
    def _searches(self) -> GroupSearches:
        return GroupSearches({name: searches_of(world) for name, world in self.worlds.items()})

    def search(self, text: str, *, explain: bool = False, **options: Any) -> SearchResults:
        """The chunks of all worlds that best answer `text`, with the scores that they would have in one world.

        The options are those of `World.search`; by `syntax="fts5"`, words count as in each world. A hit's `world` names
        the one that it cites; a text that others have, too, is one hit, and its `others` cite these. Each world answers
        the filter, and what boosts and decay ask, from its own quads: what says the type of a subject has to be in the
        world that has its texts. Words are counted once for each world that has a text.

        EmbedderError if the worlds were embedded by different models, unless mode is "text"; WorldsError if they read
        words by different tokenizers.
        """
        return self._searches.run(text, explain=explain, **options)

    def query(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        timeout: float | None = None,
        max_results: int | None = None,
        max_memory: int | None = None,
    ) -> Solutions | Triples | bool:
        """Answer a SPARQL query over all worlds: each graph is the union of what they have under its name.

        `SERVICE <worlds:NAME> { … }` asks one of them alone, without a network: its solutions are worked out first,
        from what stands between the braces, and joined with the rest. The options are those of `World.query`; the
        prefixes of all worlds are known. A prefix that is bound to several IRIs has to be declared, and is the world's
        own in a SERVICE. `.notes` of an empty answer tell names that no world knows. The union is kept in memory, and
        read anew when a world has changed; a query that has only such services needs none. Blank nodes of different
        worlds are different ones, and those of a SERVICE are none of the union's.

        QueryError as of `World.query`, and for a world that the group has not; WorldsError if the union does not fit
        into memory.
        """
        prefixes = self.prefixes
        given = terms_of(bindings, prefixes, query)
        asked = Query(
            query, prefixes, given, timeout=timeout, max_results=max_results, max_memory=max_memory, union=union
        )
        return self._queries.answer(asked.settled(union=False))

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes of all worlds; a prefix with several IRIs has that of the first world."""
        found: dict[str, str] = {}
        for world in reversed(list(self.worlds.values())):
            found |= world.prefixes
        return found

    def close(self) -> None:
        """Close the worlds that were opened by `worlds.group`."""
        self._owned.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of quads; a quad of several worlds counts once."""
        return sum(map(len, self.worlds.values()))

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Group {', '.join(self.worlds)}>"
