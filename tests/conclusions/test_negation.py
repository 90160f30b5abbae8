"""Rules with negation: the kept conclusions are those of a naive loop, stratum by stratum, after any edits."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import worlds
from tests.conclusions.oracle import ENTAILED, RDFS, back, named_store, rounds
from tests.support.concluding import concluded, written
from worlds.errors import QueryError

T = "urn:t:"
RANKS = 4
ORPHAN = "CONSTRUCT { ?x a <urn:t:Orphan> } WHERE { ?x a <urn:t:Person> FILTER NOT EXISTS { ?x <urn:t:parent> ?y } }"


class Negating(NamedTuple):
    """A rule whose head is of a rank: its patterns are of this rank or less, its negated patterns of less."""

    rank: int
    head: str
    body: tuple[str, ...]
    negated: tuple[tuple[str, tuple[str, ...], str], ...]  # FILTER NOT EXISTS or MINUS, patterns, FILTER
    tests: str

    def written(self, *, by_graph: bool = False) -> str:
        """The rule as a CONSTRUCT, or as a SELECT of its matches with the graph of each pattern."""

        def group(patterns: Sequence[str], name: str) -> str:
            each = (f"GRAPH ?{name}{at} {{ {one} }}" if by_graph else one for at, one in enumerate(patterns))
            return (" " if by_graph else " . ").join(each)

        negated = " ".join(
            f"{kind} {{ {group(patterns, f'n{at}_')} {test} }}"
            for at, (kind, patterns, test) in enumerate(self.negated)
        )
        where = f"{{ {group(self.body, 'g')} {negated} {self.tests} }}"
        return f"SELECT * {where}" if by_graph else f"CONSTRUCT {{ {self.head} }} WHERE {where}"

    def applied(self, store: ox.Store) -> list[ox.Quad]:
        """What follows in one step."""
        found: list[ox.Quad] = []
        solutions: Any = store.query(self.written(by_graph=True))
        for row in solutions:
            graphs = {row[f"g{at}"] for at in range(len(self.body))}
            terms: Any = [
                row[one[1:]]
                if one[0] == "?"
                else ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type" if one == "a" else one[1:-1])
                for one in self.head.split()
            ]
            if not isinstance(terms[0], ox.Literal):
                graph = graphs.pop() if len(graphs) == 1 else ox.NamedNode(ENTAILED)
                found.append(ox.Quad(terms[0], terms[1], terms[2], graph))
        return found


def model(quads: set[ox.Quad], rules: Sequence[Negating], *, rdfs: bool) -> set[ox.Quad]:
    """All that follows: for each rank, all rules up to it until nothing more follows."""
    store = named_store(quads)
    before = set(store)
    for rank in range(RANKS + 1):
        size = -1
        while size != len(store):
            size = len(store)
            if rdfs:
                rounds(store, RDFS)
            for rule in rules:
                if rule.rank <= rank:
                    store.extend(rule.applied(store))
    return {back(quad) for quad in set(store) - before}


def pattern(draw: random.Random, rank: int, names: str) -> str:
    if draw.random() < 0.4:
        return f"?{draw.choice(names)} a <{T}C{rank}>"
    return f"?{draw.choice(names)} <{T}p{rank}> ?{draw.choice(names)}"


def any_rule(draw: random.Random) -> Negating:
    rank = draw.randrange(RANKS)
    body = sorted({pattern(draw, draw.randrange(rank + 1), "xy") for _ in range(draw.randrange(1, 3))})
    if draw.random() < 0.2:
        rank, body = RANKS, ["?x ?p ?y"]
    known = "".join(name for name in "xy" if any(f"?{name}" in one for one in body))
    negated = []
    for _ in range(draw.choice([0, 1, 1, 2]) if rank else 0):
        patterns = [pattern(draw, draw.randrange(rank), known + "z") for _ in range(draw.randrange(1, 3))]
        shares = any(f"?{name}" in one for one in patterns for name in known)
        kind = draw.choice(["MINUS", "FILTER NOT EXISTS"]) if shares else "FILTER NOT EXISTS"
        test = f"FILTER(?{known[0]} != ?z)" if draw.random() < 0.3 and "z" in "".join(patterns) else ""
        if f"?{known[0]}" not in " ".join(patterns):
            kind = "FILTER NOT EXISTS"  # MINUS knows no variables of the triples before it
        negated.append((kind, tuple(patterns), test))
    head = f"?x <{T}p4> ?y" if rank == RANKS else pattern(draw, rank, known)
    tests = "FILTER(?x != ?y)" if known == "xy" and draw.random() < 0.2 else ""
    return Negating(rank, head, tuple(body), tuple(negated), tests)


def any_quads(draw: random.Random, count: int, *, rdfs: bool) -> list[tuple[Any, ...]]:
    """Quads of few things; the vocabulary leads from no class or property to one of a lower rank."""
    made: list[tuple[Any, ...]] = []
    for _ in range(count):
        low, high = sorted(draw.choices(range(RANKS), k=2))
        thing, other = (f"{T}x{draw.randrange(4)}" for _ in range(2))
        kinds = [(thing, "rdf:type", f"{T}C{low}"), (thing, f"{T}p{low}", draw.choice([other, other, '"text"']))]
        if rdfs and draw.random() < 0.3:
            kinds = [
                (f"{T}C{low}", "rdfs:subClassOf", f"{T}C{high}"),
                (f"{T}p{low}", "rdfs:subPropertyOf", f"{T}p{high}"),
                (f"{T}p{low}", draw.choice(["rdfs:domain", "rdfs:range"]), f"{T}C{high}"),
            ]
        made.append((*draw.choice(kinds), *draw.choice([(), (), (f"{T}g1",)])))
    return made


def any_turn(world: worlds.World, draw: random.Random, *, rdfs: bool) -> None:
    held = list(world.quads())
    some = draw.sample(held, min(len(held), draw.randrange(1, 4)))
    new = any_quads(draw, draw.randrange(1, 6), rdfs=rdfs)
    kind = draw.randrange(6)
    if kind == 0:
        world.add(new)
    elif kind == 1:
        world.remove(some)
    elif kind == 2:
        world.undo(draw.choice(world.history()).revision, force=True)
    elif kind == 3:
        with contextlib.suppress(ZeroDivisionError), world.transaction():
            world.remove(some)
            world.add(new)
            world.add(some[:1])
            if draw.random() < 0.3:
                raise ZeroDivisionError
    else:
        world.edit(add=new, remove=some)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6))
def test_what_is_kept_follows_stratum_by_stratum(seed: int) -> None:
    any_edits(random.Random(seed), 4)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_what_is_kept_follows_after_many_edits() -> None:
    for seed in range(200):
        any_edits(random.Random(seed), 25)


def any_edits(draw: random.Random, turns: int) -> None:
    """Random rules, random edits; compared with the model, with the table made anew, and in a scope."""
    rules, rdfs = [any_rule(draw) for _ in range(draw.randrange(1, 5))], draw.random() < 0.6
    with worlds.open(":memory:", embedder=None) as world:
        for at, rule in enumerate(rules):
            world.rules.add(f"r{at}", rule.written())
        world.rules.use("rdfs" if rdfs else ())
        world.add(any_quads(draw, 12, rdfs=rdfs))
        for _ in range(turns):
            any_turn(world, draw, rdfs=rdfs)
            assert concluded(world) == model(written(world), rules, rdfs=rdfs), [one.written() for one in rules]
            assert world.check().ok
        scope = world.only(graphs="default")
        held = written(scope)
        assert written(scope.entailed) == held | model(held, rules, rdfs=rdfs)


@pytest.fixture
def world() -> worlds.World:
    made = worlds.open(":memory:", embedder=None)
    made.add([(f"{T}ann", "rdf:type", f"{T}Person"), (f"{T}bob", "rdf:type", f"{T}Person")])
    made.add([(f"{T}bob", f"{T}parent", f"{T}ann")])
    return made


def orphans(world: worlds.World) -> list[str]:
    return sorted(str(s).removeprefix(T) for s, *_ in world.entailed.quads(predicate="rdf:type", object=f"{T}Orphan"))


def test_a_conclusion_goes_when_what_it_negates_comes(world: worlds.World) -> None:
    world.rules.add("orphan", ORPHAN)
    world.rules.add("sad", f"CONSTRUCT {{ ?x a <{T}Sad> }} WHERE {{ ?x a <{T}Orphan> }}")
    world.rules.add("merry", f"CONSTRUCT {{ ?x a <{T}Merry> }} WHERE {{ ?x a <{T}Person> MINUS {{ ?x a <{T}Sad> }} }}")
    assert orphans(world) == ["ann"]
    assert len(concluded(world)) == 3
    told = world.add([(f"{T}ann", f"{T}parent", f"{T}eve")], dry_run=True)
    assert (len(told.concluded), len(told.retracted)) == (1, 2)
    world.add([(f"{T}ann", f"{T}parent", f"{T}eve")])
    assert (orphans(world), len(concluded(world))) == ([], 2)
    world.undo(3)
    assert orphans(world) == ["ann"]
    (proof, premise) = world.rules.why((f"{T}ann", "rdf:type", f"{T}Orphan")).steps
    assert (proof.rule, premise.rule, proof.premises) == ("orphan", None, (2,))


def test_a_rule_that_depends_on_its_own_absence_is_refused(world: worlds.World) -> None:
    world.rules.add("a", f"CONSTRUCT {{ ?x a <{T}A> }} WHERE {{ ?x a <{T}Person> MINUS {{ ?x a <{T}B> }} }}")
    with pytest.raises(QueryError, match="condition: a, b$"):
        world.rules.add("b", f"CONSTRUCT {{ ?x a <{T}B> }} WHERE {{ ?x a <{T}Person> MINUS {{ ?x a <{T}A> }} }}")
    with pytest.raises(QueryError, match="condition: a, every"):
        world.rules.add("every", f"CONSTRUCT {{ ?y ?p ?x }} WHERE {{ ?x ?p ?y MINUS {{ ?x a <{T}D> }} }}")
    world.rules.use("rdfs+")
    with pytest.raises(QueryError, match="vocabulary would follow by rules with negation, one of a, c"):
        world.rules.add("c", f"CONSTRUCT {{ ?x rdfs:subClassOf ?x }} WHERE {{ ?x a ?y MINUS {{ ?x a <{T}D> }} }}")
    assert list(world.rules.list().own) == ["a"]
    assert len(concluded(world)) == 2


def test_vocabulary_by_which_a_rule_would_depend_on_its_own_absence_is_refused(world: worlds.World) -> None:
    world.rules.use("rdfs")
    world.rules.add("calm", f"CONSTRUCT {{ ?x a <{T}Calm> }} WHERE {{ ?x a <{T}Person> MINUS {{ ?x a <{T}Sad> }} }}")
    world.add([(f"{T}Calm", "rdfs:subClassOf", f"{T}Person"), (f"{T}Lost", "rdfs:subClassOf", f"{T}Sad")])
    before = written(world), concluded(world)
    for wrong in (f"{T}Sad", f"{T}Lost"):
        with pytest.raises(QueryError, match="condition: calm"):
            world.add([(f"{T}Calm", "rdfs:subClassOf", wrong)])
        assert (written(world), concluded(world)) == before
    world.add([(f"{T}Grey", "rdfs:subClassOf", f"{T}Calm"), (f"{T}bob", "rdf:type", f"{T}Lost")])
    calm = world.entailed.quads(predicate="rdf:type", object=f"{T}Calm")
    assert [str(s) for s, *_ in calm] == [f"{T}ann"]
    assert world.check().ok


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("?x <urn:q> ?y MINUS { ?z a <urn:C> }", "no variable"),
        ("?x <urn:q> ?y MINUS { ?x a ?z FILTER(?y != ?z) }", r"\?y"),
        ("?x <urn:q> ?y FILTER NOT EXISTS { ?x a ?z FILTER(?w != ?z) }", r"\?w"),
        ("?x <urn:q> ?y FILTER NOT EXISTS { ?x a ?z MINUS { ?z a <urn:C> } }", "within another"),
        ("?x <urn:q> ?y FILTER NOT EXISTS { { ?x a ?z } }", "group"),
        ("?x <urn:q> ?y FILTER NOT EXISTS { }", "0 triples"),
        ("?x <urn:q> ?y FILTER EXISTS { ?x a <urn:C> }", "EXISTS"),
        ("?x <urn:q> ?y FILTER(NOT EXISTS { ?x a <urn:C> })", "EXISTS"),
        ("?x <urn:q> ?y FILTER NOT EXISTS { ?x a <urn:C> OPTIONAL { ?x a ?z } }", "OPTIONAL"),
    ],
)
def test_negation_that_a_rule_cannot_have_is_refused(world: worlds.World, pattern: str, why: str) -> None:
    with pytest.raises(QueryError, match=why):
        world.rules.add("bad", f"CONSTRUCT {{ ?x <urn:p> ?y }} WHERE {{ {pattern} }}")


def test_a_load_makes_what_follows_by_negation_anew(tmp_path: Path) -> None:
    lines = "".join(f"<{T}x{n}> a <{T}Person> .\n" for n in range(3000))
    parents = "".join(f"<{T}x{n}> <{T}parent> <{T}y{n % 9}> .\n" for n in range(0, 3000, 3))
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.rules.add("orphan", ORPHAN)
        world.load(lines.encode(), format="turtle")
        assert world.rules.list().conclusions == 3000
        world.load(parents.encode(), format="turtle")
        assert world.rules.list().conclusions == 2000
        assert world.check().ok
