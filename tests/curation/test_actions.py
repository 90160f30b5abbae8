"""What to do with a pair of duplicates: merging, its direction, links, and that what was decided is not asked again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import worlds
from worlds import World

PREFIXES = """
@prefix ex: <http://ex/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
FIRST = ["Ann", "Bob", "Carla", "David", "Eva", "Frank", "Greta", "Hans", "Ines", "Jonas"]
LAST = ["Abel", "Brandt", "Curie", "Dirac", "Euler", "Fermi", "Gauss", "Hertz", "Ising", "Joule"]


def made(data: str) -> World:
    world = worlds.open(":memory:", embedder=None)
    world.load((PREFIXES + data).encode(), format="trig", author="ann")
    return world


def others() -> str:
    return "\n".join(
        f'ex:p{n} a ex:Person ; rdfs:label "{FIRST[n % 10]} {LAST[n // 10]}" ;'
        f' ex:born "19{n:02}-01-1{n % 9}"^^xsd:date .'
        for n in range(100)
    )


def twin(iri: str, name: str, more: str = "") -> str:
    return f'{iri} a ex:Person ; rdfs:label "{name}" ; ex:born "1871-02-03"^^xsd:date ; ex:code "QX-77-1" {more} .'


def short(terms: Any) -> list[str]:
    return [str(one).removeprefix("http://ex/") for one in terms]


TWINS = twin("ex:a", "Massachusets Institute") + twin("ex:b", "Massachusetts Institute")


@pytest.mark.parametrize(
    ("data", "keep", "kept"),
    [
        (TWINS + "ex:p1 ex:at ex:a . ex:p2 ex:at ex:b . ex:p3 ex:at ex:b .", None, "b"),
        (TWINS + "ex:p1 ex:at ex:a . ex:p2 ex:at ex:a . ex:p3 ex:at ex:b .", None, "a"),
        (TWINS + "ex:p1 ex:at ex:a . ex:p2 ex:at ex:b . ex:p3 ex:at ex:b .", "older", "a"),
        (TWINS + "ex:a ex:x 1 . GRAPH ex:g { ex:b ex:note 1 }", "ex:g", "b"),
        (TWINS + "ex:b skos:inScheme ex:s .", "ex:s", "b"),
        (TWINS + "ex:a skos:inScheme ex:s .", "ex:s", "a"),
    ],
)
def test_one_rule_says_which_entity_stays(data: str, keep: str | None, kept: str) -> None:
    with made(others() + data) as world:
        (pair,) = world.curation.duplicates(keep=keep)
        assert (pair.action, short(pair.subjects)[0]) == ("merge", kept)
        (proposal,) = world.proposals.add_all([pair])
        assert short(proposal.merged)[0] == kept
        world.proposals.accept(proposal.id)
        assert len(world.curation.duplicates()) == 0


def test_between_two_graphs_the_first_one_stays() -> None:
    data = (
        others()
        + f"GRAPH ex:g {{ {twin('ex:a', 'Massachusetts Institute')} }}"
        + twin("ex:b", "Massachusets Institute")
    )
    with made(data) as world:
        for between, kept in ((("ex:g", "default"), "a"), (("default", "ex:g"), "b")):
            (pair,) = world.curation.duplicates(between=between)
            assert short(pair.subjects)[0] == kept


@pytest.mark.parametrize(
    ("one", "other", "action"),
    [
        ("Massachusetts Institute", "Institute, Massachusetts", "skos:exactMatch"),
        ("Massachusetts Institute", "Massachusets Institute", "skos:closeMatch"),
    ],
)
def test_concepts_of_two_schemes_are_matched(one: str, other: str, action: str) -> None:
    data = others() + twin("ex:a", one, "; skos:inScheme ex:s") + twin("ex:b", other, "; skos:inScheme ex:t")
    with made(data) as world:
        (pair,) = world.curation.duplicates()
        assert pair.action == action
        (proposal,) = world.proposals.add_all([pair])
        assert (proposal.kind, proposal.merged) == ("duplicate", ())
        world.proposals.accept(proposal.id)
        assert world.count("ex:a", action, "ex:b") == 1
        assert len(world.curation.duplicates()) == 0
        assert [one.how for one in world.curation.decisions()] == ["accepted"]
        world.undo(world.history(1)[0].revision)
        world.proposals.reject(proposal.id)
        assert len(world.curation.duplicates()) == 0, "what was rejected does not come again"
        assert [(one.how, one.same) for one in world.curation.decisions()] == [("rejected", False)]
        assert [one.action for one in world.curation.duplicates(again=True)] == ["different"]


