"""Verifies a world: quads, terms, revisions, chunks, full-text index and vectors must say the same."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.file.problems import CheckReport, Problem
from worlds.core.file.scans import ChunkScan, VectorScan
from worlds.core.quads.dataset import own_graphs
from worlds.core.quads.dictionary import BLANK_NODE, DEFAULT_GRAPH_ID, IRI, LITERAL, TRIPLE, Ids, json_ids
from worlds.core.quads.rows import NO_QUADS, read_quads
from worlds.core.search.plans import INDEX_CANDIDATES
from worlds.core.vectors.codes import Codes
from worlds.errors import ConflictError, IntegrityError, ParseError
from worlds.graph.longtexts import parse_all
from worlds.sql import STATEMENT, schema, statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection, Row

if TYPE_CHECKING:
    from worlds.core.core import Core

_QUERIES = statements("queries.sql")
_SQL = statements("check.sql")
_TERMS = 20_000  # rows read at a time
_PAIRS = 5_000
_EXAMPLES = 3
_DEPTH = 100  # of the lists that a search asks for by default
_FEW = 16  # vectors up to which a new index, too, may have nodes that no edge leads to
_MOST_LOST = 0.1  # of the sample, that do not find themselves by the native index
_TEXTS = 200  # chunks looked up in the full-text index where it cannot verify itself
_PHRASE = 8  # words of a chunk that are looked up
_SAME = 0.99  # cosine from which on two runtimes of one model gave the same vector
_BLANK, _ANY, _TEXT = 0, 1, 2  # no literal, or a blank one; a literal; a literal of a datatype that is text

_RESTORE = "restore a backup, or export() what is there and load it into a new world"
_RECUT = f"set the policy to another one and back, which cuts all texts anew; or {_RESTORE}"
_COMPACT = "compact() builds it anew"
_REINDEX = "delete the folder beside the file whose name ends in -sparql; the next query makes it anew"
_REEMBED = "embed(rebuild=True) makes all vectors anew"


def check(core: Core) -> CheckReport:
    """Verify the world and report inconsistencies; see `World.check`.

    All is read from one snapshot, but for the full-text index, which verifies itself under a write lock, before. It
    is only sampled in a read-only world, and while another process writes.
    """
    return _Check(core).run()


class _NothingToKeep(Exception):  # noqa: N818  # no error
    """Ends a transaction that is to leave no trace."""


class _Check:
    def __init__(self, core: Core) -> None:
        self._connection, self._dictionary, self._chunks = core.connection, core.dictionary, core.chunks
        self._embeddings, self._sparql, self._extensions = core.embeddings, core.sparql, core.extensions
        self.report = CheckReport()
        self._last = 0  # the highest term id
        self._kinds: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)  # by term id, 0 where there is no term
        self._texts: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)  # by term id: _BLANK, _ANY or _TEXT
        self._expected: NDArray[np.bool_] = np.zeros(1, dtype=np.bool_)  # by term id: must have chunks
        self._compared_texts = False

    def run(self) -> CheckReport:
        with self._connection.lock:
            self._guarded(self._verify_full_text)
            with self._connection.snapshot():
                for step in (
                    self._file,
                    self._schema,
                    self._terms,
                    self._quads,
                    self._revisions,
                    self._extras,
                    self._proposals,
                    self._pieces,
                    self._full_text,
                    self._vectors,
                    self._sparql_index,
                ):
                    self._guarded(step)
        return self.report

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:  # damage can break any statement, and what its rows are made into
            what = step.__name__.strip("_").replace("_", " ")
            self._problem("unreadable", f"the {what} could not be verified: {error}", 1, (), _RESTORE)

    def _problem(self, kind: str, message: str, count: int, examples: Iterable[str], remedy: str) -> None:
        self.report.problems.append(Problem(kind, message, count, tuple(examples)[:_EXAMPLES], remedy))

    def _damaged(
        self, kind: str, what: str, ids: list[int], remedy: str, show: Callable[[int], str] | None = None
    ) -> None:
        """A problem if there are `ids`: their number, then `what`."""
        if ids:
            show = show or str
            self._problem(kind, f"{len(ids):,} {what}", len(ids), map(show, ids[:_EXAMPLES]), remedy)

    def _ids(self, name: str) -> list[int]:
        return [number for (number,) in self._connection.rows(_SQL[name])]

    def _show(self, number: int) -> str:
        """A term for a person: itself if it can be read, and its id."""
        try:
            text = str(self._dictionary.terms([number])[number])
        except Exception:  # it is damaged: this is where it is reported
            return f"term {number}"
        return f"{text if len(text) <= 80 else text[:79] + '…'} (term {number})"

    # -- the file ---------------------------------------------------------------------------------------------------

    def _file(self) -> None:
        asked = [""]
        if self._embeddings.index.built and not self._connection.driver.native:  # SQLite lacks its function
            asked = [f"({name})" for (name,) in self._connection.rows(_SQL["tables_without_vectors"])]
        found = [str(line) for one in asked for (line,) in self._connection.rows(f"PRAGMA integrity_check{one}")]
        self.report.checked["pages"] = self._connection.value("PRAGMA page_count")
        if set(found) == {"ok"}:
            return
        # What belongs to an index that can be built anew is no damage of the file.
        vectors = [line for line in found if "libsql_vector" in line or "vectors_embedding" in line]
        texts = [line for line in found if "chunks_fts" in line and line not in vectors]
        others = [line for line in found if line not in vectors and line not in texts]
        if vectors:
            told = f"the native vector index is damaged, as VACUUM by another program does: {vectors[0]}"
            self._problem("vector-index", told, len(vectors), vectors, _COMPACT)
        if texts and self._compared_texts:
            self._problem("full-text", f"the full-text index is damaged: {texts[0]}", len(texts), texts, _COMPACT)
            self._compared_texts = False
        if others:
            self._problem("file", f"the file is damaged: {others[0]}", len(others), others, _RESTORE)

    def _schema(self) -> None:
        with contextlib.closing(Connection(":memory:")) as pattern:
            pattern.script(schema())
            wanted = set(pattern.rows(_SQL["schema_objects"]))
        if self._embeddings.stored is not None:
            wanted.add(("table", "vectors"))
        missing = sorted(wanted - set(self._connection.rows(_SQL["schema_objects"])))
        self.report.checked["tables"] = sum(kind == "table" for kind, _ in wanted)
        if missing:
            names = [f"{kind} {name}" for kind, name in missing]
            self._problem("schema", f"{len(names)} parts of the schema are missing", len(names), names, _RESTORE)

    def _sparql_index(self) -> None:
        found = self._sparql.compare()
        if found is None:
            return
        missing, surplus = found
        self.report.checked["quads of the SPARQL index"] = self._sparql.count
        if missing:
            message = f"{len(missing):,} quads are not in the SPARQL index"
            self._problem("sparql-index", message, len(missing), map(str, missing), _REINDEX)
        if surplus:
            message = f"the SPARQL index has {surplus:,} quads that the world does not have"
            self._problem("sparql-index", message, surplus, (), _REINDEX)

    # -- terms and quads --------------------------------------------------------------------------------------------

    def _terms(self) -> None:
        self._last = last = self._connection.value(_QUERIES["last_term"])
        self._kinds = np.zeros(last + 1, dtype=np.uint8)
        self._texts = np.zeros(last + 1, dtype=np.uint8)
        self._expected = np.zeros(last + 1, dtype=np.bool_)
        datatypes = self._known(self._chunks.policy.text_datatypes)
        lost: list[int] = []
        unreadable: list[int] = []
        references: list[tuple[int, int]] = []  # (a term, a term that it needs)
        after = count = 0
        while rows := self._connection.rows(_SQL["terms_with_hashes"], (after, _TERMS)):
            after = rows[-1][0]
            count += len(rows)
            self._decode(rows, unreadable)
            for number, kind, stored, datatype, _, _, hash_ in rows:
                code = stored.encode() if type(stored) is str else stored
                if type(code) is not bytes:
                    unreadable.append(number)
                    continue
                if crc32(code) & 0x7FFFFFFF != hash_ or (type(stored) is bytes) != (b"\0" in code):
                    lost.append(number)
                self._kinds[number] = kind if kind in (IRI, BLANK_NODE, LITERAL, TRIPLE) else 0
                if kind == LITERAL:
                    if datatype is not None:
                        references.append((number, datatype))
                    if not code.decode().isspace() and code:
                        self._texts[number] = _TEXT if datatype is None or datatype in datatypes else _ANY
                elif kind == TRIPLE:
                    references += [(number, int(part)) for part in code.split()]
        self.report.checked["terms"] = count
        needed = np.array(references, dtype=np.int64).reshape(-1, 2)
        missing = np.unique(needed[self._kind(needed[:, 1]) == 0, 0]).tolist()
        self._damaged("missing-terms", "terms need a datatype or a part that is not stored", missing, _RESTORE)
        self._damaged("unreadable-terms", "terms are not what RDF allows", sorted(set(unreadable)), _RESTORE)
        what = "terms cannot be found, because their hash or storage class is wrong"
        self._damaged("lost-terms", what, lost, _RESTORE, self._show)
        twice = [number for number, _ in self._connection.rows(_SQL["equal_terms"])]
        self._damaged("duplicate-terms", "terms are stored more than once", twice, _RESTORE, self._show)

    def _decode(self, rows: list[Row], unreadable: list[int]) -> None:
        """Decode the terms of the rows, to check that they can be decoded."""
        try:
            self._dictionary.decode([row[:6] for row in rows], {})
        except Exception:  # find out which
            for row in rows:
                try:
                    self._dictionary.decode([row[:6]], {})
                except IntegrityError as error:
                    if error.__cause__ is not None:  # else a part is missing, which is seen by its id
                        unreadable.append(row[0])

    def _known(self, iris: Iterable[str]) -> set[int | None]:
        return set(self._dictionary.find([ox.NamedNode(iri) for iri in iris])) - {None}

    def _kind(self, ids: Ids) -> NDArray[np.uint8]:
        """The kind of each term, 0 where there is none."""
        return np.where((ids > 0) & (ids <= self._last), self._kinds[np.clip(ids, 0, self._last)], 0)

    def _quads(self) -> None:
        policy = self._chunks.policy
        exclude, include = (np.array(sorted(self._known(iris))) for iris in (policy.exclude, policy.include))  # type: ignore[type-var]  # no None
        self.report.checked["quads"] = 0
        missing, wrong = [NO_QUADS], [NO_QUADS]
        own = own_graphs(self._dictionary)
        for block in read_quads(self._connection, "quads_in_range", markers=True):
            self.report.checked["quads"] += len(block)
            self._judge(block, missing, wrong)
            objects = block[:, 2]
            inside = (objects > 0) & (objects <= self._last) & ~np.isin(block[:, 3], own)  # which are no text
            text = self._texts[np.clip(objects, 0, self._last)]
            holds = (text == _TEXT) & ~np.isin(block[:, 1], exclude)
            holds |= (text != _BLANK) & np.isin(block[:, 1], include)
            self._expected[objects[holds & inside]] = True
        self._report_quads("quads", np.concatenate(missing), np.concatenate(wrong))
        missing, wrong = [NO_QUADS], [NO_QUADS]
        after: int | None = 0
        self.report.checked["removed quads"] = 0
        while True:
            after, block = self._connection.page(_SQL["removed_in_range"], (after, _TERMS), after=after)
            if after is None:
                break
            self.report.checked["removed quads"] += len(block)
            self._judge(block, missing, wrong)
        self._report_quads("quads of the history", np.concatenate(missing), np.concatenate(wrong))

    def _judge(self, block: Ids, missing: list[Ids], wrong: list[Ids]) -> None:
        """Sort out quads that have a term that is not stored, or one that cannot stand where it does."""
        subject, predicate, value, graph = (self._kind(column) for column in block.T)
        marker = ~block[:, :3].any(axis=1)
        subject, predicate, value = (np.where(marker, IRI, kind) for kind in (subject, predicate, value))
        graph = np.where((block[:, 3] == DEFAULT_GRAPH_ID) & ~marker, IRI, graph)
        gone = (subject == 0) | (predicate == 0) | (value == 0) | (graph == 0)
        missing.append(block[gone])
        wrong.append(block[~gone & ((subject > BLANK_NODE) | (predicate != IRI) | (graph > BLANK_NODE))])

    def _report_quads(self, name: str, missing: Ids, wrong: Ids) -> None:
        for kind, what, quads in (
            ("missing-terms", f"{name} have a term that is not stored", missing),
            ("wrong-terms", f"{name} have a term where RDF does not allow it", wrong),
        ):
            if len(quads):
                shown = [" ".join(map(self._show_part, quad)) for quad in quads[:_EXAMPLES].tolist()]
                self._problem(kind, f"{len(quads):,} {what}", len(quads), shown, _RESTORE)

    def _show_part(self, number: int) -> str:
        return "(default graph)" if number == DEFAULT_GRAPH_ID else self._show(number)

    def _revisions(self) -> None:
        horizon = self._connection.meta("history_from") or 1  # what is older is forgotten
        rows = [row for row in self._connection.rows(_SQL["revisions"]) if row[0] >= horizon]
        self.report.checked["revisions"] = len(rows)
        revisions = {row[0] for row in rows}
        held = {revision: (count, first) for revision, count, first in self._connection.rows(_SQL["quads_by_revision"])}
        gone: dict[int, int] = dict(self._connection.rows(_SQL["removed_by_revision"]))
        removals: dict[int, int] = dict(self._connection.rows(_SQL["removals_by_revision"]))
        named = {number for number in held.keys() | gone.keys() if number >= horizon} | removals.keys()
        unknown = sorted(named - revisions)
        self._damaged("missing-revisions", "revisions are named by quads, but not recorded", unknown, _RESTORE)
        wrong: list[str] = []
        for number, added, removed, first_quad in rows:
            count, first = held.get(number, (0, first_quad))
            found = (count + gone.get(number, 0), removals.get(number, 0))
            if (added, removed) != found:
                wrong.append(
                    f"revision {number}: {added:,} added, {removed:,} removed; found {found[0]:,}, {found[1]:,}"
                )
            elif first < first_quad:
                wrong.append(f"revision {number}: it has quad {first}, but says that {first_quad} is its first")
        if wrong:
            message = f"{len(wrong):,} revisions do not hold what they say"
            self._problem("wrong-revisions", message, len(wrong), wrong, _RESTORE)

    # -- chunks -----------------------------------------------------------------------------------------------------

    def _extras(self) -> None:
        for found in filter(None, (extension.inspect() for extension in self._extensions)):
            self.report.checked[found.kind] = found.count
            for what, quads in found.wrong.items():
                told = f"{len(quads):,} {found.kind}: each {what}"
                examples = (" ".join(map(self._show, quad[:3])) for quad in quads[:_EXAMPLES].tolist())
                self._problem(found.kind, told, len(quads), examples, found.remedy)

    def _proposals(self) -> None:
        rows = self._connection.rows(_SQL["proposals"])
        self.report.checked["proposals"] = len(rows)
        last = self._connection.value(_QUERIES["last_revision"])
        bad = []
        for number, status, quads, revision in rows:
            try:
                parse_all(quads or "", ox.RdfFormat.N_QUADS)
                agrees = status in ("open", "accepted", "rejected") and (revision is None or revision <= last)
            except (SyntaxError, ValueError, TypeError, ParseError):
                agrees = False
            if not agrees:
                bad.append(number)
        self._damaged("proposals", "proposals that cannot be read, or name a revision that is not there", bad, _RESTORE)

    def _pieces(self) -> None:
        scan = ChunkScan(self._connection, self._chunks, self._last)
        scan.read()
        self.report.checked["chunks"] = scan.count
        if scan.outdated:  # they are found by their words as they are written, until compact() reads them anew
            self.report.checked["chunks of an older release"] = scan.outdated

        self._damaged(
            "chunks-without-terms", "chunks are of a literal that is not stored", scan.homeless, _RECUT, _chunk
        )
        self._damaged("wrong-chunks", "chunks differ from what their literal says there", scan.wrong, _RECUT, _chunk)
        what = "literals are not covered by their chunks"
        self._damaged("uncovered-texts", what, scan.uncovered, _RECUT, self._show)
        missing = np.flatnonzero(self._expected & ~scan.with_chunks).tolist()
        self._damaged("missing-chunks", "literals are text, but have no chunks", missing, _RECUT, self._show)
        others = np.flatnonzero(scan.with_chunks & ~self._expected & (self._kinds > 0)).tolist()
        self._damaged("needless-chunks", "literals have chunks, but are not text", others, _RECUT, self._show)
        self._profiles(scan.profiled)
        self._foreign_vectors(scan)

    def _profiles(self, with_chunks: set[int]) -> None:
        """Compose all profiles and statements anew, and compare them with the stored ones."""
        stale = self._chunks.stale_profiles()
        stored = set(self._chunks.profiles.stored().tolist())
        missing = sorted(stored - with_chunks)
        for what, show, of in (
            ("profiles", self._show, lambda owner: owner < STATEMENT),
            ("statements", lambda owner: f"quad {owner - STATEMENT}", lambda owner: owner >= STATEMENT),
        ):
            self.report.checked[what] = sum(map(of, stored))
            wrong = f"{what} differ from their quads"
            self._damaged("wrong-profiles", wrong, list(filter(of, stale)), _RECUT, show)
            self._damaged("missing-chunks", f"{what} have no chunks", list(filter(of, missing)), _RECUT, show)

    def _foreign_vectors(self, scan: ChunkScan) -> None:
        """Chunks whose vector was made from another text."""
        foreign = list(scan.foreign)
        for start in range(0, len(scan.doubtful), _PAIRS):
            part = scan.doubtful[start : start + _PAIRS]
            ids = json_ids(sorted({number for _, *pair in part for number in pair}))
            rows = self._connection.rows(_SQL["vectors_by_id"], (ids,))
            found = {number: np.frombuffer(blob, dtype="<f4") for number, blob in rows if blob is not None}
            for chunk, vector, cached in part:
                a, b = found.get(vector), found.get(cached)
                if a is None or b is None or a.shape != b.shape or float(a @ b) < _SAME:
                    foreign.append(chunk)
        what = "chunks have a vector that was not made from their text"
        self._damaged("wrong-vectors", what, foreign, _REEMBED, _chunk)

    def _verify_full_text(self) -> None:
        """Run the full-text index's own check against the chunks."""
        if self._connection.read_only:
            return
        try:
            with contextlib.suppress(_NothingToKeep), self._connection.transaction():
                self._connection.run(_SQL["compare_full_text"])
                self._compared_texts = True
                raise _NothingToKeep  # to SQLite, the comparison is a write
        except ConflictError:
            return
        except IntegrityError as error:
            message = f"the full-text index disagrees with the texts: {error}"
            self._problem("full-text", message, 1, (), _COMPACT)

    def _full_text(self) -> None:
        missing, surplus = self._ids("chunks_not_in_full_text"), self._ids("full_text_without_chunks")
        self._damaged("full-text", "chunks are not in the full-text index", missing, _COMPACT, _chunk)
        self._damaged("full-text", "rows of the full-text index have no chunk", surplus, _COMPACT)
        if self._compared_texts or any(problem.kind == "full-text" for problem in self.report.problems):
            return
        numbers = self._connection.column(_SQL["chunk_ids"])
        if len(numbers):
            numbers = numbers[np.unique(np.linspace(0, len(numbers) - 1, _TEXTS).astype(np.int64))]
        lost: list[int] = []
        for number, stored in self._connection.rows(_SQL["some_texts"], (json_ids(numbers),)):
            phrase = _phrase(as_text(stored), self._chunks.policy.tokenizer)
            if phrase and self._connection.row(_SQL["found_by_text"], (phrase, number)) is None:
                lost.append(number)
        self.report.checked["sampled texts"] = len(numbers)
        self._damaged("full-text", "chunks are not found by their own words", lost, _COMPACT, _chunk)

    # -- vectors ----------------------------------------------------------------------------------------------------

    def _vectors(self) -> None:
        embedded, texts, codes, retired = self._connection.rows(_SQL["count_embedded"])[0]
        checked = self.report.checked
        checked["pending chunks"] = checked.get("chunks", 0) - embedded
        stored = self._embeddings.stored
        if stored is None:
            count = embedded + texts + codes + retired
            if count:
                message = f"{count:,} rows are about vectors, but the world does not know an embedder"
                self._problem("embedder", message, count, (), _REEMBED)
            return
        for kind, what, name in (
            ("missing-vectors", "chunks have a vector that is not stored", "chunks_without_their_vector"),
            ("orphan-vectors", "vectors belong to no chunk", "vectors_without_chunks"),
            ("orphan-vectors", "vectors are stored as retired too", "vectors_twice"),
            ("missing-vectors", "vectors of embedded texts are not stored", "texts_without_their_vector"),
            ("wrong-codes", "codes belong to no vector", "codes_without_vectors"),
        ):
            self._damaged(kind, what, self._ids(name), _REEMBED)
        scan = VectorScan(self._connection, int(stored["dimension"]))  # type: ignore[call-overload]  # as stored
        scan.read()
        checked["vectors"] = scan.count
        self._damaged("broken-vectors", "vectors are not finite, or not of unit length", scan.broken, _REEMBED)
        self._damaged("broken-vectors", "vectors differ from the key they are found by", scan.unlike, _REEMBED)
        self._damaged("wrong-codes", "vectors have no code, or another one's", scan.miscoded, _REEMBED)
        if not scan.miscoded and len(scan.sample):
            plan = Codes(self._connection)
            plan.refresh(1, 0)
            found = [plan.nearest(query, _DEPTH) for query in scan.queries]
            self.report.recall["codes"] = scan.recall(found)
        if self._connection.driver.native:
            self._vector_index(scan)

    def _vector_index(self, scan: VectorScan) -> None:
        if not self._embeddings.index.built:
            if self._embeddings.index.wanted and not self._connection.read_only:
                self._problem("vector-index", "the native vector index is missing", 1, (), _COMPACT)
            return
        missing, surplus = self._ids("vectors_not_in_index"), self._ids("index_without_vectors")
        self._damaged("vector-index", "vectors are not in the native vector index", missing, _COMPACT)
        self._damaged("vector-index", "rows of the native vector index have no vector", surplus, _COMPACT)
        self.report.checked["indexed vectors"] = scan.usable - len(missing)
        if not len(scan.sample):
            return
        statement = _SQL["nearest_by_index"]
        found = []
        for query in scan.queries:
            values = statement.bind(query=query.astype("<f4").tobytes(), depth=INDEX_CANDIDATES)
            found.append(np.array([number for (number,) in self._connection.rows(statement, values)], dtype=np.int64))
        lost = [int(own) for own, ids in zip(scan.sample, found, strict=True) if own not in ids]
        self.report.recall["index"] = recall = scan.recall(found)
        # Recall alone is no sign of damage: among vectors without neighbourhoods it is low in a new index too.
        if scan.usable > _FEW and len(lost) > _MOST_LOST * len(found):
            message = (
                f"the native vector index finds {recall:.0%} of the nearest vectors, and {len(lost)} of "
                f"{len(scan.sample)} vectors do not find themselves"
            )
            # It is a kind of its own because it comes by ordinary deletions: libSQL's graph loses edges with each.
            self._problem("index-recall", message, len(lost), map(str, lost), _COMPACT)


def _chunk(number: int) -> str:
    return f"chunk {number}"


def _phrase(text: str, tokenizer: str) -> str:
    """An FTS5 phrase of some consecutive words of ASCII, whose tokens are beyond doubt; empty if there are none."""
    if tokenizer == "trigram":
        return next((f'"{word}"' for word in text.split() if len(word) > 2 and word.isascii() and word.isalnum()), "")
    words = itertools.dropwhile(lambda word: not word.isascii(), text.split())
    phrase = " ".join(itertools.islice(itertools.takewhile(str.isascii, words), _PHRASE)).replace('"', " ")
    return f'"{phrase}"' if any(map(str.isalnum, phrase)) else ""
