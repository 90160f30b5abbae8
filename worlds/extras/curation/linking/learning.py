"""How likely a text that names an entity speaks of a link, by the links that the world has.

What is known of a predicate is asked from the general to the special, and the special counts by how often it was seen
(shrinkage; Jelinek and Mercer 1980): of all that texts about such a subject name of such a class, of what they name
between the same words, and of this entity. A subject counts where it has the predicate: what it lacks then is taken to
be untrue (the local closed world of Dong et al. 2014, Knowledge Vault). No link is likelier than the cases that bear
it most (Laplace's rule of succession), nor than a second predicate is where another joins the pair already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any, TypeAlias

_USUAL = 0.1  # share of the named entities that a predicate leads to, of which nothing is known
_TRUST = 3  # cases that what is more general counts as many as
_SINGLE = 1.02  # values of a subject, on average, up to which a predicate has one

Way: TypeAlias = tuple[int, bool]
"""A predicate, and whether it leads from the entity to the subject of the text."""
Context: TypeAlias = tuple[Any, ...]


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
        """Its contexts, shared with others, the most general first; the entity, in texts about such subjects, last."""
        of_classes = (way, self.predicate, *self.kinds)
        about = (way, self.kinds[0], self.entity)
        return of_classes, (*of_classes, self.cue), (*of_classes, self.cue, *self.beside), about


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely a link is: of the `cases` of the `context` that bears it most, `linked` have it."""

    way: Way
    share: float
    linked: int
    cases: int
    context: Context


class Learnt:
    """Counts of a world's namings and their links, by context."""

    def __init__(
        self, namings: Sequence[Naming], joined: Sequence[set[Way]], having: Mapping[int, Mapping[Way, int]]
    ) -> None:
        """`joined` has the predicates that join each naming's subject and entity, `having` how many values each of them
        has by each."""
        self._having = having
        self._cases: Counter[Context] = Counter()
        self._linked: Counter[Context] = Counter()
        self._ways: dict[Context, set[Way]] = defaultdict(set)
        self._seen: list[tuple[int, Naming, set[Way], set[Way]]] = []
        seen: set[tuple[int, int, int]] = set()
        for naming, ways in zip(namings, joined, strict=True):
            for way in ways:
                self._ways[naming.kinds].add(way)
        for place, (naming, ways) in enumerate(zip(namings, joined, strict=True)):
            key = (naming.subject, naming.entity, naming.predicate)
            if key in seen:
                continue
            seen.add(key)
            known = self._ways[naming.kinds] & having.get(naming.subject, {}).keys()
            self._seen.append((place, naming, known, ways))
            for way in known:
                for context in naming.contexts(way):
                    self._cases[context] += 1
                    self._linked[context] += way in ways
        values: dict[Way, list[int]] = defaultdict(list)
        for counts in having.values():
            for way, count in counts.items():
                values[way].append(count)
        self._single = {way for way, counts in values.items() if sum(counts) <= _SINGLE * len(counts)}
        pairs = {(naming.subject, naming.entity): ways for naming, ways in zip(namings, joined, strict=True)}
        self._joining = Counter(way for ways in pairs.values() for way in ways)
        self._together = Counter(both for ways in pairs.values() for both in permutations(ways, 2))

    def chances(self, naming: Naming, joined: set[Way]) -> Iterator[Chance]:
        """The probability that each predicate links a named entity with the text's subject; others may be `joined`."""
        for way in self._ways.get(naming.kinds, ()):
            ends = (way, naming.subject), ((way[0], not way[1]), naming.entity)
            if any(led in self._single and led in self._having.get(end, {}) for led, end in ends):
                continue  # one of them has the one that it may have
            *contexts, entity = naming.contexts(way)
            counts = [(self._linked[context], self._cases[context]) for context in contexts]
            usual = (counts[0][0] + _TRUST * _USUAL) / (counts[0][1] + _TRUST)
            share = _USUAL
            for (linked, cases), (within, seen) in pairwise([*counts, (0, 0)]):  # each case counts once
                share = (linked - within + _TRUST * share) / (cases - seen + _TRUST)
            own = (self._linked[entity] + _TRUST * usual) / (self._cases[entity] + _TRUST)
            odds = _odds(share) * _odds(own) / _odds(usual)
            bearing = [(self._linked[context], self._cases[context], context) for context in (*contexts, entity)]
            linked, cases, context = max(bearing, key=lambda one: _succession(*one[:2]))
            beside = (_succession(self._together[way, other], self._joining[other]) for other in joined)
            yield Chance(way, min(odds / (1 + odds), _succession(linked, cases), *beside), linked, cases, context)

    def exceptions(self, contexts: Collection[Context], most: int) -> dict[Context, list[int]]:
        """The places of the first namings of each context where the link is not there."""
        found: dict[Context, list[int]] = {context: [] for context in contexts}
        for place, naming, known, ways in self._seen:
            for way in known - ways:
                for context in naming.contexts(way):
                    if len(found.get(context, range(most))) < most:
                        found[context].append(place)
        return found


def _succession(linked: int, cases: int) -> float:
    """The share that further cases can be trusted to have (Laplace)."""
    return (linked + 1) / (cases + 2)


def _odds(share: float) -> float:
    return share / (1 - share)
