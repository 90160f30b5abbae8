"""One run of a source: what is new, changed, moved and gone in its files becomes one revision."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.history import NEVER
from worlds.core.history.threeway import Conflicting, three_way
from worlds.core.history.writer import Progress, Writing
from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import NO_QUADS, difference, read_quads, unique_quads
from worlds.errors import OpenError, ParseError, ValidationError, WorldsError
from worlds.extras.sources.source_files import MOST_BYTES, FileState, digest_of, quads_of, read, scan
from worlds.extras.sources.store import UNTRUSTED, FileProblem, FileRow, Kind, Ownership, SourceStore, WorldSource
from worlds.graph.addresses import Fetched, fetched
from worlds.graph.formats import FORMATS, find_format
from worlds.graph.records import Count, Record
from worlds.sql import statements

_SQL = statements("sources.sql")
_ACCEPTED: Mapping[Kind, str] = {
    "documents": "text/html, text/markdown, text/plain, */*;q=0.1",
    "rdf": ", ".join(media for known in FORMATS.values() for media in known.media_types),
    "tables": "text/csv, text/tab-separated-values, */*;q=0.1",
}
_UNREAD = FileRow("", "", None, 0)
_BATCH = 1 << 24  # bytes of documents whose quads are made together
_TRIES = 20  # runs that leave out more and more files which a guard rejects
_FEW = 2000  # subjects whose quads are read one by one


@dataclass(frozen=True, slots=True)
class Synced(Record):
    """The outcome of a run of a source: its files, by path, and the quads that were written.

    `moved` are pairs of the path before and now; `errors` are files that could not be read, or that a guard rejects:
    what was read of them before is kept. `revision` is None where nothing changed, `proposal` that of a run that a
    guard queued. `diff`, of a dry run, is what would change; it is not told as JSON.
    """

    source: str
    revision: int | None
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    deleted: tuple[str, ...] = ()
    unchanged: Count = 0
    errors: tuple[FileProblem, ...] = ()
    added: Count = 0
    removed: Count = 0
    chunks: Count = 0
    embedded: Count = 0
    notes: tuple[str, ...] = ()
    proposal: int | None = None
    diff: Diff | None = None
    _untold = ("diff",)


@dataclass
class _SyncRun:
    """A run while it is made."""

    source: WorldSource
    found: dict[str, FileState]
    known: dict[str, FileRow]
    suspects: list[FileState]  # files that may be other than when they were read
    again: bool
    there: Fetched | None = None  # what an address gave
    rejected: dict[str, str] = field(default_factory=dict)  # by the guard: path → why
    digests: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)  # paths
    places: dict[str, str] = field(default_factory=dict)  # of parts in the file, as JSON
    conflicts: list[Conflicting] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def gone(self) -> list[str]:
        return [path for path in self.known if path not in self.found]

    def reset(self) -> None:
        """Before another try."""
        for kept in (self.digests, self.written, self.conflicts, self.notes):
            kept.clear()
        self.errors = dict(self.rejected)

    def rows(self, revision: int) -> dict[str, FileRow]:
        """How the files that were looked at are kept."""
        rows = {}
        written = set(self.written)
        for one in self.suspects:
            before = self.known.get(one.path)
            error = self.errors.get(one.path)
            digest = self.digests.get(one.path, "") if error is None else before.digest if before else ""
            read = revision if one.path in written or before is None else before.revision
            places = self.places.get(one.path, None if before is None else before.places)
            rows[one.path] = FileRow(one.stamp, digest, error, read, places)
        return {path: row for path, row in rows.items() if row != self.known.get(path)}


@dataclass(eq=False, repr=False)
class Syncing:
    """Runs the sources of one world; `_tables` gives tables as sources, and what there is to say of them."""

    _core: Core
    _store: SourceStore
    _ownership: Ownership
    _tables: Callable[[Sequence[str], object, str, Mapping[str, object]], tuple[list[Any], list[Any]]]

    def sync(
        self,
        source: WorldSource,
        *,
        again: bool,
        author: str | None,
        message: str | None,
        embed: bool,
        dry_run: bool,
        progress: Progress | None,
    ) -> Synced:
        """See `World.sources.sync`."""
        self._store.require_trusted(source)
        run = self._look(source, again=again)
        fingerprint = _fingerprint(run.found)
        if source.proposal is not None:
            status, accepted = self._core.writer.waiting.withdraw(source.proposal, None)
            if accepted is not None:
                self._store.note_run(source.name, accepted)
            if status != "accepted" and not again and fingerprint == source.fingerprint:
                waits = "waits" if status == "open" else "was rejected"
                note = f"nothing is done: proposal {source.proposal} of the same files {waits}"
                return Synced(source.name, None, unchanged=len(run.known), notes=(note,), proposal=source.proposal)
        if not run.suspects and not run.gone and source.proposal is None and source.error is None:
            return Synced(source.name, None, unchanged=len(run.known))
        if source.proposal is not None and not dry_run:
            self._core.writer.waiting.withdraw(source.proposal, f"the source {source.name} was read again")
        told = f"sync {source.name}" if message is None else message
        for _ in range(_TRIES):
            run.reset()
            try:
                writing = self._written(run, author, told, embed=embed, dry_run=dry_run, progress=progress)
                break
            except ValidationError as error:
                if not self._left_out(run, error):
                    raise
        else:
            raise WorldsError(f"the guard rejects more and more files of {source.name}: see `worlds shapes validate`")
        return self._told(run, writing, fingerprint, dry_run=dry_run)

    def failed(self, source: WorldSource, error: OpenError, *, dry_run: bool) -> Synced:
        """A run whose place is away, which the source says until it is there again; or that is not trusted."""
        if not dry_run and error.kind != UNTRUSTED:
            with self._core.connection.transaction():
                state = {"run": source.run and source.run.isoformat(), "error": str(error)}
                kept = {"revision": source.revision, "proposal": source.proposal, "fingerprint": source.fingerprint}
                self._store.set_state(source.name, **state, **kept)
        return Synced(source.name, None, unchanged=source.files, errors=(FileProblem("", str(error)),))

    def _look(self, source: WorldSource, *, again: bool) -> _SyncRun:
        known = self._store.files(source.name)
        if source.is_address:
            there = fetched(
                source.place, source.hosts, source.user, source.password_variable, most=MOST_BYTES,
                accept=_ACCEPTED[source.kind],
            )  # fmt: skip
            path = quote(PurePosixPath(urlsplit(source.place).path).name or "index")
            one = FileState(path, Path(path), len(there.data), 0)
            same = known.get(path, _UNREAD)[1:3] == (_digest(there.data), None)
            return _SyncRun(source, {path: one}, known, [one] if again or not same else [], again, there)
        try:
            found = scan(source.place, source.kind, source.patterns)
        except OpenError as error:
            raise OpenError(f"source {source.name}: {error}") from error
        suspects = [
            one
            for _, one in sorted(found.items())
            if again or (before := known.get(one.path, _UNREAD)).stamp != one.stamp or before.error is not None
        ]
        return _SyncRun(source, found, known, suspects, again)

    def _written(
        self, run: _SyncRun, author: str | None, message: str, *, embed: bool, dry_run: bool, progress: Progress | None
    ) -> Writing:
        """Write the result of the run as one revision, with the state in which its files were read."""
        source = run.source
        revision = self._core.writer.revision(
            author=author, message=message, embed=embed, dry_run=dry_run, progress=progress
        )
        with self._ownership.by(source.name), revision as writing:
            if source.kind == "documents":
                self._documents(run, writing, progress)
            else:
                self._graph(run, writing, progress)
            number = writing.number if writing.added or writing.removed else self._core.history.last
            self._store.note_files(source.name, run.rows(number), run.gone)
            if writing.added or writing.removed:
                self._store.note_run(source.name, writing.number)
            self._store.set_state(
                source.name,
                run=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                revision=writing.number if writing.added or writing.removed else None,
            )
            writing.note(*run.notes)
        return writing

    # -- documents ------------------------------------------------------------------------------------------------

    def _documents(self, run: _SyncRun, writing: Writing, progress: Progress | None) -> None:
        source = run.source
        blocks: list[Ids] = [NO_QUADS]
        for batch in self._read(run, progress):
            blocks.append(quad_ids(self._core.connection, self._core.dictionary, batch))
        quads = np.concatenate(blocks)
        subjects = [source.base + path for path in (*run.written, *run.gone)]
        graph = self._core.dictionary.find([ox.NamedNode(str(source.graph))])[0]
        ids = [n for n in self._core.dictionary.find([ox.NamedNode(one) for one in subjects]) if n is not None]
        if run.again and source.edits == "refuse" and graph is not None:  # what an undo brought back has no file
            held = np.concatenate([NO_QUADS, *read_quads(self._core.connection, "quads_of_graph", graph=graph)])
            failed = self._core.dictionary.find([ox.NamedNode(source.base + path) for path in run.errors])
            held = held[~np.isin(held[:, 0], [number for number in failed if number is not None])]
        else:
            held, revisions = self._held(np.array(ids, dtype=np.int64), graph)
        base = self._base(run, held, revisions, graph) if source.edits == "keep" and len(held) else None
        if (leading := writing.leading) is not None:
            held = leading.given(held, np.array(ids, dtype=np.int64), (graph,) if run.again and graph else ())
            base = None if base is None else leading.given(base)
        if base is not None:
            outcome = three_way(held, quads, base, self._core.dictionary)
            run.conflicts += outcome.conflicts
            added, removed = outcome.added, outcome.removed
        else:
            added, removed = difference(unique_quads(quads), held), difference(held, quads)

        def report(done: int) -> None:
            if progress:
                progress("write", done, len(added))

        writing.apply(added, removed, report, as_given=True)

    def _read(self, run: _SyncRun, progress: Progress | None) -> Iterator[list[ox.Quad]]:
        """The quads of the documents that are new or changed, some at a time."""
        prefixes = self._core.namespaces.prefixes
        batch: list[ox.Quad] = []
        size = 0
        for place, state in enumerate(run.suspects):
            if progress:
                progress("read", place, len(run.suspects))
            if state.path in run.rejected:
                continue
            try:
                data = read(state) if run.there is None else run.there.data
                digest = run.digests[state.path] = _digest(data)
                if not run.again and run.known.get(state.path, _UNREAD).digest == digest:
                    continue
                quads, found = quads_of(run.source, state, data, digest, prefixes)
                batch += quads
                run.places[state.path] = json.dumps(found.places)
                run.notes += (f"{state.shown}: {one}" for one in found.left_out)
            except WorldsError as error:
                run.errors[state.path] = str(error)
                continue
            run.written.append(state.path)
            size += len(data)
            if size > _BATCH:
                yield batch
                batch, size = [], 0
        yield batch

    def _held(self, subjects: Ids, graph: int | None) -> tuple[Ids, Ids]:
        """The quads of subjects in a graph, int64 [n, 4], and the revisions that added them."""
        if graph is None or not len(subjects):
            return NO_QUADS, NO_QUADS[:, 0]
        blocks = [
            self._core.connection.table(_SQL["held"], _SQL["held"].bind(ids_json=json_ids(part), graph=graph))
            for part in np.array_split(subjects, -(-len(subjects) // _FEW))
        ]
        rows = np.concatenate([block.reshape(-1, 5) for block in blocks])
        return rows[:, :4], rows[:, 4]

    def _base(self, run: _SyncRun, held: Ids, revisions: Ids, graph: int | None) -> Ids:
        """The quads of the files as they were read last: without others' additions since, with others' removals."""
        own = self._store.runs(run.source.name)
        first = min(
            (run.known[path].revision for path in (*run.written, *run.gone) if path in run.known), default=NEVER
        )
        gone = self._core.history.gone(first, NEVER - 1)
        gone = gone[(gone[:, 3] == graph) & np.isin(gone[:, 4], own) & ~np.isin(gone[:, 5], own)]
        gone = gone[np.isin(gone[:, 0], held[:, 0])]
        return np.unique(np.concatenate([held[np.isin(revisions, own)], gone[:, :4]]), axis=0)

    # -- graphs ---------------------------------------------------------------------------------------------------

    def _graph(self, run: _SyncRun, writing: Writing, progress: Progress | None) -> None:
        """Reload the files of a source of RDF or tables if one has changed; they replace their earlier quads."""
        source = run.source
        for state in run.suspects:
            try:
                run.digests[state.path] = digest_of(state) if run.there is None else _digest(run.there.data)
            except OpenError as error:
                run.errors[state.path] = str(error)
        changed = [
            path
            for path, digest in run.digests.items()
            if run.again or run.known.get(path, _UNREAD)[1:3] != (digest, None)
        ]
        if not changed and not run.gone:
            return
        while files := {path: one for path, one in run.found.items() if path not in run.errors}:
            lost = any(run.known.get(path, _UNREAD).digest for path in run.errors)
            try:
                told: list[Any] = []
                inputs: list[Any] = [str(one.file) for one in files.values()]
                if source.kind == "tables":
                    mapping = None if source.mapping is None else json.loads(source.mapping)
                    kept = {str(one.file): run.known.get(path, _UNREAD).places for path, one in files.items()}
                    read = {file: json.loads(places) for file, places in kept.items() if places}
                    inputs, told = self._tables(inputs, mapping, source.base, read)
                    # The next run reads a table by the same mapping, whatever the world has come to hold.
                    run.places |= {path: json.dumps(one.mapping.source) for path, one in zip(files, told, strict=True)}
                change = self._core.loader.load(
                    inputs if run.there is None else [run.there.data],
                    format=None if run.there is None else _format(run.there),
                    graph=source.graph,
                    mode="merge" if lost else "replace",
                    base=None if run.there is None else run.there.url,
                    keep_edits=source.edits == "keep" and bool(source.run) and not lost,
                    embed=True,
                    progress=progress,
                )
            except (ParseError, OpenError) as error:
                named = [path for path, one in files.items() if str(one.file) == getattr(error, "source", None)]
                if not named and len(files) > 1:
                    raise
                # Where the files of a server are is its owner's to know.
                shown = {path: str(error).replace(str(files[path].file), files[path].shown) for path in named or files}
                run.errors.update(shown)
                continue
            run.written += [path for path in changed if path not in run.errors]
            run.notes += [*change.notes, *(note for one in told for note in one.notes())]
            writing.count(change.added, change.removed, change.chunks)
            return
        if not run.errors:
            graph = self._core.dictionary.find([ox.NamedNode(str(source.graph))])[0]
            blocks = read_quads(self._core.connection, "quads_of_graph", graph=-1 if graph is None else graph)
            writing.apply(removed=np.concatenate([NO_QUADS, *blocks]))

    # -- what it came to ------------------------------------------------------------------------------------------

    def _left_out(self, run: _SyncRun, error: ValidationError) -> bool:
        """Leave out the documents that a guard rejects; whether there are such."""
        base = run.source.base
        found: dict[str, str] = {}
        for one in getattr(error.report, "results", ()):
            path = str(one.focus).removeprefix(base)
            if str(one.focus).startswith(base) and path in run.written:
                found.setdefault(path, f"the guard rejects it: {one.message}")
        run.rejected |= found
        return bool(found)

    def _told(self, run: _SyncRun, writing: Writing, fingerprint: str, *, dry_run: bool) -> Synced:
        source, change = run.source, writing.change
        gone = {run.known[path].digest: path for path in run.gone if run.known[path].digest}
        new = [path for path in run.written if not run.known.get(path, _UNREAD).digest]
        moved = {gone[run.digests[path]]: path for path in new if run.digests[path] in gone}
        came = set(moved.values())
        read = [path for path in run.written if run.known.get(path, _UNREAD).digest]
        changed = tuple(path for path in read if run.known[path].digest != run.digests[path])
        told = Synced(
            source.name,
            None,
            new=_shown(path for path in new if path not in came),
            changed=_shown(changed),
            moved=tuple((unquote(before), unquote(now)) for before, now in moved.items()),
            deleted=_shown(path for path in run.gone if path not in moved),
            unchanged=len(run.found) - len(new) - len(changed) - len(run.errors),
            errors=tuple(FileProblem(unquote(path), told) for path, told in sorted(run.errors.items())),
            notes=change.notes,
        )
        if isinstance(change, Diff):
            return replace(told, added=len(change.added), removed=len(change.removed), diff=change)
        notes = list(change.notes)
        if change.proposal is not None:
            with self._core.connection.transaction():
                self._store.set_state(
                    source.name,
                    run=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                    proposal=change.proposal,
                    fingerprint=fingerprint,
                )
        elif run.conflicts:
            numbers = self._core.writer.propose(run.conflicts)
            notes.append(f"{len(run.conflicts):,} changes of the files conflict with edits: proposals {numbers} wait")
        return replace(
            told,
            revision=change.revision,
            added=change.added,
            removed=change.removed,
            chunks=change.chunks,
            embedded=change.embedded,
            notes=tuple(notes),
            proposal=change.proposal,
        )


def _shown(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths for people."""
    return tuple(map(unquote, paths))


def _format(there: Fetched) -> str | None:
    """The format of RDF that an address names; None where its bytes have to tell."""
    try:
        return find_format(there.media).name
    except ValueError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _fingerprint(found: Mapping[str, FileState]) -> str:
    """A digest of the state of a folder."""
    told = [(one.path, one.size, one.modified) for _, one in sorted(found.items())]
    return _digest(json.dumps(told).encode())
