"""The default graph: strict, or the union of all graphs, by the world, by the call, or by the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlds
from worlds import World

UNION = "urn:x-arq:UnionGraph"
ALL = ["d", "g", "h"]


@pytest.fixture
def world() -> World:
    world = worlds.open(embedder=None)
    world.bind("", "urn:")
    world.update("INSERT DATA { :s :in 'd' GRAPH :g { :s :in 'g' } GRAPH :h { :s :in 'h' } }")
    return world


def graphs(world: Any, clause: str = "", **options: Any) -> list[str]:
    return sorted(str(row[0]) for row in world.query(f"SELECT ?where {clause} {{ :s :in ?where }}", **options))


def test_the_setting_is_kept_in_the_file(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        assert world.default_graph == "strict"
        world.default_graph = "union"
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        assert world.default_graph == "union"
        with pytest.raises(ValueError, match="default_graph is 'strict' or 'union', not 'all'"):
            world.default_graph = "all"  # type: ignore[assignment]  # that is the point
        world.default_graph = "strict"
        assert world.default_graph == "strict"


def test_queries_see_what_the_world_says_unless_they_say_otherwise(world: World) -> None:
    assert graphs(world) == ["d"]
    assert graphs(world, union=True) == ALL
    world.default_graph = "union"
    assert graphs(world) == graphs(world.at(1)) == ALL
    assert graphs(world, union=False) == graphs(world.at(1), union=False) == ["d"]
    assert graphs(world, "FROM :g") == ["g"]
    assert graphs(world, "FROM NAMED :g") == ALL
    assert graphs(world, default_graphs=["urn:h"]) == ["h"]
    assert graphs(world, named_graphs=["urn:h"]) == []
    assert world.explain("SELECT * { :s :in ?where }").results == 3
    assert world.explain("SELECT * { :s :in ?where }", union=False).results == 1


def test_graph_takes_the_name_of_the_union(world: World) -> None:
    world.update("INSERT DATA { GRAPH :g { :t :next :s } }")
    rows = world.query(f"SELECT ?where {{ GRAPH <{UNION}> {{ :t :next ?s . ?s :in ?where }} }}")
    assert isinstance(rows, worlds.Solutions)
    assert sorted(str(row[0]) for row in rows) == ALL, "patterns join across graphs"
    assert world.query("PREFIX arq: <urn:x-arq:> ASK { GRAPH arq:UnionGraph { :s :in 'h' } GRAPH :g { :s :in 'g' } }")
    mixed = f"SELECT ?where {{ :s :in 'd' GRAPH <{UNION}> {{ :s :in ?where }} }}"
    assert not list(world.query(mixed)), "the default graph alone, and all graphs, cannot be asked together"  # type: ignore[arg-type]  # a SELECT
    assert len(list(world.query(mixed, union=True))) == 3  # type: ignore[arg-type]  # a SELECT
    change = world.update(f"INSERT {{ :t :at ?where }} WHERE {{ GRAPH <{UNION}> {{ :t :next ?s . ?s :in ?where }} }}")
    assert change.added == 3


@pytest.mark.parametrize("setting", ["strict", "union"])
def test_the_name_of_the_union_stands_for_all_graphs(world: World, setting: Any) -> None:
    world.default_graph = setting
    assert graphs(world, f"FROM <{UNION}>") == ALL
    assert graphs(world, default_graphs=[UNION]) == ALL
    named = "SELECT ?g { :s :in 'g' GRAPH ?g { :s :in ?where } }"
    assert len(world.query(named, default_graphs=[UNION])) == 2  # type: ignore[arg-type]  # a SELECT
    assert len(world.query(named, default_graphs=[UNION], named_graphs=["urn:h"])) == 1  # type: ignore[arg-type]


def test_patterns_of_updates_see_it_too(world: World) -> None:
    copy = "INSERT { :s :found ?where } WHERE { :s :in ?where }"
    world.default_graph = "union"
    assert world.update(copy, union=False).added == 1
    assert world.update(copy).added == 2
    assert world.update("INSERT { :t :found ?where } USING :g WHERE { :s :in ?where }").added == 1
    world.default_graph = "strict"
    assert world.update(f"INSERT {{ :u :found ?where }} USING <{UNION}> WHERE {{ :s :in ?where }}").added == 3
    assert world.update("INSERT { :v :found ?where } WHERE { :s :in ?where }", using_graphs=[UNION]).added == 3
    assert world.update("WITH :g INSERT { :s :found ?where } WHERE { :s :in ?where }").added == 1
