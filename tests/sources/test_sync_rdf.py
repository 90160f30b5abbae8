"""Keeping in step with files of RDF: the graph is that of a fresh load, up to blank nodes, and nothing comes twice."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import Literal, URIRef

import worlds
from worlds import World

SPACE = Path(__file__).resolve().parents[2] / "examples" / "space.ttl"
BLANK = b"""@prefix ex: <https://example.org/> .
ex:a ex:at [ ex:street "Long" ; ex:number 1 ] , [ ex:street "Short" ; ex:number 2 ] . ex:b ex:at [ ex:street "Long" ] .
"""


def opened() -> World:
    return worlds.open(":memory:", embedder=None)


def canonical(world: World, graph: object) -> ox.Dataset:
    """The graph with the labels of RDFC-1.0, so that two with other blank nodes are equal."""
    out = io.BytesIO()
    world.export(out, format="nt", graph=graph)
    found = ox.Dataset(ox.parse(out.getvalue(), format=ox.RdfFormat.N_TRIPLES))
    found.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return found


def fresh(*files: Path) -> ox.Dataset:
    with opened() as world:
        world.load([str(file) for file in files], graph="urn:g", embed=False)
        return canonical(world, "urn:g")


def test_one_entity_is_that_entitys_difference_and_the_same_file_is_no_revision(tmp_path: Path) -> None:
    file = tmp_path / "space.ttl"
    file.write_bytes(SPACE.read_bytes())
    with opened() as world:
        source = world.sources.add(str(file))
        assert (source.kind, source.name) == ("rdf", "space")
        assert world.sources.sync()[0].revision == 1
        file.touch()
        assert world.sources.sync()[0].revision is None
        file.write_text(file.read_text().replace('"Apollo 11"', '"Apollo XI"'))
        (run,) = world.sources.sync()
        assert (run.changed, run.revision) == (("space.ttl",), 2)
        assert 0 < run.added == run.removed < 10
        assert canonical(world, source.graph) == fresh(file)


def test_files_of_a_folder_are_one_graph(tmp_path: Path) -> None:
    one, two = tmp_path / "one.ttl", tmp_path / "two.nt"
    one.write_bytes(BLANK)
    two.write_text('<https://example.org/b> <https://example.org/p> "b" .\n')
    with opened() as world:
        graph = world.sources.add(str(tmp_path), "both").graph
        assert world.sources.sync()[0].new == ("one.ttl", "two.nt")
        assert canonical(world, graph) == fresh(one, two)
        one.write_text("@prefix broken")
        for _ in range(2):
            (run,) = world.sources.sync()
            assert [error.path for error in run.errors] == ["one.ttl"]
            assert run.revision is None, "what was read of it is kept"
        two.write_text('<https://example.org/b> <https://example.org/p> "c" .\n')
        (run,) = world.sources.sync()
        assert (run.added, run.removed) == (1, 0), "what the other file lost goes when all can be read"
        one.write_bytes(BLANK)
        (run,) = world.sources.sync()
        assert run.errors == ()
        assert canonical(world, graph) == fresh(one, two)
        one.unlink()
        assert world.sources.sync()[0].deleted == ("one.ttl",)
        assert canonical(world, graph) == fresh(two)
        two.unlink()
        assert world.sources.sync()[0].deleted == ("two.nt",)
        assert len(world) == 0
        assert world.sources.sync()[0].revision is None


def test_edits_are_kept_three_ways(tmp_path: Path) -> None:
    file = tmp_path / "d.ttl"
    lines = [f'<https://example.org/{n}> <https://example.org/name> "{n}" .' for n in range(9)]
    file.write_text("\n".join(lines))
    with opened() as world:
        graph = str(world.sources.add(str(file), edits="keep").graph)
        world.sources.sync()
        world.add([("https://example.org/1", "https://example.org/note", Literal("mine"), graph)])
        lines[2] = '<https://example.org/2> <https://example.org/name> "two" .'
        file.write_text("\n".join(lines))
        (run,) = world.sources.sync()
        assert (run.added, run.removed) == (1, 1)
        own = (URIRef("https://example.org/1"), URIRef("https://example.org/note"), Literal("mine"), URIRef(graph))
        assert own in set(world.quads())
        world.remove([("https://example.org/3", "https://example.org/name", Literal("3"), graph)])
        world.add([("https://example.org/3", "https://example.org/name", Literal("drei"), graph)])
        lines[3] = '<https://example.org/3> <https://example.org/name> "three" .'
        file.write_text("\n".join(lines))
        (run,) = world.sources.sync()
        assert any("conflict" in note for note in run.notes)
        assert len(world.proposals.list()) == 1
        assert world.sources.sync()[0].revision is None
        assert len(world.proposals.list()) == 1


def edited(lines: list[str], draw: random.Random) -> None:
    """Change, drop and add some lines of N-Triples."""
    for _ in range(5):
        place = draw.randrange(len(lines))
        match draw.randint(0, 2):
            case 0:
                lines[place] = lines[draw.randrange(len(lines))]
            case 1:
                lines[place] = _word(lines[place], draw) if '"' in lines[place] else lines[0]
            case 2:
                lines.append(f'<https://example.org/{draw.randint(0, 99)}> <https://example.org/p> "{draw.random()}" .')
    if draw.random() < 0.5:
        draw.shuffle(lines)  # other labels in other places are the same graph


def _word(line: str, draw: random.Random) -> str:
    first, _, rest = line.partition('"')
    return f'{first}"{draw.randint(0, 99)} {rest}'


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["uat", "d3fend", "fibo"])
def test_a_vocabulary_that_is_edited_again_and_again(
    name: str, tmp_path: Path, shared_data: Path, pytestconfig: pytest.Config
) -> None:
    rounds = 67 if pytestconfig.getoption("--long") else 2
    if name != "uat" and not pytestconfig.getoption("--long"):
        pytest.skip("takes minutes: run with --long")
    lines = gzip.decompress((shared_data / name / f"{name}.nt.gz").read_bytes()).decode().splitlines()
    file = tmp_path / "data.nt"
    draw = random.Random(9)
    with opened() as world:
        graph = world.sources.add(str(file.parent), "data", kind="rdf").graph
        for _ in range(rounds):
            file.write_text("\n".join(lines) + "\n")
            world.sources.sync(embed=False)
            assert canonical(world, graph) == fresh(file)
            assert world.sources.sync(again=True)[0].revision is None
            edited(lines, draw)
