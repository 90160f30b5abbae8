"""Worlds with texts and terms that are allowed, but odd."""

from __future__ import annotations

import io
from typing import Any

import pyoxigraph as ox

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from worlds import World
from worlds.records import Solutions

EX = "http://example.org/"
P = EX + "p"
Objects = list[ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple]


def texts(world: World, query: str, **options: Any) -> list[str]:
    return [hit.text for hit in world.search(query, mode="text", **options)]


def select(world: World, query: str) -> Solutions:
    found = world.query(query)
    assert isinstance(found, Solutions)
    return found


def exported(world: World, format: str = "nq") -> bytes:
    target = io.BytesIO()
    world.export(target, format=format)
    return target.getvalue()


def quads_of(document: bytes, format: ox.RdfFormat = ox.RdfFormat.N_QUADS) -> set[ox.Quad]:
    return set(ox.parse(document, format=format))


def filled(objects: Objects, **options: Any) -> World:
    """A world with a subject for each object, some added and some loaded."""
    world = worlds.open(embedder=HashingEmbedder())
    quads = [ox.Quad(ox.NamedNode(f"{EX}{n}"), ox.NamedNode(P), value) for n, value in enumerate(objects)]
    world.add(quads[::2], **options)
    world.load(ox.serialize(quads[1::2], format=ox.RdfFormat.N_TRIPLES), format="nt", **options)
    return world


def check_kept(objects: Objects, formats: tuple[str, ...] = ("nq", "nt", "turtle", "trig", "jsonld")) -> None:
    """Every object comes out as it went in, by export, by SPARQL, and by another world that loads the export."""
    with filled(objects) as world:
        held = quads_of(exported(world))
        assert {quad.object for quad in held} == set(objects)
        assert len(world) == len(set(objects))
        assert problems(world) == []
        for format in formats:
            with worlds.open(embedder=None) as other:
                other.load(exported(world, format), format=format)
                assert quads_of(exported(other)) == held, format
                assert problems(other) == []
        for number, value in enumerate(objects):
            assert world.query("ASK { ?s ?p ?o }", bindings={"s": f"{EX}{number}", "o": value}) is True
        for quad in held:
            assert world.remove([quad]).removed == 1
        assert len(world) == 0
        assert world.stats().chunks == 0
        assert problems(world) == []
