"""Any proposals, decisions, merges, splits, undoes and guarded writes, against a plain model."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import worlds
from tests.support.curating import SHAPES, decisions, state
from tests.support.readback import EX, quads_of
from worlds.core.quads.redirects import REDIRECTS

DEFAULT = ox.DefaultGraph()
SAME = ox.NamedNode("http://www.w3.org/2002/07/owl#sameAs")
COMMENT = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#comment")
names = st.sampled_from("abcd").map(lambda name: ox.NamedNode(EX + name))
predicates = st.sampled_from(["p", "q", "born"]).map(lambda name: ox.NamedNode(EX + name))
texts = st.sampled_from(["kite", "heron"]).map(ox.Literal)
some_quads = st.lists(st.builds(ox.Quad, names, predicates, st.one_of(names, texts), st.just(DEFAULT)), max_size=4)
picks = st.integers(0, 1000)


def moved(quad: ox.Quad, old: Any, kept: Any) -> ox.Quad:
    """What a merge makes of a quad of names and texts."""
    subject: Any = kept if quad.subject == old else quad.subject
    value: Any = kept if quad.object == old else quad.object
    return ox.Quad(quad.subject if quad.graph_name == REDIRECTS else subject, quad.predicate, value, quad.graph_name)


def merged(quads: set[ox.Quad], old: Any, kept: Any) -> set[ox.Quad]:
    after = {moved(quad, old, kept): quad for quad in quads}
    stays = {new for new, quad in after.items() if new.subject != new.object or quad.subject == quad.object}
    stays |= {quad for quad in quads if quad.subject == quad.object and quad.subject not in (old, kept)}
    loops = {quad for quad in quads if quad.subject == quad.object and quad.subject in (old, kept)}
    return stays | {moved(quad, old, kept) for quad in loops} | {ox.Quad(old, SAME, kept, REDIRECTS)}


class CurationMachine(RuleBasedStateMachine):
    """Keeps the quads, the proposals and what was decided; the world must say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.world = worlds.open(embedder=None)
        self.world.policy = self.world.policy.with_(follow_merges=False)
        self.world.load(SHAPES, format="turtle", graph="urn:worlds:shapes")
        self.shapes = quads_of(self.world)
        self.states: list[set[ox.Quad]] = [set(), set()]  # by revision, without the shapes
        self.proposals: dict[int, tuple[str, set[ox.Quad], set[ox.Quad]]] = {}  # status, to add, to remove
        self.accepted: dict[int, int] = {}  # revision → proposal
        self.waiting: dict[int, int] = {}  # revision that took back an accepted one → proposal

    def teardown(self) -> None:
        report = self.world.check()
        assert report.ok, str(report)
        self.world.close()

    @property
    def now(self) -> set[ox.Quad]:
        return self.states[-1]

    def expect(self, change: worlds.records.Change, after: set[ox.Quad]) -> None:
        if after != self.now:
            assert change.revision == len(self.states)
            self.states.append(after)
        else:
            assert change.revision is None

    def brings(self, after: set[ox.Quad]) -> bool:
        """Whether a write would bring new violations."""

        def several(quads: set[ox.Quad]) -> set[Any]:
            born = [quad.subject for quad in quads if quad.predicate.value == EX + "born"]
            return {subject for subject in born if born.count(subject) > 1}

        return bool(several(after) - several(self.now))

    def rejected(self, after: set[ox.Quad]) -> bool:
        """Whether the guard rejects a write."""
        return self.world.shapes.guard == "reject" and self.brings(after)

    def attempt(self, write: Any, after: set[ox.Quad]) -> worlds.records.Change | None:
        """Make a write as the guard lets it be made; gives the change, None if it was rejected or waits."""
        if self.rejected(after):
            with pytest.raises(worlds.ValidationError):
                write()
            return None
        change: worlds.records.Change = write()
        if self.world.shapes.guard == "queue" and self.brings(after):
            assert change.revision is None
            number = max(one.id for one in self.world.proposals.list())
            assert any(f"proposal {number} waits" in note for note in change.notes)
            assert number not in self.proposals
            self.proposals[number] = ("open", after - self.now, self.now - after)
            return None
        if self.world.shapes.guard == "warn" and self.brings(after):
            assert any("new violation" in note for note in change.notes)
        self.expect(change, after)
        return change

    @rule(quads=some_quads)
    def add(self, quads: list[ox.Quad]) -> None:
        self.attempt(lambda: self.world.add(quads), self.now | set(quads))

    @rule(pick=picks)
    def remove(self, pick: int) -> None:
        gone = set(sorted(self.now - self.redirects(), key=str)[: pick % 3])
        self.attempt(lambda: self.world.remove(gone), self.now - gone)

    def redirects(self) -> set[ox.Quad]:
        return {quad for quad in self.now if quad.graph_name == REDIRECTS}

    @rule(setting=st.sampled_from(["off", "warn", "queue", "reject"]))
    def set_guard(self, setting: Any) -> None:
        self.world.shapes.guard = setting

    @rule(added=some_quads, pick=picks)
    def propose(self, added: list[ox.Quad], pick: int) -> None:
        removed = set(sorted(self.now - self.redirects(), key=str)[: pick % 3])
        comes, goes = set(added) - self.now | (set(added) & removed), removed - set(added)
        comes -= self.now
        if not comes and not goes:
            with pytest.raises(ValueError, match="has no effect" if added or removed else "needs a change"):
                self.world.proposals.add(add=added, remove=removed)
            return
        try:
            made = self.world.proposals.add(add=added, remove=removed, author="bot")
        except worlds.ConflictError:
            assert ("open", comes, goes) in self.proposals.values(), "the same change waits already"
            return
        assert (set(made.quads[0]), set(made.quads[1])) == (comes, goes)
        self.proposals[made.id] = ("open", comes, goes)

    def open(self) -> list[int]:
        return [number for number, (status, _, _) in self.proposals.items() if status == "open"]

    @precondition(lambda self: self.open())
    @rule(pick=picks)
    def accept(self, pick: int) -> None:
        number = self.open()[pick % len(self.open())]
        _, comes, goes = self.proposals[number]
        after = self.now - goes | comes
        gone = goes - self.now
        if gone:
            with pytest.raises(worlds.ConflictError):
                self.world.proposals.accept(number)
        if self.rejected(after):
            with pytest.raises(worlds.ValidationError):
                self.world.proposals.accept(number, force=True)
            return
        moved = self.world.proposals.get(number).moved
        assert not gone or moved
        change = self.world.proposals.accept(number, reviewer="ann", force=bool(moved))
        self.expect(change, after)
        self.proposals[number] = ("accepted", comes, goes)
        if change.revision is not None:
            self.accepted[change.revision] = number

    @precondition(lambda self: self.open())
    @rule(pick=picks)
    def reject(self, pick: int) -> None:
        number = self.open()[pick % len(self.open())]
        self.world.proposals.reject(number, "no")
        self.proposals[number] = ("rejected", *self.proposals[number][1:])

    @precondition(lambda self: self.open())
    @rule(pick=picks, added=some_quads)
    def amend(self, pick: int, added: list[ox.Quad]) -> None:
        number = self.open()[pick % len(self.open())]
        comes = set(added) - self.now
        if not comes:
            with pytest.raises(ValueError, match="has no effect"):
                self.world.proposals.amend(number, add=added)
            return
        assert self.world.proposals.amend(number, add=added, why="better").discussion[-1].text == "better"
        self.proposals[number] = ("open", comes, set())

    @rule(kept=names, old=names, split=st.booleans())
    def merge(self, kept: Any, old: Any, split: bool) -> None:
        leads = {quad.subject: quad.object for quad in self.redirects()}
        used = {term for quad in self.now for term in (quad.subject, quad.object)}
        if old not in used or old == kept or old in leads or kept in leads:
            return
        before = self.now
        change = self.attempt(lambda: self.world.curation.merge(kept, old), merged(self.now, old, kept))
        if change is None:
            return
        assert self.world.describe(old).iri == self.world.describe(kept).iri
        if split and not self.brings(before):
            assert change.revision is not None
            self.expect(self.world.curation.split(change.revision), before)
            self.proposals[max(self.proposals, default=0) + 1] = (
                "rejected",
                set(),
                set(),
            )  # the decision that they are two

    @precondition(lambda self: len(self.states) > 2)
    @rule(pick=picks)
    def undo(self, pick: int) -> None:
        revision = 2 + pick % (len(self.states) - 2)
        before, after = self.states[revision - 1], self.states[revision]
        added, removed = after - before, before - after
        if (added - self.now) | (removed & self.now):
            with pytest.raises(worlds.ConflictError):
                self.world.undo(revision)
            return
        change = self.attempt(lambda: self.world.undo(revision), self.now - added | removed)
        if change is not None and change.revision is not None:
            for status, other, these, those in (
                ("open", "accepted", self.accepted, self.waiting),
                ("accepted", "open", self.waiting, self.accepted),
            ):
                if (number := these.pop(revision, None)) and self.proposals[number][0] == other:
                    self.proposals[number] = (status, *self.proposals[number][1:])
                    those[change.revision] = number
                    break

    @invariant()
    def the_world_is_as_the_model_has_it(self) -> None:
        assert quads_of(self.world) - self.shapes == self.now
        assert len(self.world) == len(self.now) + len(self.shapes)
        for word in ("kite", "heron"):
            held = any(isinstance(quad.object, ox.Literal) and quad.object.value == word for quad in self.now)
            assert bool(self.world.search(word)) is held
        found = {one.id: one.status for one in self.world.proposals.list(status="any")}
        assert found == {number: status for number, (status, _, _) in self.proposals.items()}


