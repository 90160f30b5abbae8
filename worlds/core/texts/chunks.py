"""Keeps the chunks in step with the quads: those of each literal that is text, and of each profile."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dataset import of_data
from worlds.core.quads.delta import Delta, Follower
from worlds.core.quads.dictionary import Dictionary, Ids, batches, json_ids
from worlds.core.quads.rows import NO_QUADS, distinct, read_quads
from worlds.core.texts.chunking import chunk_spans, estimate_tokens
from worlds.core.texts.markdown import MARKDOWN
from worlds.core.texts.policy import ChunkSize, TextPolicy
from worlds.core.texts.profiles import Profile, Profiles, term_of
from worlds.core.texts.reading import Text, Words, reads
from worlds.sql import schema, statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection
from worlds.sql.index_rebuild import without

_SQL = statements("queries.sql")
_ENTITIES = statements("entities.sql")
_FILTERS = statements("filters.sql")
_BATCH = 5000
_TERM = (1 << 32) - 1  # the lower bits of a whole text's chunk, as `insert_whole_chunks` takes it
_DEFAULT = TextPolicy()
_BULK = 20_000  # literals from which on indexing them at once pays
INDEXED_AT_ONCE = 50_000  # chunks; each time makes a part of the index that is merged later
_FULL_TEXT = re.compile(
    r"^(?:CREATE VIEW indexed_texts|CREATE VIRTUAL TABLE chunks_fts|INSERT INTO chunks_fts)[^;]*;", re.MULTILINE
)
_TOKENIZE = re.compile('tokenize = ".*"')
_TOKENIZERS = {  # beside that of the schema
    "unicode": "unicode61 remove_diacritics 2 categories 'L* N* Co M*'",
    "trigram": "trigram remove_diacritics 1",
}
_READABLE_TOKENS = 370  # by the estimate: English prose of 256, which the smallest common embedding models read


@dataclass
class Cut:
    """The outcome of cutting texts: how many chunks were made, and the vectors that lost their chunks."""

    made: int = 0
    orphans: set[int] = field(default_factory=set)

    def __iadd__(self, other: Cut) -> Cut:
        self.made += other.made
        self.orphans |= other.orphans
        return self


def _full_text_index(tokenizer: str) -> tuple[str, str, str]:
    """The SQL that makes the full-text index with a tokenizer: its view, its table, and its setting."""
    view, index, setting = _FULL_TEXT.findall(schema())
    if tokenizer in _TOKENIZERS:
        index = _TOKENIZE.sub(lambda _: f'tokenize = "{_TOKENIZERS[tokenizer]}"', index)
    return view.rstrip(";"), index.rstrip(";"), setting


def full_text_indexes() -> list[str]:
    """The definitions of the full-text index and its view with each tokenizer but the schema's, and in older files."""
    former = _FULL_TEXT.findall(schema())[0].replace("chunks.segmented, ", "")  # of trigrams, until compact()
    return [former.rstrip(";"), *(_full_text_index(tokenizer)[1] for tokenizer in _TOKENIZERS)]


