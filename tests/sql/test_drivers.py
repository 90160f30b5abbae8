"""The two drivers: which one is taken, what each can do, and how a statement ends before its time."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import worlds
from tests.support import seams, tables
from tests.support.embedder import HashingEmbedder
from worlds import OpenError, QueryError, WorldsError
from worlds.core.file.objects import normal
from worlds.sql import drivers, texts
from worlds.sql.connection import Connection
from worlds.sql.drivers import SQLITE, ended_by
from worlds.verbs.invocation import interruptible

Name = Literal["libsql", "sqlite"]
DRIVERS: tuple[Name, Name] = ("libsql", "sqlite")
LONG = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000000) SELECT sum(i * i) FROM n"
"""Takes some 20 seconds."""
SOON = 0.2  # seconds


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user has it, whichever driver the tests are run by."""
    monkeypatch.delenv(drivers.VARIABLE, raising=False)


def words(number: int, length: int) -> str:
    return " ".join(f"w{(number * 31 + place * place) % 5003}" for place in range(length))


def fill(path: Path, count: int, length: int = 3, **options: Any) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), **options) as world:
        world.add([(f"urn:s{n}", "rdfs:label", f'"text number {n} of many {words(n, length)}"') for n in range(count)])


def in_process(script: str, *arguments: object, driver: str) -> Any:
    """What a process that opens worlds by this driver prints, as JSON."""
    command = [sys.executable, "-c", "import json, sys, worlds\n" + script, *map(str, arguments)]
    environment = {**os.environ, drivers.VARIABLE: driver}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- which one is taken -----------------------------------------------------------------------------------------------


