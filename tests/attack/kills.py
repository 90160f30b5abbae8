"""Writers of two processes are killed in any verb; what they acknowledged is there, whole, and the world is sound.

`python -m tests.attack.kills SEED NUMBER`: one world, some rounds. In most of them two processes write, each to a graph
of its own and by a driver that chance chooses, verb after verb; each is killed within the verb that was chosen for it.
In the others a backup is restored, and the process that does it is killed. The oracle is what each graph must hold, as
plain sets of quads.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyoxigraph as ox

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from tests.support.readback import exported, nquads, quads_of, queried
from worlds import World
from worlds.records import Retention, TextPolicy
from worlds.sql.drivers import LIBSQL, SQLITE, VARIABLE, installed

_ROUNDS = 12
DRIVERS = (LIBSQL, SQLITE)
_PATIENCE = 300.0  # seconds in which a process says something, also on a busy machine
_NOTE = ox.NamedNode("http://example.org/note")
_POLICIES = [TextPolicy(), TextPolicy(exclude=frozenset(["http://example.org/other"]))]

State: TypeAlias = frozenset[ox.Quad]


@dataclass
class Writer:
    """What is known of one that writes to a graph of its own."""

    name: str
    state: State = frozenset()
    begun: int = 0
    doing: tuple[str, State] | None = None  # the verb that was begun and not acknowledged, and what it would leave
    undoable: tuple[int, State] | None = None  # its last revision, and what the graph held before
    written: list[tuple[int, State]] = field(default_factory=list)  # acknowledged revisions, and what they left
    backups: dict[str, State] = field(default_factory=dict)

    @property
    def graph(self) -> ox.NamedNode:
        return ox.NamedNode(f"urn:graph:{self.name}")

    def took(self, said: Any) -> None:
        """Note what its process said: [verb, removed quads, added quads] at the begin, [revision, backup] after."""
        if isinstance(said[0], str):
            self.begun += 1
            self.doing = said[0], (self.state - _read(said[1])) | _read(said[2])
            return
        assert self.doing is not None
        revision, backup = said
        _, after = self.doing
        if revision is not None:
            self.undoable = (revision, self.state)
            self.written = [*self.written[-5:], (revision, after)]
        if backup is not None:
            self.backups[backup] = after
        self.state, self.doing = after, None


def _read(text: str) -> State:
    return frozenset(ox.parse(text, format=ox.RdfFormat.N_QUADS))


# -- what writes -------------------------------------------------------------------------------------------------------


class Verbs:
    """The verbs, each as what it takes away, what it adds, and how it is done; done it gives its revision, or None."""

    def __init__(self, world: World, writer: Writer, chance: random.Random, folder: Path) -> None:
        self._world, self._writer, self._chance, self._folder = world, writer, chance, folder

    def quads(self, count: int) -> State:
        """New ones."""
        names = [f"urn:{self._writer.name}:{self._chance.randrange(10**12)}" for _ in range(count)]
        words = ["heron", "kite", "lake", "pine", "river", "stone", "willow"]
        return frozenset(
            ox.Quad(
                ox.NamedNode(name),
                _NOTE,
                ox.Literal(f"{' '.join(self._chance.choices(words, k=5))} {name}"),
                self._writer.graph,
            )
            for name in names
        )

    def held(self, most: int) -> State:
        """Some of those that there are."""
        there = sorted(self._writer.state, key=str)
        return frozenset(self._chance.sample(there, min(most, len(there))))

    def add(self) -> Any:
        new = self.quads(5)
        return frozenset(), new, lambda: self._world.add(new, author=self._writer.name).revision

    def remove(self) -> Any:
        old = self.held(7)
        return old, frozenset(), lambda: self._world.remove(old).revision

    def load(self) -> Any:
        new = self.quads(8)
        return frozenset(), new, lambda: self._world.load(nquads(new), format="nq").revision

    def replace(self) -> Any:
        new = self.quads(6) | self.held(10)
        return (
            self._writer.state - new,
            new,
            lambda: self._world.load(nquads(new), format="nq", mode="replace").revision,
        )

    def update(self) -> Any:
        new, old = self.quads(3), self.held(1)
        text = f"INSERT DATA {{ GRAPH {self._writer.graph} {{ {_triples(new)} }} }}"
        for one in old:
            text += f"; DELETE WHERE {{ GRAPH {self._writer.graph} {{ {one.subject} ?p ?o }} }}"
        gone = frozenset(one for one in self._writer.state if one.subject in {quad.subject for quad in old})
        return gone, new, lambda: self._world.update(text).revision

    def undo(self) -> Any:
        if self._writer.undoable is None:
            return self.add()
        revision, before = self._writer.undoable
        now = self._writer.state
        return now - before, before - now, lambda: self._world.undo(revision).revision

    def apply_patch(self) -> Any:
        new, old = self.quads(4), self.held(2)
        lines = [*(f"A {_line(one)} ." for one in new), *(f"D {_line(one)} ." for one in old)]
        return old, new, lambda: self._world.revisions.apply("TX .\n" + "\n".join(lines) + "\nTC .\n").revision

    def add_document(self) -> Any:
        text = f"# Kite {self._chance.randrange(10**9)}\n\n" + "A text of the river. " * 60
        given: dict[str, Any] = {
            "iri": f"urn:{self._writer.name}:document:{self._chance.randrange(3)}",
            "content": text,
            "format": "markdown",
            "graph": self._writer.graph.value,
        }
        with worlds.open(embedder=None) as other:
            other.sources.add_document(**given)
            new = frozenset(exported(other))
        after = new | {quad for quad in self._writer.state if quad.subject != ox.NamedNode(given["iri"])}
        now = self._writer.state
        return now - after, after - now, lambda: self._world.sources.add_document(**given).revision

    def transaction(self) -> Any:
        new, old, lost = self.quads(4), self.held(2), self.quads(3)

        def run() -> int | None:
            with self._world.transaction():
                change = self._world.add(new)
                with contextlib.suppress(KeyError), self._world.transaction():
                    self._world.add(lost)
                    self._world.remove(new)
                    raise KeyError
                self._world.remove(old)
            return change.revision

        return old, new, run

    def prune(self) -> Any:
        return self._nothing(
            lambda: [self._world.revisions.prune(max(1, last.revision - 40)) for last in self._world.history(1)]
        )

    def retention(self) -> Any:
        return self._nothing(
            lambda: setattr(self._world.revisions, "retention", Retention(revisions=self._chance.choice([50, 90])))
        )

    def compact(self) -> Any:
        return self._nothing(self._world.file.compact)

    def backup(self) -> Any:
        name = f"{self._writer.name}-{self._chance.randrange(10**12)}.backup"

        def run() -> str:
            self._world.file.backup(self._folder / name)
            return name

        return frozenset(), frozenset(), run

    def rebuild(self) -> Any:
        return self._nothing(lambda: self._world.embed(rebuild=True))

    def policy(self) -> Any:
        return self._nothing(lambda: setattr(self._world, "policy", self._chance.choice(_POLICIES)))

    def bind(self) -> Any:
        return self._nothing(lambda: self._world.bind(self._writer.name, f"urn:{self._chance.randrange(10**6)}:"))

    @staticmethod
    def _nothing(run: Callable[[], object]) -> Any:
        def and_nothing() -> None:
            run()

        return frozenset(), frozenset(), and_nothing


VERBS = [name for name in vars(Verbs) if not name.startswith("_") and name not in ("quads", "held")]


def _line(quad: ox.Quad) -> str:
    return f"{quad.subject} {quad.predicate} {quad.object} {quad.graph_name}"


def _triples(quads: State) -> str:
    return " ".join(f"{one.subject} {one.predicate} {one.object} ." for one in quads)


def opened(path: Path, chance: random.Random) -> World:
    """The world by one of the drivers, with libSQL's index where that has it."""
    only = os.environ.get(VARIABLE)
    driver = only if only in DRIVERS else chance.choice([name for name in DRIVERS if installed(name)])
    if driver == SQLITE:
        return worlds.open(path, embedder=HashingEmbedder(), driver="sqlite")
    return worlds.open(path, embedder=HashingEmbedder(), driver="libsql", vector_index=True)


