"""What a world concludes, for tests: the table, as quads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyoxigraph as ox

import worlds
from tests.support import tables
from worlds.graph.terms import to_oxigraph


def concluded(world: worlds.World) -> set[ox.Quad]:
    """The conclusions that a world keeps."""
    rows = tables.rows(world, "SELECT subject, predicate, object, graph FROM conclusions")
    terms = tables.terms(world, {number for row in rows for number in row})
    return {ox.Quad(*(terms[number] for number in row)) for row in rows}


def written(world: worlds.World) -> set[ox.Quad]:
    """The quads that are written."""
    return set(map(as_quad, world.quads()))


def as_quad(quad: Sequence[Any]) -> ox.Quad:
    """A quad of four rdflib terms, the fourth None in the default graph."""
    graph = ox.DefaultGraph() if quad[3] is None else to_oxigraph(quad[3])
    return ox.Quad(*map(to_oxigraph, quad[:3]), graph)  # type: ignore[call-arg, arg-type]  # three terms
