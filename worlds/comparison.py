"""Compares two worlds, two files, or a file and a world."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from worlds.core.history.dataset_comparison import Comparison, compared
from worlds.errors import ArgumentError
from worlds.graph.blanknodes import blank_nodes, renamed
from worlds.graph.formats import FORMATS, rdflib_quads
from worlds.graph.parsing import parsing
from worlds.graph.rdf_sources import sources
from worlds.graph.terms import WELL_KNOWN_PREFIXES
from worlds.world import SUFFIXES, open

_Quads = Iterator[ox.Quad]


def compare(
    a: object, b: object, *, base: object = None, graph: str | None = None, format: str | None = None
) -> Comparison:
    """Compare `b` with `a`: each is a world, a past state of one, or RDF as `load` takes it.

    A path that ends in .db, .world or .sqlite is a world's. Blank nodes are matched by what they have, as in
    `load(mode="replace")`, in bounded time. With a `base`, which both come from, `conflicts` tells what both changed in
    different ways. `graph` (an IRI) is the graph of a world that is compared, and where all quads of documents are put.
    `format` is that of documents, guessed if None. Everything is read into memory. ParseError and OpenError as with
    `load`.
    """
    if graph is not None and not isinstance(graph, str):
        raise TypeError(f"graph must be an IRI, or None, not {graph!r}")
    try:
        target = None if graph is None else ox.NamedNode(graph)
    except ValueError as error:
        raise ArgumentError(f"{graph!r} is not an IRI: {error}", kind="graph") from error
    prefixes = dict(WELL_KNOWN_PREFIXES)
    mine, theirs, old = (None if side is None else _quads(side, target, format, prefixes) for side in (a, b, base))
    if mine is None or theirs is None:
        raise TypeError("a and b are worlds or RDF, not None")
    found = compared(mine, theirs, old)
    found.prefixes = prefixes
    return found


def _quads(side: Any, graph: ox.NamedNode | None, format: str | None, prefixes: dict[str, str]) -> _Quads:
    if hasattr(side, "export"):
        prefixes.update(getattr(side, "prefixes", {}))
        yield from _of_world(side, graph)
    elif isinstance(side, str | os.PathLike) and Path(side).suffix in SUFFIXES:
        with open(side, embedder=None, read_only=True) as world:
            prefixes.update(world.prefixes)
            yield from _of_world(world, graph)
    elif hasattr(side, "triples"):
        yield from _put(rdflib_quads(side), graph)
    else:
        for place, document in enumerate(sources(side, format=format)):
            with parsing(document) as parsed:
                quads = _put(parsed, graph)
                if not FORMATS[document.format].graphs and graph is None:
                    quads = (ox.Quad(quad.subject, quad.predicate, quad.object) for quad in quads)
                yield from quads if place == 0 else _renamed(quads)
                prefixes.update(parsed.prefixes)


def _of_world(world: Any, graph: ox.NamedNode | None) -> _Quads:
    target = io.BytesIO()
    world.export(target, format="nq")
    for quad in ox.parse(target.getvalue(), format=ox.RdfFormat.N_QUADS):
        if graph is None or quad.graph_name == graph:
            yield quad


def _put(quads: Any, graph: ox.NamedNode | None) -> _Quads:
    if graph is None:
        yield from quads
    else:
        for quad in quads:
            yield ox.Quad(quad.subject, quad.predicate, quad.object, graph)


def _renamed(quads: _Quads) -> _Quads:
    """The quads of another document, with blank-node labels of its own."""
    names: dict[ox.BlankNode, ox.BlankNode] = {}
    for quad in quads:
        for node in blank_nodes(quad):
            names.setdefault(node, ox.BlankNode())
        yield renamed(quad, names)