def test_libsql_is_taken_where_the_native_index_is_kept_and_sqlite_for_large_worlds_without(
    path: Path, unset: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seams.take_files_for_large(monkeypatch, 1 << 20)
    seams.build_few_native_indexes(monkeypatch, 60)
    fill(path, 40)
    with worlds.open(path, embedder=None) as world:
        assert (world.driver, world.stats().vector_index) == ("libsql", True)
    large = path.with_name("large.db")
    fill(large, 200, 300)
    with worlds.open(large, embedder=None) as world:
        assert (world.driver, world.stats().vector_index) == ("sqlite", False)
        assert world.check().ok
    with worlds.open(large, embedder=None, driver="libsql") as world:
        assert world.driver == "libsql"
        with worlds.open(large, embedder=None, read_only=True) as other:  # this process has it open so
            assert other.driver == "libsql"


def test_a_large_world_goes_on_with_libsql_where_an_index_is_asked_for(
    path: Path, unset: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seams.take_files_for_large(monkeypatch, 1 << 20)
    fill(path, 200, 300, vector_index=False)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        found = [hit.text for hit in world.search("text number 17")]
        assert world.driver == "sqlite"
        assert world.file.build_vector_index() == world.stats().vectors
        assert world.driver == "libsql"
        assert [hit.text for hit in world.search("text number 17")] == found
        assert world.search("text number 17", ranking=worlds.Ranking(plan="index"), mode="vector")[0].text in found
        assert {problem.kind for problem in world.check().problems} <= {"index-recall"}  # of texts so much alike
    with worlds.open(path, embedder=None) as world:
        assert world.driver == "libsql"


def test_a_file_has_one_driver_at_a_time_in_a_process(path: Path, unset: None) -> None:
    for one, other in (DRIVERS, DRIVERS[::-1]):
        with worlds.open(path, embedder=None, driver=one) as world:
            world.add([("urn:a", "urn:p", f'"{one}"')])
            with pytest.raises(OpenError, match=f"is open in this process by the driver '{one}'"):
                worlds.open(path, embedder=None, driver=other)
            worlds.open(path, embedder=None, driver=one).close()
        with worlds.open(path, embedder=None, driver=other) as world:
            assert world.check().ok


def test_two_threads_that_open_it_by_two_drivers_never_both_have_it(path: Path, unset: None) -> None:
    fill(path, 5, vector_index=False)
    together: list[set[str]] = []
    held: set[str] = set()
    until = time.monotonic() + 60  # each is refused while the other has it: how often is chance

    def opened(name: Name) -> None:
        had = 0
        while had < 10 and time.monotonic() < until:
            with contextlib.suppress(OpenError), worlds.open(path, embedder=None, driver=name):
                had += 1
                held.add(name)
                together.append(set(held))
                time.sleep(0.001)
                held.discard(name)
            time.sleep(random.uniform(0, 0.01))

    threads = [threading.Thread(target=opened, args=(name,)) for name in DRIVERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(map(len, together)) == 1
    assert set.union(*together) == set(DRIVERS)


def test_what_only_libsql_has_is_refused_with_the_way(path: Path) -> None:
    with pytest.raises(OpenError, match="SQLite has no encryption: open the world with driver='libsql'"):
        worlds.open(path, embedder=None, driver="sqlite", encryption_key="secret")
    with pytest.raises(OpenError, match="SQLite has no native vector index"):
        worlds.open(path, embedder=None, driver="sqlite", vector_index=True)
    with pytest.raises(ValueError, match="a world on a server"):
        worlds.open("http://127.0.0.1:1/kb", embedder=None, driver="sqlite")
    with pytest.raises(ValueError, match="driver must be one of 'auto', 'libsql', 'sqlite', not 'duckdb'"):
        worlds.open(path, embedder=None, driver="duckdb")  # type: ignore[arg-type]  # on purpose
    assert not path.exists()
    with worlds.open(path, embedder=HashingEmbedder(), driver="sqlite") as world:
        world.add([("urn:a", "urn:p", '"kite"')])
        for ask in (lambda: world.search("kite", ranking=worlds.Ranking(plan="index")), world.file.build_vector_index):
            with pytest.raises(WorldsError, match="is open by SQLite: open it with driver='libsql'"):
                ask()


def test_the_environment_chooses(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DRIVERS:
        monkeypatch.setenv(drivers.VARIABLE, name)
        with worlds.open(path, embedder=None) as world:
            assert world.driver == name
    monkeypatch.setenv(drivers.VARIABLE, "duckdb")
    with pytest.raises(ValueError, match="driver must be one of"):
        worlds.open(path, embedder=None)


def test_one_that_is_not_installed_is_named(path: Path, unset: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, 3, driver="libsql")
    seams.hide_driver(monkeypatch, "libsql")
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert world.driver == "sqlite"
        with pytest.raises(OpenError, match=r"pip install 'worlds-kg\[libsql\]'"):
            world.file.build_vector_index()
        assert world.search("text number")
    with pytest.raises(OpenError, match=r"'libsql' is not installed: pip install 'worlds-kg\[libsql\]'"):
        worlds.open(path, embedder=None, driver="libsql")


# --- one file ---------------------------------------------------------------------------------------------------------


def test_the_tables_of_the_native_index_are_those_that_libsql_makes(path: Path) -> None:
    fill(path, 3, driver="libsql")
    with worlds.open(path, embedder=None, driver="libsql") as world:
        made = tables.rows(world, "SELECT sql FROM sqlite_master WHERE name LIKE '%shadow%' AND sql IS NOT NULL")
    written = texts("vectors.sql")["native_index_tables"].split(";\n")
    assert {normal(sql) for (sql,) in made} == {normal(sql) for sql in written if sql.strip()}


COUNTS = """
import worlds.world
connection = worlds.world.connection_of(w := worlds.open(sys.argv[1], embedder=None, read_only=True))
names = [name for (name,) in connection.rows(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]
counts = {name: connection.value(f"SELECT count(*) FROM {name} NOT INDEXED") for name in names}
stats = {k: v for k, v in w.stats().to_dict().items()}
report = w.check()
print(json.dumps([counts, stats, report.ok, report.checked["vectors"], len(w.search("", mode="text"))]))
"""


def test_both_read_the_same_from_a_file_with_the_native_index(path: Path) -> None:
    fill(path, 50, driver="libsql")
    one, other = (in_process(COUNTS, path, driver=name) for name in DRIVERS)
    assert one[0]["vectors"] == 50
    assert one == other


def test_sqlite_drops_the_native_index_when_it_writes_and_libsql_builds_it_anew(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(path, 30, driver="libsql")
    with worlds.open(path, embedder=HashingEmbedder(), driver="sqlite") as world:
        assert world.check().ok
        assert world.stats().vector_index, "reading leaves it"
        assert not caplog.messages
        with pytest.raises(RuntimeError), world.transaction():
            raise RuntimeError
        assert world.stats().vector_index, "what is undone leaves it"
        world.add([("urn:new", "rdfs:label", '"a red kite"')])
        assert not world.stats().vector_index
        (told,) = caplog.messages
        assert "the native vector index was dropped, as SQLite cannot keep it" in told
        assert tables.value(world, "SELECT count(*) FROM sqlite_master WHERE name LIKE '%shadow%'") == 0
        assert world.check().ok
        assert world.search("red kite")[0].text == "a red kite"
        world.file.compact()
    with worlds.open(path, embedder=HashingEmbedder(), driver="libsql", read_only=True) as world:
        assert world.check().ok
    with worlds.open(path, embedder=HashingEmbedder(), driver="libsql") as world:
        assert world.stats().vector_index
        assert world.search("red kite", ranking=worlds.Ranking(plan="index"))[0].text == "a red kite"
        assert world.check().ok


def test_statements_scan_no_large_table_with_sqlite_either(path: Path) -> None:
    fill(path, 1500, driver="sqlite")
    with worlds.open(path, embedder=HashingEmbedder(), driver="sqlite") as world:
        for options in ({"plan": "exact"}, {"plan": "codes"}, {"mode": "text"}, {"mode": "vector"}):
            sql, parameters = tables.fused(world, "some words", **options)
            plan = [row[3] for row in tables.rows(world, "EXPLAIN QUERY PLAN " + sql, parameters)]
            scanned = {line.split()[1] for line in plan if line.startswith("SCAN")}
            assert not scanned & {"chunks", "vectors", "quads", "terms", "vector_codes"}, plan


def test_distances_are_the_same_with_and_without_sqlite_vec() -> None:
    from worlds.sql.by_sqlite import cosine_distance

    chance = np.random.default_rng(1)
    pairs = [chance.normal(size=(2, 384)).astype("<f4") for _ in range(200)]
    for name in DRIVERS:
        connection = Connection(":memory:", driver=name)
        for one, other in pairs:
            blobs = one.tobytes(), other.tobytes()
            found = connection.value("SELECT vector_distance_cos(?1, ?2)", blobs)
            exact = 1 - np.float64(one @ other.astype("f8")) / np.linalg.norm(one.astype("f8")) / np.linalg.norm(other)
            assert found == pytest.approx(exact, abs=2e-6)
            assert cosine_distance(*blobs) == pytest.approx(exact, abs=2e-6)
        connection.close()


# --- how a statement ends ---------------------------------------------------------------------------------------------


def sqlite() -> Connection:
    return Connection(":memory:", driver=SQLITE)


@contextlib.contextmanager
def ends_soon(after: float) -> Iterator[None]:
    """The block ends soon after so many seconds."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < after + SOON


def later(seconds: float, do: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(seconds, do)
    timer.start()
    return timer


def test_ctrl_c_ends_a_statement_of_sqlites_at_once() -> None:
    script = f"""
from worlds.sql.connection import Connection
import time, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
connection = Connection(":memory:", driver="sqlite")
connection.run("CREATE TABLE t (x)")
print("ready", flush=True)
try:
    with connection.transaction():
        connection.run("INSERT INTO t VALUES (1)")
        connection.value({LONG!r})
except KeyboardInterrupt:
    print(time.monotonic(), connection.value("SELECT count(*) FROM t"), flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.2)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    ended, rows = child.stdout.readline().split()
    assert float(ended) - sent < SOON
    assert rows == "0", "and its transaction is undone"
    assert child.wait(10) == 0
    child.stdout.close()


def test_another_thread_ends_a_statement() -> None:
    connection = sqlite()
    timer = later(0.3, connection.interrupt)
    with ends_soon(0.3), pytest.raises(QueryError, match="interrupted"):
        connection.value(LONG)
    timer.join()
    assert connection.value("SELECT 1") == 1
    connection.close()
    connection.interrupt()  # does nothing


def test_a_statement_ends_with_the_work_that_it_is_part_of() -> None:
    class EndedError(WorldsError):
        pass

    def stop() -> None:
        if time.monotonic() > deadline:
            raise EndedError

    connection = sqlite()
    for within in (contextlib.nullcontext(), ended_by(lambda: None)):
        deadline = time.monotonic() + 0.2
        with ended_by(stop), within, ends_soon(0.2), pytest.raises(EndedError):
            connection.value(LONG)
    connection.close()


def test_work_with_a_world_is_interrupted(path: Path) -> None:
    with worlds.open(path, embedder=None, driver="sqlite") as world:
        world.add([("urn:a", "urn:p", '"kite"')])
        with interruptible() as work:
            timer = later(0.3, work.interrupt)
            with ends_soon(0.3), pytest.raises(QueryError, match="interrupted"):
                tables.value(world, LONG)
            timer.join()
        timer = later(0.3, world.interrupt)
        with ends_soon(0.3), pytest.raises(QueryError, match="interrupted"):
            tables.value(world, LONG)
        timer.join()
        assert world.check().ok


def test_other_threads_run_beside_a_statement_of_sqlites() -> None:
    connection = sqlite()
    beats: list[float] = []
    done = threading.Event()

    def beat() -> None:
        while not done.wait(0.005):
            beats.append(time.monotonic())

    thread = threading.Thread(target=beat)
    thread.start()
    timer = later(0.5, connection.interrupt)
    with pytest.raises(QueryError):
        connection.value(LONG)
    done.set()
    thread.join()
    timer.join()
    assert len(beats) > 40, "with libSQL it would be none"
    connection.close()


def test_waiting_for_a_lock_ends_at_ctrl_c_and_at_its_time(path: Path) -> None:
    """SQLite's own way of waiting would sleep in C."""
    script = """
connection = worlds.world.connection_of(worlds.open(sys.argv[1], embedder=None, driver="sqlite"))
with connection.transaction():
    print("ready", flush=True)
    sys.stdin.readline()
"""
    fill(path, 3, driver="sqlite")
    command = [sys.executable, "-c", "import json, sys, worlds, worlds.world\n" + script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        with worlds.open(path, embedder=None, driver="sqlite", timeout=0.5) as world:
            began = time.monotonic()
            with pytest.raises(worlds.ConflictError):
                world.add([("urn:a", "urn:p", "urn:b")])
            assert 0.4 < time.monotonic() - began < 0.5 + 2 * SOON
        with worlds.open(path, embedder=None, driver="sqlite", timeout=20) as world, interruptible() as work:
            timer = later(0.3, work.interrupt)
            with ends_soon(0.3), pytest.raises(QueryError):
                world.add([("urn:a", "urn:p", "urn:b")])
            timer.join()
        holder.communicate("\n")
