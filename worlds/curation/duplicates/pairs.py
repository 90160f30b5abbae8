"""What is for and against two entities being one: their names, values, types, and how else they are linked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worlds.curation.columns.axioms import Axioms
from worlds.curation.columns.lists import Mask, code, firsts, parts, place, spread, sums
from worlds.curation.columns.table import NO_IDS, Table
from worlds.curation.duplicates.known import MOST_NAMES, KnownNames, KnownTypes, KnownValues
from worlds.curation.duplicates.likeness import ALIKE, INITIALS, JOINED, Likeness
from worlds.curation.duplicates.spelling import Shares
from worlds.quads.dictionary import Ids

_SHARED = 5  # entities that have a value in common, beyond which it makes no candidates
_BEARERS = 40  # of a name that are compared
_LEAST = 0.55  # likeness of names that makes a candidate
_CLOSE_NUMBERS, _CLOSE, _CLOSE_WORDS = 0.85, 0.8, 0.8  # likeness of two values that may be one
_UNLIKE_WORDS = 0.5  # of long texts: below it they differ, above it they tell nothing
_COMPARED = 4  # values of one predicate that are compared with one another
_CAP = 12.0  # bits of one value
_AGREE = (0.75, 0.97)  # how often the values of one thing agree, of predicates with several values, and with one
_TRUSTED = 20  # pairs that this counts as much as
_BLOCK = 50_000  # pairs at a time

Allowed = Callable[[Ids, Ids], Mask]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of entities by their places, a before b, and their most alike names; -1 where one has none."""

    a: Ids
    b: Ids
    names: tuple[Ids, Ids]
    likeness: Likeness

    def __len__(self) -> int:
        return len(self.a)

    def of(self, rows: Ids) -> Candidates:
        """Some of the pairs."""
        one, other = self.names
        return Candidates(self.a[rows], self.b[rows], (one[rows], other[rows]), self.likeness.of(rows))


@dataclass(frozen=True, slots=True)
class Met:
    """What two entities' values say, in rows that each belong to a pair: `agreeing` by (pair, predicate, key), `close`
    and `differing` by (pair, predicate)."""

    agreeing: tuple[Ids, Ids, Ids]
    close: tuple[Ids, Ids]
    differing: tuple[Ids, Ids]


@dataclass(frozen=True, slots=True)
class Weights:
    """What is for and against each pair, in bits as Fellegi and Sunter 1969 weigh: for it what both point to, and what
    both have for a value."""

    bits_by_links: Shares
    bits_by_values: Shares
    bits_against: Shares
    agreeing: Ids
    differing: Ids
    namesakes: Ids
    types: Ids  # 1 for a common one, -1 for none in common, 0 where nothing is known
    linked: Mask
    lead: Shares

    def of(self, rows: Ids) -> Weights:
        """The features of some of the pairs."""
        return Weights(*(getattr(self, name)[rows] for name in self.__slots__))


