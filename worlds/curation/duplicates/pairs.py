"""What is for and against two entities being one: their names, values, types, and how else they are linked."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from worlds.curation.columns.axioms import OWL, RDFS, TYPE, Axioms
from worlds.curation.columns.table import Table, distinct, groups
from worlds.curation.duplicates.likeness import Likeness, Names, ratio
from worlds.entities.nameindex import NameIndex, folded
from worlds.quads.dictionary import LITERAL, Ids

_SHARED = 5  # entities that have a value in common, beyond which it makes no candidates
_CLOSE_DIGITS = 0.85
_CLOSE = 0.8  # likeness of two values that may be one
_MOST_NAMES = 12  # of an entity that are compared
_LONG = 80  # characters from which on a text is compared by its words
_CAP = 12.0  # bits of one value
_AGREE = (0.75, 0.97)  # how often the values of one thing agree, of predicates with several values, and with one
_TRUSTED = 20  # pairs that this counts as much as

FEATURES = (
    "same name", "initials", "alike", "very alike", "namesakes", "for", "against", "other type", "linked",
    "lead", "no name", "share that agrees", "none agrees",
)  # fmt: skip
"""What a probability is made from; see `Pairs.features`."""

# By `python -m benchmarks.duplicates --fit`: a logistic regression on copies of PhySH and FEBRL's third set.
WEIGHTS: tuple[float, ...] = (
    -0.879, -0.036, 1.185, 6.475, -0.568, 3.188, -1.793, -2.311, -6.333, 1.705, -0.871, -1.289, -2.656, -5.538,
)  # fmt: skip


@dataclass(slots=True)
class Pair:
    """Two entities that may be one."""

    a: int
    b: int
    names: tuple[int, int] | None = None  # those that are most alike
    likeness: Likeness = field(default_factory=lambda: Likeness(0.0, "alike"))
    namesakes: int = 0
    bits_for: float = 0.0
    bits_against: float = 0.0
    agreeing: list[tuple[int, int]] = field(default_factory=list)  # (predicate of a, value's key)
    close: list[int] = field(default_factory=list)  # predicates
    differing: list[int] = field(default_factory=list)
    types: int = 0  # 1 for a common one, -1 for none in common, 0 where nothing is known
    linked: bool = False
    lead: float = 0.0

    @property
    def standing(self) -> float:
        """A first guess, by which the candidates of an entity are compared."""
        return 4 * self.likeness.score + (self.bits_for - self.bits_against) / 6


class Pairs:
    """Finds and compares candidates among entities of a table."""

    def __init__(
        self, table: Table, axioms: Axioms, entities: Ids, labels: Sequence[int], aliases: Sequence[int]
    ) -> None:
        """`labels` and `aliases` are the predicates of names."""
        self.table = table
        self.axioms = axioms
        self.entities = entities
        self._naming = [*labels, *aliases]
        self._names_of()
        self._values_of()
        self._types_of()

    # -- what is known of each ----------------------------------------------------------------------------------------

    def _names_of(self) -> None:
        table = self.table
        subjects, objects = [], []
        for predicate in self._naming:
            left, right = table.pairs(predicate)
            of = table.kinds[right] == LITERAL
            subjects.append(left[of])
            objects.append(right[of])
        left, right = (
            np.concatenate([np.empty(0, np.int64), *subjects]),
            np.concatenate([np.empty(0, np.int64), *objects]),
        )
        self.label_of: dict[int, int] = {}
        for subject, literal in zip(left[::-1].tolist(), right[::-1].tolist(), strict=True):
            self.label_of[subject] = literal
        self._texts = table.values(right)
        of = np.isin(left, self.entities)
        numbered: dict[str, int] = {}
        self.names: dict[int, list[int]] = defaultdict(list)
        self.bearers: dict[int, list[int]] = defaultdict(list)
        for subject, literal in zip(left[of].tolist(), right[of].tolist(), strict=True):
            number = numbered.setdefault(self._texts[literal], len(numbered))
            known = self.names[subject]
            if number not in known and len(known) < _MOST_NAMES:
                known.append(number)
                self.bearers[number].append(subject)
        self.index = NameIndex(list(numbered))
        self.comparing = Names(self.index.often, len(self.index))
        self._alike: dict[tuple[int, int], Likeness] = {}
        called: Counter[frozenset[str]] = Counter()
        for known in self.names.values():
            called.update({frozenset(self.index.words[number]) for number in known})
        self._called = called

    def _values_of(self) -> None:
        """Entity → predicate → keys of its values: equal for equal texts, and for entities of one name."""
        table = self.table
        idle = table.ids([TYPE, OWL + "sameAs", OWL + "differentFrom", RDFS + "isDefinedBy"])
        of = np.isin(table.subjects, self.entities) & ~np.isin(table.predicates, [*self._naming, *idle])
        subjects, predicates, objects = table.subjects[of], table.predicates[of], table.objects[of]
        linked = np.isin(objects, self.entities)
        self._links = set((subjects[linked] << 32 | objects[linked]).tolist())
        texts = table.values(distinct(objects[table.kinds[objects] == LITERAL]))
        numbered: dict[object, int] = {}
        keys: dict[int, int] = {}
        self.shown: dict[int, int] = {}
        for term in distinct(objects).tolist():
            text = texts.get(term)
            if text is None:
                label = self.label_of.get(term)
                text = None if label is None else self._texts[label]
            key: object = term if text is None else (folded(text) if len(text) <= _LONG else text)
            keys[term] = numbered.setdefault(key or term, len(numbered))
            self.shown.setdefault(keys[term], term)
        self._long = {keys[term]: frozenset(text.lower().split()) for term, text in texts.items() if len(text) > _LONG}
        self._short = {keys[term]: text for term, text in texts.items() if len(text) <= _LONG}
        self.values: dict[int, dict[int, set[int]]] = defaultdict(dict)
        for subject, predicate, term in zip(subjects.tolist(), predicates.tolist(), objects.tolist(), strict=True):
            self.values[subject].setdefault(predicate, set()).add(keys[term])
        self._having: dict[int, list[int]] = defaultdict(list)
        once: Counter[tuple[int, int]] = Counter()
        having: Counter[int] = Counter()
        for subject, told in self.values.items():
            for key in set().union(*told.values()):
                self._having[key].append(subject)
            for predicate, found in told.items():
                having[predicate] += 1
                once.update((predicate, key) for key in found)
        values: Counter[int] = Counter()
        for told in self.values.values():
            values.update({predicate: len(found) for predicate, found in told.items()})
        self._single = {predicate: having[predicate] / values[predicate] for predicate in having}
        self._by_chance: dict[int, float] = defaultdict(float)
        for (predicate, _), often in once.items():
            self._by_chance[predicate] += (often / having[predicate]) ** 2
        self._agree: dict[int, float] = {}

    def _types_of(self) -> None:
        subjects, kinds = self.axioms.types
        of = np.isin(subjects, self.entities)
        self._types: dict[int, frozenset[int]] = {}
        above: dict[int, set[int]] = {}
        for subject, (theirs,) in groups(subjects[of], kinds[of]):
            for kind in theirs.tolist():
                if kind not in above:
                    above[kind] = self.axioms.above(kind)
            self._types[subject] = frozenset().union(*(above[kind] for kind in theirs.tolist()))

    # -- candidates -----------------------------------------------------------------------------------------------

    def candidates(self, allowed: Mapping[int, int] | None = None) -> list[Pair]:
        """Pairs that may be one entity; with `allowed`, entity → side, those of two sides (3 is on both)."""
        found: dict[tuple[int, int], Pair] = {}

        def meet(a: int, b: int) -> Pair | None:
            if a == b:
                return None
            if allowed is not None and allowed[a] | allowed[b] != 3:
                return None
            key = (a, b) if a < b else (b, a)
            pair = found.get(key)
            if pair is None:
                pair = found[key] = Pair(*key)
            return pair

        def alike(one: int, other: int) -> None:
            likeness = self._compare(one, other)
            if likeness.score < 0.55:
                return
            for a in self.bearers[one][: _SHARED * 8]:
                for b in self.bearers[other][: _SHARED * 8]:
                    pair = meet(a, b)
                    if pair is not None and likeness.score > pair.likeness.score:
                        pair.likeness, pair.names = likeness, (one, other) if a < b else (other, one)

        for number in range(len(self.index)):
            alike(number, number)
        for one, other in self.index.pairs().tolist():
            alike(one, other)
        shared: Counter[tuple[int, int]] = Counter()
        for key, subjects in self._having.items():
            if 2 <= len(subjects) <= _SHARED:
                weight = 2 if key in self._short else 1
                for place, a in enumerate(subjects):
                    for b in subjects[place + 1 :]:
                        shared[(a, b) if a < b else (b, a)] += weight
        for (a, b), weight in shared.items():
            if weight >= 2 and (a, b) not in found:
                pair = meet(a, b)
                if pair is not None:
                    self._best_names(pair)
        return list(found.values())

    def _compare(self, one: int, other: int) -> Likeness:
        if one == other:
            return Likeness(1.0, "same")
        key = (one, other) if one < other else (other, one)
        known = self._alike.get(key)
        if known is None:
            known = self._alike[key] = self.comparing.compare(self.index.words[one], self.index.words[other])
        return known

    def _best_names(self, pair: Pair) -> None:
        for one in self.names.get(pair.a, ()):
            for other in self.names.get(pair.b, ()):
                likeness = self._compare(one, other)
                if likeness.score > pair.likeness.score:
                    pair.likeness, pair.names = likeness, (one, other)

    # -- evidence -------------------------------------------------------------------------------------------------

    def learn(self, pairs: Iterable[Pair]) -> None:
        """How often the values of one entity agree, predicate by predicate: of those that alone have their name."""
        agreed: Counter[int] = Counter()
        differed: Counter[int] = Counter()
        for pair in pairs:
            if pair.names is None or not pair.likeness.exact:
                continue
            if self._called[frozenset(self.index.words[pair.names[0]])] != 2:
                continue
            one, other = self.values.get(pair.a, {}), self.values.get(pair.b, {})
            for predicate in one.keys() & other.keys():
                if one[predicate] & other[predicate]:
                    agreed[predicate] += 1
                else:
                    differed[predicate] += 1
        for predicate, single in self._single.items():
            expected = _AGREE[0] + (_AGREE[1] - _AGREE[0]) * single
            total = _TRUSTED + agreed[predicate] + differed[predicate]
            self._agree[predicate] = (_TRUSTED * expected + agreed[predicate]) / total

    def weigh(self, pair: Pair) -> None:
        """Learn what is for and against a pair, in bits (Fellegi and Sunter 1969)."""
        one, other = self.values.get(pair.a, {}), self.values.get(pair.b, {})
        total = len(self.entities)
        mine: dict[int, int] = {}
        for predicate, keys in one.items():
            for key in keys:
                mine.setdefault(key, predicate)
        theirs = set().union(*other.values()) if other else set()
        for key in mine.keys() & theirs:
            bits = math.log2(max(total, 2) / max(len(self._having[key]) - 1, 1))
            pair.agreeing.append((mine[key], key))
            pair.bits_for += min(max(bits, 0.0), _CAP)
        for predicate in one.keys() & other.keys():
            if one[predicate] & other[predicate]:
                continue
            agree = self._agree[predicate]
            chance = min(self._by_chance.get(predicate, 0.5), 0.95)
            if self._are_close(one[predicate], other[predicate]):
                pair.close.append(predicate)
                pair.bits_for += min(max(-math.log2(max(chance, 1e-4)), 0.0), _CAP) / 2
                continue
            pair.differing.append(predicate)
            pair.bits_against += min(max(math.log2((1 - chance) / max(1 - agree, 1e-3)), 0.0), _CAP)
        if pair.names is not None:
            words = frozenset(self.index.words[pair.names[0]])
            pair.namesakes = max(self._called[words] - (2 if pair.likeness.exact else 1), 0)
        a, b = self._types.get(pair.a), self._types.get(pair.b)
        pair.types = 0 if not a or not b else 1 if a & b else -1
        pair.linked = not self._links.isdisjoint((pair.a << 32 | pair.b, pair.b << 32 | pair.a))

    def rows_of_name(self, entity: int, name: int) -> list[int]:
        """The rows that give an entity a name."""
        found: list[int] = []
        for predicate in self._naming:
            of = self.table.rows(predicate)
            first, last = (
                of.start + int(np.searchsorted(self.table.subjects[of], entity, side=side))
                for side in ("left", "right")
            )
            text = self.index.names[name]
            found += [row for row in range(first, last) if self._texts.get(int(self.table.objects[row])) == text]
        return found

    def _are_close(self, one: set[int], other: set[int]) -> bool:
        for a in list(one)[:4]:
            for b in list(other)[:4]:
                if a in self._long and b in self._long:
                    both = self._long[a] | self._long[b]
                    if len(self._long[a] & self._long[b]) >= 0.5 * len(both):
                        return True
                elif a in self._short and b in self._short and _close(self._short[a], self._short[b]):
                    return True
        return False

    def lead(self, pairs: Sequence[Pair]) -> None:
        """Learn by how much each pair stands above the others of its two entities."""
        best: dict[int, list[float]] = defaultdict(list)
        for pair in pairs:
            for entity in (pair.a, pair.b):
                best[entity].append(pair.standing)
        top = {entity: sorted(found, reverse=True)[:2] for entity, found in best.items()}
        for pair in pairs:
            rivals = []
            for entity in (pair.a, pair.b):
                found = top[entity]
                rivals.append(found[0] if pair.standing < found[0] else (found[1] if len(found) > 1 else 0.0))
            pair.lead = max(-2.0, min(2.0, pair.standing - max(rivals)))

    @staticmethod
    def features(pair: Pair) -> tuple[float, ...]:
        """What tells two that are one from two that are not, in the order of `FEATURES`."""
        alike = pair.likeness
        agreeing = len(pair.agreeing) + len(pair.close)
        compared = agreeing + len(pair.differing)
        return (
            float(alike.exact),
            float(alike.how == "initials"),
            alike.score,
            max(alike.score - 0.8, 0.0) * 5,
            math.log1p(pair.namesakes),
            min(pair.bits_for, 40.0) / 10,
            min(pair.bits_against, 40.0) / 10,
            float(pair.types < 0),
            float(pair.linked),
            pair.lead,
            float(pair.names is None),
            agreeing / compared - 0.5 if compared else 0.0,
            float(compared > 1 and not agreeing),
        )


def _close(one: str, other: str) -> bool:
    """Whether two values may be one with a slip: of numbers and dates, one wrong digit, or two that changed places."""
    digits = [re.sub(r"\D", "", text) for text in (one, other)]
    if all(2 * len(found) > len(text) for found, text in zip(digits, (one, other), strict=True)):
        return ratio(*digits) >= _CLOSE_DIGITS
    return ratio(one.casefold(), other.casefold()) >= _CLOSE


def probability(values: Sequence[float], weights: Sequence[float] = WEIGHTS) -> float:
    """The logistic function of the weighted features; the last weight stands alone."""
    total = sum(value * weight for value, weight in zip(values, weights, strict=False)) + weights[-1]
    return 1 / (1 + math.exp(-max(min(total, 60.0), -60.0)))
