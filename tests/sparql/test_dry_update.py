"""World.update(dry_run=True): what an update would do is what it does, and nothing is left of it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support import seams
from worlds import QueryError, QueryTimeout, ReadOnlyError, World

SUBJECTS = ["<urn:a>", "<urn:b>"]
PREDICATES = ["<urn:p>", "<urn:q>"]
VALUES = [
    "1",
    "01",
    '"1"^^<http://www.w3.org/2001/XMLSchema#int>',
    '"x"',
    '"x"@en',
    "<urn:a>",
    "true",
    '"1"^^xsd:boolean',
]
GRAPHS = ["<urn:g>", "<urn:h>"]
triples = st.builds(
    lambda *parts: " ".join(parts), st.sampled_from(SUBJECTS), st.sampled_from(PREDICATES), st.sampled_from(VALUES)
)
quads = st.one_of(
    triples, st.builds(lambda triple, graph: f"GRAPH {graph} {{ {triple} }}", triples, st.sampled_from(GRAPHS))
)
blocks = st.lists(quads, min_size=1, max_size=4).map(
    lambda given: " ".join(f"{one} ." if one[0] == "<" else one for one in given)
)
targets = st.sampled_from(["DEFAULT", *(f"GRAPH {graph}" for graph in GRAPHS)])
patterns = st.sampled_from(
    [
        "DELETE {{ ?s {p} ?o }} INSERT {{ ?s {q} ?o }} WHERE {{ ?s {p} ?o }}",
        "DELETE WHERE {{ ?s {p} {v} }}",
        "INSERT {{ GRAPH <urn:g> {{ ?s {q} {v} }} }} WHERE {{ ?s {p} ?o }}",
        "DELETE {{ ?s ?r ?o }} WHERE {{ ?s ?r ?o FILTER(?o = 1) }}",
        "WITH <urn:g> DELETE {{ ?s {p} ?o }} INSERT {{ ?s {p} {v} }} WHERE {{ ?s {p} ?o }}",
        "INSERT {{ ?s {p} ?n }} WHERE {{ ?s {q} ?o BIND(1 + 0 AS ?n) }}",
    ]
)
operations = st.one_of(
    blocks.map(lambda block: f"INSERT DATA {{ {block} }}"),
    blocks.map(lambda block: f"DELETE DATA {{ {block} }}"),
    st.builds(
        lambda pattern, p, q, v: pattern.format(p=p, q=q, v=v),
        patterns, st.sampled_from(PREDICATES), st.sampled_from(PREDICATES), st.sampled_from(VALUES),
    ),
    targets.map(lambda target: f"CLEAR SILENT {target}"),
    st.sampled_from(["CLEAR ALL", "DROP ALL", "CLEAR NAMED"]),
    st.builds(
        lambda verb, one, other: f"{verb} SILENT {one} TO {other}",
        st.sampled_from(["COPY", "ADD", "MOVE"]), targets, targets,
    ),
)  # fmt: skip


def everything(world: World) -> list[Any]:
    return sorted(map(str, world.quads()))


def sparql(world: World) -> Counter[Any]:
    found = world.query("SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    assert isinstance(found, worlds.records.Solutions)
    return Counter(map(str, found.to_dicts()))


@given(blocks, st.lists(operations, min_size=1, max_size=4))
def test_it_is_what_the_update_does(block: str, requests: list[str]) -> None:
    prologue = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    update = " ; ".join(requests)
    with worlds.open(embedder=None) as world:
        world.update(f"{prologue} INSERT DATA {{ {block} }}")
        before, asked = everything(world), sparql(world)
        found = world.update(prologue + update, dry_run=True)
        assert everything(world) == before
        assert sparql(world) == asked, "the index is as it was"
        world.update(prologue + update)
        real = world.diff(1)
        assert (set(found.added), set(found.removed)) == (set(real.added), set(real.removed))
        assert world.check().ok


def test_a_transaction_sees_its_own_writes(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:p", 1)])
        with world.transaction():
            world.add([("urn:b", "urn:p", 2)])
            inside = world.update("DELETE WHERE { ?s ?p ?o }", dry_run=True)
            assert len(inside.removed) == 2
        assert len(world) == 2
        with worlds.open(path, embedder=None, read_only=True) as reader, pytest.raises(ReadOnlyError):
            reader.update("DELETE WHERE { ?s ?p ?o }", dry_run=True)


def test_an_index_on_disk_is_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 1)
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:p", 1), ("urn:a", "urn:q", '"x"', "urn:g")])
        for update in ("CREATE GRAPH <urn:new>", "DROP GRAPH <urn:g>", "DELETE WHERE { ?s ?p ?o }"):
            world.update(update, dry_run=True)
        assert world.query("ASK { ?s <urn:p> 1 GRAPH <urn:g> { ?s <urn:q> 'x' } }") is True
        assert world.query("ASK { GRAPH <urn:new> {} }") is False
        assert world.check().ok


@pytest.mark.parametrize("dry_run", [True, False])
def test_limits(dry_run: bool) -> None:
    endless = "INSERT { ?a ?b ?f } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o . ?q ?r ?s }"
    with worlds.open(embedder=None) as world:
        world.add([(f"urn:s{n}", "urn:p", f"urn:o{n}") for n in range(200)])
        before = everything(world)
        with pytest.raises(QueryTimeout):
            world.update(endless, timeout=0.5, dry_run=dry_run)
        for update in ("DELETE WHERE { ?s ?p ?o }", "CLEAR ALL", "COPY DEFAULT TO <urn:g>"):
            with pytest.raises(QueryError, match="more than 100 quads") as caught:
                world.update(update, max_quads=100, dry_run=dry_run)
            assert caught.value.kind == "results"
        with pytest.raises(QueryError, match="reading files is not allowed"):
            world.update("LOAD <file:///etc/passwd>", dry_run=dry_run)
        with pytest.raises(QueryError, match="line 1"):
            world.update("INSERT DATA { <urn:a> }", dry_run=dry_run)
        assert everything(world) == before
        assert world.check().ok
        assert len(world.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", max_quads=200, dry_run=True).removed) == 200
        for verb in (
            world.proposals.add,
            partial(world.proposals.amend, world.proposals.add(add=[("urn:a", "urn:b", 1)]).id),
        ):
            with pytest.raises(QueryError, match="more than 100 quads"):
                verb(update="DELETE WHERE { ?s ?p ?o }", max_quads=100)


def test_blank_nodes_keep_their_identity() -> None:
    with worlds.open(embedder=None) as world:
        world.load(b'_:a <urn:p> "old" .', format="nt")
        update = "DELETE { ?s ?p 'old' } INSERT { ?s ?p 'new' . _:b ?p ?s } WHERE { ?s ?p 'old' }"
        found = world.update(update, dry_run=True)
        proposal = world.proposals.add(update=update)
        assert found.removed[0][0] == proposal.removed[0][0]
        world.proposals.accept(proposal.id)
        assert world.query("ASK { ?b <urn:p> ?s . ?s <urn:p> 'new' FILTER(ISBLANK(?b)) }") is True
