"""Evidence for and against two entities being the same: names, values, types, and other links between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from worlds.core.quads.dictionary import Ids
from worlds.extras.curation.columns.axioms import Axioms
from worlds.extras.curation.columns.quad_columns import (
    Mask,
    QuadTable,
    code,
    distinct,
    firsts,
    parts,
    place,
    spread,
    sums,
)
from worlds.extras.curation.duplicates.known import (
    CAP,
    MOST_NAMES,
    Bags,
    KnownNames,
    KnownTypes,
    KnownValues,
    WordNumbers,
)
from worlds.extras.curation.duplicates.likeness import JOINED, NameSimilarity
from worlds.extras.curation.duplicates.string_similarity import Shares

_SHARED = 5  # entities that have a value in common, beyond which it makes no candidates
_BEARERS = 40  # of a name that are compared
_NEAREST = 2  # entities, by their words, that each is compared with
_LEAST = 0.55  # likeness of names that makes a candidate
_CLOSE_NUMBERS, _CLOSE, _CLOSE_WORDS = 0.85, 0.8, 0.8  # likeness of two values that may be one
_UNLIKE_WORDS = 0.5  # of long texts: below it they differ, above it they tell nothing
_COMPARED = 4  # values of one predicate that are compared with one another
_AGREE = (0.75, 0.97)  # how often the values of one thing agree, of predicates with several values, and with one
_TRUSTED = 20  # pairs that this counts as much as
_BLOCK = 50_000  # pairs at a time

TEXTS_CODE = 8  # column of `Weights.words`: the bits of the rarest code in common

Allowed = Callable[[Ids, Ids], Mask]


@dataclass(frozen=True, slots=True)
class CandidatePairs:
    """Pairs of entities by their places, a before b, and their most alike names; -1 where one has none."""

    a: Ids
    b: Ids
    names: tuple[Ids, Ids]
    likeness: NameSimilarity

    def __len__(self) -> int:
        return len(self.a)

    def of(self, rows: Ids) -> CandidatePairs:
        """Some of the pairs."""
        one, other = self.names
        return CandidatePairs(self.a[rows], self.b[rows], (one[rows], other[rows]), self.likeness.of(rows))


@dataclass(frozen=True, slots=True)
class PairComparison:
    """The comparison of two entities' values, in rows that each belong to a pair: `agreeing` by (pair, predicate,
    key), `close` and `differing` by (pair, predicate)."""

    agreeing: tuple[Ids, Ids, Ids]
    close: tuple[Ids, Ids]
    differing: tuple[Ids, Ids]


@dataclass(frozen=True, slots=True)
class Weights:
    """The evidence for and against each pair, in bits as Fellegi and Sunter 1969 weigh: for it are the entities that
    both point to, and the values that both have."""

    bits_by_links: Shares
    bits_by_values: Shares
    rarest_link: Shares  # of these the weightiest alone: values that many have together tell little more
    rarest_value: Shares
    bits_against: Shares
    agreeing: Ids
    differing: Ids
    namesakes: Ids
    types: Ids  # 1 for a common one, -1 for none in common, 0 where nothing is known
    bare: Mask  # whose names differ in brackets alone
    linked: Mask
    siblings: Mask  # with a parent in common
    apart: Mask  # whose parents are others
    identifiers: Mask  # whose identifiers differ, of a kind that those of one thing share
    systematic: Ids  # further pairs of entities whose names differ in the same words
    words: Shares  # [pairs, 10]: of names and of all texts; see `Bags.compare`

    def of(self, rows: Ids) -> Weights:
        """The features of some of the pairs."""
        columns = [getattr(self, name)[rows] for name in self.__slots__]
        return Weights(*columns)


class Pairs:
    """Finds and compares candidates among entities of a table."""

    def __init__(
        self, table: QuadTable, axioms: Axioms, entities: Ids, labels: Sequence[int], aliases: Sequence[int]
    ) -> None:
        """`labels` and `aliases` are the predicates of names."""
        self.entities = entities
        naming = [*labels, *aliases]
        self.names = KnownNames(table, entities, naming)
        self.values = KnownValues(table, entities, self.names, naming)
        self.types = KnownTypes(axioms, entities)
        words = WordNumbers()
        owners, kept = self.names.names.each(np.arange(len(entities)))
        told = words.of(self.names.index.names)
        rows, named = told.each(kept)
        held = self.values.held
        said = words.of(self.values.texts)
        also, others = said.each(held & 0xFFFFFFFF)
        self.bags = (
            Bags(owners[rows], named, len(entities)),
            Bags(np.concatenate([owners[rows], held[also] >> 32]), np.concatenate([named, others]), len(entities)),
        )
        self._codes = words.codes
        self.taken: Mask | None = None  # of two sides, the entities that are on both
        self._agree = np.empty(0)

    # -- candidates -----------------------------------------------------------------------------------------------

    def candidates(self, sides: Ids | None, decided: Ids) -> CandidatePairs:
        """Pairs that may be one entity.

        With `sides`, int64 [entities], those of two sides; 3 is on both, as after a merge, and is compared with what is
        on one alone. `decided` are codes of pairs that are none.
        """

        self.taken = None if sides is None else sides == 3

        def allowed(a: Ids, b: Ids) -> Mask:
            kept: Mask = (a != b) & (place(code(np.minimum(a, b), np.maximum(a, b)), decided) < 0)
            if sides is not None:
                kept &= ((sides[a] | sides[b]) == 3) & ((sides[a] & sides[b]) != 3)
            return kept

        by_name = self._by_names(sides, allowed)
        fresh = distinct(np.concatenate([self._by_values(allowed), *self._near(sides, allowed)]))
        fresh = fresh[place(fresh, np.sort(code(by_name.a, by_name.b))) < 0]
        others = self._named(*parts(fresh))
        return CandidatePairs(
            np.concatenate([by_name.a, others.a]),
            np.concatenate([by_name.b, others.b]),
            (np.concatenate([by_name.names[0], others.names[0]]), np.concatenate([by_name.names[1], others.names[1]])),
            NameSimilarity.joined([by_name.likeness, others.likeness]),
        )

    def _near(self, sides: Ids | None, allowed: Allowed) -> list[Ids]:
        """Codes of pairs of entities that are nearest by the words of their names, and of all their texts."""
        every = np.arange(len(self.entities))
        ways = [(every, every)]
        if sides is not None:
            first, second = (np.flatnonzero(sides & side) for side in (1, 2))
            ways = [(first, second), (second, first)]
        found: list[Ids] = []
        for bags in self.bags:
            for left, right in ways:
                a, b = parts(bags.nearest(left, right, _NEAREST))
                found.append(code(np.minimum(a, b), np.maximum(a, b))[allowed(a, b)])
        return found

    def _by_names(self, sides: Ids | None, allowed: Allowed) -> CandidatePairs:
        bearers = self.names.bearers
        itself = np.flatnonzero(bearers.counts > 1)
        one, other = (np.concatenate([itself, near]) for near in parts(self.names.index.pairs()))
        if sides is not None:
            owners, whose = bearers.each(np.arange(len(bearers.counts)))
            borne = np.zeros(len(bearers.counts), dtype=np.int64)
            np.bitwise_or.at(borne, owners, sides[whose])
            across = (borne[one] | borne[other]) == 3
            one, other = one[across], other[across]
        alike = self.names.comparing.compare(one, other)
        kept = np.flatnonzero(alike.score >= _LEAST)
        one, other, alike = one[kept], other[kept], alike.of(kept)
        owners, a = bearers.each(one, _BEARERS)
        rows, places = spread(bearers.starts[other][owners], np.minimum(bearers.counts[other], _BEARERS)[owners])
        a, b, which = a[rows], bearers.values[places], owners[rows]
        of = np.flatnonzero(allowed(a, b))
        a, b, which = a[of], b[of], which[of]
        return self._best(a, b, one[which], other[which], alike.of(which))

    @staticmethod
    def _best(a: Ids, b: Ids, one: Ids, other: Ids, alike: NameSimilarity) -> CandidatePairs:
        """Each pair of entities with its most alike names."""
        turned = a > b
        a, b = np.where(turned, b, a), np.where(turned, a, b)
        one, other = np.where(turned, other, one), np.where(turned, one, other)
        codes = code(a, b)
        order = np.lexsort((other, one, -alike.score, codes))
        rows = order[firsts(codes[order])]
        return CandidatePairs(a[rows], b[rows], (one[rows], other[rows]), alike.of(rows))

    def _by_values(self, allowed: Allowed) -> Ids:
        """Codes of pairs that share a value which few have: a short one, or two long ones."""
        keys, a, b = self.values.having.pairs(_SHARED)
        of = allowed(a, b)
        every, places = np.unique(code(np.minimum(a, b), np.maximum(a, b))[of], return_inverse=True)
        worth = np.where(self.values.is_short[keys[of]], 2, 1)
        found: Ids = every[np.bincount(places, worth, minlength=len(every)) >= 2]
        return found

    def _named(self, a: Ids, b: Ids) -> CandidatePairs:
        """Pairs with their most alike names, of all names of both."""
        found = CandidatePairs(a, b, (np.full(len(a), -1), np.full(len(a), -1)), NameSimilarity.none(len(a)))
        for start in range(0, len(a), _BLOCK):
            left, right = a[start : start + _BLOCK], b[start : start + _BLOCK]
            names = self.names.names
            owners, one = names.each(left, MOST_NAMES)
            rows, places = spread(names.starts[right][owners], names.counts[right][owners])
            pairs, one, other = owners[rows], one[rows], names.values[places]
            codes, at = np.unique(code(one, other), return_inverse=True)
            alike = self.names.comparing.compare(*parts(codes)).of(at)
            order = np.lexsort((-alike.score, pairs))
            best = order[firsts(pairs[order])]
            best = best[alike.score[best] > 0]
            of = start + pairs[best]
            found.names[0][of], found.names[1][of] = one[best], other[best]
            found.likeness.put(of, alike.of(best))
        return found

    # -- evidence -------------------------------------------------------------------------------------------------

    def met(self, a: Ids, b: Ids) -> PairComparison:
        """Compare the values of pairs."""
        known = self.values
        owners, held = known.keys.each(a)
        keys = known.held[held] & 0xFFFFFFFF
        same = place(code(b[owners], keys), known.held) >= 0
        agreeing = owners[same], known.held_kind[held[same]], keys[same]
        owners, mine = known.mine.each(a)
        theirs = place(code(b[owners], known.kind[mine]), known.slots)
        both = theirs >= 0
        owners, mine, theirs = owners[both], mine[both], theirs[both]
        rows, values = known.values.each(mine)
        shared = np.zeros(len(owners), dtype=bool)
        shared[rows[place(code(theirs[rows], values), known.told) >= 0]] = True
        owners, mine, theirs = owners[~shared], mine[~shared], theirs[~shared]
        state = self._close(mine, theirs)
        kinds = known.kind[mine]
        return PairComparison(agreeing, (owners[state > 0], kinds[state > 0]), (owners[state < 0], kinds[state < 0]))

    def _close(self, mine: Ids, theirs: Ids) -> Ids:
        """1 for slots where two values are close, -1 where none is, 0 where a value is common."""
        known = self.values
        owners, one = known.values.each(mine, _COMPARED)
        counts = np.minimum(known.values.counts[theirs], _COMPARED)
        rows, places = spread(known.values.starts[theirs][owners], counts[owners])
        pairs, one, other = owners[rows], one[rows], known.values.values[places]
        codes, at = np.unique(code(np.minimum(one, other), np.maximum(one, other)), return_inverse=True)
        left, right = parts(codes)
        alike = known.alike(left, right)
        long = ~known.is_short[left]
        numbers = known.is_number[left] & known.is_number[right]
        least = np.where(long, _CLOSE_WORDS, np.where(numbers, _CLOSE_NUMBERS, _CLOSE))
        state = np.where(alike >= least, 1, np.where(long & (alike >= _UNLIKE_WORDS), 0, -1))
        state = state[at]
        if self.taken is None:  # codes of one source that are nearly the same are of siblings
            coded = known.coded[one] & known.coded[other] & known.identifying[known.kind[mine]][pairs]
            state[coded & (one != other)] = -1
        found = np.full(len(mine), -1, dtype=np.int64)
        np.maximum.at(found, pairs, state)
        return found

    def weigh(self, found: CandidatePairs) -> Weights:
        """The evidence for and against each candidate."""
        self._learn(found)
        blocks = [
            self._weigh(found.a[start : start + _BLOCK], found.b[start : start + _BLOCK])
            for start in range(0, max(len(found), 1), _BLOCK)
        ]
        by_links, by_values, rarest_link, rarest_value, against, siblings, apart, identifiers, *counted = (
            np.concatenate(column) for column in zip(*blocks, strict=True)
        )
        agreeing, differing = (column.astype(np.int64) for column in counted[:2])
        named = found.names[0] >= 0
        bearers = np.zeros(len(found), dtype=np.int64)
        bearers[named] = self.names.called(found.names[0][named])
        namesakes = np.maximum(bearers - np.where(found.likeness.how <= JOINED, 2, 1), 0)
        systematic = np.zeros(len(found), dtype=np.int64)
        systematic[named] = self._systematic(found.names[0][named], found.names[1][named])
        bare = named & (self.names.bare[found.names[0]] == self.names.bare[found.names[1]])
        links = self.values.links
        linked = (place(code(found.a, found.b), links) >= 0) | (place(code(found.b, found.a), links) >= 0)
        return Weights(
            by_links, by_values, rarest_link, rarest_value, against, agreeing, differing, namesakes,
            self.types.compared(found.a, found.b), bare, linked, siblings > 0,
            apart > 0, identifiers > 0, systematic, np.stack(counted[2:], axis=1),
        )  # fmt: skip

    def _learn(self, found: CandidatePairs) -> None:
        """Learn how often the values of one entity agree, predicate by predicate, from entities with a unique name."""
        exact = np.flatnonzero((found.names[0] >= 0) & (found.likeness.how <= JOINED))
        exact = exact[self.names.called(found.names[0][exact]) == 2]
        size = len(self.values.predicates)
        agreed, differed = np.zeros(size), np.zeros(size)
        for start in range(0, len(exact), _BLOCK):
            of = exact[start : start + _BLOCK]
            met = self.met(found.a[of], found.b[of])
            pairs = np.unique(code(*met.agreeing[:2])) & 0xFFFFFFFF
            agreed += np.bincount(pairs, minlength=size)
            differed += np.bincount(np.concatenate([met.close[1], met.differing[1]]), minlength=size)
        expected = _AGREE[0] + (_AGREE[1] - _AGREE[0]) * self.values.single
        self._agree = (_TRUSTED * expected + agreed) / (_TRUSTED + agreed + differed)

    def _systematic(self, left: Ids, right: Ids) -> Ids:
        """For each pair, the number of other pairs of names that differ in the same words."""
        _, at = np.unique(code(self.names.as_words[left], self.names.as_words[right]), return_inverse=True)
        first = np.unique(at, return_index=True)[1]
        differences = self.names.comparing.differences(left[first], right[first])
        _, kinds, often = np.unique(differences, return_inverse=True, return_counts=True)
        found: Ids = np.where(differences == 0, 0, often[kinds] - 1)[at]
        return found

    def _weigh(self, a: Ids, b: Ids) -> tuple[Shares, ...]:
        met = self.met(a, b)
        of, _, keys = met.agreeing
        bits = self.values.bits[keys]
        valued = self.values.is_literal[keys]
        by_links, by_values = sums(of[~valued], len(a), bits[~valued]), sums(of[valued], len(a), bits[valued])
        rarest = np.zeros((2, len(a)))
        np.maximum.at(rarest, (valued.astype(np.int64), of), bits)
        agreeing = sums(of, len(a)) + sums(met.close[0], len(a))
        chance = np.clip(self.values.by_chance, 1e-4, 0.95)
        close = np.clip(-np.log2(chance), 0.0, CAP) / 2
        by_values += sums(met.close[0], len(a), close[met.close[1]])
        differs = np.clip(np.log2((1 - chance) / np.maximum(1 - self._agree, 1e-3)), 0.0, CAP)
        opposing = sums(met.differing[0], len(a), differs[met.differing[1]])
        siblings = sums(of, len(a), self.values.upward[met.agreeing[1]].astype(float))
        apart = sums(met.differing[0], len(a), self.values.upward[met.differing[1]].astype(float))
        identifying = self.values.identifying * self._agree
        identifiers = sums(met.differing[0], len(a), np.where(identifying > 0.5, identifying, 0.0)[met.differing[1]])
        words = [column for bags in self.bags for column in bags.compare(a, b, self._codes)]
        differing = sums(met.differing[0], len(a))
        return by_links, by_values, *rarest, opposing, siblings, apart, identifiers, agreeing, differing, *words
