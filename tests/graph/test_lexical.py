"""Lexical forms: what pyoxigraph's store has, and what was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds.graph.lexical import STABLE, LexicalForms, canonical, may_change

XSD = "http://www.w3.org/2001/XMLSchema#"
EX = "http://example.org/"


def typed(value: str, datatype: str) -> ox.Literal:
    return ox.Literal(value, datatype=ox.NamedNode(datatype))


numbers = st.one_of(
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda number: format(number, "f")),
    st.floats().map(str),
    st.from_regex(r"[+-]?0*[0-9]{1,20}(\.[0-9]{0,7})?", fullmatch=True),
)
times = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.dates().map(str),
    st.times().map(str),
    st.from_regex(
        r"-?[0-9]{4,5}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9]+)?)?(Z|[+-]0[0-9]:00)?",
        fullmatch=True,
    ),
)
values = st.one_of(
    numbers, times, st.sampled_from(["true", "false", "1", "INF", "P1Y", "PT24H", "P12M", ""]), st.text()
)


@given(value=values, datatype=st.sampled_from(sorted(STABLE)))
def test_what_is_said_to_stay_does(value: str, datatype: str) -> None:
    literal = typed(value, datatype)
    if not may_change(literal):
        assert canonical([literal]) == [literal]


@given(value=values, datatype=st.sampled_from([XSD + "string", XSD + "anyURI", XSD + "hexBinary", EX + "own"]))
def test_other_datatypes_stay(value: str, datatype: str) -> None:
    literal = typed(value, datatype)
    assert not may_change(literal)
    assert canonical([literal]) == [literal]


def learnt(*terms: Any, stored: tuple[Any, ...] = ()) -> LexicalForms:
    held = {*terms, *stored}
    forms = LexicalForms(lambda asked: [term in held for term in asked])
    forms.learn(terms)
    return forms


def test_one_form_comes_back_and_several_do_not() -> None:
    one, same = typed("01", XSD + "integer"), typed("1", XSD + "integer")
    forms = learnt(one)
    assert forms.restored(same) == one
    assert forms.others(one) == [same]
    assert forms.others(same) == [one]
    forms.learn([same])
    assert forms.restored(same) == same
    assert learnt(one, stored=(same,)).restored(same) == same


def test_they_outlive_a_process() -> None:
    odd = typed('0x"\t\u2028\n', XSD + "int")
    inner = ox.Triple(ox.NamedNode(EX + "a"), ox.NamedNode(EX + "p"), typed("007", XSD + "integer"))
    forms = learnt(inner, typed("1.50", XSD + "decimal"), odd)
    again = LexicalForms(lambda asked: [False for _ in asked], forms.dump())
    for form in (inner, typed("1.50", XSD + "decimal")):
        (stored,) = canonical([form])
        assert stored != form
        assert again.restored(stored) == form


def test_results_have_the_given_form_unless_the_query_made_it() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.update('INSERT DATA { ex:a ex:n 007 . ex:b ex:n "1"^^xsd:byte }')

        def tsv(query: str) -> list[str]:
            found = world.query(query)
            assert isinstance(found, worlds.records.Solutions)
            return found.serialize("tsv").splitlines()[1:]

        assert tsv("SELECT ?n { ex:a ex:n ?n }") == ["007"]
        assert tsv("SELECT (?n AS ?m) { ex:a ex:n ?n }") == ["7"]
        assert tsv("SELECT (COUNT(*) AS ?n) { ex:b ex:n ?o }") == ["1"]
        assert tsv("SELECT ?n { VALUES ?n { 7 } ?s ex:n ?n }") == ["7"]
        assert tsv("SELECT ?n ?m { ?s ex:n ?n BIND(3 + 4 AS ?m) FILTER(?n = 7) }") == ["007\t7"]
        for form in ("CONSTRUCT { ?s ex:m ?n } WHERE { ?s ex:n ?n }", "DESCRIBE ex:a ex:b"):
            triples = world.query(form)
            assert isinstance(triples, worlds.records.Triples)
            text = triples.serialize("nt")
            assert '"007"^^' in text
            assert f'"1"^^<{XSD}byte>' in text
        triples = world.query("CONSTRUCT { ?s ex:m 7 } WHERE { ?s ex:n ?n }")
        assert isinstance(triples, worlds.records.Triples)
        assert '"7"^^' in triples.serialize("nt")


def test_a_form_goes_with_its_last_quad() -> None:
    one, same, other = (typed(text, XSD + "integer") for text in ("01", "1", "001"))
    held = {one, same}
    forms = LexicalForms(lambda asked: [term in held for term in asked])
    forms.learn([one, same])
    held.discard(one)
    gone = forms.forget([one])
    assert forms.restored(same) == same
    assert forms.others(same) == []
    held.add(one)
    forms.unlearn(gone)
    assert forms.others(same) == [one]
    held.clear()
    forms.forget([one, same])
    held.add(other)
    forms.learn([other])
    assert forms.restored(same) == other


def test_results_have_the_form_of_the_quad_that_holds_now(tmp_path: Path) -> None:
    def shown(world: worlds.World) -> list[str]:
        found: Any = world.query("SELECT ?n { ?s <urn:p> ?n }")
        return [str(row.n) for row in found]

    def quad(text: str, datatype: str = "integer") -> tuple[str, str, str]:
        return ("urn:s", "urn:p", f'"{text}"^^<{XSD}{datatype}>')

    with worlds.open(tmp_path / "w.db", embedder=None) as world:
        world.add([quad("01")])
        assert shown(world) == ["01"]
        world.add([("urn:t", "urn:q", f'"1"^^<{XSD}integer>')])
        removed = world.remove([("urn:t", "urn:q", f'"1"^^<{XSD}integer>')])
        assert shown(world) == ["01"]
        world.undo(removed.revision or 0)
        world.remove([("urn:t", "urn:q", f'"1"^^<{XSD}integer>')])
        world.remove([quad("01")])
        world.add([quad("1")])
        assert shown(world) == ["1"]
        world.add([quad("2.50", "decimal")])
        world.remove([quad("1")])
    with worlds.open(tmp_path / "w.db", embedder=None) as world:
        world.add([quad("001")])
        assert sorted(shown(world)) == ["001", "2.50"]
        world.remove([quad("001")])
        world.file.compact()
        world.add([quad("+1")])
        assert sorted(shown(world)) == ["+1", "2.50"]
