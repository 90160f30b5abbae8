"""How likely a text that names an entity speaks of a link, by the links that the world has.

What is known of a predicate is asked from the general to the special, and the special counts by how often it was seen
(shrinkage; Jelinek and Mercer 1980): of all that texts about such a subject name of such a class, of what they name
between the same words, and of this entity. A subject counts where it has the predicate: what it lacks then is taken to
be untrue (the local closed world of Dong et al. 2014, Knowledge Vault).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

_USUAL = 0.1  # share of the named entities that a predicate leads to, of which nothing is known
_TRUST = 3  # cases that what is more general counts as many as
_SINGLE = 1.02  # values of a subject, on average, up to which a predicate has one

Way: TypeAlias = tuple[int, bool]
"""A predicate, and whether it leads from the entity to the subject of the text."""
Context: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Naming:
    """A text of a subject that names an entity: the predicate of the text, both ends' classes, the telling word before
    it, and the words beside."""

    subject: int
    entity: int
    predicate: int
    kinds: tuple[tuple[int, ...], tuple[int, ...]]
    cue: str
    beside: tuple[str, str]

    def contexts(self, way: Way) -> tuple[Context, ...]:
        """What it has in common with others, the most general first; at last the entity alone."""
        of_classes = (way, self.predicate, *self.kinds)
        return of_classes, (*of_classes, self.cue), (*of_classes, self.cue, *self.beside), (way, self.entity)


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely a link is: of the `cases` that are most like it, and any of which has it, `linked` do."""

    way: Way
    probability: float
    linked: int
    cases: int


class Learnt:
    """What a world's links say of namings."""

    def __init__(
        self, namings: Sequence[Naming], joined: Sequence[set[Way]], having: Mapping[int, Mapping[Way, int]]
    ) -> None:
        """`joined` has the predicates that join each naming's subject and entity, `having` how many values each subject
        has by each."""
        self._having = having
        self._cases: Counter[Context] = Counter()
        self._linked: Counter[Context] = Counter()
        self._ways: dict[Context, set[Way]] = defaultdict(set)
        seen: set[tuple[int, int, int]] = set()
        for naming, ways in zip(namings, joined, strict=True):
            for way in ways:
                self._ways[naming.kinds].add(way)
        for naming, ways in zip(namings, joined, strict=True):
            key = (naming.subject, naming.entity, naming.predicate)
            if key in seen:
                continue
            seen.add(key)
            for way in self._ways[naming.kinds] & having.get(naming.subject, {}).keys():
                for context in naming.contexts(way):
                    self._cases[context] += 1
                    self._linked[context] += way in ways
        values: dict[Way, list[int]] = defaultdict(list)
        for counts in having.values():
            for way, count in counts.items():
                values[way].append(count)
        self._single = {way for way, counts in values.items() if sum(counts) <= _SINGLE * len(counts)}

    def chances(self, naming: Naming) -> Iterator[Chance]:
        """How likely each predicate joins what is named with what the text is about."""
        for way in self._ways.get(naming.kinds, ()):
            if way in self._single and way in self._having.get(naming.subject, {}):
                continue  # it has the one that it may have
            *contexts, entity = naming.contexts(way)
            counts = [(self._linked[context], self._cases[context]) for context in contexts]
            usual = (counts[0][0] + _TRUST * _USUAL) / (counts[0][1] + _TRUST)
            share = _USUAL
            for (linked, cases), (within, seen) in pairwise([*counts, (0, 0)]):  # each case counts once
                share = (linked - within + _TRUST * share) / (cases - seen + _TRUST)
            own = (self._linked[entity] + _TRUST * usual) / (self._cases[entity] + _TRUST)
            odds = _odds(share) * _odds(own) / _odds(usual)
            yield Chance(way, odds / (1 + odds), *next((one for one in reversed(counts) if one[0]), counts[0]))


def _odds(share: float) -> float:
    return share / (1 - share)
