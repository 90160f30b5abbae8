"""A world on a server: `python -m benchmarks.remote [--only adds contention …] [--rows 100000] [--seconds 15]`.

Everything is on this machine: the primary (WORLDS_SQLD says where sqld is), followers, writers and readers. `adds` is
the time of single writes, with and without a round trip of 40 ms; `contention` is four writers, each a process with a
replica of its own, whose every write counts a number up; `load` compares `rows` quads loaded into a file, through a
replica, and pushed; `kills` ends followers, primaries and writers, and looks whether anything is lost; `reading` lets
two processes read what one writes, while their follower is killed; `fetch` is what a new replica takes; `seen` is the
time from a write to a hit on another replica; `idle` is the CPU of eight followers of which nobody wants anything.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from queue import Queue

import worlds
from benchmarks.common import Sentences, environment, median, milliseconds, table, vocabulary
from worlds.extras.remote.file_transfer import push
from worlds.extras.remote.primary import Primary
from worlds.extras.remote.status import Folder

EX = "http://example.org/"
TRIP = 0.040  # seconds of a round trip, where there is to be one
_TICKS = os.sysconf("SC_CLK_TCK")


class Distance:
    """A relay to a primary that holds back whatever passes it, half of a round trip in each direction."""

    def __init__(self, address: str, trip: float = TRIP) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self._to, self._half = (host, int(port)), trip / 2
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._server.accept()
            server = socket.create_connection(self._to)
            for source, target in ((client, server), (server, client)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        held: Queue[tuple[float, bytes]] = Queue()
        threading.Thread(target=self._release, args=(held, target), daemon=True).start()
        with suppress(OSError):
            while block := source.recv(1 << 20):
                held.put((time.monotonic() + self._half, block))
        held.put((0.0, b""))

    def _release(self, held: Queue[tuple[float, bytes]], target: socket.socket) -> None:
        with suppress(OSError):
            while (one := held.get())[1]:
                time.sleep(max(one[0] - time.monotonic(), 0.0))
                target.sendall(one[1])
            target.shutdown(socket.SHUT_WR)


class Bench:
    """A primary with one world, in a folder."""

    def __init__(self, folder: Path, primary: Primary, quads: int) -> None:
        assert primary.keys is not None
        self.folder, self.primary = folder, primary
        self.key, self.token = primary.keys.admin, primary.keys.token("kb")
        self.url = f"{primary.address}/kb"
        (folder / "kb.nt").write_text(document(0, quads))
        with worlds.open(folder / "kb.db", embedder=None) as made:
            made.load(folder / "kb.nt")
        push(folder / "kb.db", self.url, key=self.key)

    def open(self, name: str, url: str | None = None) -> worlds.World:
        return worlds.open(url or self.url, replica=self.folder / f"{name}.db", token=self.token, embedder=None)

    def end(self) -> None:
        """End all followers."""
        for place in self.folder.glob("*-follow"):
            status = Folder(place.with_name(place.name.removesuffix("-follow"))).read()
            for process in (0, 0) if status is None else (status.supervisor, status.process):
                with suppress(ProcessLookupError):
                    if process:
                        os.kill(process, signal.SIGKILL)


def document(start: int, rows: int) -> str:
    """So many quads in N-Triples, one in ten a text of some words."""
    words = Sentences(vocabulary(20_000), start)
    return "\n".join(
        f'<{EX}e{n // 10}> <{EX}text> "{words(12)} {n}" .'
        if n % 10 == 0
        else f"<{EX}e{n // 10}> <{EX}p{n % 10}> <{EX}e{n % 997}> ."
        for n in range(start, start + rows)
    )


def _row(name: str, times: list[float]) -> list[object]:
    return [name, len(times), median(times), sorted(times)[int(len(times) * 0.95)]]


def adds(bench: Bench) -> None:
    rows = []
    far = Distance(bench.primary.address)
    with (
        worlds.open(bench.folder / "own.db", embedder=None) as own,
        bench.open("near") as near,
        bench.open("far", f"{far.address}/kb") as distant,
    ):
        for name, w, count in (("a file", own, 60), ("a replica", near, 60), ("40 ms away", distant, 30)):
            times = []
            for n in range(count):
                quad = (f"{EX}{name.replace(' ', '-')}{n}", f"{EX}p", f'"kite {n}"')
                times.append(milliseconds(partial(w.add, [quad])))
            rows.append(_row(name, times))
    table("Single adds", ["into", "writes", "median ms", "95th percentile ms"], rows)


_WRITER = """
import sys, time, worlds
url, replica, token, seconds, name = sys.argv[1:]
count = conflicts = 0
with worlds.open(url, replica=replica, token=token, embedder=None) as w:
    print("ready", flush=True); sys.stdin.readline()
    end, times = time.monotonic() + float(seconds), []
    while time.monotonic() < end:
        began = time.monotonic()
        w.update(f'''DELETE {{ ex:n ex:is ?n }} INSERT {{ ex:n ex:is ?m . ex:{name} ex:wrote ?m }}
                     WHERE {{ ex:n ex:is ?n BIND(?n + 1 AS ?m) }}''')
        times.append(time.monotonic() - began); count += 1
