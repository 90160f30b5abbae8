"""World.sources.chunk: a passage by its number, and those beside it."""

from __future__ import annotations

import pytest

import worlds
from worlds.errors import ArgumentError

WORDS = "kite robin plover heron wren martin siskin dunlin knot avocet crane stork ibis".split()  # noqa: SIM905


def test_the_passages_of_a_text_stand_beside_each_other() -> None:
    text = "\n\n".join(f"{word.capitalize()} {' '.join(WORDS)}." * 3 for word in WORDS)
    with worlds.open(":memory:", embedder=None) as world:
        world.policy = world.policy.changed({"size": {"max_chars": 300, "overlap": 0}}, {})
        world.sources.add_document("urn:a", text, format="text")
        world.sources.add_document("urn:b", "another text of kites", format="text")
        hits = [
            hit for hit in world.search("heron", mode="text", limit=100, group_by="none") if "text" in hit.predicate
        ]
        ordered = sorted(hits, key=lambda hit: hit.start)
        assert len(ordered) > 5
        for place, hit in enumerate(ordered):
            one = world.sources.chunk(hit.chunk, around=2)
            assert one == world.sources.chunk(f"urn:worlds:chunk:{hit.chunk}", around=2)
            assert (one.text, one.start, one.end) == (hit.text, hit.start, hit.end)
            assert [near.chunk for near in one.before] == [near.chunk for near in ordered[max(place - 2, 0) : place]]
            assert [near.chunk for near in one.after] == [near.chunk for near in ordered[place + 1 : place + 3]]
            assert list(one.quads) == hit.quads
        alone = world.sources.chunk(hits[0].chunk, around=0)
        assert alone.before == alone.after == ()
        for wrong in (0, -1, "x", "urn:worlds:chunk:", True, 10**9, "9" * 30):
            with pytest.raises(ArgumentError):
                world.sources.chunk(wrong)
        with pytest.raises(ArgumentError):
            world.sources.chunk(hits[0].chunk, around=-1)


def test_a_profile_and_a_statement_are_passages_without_quads() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.policy = world.policy.with_(profiles=True, statements=True)
        world.load(
            b'<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "Ann" ; <urn:knows> <urn:b> . '
            b'<urn:b> <http://www.w3.org/2000/01/rdf-schema#label> "Bob" .',
            format="turtle",
        )
        kinds = {
            hit.result_type: world.sources.chunk(hit.chunk)
            for hit in world.search("Ann knows Bob", mode="text", limit=20)
        }
        assert {"entity", "literal"} <= set(kinds) or {"statement", "literal"} <= set(kinds)
        for kind, found in kinds.items():
            assert bool(found.quads) is (kind == "literal")
            assert found.text