def test_one_above_the_other_is_no_merge() -> None:
    data = (
        others()
        + twin("ex:a", "Massachusetts Institute", "; skos:broader ex:b")
        + twin("ex:b", "Massachusetts Institute")
    )
    with made(data) as world:
        (pair,) = world.curation.duplicates(score=0.01)
        assert pair.action == "different"
        (proposal,) = world.proposals.add_all([pair])
        assert (proposal.kind, proposal.score, proposal.confidence) == ("different", None, None)
        world.proposals.accept(proposal.id)
        assert len(world.curation.duplicates(score=0.01)) == 0
        assert [one.how for one in world.curation.decisions()] == ["distinct"]


def test_the_graph_of_a_source_stays_apart(tmp_path: Path) -> None:
    (tmp_path / "theirs.ttl").write_text(PREFIXES + twin("ex:a", "Massachusetts Institute"))
    with made(others() + twin("ex:b", "Massachusets Institute")) as world:
        world.sources.add(str(tmp_path), name="theirs")
        world.sources.sync()
        (pair,) = world.curation.duplicates()
        assert pair.action == "owl:sameAs"
        (proposal,) = world.proposals.add_all([pair])
        world.proposals.accept(proposal.id)
        assert len(world.curation.duplicates()) == 0


def test_what_was_decided_is_not_proposed_again(long: bool) -> None:
    """Each night pairs are found and proposed; by day some are accepted, rejected, or merged and split, by chance."""
    chance = random.Random(7)
    lines = [others()]
    for n in range(0, 100, 2):
        scheme = f" ; skos:inScheme ex:s{n % 4}" if n % 5 == 0 else ""
        lines += [line.replace(f"ex:p{n} ", f"ex:q{n} ") + "\n" for line in others().split("\n")[n : n + 1]]
        lines += [f"ex:p{n} skos:inScheme ex:s9 . ex:q{n} a ex:Person{scheme} ." if scheme else ""]
    decided: set[frozenset[Any]] = set()
    with made("\n".join(lines)) as world:
        for night in range(50 if long else 5):
            found = world.curation.duplicates(score=0.2, keep=chance.choice(["links", "older"]))
            proposals = world.proposals.add_all(found, author="finder")
            open_ones = world.proposals.list(kind="duplicate")
            pairs = {one.id: frozenset(one.merged or (one.added[0][0], one.added[0][2])) for one in open_ones}
            again = [pairs[one.id] for one in proposals if pairs.get(one.id) in decided]
            assert not again, f"night {night}: {again}"
            for one in chance.sample(list(open_ones), min(4, len(open_ones))):
                how = chance.choice(["accept", "reject", "split", "distinct"])
                if how == "reject":
                    world.proposals.reject(one.id)
                elif how == "distinct":
                    world.curation.distinct(*pairs[one.id])
                    world.proposals.reject(one.id)
                else:
                    change = world.proposals.accept(one.id, force=True)
                    if how == "split" and one.merged and change.revision is not None:
                        world.curation.split(change.revision)
                decided.add(pairs[one.id])
            # By day a value comes and links lead elsewhere, so that scores and directions change.
            n = chance.randrange(100)
            world.add(
                [(f"ex:p{n}", "ex:knows", f"ex:q{chance.randrange(100)}"), (f"ex:z{night}", "ex:knows", f"ex:p{n}")]
            )
        assert len(decided) >= 15
