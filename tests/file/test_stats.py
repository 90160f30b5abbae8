from __future__ import annotations

import json
from pathlib import Path

import worlds
from tests.support.drivers import NATIVE
from tests.support.embedder import HashingEmbedder
from worlds import World

TRIG = b"""
    @prefix ex: <http://example.org/> .
    ex:a a ex:Bird ; ex:name "red kite"@en , "red kite" ; ex:count 1 .
    ex:b a ex:Bird , ex:Rare ; ex:said <<( ex:a ex:near ex:b )>> .
    ex:g { [] a ex:Bird ; ex:name "a nest" . }
    ex:h { ex:a ex:name "red kite" . }
"""


def test_stats_count_what_is_there(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(16)) as world:
        world.load(TRIG, format="trig", embed=False)
        stats = world.stats()
        assert stats.path == str(path)
        assert stats.bytes == sum(Path(f"{path}{end}").stat().st_size for end in ("", "-wal"))
        assert stats.created.startswith("20")
        assert (stats.quads, stats.graphs) == (len(world), 2) == (10, 2)
        assert (stats.iris, stats.blank_nodes, stats.literals, stats.triple_terms) == (12, 1, 4, 1)
        assert stats.terms == 18
        assert (stats.revisions, stats.last_revision) == (1, 1)
        assert (stats.texts, stats.chunks, stats.pending, stats.characters) == (3, 3, 3, 22)
        assert (stats.vectors, stats.retired_vectors) == (0, 0)
        assert (stats.embedder, stats.dimension, stats.vector_index) == (None, None, False)
        assert stats.types == {"http://example.org/Bird": 3, "http://example.org/Rare": 1}
        assert list(stats.types) == ["http://example.org/Bird", "http://example.org/Rare"]
        assert stats.predicates["http://example.org/name"] == 4

        world.embed()
        stats = world.stats()
        assert (stats.vectors, stats.pending) == (2, 0)  # two literals share their text
        assert (stats.embedder, stats.dimension, stats.vector_index) == ("hashing", 16, NATIVE)

        world.load(b"", format="nt", graph="http://example.org/g", mode="replace")
        stats = world.stats()
        assert (stats.quads, stats.graphs, stats.revisions, stats.last_revision) == (8, 1, 2, 2)
        assert (stats.chunks, stats.vectors, stats.retired_vectors) == (2, 1, 1)
        assert stats.to_dict() == json.loads(json.dumps(stats.to_dict()))
        assert stats.to_dict()["terms"] == stats.terms


def test_an_empty_world_has_stats(world: World) -> None:
    stats = world.stats()
    assert (stats.path, stats.quads, stats.terms, stats.last_revision) == (":memory:", 0, 0, 0)
    assert stats.bytes > 0
    assert stats.predicates == stats.types == {}


def test_the_ten_commonest_are_named(world: World) -> None:
    world.add([(f"urn:{s}", f"urn:p{p}", "urn:o") for p in range(20) for s in range(p)])
    assert world.stats().predicates == {f"urn:p{p}": p for p in range(19, 9, -1)}


def test_a_transaction_sees_its_own_stats(world: World) -> None:
    with world.transaction():
        world.add([("urn:a", "urn:b", "urn:c")])
        assert world.stats().quads == 1
