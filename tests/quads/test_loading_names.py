"""What a load says of the names in a document: imports that nobody loaded, and a prefix that is the search's own."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib

import worlds
from tests.support.tables import run
from worlds import World

SEARCH = "SELECT * {SERVICE w:search {?h w:query 'mars' ; w:subject ?s ; w:limit 1}}"
OWL = "@prefix owl: <http://www.w3.org/2002/07/owl#> . "


def test_imports_that_are_not_loaded_are_named() -> None:
    with worlds.open(embedder=None) as world:
        document = (
            OWL + "<http://x/o> a owl:Ontology ; owl:imports <http://x/a>, <http://x/1>, <http://x/o>, <http://x/g> ."
        )
        others = OWL + "<http://x/b> owl:versionIRI <http://x/1> ."
        world.load(b"<urn:s> <urn:p> <urn:o> .", format="turtle", graph="http://x/g")
        (told,) = world.load([document.encode(), others.encode()], format="turtle", dry_run=True).notes
        assert told == "imported by owl:imports, and not loaded: <http://x/a>"
        assert world.load([document.encode(), others.encode()], format="turtle").notes == (told,)
        assert not world.load(b"<http://x/a> <urn:p> 1 . <http://x/o> <urn:p> 2 .", format="turtle").notes
        assert not world.load(document.encode(), format="turtle").notes


def solutions(world: World, query: str) -> list[Any]:
    """The solutions of a SELECT."""
    return list(world.query(query))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["load", "patch", "older"])
def test_w_is_the_searchs_own_whatever_a_file_declares(how: str) -> None:
    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "rdfs:label", rdflib.Literal("mars"))])
        if how == "load":
            (told,) = world.load(b"@prefix w: <http://e/w#> . w:x w:y w:z .", format="turtle").notes
            assert "<http://e/w#>" in told
        elif how == "patch":
            world.revisions.apply(b'TX .\nPA "w" <urn:evil#> .\nTC .\n', strict=False)
        else:
            run(world, "INSERT INTO prefixes (prefix, iri) VALUES ('w', 'http://e/w#')")
        assert [str(row[0]) for row in solutions(world, SEARCH.replace("*", "?s"))] == ["urn:a"]
        assert "w" not in world.prefixes
        with pytest.raises(ValueError, match="search's own"):
            world.bind("w", "http://e/w#")
        world.bind("w", "urn:worlds:")
        assert len(solutions(world, SEARCH)) == 1
        assert len(solutions(world, "PREFIX w: <http://e/w#> SELECT * { w:x ?p ?o }")) == (how == "load")