class ChunkStore(Follower):
    """The chunks of one world. Every method runs inside the caller's transaction."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._policy: tuple[str | None, TextPolicy] = (None, _DEFAULT)
        self._ahead: Ahead | None = None
        self.known: Callable[[str], list[tuple[Any, ...]]] | None = None
        """Gives the chunks, by their rows, that literals are cut into, by their ids; None where they are to be cut."""
        self.words = Words(connection, lambda: self.policy)
        self.profiles = Profiles(connection, dictionary)

    @property
    def policy(self) -> TextPolicy:
        """The policy as it is stored in the file."""
        stored = self._connection.meta("policy")
        if stored != self._policy[0]:
            self._policy = (stored, self._connection.setting("policy", TextPolicy.from_json) or _DEFAULT)
        return self._policy[1]

    def apply(self, delta: Delta) -> None:
        """Follow a write: chunk new texts, drop chunks of removed ones, and keep profiles in step."""
        cut = self._add(delta.added)
        if len(delta.removed):
            cut += self._drop(distinct(delta.removed[:, 2]))
        if self.policy.profiles or self.policy.statements:
            cut += self._refresh_profiles(self.profiles.concerned(self.policy, delta))
        delta.chunks += cut.made
        delta.orphans |= cut.orphans
        delta.notes += self.words.told
        self.words.told.clear()

    def end(self) -> None:
        """The write is over."""
        self.words.told.clear()

    def adopt(self, policy: TextPolicy) -> Cut:
        """Store another policy, and cut the literals that it concerns anew."""
        before, cut = self.policy, Cut()
        policy = policy if policy.language else policy.with_(language=before.language)
        if policy == before:
            return cut
        self._connection.run(_SQL["set_meta"], ("policy", policy.to_json()))
        resized = policy.size != before.size or policy.sizes != before.sizes
        if resized or not policy.datatypes >= before.datatypes or not policy.include >= before.include:
            while rows := self._connection.rows(_SQL["some_chunks"], (_BATCH,)):
                cut += self._delete(rows)
            self._forget_profiles(self.profiles.stored())
        for quads in read_quads(self._connection, "literal_quads"):
            cut += self._add(quads)
            cut += self._drop(distinct(quads[:, 2]))
        if policy.profiles or policy.statements or before.profiles or before.statements:
            cut += self._refresh_profiles(self.profiles.everyone(policy))
        read = reads(policy) != reads(before) and self.words.read_anew()
        if policy.tokenizer != before.tokenizer:
            self.index_texts()
        elif read:
            self._connection.run(_SQL["rebuild_fts"])
        # It makes no revision, but those who remember chunk ids must notice.
        self._connection.run(_SQL["add_to_meta"], ("embedding_changes", 1))
        return cut

    @contextmanager
    def ahead(self) -> Iterator[Ahead]:
        """Quads are read that the block will add, and no others: their texts can be cut before it does."""
        self._ahead = Ahead(self._connection, self)
        try:
            yield self._ahead
        finally:
            self._ahead = None

    def _add(self, quads: Ids) -> Cut:
        """Chunk the text literals of quads [n, 4] that were added."""
        objects, included = self.literals(quads)
        new, new_included, made = (objects, included, 0) if self._ahead is None else self._ahead.take(objects, included)
        bulk = len(new) >= _BULK and self._connection.row(_SQL["some_chunks"], (1,)) is None
        with without(self._connection, "trigger", "chunks") if bulk else nullcontext():
            cut = Cut(made + self.cut(new, new_included))
            cut += self._resize(objects)
        if bulk:
            self._connection.run(_SQL["rebuild_fts"])  # half the cost of the trigger
        return cut

    def literals(self, quads: Ids) -> tuple[Ids, Ids]:
        """The objects of quads [n, 4] that are text if their datatypes are, and objects that are always text."""
        policy = self.policy
        quads = of_data(self._dictionary, quads)
        kept = quads[~np.isin(quads[:, 1], self._ids(policy.exclude))] if policy.exclude else quads
        included = quads[np.isin(quads[:, 1], self._ids(policy.include)), 2] if policy.include else NO_QUADS[:, 2]
        return distinct(kept[:, 2]), distinct(included)

    def cut(self, objects: Ids, included: Ids) -> int:
        """Cut the objects of `literals` into chunks; return the number of chunks."""
        return self._chunk(objects, any_datatype=False) + self._chunk(included, any_datatype=True)

    def index_texts(self) -> None:
        """Make the full-text index anew, with the tokenizer of the policy."""
        tokenizer = self.policy.tokenizer
        for sql in ("DROP TABLE chunks_fts", "DROP VIEW indexed_texts", *_full_text_index(tokenizer)):
            self._connection.run(sql)
        self._connection.run(_SQL["rebuild_fts"])

    def stale_profiles(self) -> list[int]:
        """The owners whose stored profile or statement differs from one composed of the present quads; for `check`."""
        found: list[int] = []
        for ids in batches(self.profiles.everyone(self.policy)):
            found += self._changed_profiles(ids)[0]
        return sorted(found)

    def _changed_profiles(self, ids: str) -> tuple[list[int], dict[int, Profile], dict[int, tuple[str, str]]]:
        """The owners whose profiles differ from the stored ones, all present profiles, and (text, graphs) as stored."""
        stored = {row[0]: row[1:] for row in self._connection.rows(_ENTITIES["profiles"], (ids,))}
        composed = dict(self.profiles.compose(self.policy, np.array(json.loads(ids), dtype=np.int64)))
        changed = [
            number
            for number in stored.keys() | composed
            if number not in composed or stored.get(number) != _as_stored(composed[number])
        ]
        return sorted(changed), composed, stored

    def _refresh_profiles(self, subjects: Ids) -> Cut:
        """Compose profiles and statements anew; unchanged ones keep their chunks."""
        cut = Cut()
        for ids in batches(subjects):
            changed, composed, stored = self._changed_profiles(ids)
            new = {number: composed[number] for number in changed if number in composed}
            kept = {n for n, profile in new.items() if n in stored and stored[n][0] == profile.text}  # other graphs
            cut += self._delete_profile_chunks(np.array([n for n in changed if n not in kept], dtype=np.int64))
            self._forget_profiles(np.array(changed, dtype=np.int64))
            rows = [(number, *_as_stored(profile)) for number, profile in new.items()]
            self._connection.insert("INSERT INTO profiles (subject, text, graphs)", rows)
            cut.made += self._insert_profiles({n: profile for n, profile in new.items() if n not in kept})
        return cut

    def _forget_profiles(self, subjects: Ids) -> None:
        for ids in batches(subjects):
            self._connection.run(_ENTITIES["delete_profiles"], (ids,))

    def _delete_profile_chunks(self, subjects: Ids) -> Cut:
        cut = Cut()
        for ids in batches(term_of(subjects)):
            cut += self._delete(self._connection.rows(_SQL["chunks_of_terms"], (ids,)))
        return cut

    def _insert_profiles(self, profiles: dict[int, Profile]) -> int:
        rows: list[tuple[object, ...]] = []
        self.words.begin()
        read = self.words.reader().reading(None)
        for subject, profile in profiles.items():
            for (start, end), (text, _) in zip(profile.spans, profile.passages, strict=True):
                rows.append((term_of(subject), start, end, text, read(text)))
        self._connection.insert("INSERT INTO chunks (term, start, end, text, segmented)", rows)
        return len(rows)

    def _ids(self, iris: frozenset[str]) -> list[int]:
        found = self._dictionary.find([ox.NamedNode(iri) for iri in sorted(iris)])
        return [number for number in found if number is not None]

    def _chunk(self, terms: Ids, *, any_datatype: bool) -> int:
        if not len(terms):
            return 0
        if self.known is not None:
            return self.insert([row for ids in batches(terms) for row in self.known(ids)])
        policy = self.policy
        iris = sorted(policy.text_datatypes)
        known = dict(zip(iris, self._dictionary.find([ox.NamedNode(iri) for iri in iris]), strict=True))
        lists = {
            "datatypes_json": json_ids([number for number in known.values() if number is not None]),
            "markdown": known[MARKDOWN],
        }
        statement = _SQL["texts_to_chunk"]
        count = 0
        for ids in batches(terms):
            found = self._connection.rows(
                statement, statement.bind(ids_json=ids, any_datatype=int(any_datatype), **lists)
            )
            sizes = self._sizes([term for term, *_ in found]) if policy.sizes else {}
            self.words.settle_language(found)
            count += self._insert(found, lambda term, sizes=sizes: sizes.get(term, policy.size))  # type: ignore[misc]
        return count

    def _sizes(self, terms: list[int]) -> dict[int, ChunkSize]:
        policy = self.policy
        iris = sorted(policy.sizes)
        numbers = self._dictionary.find([ox.NamedNode(iri) for iri in iris])
        by_predicate = {number: policy.sizes[iri] for iri, number in zip(iris, numbers, strict=True)}
        sizes: dict[int, ChunkSize] = {}
        rows = self._connection.rows(_SQL["predicates_of_objects"], (json_ids(terms),))
        excluded = set(self._ids(policy.exclude))
        for term, predicate in rows:
            if predicate in excluded:
                continue
            size = by_predicate.get(predicate, policy.size)
            sizes[term] = min(sizes.get(term, size), size, key=_precedence)
        return sizes

    def _resize(self, terms: Ids) -> Cut:
        """Cut literals anew that came under, or lost, a predicate with a size."""
        if not self.policy.sizes:
            return Cut()
        changed: list[int] = []
        for ids in batches(terms):
            spans: dict[int, list[tuple[int, int]]] = {}
            for term, start, end in self._connection.rows(_SQL["spans_of_terms"], (ids,)):
                spans.setdefault(term, []).append((start, end))
            sizes = self._sizes(list(spans))
            for term, stored, format, _ in self._texts(json.dumps(list(spans))):
                text = as_text(stored)
                size = sizes.get(term, self.policy.size)
                format = size.format or format
                if chunk_spans(text, max_chars=size.max_chars, overlap=size.overlap, format=format) != spans[term]:
                    changed.append(term)
        return self.rechunk(np.array(changed, dtype=np.int64))

    def pieces(self, text: str) -> set[str]:
        """The passages that a literal with this text may be cut into, by any of the policy's sizes; and the text."""
        sizes = {self.policy.size, *self.policy.sizes.values()}
        cuts = (
            chunk_spans(text, max_chars=size.max_chars, overlap=size.overlap, format=size.format or format)
            for size in sizes
            for format in ("text", "markdown")
        )
        return {text, *(text[start:end] for spans in cuts for start, end in spans)}

    def _texts(self, ids: str) -> list[Text]:
        statement = _SQL["texts"]
        markdown = self._dictionary.find([ox.NamedNode(MARKDOWN)])[0]
        return self._connection.rows(statement, statement.bind(ids_json=ids, markdown=markdown))

    def _insert(
        self,
        texts: list[Text],
        size: Callable[[int], ChunkSize],
        *,
        max_tokens: int = _READABLE_TOKENS,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> int:
        """Chunk literals; gives the number of chunks made."""
        chunks: list[int | tuple[object, ...]] = []  # in the order of the texts: scopes number them alike
        reader = self.words.reader()
        self.words.begin()
        for term, stored, format, tag in texts:
            text = as_text(stored)
            read = reader.reading(tag)
            limits = size(term)
            spans = chunk_spans(
                text,
                max_chars=limits.max_chars,
                overlap=limits.overlap,
                max_tokens=max_tokens,
                count_tokens=count_tokens,
                format=limits.format or format,
            )
            if len(spans) == 1 and spans[0] == (0, len(text)):
                segmented = read(text)
                if segmented is None:
                    chunks.append(len(text) << 32 | term)
                else:
                    chunks.append((term, 0, len(text), None, segmented))
            else:
                for start, end in spans:
                    piece = text[start:end]
                    chunks.append((term, start, end, _storable(piece), read(piece)))
        for begin in range(0, len(chunks), _BATCH):
            batch = chunks[begin : begin + _BATCH]
            if all(isinstance(chunk, int) for chunk in batch):  # in a third of the time
                self._connection.run(_SQL["insert_whole_chunks"], (json.dumps(batch),))
            else:
                rows = [(one & _TERM, 0, one >> 32, None, None) if isinstance(one, int) else one for one in batch]
                self._connection.insert("INSERT INTO chunks (term, start, end, text, segmented)", rows)
        self.words.remember(reader)
        return len(chunks)

    def insert(self, rows: list[tuple[Any, ...]]) -> int:
        """Insert chunks that have their numbers; gives how many."""
        if rows and min(row[0] for row in rows) <= self._connection.value(_FILTERS["last_chunk"]):
            self._connection.run(
                _SQL["add_to_meta"], ("readings", 1)
            )  # who knows chunks up to a number reads them anew
        self._connection.insert("INSERT INTO chunks (id, term, start, end, text, segmented)", rows)
        return len(rows)

    def delete(self, chunks: Iterable[int]) -> Cut:
        """Delete chunks by their numbers."""
        ids = json_ids(chunks)
        orphans = {vector for (vector,) in self._connection.rows(_SQL["vectors_of_chunks"], (ids,))}
        self._connection.run(_SQL["delete_chunks"], (ids,))
        return Cut(orphans=orphans)

    def _drop(self, objects: Ids) -> Cut:
        """Remove the chunks of literals that no quad holds as text any longer."""
        policy = self.policy
        lists = {
            "excluded_json": json_ids(self._ids(policy.exclude)),
            "included_json": json_ids(self._ids(policy.include)),
            "datatypes_json": json_ids(self._ids(policy.text_datatypes)),
        }
        cut = Cut()
        for ids in batches(objects):
            statement = _SQL["chunks_without_quads"]
            cut += self._delete(self._connection.rows(statement, statement.bind(ids_json=ids, **lists)))
        cut += self._resize(objects)
        return cut

    def rechunk(
        self, terms: Ids, *, max_tokens: int = _READABLE_TOKENS, count_tokens: Callable[[str], int] = estimate_tokens
    ) -> Cut:
        """Cut literals that are text, and profiles, anew."""
        policy = self.policy
        cut = self._recut_profiles(terms[terms < 0], max_tokens, count_tokens)
        for ids in batches(terms[terms > 0]):
            cut += self._delete(self._connection.rows(_SQL["chunks_of_terms"], (ids,)))
            found = self._texts(ids)
            sizes = self._sizes([term for term, *_ in found]) if policy.sizes else {}
            cut.made += self._insert(
                found,
                lambda term, sizes=sizes: sizes.get(term, policy.size),  # type: ignore[misc]
                max_tokens=max_tokens,
                count_tokens=count_tokens,
            )
        return cut

    def _recut_profiles(self, terms: Ids, max_tokens: int, count_tokens: Callable[[str], int]) -> Cut:
        """Cut the passages of profiles in pieces that an embedder can read."""
        cut = Cut()
        rows: list[tuple[object, ...]] = []
        read = self.words.reader().reading(None)
        for ids in batches(term_of(terms)):
            for subject, text, _ in self._connection.rows(_ENTITIES["profiles"], (ids,)):
                at = 0
                for passage in text.split("\n"):
                    spans = chunk_spans(
                        passage, max_chars=len(passage), overlap=0, max_tokens=max_tokens, count_tokens=count_tokens
                    )
                    for start, end in spans:
                        piece = passage[start:end]
                        rows.append((term_of(subject), at + start, at + end, piece, read(piece)))
                    at += len(passage) + 1
            cut += self._delete_profile_chunks(np.array(json.loads(ids), dtype=np.int64))
        self._connection.insert("INSERT INTO chunks (term, start, end, text, segmented)", rows)
        cut.made += len(rows)
        return cut

    def _delete(self, rows: list[tuple[int, int | None]]) -> Cut:
        """Delete chunks given as (chunk id, vector id)."""
        if rows:
            for ids in batches(np.array([row[0] for row in rows], dtype=np.int64)):
                self._connection.run(_SQL["delete_chunks"], (ids,))
        return Cut(orphans={vector for _, vector in rows if vector is not None})


class Ahead:
    """Cuts texts of quads that will be added, while others are read; where no chunk is yet, it indexes them, too."""

    def __init__(self, connection: Connection, store: ChunkStore) -> None:
        self._connection = connection
        self._store = store
        self._seen = np.zeros(1 << 16, dtype=np.uint8)  # by term id
        self._begun = False
        self._made = 0
        self._indexed: int | None = None  # the last chunk that the full-text index has, where no trigger sees to it
        self._waiting = 0  # chunks that it has not
        self._triggers = ExitStack()

    def cut(self, quads: Ids) -> None:
        """Cut the texts of quads [n, 4]."""
        if self._store.policy.sizes:  # other quads of a text decide, which are not there yet
            return
        if not self._begun and self._connection.row(_SQL["some_chunks"], (1,)) is None:
            self._triggers.enter_context(without(self._connection, "trigger", "chunks"))
            self._indexed = self._last()
        self._begun = True
        made = self._store.cut(*self._unseen(*self._store.literals(quads)))
        self._made += made
        self._waiting += made
        if self._waiting >= INDEXED_AT_ONCE:
            self._index()

    def finish(self) -> None:
        """All literals are read; texts that are added from here on are cut at once."""
        self._index()
        self._triggers.close()

    def take(self, objects: Ids, included: Ids) -> tuple[Ids, Ids, int]:
        """The ids of `literals` without the texts that are cut already, and the number of their chunks; once."""
        if not self._begun:
            return objects, included, 0
        left = self._unseen(objects, included)
        made, self._made = self._made, 0
        self._seen[:] = 0
        return *left, made

    def _unseen(self, objects: Ids, included: Ids) -> tuple[Ids, Ids]:
        """The literals that were not seen yet."""
        most = max((int(ids[-1]) for ids in (objects, included) if len(ids)), default=0)
        if most >= len(self._seen):
            self._seen = np.concatenate([self._seen, np.zeros(most + 1, dtype=np.uint8)])
        found = [ids[self._seen[ids] & bit == 0] for bit, ids in ((1, objects), (2, included))]
        for bit, ids in zip((1, 2), found, strict=True):
            self._seen[ids] |= bit
        return found[0], found[1]

    def _index(self) -> None:
        if self._indexed is not None and self._waiting:
            self._connection.run(_SQL["index_chunks"], (self._indexed,))
            self._indexed, self._waiting = self._last(), 0

    def _last(self) -> int:
        return self._connection.value("SELECT max(id) FROM chunks") or 0


def _precedence(size: ChunkSize) -> tuple[int, str]:
    """The precedence of a size: the smallest counts, among equals the size that names a format."""
    return size.max_chars, size.format or "unnamed"


def _as_stored(profile: Profile) -> tuple[str, str]:
    """(text, graphs) as the table has them."""
    return profile.text, json.dumps(profile.graphs)


def _storable(text: str) -> str | bytes:
    """A text as the driver reads it back whole."""
    return text.encode() if "\0" in text else text