def write_on(path: Path, writer: Writer, seed: str, say: Callable[[object], None]) -> None:
    """Do verb after verb, for ever."""
    chance = random.Random(seed)
    with opened(path, chance) as world:
        verbs = Verbs(world, writer, chance, path.parent)
        while True:
            verb = chance.choice(VERBS)
            if len(writer.state) > 80:
                verb = "replace"
            if not writer.state and verb in ("remove", "undo"):
                verb = "add"
            removed, added, run = getattr(verbs, verb)()
            begin = [verb, nquads(removed).decode(), nquads(added).decode()]
            say(begin)
            writer.took(begin)
            found = run()
            done = [None, found] if isinstance(found, str) else [found, None]
            say(done)
            writer.took(done)


def restore(path: Path, backup: Path, say: Callable[[object], None]) -> None:
    """Put a backup in the place of the world."""
    say(["restore"])
    worlds.restore(backup, path)
    say(["restored"])


# -- what looks at the world afterwards --------------------------------------------------------------------------------


def look(path: Path, writers: list[Writer], say: Callable[[object], None]) -> None:
    """Say what is wrong, as a text; else what each writer's graph holds."""
    with opened(path, random.Random(str(writers))) as world:
        for wrong in _wrong(world, path, writers):
            say(wrong)
            return
        for writer in writers:
            say([nquads(_of(writer, frozenset(exported(world)))).decode()])