class Pairs:
    """Finds and compares candidates among entities of a table."""

    def __init__(
        self, table: Table, axioms: Axioms, entities: Ids, labels: Sequence[int], aliases: Sequence[int]
    ) -> None:
        """`labels` and `aliases` are the predicates of names."""
        self.entities = entities
        naming = [*labels, *aliases]
        self.names = KnownNames(table, entities, naming)
        self.values = KnownValues(table, entities, self.names, naming)
        self.types = KnownTypes(axioms, entities)
        self._agree = np.empty(0)

    # -- candidates -----------------------------------------------------------------------------------------------

    def candidates(self, sides: Ids | None, decided: Ids) -> Candidates:
        """Pairs that may be one entity.

        With `sides`, int64 [entities], those of two sides; 3 is on both, as after a merge, and is compared with what is
        on one alone. `decided` are codes of pairs that are none.
        """

        def allowed(a: Ids, b: Ids) -> Mask:
            kept: Mask = (a != b) & (place(code(np.minimum(a, b), np.maximum(a, b)), decided) < 0)
            if sides is not None:
                kept &= ((sides[a] | sides[b]) == 3) & ((sides[a] & sides[b]) != 3)
            return kept

        by_name = self._by_names(allowed)
        by_value = self._by_values(allowed)
        fresh = by_value[place(by_value, code(by_name.a, by_name.b)) < 0]
        others = self._named(*parts(fresh))
        return Candidates(
            np.concatenate([by_name.a, others.a]),
            np.concatenate([by_name.b, others.b]),
            (
                np.concatenate([by_name.names[0], others.names[0]]),
                np.concatenate([by_name.names[1], others.names[1]]),
            ),
            Likeness(
                np.concatenate([by_name.likeness.score, others.likeness.score]),
                np.concatenate([by_name.likeness.how, others.likeness.how]),
            ),
        )

    def _by_names(self, allowed: Allowed) -> Candidates:
        bearers = self.names.bearers
        itself = np.flatnonzero(bearers.counts > 1)
        near = self.names.index.pairs()
        one, other = np.concatenate([itself, near[:, 0]]), np.concatenate([itself, near[:, 1]])
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
    def _best(a: Ids, b: Ids, one: Ids, other: Ids, alike: Likeness) -> Candidates:
        """Each pair of entities with its most alike names."""
        turned = a > b
        a, b = np.where(turned, b, a), np.where(turned, a, b)
        one, other = np.where(turned, other, one), np.where(turned, one, other)
        codes = code(a, b)
        order = np.lexsort((other, one, -alike.score, codes))
        rows = order[firsts(codes[order])]
        return Candidates(a[rows], b[rows], (one[rows], other[rows]), alike.of(rows))

    def _by_values(self, allowed: Allowed) -> Ids:
        """Codes of pairs that share a value which few have: a short one, or two long ones."""
        having = self.values.having
        codes, weights = [NO_IDS], [NO_IDS]
        for size in range(2, _SHARED + 1):
            keys = np.flatnonzero(having.counts == size)
            members = having.values[having.starts[keys][:, None] + np.arange(size)[None, :]]
            worth = np.where(self.values.is_short[keys], 2, 1)
            for first, second in zip(*np.triu_indices(size, 1), strict=True):
                a, b = members[:, first], members[:, second]
                of = allowed(a, b)
                codes.append(code(np.minimum(a, b), np.maximum(a, b))[of])
                weights.append(worth[of])
        every, places = np.unique(np.concatenate(codes), return_inverse=True)
        found: Ids = every[np.bincount(places, np.concatenate(weights), minlength=len(every)) >= 2]
        return found

    def _named(self, a: Ids, b: Ids) -> Candidates:
        """Pairs with their most alike names, of all names of both."""
        found = Candidates(
            a, b, (np.full(len(a), -1), np.full(len(a), -1)),
            Likeness(np.zeros(len(a)), np.full(len(a), ALIKE)),
        )  # fmt: skip
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
            found.likeness.score[of] = alike.score[best]
            found.likeness.how[of] = alike.how[best]
        return found

    # -- evidence -------------------------------------------------------------------------------------------------

    def met(self, a: Ids, b: Ids) -> Met:
        """What the values of pairs say."""
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
        return Met(agreeing, (owners[state > 0], kinds[state > 0]), (owners[state < 0], kinds[state < 0]))

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
        found = np.full(len(mine), -1, dtype=np.int64)
        np.maximum.at(found, pairs, state[at])
        return found

    def weigh(self, found: Candidates) -> Weights:
        """What is for and against each candidate."""
        self._learn(found)
        blocks = [
            self._weigh(found.a[start : start + _BLOCK], found.b[start : start + _BLOCK])
            for start in range(0, max(len(found), 1), _BLOCK)
        ]
        by_links, by_values, against = (np.concatenate([block[n] for block in blocks]) for n in range(3))
        agreeing, differing = (np.concatenate([block[n] for block in blocks]).astype(np.int64) for n in (3, 4))
        named = found.names[0] >= 0
        bearers = np.zeros(len(found), dtype=np.int64)
        bearers[named] = self.names.called(found.names[0][named])
        namesakes = np.maximum(bearers - np.where(found.likeness.how <= JOINED, 2, 1), 0)
        links = self.values.links
        linked = (place(code(found.a, found.b), links) >= 0) | (place(code(found.b, found.a), links) >= 0)
        standing = 4 * found.likeness.score + (by_links + by_values - against) / 6
        return Weights(
            by_links, by_values, against, agreeing, differing, namesakes, self.types.compared(found.a, found.b), linked,
            self._lead(found, standing),
        )  # fmt: skip

    def _learn(self, found: Candidates) -> None:
        """How often the values of one entity agree, predicate by predicate: of those that alone have their name."""
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

    def _weigh(self, a: Ids, b: Ids) -> tuple[Shares, Shares, Shares, Shares, Shares]:
        met = self.met(a, b)
        of, _, keys = met.agreeing
        having = np.maximum(self.values.having.counts[keys] - 1, 1)
        bits = np.clip(np.log2(max(len(self.entities), 2) / having), 0.0, _CAP)
        valued = self.values.is_literal[keys]
        by_links, by_values = sums(of[~valued], len(a), bits[~valued]), sums(of[valued], len(a), bits[valued])
        agreeing = sums(of, len(a)) + sums(met.close[0], len(a))
        chance = np.clip(self.values.by_chance, 1e-4, 0.95)
        close = np.clip(-np.log2(chance), 0.0, _CAP) / 2
        by_values += sums(met.close[0], len(a), close[met.close[1]])
        differs = np.clip(np.log2((1 - chance) / np.maximum(1 - self._agree, 1e-3)), 0.0, _CAP)
        opposing = sums(met.differing[0], len(a), differs[met.differing[1]])
        return by_links, by_values, opposing, agreeing, sums(met.differing[0], len(a))

    @staticmethod
    def _lead(found: Candidates, standing: Shares) -> Shares:
        """By how much each pair stands above the others of its two entities."""
        rows = np.tile(np.arange(len(found)), 2)
        whose = np.concatenate([found.a, found.b])
        order = np.lexsort((-standing[rows], whose))
        first = np.flatnonzero(firsts(whose[order]))
        owners = np.cumsum(firsts(whose[order])) - 1
        best = order[first]
        after = rows[order[np.minimum(first + 1, len(order) - 1)]]
        second = np.where(np.diff(np.append(first, len(order))) > 1, standing[after], 0.0)
        rival = np.empty(len(rows))
        rival[order] = np.where(order == best[owners], second[owners], standing[rows[best]][owners])
        most = np.maximum(rival[: len(found)], rival[len(found) :])
        return np.clip(standing - most, -2.0, 2.0)


