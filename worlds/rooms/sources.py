"""The room of sources: what a world follows, its documents and their passages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change, noted
from worlds.core.history.history import is_whole
from worlds.core.history.writer import Progress
from worlds.core.quads.dictionary import DEFAULT_GRAPH
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import NO_QUADS
from worlds.core.texts.policy import DOCUMENT, TEXT
from worlds.errors import ArgumentError, OpenError
from worlds.extras.documents.conversion import document_quads, read_document
from worlds.extras.sources.registry import Sources
from worlds.extras.sources.store import Ledger
from worlds.rooms.room import Room
from worlds.verbs.invocation import verb_of

if TYPE_CHECKING:
    from worlds.core.search.passages import Passage
    from worlds.extras.sources.source_sync import Synced
    from worlds.verbs.parts import Parts

verb = verb_of("sources")
_MOST_AROUND = 100  # neighbours of a passage on either side


class SourcesRoom(Room, Sources):
    """The sources that a world follows, and its documents: `add`, `set` and `remove` sources, `sync` reads them.

    A source is found by name, and all in turn."""

    _name = "sources"
    __repr__ = Sources.__repr__

    def __init__(self, world: Parts) -> None:
        Room.__init__(self, world)
        Sources.__init__(self, world._core, world._source_store, world._ownership)

    @verb
    def sync(
        self,
        name: str | None = None,
        *,
        again: bool = False,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> list[Synced]:
        """Read a source, or all, and write its new, changed, moved and removed files, a revision each: `Synced`.

        A file with the size and time of the last run is not read, and one with the same digest (SHA-256) changes
        nothing; `again` reads all. A file that cannot be read is told in `errors`, at every run until it can; what was
        read of it before is kept, and the others go in. Documents that a guard rejects are left out and told; with
        "queue" the run is one proposal, which the next run of other files replaces. With `dry_run` nothing is written,
        and each has its `diff`.

        A source of RDF or of tables is read whole where one of its files has changed, blank nodes recognised as by
        `load`. ArgumentError for a source that there is not, OpenError for a place that is away: nothing is deleted
        then, or one that came with the file and is not trusted here (`sources.trust`). Where all are read, that is told
        in `errors`, and the others are read.
        """
        chosen = [self[name]] if name is not None else list(self)
        runs: list[Synced] = []
        for one in chosen:
            try:
                run = self._world._syncing.sync(
                    one, again=again, author=author, message=message, embed=embed, dry_run=dry_run, progress=progress
                )
            except OpenError as error:
                run = self._world._syncing.failed(one, error, dry_run=dry_run)
                if name is not None:
                    raise
            runs.append(run)
        return runs

    @verb
    def mappings(self, *tables: str | os.PathLike[str], base: str | None = None) -> list[dict[str, Any]]:
        """A mapping for each of some tables that belong together, as CSVW metadata for `load(mapping=…)`, to be edited.

        The key column makes the IRIs, below `base` (the namespace of `policy.iris`, or https://example.org/); columns
        become predicates of the world whose names or labels they have, else new ones; their values tell datatypes,
        languages (`name_de`), units (`mass (kg)`), lists, and links: IRIs that the world has, keys of another of the
        tables, names that mean one entity of the world for sure, as `resolve` judges. See
        https://www.w3.org/TR/tabular-metadata/. ParseError for a table that cannot be read.
        """
        space = self._core.chunks.policy.iris.get("namespace")
        return self._world._tables.proposed([Path(table) for table in tables], space if base is None else base)

    @verb
    @rehearsable(Change)
    def add_document(
        self,
        iri: object,
        content: str | bytes | os.PathLike[str] | BinaryIO | TextIO,
        *,
        format: Literal["markdown", "text", "html"] | None = None,
        title: str | None = None,
        source: object = None,
        date: object = None,
        language: str | None = None,
        predicate: object = TEXT,
        type: object = DOCUMENT,
        graph: object = None,
        metadata: Mapping[Any, object] | None = None,
        replace: bool = True,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Write a document as quads of `iri`: its text, title, source and date. A str is its text, a path its file.

        `format` is guessed from the file's name and the content if None. The text stands under `predicate`
        (schema:text), HTML turned into Markdown. It is a literal of the datatype text/markdown or an xsd:string, or is
        tagged with the `language` if that is known. Title, source, date, language, author, description and keywords are
        taken from front matter, <head> or the first heading where they are not given. `source` is an IRI or words,
        `date` a date or its ISO 8601 form. `metadata` maps further predicates to a value or a list; its terms are
        given as `add` takes them. `type` None writes no rdf:type.

        What an earlier call wrote of this `iri` in this `graph` is replaced, and nothing else, unless `replace` is
        False. OpenError for a file that is not there, ParseError for text that is not UTF-8, WorldsError for HTML where
        selectolax is not installed. When embedding fails, the change is kept all the same: see `load`.
        """
        subject, name = self._core.namespaces.iri("iri", iri), self._core.namespaces.iri("predicate", predicate)
        kind = None if type is None else self._core.namespaces.iri("type", type)
        if not isinstance(metadata, Mapping | None):
            raise TypeError(f"metadata must map predicates to values, not {metadata!r}")
        target = DEFAULT_GRAPH if graph is None else self._core.namespaces.graph(graph)
        found = read_document(content, format)
        given = document_quads(
            subject, target, found, title=title, source=source, date=date, language=language,
            predicate=name, type=kind, metadata=metadata or {}, prefixes=self._core.namespaces.prefixes,
        )  # fmt: skip
        with self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as revision:
            quads = quad_ids(self._core.connection, self._core.dictionary, given)
            ledger = Ledger(self._core.connection)
            earlier = ledger.replaced(quads) if replace else NO_QUADS
            ledger.note(quads)
            revision.apply(quads, earlier)
        return noted(revision.change, found.left_out)

    @verb
    def chunk(self, id: int | str, *, around: int = 1) -> Passage:
        """A passage by its number, which `Hit.chunk` gives, or as urn:worlds:chunk:NUMBER; with its neighbours.

        `around` is how many of the same text are given on either side. A text that is written anew has new numbers.
        ArgumentError for a number that there is not.
        """
        from worlds.core.search.passages import passage

        if not is_whole(around) or around > _MOST_AROUND:
            raise ArgumentError(f"around must be a whole number from 0 to {_MOST_AROUND}, not {around!r}")
        return passage(self._core.connection, self._core.dictionary, id, around)
