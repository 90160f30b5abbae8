"""The SPARQL index on disk: in step, shared by processes, and never wrong after a crash or damage."""

from __future__ import annotations

import gc
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import seams
from tests.support.forking import Forked
from worlds.core.sparql.cache import Cache

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no cache without flock")

EX = "http://example.org/"
ROWS = 300
QUERY = f"SELECT ?s ?o {{ ?s <{EX}n> ?o }}"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 50)
    caplog.set_level("WARNING", "worlds")  # a server that ran in this process may have left another one


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "kb.db"
    with worlds.open(target, embedder=None) as world:
        world.load(turtle(range(ROWS)), format="turtle")
    return target


def turtle(numbers: Any) -> bytes:
    return "\n".join(f"<{EX}{number}> <{EX}n> {number} ." for number in numbers).encode()


def numbers(world: worlds.World) -> set[int]:
    found = world.query(QUERY)
    assert isinstance(found, worlds.records.Solutions)
    return {row["o"].toPython() for row in found}


def generations(path: Path) -> list[str]:
    return sorted(folder.name for folder, _ in Cache(str(path)).generations())


def on_disk(path: Path) -> list[str]:
    """The stores that open worlds have in the cache folder."""
    return sorted(entry.name for entry in Path(f"{path}-sparql").glob("copy-*"))


def built(caplog: pytest.LogCaptureFixture) -> list[str]:
    """How many quads each index was built of, as the log says."""
    found = [re.search(r"building the SPARQL index of ([0-9,]+) quads", line) for line in caplog.messages]
    return [line[1] for line in found if line]


def test_a_small_world_makes_no_folder(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.load(turtle(range(20)), format="turtle")
        assert len(numbers(world)) == 20
    assert [entry.name for entry in tmp_path.iterdir()] == ["kb.db"]


def test_the_second_process_builds_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "worlds")
    for _ in range(3):
        with worlds.open(path, embedder=None) as world:
            assert numbers(world) == set(range(ROWS))
            assert on_disk(path)
    assert built(caplog) == [str(ROWS)]
    assert len(generations(path)) == 1
    assert on_disk(path) == []


