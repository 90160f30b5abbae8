"""World.entities.neighbourhood and World.entities.paths: what stands around an entity, and how two hang together."""

from __future__ import annotations

import pytest

import worlds
from tests.support.embedder import HashingEmbedder

EX = "http://example.org/"


@pytest.fixture
def chain() -> worlds.World:
    """a → b → c ← d, each with a label; c and d of one class; a second way from a to c by e."""
    world = worlds.open(embedder=HashingEmbedder())
    links = [("a", "to", "b"), ("b", "to", "c"), ("d", "at", "c"), ("a", "by", "e"), ("e", "by", "c")]
    world.add([(EX + s, EX + p, EX + o) for s, p, o in links])
    world.add([(EX + one, "rdfs:label", f'"Node {one.upper()}"', EX + "names") for one in "abcde"])
    world.add([(EX + one, "rdf:type", EX + "Kind") for one in ("a", "d")])
    return world


def test_the_nearest_come_first_with_labels_and_types(chain: worlds.World) -> None:
    found = chain.entities.neighbourhood(EX + "a")
    assert (found.entities[0].label, found.entities[0].hops) == ("Node A", 0)
    hops = {one.label: one.hops for one in found.entities}
    assert (hops["Node B"], hops["Node E"], hops["Node C"]) == (1, 1, 2)
    assert "Node D" not in hops  # only by the class, and by a third hop
    assert [str(kind) for kind in found.entities[0].types] == [EX + "Kind"]
    assert found.whole
    assert all(found.labels[quad.subject] for quad in found.quads)
    assert {quad.revision for quad in found.quads} == {1, 2, 3}
    assert {str(quad.graph) for quad in found.quads if quad.graph is not None} == {EX + "names"}


def test_it_goes_both_ways(chain: worlds.World) -> None:
    hops = {one.label: one.hops for one in chain.entities.neighbourhood(EX + "c", hops=1).entities}
    assert {label for label, hop in hops.items() if hop == 1} == {"Node B", "Node D", "Node E"}


def test_a_limit_leaves_some_out_and_gives_each_predicate_its_turn(chain: worlds.World) -> None:
    chain.add([(f"{EX}x{n}", EX + "near", EX + "a") for n in range(500)])
    found = chain.entities.neighbourhood(EX + "a", hops=1, limit=10)
    assert (len(found.quads), found.whole) == (10, False)
    assert {EX + "to", EX + "by", EX + "near"} <= {str(quad.predicate) for quad in found.quads}


def test_what_the_world_does_not_know_has_none(chain: worlds.World) -> None:
    assert not chain.entities.neighbourhood(EX + "nobody")
    assert chain.entities.paths(EX + "a", EX + "nobody") == []
    assert chain.entities.paths(EX + "a", EX + "a") == []


def test_the_shortest_ways_whichever_way_they_point(chain: worlds.World) -> None:
    ways = chain.entities.paths(EX + "a", EX + "d")
    assert sorted(str(way) for way in ways) == [
        "Node A — by — Node E — by — Node C — ← at — Node D",
        "Node A — to — Node B — to — Node C — ← at — Node D",
    ]
    assert all(len(way) == 3 == len(way.quads) for way in ways)
    assert len(chain.entities.paths(EX + "a", EX + "d", limit=1)) == 1
    assert chain.entities.paths(EX + "a", EX + "d", hops=2) == []


def test_every_short_way_is_found_and_no_other() -> None:
    """Against a search that tries all."""
    import itertools
    import random

    chance = random.Random(5)
    for _ in range(30):
        links = sorted({(chance.randrange(9), chance.choice("pq"), chance.randrange(9)) for _ in range(12)})
        links = [link for link in links if link[0] != link[2]]
        with worlds.open(embedder=None) as world:
            world.add([(f"{EX}{s}", EX + p, f"{EX}{o}") for s, p, o in links])
            expected: set[tuple[tuple[int, str, int], ...]] = set()
            for size in (1, 2, 3):
                for way in itertools.permutations(links, size):
                    at, seen = 0, [0]
                    for s, _, o in way:
                        at = o if s == at else s if o == at else -1
                        seen.append(at)
                    if at == 8 and -1 not in seen and len(set(seen)) == len(seen):
                        expected.add(way)
                if expected:
                    break
            found = {
                tuple((int(s[len(EX) :]), str(p)[len(EX) :], int(o[len(EX) :])) for s, p, o, _, _ in way.quads)
                for way in world.entities.paths(EX + "0", EX + "8", hops=3, limit=1000)
            }
            assert found == expected


@pytest.mark.parametrize("options", [{"hops": 0}, {"hops": 7}, {"hops": True}, {"limit": 0}])
def test_what_cannot_be_is_refused(chain: worlds.World, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(options))} must be "):
        chain.entities.neighbourhood(EX + "a", **options)
    with pytest.raises(ValueError, match=f"^{next(iter(options))} must be "):
        chain.entities.paths(EX + "a", EX + "b", **options)
