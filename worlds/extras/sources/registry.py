"""The sources of a world, for those who add, change and remove them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.quads.rows import NO_QUADS, read_quads
from worlds.errors import ArgumentError
from worlds.extras.documents.conversion import check_language
from worlds.extras.sources.source_files import kind_of
from worlds.extras.sources.store import (
    KINDS,
    Edits,
    Kind,
    Ownership,
    SourceStore,
    WorldSource,
    absolute,
    graph_of,
    named,
)
from worlds.graph.terms import to_rdflib
from worlds.sql import statements

_QUERIES = statements("queries.sql")
_variable = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


class Sources(Sequence[WorldSource]):
    """The sources of one world, by name: folders, files and addresses that it follows, each in a graph of its own.

    `sync` reads those that are trusted. They are added and trusted on the machine of the file alone; a server lists and
    runs them.
    """

    def __init__(self, core: Core, store: SourceStore, ownership: Ownership) -> None:
        self._core = core
        self._kept = store
        self._ownership = ownership

    def _require(self, what: str) -> None:
        """Refuse, with a ReadOnlyError, what a view does not allow."""
        raise NotImplementedError

    @property
    def _store(self) -> SourceStore:
        self._require("sources")
        return self._kept

    def __getitem__(self, name: Any) -> Any:
        """A source, by its name or its place; ArgumentError for a name that there is not."""
        return self._store.get(name) if isinstance(name, str) else self._store.all()[name]

    def __iter__(self) -> Iterator[WorldSource]:
        return iter(self._store.all())

    def __contains__(self, name: object) -> bool:
        return any(name in (one, one.name) for one in self)

    def __len__(self) -> int:
        return len(self._store.all())

    def __repr__(self) -> str:
        return f"<Sources: {', '.join(one.name for one in self) or 'none'}>"

    def add(
        self,
        place: str,
        name: str | None = None,
        *,
        kind: Kind | None = None,
        graph: object = None,
        base: str | None = None,
        patterns: Sequence[str] = (),
        language: str | None = None,
        mapping: object = None,
        edits: Edits = "refuse",
        hosts: Sequence[str] = (),
        user: str | None = None,
        password_variable: str | None = None,
    ) -> WorldSource:
        """Follow a folder, a file or a URL from now on; `sync` reads it.

        `kind` is "documents" (Markdown, text, HTML), "rdf" or "tables"; None tells it by the files' names. `patterns`
        are globs of the files of a folder, "!drafts/*" for what is left out; without one, they are the endings of the
        kind. The quads are in `graph` (urn:worlds:source:NAME), which has to be empty, and is the source's from then
        on: with `edits` "refuse" others' writes there are a ReadOnlyError, with "keep" they stay beside what the files
        say. A document's IRI is `base` and its path from the place, `language` that of documents that name none, and
        `mapping` that of tables (see `load`). A URL if its host
        is one of `hosts`; the password of `user`, or a bearer token, is in the environment variable
        `password_variable`, and nowhere else. That it is added here trusts it on this machine, see `trust`.
        ArgumentError for a place that is not there and a name that is taken.
        """
        if kind is not None and kind not in KINDS:
            raise ArgumentError(f"a kind must be one of {', '.join(KINDS)}, not {kind!r}")
        if edits not in ("refuse", "keep"):
            raise ArgumentError(f"edits must be 'refuse' or 'keep', not {edits!r}")
        if language is not None:
            check_language(language)
        if password_variable is not None and not _variable(password_variable):
            raise ArgumentError(f"password_variable is the name of an environment variable, not {password_variable!r}")
        patterns, hosts = ((one,) if isinstance(one, str) else tuple(one) for one in (patterns, hosts))
        kept = absolute(str(place))
        address = urlsplit(kept).scheme in ("http", "https")
        if address and (urlsplit(kept).hostname or "") not in hosts:
            raise ArgumentError(f"{kept} is read if its host is allowed: hosts=[{urlsplit(kept).hostname!r}] (--host)")
        if not address and (hosts or user or password_variable):
            raise ArgumentError("hosts, user and password_variable are for URLs only")
        if address and kind == "tables":
            raise ArgumentError("tables must be files, not URLs")
        if address and kind is None:
            raise ArgumentError(f"give the kind of an address, one of {', '.join(KINDS)}")
        chosen = named(kept) if name is None else name
        source = WorldSource(
            chosen,
            kind or kind_of(kept, patterns),
            kept,
            to_rdflib(self._core.namespaces.iri("graph", graph_of(chosen) if graph is None else graph)),
            self._base(base, chosen),
            patterns,
            None if mapping is None else self._mapping(mapping),
            language,
            edits,
            hosts,
            user,
            password_variable,
        )
        with self._core.connection.transaction():
            self._store.add(source)
            if len(self._quads(source)):
                raise ArgumentError(f"the graph {source.graph} has quads already: the graph of a source must be empty")
        self._store.trust(source)
        return self._store.get(chosen)

    def trust(self, name: str) -> WorldSource:
        """Let a source that came with the file be read on this machine, by this user, as long as it stays as it is.

        Look at its `place`, `hosts` and `password_variable` first: `sync` reads the place into this world, and shows
        the host what the variable holds. A copy of the file, or another definition, has to be trusted anew.
        """
        self._store.trust(self._store.get(name))
        return self._store.get(name)

    def _mapping(self, mapping: object) -> str:
        """The mapping of tables as it is kept: the content of its file."""
        from worlds.extras.sources.tables.mapping import read_mapping

        return json.dumps(read_mapping(mapping, self._core.namespaces.prefixes).source, ensure_ascii=False)

    def _base(self, base: str | None, name: str) -> str:
        space = self._core.chunks.policy.iris.get("namespace")
        given = base if base is not None else f"{space}{name}/" if space else f"{graph_of(name)}/"
        try:
            return ox.NamedNode(given).value
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the base {base!r} is not an absolute IRI: {error}") from error

    def set(self, name: str, *, edits: Edits) -> WorldSource:
        """Set the treatment of other writers' changes in the graph of a source; see `add`."""
        if edits not in ("refuse", "keep"):
            raise ArgumentError(f"edits must be 'refuse' or 'keep', not {edits!r}")
        with self._core.connection.transaction():
            self._store.set_options(replace(self._store.get(name), edits=edits))
        return self._store.get(name)

    @rehearsable(Change)
    def remove(
        self, name: str, *, author: str | None = None, message: str | None = None, dry_run: bool = False
    ) -> Change | Diff:
        """Follow a source no longer, and remove its graph, as one revision; ArgumentError if there is none."""
        source = self._store.get(name)
        told = f"remove source {name}" if message is None else message
        with self._core.writer.revision(author=author, message=told, dry_run=dry_run) as revision:
            with self._ownership.by(name):
                revision.apply(removed=self._quads(source))
            self._store.remove(name)
        if not dry_run:
            self._store.distrust(source)
        return revision.change

    def _quads(self, source: WorldSource) -> Any:
        number = self._core.dictionary.find([ox.NamedNode(str(source.graph))])[0]
        if number is None:
            return NO_QUADS
        return np.concatenate([NO_QUADS, *read_quads(self._core.connection, "quads_of_graph", graph=number)])
