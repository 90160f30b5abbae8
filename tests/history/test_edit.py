"""World.edit: what it removes and adds is one revision, and what changed meanwhile is not overwritten."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.readback import EX
from worlds import World
from worlds.errors import ConflictError

QUAD = st.tuples(st.sampled_from([f"{EX}a", f"{EX}b", f"{EX}c"]), st.just(f"{EX}p"), st.integers(0, 3))
QUADS = st.lists(QUAD, max_size=3)
EDITS = st.lists(st.tuples(QUADS, QUADS, st.integers(0, 3)), max_size=12)


def held(world: World) -> set[tuple[str, int]]:
    return {(str(s), int(o)) for s, _, o, _ in world.quads()}


@given(EDITS)
def test_an_edit_is_refused_if_and_only_if_a_subject_of_it_changed_since(edits: list[Any]) -> None:
    model: set[tuple[str, int]] = set()
    touched: dict[str, int] = {}  # subject → the last revision that changed it
    last = 0
    with worlds.open(embedder=None) as world:
        for add, remove, age in edits:
            base = max(0, last - age)
            new = {(s, o) for s, _, o in add}
            gone = {(s, o) for s, _, o in remove} - new
            stale = any(touched.get(s, 0) > base for s, _ in new | {(s, o) for s, _, o in remove})
            rehearsed = None
            with contextlib.suppress(ConflictError):
                rehearsed = world.edit(add=add, remove=remove, base=base, dry_run=True)
            assert (rehearsed is None) == stale
            assert held(world) == model
            if stale:
                with pytest.raises(ConflictError, match="changed after revision"):
                    world.edit(add=add, remove=remove, base=base)
            else:
                change = world.edit(add=add, remove=remove, base=base)
                came, went = new - model, gone & model
                assert (change.added, change.removed) == (len(came), len(went))
                assert rehearsed is not None
                assert (len(rehearsed.added), len(rehearsed.removed)) == (len(came), len(went))
                model = (model - went) | came
                if came or went:
                    last = change.revision or 0
                    touched |= {s: last for s, _ in came | went}
            assert held(world) == model


def test_the_base_holds_in_a_transaction_in_a_scope_and_after_an_undo() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("", EX)
        world.add([(":a", ":p", 1, ":g"), (":b", ":p", 1, ":g")])
        base = world.history(1)[0].revision
        with world.transaction(base=base):  # its own writes are no conflict
            world.add([(":a", ":p", 2, ":g")])
            world.edit(remove=[(":a", ":p", 1, ":g")], add=[(":a", ":p", 3, ":g")])
        with pytest.raises(ConflictError), world.transaction(base=base):
            world.add([(":b", ":q", 1)])
            world.add([(":a", ":q", 1)])
        assert world.count(":b", ":q") == 0
        scoped = world.only(graphs=":g")
        with pytest.raises(ConflictError):
            scoped.edit(add=[(":a", ":p", 9)], base=base)
        # What changes in graphs that a scope does not see is none of its conflicts; what goes in its own is one.
        world.edit(add=[(":b", ":p", 5, ":other")])
        assert scoped.edit(add=[(":b", ":p", 9)], base=base).added == 1
        seen = scoped.entities.form(":b", types=":T").revision
        world.edit(add=[(":b", ":p", 6, ":other")])
        assert scoped.edit(add=[(":b", ":p", 7)], base=seen).added == 1
        world.edit(remove=[(":b", ":p", 7, ":g")])
        with pytest.raises(ConflictError):
            scoped.edit(add=[(":b", ":p", 8)], base=scoped.entities.form(":b", types=":T").revision - 1)
        assert scoped.edit(add=[(":b", ":p", 7)], base=scoped.entities.form(":b", types=":T").revision).added == 1
        world.undo(world.history(1)[0].revision)
        with pytest.raises(ConflictError):  # it is as it was, but somebody has been there
            world.edit(add=[(":b", ":p", 8)], base=base)
        assert world.edit(add=[(":b", ":p", 8)], base=world.history(1)[0].revision).added == 1
