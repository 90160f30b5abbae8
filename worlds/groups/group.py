"""Several worlds as one, to search and to ask."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from worlds.core.embedders import Embedder, resolve_embedder
from worlds.core.search.federation import GroupSearches
from worlds.core.search.hits import SearchResults
from worlds.graph.query.bindings import terms_of
from worlds.graph.query.query import Query
from worlds.graph.query.results import Solutions, Triples
from worlds.groups.union_queries import GroupQueries
from worlds.verbs.grouped import searches_of
from worlds.world import World
from worlds.world import open as open_world

Member = World | str | os.PathLike[str]


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
