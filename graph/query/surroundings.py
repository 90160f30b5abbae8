"""The surroundings of a place in a query: the patterns with its variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from worlds.graph.query.shape import NO_NAMES, Element, GroupGraphPattern, Names, Path, QueryShape


@dataclass(frozen=True)
class GroupPattern:
    """A pattern over some names: the text of a group pattern, without its braces."""

    names: tuple[str, ...]
    pattern: str


def surroundings(
    shape: QueryShape, path: Path, names: Sequence[str], foreign: Names, usable: Callable[[Element], bool]
) -> list[GroupPattern]:
    """The conjuncts with each of `names` around the last element of `path`, up to the SELECT.

    Names that the same conjuncts connect come together. Left out is what mentions a `foreign` name, is not `usable`,
    or is not connected to the names; OPTIONAL; and a FILTER, BIND or MINUS that could not decide as it does in its
    place, since what is left out may bind its variables. So the patterns allow all that the query allows, and more
    only there.
    """
    frames = _frames(shape, path, foreign, usable)
    found: list[GroupPattern] = []
    left = list(dict.fromkeys(names))
    while left:
        reached = _reached(left[0], frames)
        together = tuple(name for name in left if name in reached)
        left = [name for name in left if name not in reached]
        pattern = _pattern(shape, frames, reached, foreign)
        if pattern:
            found.append(GroupPattern(together, pattern))
    return found


def exclusions(
    shape: QueryShape, path: Path, name: str, foreign: Names, usable: Callable[[Element], bool]
) -> list[str]:
    """Group patterns whose values of `name` the query excludes: of MINUS and NOT EXISTS that share nothing else."""
    frames = _frames(shape, path, foreign, usable)
    found: list[str] = []
    for number, frame in enumerate(frames):
        if any(inner.one_sided for inner in frames[number:]):  # so it may be unbound out here
            continue
        elsewhere = _elsewhere(frames, frame, foreign) - {name}
        around = [outer.graph for outer in frames[:number] if outer.graph]
        if any(outer.graph_names for outer in frames[:number]):  # the rest of the query says which graph
            continue
        for text in frame.exclusions(name, elsewhere):
            found.append(" { ".join([*around, text]) + " }" * len(around))
    return found


def _frames(shape: QueryShape, path: Path, foreign: Names, usable: Callable[[Element], bool]) -> list[_GroupFrame]:
    frames = [
        _GroupFrame(shape, group, through, last=number == len(path) - 1) for number, (group, through) in enumerate(path)
    ]
    beside = NO_NAMES
    for frame in frames:
        frame.choose(foreign, usable, beside)
        beside |= frame.graph_names
    return frames


def _elsewhere(frames: Sequence[_GroupFrame], frame: _GroupFrame, foreign: Names) -> Names:
    """The names that mean something around the tests of one of the frames."""
    return foreign.union(*(other.names_beside_tests if other is frame else other.names for other in frames))


def _reached(name: str, frames: Sequence[_GroupFrame]) -> set[str]:
    connected: dict[str, list[Names]] = {}  # by each name, the names that elements with it mention
    for frame in frames:
        for element in frame.chosen:
            mentioned = frame.mentions[element]
            for one in mentioned:
                connected.setdefault(one, []).append(mentioned)
    reached: set[str] = set()
    waiting = {name}
    while waiting:
        reached.add(one := waiting.pop())
        for mentioned in connected.pop(one, ()):
            waiting |= mentioned - reached
    return reached


def _pattern(shape: QueryShape, frames: Sequence[_GroupFrame], reached: set[str], foreign: Names) -> str:
    text = ""
    for position in range(len(frames) - 1, -1, -1):
        frame = frames[position]
        if position < len(frames) - 1 and text:
            text = f"{frame.graph} {{\n{text}\n}}"
        elsewhere = _elsewhere(frames, frame, foreign)
        kept = [element for element in frame.chosen if not reached.isdisjoint(frame.mentions[element])]
        tests = frame.tests(kept, reached, elsewhere) if kept else []
        text = "\n".join([*map(shape.text_of, kept), *([text] if text else []), *map(shape.text_of, tests)])
    return text


class _GroupFrame:
    """A group on the way to a place in the query, and the part of it that counts there."""

    def __init__(self, shape: QueryShape, group: GroupGraphPattern, through: Element, *, last: bool) -> None:
        self.shape = shape
        self.through = through
        self.last = last
        at = group.elements.index(through)
        before, after = group.elements[:at], group.elements[at + 1 :]
        self.one_sided = not last and through.kind in ("optional", "minus", "lateral", "bind", "filter")
        self.left_out = NO_NAMES
        if self.one_sided and through.kind != "filter":
            # What stands behind an OPTIONAL joins with what it gives, unless all that they share is bound before.
            names = NO_NAMES.union(*(shape.mentions(element) for element in after if element.kind != "filter"))
            if not names & shape.mentions(through) <= NO_NAMES.union(*map(shape.certain, before)):
                after = [element for element in after if element.kind == "filter"]
                self.left_out = names
        self.elements = before + after
        self.before_through = set(before)
        self.graph = ""
        self.graph_names = NO_NAMES
        if not last and through.kind == "graph":
            inside = through.groups[0].first
            self.graph = shape.source(through.first, inside)
            self.graph_names = frozenset(shape.names(through.first, inside))
        self.chosen: list[Element] = []  # what binds
        self.mentions: dict[Element, Names] = {}
        self.certain: dict[Element, Names] = {}

    def choose(self, foreign: Names, usable: Callable[[Element], bool], beside: Names) -> None:
        """Find the conjuncts that bind; `beside` are the names of the GRAPH patterns around them all."""
        before: set[str] = set()
        known: set[str] = set()
        self._usable = dict.fromkeys(element for element in self.elements if usable(element))
        for element in self.elements:
            mentioned = self.shape.mentions(element)
            replaced = self.shape.replaced.get(element)
            certain = replaced[1] if replaced else self.shape.certain(element)
            taken = element in self._usable and foreign.isdisjoint(mentioned)
            if element.kind == "bind":
                target = self.shape.tokens[element.last - 2].text[1:]
                taken = taken and all(name in known or name not in before for name in mentioned - {target})
                certain = frozenset({target})  # or unbound, but then wherever it stands
            else:
                taken = taken and (replaced is not None or element.kind in ("triples", "values", "graph", "group"))
            self.mentions[element] = mentioned
            self.certain[element] = certain
            if taken:
                self.chosen.append(element)
                known |= certain
            before |= mentioned
        for element in self.chosen:
            self.mentions[element] |= beside

    @cached_property
    def names(self) -> Names:
        """The names that stand anywhere in this group."""
        return self.names_beside_tests.union(*self.mentions.values())

    @cached_property
    def names_beside_tests(self) -> Names:
        """The names that stand in this group, but for its own FILTERs and MINUSes."""
        beside = [names for element, names in self.mentions.items() if element.kind not in ("filter", "minus")]
        return self.shape.mentions(self.through).union(self.left_out, *beside)

    def tests(self, kept: list[Element], reached: set[str], elsewhere: Names) -> list[Element]:
        """The FILTERs, and then the MINUSes, that decide over the kept part as they do over everything."""
        held = set(kept)
        known = NO_NAMES.union(*(self.certain[element] for element in kept))
        counted = elsewhere | known
        passed: set[str] = set()  # what is kept of the elements before one
        filters, minuses = [], []
        for element in self.elements:
            if element in held:
                passed |= self.certain[element]
            mentioned = self.mentions[element]
            if element not in self._usable or reached.isdisjoint(mentioned):
                continue
            shared = mentioned & counted
            if element.kind == "filter" and shared <= known:
                filters.append(element)
            elif element.kind == "minus" and shared <= known:
                before = passed
                if self.last and element not in self.before_through:
                    before = passed | self.shape.mentions(self.through)
                if shared <= before:  # a MINUS sees only what stands before it
                    minuses.append(element)
        return [*minuses, *filters]

    def exclusions(self, name: str, elsewhere: Names) -> Iterator[str]:
        """See the function of this name; `elsewhere` are the other names that mean something here."""
        for element in self._usable:
            if not element.groups or not elsewhere.isdisjoint(self.mentions[element]):
                continue
            inside = element.groups[0]
            if name not in self.shape.certain(inside):
                continue
            follows = element not in self.before_through  # a MINUS sees only what stands before it
            if (element.kind == "minus" and follows) or self.shape.is_not_exists(element):
                yield self.shape.source(inside.first, inside.last)