def test_what_was_written_since_is_read(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with worlds.open(path, embedder=None) as world:
        numbers(world)
    caplog.set_level("INFO", "worlds")
    with worlds.open(path, embedder=None) as world:  # asks nothing: its changes are not in the cache
        world.remove([(f"<{EX}7>", f"<{EX}n>", 7)])
        world.load(turtle([1000]), format="turtle", graph=f"{EX}g")
        world.update(f"INSERT DATA {{ <{EX}x> <{EX}n> 5000 }}")
    with worlds.open(path, embedder=None) as world:
        assert numbers(world) == set(range(ROWS)) - {7} | {5000}
        assert [str(row[0]) for row in world.query("SELECT ?g { GRAPH ?g {} }")] == [f"{EX}g"]  # type: ignore[union-attr]
    assert built(caplog) == []


def test_many_changes_are_published_at_the_end(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with worlds.open(path, embedder=None) as world:
        numbers(world)
        before = generations(path)
        world.load(turtle(range(1000, 1100)), format="turtle")
        assert numbers(world) == {*range(ROWS), *range(1000, 1100)}
    after = generations(path)
    assert len(after) == 1
    assert after != before
    assert after[0].startswith("r2-")
    caplog.set_level("INFO", "worlds")
    with worlds.open(path, embedder=None) as world:
        assert numbers(world) == {*range(ROWS), *range(1000, 1100)}
    assert built(caplog) == []


def test_given_forms_come_back_from_the_cache(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.update(f'INSERT DATA {{ <{EX}a> <{EX}p> 0700, "900"^^xsd:int, 800, 0800 }}')
    for _ in range(2):
        with worlds.open(path, embedder=None) as world:
            rows = world.query(f"SELECT ?o {{ <{EX}a> <{EX}p> ?o }}")
            assert isinstance(rows, worlds.records.Solutions)
            forms = {row["o"].n3() for row in rows}
            assert forms == {
                '"0700"^^<http://www.w3.org/2001/XMLSchema#integer>',
                '"900"^^<http://www.w3.org/2001/XMLSchema#int>',
                '"800"^^<http://www.w3.org/2001/XMLSchema#integer>',
            }
            assert on_disk(path)


def test_a_rollback_is_followed_on_disk(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        numbers(world)
        with pytest.raises(KeyError), world.transaction():
            world.load(turtle([1, 2, 9000]), format="turtle", mode="replace")
            assert numbers(world) == {1, 2, 9000}
            raise KeyError
        assert numbers(world) == set(range(ROWS))
        assert on_disk(path)


def test_two_worlds_use_it_at_once_and_see_each_other(path: Path) -> None:
    with worlds.open(path, embedder=None) as one, worlds.open(path, embedder=None) as other:
        assert numbers(one) == numbers(other) == set(range(ROWS))
        assert len(on_disk(path)) == 2
        one.load(turtle([5000]), format="turtle")
        assert 5000 in numbers(other)
        other.update(f"DELETE WHERE {{ <{EX}5000> ?p ?o }}")
        assert 5000 not in numbers(one)
    assert on_disk(path) == []


def test_a_restored_backup_does_not_get_the_cache_of_what_came_after(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.file.backup(tmp_path / "backup.db")
        world.load(turtle(range(7000, 7020)), format="turtle")  # enough for it to publish
        assert 7000 in numbers(world)
    path.unlink()
    shutil.move(tmp_path / "backup.db", path)
    with worlds.open(path, embedder=None) as world:
        world.load(turtle([8000]), format="turtle")  # another revision of the same number
        assert numbers(world) == {*range(ROWS), 8000}


def test_another_world_of_the_same_name_gets_its_own(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        numbers(world)
    path.unlink()
    with worlds.open(path, embedder=None) as world:
        world.load(turtle(range(500, 700)), format="turtle")
        assert numbers(world) == set(range(500, 700))


def test_a_read_only_world_uses_it(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        numbers(world)
    with worlds.open(path, embedder=None, read_only=True) as world:
        assert numbers(world) == set(range(ROWS))


def test_a_folder_that_cannot_be_made_is_done_without(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path(f"{path}-sparql").write_text("in the way")
    with worlds.open(path, embedder=None) as world:
        assert numbers(world) == set(range(ROWS))
    assert "the SPARQL cache" in caplog.text


def damages() -> Iterator[tuple[str, Any]]:
    def truncate(file: Path) -> None:
        os.truncate(file, file.stat().st_size // 2)

    def scramble(file: Path) -> None:
        data = bytearray(file.read_bytes())
        for at in range(0, len(data), 7):
            data[at] ^= 0xFF
        file.unlink()
        file.write_bytes(data)

    for pattern in ("*.sst", "MANIFEST*", "CURRENT", "worlds.json", "worlds-forms.json"):
        for name, damage in (("cut", truncate), ("scrambled", scramble), ("gone", Path.unlink)):
            yield f"{pattern}-{name}", (pattern, damage)


@pytest.mark.parametrize("damage", [pytest.param(value, id=name) for name, value in damages()])
def test_a_damaged_cache_is_built_anew(path: Path, damage: tuple[str, Any]) -> None:
    pattern, harm = damage
    with worlds.open(path, embedder=None) as world:
        numbers(world)
    (generation, _) = Cache(str(path)).generations()[0]
    files = sorted(generation.glob(pattern))
    assert files
    for file in files:
        harm(file)
    for _ in range(2):
        with worlds.open(path, embedder=None) as world:
            assert numbers(world) == set(range(ROWS))


def test_damage_that_shows_only_when_it_is_read(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with worlds.open(path, embedder=None) as world:
        numbers(world)
    (generation, _) = Cache(str(path)).generations()[0]
    for file in generation.glob("*.sst"):
        data = bytearray(file.read_bytes())
        for at in range(0, min(len(data) // 2, 2000), 11):  # the data, not the table of contents at the end
            data[at] ^= 0xFF
        file.write_bytes(data)
    with worlds.open(path, embedder=None) as world:
        assert numbers(world) == set(range(ROWS))
    assert "damaged" in caplog.text


CHILD = """
import sys
import worlds
from tests.support import seams
from tests.support.forking import Forked
seams.keep_small_indexes_on_disk(seams.ForGood(), 50)
path, start = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
for turn in range(1000):
    with worlds.open(path, embedder=None) as world:
        world.query("ASK {}")
        numbers = range(start + turn * 20, start + turn * 20 + 20)  # so many that it publishes each time
        triples = " . ".join(f"<http://example.org/{number}> <http://example.org/n> {number}" for number in numbers)
        world.update(f"INSERT DATA {{ {triples} }}")
        with world.transaction():
            found = world.query("SELECT (COUNT(*) AS ?n) { ?s <http://example.org/n> ?o }")[0].n.toPython()
            assert found == len(world), (found, len(world))
"""


def test_killed_at_any_moment_it_is_never_wrong(path: Path) -> None:
    random_ = random.Random(4)
    for turn in range(3):
        child = Forked(
            [sys.executable, "-c", CHILD, str(path), str((turn + 1) * 10_000)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(random_.uniform(0, 0.3))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        with worlds.open(path, embedder=None) as world:
            stored = {quad[2].toPython() for quad in world.quads(predicate=f"<{EX}n>")}
            assert numbers(world) == stored
            assert on_disk(path)
    assert on_disk(path) == []
    assert len(generations(path)) <= 2  # one may have been killed after it published, before the older one went
    with worlds.open(path, embedder=None) as world:
        numbers(world)
        world.add([(f"{EX}{number}", f"{EX}n", number) for number in range(2000)])
    assert len(generations(path)) == 1


def test_a_deletion_that_was_killed_is_finished(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        numbers(world)
    dying = Path(f"{path}-sparql/copy-0-5769d5c0")
    dying.mkdir()
    (dying / "000012.sst").write_bytes(b"its lock was deleted first, a moment ago")
    with worlds.open(path, embedder=None) as world:
        numbers(world)
    assert on_disk(path) == []


LARGE = """
import sys, worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    print("ready", flush=True)
    for number in range(int(sys.argv[2]), int(sys.argv[2]) + 1000):
        world.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
        world.update(f"INSERT DATA {{ <urn:new> <urn:p> {number} }} ; DELETE WHERE {{ <urn:s{number}> ?p ?o }}")
        if number % 5 == 0:  # so much that closing publishes the index anew
            some = "{ SELECT * { ?s ?p ?o } LIMIT 4000 }"
            world.update(f"DELETE {{ ?s ?p ?o }} INSERT {{ ?s <urn:p{number}> ?o }} WHERE {{ {some} }}")
            world.close()
            world = worlds.open(sys.argv[1], embedder=None)
"""


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_killed_above_the_size_from_which_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 100_000)
    path, chance = tmp_path / "kb.db", random.Random(20)
    with worlds.open(path, embedder=None) as world:
        world.load("".join(f"<urn:s{n}> <urn:p> {n} .\n" for n in range(120_000)).encode(), format="turtle")
    for turn in range(200):
        command = [sys.executable, "-c", LARGE, str(path), str(turn * 1000)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, 1.5))
            child.kill()
        with worlds.open(path, embedder=None) as world:
            found = world.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
            assert isinstance(found, worlds.records.Solutions)
            assert found[0].n.toPython() == len(world)
            if turn % 10 == 0:
                assert world.check().ok
                assert world.check().checked["quads of the SPARQL index"] == len(world)
    assert len(generations(path)) <= 1


def test_processes_at_once_all_answer(path: Path) -> None:
    code = CHILD.replace("range(1000)", "range(6)")
    children = [
        Forked([sys.executable, "-c", code, str(path), str(start)], stderr=subprocess.PIPE, text=True)
        for start in (10_000, 20_000, 30_000)
    ]
    for child in children:
        _, complaint = child.communicate(timeout=120)
        assert child.returncode == 0, complaint
    with worlds.open(path, embedder=None) as world:
        assert len(numbers(world)) == ROWS + 18 * 20


def loaded(tmp_path: Path, **options: Any) -> Path:
    """A world whose process loads 3,000 quads, is not asked, and ends."""
    target = tmp_path / "large.db"
    with worlds.open(target, embedder=None, **options) as world:
        world.load(turtle(range(3000)), format="turtle")
    return target


def builders(path: Path, seconds: float = 30) -> Iterator[int]:
    """The processes that build an index beside a world, until there is one that is whole."""
    until = time.monotonic() + seconds
    while not generations(path) and time.monotonic() < until:
        yield from (int(name.split("-")[1]) for name in on_disk(path))
        time.sleep(0.005)


def test_after_a_large_write_a_process_beside_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seams.build_small_indexes_beside(monkeypatch, 1000)
    caplog.set_level("INFO", "worlds")
    path = loaded(tmp_path)
    assert os.getpid() not in set(builders(path))
    assert len(generations(path)) == 1
    with worlds.open(path, embedder=None) as world:
        assert numbers(world) == set(range(3000))
        world.add([(f"{EX}{number}", f"{EX}n", number) for number in range(3000, 6000)])  # the store follows
        assert numbers(world) == set(range(6000))
    assert built(caplog) == []
    with worlds.open(path, embedder=None) as world:  # while the next one may be built
        world.load(turtle(range(6000, 9000)), format="turtle")
        assert numbers(world) == set(range(9000))
    assert built(caplog) == []


@pytest.mark.parametrize("options", [{"sparql_index": "memory"}, {"encryption_key": "a long enough key"}])
def test_no_process_builds_what_nobody_may_have_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    seams.build_small_indexes_beside(monkeypatch, 1000)
    path = loaded(tmp_path, **options)
    assert list(builders(path, 0.5)) == []
    assert not Path(f"{path}-sparql").exists()


def test_a_process_beside_may_be_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.build_small_indexes_beside(monkeypatch, 1000)
    path = loaded(tmp_path)
    for process in builders(path):
        os.kill(process, signal.SIGKILL)
        break
    with worlds.open(path, embedder=None) as world:
        assert numbers(world) == set(range(3000))
        assert len(generations(path)) == 1


def test_a_query_waits_for_who_builds_the_index(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "worlds")
    found: list[set[int]] = []

    def ask() -> None:
        with worlds.open(path, embedder=None) as world:
            found.append(numbers(world))

    asking = threading.Thread(target=ask)
    with Cache(str(path)).building():
        asking.start()
        asking.join(0.3)
        assert asking.is_alive()
        with worlds.open(path, embedder=None) as world:  # a writer does not
            world.load(turtle([5000]), format="turtle")
    asking.join()
    assert found == [set(range(ROWS))]  # its state of the file
    assert built(caplog) == [str(ROWS)]


def test_a_world_is_restored_while_its_index_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.build_small_indexes_beside(monkeypatch, 1000)
    with worlds.open(tmp_path / "other.db", embedder=None) as world:
        world.load(turtle([1]), format="turtle")
    path = loaded(tmp_path)
    next(builders(path))
    worlds.restore(tmp_path / "other.db", path)
    with worlds.open(path, embedder=None) as world:
        assert numbers(world) == {1}


def test_a_world_as_of_a_time_takes_the_store_of_its_world(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.facts.state(f"{EX}a", f"{EX}n", 1000, valid_from="1980", valid_to="1999")
        world.facts.state(f"{EX}b", f"{EX}n", 1001, valid_from="1985", valid_to="2001")
        assert numbers(world) == set(range(ROWS))
        before = generations(path)
        views = [world.as_of(time) for time in ("1983", "1990", "2000")]
        assert [numbers(view) - set(range(ROWS)) for view in views] == [{1000}, {1000, 1001}, {1001}]
        assert numbers(world) == set(range(ROWS))
        assert len(on_disk(path)) == 4
        world.load(turtle([2000]), format="turtle")
        assert 2000 in numbers(world.as_of("1990"))
        assert 2000 not in numbers(views[1])  # as it was when it was made
        assert generations(path) == before
    assert len(on_disk(path)) == 3  # of views that are in use, and live on
    assert 1001 in numbers(views[2])
    del views
    gc.collect()
    assert on_disk(path) == []


def test_a_copied_store_goes_with_its_world(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.facts.state(f"{EX}a", f"{EX}n", 1000, valid_from="1980", valid_to="1999")
        view = world.as_of("1990")
        assert 1000 in numbers(view)
        assert len(on_disk(path)) == 2  # the first query made the index of the world, too
        view.close()
        del view
        gc.collect()
        assert numbers(world) == set(range(ROWS))
        assert len(on_disk(path)) == 1


def test_earlier_revisions_take_the_store_of_their_world(path: Path) -> None:
    draw = random.Random(4)
    everything = "SELECT ?g ?s ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    empty = "SELECT ?g { GRAPH ?g {} }"

    def told(world: Any) -> list[str]:
        rows = [*world.query(everything).to_dicts(), *world.query(empty).to_dicts()]
        return sorted(map(str, rows))

    with worlds.open(path, embedder=None) as world:
        states = {1: told(world)}
        for step in range(8):
            with world.transaction():
                held = sorted(world.quads())
                world.remove(draw.sample(held, 6))
                forms: list[Any] = [(f"{EX}{draw.randrange(ROWS)}", f"{EX}n", f'"0{draw.randrange(9)}"^^xsd:integer')]
                forms += [(f"{EX}{draw.randrange(ROWS)}", f"{EX}n", draw.randrange(9), f"{EX}g{step}")]
                world.add(forms)
                if step % 3 == 0:
                    world.update(f"CREATE SILENT GRAPH <{EX}empty{step}>")
            states[world.history()[0].revision] = told(world)
        pasts = {revision: world.at(revision) for revision in states}
        for revision in draw.sample(sorted(states), len(states)):
            assert told(pasts[revision]) == states[revision], revision
        assert len(on_disk(path)) <= 4  # three of them, and the world's own
        assert told(pasts[1]) == states[1]
        assert told(world) == states[max(states)]
    assert on_disk(path) == []