print(count, *times)
"""


def contention(bench: Bench, seconds: float, writers: int = 4) -> None:
    with bench.open("near") as w:
        w.bind("ex", EX)
        w.add([("ex:n", "ex:is", 0)])
        before = w.history(1)[0].revision
        arguments = [bench.token, str(seconds)]
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, bench.url, str(bench.folder / f"w{n}.db"), *arguments, f"w{n}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for n in range(writers)
        ]  # fmt: skip
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        answers = [process.communicate()[0].split() for process in processes]
        took = time.monotonic() - began
        w.refresh()
        (kept,) = (int(str(row[0])) for row in w.query("SELECT ?n { ex:n ex:is ?n }"))
        times = [float(value) * 1e3 for answer in answers for value in answer[1:]]
        counted = sum(int(answer[0]) for answer in answers)
        made = w.history(1)[0].revision - before
        table(
            f"{writers} writers for {seconds:g} s",
            ["writers' commits", "counted in the world", "revisions", "commits/s", "median ms", "95th percentile ms"],
            [[" + ".join(answer[0] for answer in answers), kept, made, counted / took, *_row("", times)[2:]]],
        )
        assert kept == counted == made, "a write was lost"
        assert not w.check().problems


def fetch(bench: Bench) -> None:
    """The whole world, by three new replicas, one after another."""
    rows: list[list[object]] = []
    for n in range(3):
        began = time.perf_counter()
        with bench.open(f"fetched{n}"):
            took = time.perf_counter() - began
            status = Folder(bench.folder / f"fetched{n}.db").read()
            assert status is not None
            size = (bench.folder / f"fetched{n}.db").stat().st_size / 1e6
            rows.append([size, took, _peak(status.process), _peak(bench.primary.process.pid)])
    table("The whole, by a new replica", ["MB", "s", "peak MB, follower", "peak MB, sqld"], rows)


def _peak(process: int) -> float:
    (line,) = (one for one in Path(f"/proc/{process}/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1e3


def load(bench: Bench, rows: int) -> None:
    new = bench.folder / "new.nt"
    new.write_text(document(10_000_000, rows))
    results: list[list[object]] = []

    def timed(name: str, call: Callable[[], object]) -> None:
        results.append([name, milliseconds(call) / 1e3])

    shutil.copy(bench.folder / "kb.db", bench.folder / "own.db")  # as large as the world on the server
    with worlds.open(bench.folder / "own.db", embedder=None) as own:
        timed("loaded into a file", lambda: own.load(new))
    with bench.open("near") as near:
        timed("loaded through a replica", lambda: near.load(new))
        assert near.replica is not None
    timed("the file pushed", lambda: push(bench.folder / "own.db", f"{bench.primary.address}/new", key=bench.key))
    assert bench.primary.keys is not None
    token = bench.primary.keys.token("new")

    def fetch() -> None:
        worlds.open(f"{bench.primary.address}/new", replica=bench.folder / "new.db", token=token, embedder=None).close()

    timed("opened by a new replica", fetch)
    for row in results:
        row.append(float(str(row[1])) / float(str(results[0][1])))
    size = (bench.folder / "own.db").stat().st_size / 1e6
    table(f"{rows:,} quads, a file of {size:.0f} MB", ["way", "s", "× the file"], results)


def seen(bench: Bench) -> None:
    rows = []
    with bench.open("near") as writer, bench.open("other") as reader:
        for name, count, pause in (("one after another", 40, 0.0), ("the first in 12 s", 8, 12.0)):
            times = []
            for n in range(count):
                time.sleep(pause)
                word = f"sighting{n}x{count}"
                writer.add([(f"{EX}{word}", f"{EX}p", f'"{word}"')])
                began = time.perf_counter()
                while not reader.search(word, limit=1):
                    time.sleep(0.001)
                times.append((time.perf_counter() - began) * 1e3)
            rows.append(_row(name, times))
    table("From a write to a hit on another replica", ["writes", "", "median ms", "95th percentile ms"], rows)


_ACKNOWLEDGING = """
import sys, worlds
url, replica, token, name, start = sys.argv[1:]
with worlds.open(url, replica=replica, token=token, embedder=None) as w:
    for n in range(int(start), 10**9):
        try:
            w.add([(f"http://example.org/{name}-{n}", "http://example.org/p", f'"kite {name} {n}"')])
        except worlds.WorldsError:
            continue
        print(n, flush=True)
