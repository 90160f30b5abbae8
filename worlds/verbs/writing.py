"""The verbs that change quads."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change, noted
from worlds.core.history.writer import Progress
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import NO_QUADS
from worlds.core.quads.used_names import TimeBudget
from worlds.errors import ArgumentError
from worlds.extras.documents.conversion import is_document
from worlds.extras.shapes.guard import GuardSetting, expect_guard
from worlds.extras.sources.tables.rows import is_table
from worlds.graph.terms import shorten
from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts

_NEW_PREDICATES = 5  # of one write, which are compared with those that are known
_LONGEST = 500  # characters of an IRI that is compared by its letters
_LOOKING = 0.02  # seconds
_USED = "SELECT 1 FROM quads INDEXED BY quads_posg WHERE predicate = ? LIMIT 1"  # for a memory may know the term
_NEAR = 0.9  # difflib's ratio of two IRIs of which one may be misspelt

QuadLike: TypeAlias = Sequence[object] | ox.Quad | ox.Triple


class WritingVerbs(Parts):
    """The verbs that change quads."""

    @verb
    @contextlib.contextmanager
    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        base: int | None = None,
        guard: GuardSetting | None = None,
    ) -> Iterator[Self]:
        """Make the block's writes one revision: all of them or, if the block raises, none.

        Transactions nest; an inner one that raises undoes its own writes only. The block's queries and searches see
        its writes. New texts are embedded after the outermost block ends; a failure of that is logged, not raised.
        With the number of a revision as its `base`, the outermost block changes no quad of a subject of which a later
        revision added or removed one: that is a ConflictError. `guard` takes the place of the world's for the outermost
        block, at whose end its writes are validated; what "warn" has to say is logged.
        """
        if guard is not None:
            expect_guard(guard)
        with self._core.writer.revision(author=author, message=message, base=base, guard=guard):
            yield self

    @verb
    @rehearsable(Change)
    def add(
        self,
        quads: Iterable[QuadLike],
        *,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Add triples or quads of terms, given as tuples of three or four (the fourth the graph), or an rdflib graph.

        A str is an IRI or a prefixed name (or `_:label`, `"literal"@en` as in N-Triples); rdflib and pyoxigraph terms,
        numbers, booleans and dates are taken as they are. ValueError or TypeError if a value cannot be a term. When
        embedding fails afterwards, the change is kept all the same: see `load`.

        With `dry_run=True`, here and in every verb that writes, nothing is written: it gives the `Diff` that the write
        would make. It costs what the write costs, without embedding.
        """
        given = self._core.namespaces.quads(quads)
        notes = tuple(self._near_predicates(given))
        with self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as revision:
            revision.note(*notes)
            revision.apply(added=quad_ids(self._core.connection, self._core.dictionary, given))
        return revision.change

    def _near_predicates(self, quads: Sequence[ox.Quad]) -> Iterator[str]:
        """Notes on new predicates with nearly the spelling of predicates of the world."""
        named = list({quad.predicate for quad in quads})
        new = [
            term
            for term, number in zip(named, self._core.dictionary.find(named), strict=True)
            if number is None or not self._core.connection.row(_USED, (number,))
        ]
        if not 0 < len(new) <= _NEW_PREDICATES or any(len(term.value) > _LONGEST for term in new):
            return
        prefixes = self._core.namespaces.prefixes
        budget = TimeBudget(_LOOKING)
        for term in new:
            for near in self._core.vocabulary.nearest(term.value, budget, among="predicates")[:1]:
                if len(near) <= _LONGEST and difflib.SequenceMatcher(None, term.value, near).ratio() >= _NEAR:
                    yield f"{shorten(term.value, prefixes)} is a new predicate, and is near {shorten(near, prefixes)}"

    @verb
    @rehearsable(Change)
    def remove(
        self, quads: Iterable[QuadLike], *, author: str | None = None, message: str | None = None, dry_run: bool = False
    ) -> Change | Diff:
        """Remove triples (of the default graph) or quads, given as `add` takes them. Others are ignored."""
        given = self._core.namespaces.quads(quads)
        with self._core.writer.revision(author=author, message=message, dry_run=dry_run) as revision:
            revision.apply(removed=quad_ids(self._core.connection, self._core.dictionary, given))
        return revision.change

    @verb
    @rehearsable(Change)
    def edit(
        self,
        *,
        add: Iterable[QuadLike] = (),
        remove: Iterable[QuadLike] = (),
        base: int | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Remove quads and add others, as one revision; a quad that is given as both stays.

        With the last revision that was seen as its `base`, it is refused where a subject of the quads has changed since
        (ConflictError): so no editor overwrites what another one wrote meanwhile.
        """
        added, removed = self._core.namespaces.quads(add), self._core.namespaces.quads(remove)
        notes = tuple(self._near_predicates(added))
        options: dict[str, Any] = {"author": author, "message": message, "embed": embed, "dry_run": dry_run}
        with self._core.writer.revision(base=base, **options) as revision:
            revision.note(*notes)
            ids = [quad_ids(self._core.connection, self._core.dictionary, quads) for quads in (removed, added)]
            revision.apply(NO_QUADS, ids[0])
            revision.apply(ids[1])
        return revision.change

    @verb
    @rehearsable(Change)
    def load(
        self,
        source: object,
        *,
        format: str | None = None,
        graph: object = None,
        mode: Literal["merge", "replace", "edit"] = "merge",
        base: str | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        allow_network: bool | Collection[str] = False,
        max_unpacked: int | None = None,
        keep_edits: bool = False,
        mapping: object = None,
        remove_rows: bool = False,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Load RDF as one revision: files, folders, globs, URLs, `-`, bytes, file objects, rdflib graphs, or a list.

        `format` is guessed from the name and the content if None. `graph` takes all of the input's quads, else each
        goes where the input says. `mode="replace"` puts the input in the place of what the graph held: of `graph`, else
        of every graph that the input names, and of the default graph for a format without graphs. Each document's
        blank nodes are nodes of its own; but with `mode="replace"` they are those of the graph, as far as the fewest
        quads differ so, and in any case where all that hangs together with them by blank nodes is there already: the
        same file again changes nothing.

        What edits of this world since the last load `mode="replace"` would take back, the notes say, also those of a
        dry run. `keep_edits=True` merges them with the file, three ways: what conflicts becomes proposals of the file's
        version. WorldsError where the last load is not known.

        `mapping`, a file of CSVW metadata or what it holds, reads a table (CSV, TSV, JSON lines, Excel) as triples;
        with True it is that of NAME-metadata.json beside it, or what `sources.mappings` gives. A row that does not fit
        is in the notes, with its number, and the rest goes in. A name that means no entity for sure stays a text, and
        the link to the likeliest is proposed.

        `mode="edit"` takes back tables that `export(table=…)` wrote and somebody edited: the cells that differ from the
        revision of the export change, as removals and additions, and nothing else. Rows that are gone are named in the
        notes, and removed with `remove_rows=True`. ConflictError where the world has changed one of these cells since
        the export, ParseError where a row does not fit: nothing is loaded then.

        `embed=False` leaves the new texts pending. URLs are refused unless `allow_network` is True or names their host.
        `max_unpacked` is how many bytes a compressed input may unpack to.

        ParseError (with source, line and column) for input that is not RDF, OpenError for input that is not there;
        the world is then as it was, as it is after an interruption. But the load is kept before its texts are
        embedded: if that fails, the change says why in its `.notes`, the log "worlds" warns, and the texts are pending
        (found by words, not by vectors) until `embed()` or the next write.
        """
        told: list[Any] = []
        paths = source if isinstance(source, (list, tuple)) else [source]
        given = None if mapping is True else mapping
        if mode == "edit":
            if not (graph is format is base is None) or keep_edits:
                raise ArgumentError(
                    "mode='edit' takes no graph, format, base or keep_edits: the table's mapping says them"
                )
            return self._editing.load(
                list(map(os.fsdecode, paths)), given, remove_rows=remove_rows, author=author, message=message,
                embed=embed, progress=progress, dry_run=dry_run,
            )  # fmt: skip
        if remove_rows:
            raise ArgumentError("remove_rows (--remove-rows) is for mode='edit' (--mode edit)")
        if mapping is None and format is None:
            files = [os.fsdecode(one) for one in paths if isinstance(one, (str, os.PathLike))]
            for file in (one for one in files if os.path.exists(one)):  # noqa: PTH110  # U+0000, too
                if is_table(file):
                    raise ArgumentError(f"{file} is a table: mapping=True (--map -) converts it by a proposed mapping")
                if is_document(file):
                    raise ArgumentError(f"{file} is a document: add_document (`worlds sources add-document`) takes it")
        if mapping is not None:
            source, told = self._tables.sources(list(map(os.fsdecode, paths)), given, base)
        change = self._core.loader.load(
            source, format=format, graph=graph, mode=mode, base=base, author=author, message=message, embed=embed,
            allow_network=allow_network, max_unpacked=max_unpacked, keep_edits=keep_edits, progress=progress,
            dry_run=dry_run,
        )  # fmt: skip
        notes = [note for one in told for note in one.notes()]
        made = isinstance(change, Change) and change.revision is not None
        if made and (numbers := self._propose_links(told, graph, author)):
            notes.append(f"proposals of links wait for such names: {numbers}")
        return noted(change, notes)
