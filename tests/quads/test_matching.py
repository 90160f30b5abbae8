"""Which blank nodes of two sets of quads are the same, against all assignments tried one by one."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.core.quads.matching import assigned, match

Row = tuple[int, int, int, int]
OLD, NEW = 100_000_000, 200_000_000  # ids of nodes begin here
TRIPLES = 300_000_000
Parts = dict[int, tuple[int, int, int]]


def moved(rows: Iterable[Row], by: int) -> list[Row]:
    """The rows with the nodes, the numbers below 0, of one set."""
    return [tuple(by - term if term < 0 else term for term in row) for row in rows]  # type: ignore[misc]  # of four


def lines(old: list[Row], new: list[Row], triples: Parts | None = None) -> tuple[int, int]:
    """(rows that differ by the matching, nodes that were left at the bound); the assignment is checked."""
    before, after = (np.array(part, dtype=np.int64).reshape(-1, 4) for part in (old, new))
    seen = [{term for row in part for term in row} for part in (old, new)]
    for part in seen:
        for one in sorted(part & (triples or {}).keys()):
            part |= set((triples or {})[one])
    nodes = np.array(sorted(term for part in seen for term in part if OLD <= term < TRIPLES))
    found = match(before, after, nodes, triples or {})
    assert len(set(found.pairs.values())) == len(found.pairs), "two nodes became one"
    assert all(mine in seen[1] and theirs in seen[0] for mine, theirs in found.pairs.items())
    pairs = dict(found.pairs)
    for one, parts in sorted((triples or {}).items()):
        image = tuple(pairs.get(part, part) for part in parts)
        held = [other for other, own in (triples or {}).items() if own == image and other in seen[0]]
        pairs.update((one, other) for other in held)
    images = set(map(tuple, assigned(after, pairs).tolist()))
    assert len(images) == len(new)
    return len(set(old) ^ images), found.past


def fewest(old: list[Row], new: list[Row], triples: Parts | None = None) -> int:
    """The oracle: all assignments."""

    def nodes(rows: list[Row]) -> list[int]:
        terms = {term for row in rows for term in row}
        for one in sorted(terms & (triples or {}).keys()):
            terms |= set((triples or {})[one])
        return sorted(term for term in terms if OLD <= term < TRIPLES)

    def meant(term: int, names: dict[int, int]) -> object:
        if triples and term in triples:
            return tuple(meant(part, names) for part in triples[term])
        return names.get(term, term)

    theirs, mine = nodes(old), nodes(new)
    theirs += [-1 - number for number in range(len(mine) - len(theirs))]
    there = {tuple(meant(term, {}) for term in row) for row in old}
    best = 0
    for chosen in itertools.permutations(theirs, len(mine)):
        names = dict(zip(mine, chosen, strict=True))
        best = max(best, sum(tuple(meant(term, names) for term in row) in there for row in new))
    return len(old) + len(new) - 2 * best


def statement(most: int) -> st.SearchStrategy[Row]:
    node = st.integers(1, most).map(lambda number: -number)
    return st.tuples(node | st.just(5), st.sampled_from([1, 2]), node | st.sampled_from([5, 6, 7]), st.just(0))


data = st.lists(statement(5), min_size=1, max_size=12, unique=True)


@given(data, data)
def test_two_sets_of_quads_differ_by_no_more_lines_than_they_must(old: list[Row], new: list[Row]) -> None:
    assert lines(moved(old, OLD), moved(new, NEW))[0] == fewest(moved(old, OLD), moved(new, NEW))


@given(data, st.lists(statement(5), max_size=2), st.sets(st.integers(0, 11), max_size=2), st.permutations(range(1, 6)))
def test_a_version_differs_by_no_more_lines_than_it_must(
    old: list[Row], added: list[Row], dropped: set[int], names: list[int]
) -> None:
    version = [row for place, row in enumerate(old) if place not in dropped]
    version += [row for row in dict.fromkeys(added) if row not in version]
    renamed = [tuple(-names[-term - 1] if term < 0 else term for term in row) for row in version]
    new = moved(renamed, NEW)  # type: ignore[arg-type]  # of four
    assert lines(moved(old, OLD), new)[0] == fewest(moved(old, OLD), new) <= len(set(old) ^ set(version))


@given(data, st.lists(statement(5), max_size=1))
def test_nodes_in_triple_terms_are_matched_as_others_are(old: list[Row], added: list[Row]) -> None:
    triples: Parts = {}

    def told(rows: list[Row], by: int) -> list[Row]:
        """Every second row is said by somebody."""
        found: list[Row] = []
        for place, (s, p, o, g) in enumerate(moved(rows, by)):
            if place % 2:
                one = next((one for one, own in triples.items() if own == (s, p, o)), TRIPLES + len(triples))
                triples[one] = (s, p, o)
                found.append((9, 8, one, g))
            else:
                found.append((s, p, o, g))
        return sorted(set(found))

    before, after = told(old, OLD), told([*old, *(row for row in added if row not in old)], NEW)
    assert lines(before, after, triples)[0] == fewest(before, after, triples)


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] if seed else []) for seed in range(10)])
def test_random_sets_full_of_nodes(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        most = chance.randint(1, 6)
        names = chance.sample(range(1, most + 1), most)

        def row(most: int = most) -> Row:
            own = [-chance.randint(1, most), -chance.randint(1, most)]
            return chance.choice([5, *own]), chance.randint(1, 3), chance.choice([6, 7, *own, *own]), 0

        old = {row() for _ in range(chance.randint(1, 24))}
        new = {row() for _ in range(chance.randint(1, 24))} if chance.random() < 0.3 else set(old)
        for _ in range(chance.randint(0, 5)):
            new ^= {chance.choice([row(), *sorted(new)[:3]])}
        turned = [tuple(-names[-term - 1] if term < 0 else term for term in one) for one in sorted(new)]
        before, after = moved(sorted(old), OLD), moved(turned, NEW)  # type: ignore[arg-type]  # of four
        assert lines(before, after)[0] == fewest(before, after)


def test_a_node_that_both_sets_have_is_the_same() -> None:
    both: list[Row] = [(OLD + 1, 1, 5, 0), (OLD + 2, 1, 6, 0)]
    assert lines(both, [(OLD + 2, 1, 5, 0), (OLD + 1, 1, 6, 0)])[0] == 4


# --- what is made to take long ----------------------------------------------------------------------------------------


def clique(size: int) -> list[Row]:
    return [(-i, 1, -j, 0) for i in range(1, size + 1) for j in range(1, size + 1) if i != j]


def chain(size: int) -> list[Row]:
    return [(-i, 1, -i - 1, 0) for i in range(1, size)]


def ring(size: int, first: int = 1) -> list[Row]:
    return [(-first - i, 1, -first - (i + 1) % size, 0) for i in range(size)]


def alike(size: int) -> list[Row]:
    return [(5, 1, -i, 0) for i in range(1, size + 1)]


def trees(size: int) -> list[Row]:
    return [row for i in range(size) for row in ((5, 1, -2 * i - 1, 0), (-2 * i - 1, 2, -2 * i - 2, 0))]


def star(size: int) -> list[Row]:
    return [(-1, 1, -i, 0) for i in range(2, size + 1)]


def grid(size: int) -> list[Row]:
    def at(i: int, j: int) -> int:
        return -1 - (i % size) * size - j % size

    return [(at(i, j), way, at(i + way, j + 1 - way), 0) for i in range(size) for j in range(size) for way in (0, 1)]


SHAPES: list[tuple[Callable[[int], list[Row]], int]] = [
    (clique, 60), (chain, 2500), (ring, 2500), (alike, 20_000), (trees, 2500), (star, 2500), (grid, 40)
]  # fmt: skip


@pytest.mark.parametrize(("shape", "size"), SHAPES, ids=[shape.__name__ for shape, _ in SHAPES])
def test_hostile_nodes_take_bounded_time(shape: Callable[[int], list[Row]], size: int) -> None:
    rows = shape(size)
    names = list(range(1, 2 * len(rows) + 2))
    random.Random(7).shuffle(names)
    new = moved([tuple(-names[-term] if term < 0 else term for term in row) for row in rows], NEW)  # type: ignore[misc]
    random.Random(8).shuffle(new)
    began = time.process_time()
    assert lines(moved(rows, OLD), new) == (0, 0), "the same again"
    assert lines(moved(rows, OLD), new[3:])[0] <= 3 + len(rows) // 10
    assert time.process_time() - began < 20


def test_rings_of_different_lengths_are_told_apart() -> None:
    rows = ring(6) + ring(3, 10) + ring(3, 20)
    assert lines(moved(rows, OLD), moved(ring(3) + ring(6, 10) + ring(3, 20), NEW)) == (0, 0)


def test_what_is_left_at_the_bound_is_told() -> None:
    chance = random.Random(3)
    rows = sorted({(-chance.randint(1, 250), 1, -chance.randint(1, 250), 0) for _ in range(24_000)})
    differ, left = lines(moved(rows, OLD), moved(rows[1000:], NEW))
    assert left > 0 or differ == 1000
