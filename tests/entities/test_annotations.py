"""What reifiers say of facts, and facts that contradict a declaration, in `describe` and `context`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import ok

EX = "http://example.org/"
PREFIXES = f"""PREFIX ex: <{EX}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX sh: <http://www.w3.org/ns/shacl#>
"""
DATA = f"""VERSION "1.2" {PREFIXES}
ex:ann rdfs:label "Ann" ; ex:worksFor ex:acme {{| ex:since 2019 ; ex:source "the register" |}} ; ex:born 1980, 1981 ;
    ex:likes "tea", "milk" ; ex:weight 60, 61 .
ex:acme rdfs:label "Acme" . ex:born a owl:FunctionalProperty .
<< ex:ann ex:worksFor ex:acme ~ ex:second >> ex:source "her badge" .
ex:third rdf:reifies <<( ex:ann ex:worksFor ex:other )>> ; ex:source "of another triple" .
[] a rdf:Statement ; rdf:subject ex:ann ; rdf:predicate ex:born ; rdf:object 1980 ; ex:source "her passport" .
ex:partial a rdf:Statement ; rdf:subject ex:ann ; rdf:predicate ex:born ; ex:source "of no object" .
"""


@pytest.fixture
def world() -> Iterator[worlds.World]:
    with worlds.open(embedder=None) as made:
        made.load(DATA.encode(), format="turtle")
        made.shapes.load(
            f"{PREFIXES} ex:S sh:property [ sh:path ex:weight ; sh:maxCount 1 ] .".encode(), format="turtle"
        )
        yield made


def annotated(world: worlds.World, iri: str, *, incoming: bool = False) -> dict[tuple[str, str], set[tuple[str, str]]]:
    found = world.describe(iri)
    return {
        (part.label, str(value.term).rpartition("/")[2]): {(one.label, str(one.value)) for one in value.annotations}
        for part in (found.incoming if incoming else found.properties)
        for value in part.values
        if value.annotations
    }


def test_annotations_of_a_description(world: worlds.World) -> None:
    works = {("since", "2019"), ("source", "the register"), ("source", "her badge")}
    assert annotated(world, "ex:ann") == {("works for", "acme"): works, ("born", "1980"): {("source", "her passport")}}
    assert annotated(world, "ex:acme", incoming=True) == {("works for", "ann"): works}
    told = world.describe("ex:ann").to_dict()["properties"]
    (part,) = [one for one in told if one["label"] == "works for"]
    assert part["values"][0]["annotations"][0].keys() == {"predicate", "label", "value"}
    assert "annotations" not in next(one for one in told if one["label"] == "likes")["values"][0]


def test_conflicts_of_a_description(world: worlds.World) -> None:
    conflicts = {part.label: part.conflict for part in world.describe("ex:ann").properties if part.conflict}
    assert conflicts == dict.fromkeys(("born", "weight"), "2 values where one is allowed")
    world.update("DELETE DATA { ex:ann ex:born 1981 }")
    assert {part.label for part in world.describe("ex:ann").properties if part.conflict} == {"weight"}


@pytest.mark.parametrize("budget", [60, 120, 2000])
def test_a_context_tells_them(world: worlds.World, budget: int) -> None:
    found = world.context("Where does Ann work, since when, and when was she born?", budget=budget)
    assert found.tokens <= budget
    if budget == 2000:
        assert "works for: Acme (source: her badge, the register; since: 2019)" in found.text
        assert "born: 1980 (source: her passport), 1981 (contradictory: one value is allowed)" in found.text
        assert "weight: 60, 61 (contradictory: one value is allowed)" in found.text
        assert "of another triple" not in found.text
        assert "← subject" not in found.text


def test_the_command_line_shows_them(world: worlds.World, tmp_path: Path) -> None:
    world.file.backup(tmp_path / "kb.db")
    shown = " ".join(ok("describe", tmp_path / "kb.db", "ex:ann").split())
    assert 'Acme (source: "her badge"; since: 2019; source: "the register")' in shown
    assert "2 values where one is allowed" in shown
