from __future__ import annotations

import pyoxigraph as ox
import pytest

from worlds import IntegrityError, World
from worlds.quads.dictionary import Dictionary
from worlds.world import connection_of


def test_a_label_that_was_brought_along_is_never_given_to_a_new_node(world: World) -> None:
    world.add([(f"_:w{n}", "urn:brought", "urn:o") for n in range(4, 30)])
    for _ in range(3):
        world.load(b"[] <urn:p> [ <urn:p> [] ] .", format="turtle")
        assert world.check().ok, str(world.check())
    found = world.query("SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE { ?s ?p ?o }")
    assert found.to_dicts() == [{"n": 26 + 6}]  # type: ignore[union-attr]  # a SELECT
    world.load(b"_:w40x <urn:p> _:w41 .", format="turtle")
    assert world.check().ok


def test_more_terms_than_are_remembered_can_be_read_at_once(world: World) -> None:
    """Decoding a datatype in the middle must not take away what was decoded before it."""
    count = 12_000
    world.load("".join(f'<urn:{n}> <urn:p> "{n}"^^<urn:type{n % 7}> .\n' for n in range(count)).encode(), format="nt")
    dictionary = Dictionary(connection_of(world), remembered=1000)
    found = dictionary.terms(range(1, count * 2))
    assert len(found) == count * 2
    assert found[0] == ox.DefaultGraph()
    with pytest.raises(IntegrityError, match="term 999999 is referred to"):
        dictionary.terms([1, 999_999])
