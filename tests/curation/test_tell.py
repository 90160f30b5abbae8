"""Facts by the names of things: what is written, proposed and refused, and that the same again is nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from benchmarks.quality_sets import shared_data
from benchmarks.telling import VOCABULARIES, measured
from worlds import ReadOnlyError, World
from worlds.errors import ArgumentError
from worlds.extras.curation.claims.triples import well_formed
from worlds.graph.terms import XSD, to_oxigraph

EX = "https://ex.example/"
DATA = b"""
@prefix ex: <https://ex.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:Person rdfs:label "person" . ex:Company rdfs:label "company" . ex:Startup rdfs:subClassOf ex:Company .
ex:worksAt rdfs:label "works at" . ex:age rdfs:label "age" . ex:motto rdfs:label "motto" .
ex:founded rdfs:label "founded" ; rdfs:range xsd:gYear ; rdfs:domain ex:Company .
ex:ann a ex:Person ; rdfs:label "Ann Smith" ; ex:worksAt ex:acme ; ex:age 31 ; ex:born "1990-01-02"^^xsd:date ;
  ex:active true ; ex:height 1.7 ; ex:motto "Onwards"@en .
ex:bob a ex:Person ; rdfs:label "Bob Miller" ; ex:worksAt ex:bolt ; ex:age 41 .
ex:bob2 a ex:Person ; rdfs:label "Bob Miller" ; ex:worksAt ex:acme ; ex:age 21 .
ex:acme a ex:Company ; rdfs:label "Acme" . ex:bolt a ex:Startup ; rdfs:label "Bolt Systems" .
"""


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load(DATA, format="turtle")
        world.policy = world.policy.with_(iris={"namespace": f"{EX}id/"})
        yield world


def told(world: World, *facts: Any, **options: Any) -> Any:
    return world.facts.tell(facts, **options)


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        (("Ann Smith", "works at", "Bolt Systems"), "ex:bolt"),
        (("ann smith", "Works At", "bolt systems"), "ex:bolt"),
        (("ex:ann", "worksAt", f"{EX}bolt"), "ex:bolt"),
        (("Ann Smith", "age", "32"), '"32"^^xsd:integer'),
        (("Ann Smith", "age", 32), '"32"^^xsd:integer'),
        (("Ann Smith", "born", "3 May 1991"), '"1991-05-03"^^xsd:date'),
        (("Ann Smith", "born", date(1991, 5, 3)), '"1991-05-03"^^xsd:date'),
        (("Ann Smith", "active", "No"), '"false"^^xsd:boolean'),
        (("Ann Smith", "height", "1.75"), '"1.75"^^xsd:decimal'),
        (("Ann Smith", "motto", "Ever onwards"), '"Ever onwards"@en'),
        (("Acme", "founded", "1947"), '"1947"^^xsd:gYear'),
        (("Acme", "is a", "startup"), "ex:Startup"),
    ],
)
def test_what_is_sure_is_written_as_the_predicate_has_it(world: World, fact: Any, value: str) -> None:
    receipt = told(world, fact, author="ann", message="heard")
    assert str(receipt) == "1 written", receipt
    assert (world.history()[0].author, world.history()[0].message) == ("ann", "heard")
    (quad,) = world.diff(receipt.revision - 1, receipt.revision).added
    assert world.count(quad[0], quad[1], value) == 1
    assert tuple(quad[:3]) == tuple(receipt.facts[0].quad[:3])
    again = told(world, fact)
    assert (str(again), again.revision) == ("1 known", None)
    world.undo(receipt.revision)
    assert str(told(world, fact, dry_run=True)) == "1 written"


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        (("Bob Miller", "age", "50"), "may mean Bob Miller (0.50), Bob Miller (0.50)"),
        (("Anne Smyth", "works at", "Bolt Systems"), "Ann Smith"),
        (("Ann Smith", "age", "old"), "'old' is no integer"),
        (("Ann Smith", "born", "some day"), "'some day' is no date"),
        (("Ann Smith", "employer", "Bolt Systems"), "'employer' is no predicate"),
        (("Ann Smith", "works at", "Bob Miller"), "Bob Miller"),
        (("Bolt Systems", "works at", "Acme"), "Bolt Systems"),  # no company works
    ],
)
def test_what_is_not_sure_is_proposed_once(world: World, fact: Any, why: str) -> None:
    before = set(world.quads())
    receipt = told(world, fact)
    assert str(receipt) == "1 proposed", receipt
    assert why in receipt.facts[0].why
    assert set(world.quads()) == before
    (proposal,) = world.proposals.list(kind="tell")
    assert proposal.id == receipt.facts[0].proposal
    assert " ".join(map(str, fact)) in str(proposal.why)
    assert str(told(world, fact)) == "1 proposed"
    assert len(world.proposals.list(kind="tell")) == 1
    world.proposals.accept(proposal.id)
    assert set(world.quads()) > before


RANGED: list[tuple[str, Any, str | None]] = [
    ("decimal", "1,5", None),
    ("decimal", "12,5", None),
    ("decimal", "1.162,5", None),
    ("decimal", "1,162", None),  # a decimal comma, or one between thousands
    ("double", "1,162", None),
    ("decimal", "0,162.5", None),
    ("decimal", "1,162.5", None),
    ("float", "-1,162,000", None),
    ("integer", "1,162", None),
    ("integer", "1,16", None),
    ("decimal", "1.50", "1.50"),
    ("decimal", "1e3", None),
    ("double", "1e3", "1e3"),
    ("integer", "٥", None),
    ("double", "٥", None),
    ("nonNegativeInteger", "-5", None),
    ("nonNegativeInteger", -5, None),
    ("byte", "300", None),
    ("byte", 100, "100"),
    ("integer", 5.0, "5"),
    ("integer", 5.5, None),
    ("decimal", 5.5, "5.5"),
    ("string", 5, "5"),
    ("dateTime", "2020-01-01", None),
    ("dateTime", "2020-01-01 10:00", None),
    ("dateTime", "2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
    ("time", "10:00", None),
    ("time", "10:00:00", "10:00:00"),
    ("duration", "2 days", None),
    ("duration", "P2D", "P2D"),
    ("date", 1990, None),
    ("date", "3 May 1991", "1991-05-03"),
    ("date", "-1991-05-03", "-1991-05-03"),
    ("date", "~1991-05-03", None),
    ("date", date(1991, 5, 3), "1991-05-03"),
    ("gYear", 1990, "1990"),
    ("gYear", date(1991, 5, 3), None),
    ("gYearMonth", "May 1990", "1990-05"),
    ("boolean", 1, None),
    ("boolean", "1", None),
    ("boolean", True, "true"),
    ("boolean", "Yes", "true"),
    ("dateTime", '"1990-05-01"^^<http://www.w3.org/2001/XMLSchema#dateTime>', None),
    ("date", '"1990"^^<http://www.w3.org/2001/XMLSchema#gYear>', None),
    ("base64Binary", "é___", None),
    ("gMonthDay", "--02-30", None),
    ("gMonthDay", "--11-31Z", None),
    ("gMonthDay", "--02-29", "--02-29"),
]


@pytest.mark.parametrize(
    ("datatype", "value", "form", "used"), [(*one, number % 2 == 0) for number, one in enumerate(RANGED)]
)
def test_a_value_is_written_as_a_well_formed_literal_of_the_range(
    world: World, datatype: str, value: Any, form: str | None, used: bool
) -> None:
    world.add([("ex:size", "rdfs:label", '"size"'), ("ex:size", "rdfs:range", f"xsd:{datatype}")])
    if used:  # by another literal than the range has
        world.add([("ex:bob", "ex:size", '"large"@en')])
    receipt = told(world, ("Ann Smith", "size", value))
    if form is None:
        assert str(receipt) == "1 proposed", receipt
        assert f" is no {datatype}" in str(receipt.facts[0].why)
    else:
        assert str(receipt) == "1 written", receipt
        ((_, _, written, _),) = world.quads("ex:ann", "ex:size", None)
        assert (str(written), str(written.datatype or f"{XSD}string")) == (form, f"{XSD}{datatype}")
        assert world.curation.verify(("ex:ann", "ex:size", value)).outcome == "supported"


@given(
    st.sampled_from(["decimal", "double", "integer", "byte", "date", "dateTime", "gYear", "boolean", "duration"]),
    st.one_of(st.text("0123456789,.-+eEٍ٥TZ:PDY /", min_size=1, max_size=12), st.integers(), st.floats(), st.booleans()),
)
def test_any_value_that_is_written_is_a_value_of_the_range(datatype: str, value: Any) -> None:
    if isinstance(value, str) and not value.strip():
        return
    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "rdfs:label", '"Anne"'), ("urn:p", "rdfs:label", '"size"')])
        world.add([("urn:p", "rdfs:range", f"xsd:{datatype}")])
        receipt = told(world, ("Anne", "size", value))
        for _, _, written, _ in world.quads("urn:a", "urn:p", None):
            term = to_oxigraph(written)
            assert isinstance(term, ox.Literal)
            assert (term.datatype.value, well_formed(term)) == (f"{XSD}{datatype}", True)
        assert receipt.of("written", "proposed")


def test_a_value_is_of_the_kinds_that_are_there() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load(DATA, format="turtle")
        assert str(told(world, ("Ann Smith", "motto", '"Voran"@de'), ("Ann Smith", "motto", "Go"))) == "2 written"
        assert world.count("ex:ann", "ex:motto", '"Voran"@de') == world.count("ex:ann", "ex:motto", '"Go"@en') == 1
        assert "is no entity" in told(world, ("Ann Smith", "works at", 5)).facts[0].why
        world.add([("ex:age", "rdfs:range", "xsd:decimal")])  # of which integers are
        told(world, ("Ann Smith", "age", 32.0), ("Ann Smith", "age", "32.5"))
        forms = {str(one): str(one.datatype) for _, _, one, _ in world.quads("ex:ann", "ex:age", None)}
        assert forms == {"31": f"{XSD}integer", "32": f"{XSD}integer", "32.5": f"{XSD}decimal"}


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        (("Ann Smith", "admires", "Acme"), "'admires' is no predicate of this world"),
        (("Ann Smith", "is a", "wizard"), "'wizard' is no class"),
        ((5, "works at", "Acme"), "the subject must not be a literal"),
        (("nope:ann", "works at", "Acme"), "the prefix 'nope:' is not declared"),
        (("Ann Smith", "nope:worksAt", "Acme"), "the prefix 'nope:' is not declared"),
        (("Ann Smith", "works at", "nope:acme"), "the prefix 'nope:' is not declared"),
        (("a" * 301, "works at", "Acme"), "more than 300 characters"),
        (("Ann Smith", "a" * 301, "Acme"), "more than 300 characters"),
        (("Ann Smith", "works at", "a" * 301), "more than 300 characters"),
        (("Anne Smyth", "works at", "Acme"), "of the likeliest, that is known"),
    ],
)
def test_what_cannot_be_read_is_refused(world: World, fact: Any, why: str) -> None:
    receipt = told(world, fact)
    assert str(receipt) == "1 refused", receipt
    assert why in receipt.facts[0].why
    assert not world.proposals.list()
    assert receipt.revision is None


def test_who_is_nobody_yet_becomes_an_entity_with_its_class(world: World) -> None:
    receipt = told(
        world, ("Dora Lind", "works at", "Nova Labs"), ("Dora Lind", "age", "29"), ("Nova Labs", "is a", "startup")
    )
    assert str(receipt) == "3 written"
    dora, nova = f"{EX}id/dora-lind", f"{EX}id/nova-labs"
    assert [str(one) for one in receipt.facts[0].new] == [dora, nova]
    assert world.count(dora, "rdf:type", "ex:Person") == world.count(nova, "rdf:type", "ex:Startup") == 1
    assert world.count(nova, "rdf:type", "ex:Company") == 0
    assert world.resolve("Dora Lind").best is not None
    assert str(told(world, ("Dora Lind", "works at", "Nova Labs"))) == "1 known"
    world.undo(receipt.revision)
    assert world.count(dora) == 0
    world.policy = world.policy.with_(iris={})
    assert "iris=NAMESPACE" in told(world, ("Dora Lind", "age", "29")).facts[0].why


def test_a_new_name_that_is_written_like_another_is_asked_about(world: World) -> None:
    receipt = told(world, ("Bolt Sytms", "founded", "1999"), ("Amce", "founded", "1999"))
    assert not any(one.new for one in receipt.facts), receipt


def test_an_open_vocabulary_takes_new_predicates(world: World) -> None:
    receipt = told(world, ("Ann Smith", "admires", "Bolt Systems"), vocabulary="open")
    assert str(receipt) == "1 written"
    assert world.count("ex:ann", f"{EX}id/admires") == 1
    with pytest.raises(ArgumentError, match="'known' or 'open'"):
        told(world, ("a", "b", "c"), vocabulary="free")


def test_times_sources_and_graphs(world: World) -> None:
    fact = (
        "Ann Smith",
        "works at",
        "Bolt Systems",
        {"from": "2019-05", "to": "2021", "cites": ["ex:cv"], "confidence": 0.8},
    )
    receipt = told(world, fact, graph="urn:g")
    assert receipt.facts[0].quad[3] is not None
    assert world.count("ex:ann", "ex:worksAt", "ex:bolt") == 0  # it has ended
    assert world.as_of("2020").count("ex:ann", "ex:worksAt", "ex:bolt") == 1
    assert str(told(world, fact, graph="urn:g")) == "1 known"
    for wrong in (
        ("a", "b"),
        "a b c",
        ("a", "b", "c", {"since": 1}),
        ("a", "b", ""),
        ("a", None, "c"),
        ("a", "b", "c", 5),
    ):
        with pytest.raises(ArgumentError, match="a fact"):
            told(world, wrong)


def test_what_violates_the_shapes_is_proposed_and_the_rest_is_written(world: World) -> None:
    world.shapes.load(
        b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <https://ex.example/> .
        ex:S a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:age ; sh:maxCount 1 ] .""",
        format="turtle",
    )
    receipt = told(
        world, ("Ann Smith", "age", "32"), ("Acme", "founded", "1947"), ("Ann Smith", "works at", "Bolt Systems")
    )
    assert [one.became for one in receipt.facts] == ["proposed", "written", "proposed"]
    assert "violates the shapes" in receipt.facts[0].why
    assert world.shapes.validate().conforms
    assert str(told(world, ("Ann Smith", "works at", "Bolt Systems"))) == "1 written"