FEATURES = (
    "same name", "initials", "alike", "very alike", "namesakes", "links", "values", "against", "other type", "linked",
    "lead", "any lead", "no name", "share that agrees", "none agrees",
)  # fmt: skip
"""What a probability is made from; see `features`."""

# By `python -m benchmarks.duplicates --fit`: logistic regressions on the sets that it names as fitted. Within one graph
# two that point to the same are siblings more often than one.
WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "between": (
        -0.921, 3.082, 1.346, 4.950, -0.885, 1.167, 3.272, -3.978, -1.014, -3.830,
        1.465, 0.293, 1.414, -0.721, -1.896, -4.434,
    ),
    "within": (
        -0.386, 4.434, -0.081, 5.958, -1.155, 0.652, 2.447, -3.367, 0.096, -5.729,
        0.558, 0.136, 0.574, 0.269, -1.527, -4.776,
    ),
}  # fmt: skip


def features(found: Candidates, weights: Weights) -> NDArray[np.float64]:
    """What tells two that are one from two that are not, float64 [pairs, features], in the order of `FEATURES`."""
    alike = found.likeness
    compared = weights.agreeing + weights.differing
    return np.stack(
        [
            alike.how <= JOINED,
            alike.how == INITIALS,
            alike.score,
            np.maximum(alike.score - 0.8, 0.0) * 5,
            np.log1p(weights.namesakes),
            np.minimum(weights.bits_by_links, 40.0) / 10,
            np.minimum(weights.bits_by_values, 40.0) / 10,
            np.minimum(weights.bits_against, 40.0) / 10,
            weights.types < 0,
            weights.linked,
            weights.lead,
            np.clip(weights.lead * 5, -1.0, 1.0),
            found.names[0] < 0,
            np.where(compared > 0, weights.agreeing / np.maximum(compared, 1) - 0.5, 0.0),
            (compared > 1) & (weights.agreeing == 0),
        ],
        axis=1,
    ).astype(np.float64)


def odds(values: NDArray[np.float64], weights: Sequence[float]) -> Shares:
    """The weighted features, as the logarithm of the odds; the last weight stands alone."""
    found: Shares = np.clip(values @ np.array(weights[:-1]) + weights[-1], -40.0, 40.0)
    return found


def probabilities(found: Candidates, odds: Shares, *, one_to_one: bool) -> Shares:
    """How likely each pair is one.

    With `one_to_one` an entity has one twin at most, and its candidates share what is likely; without, each pair is
    judged by itself.
    """
    chances = np.exp(odds)
    rivals = chances
    if one_to_one and len(odds):
        size = int(found.b.max()) + 1
        every = sums(found.a, size, chances) + sums(found.b, size, chances)
        rivals = np.maximum(every[found.a], every[found.b])
    shares: Shares = chances / (1 + rivals)
    return shares