TestCuration = CurationMachine.TestCase
TestCuration.settings = settings(max_examples=4, stateful_step_count=15)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_many_curators() -> None:
    run_state_machine_as_test(CurationMachine, settings=settings(max_examples=250, stateful_step_count=40))


# --- killed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_writer_leaves_each_decision_whole(seed: int, long: bool, tmp_path: Path) -> None:
    for run in range(40 if long else 1):
        kill_one(tmp_path / f"{run}.db", 1000 * run + seed)


def kill_one(path: Path, seed: int) -> None:
    """After a kill, a file is as its decisions make a world that nobody killed: all that were told of, or one more."""
    choose = random.Random(seed)
    told = choose.randrange(1, 60)
    command = [sys.executable, "-m", "tests.support.curating", str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}) as writer:
        assert writer.stdout is not None
        for _ in range(told):
            assert writer.stdout.readline()
        time.sleep(choose.random() / 100)
        writer.send_signal(signal.SIGKILL)
        told += len(writer.stdout.readlines())
    states = []
    with worlds.open(embedder=None) as model:
        for _ in itertools.islice(decisions(model, seed), told + 1):
            states.append(state(model))
    with worlds.open(path, embedder=None) as world:
        assert state(world) in states[-2:]
        assert len(world.history()) == max(entry.revision for entry in world.history())
        assert world.check().ok