def test_a_scope_is_told_of_its_own(world: World) -> None:
    world.load(b'<urn:eve> <http://www.w3.org/2000/01/rdf-schema#label> "Eve Stone" .', format="nt", graph="urn:g")
    inside = world.only(graphs=["default"])
    receipt = told(inside, ("Eve Stone", "age", "40"))
    assert [str(one) for one in receipt.facts[0].new] == [f"{EX}id/eve-stone"]
    with pytest.raises(ReadOnlyError):
        told(inside, ("Ann Smith", "age", "40"), graph="urn:g")
    past: Any = world.at(1)
    with pytest.raises(ReadOnlyError):
        told(past, ("Ann Smith", "age", "40"))


NAMES = st.sampled_from(
    ["Ann Smith", "Bob Miller", "Acme", "Bolt Systems", "Nobody", "ex:ann", "", "x\0y", "\ud800", "🪁", "a" * 5000]
)
PREDICATES = st.sampled_from(
    ["works at", "age", "is a", "born", "founded", "motto", "?p", "rdf:type", "ex:age", "label"]
)
VALUES = (
    NAMES
    | st.sampled_from(["32", "person", "1990-01-01", "yes", '"quoted"@en', "{", "1e999"])
    | st.integers()
    | st.booleans()
)


@given(facts=st.lists(st.tuples(NAMES, PREDICATES, VALUES), max_size=6))
def test_any_facts_leave_one_revision_that_is_undone_and_the_same_again_is_nothing(facts: list[Any]) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load(DATA, format="turtle")
        world.policy = world.policy.with_(iris={"namespace": f"{EX}id/"})
        before, number = set(world.quads()), world.history()[0].revision
        try:
            receipt = world.facts.tell(facts)
        except (ValueError, worlds.WorldsError):
            assert set(world.quads()) == before
            return
        assert len(receipt.facts) == len(facts)
        assert world.history()[0].revision == (receipt.revision or number)
        after = set(world.quads())
        if not receipt.of("refused"):  # what names what another fact makes is told then
            again = world.facts.tell(facts)
            assert again.revision is None
            assert set(world.quads()) == after
            assert not again.of("written")
        if receipt.revision is not None:
            world.undo(receipt.revision)
        assert set(world.quads()) == before
        assert world.check().ok


