from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

import worlds
from worlds import IntegrityError, World
from worlds.core.quads.dictionary import Dictionary
from worlds.world import connection_of


def test_a_label_that_was_brought_along_is_never_given_to_a_new_node(world: World) -> None:
    world.add([(f"_:w{n}", "urn:brought", "urn:o") for n in range(4, 30)])
    for number in range(3):
        world.load(b"[] <urn:p> [ <urn:p%d> [] ] ." % number, format="turtle")
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


def test_an_iri_that_was_unknown_is_found_once_anybody_has_stored_it(tmp_path: Path) -> None:
    def found(world: World, name: str) -> int:
        return len(world.search("text", predicates=f"urn:{name}"))

    with worlds.open(tmp_path / "w.db", embedder=None) as world, worlds.open(tmp_path / "w.db", embedder=None) as other:
        world.add([("urn:s", "urn:first", '"a text"')])
        names = ("own", "undone", "others")
        assert [found(one, name) for one in (world, other) for name in names] == [0] * 6
        world.add([("urn:s", "urn:own", '"a text"')])
        with pytest.raises(KeyError), world.transaction():
            world.add([("urn:s", "urn:undone", '"a text"')])
            assert found(world, "undone") == 1
            raise KeyError
        other.add([("urn:s", "urn:others", '"a text"')])
        for one in (world, other):
            assert [found(one, name) for name in names] == [1, 0, 1]
        other.remove([("urn:s", "urn:others", '"a text"')])
        world.file.compact()
        world.add([("urn:s", "urn:undone", '"a text"')])
        for one in (world, other):
            assert [found(one, name) for name in names] == [1, 1, 0]


def test_terms_whose_values_have_one_hash_are_told_apart(world: World) -> None:
    type_ = ox.NamedNode("urn:type")
    values = ["urn:3985819", "urn:4420602", "urn:4420602\0"]  # the first two have one CRC-32
    terms: list[ox.NamedNode | ox.BlankNode | ox.Literal] = [ox.NamedNode(value) for value in values[:2]]
    for value in values:
        terms += [ox.Literal(value), ox.Literal(value, language="en"), ox.Literal(value, datatype=type_)]
    dictionary = Dictionary(connection_of(world))
    for number, term in enumerate(terms):
        assert dictionary.find(terms[number:]) == [None] * (len(terms) - number)
        world.add([("urn:s", "urn:p", term)])
        dictionary = Dictionary(connection_of(world))
        found = dictionary.find(terms)
        assert [dictionary.terms([one])[one] for one in found[: number + 1] if one is not None] == terms[: number + 1]
    assert world.check().ok
