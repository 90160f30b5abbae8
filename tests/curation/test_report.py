"""World.curation.report: what is planted is found, and each query gives what its check counted."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds import World
from worlds.errors import ArgumentError
from worlds.extras.curation.findings.report import Check
from worlds.records import Solutions

PREFIXES = """
@prefix ex: <http://ex/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix oth: <http://other/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
PLANTED = {
    "ill-typed literal": ("error", 'ex:a ex:n "x"^^xsd:integer, "1"^^xsd:integer .', 1),
    "cycle": ("warning", "ex:a skos:broader ex:b . ex:b skos:broader ex:a .", 1),
    "missing label": ("warning", 'ex:a ex:n 1 . ex:b rdfs:label "b" .', 1),
    "missing type": ("warning", "ex:a ex:n 1 . ex:b a ex:C .", 1),
    "missing description": ("info", 'ex:a ex:n 1 . ex:b rdfs:comment "said" .', 1),
    "orphan": ("info", "ex:a ex:n 1 . ex:b ex:to ex:c . ex:c ex:n 1 .", 1),
    "broken reference": ("warning", "ex:a ex:to ex:nothing, oth:x, ex:b . ex:b ex:n 1 .", 1),
    "deprecated reference": ("warning", "ex:a ex:to ex:b . ex:b owl:deprecated true .", 1),
    "untidy label": ("info", 'ex:a rdfs:label " a" . ex:b rdfs:label "b  c" . ex:c rdfs:label "c" .', 2),
    "label clash": (
        "warning",
        'ex:a rdfs:label "x" ; a ex:C . ex:b rdfs:label "x" ; a ex:C . ex:c rdfs:label "x" .',
        1,
    ),
    "no label in de": ("info", 'ex:a rdfs:label "x"@en, "y"@de . ex:b rdfs:label "z"@en .', 1),
    "unused class": ("info", "ex:C a owl:Class . ex:D a owl:Class . ex:a a ex:D .", 1),
    "unused property": ("info", "ex:p a owl:ObjectProperty . ex:q a owl:DatatypeProperty . ex:a ex:q 1 .", 1),
    "unknown datatype": ("error", 'ex:a ex:n "2026-11-23T10:00:00"^^xsd:datetime, "1"^^xsd:integer, "x"^^ex:own .', 1),
    "control character": ("warning", 'ex:a rdfs:label "a\\u0007b" . ex:b rdfs:label "a\\tb" .', 1),
    "near-duplicate classes": (
        "warning",
        "ex:a a ex:Organisation . ex:b a ex:Organization . ex:c a oth:Organization ."
        "ex:d a <http://www.other/Organization> .",
        2,
    ),
    "repeated notation": (
        "warning",
        'ex:a skos:notation "1" ; skos:inScheme ex:s . ex:b skos:notation "1" ; skos:inScheme ex:s, ex:t .'
        'ex:c skos:notation "1" ; skos:inScheme ex:u .',
        1,
    ),
    "redundant link": (
        "info",
        "ex:a skos:broader ex:b, ex:c, ex:d . ex:b skos:broader ex:c ."
        "ex:x rdfs:subClassOf ex:y, ex:x . ex:y rdfs:subClassOf ex:x .",
        1,
    ),
    "missing inverse": (
        "info",
        "ex:p owl:inverseOf ex:q . ex:a ex:p ex:b, ex:c, 1 . ex:b ex:q ex:a . ex:d ex:q ex:e .",
        2,
    ),
    "contradiction": ("error", "ex:f a owl:FunctionalProperty . ex:a ex:f 1, 2 .", 1),
    "near-duplicate predicates": ("warning", "ex:a ex:birthDate 1 ; ex:birth_date 2 ; oth:hasBirthDates 3 .", 1),
}
UNCOUNTED = (
    "cycle", "near-duplicate predicates", "near-duplicate classes", "contradiction", "duplicate",
)  # fmt: skip
"""Checks that count groups, whose queries give their members."""


def rows(world: World, check: Check) -> int:
    found = world.query(check.query, union=True)
    assert isinstance(found, Solutions)
    return len(found)


def made(data: str) -> World:
    world = worlds.open(":memory:", embedder=None)
    world.load((PREFIXES + data).encode(), format="trig")
    return world


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found(name: str) -> None:
    level, data, count = PLANTED[name]
    with made(data) as world:
        (check,) = (check for check in world.curation.report() if check.name == name)
        assert (check.level, check.count) == (level, count)
        assert len(check.examples) == count
        if name not in UNCOUNTED:
            assert rows(world, check) == count
        else:
            assert rows(world, check) >= count


terms = st.sampled_from([f"ex:n{number}" for number in range(5)])
lines = st.one_of(
    st.tuples(terms, st.sampled_from(["ex:p", "skos:broader", "rdfs:subClassOf"]), terms),
    st.tuples(terms, st.sampled_from(["a"]), st.sampled_from(["ex:C", "ex:D", "owl:Class", "owl:ObjectProperty"])),
    st.tuples(
        terms,
        st.sampled_from(["rdfs:label", "skos:prefLabel", "rdfs:comment", "ex:n1"]),
        st.sampled_from(['"a"', '"a"@en', '" b"@de', '"c"@de', '"x"^^xsd:integer', "true"]),
    ),
    st.tuples(terms, st.just("owl:deprecated"), st.sampled_from(["true", "false"])),
    st.tuples(terms, st.just("skos:notation"), st.sampled_from(['"1"', '"2"^^xsd:int', '"2"^^xsd:integr'])),
    st.tuples(terms, st.just("skos:inScheme"), terms),
    st.tuples(st.sampled_from(["ex:p", "ex:q"]), st.just("owl:inverseOf"), st.sampled_from(["ex:p", "ex:q"])),
    st.tuples(terms, st.just("ex:q"), terms),
)