@pytest.mark.slow
@pytest.mark.skipif(not (shared_data() / "d3fend").exists(), reason="the vocabularies are not here")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == "fibo" else name for name in VOCABULARIES]
)
@pytest.mark.timeout(3600)
def test_hidden_aliases_and_misspellings(pytestconfig: pytest.Config, name: str) -> None:
    counts, _, wrong = measured(name, 1000 if pytestconfig.getoption("--long") else 50)
    written = sum(count for (_, became), count in counts.items() if became.startswith("written"))
    right = sum(count for (_, became), count in counts.items() if became == "written right")
    assert right / written >= 0.95, wrong
    assert written / sum(counts.values()) >= 0.5


@pytest.mark.parametrize("scope", [None, ("user", "ann")])
def test_an_open_vocabulary_has_one_predicate_for_a_relation(world: World, scope: Any) -> None:
    options: dict[str, Any] = {"vocabulary": "open", "scope": scope}
    first = told(world, ("Acme", "rivals with", "Bolt Systems"), ("Acme", "rivals with", "Ann Smith"), **options)
    again = told(world, ("Bolt Systems", "Rivals With", "Acme"), **options)
    made = {str(one.quad[1]) for receipt in (first, again) for one in receipt.facts if one.quad is not None}
    assert len(made) == 1, made
    assert [one.became for receipt in (first, again) for one in receipt.facts] == ["written"] * 3