def _of(writer: Writer, quads: State) -> State:
    return frozenset(quad for quad in quads if quad.graph_name == writer.graph)


def _wrong(world: World, path: Path, writers: list[Writer]) -> Iterator[str]:
    held = exported(world)
    if len(held) != len(set(held)) or set(queried(world)) != set(held):
        yield f"the export has {len(held)} quads, a query finds others"
    for writer in writers:
        found, doing = _of(writer, frozenset(held)), writer.doing
        if found != writer.state and (doing is None or found != doing[1]):
            lost, surplus = writer.state - found, found - writer.state
            verb = "nothing" if doing is None else doing[0]
            missing = () if doing is None else doing[1] - found
            yield (
                f"{writer.name}, killed in {verb}, lost {len(lost)} quads, and has {len(surplus)} too many: "
                f"{lost=}, {surplus=}, {missing=}, {writer.written[-2:]=}, {writer.undoable=}"
            )
    if len(held) != sum(len(_of(writer, frozenset(held))) for writer in writers):
        yield "there are quads that nobody wrote"
    if found := problems(world):  # type: ignore[assignment]
        yield f"problems: {found}"
    history = [entry.revision for entry in world.history()]
    if history and history != list(range(history[0], history[0] - len(history), -1)):
        yield f"the history is {history}"
    for writer in writers:
        for revision, state in writer.written:
            if history and revision > history[0]:
                yield f"revision {revision} was acknowledged, and the history ends at {history[0]}"
            elif revision in history and _of(writer, frozenset(quads_of(world.at(revision)))) != state:
                yield f"revision {revision} does not hold what it held"
    for entry in path.parent.iterdir():
        if "part" in entry.name:
            yield f"{entry.name} is left behind"
    for writer in writers:
        for backup, state in writer.backups.items():
            with worlds.open(path.parent / backup, embedder=HashingEmbedder()) as copy:  # builds a missing index
                if _of(writer, frozenset(exported(copy))) != state or (found := problems(copy)):  # type: ignore[assignment]
                    yield f"the backup {backup} is not what it should be: {found}"


# -- the killer --------------------------------------------------------------------------------------------------------


