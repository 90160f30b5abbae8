"""Shapes that cannot be checked leave themselves out, by name and with the reason; the others are checked."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

import worlds
from tests.shapes.test_validate import PREFIXES
from worlds import World
from worlds.doors.cli.commands import app
from worlds.extras.shapes.shapes import ShapesGraph

GOOD = "ex:Good a sh:NodeShape ; sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .\n"
OWN = "urn:worlds:shapes"

Q = "sh:property [ sh:path ex:q ; "
NAMED_Q = "<http://ex/S>, path <http://ex/q>: "
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
COMPONENT = (
    "ex:of 1 . ex:C a sh:ConstraintComponent ; sh:validator [ sh:ask 'ASK {}' ] ; sh:parameter [ sh:path ex:of, ex:b ]"
)
WRONG = {  # what is wrong with ex:S → what is said of it
    "sh:property []": "<http://ex/S>: it is a value of sh:property and has no sh:path",
    f"{Q} sh:mincount 1 ]": f"{NAMED_Q}sh:mincount is not a term of SHACL; did you mean sh:minCount?",
    f"{Q} sh:minCuont 1 ]": "did you mean sh:minCount?",
    f"{Q} sh:datatype xsd:strng ]": f"{NAMED_Q}xsd:strng is not a datatype of XML Schema; did you mean xsd:string?",
    f"{Q} sh:datatype <{RDF}langstring> ]": "rdf:langstring is not a datatype; did you mean rdf:langString?",
    "sh:NodeKind sh:IRI": "<http://ex/S>: it has sh:NodeKind, which cannot be checked; did you mean sh:nodeKind?",
    "sh:nodeKind sh:Irii": "not <http://www.w3.org/ns/shacl#Irii>; did you mean sh:IRI?",
    "a sh:NodeShpe": "sh:NodeShpe is not a term of SHACL; did you mean sh:NodeShape?",
    "sh:targetclass ex:T": "sh:targetclass is not a term of SHACL; did you mean sh:targetClass?",
    "sh:severity sh:Warnin": "sh:Warnin is not a term of SHACL; did you mean sh:Warning?",
    "sh:severity 'high'": "sh:severity must be an IRI",
    "sh:targetSubjectsOf 'T'": "sh:targetSubjectsOf must be an IRI",
    "sh:target [ a sh:SPARQLTarget ]": "it has sh:target, which cannot be checked",
    "sh:property [ sh:path [ sh:inversePath [ sh:inverse ex:p ] ] ]": "not a property path",
    "sh:property [ sh:path [ sh:alternativePath () ] ]": "sh:alternativePath is empty",
    "sh:in 5": "<http://ex/S>: the value of sh:in is not a well-formed list",
    "sh:node 'x'": '"x" is used as a shape, but is a literal',
    "sh:closed true ; sh:property []": "it is closed, and a value of sh:property has no sh:path",
    "sh:property [ sh:path () ]": "a path that is a list must have at least two members",
    "sh:property [ sh:path [ sh:inversePath ( ex:p () ) ] ]": "a path that is a list must have at least two members",
    "sh:languageIn ( ex:p )": "sh:languageIn must be an xsd:string, not <http://ex/p>",
    "sh:languageIn ( 'en' 5 )": "sh:languageIn must be an xsd:string, not 5",
    "sh:pattern 'a'@en": 'sh:pattern must be an xsd:string, not "a"@en',
    "sh:pattern 'a' ; sh:flags true": "sh:flags must be an xsd:string, not true",
    "sh:message 5": "sh:message must be an xsd:string or a text with a language, not 5",
    "sh:sparql [ sh:select 'SELECT $this {}' ; sh:message ex:p ]": "sh:message must be an xsd:string or a text",
    "sh:sparql [ sh:select 'SELECT $this {}'@en ]": 'sh:select must be an xsd:string, not "SELECT $this {}"@en',
    "sh:sparql [ sh:select 'SELECT $this { $this ?p }' ]": "not parse: line 1, column 25: unexpected '}'",
    "sh:sparql [ sh:select 'SELECT $this { $this ex:p 1 }' ]": "the prefix 'ex:' is declared neither in it",
    "sh:maxLength 1" + "0" * 5000: "whole number",
    "sh:node ex:S": "<http://ex/S>: it refers to itself: <http://ex/S> → <http://ex/S>",
    f"{Q} sh:node ex:S ]": f"{NAMED_Q}it refers to itself: <http://ex/S> → {NAMED_Q[:-2]} → <http://ex/S>",
    COMPONENT: "<http://ex/S>: <http://ex/of> belongs to an unsupported component",
    "sh:sparql [ sh:select 'SELECT $this { $this ?p ?o MINUS { ?o ?p $this } }' ]": "MINUS",
    f"sh:sparql [ sh:select 'SELECT $this {'{' * 400}{'}' * 400}' ]": "nested deeper",
}


@pytest.mark.parametrize(("shape", "told"), WRONG.items())
def test_the_others_are_checked(shape: str, told: str, world: World) -> None:
    world.load((PREFIXES + "ex:a a ex:T .").encode(), format="turtle")
    shape = f"ex:S sh:targetClass ex:T ; {shape}"
    report = world.shapes.validate(shapes=f"{PREFIXES}{GOOD}{shape} .".encode())
    assert [str(one.shape) for one in report if one.component.endswith("#MinCountConstraintComponent")]
    assert told in str(report)
    assert not report
    assert report.to_dict()["left_out"]
    assert any(told in str(text) for text in report.to_rdflib().objects())
    with pytest.raises(worlds.ShapesError) as caught:
        world.shapes.validate(shapes=f"{PREFIXES}{shape} .".encode())
    assert told in str(caught.value)


DEPENDENTS = """
ex:Bad sh:minCount 'x' ; sh:path ex:p .
ex:ByNode a sh:NodeShape ; sh:node ex:Bad ; sh:class ex:T .
ex:ByAnd a sh:NodeShape ; sh:and ( ex:Fine ex:ByNode ) .
ex:ByNot a sh:NodeShape ; sh:not ex:Bad .
ex:ByCount a sh:PropertyShape ; sh:path ex:q ; sh:qualifiedValueShape ex:Bad ; sh:qualifiedMinCount 1 .
ex:ByProperty a sh:NodeShape ; sh:targetClass ex:T ; sh:property ex:Bad ; sh:property [ sh:path ex:q ; sh:minCount 1 ] .
ex:OfPartly a sh:NodeShape ; sh:node ex:ByProperty .
ex:Fine a sh:NodeShape ; sh:nodeKind sh:IRI .
ex:One sh:targetClass ex:T ; sh:node ex:Two . ex:Two sh:or ( ex:Three ex:Fine ) . ex:Three sh:xone ( ex:One ) .
ex:Upon sh:targetClass ex:T ; sh:node ex:Two .
"""


def test_what_refers_to_one_that_is_left_out_is_left_out_but_by_sh_property(world: World) -> None:
    world.load((PREFIXES + "ex:a a ex:T .").encode(), format="turtle")
    report = world.shapes.validate(shapes=(PREFIXES + DEPENDENTS).encode())
    left_out = {one.shape.rpartition("/")[2].strip(">"): one.reason for one in report.left_out}
    assert left_out.keys() == {
        *("Bad", "ByNode", "ByAnd", "ByNot", "ByCount", "OfPartly", "One", "Two", "Three", "Upon")
    }
    assert left_out["ByAnd"] == "it refers to <http://ex/ByNode>, which is left out"
    assert left_out["OfPartly"] == "it refers to <http://ex/ByProperty>, of which a property shape is left out"
    assert left_out["Three"].startswith("it refers to itself: <http://ex/One> → <http://ex/Two> → ")
    assert [one.path for one in report] == ["<http://ex/q>"]


def graph(text: str) -> ShapesGraph:
    return ShapesGraph(ox.parse((PREFIXES + text).encode(), format=ox.RdfFormat.TURTLE))


def test_random_references_are_left_out_as_reachability_says() -> None:
    kinds = ("sh:node ex:s{}", "sh:not ex:s{}", "sh:or ( ex:s{} )", "sh:property ex:s{}")
    drawn = random.Random(7)
    for _ in range(60):
        count = drawn.randint(2, 8)
        edges = [
            (drawn.randrange(count), drawn.randrange(count), drawn.choice(kinds)) for _ in range(drawn.randint(1, 9))
        ]
        bad = {number for number in range(count) if drawn.random() < 0.1}
        lines = [
            f"ex:s{n} a sh:PropertyShape ; sh:path ex:p{' ; sh:minCount 2, 3' if n in bad else ''} ."
            for n in range(count)
        ]
        lines += [f"ex:s{a} {kind.format(b)} ." for a, b, kind in edges]
        reach = {(a, b) for a, b, _ in edges if a not in bad}
        while more := {(a, d) for a, b in reach for c, d in reach if b == c} - reach:
            reach |= more
        gone = bad | {n for n in range(count) if (n, n) in reach}
        partly: set[int] = set()
        for _ in range(count):
            for a, b, kind in edges:
                if a not in bad and kind != kinds[3] and b in gone | partly:
                    gone.add(a)
                elif a not in bad and kind == kinds[3] and b in gone | partly:
                    partly.add(a)
        found = graph("\n".join(lines))
        assert {one.shape for one in found.left_out} == {f"<http://ex/s{n}>" for n in gone}, lines
        places = {shape: place for place, shape in enumerate(found.order)}
        assert all(places[inner] < places[shape] for shape in found.order for inner in shape.inner)


def test_the_guard_wants_shapes_that_can_be_checked_unless_told(world: World) -> None:
    world.load((PREFIXES + "ex:a a ex:T ; ex:p 1 .").encode(), format="turtle")
    bad = "ex:Bad sh:targetClass ex:T ; sh:node ex:Bad ."
    change = world.shapes.load((PREFIXES + GOOD + bad).encode(), format="turtle")
    assert "<http://ex/Bad>: it refers to itself" in change.notes[0]
    assert [one.shape for one in world.shapes.left_out] == ["<http://ex/Bad>"]
    assert any("<http://ex/Bad>" in one.message for one in world.curation.contradictions())
    with pytest.raises(worlds.ShapesError, match="<http://ex/Bad>.*--partly"):
        world.shapes.guard = "reject"
    settings = [world.shapes.guard]
    with pytest.raises(worlds.ShapesError, match="<http://ex/Bad>"), world.transaction(guard="reject"):
        world.add([("http://ex/b", "rdf:type", "http://ex/T")])
    world.shapes.set_guard("reject", partly=True)
    settings.append(world.shapes.guard)
    with pytest.raises(worlds.ValidationError):
        world.add([("http://ex/b", "rdf:type", "http://ex/T")])
    with pytest.raises(worlds.ShapesError):
        world.shapes.set_guard("warn")
    assert [*settings, world.shapes.guard] == ["off", "reject", "reject"], "as it was"
    world.shapes.remove([("http://ex/Bad", "sh:node", "http://ex/Bad")])
    world.shapes.guard = "warn"
    assert world.shapes.left_out == ()
    with pytest.raises(worlds.ShapesError):
        world.load((PREFIXES + GOOD.replace("Good", "New") + bad).encode(), format="turtle", graph=OWN)


def test_a_write_that_brings_nothing_that_can_be_checked_is_refused(world: World) -> None:
    bad = "ex:Bad sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCont 1 ] ."
    for text in (bad, GOOD, bad):
        given = (PREFIXES + text).encode()
        if text is GOOD:
            world.shapes.load(given, format="turtle")
        else:
            with pytest.raises(worlds.ShapesError, match=r"<http://ex/Bad>, path <http://ex/p>.*sh:minCount\?"):
                world.shapes.load(given, format="turtle")
    assert len(world.shapes) == 5
    assert world.shapes.load((PREFIXES + GOOD + bad).encode(), format="turtle", mode="replace", dry_run=True)
    assert world.shapes.left_out == ()


def test_what_was_rolled_back_is_not_remembered(world: World) -> None:
    one, two = (f"{PREFIXES} ex:S sh:targetNode ex:{name} ; sh:class ex:C .".encode() for name in ("a", "b"))
    world.shapes.load(one, format="turtle", dry_run=True)
    world.shapes.load(two, format="turtle")
    assert [str(result.focus) for result in world.shapes.validate()] == ["http://ex/b"]


def test_the_commands_name_them(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "shapes.ttl"
    file.write_text(PREFIXES + GOOD + "ex:Bad sh:targetClass ex:T ; sh:node ex:Bad .")
    with worlds.open(path, embedder=None) as world:
        world.load((PREFIXES + "ex:a a ex:T ; ex:p 1 .").encode(), format="turtle")

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, [*arguments[0].split(), *arguments[1:]])
        return done.exit_code, done.output

    for command in (
        ("shapes load", str(path), str(file)),
        ("shapes show", str(path)),
        ("shapes validate", str(path)),
        ("doctor", str(path), "--embedder", "none"),
    ):
        code, text = run(*command)
        assert "<http://ex/Bad>: it refers to itself" in text.replace("\n", " "), command
        assert code == int("validate" in command[0]), command
    assert run("shapes guard", str(path), "reject")[0] == 4
    assert run("shapes guard", str(path), "reject", "--partly") == (0, "guard  reject\n")


# -- time -------------------------------------------------------------------------------------------------------------

P = "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://ex/> .\n"


def nested(count: int) -> str:
    path = "ex:p"
    for number in range(count):
        path = f"[ sh:zeroOrMorePath {f'( {path} [ sh:zeroOrOnePath ex:p ] )' if number % 2 else path} ]"
    return f"ex:S sh:targetClass ex:T ; sh:property [ sh:path {path} ; sh:maxCount 1 ] ."


def chain(count: int, link: str) -> str:
    links = "".join(f"ex:s{n} {link.format(n + 1)} .\n" for n in range(count))
    return f"{links} ex:s0 sh:targetClass ex:T . ex:s{count} sh:class ex:No ."


def levels(count: int) -> str:
    links = "".join(
        f"ex:s{n} sh:or ( ex:s{n + 1} ex:s{n + 1} ) ; sh:xone ( ex:s{n + 1} [ sh:not ex:s{n + 1} ] ) .\n"
        for n in range(count)
    )
    return f"{links} ex:s0 sh:targetClass ex:T . ex:s{count} sh:class ex:No ."


def shared(count: int) -> str:
    """A path that is shared by its parts: written out, it has 2^count parts."""
    cells = "".join(f"_:p{n} sh:alternativePath ( _:p{n + 1} _:p{n + 1} ) .\n" for n in range(count))
    return f"{GOOD} {cells} _:p{count} sh:inversePath ex:p . ex:S sh:targetClass ex:T ; sh:property [ sh:path _:p0 ] ."


def ways(count: int) -> str:
    links = "".join(
        f"ex:s{n} sh:property [ sh:path ex:p ; sh:node ex:s{n + 1} ] , "
        f"[ sh:path [ sh:inversePath ex:p ] ; sh:node ex:s{n + 1} ] .\n"
        for n in range(count)
    )
    return f"{links} ex:s0 sh:targetClass ex:T . ex:s{count} sh:nodeKind sh:IRI ."


@pytest.mark.parametrize(
    ("make", "small", "large"),
    [
        (nested, 2, 10),
        (levels, 2, 60),
        (lambda count: chain(count, "sh:node ex:s{}"), 3, 1000),
        (lambda count: chain(count, "sh:and ( ex:s{} )"), 3, 150),
        (lambda count: chain(count, "sh:property [ sh:path ex:p ; sh:node ex:s{} ]"), 3, 60),
        (shared, 3, 60),
        (ways, 2, 30),
    ],
)  # fmt: skip
def test_the_time_is_polynomial(make: Callable[[int], str], small: int, large: int, world: World) -> None:
    """Ten times as many levels, and more, take no time that doubles with each; nothing recurses from shape to shape."""
    rows = [(f"http://ex/{n}", "http://ex/p", f"http://ex/{(n + 1) % 20}") for n in range(20)]
    world.add([*rows, *((row[0], "rdf:type", "http://ex/T") for row in rows)])
    few = world.shapes.validate(shapes=(P + make(small)).encode())
    began = time.perf_counter()
    many = world.shapes.validate(shapes=(P + make(large)).encode(), timeout=20)
    if make is not shared:
        assert {one.focus for one in many} == {one.focus for one in few}
    else:
        assert "more than 1,000 parts" in str(many.left_out[0])
    world.shapes.load((P + make(large)).encode(), format="turtle")
    world.shapes.guard = "off" if world.shapes.left_out else "warn"
    world.add([("http://ex/1", "http://ex/p", "http://ex/7")])
    world.entities.form("http://ex/1")
    assert time.perf_counter() - began < 20


def test_a_validation_is_stopped_at_its_limit(world: World) -> None:
    world.load((PREFIXES + "ex:a a ex:T .").encode(), format="turtle")
    with pytest.raises(worlds.QueryTimeout, match="validation was stopped"):
        world.shapes.validate(shapes=(PREFIXES + GOOD).encode(), timeout=1e-9)
    query = "SELECT $this { $this a ?t . ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . FILTER(?c + ?f + ?i + ?l < 0) }"
    world.add([(f"http://ex/{n}", "http://ex/q", n) for n in range(300)])
    began = time.perf_counter()
    with pytest.raises(worlds.QueryTimeout):
        world.shapes.validate(
            shapes=f"{PREFIXES} ex:S sh:targetClass ex:T ; sh:sparql [ sh:select '{query}' ] .".encode(), timeout=0.3
        )
    assert time.perf_counter() - began < 10


def test_results_that_come_once_for_each_way_have_a_bound(world: World) -> None:
    world.add([(f"http://ex/{a}", "http://ex/p", f"http://ex/{b}") for a in range(8) for b in range(8)])
    text = "ex:S sh:targetNode ex:0 ; sh:property ex:s0 . " + "".join(
        f"ex:s{n} sh:path ex:p ; sh:property ex:s{n + 1} . " for n in range(30)
    )
    with pytest.raises(worlds.ShapesError, match="1,000,000 times"):
        world.shapes.validate(shapes=f"{P} {text} ex:s30 sh:path ex:p ; sh:maxCount 1 .".encode())