"""


class _Writer:
    """A process that writes, and says which of its writes were acknowledged; started again when it is killed."""

    def __init__(self, bench: Bench, name: str) -> None:
        self._bench, self.name = bench, name
        self.acknowledged: set[int] = set()
        self._next = 0
        self._over = False
        self._thread = threading.Thread(target=self._run)
        self._start()
        self._thread.start()

    def _start(self) -> None:
        bench = self._bench
        arguments = [bench.url, str(bench.folder / f"{self.name}.db"), bench.token, self.name, str(self._next)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ACKNOWLEDGING, *arguments], stdout=subprocess.PIPE, text=True
        )

    def _run(self) -> None:
        while not self._over:
            assert self.process.stdout is not None
            for line in self.process.stdout:
                self.acknowledged.add(int(line))
                self._next = int(line) + 1
            self.process.wait()
            self._next += 1000  # the one that was killed may be there or not
            if not self._over:
                self._start()

    def end(self) -> None:
        self._over = True
        self.process.kill()
        self._thread.join()


def kills(bench: Bench, pause: float) -> None:
    """Kill followers, primaries and writers under two writers, and look whether anything acknowledged is lost."""
    writers = [_Writer(bench, f"killed{n}") for n in range(2)]
    time.sleep(5)
    done = {"follower": 0, "primary": 0, "writer": 0}
    plan = ["follower", "primary", "follower", "writer"] * 10 + ["follower", "primary"] * 2 + ["follower"] * 2
    for number, what in enumerate(plan):
        writer = writers[number // 2 % 2]
        status = Folder(bench.folder / f"{writer.name}.db").read()
        process = {
            "follower": 0 if status is None else status.process,
            "primary": bench.primary.process.pid,
            "writer": writer.process.pid,
        }[what]
        with suppress(ProcessLookupError):
            if process:
                os.kill(process, signal.SIGKILL)
                done[what] += 1
        time.sleep(pause)
    for writer in writers:
        writer.end()
    with bench.open("after") as w:
        w.refresh()
        kept = {str(subject).removeprefix(EX) for subject, _, _, _ in w.quads(predicate=f"{EX}p")}
        acknowledged = {f"{writer.name}-{n}" for writer in writers for n in writer.acknowledged}
        problems = len(w.check().problems)
    for writer in writers:
        with bench.open(writer.name) as replica:
            replica.refresh()
            problems += len(replica.check().problems)
            assert {str(quad[0]).removeprefix(EX) for quad in replica.quads(predicate=f"{EX}p")} == kept
    lost = len(acknowledged - kept)
    table("Kills", ["followers", "primaries", "writers", "acknowledged", "lost", "problems of check()"],
          [[*done.values(), len(acknowledged), lost, problems]])  # fmt: skip
    assert not lost
    assert not problems


_READER = """
import sys, time, worlds
url, replica, token, seconds = sys.argv[1:]
reads = last = wrong = 0
with worlds.open(url, replica=replica, token=token, embedder=None) as w:
    print("ready", flush=True); sys.stdin.readline()
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        found = w.query("SELECT ?n (count(?m) AS ?had) { ex:n ex:is ?n OPTIONAL { ex:n ex:had ?m } } GROUP BY ?n")
        n, had = (int(str(value)) for value in found[0])
        newest = w.search(f"step{last}", limit=1) if last else [1]
        wrong += len(found) != 1 or n != had or n < last or not newest
        last, reads = n, reads + 1
