"""A write that is only tried says what would follow from it, and what no longer would."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import worlds
from tests.conclusions.test_following import quads
from tests.support.command_line import run
from tests.support.concluding import as_quad, concluded

T = "urn:t:"
TYPES = [(f"{T}Owl", "rdfs:subClassOf", f"{T}Bird"), (f"{T}Bird", "rdfs:subClassOf", f"{T}Animal")]


@pytest.mark.parametrize("seed", range(2))
def test_it_says_what_the_write_then_does(seed: int) -> None:
    draw = random.Random(seed)
    with worlds.open(":memory:", embedder=None) as world:
        world.add(quads(draw, 15))
        world.rules.use("rdfs+")
        for _ in range(8):
            new, old = quads(draw, 3), draw.sample(list(world.quads()), 3)
            before = concluded(world)
            told = world.edit(add=new, remove=old, dry_run=True)
            assert concluded(world) == before
            world.edit(add=new, remove=old)
            after = concluded(world)
            assert set(map(as_quad, told.concluded)) == after - before
            assert set(map(as_quad, told.retracted)) == before - after
            with pytest.raises(ZeroDivisionError), world.transaction():
                world.add(quads(draw, 2))
                before = concluded(world)
                told = world.remove(new[:2], dry_run=True)
                world.remove(new[:2])
                assert set(map(as_quad, told.retracted)) == before - concluded(world)
                raise ZeroDivisionError


def test_it_is_said_in_words(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add(TYPES)
        world.rules.use("rdfs")
        told = world.add([(f"{T}tawny", "rdf:type", f"{T}Owl")], dry_run=True)
        (note,) = told.notes
        assert note.startswith(f"2 quads would follow by the rules: {T}tawny".replace(T, "<" + T))
        assert told.to_dict()["counts"] == {"added": 1, "removed": 0, "concluded": 2}
        assert [row[2] for row in told.to_dict()["concluded"]] == [f"<{T}Bird>", f"<{T}Animal>"]
        (note,) = world.remove(TYPES[:1], dry_run=True).notes
        assert note.startswith("1 quad would no longer follow by the rules")
        assert world.only(graphs="default").remove(TYPES[:1], dry_run=True).notes == ()
        number = world.proposals.add(add=[(f"{T}barn", "rdf:type", f"{T}Owl")]).id
        assert (
            world.proposals.accept(number, dry_run=True).notes
            == world.add([(f"{T}barn", "rdf:type", f"{T}Owl")], dry_run=True).notes
        )
        whole = world.add([(f"{T}n{n}", "rdf:type", f"{T}Owl") for n in range(2500)], dry_run=True)
        assert whole.notes == ("what follows by the rules was made anew as a whole: 5,001 quads, 1 before",)
    new = path.with_name("new.nt")
    new.write_text(f"<{T}tawny> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{T}Owl> .")
    shown = run("load", str(path), str(new), "--dry-run")
    assert "2 quads would follow by the rules" in shown.stderr + shown.stdout
