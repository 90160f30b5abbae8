"""Posting lists in memory: which texts have a term, and how often, so that NumPy works out BM25 from them.

FTS5's bm25() looks at every match of a question anew in each search, at .4 µs each. Here the list of a term is read
once, at .15 µs a place, as FTS5's own vocabulary gives it; so texts have the tokens and lengths, and if lengths count
as in FTS5, to the last bit the values that bm25() gives (https://www.sqlite.org/fts5.html#the_bm25_function), and a
filter costs no recall.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids
from worlds.core.search.filters import Eligible
from worlds.core.search.frequencies import Corpus, Frequencies, TextState
from worlds.errors import IntegrityError
from worlds.sql import statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection

_SQL = statements("postings.sql")
_K1, _B = 1.2, 0.75
MOST = 12_000_000  # postings that are kept, of twelve bytes each,
MORE = 4  # unless as many for each chunk are more
_OFFSET = 24  # bits of a place that say where in its text a token stands
_FEW = 8  # texts, of which one is eligible, so that each is looked at
_LEAST = -5e-324  # the value nearest to 0
_tokenize = re.compile(r'tokenize = "[^"]*"').search


@dataclass(frozen=True)
class Postings:
    """The texts that have a term."""

    chunks: NDArray[np.int32]  # ascending ids
    values: NDArray[np.float64]  # what it adds to the BM25 of each, over what the term weighs

    def __len__(self) -> int:
        return len(self.chunks)


class Relevance:
    """BM25 of every text that has a term of the question; lower is better, as in FTS5."""

    def __init__(self, scores: NDArray[np.float64], having: Mapping[str, NDArray[np.int32]]) -> None:
        self._scores = scores  # [chunk id], 0 where there is none of the terms
        self._having = having  # chunks of each term, ascending

    def best(self, depth: int, eligible: Eligible | None) -> list[tuple[int, float]]:
        """The best of the eligible chunks with their values, best first."""
        scores = self._scores
        if eligible is None:
            chunks = np.flatnonzero(scores <= self._bound(depth))
        elif _FEW * len(eligible.chunks) < len(scores):
            chunks = eligible.chunks[: np.searchsorted(eligible.chunks, len(scores))]
        else:
            may = np.frombuffer(eligible.mask, dtype=np.bool_)[: len(scores)]
            chunks = np.flatnonzero((scores[: len(may)] < 0) & may)
        values = scores[chunks]
        if len(values) > depth:
            near = np.flatnonzero(values <= np.partition(values, depth - 1)[depth - 1])
            chunks, values = chunks[near], values[near]
        order = np.lexsort((chunks, values))[:depth]
        return self._found(chunks[order])

    def of(self, chunks: Sequence[int]) -> list[tuple[int, float]]:
        """(chunk, BM25) of the chunks among the given that have any of the terms."""
        return self._found(np.array([chunk for chunk in chunks if chunk < len(self._scores)], dtype=np.int64))

    @property
    def scores(self) -> NDArray[np.float64]:
        """The values, [chunk id], 0 for a chunk that has none of the terms."""
        return self._scores

    def changed(self, scores: NDArray[np.float64]) -> Relevance:
        """The same with other values, [chunk id]."""
        return Relevance(scores, self._having)

    def held(self, term: str, chunk: int) -> bool:
        """Whether a chunk has one of the terms."""
        having = self._having[term]
        place = int(np.searchsorted(having, np.int32(chunk)))  # of another type, all were made anew
        return place < len(having) and int(having[place]) == chunk

    def _found(self, chunks: Ids) -> list[tuple[int, float]]:
        pairs = zip(chunks.tolist(), self._scores[chunks].tolist(), strict=True)
        return [(chunk, value) for chunk, value in pairs if value < 0]

    def _bound(self, depth: int) -> float:
        """A score that at least `depth` texts reach, if so many have any of the terms; from texts with rare terms."""
        for chunks in sorted(self._having.values(), key=len):
            if len(chunks) >= depth:
                return min(float(np.partition(self._scores[chunks], depth - 1)[depth - 1]), _LEAST)
        return _LEAST


class PostingLists:
    """The cached posting lists of one world: the lists that recent questions used, until the texts change.

    A text's share of the average length, that of the world if none is given, counts to the power of `length` in BM25.
    """

    def __init__(
        self, connection: Connection, frequencies: Frequencies, length: float, average: float | None = None
    ) -> None:
        self._connection = connection
        self._frequencies = frequencies
        self._length = length
        self._average = average
        self._state: TextState | None = None
        self._held: OrderedDict[str, Postings] = OrderedDict()
        self._total = 0  # postings held
        self._norms: NDArray[np.float64] = np.empty(0)  # [chunk id], what a length adds to BM25's denominator
        self._tokenizer: Tokenizer | None = None

    def relevance(self, terms: Sequence[str], excluded: str | None, everywhere: Corpus | None = None) -> Relevance:
        """BM25 by these terms, FTS5 expressions of words and phrases, repeated ones as often as they stand.

        What they tell is counted in this world, or as is given.
        """
        self._agree()
        scores = np.zeros(len(self._norms))
        postings = self._postings(list(dict.fromkeys(terms)))
        corpus = everywhere or self._frequencies.corpus(postings)
        for term in terms:
            gained = corpus.weight(term) * postings[term].values
            np.subtract.at(scores, postings[term].chunks.astype(np.intp), gained)
        if excluded is not None:
            scores[self._connection.column(_SQL["matching"], (excluded,))] = 0
        return Relevance(scores, {term: found.chunks for term, found in postings.items()})

    def read(self, terms: Iterable[str]) -> None:
        """Load the posting lists of terms into memory, as far as they fit."""
        self._agree()
        self._postings(list(dict.fromkeys(terms)))

    def _agree(self) -> None:
        state = self._frequencies.agree()
        if state == self._state:
            return
        if self._state is None or self._state.tokenized != state.tokenized:
            self._tokenizer = Tokenizer(state.tokenized)
        self._frequencies.read_lengths(state)
        lengths = self._frequencies.lengths
        average = self._average or self._frequencies.corpus(()).average
        shares = np.arange(lengths.max(initial=0) + 1) / average
        self._norms = (_K1 * (1 - _B + _B * shares**self._length))[lengths.astype(np.intp)]
        self._held.clear()
        self._total = 0
        self._state = state

    def _postings(self, terms: Sequence[str]) -> dict[str, Postings]:
        """The posting lists of distinct terms."""
        found = {term: self._held.pop(term) for term in terms if term in self._held}
        if new := [term for term in terms if term not in found]:
            found |= self._read(new)
        for term in terms:
            self._held[term] = found[term]  # as the last that goes
        while self._total > max(MOST, MORE * self._frequencies.rows) and len(self._held) > 1:
            self._total -= len(self._held.popitem(last=False)[1])
        return found

    def _read(self, terms: Sequence[str]) -> dict[str, Postings]:
        assert self._tokenizer is not None
        self._connection.attach(_SQL["attach"])
        tokens = self._tokenizer([term.rstrip("*").strip('"') for term in terms])
        words = [held[0] for term, held in zip(terms, tokens, strict=True) if _is_word(term, held)]
        columns = iter(self._connection.rows(_SQL["of_tokens"], (json.dumps(words),)))
        found = {}
        for term, held in zip(terms, tokens, strict=True):
            word = _is_word(term, held)
            places = integers(next(columns)[0]) if word else self._places(held, beginning=term.endswith("*"))
            if len(places) and places[-1] >= len(self._norms):
                raise IntegrityError("the full-text index is damaged: compact() builds it anew")
            ends = np.append(np.flatnonzero(places[1:] != places[:-1]) + 1, len(places)) if len(places) else places
            counts = np.diff(ends, prepend=0).astype(np.float64)
            chunks = places[ends - 1]
            if (mask := self._frequencies.mask) is not None:
                counts, chunks = counts[mask[chunks]], chunks[mask[chunks]]
            values = (counts * (_K1 + 1)) / (counts + self._norms[chunks])
            found[term] = Postings(chunks.astype(np.int32), values)
            self._frequencies.note(term, len(counts))
            self._total += len(counts)
        return found

    def _places(self, tokens: Sequence[str], *, beginning: bool) -> Ids:
        """The chunks that have these tokens in a row, or such as begin with the last, ascending, each as often."""
        if not tokens:
            return np.empty(0, dtype=np.int64)
        if len(tokens) == 1:
            return np.sort(self._connection.column(_SQL["of_beginning"], tokens))
        begins: Ids | None = None
        for distance, token in enumerate(tokens):
            last = distance == len(tokens) - 1
            statement = _SQL["places_of_beginning"] if last and beginning else _SQL["places_of_token"]
            found = self._connection.column(statement, (token,)) - distance
            begins = found if begins is None else np.intersect1d(begins, found, assume_unique=True)
        assert begins is not None
        return begins >> _OFFSET


def _is_word(term: str, tokens: Sequence[str]) -> bool:
    return len(tokens) == 1 and not term.endswith("*")


class Tokenizer:
    """The tokens that a full-text index makes of a text: FTS5 itself makes them, in a table of its own in memory."""

    def __init__(self, index: str) -> None:
        """A tokenizer with the options of an FTS5 index, whose CREATE statement is given."""
        found = _tokenize(index)
        self._connection = Connection(":memory:")
        self._connection.run(f"CREATE VIRTUAL TABLE asked USING fts5 (text{f', {found[0]}' if found else ''})")
        self._connection.run("CREATE VIRTUAL TABLE asked_tokens USING fts5vocab (asked, instance)")

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens of each text in their order."""
        self._connection.run(_SQL["forget_texts"])
        self._connection.run(_SQL["ask_texts"], (json.dumps(texts),))
        found: list[list[str]] = [[] for _ in texts]
        for number, token in self._connection.rows(_SQL["tokens_asked"]):
            found[number].append(token)
        return found