print(reads, wrong, last)
"""


def reading(bench: Bench, seconds: float) -> None:
    """One writes, two read by one replica, whose follower is killed every five seconds."""
    with bench.open("near") as w:
        w.bind("ex", EX)
        w.add([("ex:n", "ex:is", 0)])
        arguments = [bench.url, str(bench.folder / "read.db"), bench.token, str(seconds)]
        readers = [
            subprocess.Popen([sys.executable, "-c", _READER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
            for _ in range(2)
        ]  # fmt: skip
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
        for reader in readers:
            assert reader.stdin is not None
            reader.stdin.write("\n")
            reader.stdin.flush()
        began, writes, killed = time.monotonic(), 0, 0
        while time.monotonic() - began < seconds:
            w.update(
                f"DELETE {{ ex:n ex:is ?n }} INSERT {{ ex:n ex:is {writes + 1} ; ex:had {writes + 1} ; "
                f"ex:text 'step{writes + 1} of many' }} WHERE {{ ex:n ex:is ?n }}"
            )
            writes += 1
            if time.monotonic() - began > 5 * (killed + 1):
                status = Folder(bench.folder / "read.db").read()
                assert status is not None
                with suppress(ProcessLookupError):
                    os.kill(status.process, signal.SIGKILL)
                killed += 1
        answers = [reader.communicate()[0].split() for reader in readers]
        problems = len(w.check().problems)
    reads, wrong = (sum(int(answer[place]) for answer in answers) for place in (0, 1))
    table(
        f"{seconds:g} s of a writer and two readers",
        ["writes", "follower kills", "reads", "wrong", "problems of check()"],
        [[writes, killed, reads, wrong, problems]],
    )
    assert not wrong
    assert not problems


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def idle(bench: Bench, seconds: float, followers: int = 8) -> None:
    with ExitStack() as stack:
        replicas = [stack.enter_context(bench.open(f"idle{n}")).replica for n in range(followers)]
        time.sleep(12)  # until they ask half as often
        statuses = [Folder(bench.folder / f"idle{n}.db").read() for n in range(followers)]
        assert all(replicas)
        groups = {
            "the primary": [bench.primary.process.pid, os.getpid()],
            "of that, the front": [os.getpid()],
            "a follower": [one for status in statuses if status for one in (status.process, status.supervisor)],
        }
        before = {name: sum(map(_cpu, processes)) for name, processes in groups.items()}
        time.sleep(seconds)
        rows: list[list[object]] = []
        for name, processes in groups.items():
            share = (sum(map(_cpu, processes)) - before[name]) / seconds * 100
            rows.append([name, share / (followers if name == "a follower" else 1)])
    table(f"{followers} idle followers with a poll of 100 ms", ["", "% of a core"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = ("adds", "seen", "contention", "load", "idle", "reading", "fetch", "kills")
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--world", type=int, default=10_000, help="quads that the world has before")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two kills")
    arguments = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder, Primary(Path(folder) / "primary") as primary:
        bench = Bench(Path(folder), primary, arguments.world)
        try:
            for name in arguments.only:
                given = {
                    "load": arguments.rows,
                    "contention": arguments.seconds,
                    "idle": arguments.seconds,
                    "reading": arguments.seconds,
                    "kills": arguments.pause,
                }
                globals()[name](bench, *([given[name]] if name in given else []))
        finally:
            bench.end()


if __name__ == "__main__":
    main()
