"""The nightly job: load a partner's file, find duplicates, propose, accept; with edits between, night after night."""

from __future__ import annotations

import random

from rdflib import Literal

import worlds
from worlds import World

EX = "http://example.org/"
OWN, PARTNER = EX + "own", EX + "partner"
FIRST = ["Ann", "Bob", "Carla", "David", "Eva", "Frank", "Greta", "Hans", "Ines", "Jonas", "Karin", "Lukas"]
LAST = ["Abel", "Brandt", "Curie", "Dirac", "Euler", "Fermi", "Gauss", "Hertz", "Ising", "Joule", "Kepler", "Lagrange"]


def person(iri: str, name: str, born: str, city: int, phone: int) -> list[str]:
    return [
        f"<{iri}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Person>",
        f'<{iri}> <http://www.w3.org/2000/01/rdf-schema#label> "{name}"',
        f'<{iri}> <{EX}born> "{born}"^^<http://www.w3.org/2001/XMLSchema#date>',
        f"<{iri}> <{EX}city> <{EX}city{city}>",
        f'<{iri}> <{EX}phone> "{phone}"',
    ]


def files(draw: random.Random) -> tuple[bytes, bytes, set[frozenset[str]]]:
    """Our file, the partner's, and which pairs are one: namesakes and siblings of one address are two."""
    own: list[str] = []
    theirs: list[str] = []
    truth: set[frozenset[str]] = set()
    for number in range(144):
        first, last = FIRST[number % 12], LAST[number // 12]
        born, phone = f"{1930 + number % 60}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}", draw.randrange(10**6, 10**7)
        told = number % 7, phone
        if number % 3 != 2:
            own += person(f"{EX}o{number}", f"{first} {last}", born, *told)
        if number % 3 != 0:
            written = f"{last}, {first}" if draw.random() < 0.5 else f"{first} {last[:-2]}{last[-1]}{last[-2]}"
            theirs += person(f"{EX}p{number}", written, born, *told)
        if number % 3 == 1:
            truth.add(frozenset({f"{EX}o{number}", f"{EX}p{number}"}))
        if number % 9 == 0:  # a namesake of another age, and a sibling at the same address
            other = f"{1850 + number % 50}-11-2{draw.randint(0, 9)}"
            theirs += person(f"{EX}n{number}", f"{first} {last}", other, (number + 3) % 7, draw.randrange(10**6, 10**7))
            theirs += person(
                f"{EX}s{number}", f"{FIRST[(number + 5) % 12]}a {last}", f"{1999 - number % 40}-12-30", *told
            )
    return _file(own, OWN), _file(theirs, PARTNER), truth


def _file(lines: list[str], graph: str) -> bytes:
    return "".join(f"{line} <{graph}> .\n" for line in lines).encode()


def edited(world: World, night: int, draw: random.Random) -> None:
    """What people do by day: a name is corrected, a value comes, another goes."""
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    labels = [quad for quad in world.quads(None, label, graph=OWN) if "own" in str(quad[3])]
    subject, _, name, graph = draw.choice(labels)
    world.remove([(subject, label, name, graph)])
    world.add(
        [
            (subject, label, Literal(f"{name} Jr."), graph),
            (subject, EX + "note", Literal(f"seen in night {night}"), graph),
        ]
    )
    quad = draw.choice(list(world.quads(None, EX + "city", graph=OWN)))
    world.remove([quad])


def test_night_after_night_nothing_is_merged_wrongly_or_twice(long: bool) -> None:
    draw = random.Random(11)
    own, theirs, truth = files(draw)
    merged: list[frozenset[str]] = []
    with worlds.open(embedder=None) as world:
        world.load(own, format="nq", author="us")
        for night in range(10 if long else 2):
            world.load(theirs, format="nq", author="partner")
            found = world.curation.duplicates(between=(OWN, PARTNER), score=0.9)
            proposals = world.proposals.add_all(found, author="finder")
            world.proposals.accept_all([one.id for one in proposals], reviewer="ann")
            merged += [frozenset(map(str, one.merged)) for one in proposals]
            assert set(merged) <= truth, set(merged) - truth
            assert len(merged) == len(set(merged)), "merged twice"
            edited(world, night, draw)
        assert len(merged) >= 0.9 * len(truth)
        assert world.check().ok
