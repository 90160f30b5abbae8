"""Prefixes for the namespaces of instances, which loading proposes."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlds
from tests.support.command_line import ok
from worlds.core.history.loading import prefixes_for

KNOWN = {"ex": "http://example.org/"}


def iris(namespace: str, count: int = 60) -> list[str]:
    return [f"{namespace}thing{number}" for number in range(count)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (iris("http://data.kites.org/id/"), {"kites": "http://data.kites.org/id/"}),
        (iris("http://kites.org/red#"), {"red": "http://kites.org/red#"}),
        (iris("http://example.org/"), {}),
        (iris("http://kites.org/", 40), {}),
        (iris("urn:x:"), {}),
        (iris("http://kites.org/") + iris("http://e.com/rare/", 4), {"kites": "http://kites.org/"}),
        (iris("http://a.org/ex/"), {"ex2": "http://a.org/ex/"}),
        (iris("http://1.2.3.4/5/"), {"i": "http://1.2.3.4/5/"}),
        (
            [one for number in range(5) for one in iris(f"http://a.org/part{number}/")],
            {f"part{number}": f"http://a.org/part{number}/" for number in range(3)},
        ),
    ],
)
def test_prefixes_of_namespaces(given: list[str], expected: dict[str, str]) -> None:
    assert prefixes_for(given, KNOWN) == expected


def test_loading_proposes_them(tmp_path: Path) -> None:
    lines = [f'<{one}> <http://kites.org/name> "kite" .' for one in iris("http://data.kites.org/flown/")]
    (tmp_path / "kites.nt").write_text("\n".join(lines))
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.load(tmp_path / "kites.nt", dry_run=True)
        assert "flown" not in world.prefixes
        world.load(tmp_path / "kites.nt")
        assert world.prefixes["flown"] == "http://data.kites.org/flown/"
        world.bind("flown", "http://other.org/")
        world.load(tmp_path / "kites.nt")
        assert world.prefixes["flown"] == "http://other.org/"
    query = "PREFIX own: <http://data.kites.org/> SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 1"
    assert "flown2:thing0" in ok("sparql", tmp_path / "kb.db", query)
    query = query.replace("kites.org/>", "kites.org/flown/>").replace("own:", "mine:")
    assert ":thing0" in ok("sparql", tmp_path / "kb.db", query)
