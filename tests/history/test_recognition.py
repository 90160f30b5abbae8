"""The blank nodes of a file that is loaded again, or in another version, stay the nodes that they were."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.oracle import problems
from tests.support.readback import exported
from worlds import World

EX = "http://example.org/"
FIRST = """
    @prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    :A :subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :B ] ,
                   [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :C ] ;
       :label "A" ; :list ( 1 2 [ :name "three" ] ) .
    [] :name "nobody" . [] :name "nobody", "somebody" .
    :s :says <<( _:who :is _:what )>> . _:who :name "who" . _:what :name "what" .
"""
GRAPHS = """
    @prefix : <http://example.org/> .
    GRAPH _:g { :a :p _:b , "in a graph without a name" . _:b :q 1 }
    GRAPH _:h { :a :p _:b } GRAPH :named { _:b :r "named" . _:h :s _:g }
"""


def canonical(quads: Iterable[ox.Quad]) -> set[str]:
    found = ox.Dataset(quads)
    found.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in found}


def renamed(quads: Iterable[ox.Quad], chance: random.Random) -> list[ox.Quad]:
    """The quads with other blank nodes, and in another order."""
    names: dict[ox.BlankNode, ox.BlankNode] = {}

    def name(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return names.setdefault(term, ox.BlankNode())
        if isinstance(term, ox.Triple):
            return ox.Triple(name(term.subject), term.predicate, name(term.object))
        return term

    found = [ox.Quad(name(q.subject), q.predicate, name(q.object), name(q.graph_name)) for q in quads]
    chance.shuffle(found)
    return found


def file_of(quads: Iterable[ox.Quad], format: ox.RdfFormat = ox.RdfFormat.N_QUADS) -> bytes:
    found: bytes = ox.serialize(quads, format=format)  # type: ignore[assignment]  # without an output
    return found


def load(world: World, quads: Iterable[ox.Quad], mode: str = "replace", **options: Any) -> Any:
    return world.load(file_of(quads), format="nq", mode=mode, **options)


def parsed(text: str) -> list[ox.Quad]:
    return list(ox.parse(text.encode(), format=ox.RdfFormat.TRIG))


@pytest.mark.parametrize("mode", ["merge", "replace"])
@pytest.mark.parametrize("text", [FIRST, GRAPHS], ids=["nodes", "graphs"])
def test_the_same_file_changes_nothing(text: str, mode: str) -> None:
    quads = parsed(text)
    with worlds.open(embedder=None) as world:
        load(world, quads, mode)
        terms = world.stats().terms
        for seed in range(2):
            change = load(world, renamed(quads, random.Random(seed)), mode)
            assert (change.revision, change.added, change.removed) == (None, 0, 0)
        assert world.stats().terms == terms, "no term is left of nodes that were known"
        assert canonical(exported(world)) == canonical(quads)
        assert problems(world) == []


@pytest.mark.parametrize("format", ["ttl", "trig", "nt", "nq", "rdfxml", "jsonld", "n3"])
def test_in_every_format(format: str, tmp_path: Path) -> None:
    quads = [quad for quad in parsed(FIRST) if "<<(" not in str(quad)]  # RDF/XML and JSON-LD have none
    with worlds.open(embedder=None) as world:
        load(world, quads)
        target = tmp_path / f"file.{format}"
        world.export(target, format="ttl" if format == "n3" else format)
        for mode in ("merge", "replace"):
            assert world.load(target, mode=mode, format=format).revision is None


def test_a_value_within_a_node_is_two_lines() -> None:
    with worlds.open(embedder=None) as world:
        world.load(FIRST.encode(), format="ttl")
        change = world.load(FIRST.replace("three", "four").encode(), format="ttl", mode="replace")
        assert (change.added, change.removed) == (1, 1)
        change = world.load(
            FIRST.replace("someValuesFrom :C", "allValuesFrom :C").encode(), format="ttl", mode="replace"
        )
        assert (change.added, change.removed) == (2, 2), "four is three again"
        change = world.load(FIRST.replace("_:who :is", "_:who :was").encode(), format="ttl", mode="replace")
        assert (change.added, change.removed) == (2, 2), "of a triple term, what names it"
        assert problems(world) == []


def test_a_merge_takes_equal_nodes_alone() -> None:
    with worlds.open(embedder=None) as world:
        world.load(b'@prefix : <http://example.org/> . :a :p [ :q 1 ; :r [ :s "deep" ] ] .', format="ttl")
        more = b'@prefix : <http://example.org/> . :a :p [ :q 1 ; :r [ :s "deep" ; :t 2 ] ] .'
        assert world.load(more, format="ttl").added == 5, "another node, that has more"
        assert world.load(more, format="ttl").added == 0
        less = b"@prefix : <http://example.org/> . :a :p [ :q 1 ; :r [] ] ."
        assert world.load(less, format="ttl").added == 3, "and one that has less"
        assert world.load(more, format="ttl", graph=EX + "other").added == 5, "nor in another graph"


def test_a_node_keeps_what_other_graphs_say_of_it() -> None:
    with worlds.open(embedder=None) as world:
        world.load(b"<http://example.org/a> <http://example.org/p> [ <http://example.org/q> 1 ] .", format="ttl")
        (node,) = {quad.subject for quad in exported(world) if isinstance(quad.subject, ox.BlankNode)}
        world.add([(node, EX + "note", ox.Literal("mine"), EX + "notes")])
        two = b"<http://example.org/a> <http://example.org/p> [ <http://example.org/q> 2 ] ."
        assert world.load(two, format="ttl", mode="replace").added == 1
        assert world.query(f"ASK {{ ?node <{EX}q> 2 GRAPH <{EX}notes> {{ ?node <{EX}note> 'mine' }} }}") is True


def test_a_dry_run_tells_the_same_and_leaves_nothing() -> None:
    with worlds.open(embedder=None) as world:
        world.load(FIRST.encode(), format="ttl")
        before = world.stats()
        told = world.load(FIRST.replace("three", "3").encode(), format="ttl", mode="replace", dry_run=True)
        assert (len(told.added), len(told.removed)) == (1, 1)
        assert world.stats() == before


statement = st.tuples(
    st.sampled_from(["_:a", "_:b", "_:c", ":d"]),
    st.sampled_from([":p", ":q"]),
    st.sampled_from(["_:a", "_:b", "_:c", ":d", '"e"', "<<( _:a :p _:b )>>", "<<( :d :q <<( _:c :p 1 )>> )>>"]),
    st.sampled_from([":g", "_:g", "_:a"]),
)
documents = st.lists(st.lists(statement, min_size=1, max_size=8), min_size=1, max_size=4)


@given(documents, st.integers(0, 1000))
def test_any_version_is_what_the_file_says(versions: list[list[tuple[str, ...]]], seed: int) -> None:
    chance = random.Random(seed)
    with worlds.open(embedder=None) as world:
        for version in versions:
            text = "".join(f"GRAPH :g {{ {s} {p} {o} }}\n" for s, p, o, _ in version)
            quads = parsed("@prefix : <http://example.org/> . " + text)
            load(world, quads)
            assert canonical(exported(world)) == canonical(set(quads))
            assert load(world, renamed(quads, chance)).revision is None
            assert load(world, renamed(quads, chance), "merge").revision is None
        assert problems(world) == []


@given(documents, st.integers(0, 1000))
def test_loading_documents_again_changes_nothing(versions: list[list[tuple[str, ...]]], seed: int) -> None:
    chance = random.Random(seed)
    texts = ["".join(f"GRAPH {g} {{ {s} {p} {o} }}\n" for s, p, o, g in version) for version in versions]
    read = [parsed("@prefix : <http://example.org/> . " + text) for text in texts]
    with worlds.open(embedder=None) as world:
        world.load([file_of(quads) for quads in read], format="nq")
        held = canonical(exported(world))
        world.load([file_of(renamed(quads, chance)) for quads in read], format="nq")
        assert canonical(exported(world)) == held
        assert problems(world) == []


# --- real graphs ------------------------------------------------------------------------------------------------------


def edited(quads: list[ox.Quad], number: int, chance: random.Random) -> tuple[list[ox.Quad], int]:
    """Quads with random edits, more than half of them at blank nodes, and how many lines they are."""
    found: list[ox.Quad | None] = list(quads)
    nodes = [place for place, quad in enumerate(quads) if "_:" in f"{quad.subject}"[:2] + f"{quad.object}"[:2]]
    lines = 0
    for place in chance.sample(range(len(quads)), number * 2 // 5) + chance.sample(nodes, number * 3 // 5):
        quad = found[place]
        kind = chance.random()
        if quad is None:
            continue
        if kind < 0.3:
            found[place], lines = None, lines + 1
        elif kind < 0.7:
            found[place] = ox.Quad(quad.subject, quad.predicate, chance.choice(quads).object)
            lines += 2
        else:
            found.append(ox.Quad(quad.subject, quad.predicate, ox.Literal(f"new {place}")))
            lines += 1
    return list({quad for quad in found if quad is not None}), lines


@pytest.mark.parametrize(
    "name", ["uat", pytest.param("d3fend", marks=pytest.mark.long), pytest.param("fibo", marks=pytest.mark.long)]
)
def test_a_version_of_a_real_graph_differs_by_its_edits(shared_data: Path, name: str) -> None:
    with gzip.open(shared_data / name / f"{name}.nt.gz") as stream:
        quads = list(ox.parse(stream.read(), format=ox.RdfFormat.N_TRIPLES))
    chance = random.Random(name)
    with worlds.open(embedder=None) as world:
        load(world, quads)
        version, lines = edited(quads, 500, chance)
        change = load(world, renamed(version, chance))
        assert change.added + change.removed <= lines * 1.1
        assert canonical(exported(world)) == canonical(version)
        assert load(world, renamed(version, chance)).revision is None