@given(st.lists(lines, max_size=15), st.booleans())
def test_each_query_gives_what_was_counted(data: list[tuple[str, str, str]], named: bool) -> None:
    triples = "\n".join(" ".join(line) + " ." for line in data)
    with made(f"GRAPH ex:g {{ {triples} }}" if named else triples) as world:
        report = world.curation.report()
        for check in report:
            if check.name not in UNCOUNTED:
                assert rows(world, check) == check.count, (check.name, check.query)
            assert bool(rows(world, check)) == bool(check.count), check.name


def test_a_report_as_a_document() -> None:
    with made(PLANTED["ill-typed literal"][1] + 'ex:b rdfs:label "<b>|" .') as world:
        report = world.curation.report()
    assert report.fails()
    assert report.fails("info")
    assert not report.fails("never")
    assert report.counts["error"] == 1
    assert [check.level for check in report if check.count] == sorted(
        (check.level for check in report if check.count), key=["error", "warning", "info"].index
    )
    assert json.loads(json.dumps(report.to_dict()))["checks"][0]["name"] == "ill-typed literal"
    assert "| error | 1 | literals that their datatype does not allow" in report.to_markdown()
    page = report.to_html()
    HTMLParser().feed(page)
    assert "after revision 1, " in page
    assert (report.revision, report.to_dict()["revision"]) == (1, 1)
    assert "<h1>Report on a &lt;b&gt;</h1>" in report.to_html("a <b>")
    assert report.to_markdown("kb").startswith("# Report on kb\n")
    assert page.count("<svg") == 2
    assert "http://www.w3.org/2001/XMLSchema#integer&gt;" in page or "xsd:integer" in page
    assert "<script" not in page
    assert "1 literals" in str(report)
    assert str(report).startswith("error: 1 ")


def test_the_health_of_a_world_over_its_revisions() -> None:
    data = "".join(f'ex:n{n} a ex:C ; rdfs:label "n{n}" ; rdfs:comment "c" ; ex:to ex:n0 . ' for n in range(9))
    with made(data + "ex:f a owl:FunctionalProperty .") as world:
        world.remove([("ex:n1", "rdfs:label", '"n1"')])
        world.add([("ex:n2", "rdfs:label", '"n1"'), ("ex:n3", "ex:f", 1), ("ex:n3", "ex:f", 2)], author="bob")
        world.add([("ex:n4", "ex:f", 1), ("ex:n4", "ex:f", 2)], author="bob")
        world.undo(2)
        shape = b"[] sh:targetClass ex:C ; sh:property [ sh:path rdfs:label ; sh:maxCount 1 ] ."
        world.shapes.load((PREFIXES + "@prefix sh: <http://www.w3.org/ns/shacl#> . ").encode() + shape, format="turtle")
        report = world.curation.report(after=1, points=10)
        found = {one.name: (one.count, one.new) for one in report if one.count and one.level != "info"}
        assert found == {
            "contradiction": (2, 2),
            "label clash": (1, 1),
            "violations of the shapes": (1, None),
            "missing label": (1, 0),
            "broken reference": (1, 0),
            "duplicate": (1, None),
        }
        assert [point.revision for point in report.points] == [1, 2, 3, 4, 5, 6]
        told = [point.counts for point in report.points]
        assert [one["error"] for one in told] == [0, 0, 1, 2, 2, 2]
        assert [one["warning"] for one in told] == [2, 3, 3, 3, 3, 3]
        assert [point.quads for point in report.points] == [37, 36, 39, 41, 42, 42]
        for point in report.points[:-1]:
            with worlds.open(":memory:", embedder=None) as before:  # the oracle: a world of the quads of then
                before.add(world.at(point.revision).quads())
                assert before.curation.report().counts["error"] == point.counts["error"]
                judged = sum(one.count for one in before.curation.report() if one.name == "duplicate")
                assert before.curation.report().counts["warning"] - judged == point.counts["warning"]
        (cause,) = report.causes
        assert cause.count == 2
        page = report.to_html("kb")
        HTMLParser().feed(page)
        assert "Since revision 1" in page
        assert page.count("<polyline") == 4
        assert "Causes of contradictions" in page
        assert "(2 new)" in report.to_markdown()
        assert json.loads(json.dumps(report.to_dict()))["points"][0]["revision"] == 1
        for wrong in (-1, 101, True, "1"):
            with pytest.raises(ArgumentError):
                world.curation.report(points=wrong)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="no revision 99"):
            world.curation.report(after=99)


def test_likely_duplicates_are_counted() -> None:
    with made("".join(f'ex:{n} a ex:C ; rdfs:label "Grace Brewster Hopper" ; ex:born 1906 . ' for n in "ab")) as world:
        found = {one.name: one for one in world.curation.report()}
        assert found["duplicate"].count == len(world.curation.duplicates()) == 1
        assert rows(world, found["duplicate"]) == 6


def test_a_world_without_anything() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        report = world.curation.report(points=10)
        assert report.points == ()
        assert (report.counts, str(report)) == ({"error": 0, "warning": 0, "info": 0}, "nothing was found")
        assert not report.fails("info")
        assert "Nothing was found of" in report.to_html()