class Child:
    """A forked process that runs a function, and what it says, line by line."""

    def __init__(self, function: Callable[..., None], *arguments: Any) -> None:
        self._source, sink = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.close(self._source)
                with os.fdopen(sink, "w") as out:
                    function(*arguments, lambda said: print(json.dumps(said), file=out, flush=True))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        os.close(sink)
        self._buffer = b""

    def says(self, until: float) -> Any:
        """The next line, None at the end; TimeoutError when the time is over."""
        while b"\n" not in self._buffer:
            if not select.select([self._source], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError
            if not (piece := os.read(self._source, 1 << 16)):
                return None
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def end(self, number: int = 0) -> int:
        """Send it a signal, unless that is 0, and wait; gives its status."""
        if number:
            os.kill(self.pid, number)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        os.close(self._source)


def killed_while_writing(path: Path, writers: list[Writer], chance: random.Random) -> Iterator[str]:
    """Let all writers write, and kill each in a verb; gives the verbs."""
    children = {}
    for writer in writers:
        writer.undoable = writer.undoable if writer.doing is None else None
        children[writer.name] = Child(write_on, path, writer, f"{chance.random()}")
    for writer in chance.sample(writers, len(writers)):
        child, begins = children[writer.name], writer.begun + chance.randrange(1, 8)
        while writer.begun < begins:
            if (said := child.says(time.monotonic() + _PATIENCE)) is None:
                raise RuntimeError(f"{writer.name} ended with {child.end()}")
            writer.took(said)
        time.sleep(chance.choice([0, 0.001, 0.005, 0.02, 0.1]) * chance.random())
        child.end(signal.SIGKILL)
        while (said := child.says(time.monotonic() + _PATIENCE)) is not None:
            writer.took(said)
        child.close()
        yield "nothing" if writer.doing is None else writer.doing[0]


def looked_at(path: Path, writers: list[Writer]) -> None:
    """RuntimeError where something is wrong; the writers know what there is."""
    child = Child(look, path, writers)
    said = [child.says(time.monotonic() + _PATIENCE) for _ in range(len(writers))]
    if child.end() or not all(isinstance(one, list) for one in said):
        raise RuntimeError(f"{said[0]}")
    child.close()
    for writer, (text,) in zip(writers, said, strict=True):
        found = _read(text)
        if found != writer.state:
            writer.undoable = None
        writer.state, writer.doing = found, None


def killed_while_restoring(path: Path, writers: list[Writer], chance: random.Random) -> Iterator[str]:
    """Restore one of the backups; all that was before it is as if it had never been."""
    name = chance.choice([name for writer in writers for name in writer.backups])
    backup = path.parent / name
    before = {writer.name: (writer.state, writer.written) for writer in writers}
    copies = [Writer(writer.name) for writer in writers]
    child = Child(_contents, backup, copies)
    wanted = [_read(child.says(time.monotonic() + _PATIENCE)) for _ in writers]
    child.end()
    child.close()
    child = Child(restore, path, backup)
    child.says(time.monotonic() + _PATIENCE)
    time.sleep(0.03 * chance.random())
    child.end(signal.SIGKILL)
    done = child.says(time.monotonic() + _PATIENCE) is not None
    child.close()
    child = Child(_contents, path, copies)
    found = [_read(child.says(time.monotonic() + _PATIENCE)) for _ in writers]
    child.end()
    child.close()
    if found == wanted:
        for writer, state in zip(writers, wanted, strict=True):
            writer.state, writer.written, writer.undoable = state, [], None
    elif done or found != [before[writer.name][0] for writer in writers]:
        raise RuntimeError(f"restored: {done}, and the world is neither what it was nor the backup")
    yield "nothing" if done else "restore"


def _contents(path: Path, writers: list[Writer], say: Callable[[object], None]) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        for writer in writers:
            say(nquads(_of(writer, frozenset(exported(world)))).decode())


def rounds(seed: int, number: int, say: Callable[[str], None]) -> None:
    """The rounds of one world; RuntimeError for what is wrong. Says the verb of each kill."""
    chance = random.Random(f"{seed} kills {number}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        writers = [Writer("w0"), Writer("w1")]
        for turn in range(_ROUNDS):
            restoring = turn % 4 == 3 and any(writer.backups for writer in writers)
            kill = killed_while_restoring if restoring else killed_while_writing
            for verb in kill(path, writers, chance):
                say(verb)
            looked_at(path, writers)
            for writer in writers:
                for old in list(writer.backups)[:-2]:
                    del writer.backups[old]
                    (path.parent / old).unlink()


def kill_writers(seed: int, number: int) -> tuple[int, str | None]:
    """All rounds in a process of its own; gives how many were killed, and what was wrong."""
    command = [sys.executable, "-m", "tests.attack.kills", str(seed), str(number)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=3600, start_new_session=True
        )
    except subprocess.TimeoutExpired as error:
        return 0, f"no end: {error}"
    return len(done.stdout.split()), None if done.returncode == 0 else done.stderr[-3000:]


if __name__ == "__main__":
    rounds(int(sys.argv[1]), int(sys.argv[2]), lambda verb: print(verb, flush=True))
