"""What lies beside a world is believed only if no stranger can have put it there; what is made of it is as private."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

import worlds
from tests.support import seams
from tests.support.embedder import HashingEmbedder
from worlds import OpenError
from worlds.core.sparql.cache import Cache
from worlds.doors.server.keys import KeyStore, keys_of
from worlds.permissions import believe, create_like
from worlds.settings import load_settings

STRANGER = 65_534  # "nobody"
QUERY = "SELECT ?s { ?s ?p ?o }"

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="files have no owners here"),
]
as_root = pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can give files to others")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A world in a folder in which everybody may put files, as /tmp is."""
    seams.keep_small_indexes_on_disk(monkeypatch, 1)
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    path = folder / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:p", "urn:b"), ("urn:c", "urn:p", "urn:d")])
    return path


def found(world: worlds.World) -> int:
    answer = world.query(QUERY)
    assert isinstance(answer, worlds.records.Solutions)
    return len(answer)


def plant(path: Path, stranger: Callable[[Path], object]) -> None:
    """Let a stranger have put something there."""
    stranger(path)
    for entry in (path, *path.rglob("*")) if path.is_dir() and not path.is_symlink() else (path,):
        os.chown(entry, STRANGER, STRANGER, follow_symlinks=False)


def tamper(path: Path, change: Callable[[ox.Store], object]) -> None:
    """Change the index beside a world that is closed, as who knows how it is made could."""
    cache = Cache(str(path))
    ((generation, stamp),) = cache.generations()
    copy, forms = cache.copy(generation, stamp)
    store = ox.Store(str(copy.folder))
    change(store)
    store.flush()
    del store
    cache.publish(copy, stamp, forms)


def take_one(store: ox.Store) -> None:
    store.remove(next(iter(store)))


@as_root
def test_a_planted_index_answers_no_query(shared: Path, caplog: pytest.LogCaptureFixture) -> None:
    with worlds.open(shared, embedder=None) as world:
        assert found(world) == 2
    tamper(shared, take_one)
    plant(Path(f"{shared}-sparql"), lambda path: None)
    with worlds.open(shared, embedder=None) as world:
        assert found(world) == 2
        assert world.check().ok
    assert "belongs to another user (number 65534), so it is not used: remove this folder" in caplog.text
    assert list(Path(f"{shared}-sparql").iterdir()), "a stranger's folder is left alone"


def test_check_compares_the_index_with_the_quads(shared: Path) -> None:
    with worlds.open(shared, embedder=None) as world:
        assert "quads of the SPARQL index" not in world.check().checked, "there is none"
        world.add([("urn:n", "urn:p", n) for n in ('"01"^^xsd:integer', '"1"^^xsd:integer', '"1"^^xsd:int', '"x"@en')])
        found(world)
        assert world.check().ok
        assert world.check().checked["quads of the SPARQL index"] == 6
    for change, told in (
        (take_one, "1 quads are not in the SPARQL index"),
        (lambda store: store.add(ox.Quad(*[ox.NamedNode("urn:extra")] * 3)), "the SPARQL index has 1 quads that"),
    ):
        with worlds.open(shared, embedder=None) as world:
            found(world)
        tamper(shared, change)
        with worlds.open(shared, embedder=None) as world:
            (problem,) = world.check().problems
            assert (problem.kind, problem.count) == ("sparql-index", 1)
            assert told in str(problem)
        shutil.rmtree(f"{shared}-sparql")


def test_a_planted_link_leads_nowhere(shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    victim = tmp_path / "victim"
    (victim / "copy-1-00000000").mkdir(parents=True)
    (victim / "copy-1-00000000" / "letters").write_text("dear")
    os.utime(victim / "copy-1-00000000", (0, 0))
    Path(f"{shared}-sparql").symlink_to(victim)
    with worlds.open(shared, embedder=None) as world:
        assert found(world) == 2
    assert "is a link, so it is not used" in caplog.text
    assert [str(entry.relative_to(victim)) for entry in sorted(victim.rglob("*"))] == [
        "copy-1-00000000",
        "copy-1-00000000/letters",
    ]


@as_root
def test_planted_keys_open_no_door(shared: Path) -> None:
    made = KeyStore(shared.parent / "own.json")
    _, text = made.add("mallory", {"*": "admin"})
    plant(shared.with_name("kb.db.keys.json"), lambda path: shutil.copy(made.path, path))
    store = keys_of(shared)
    with pytest.raises(OpenError, match=r"kb.db.keys.json belongs to another user .* remove this file unless"):
        store.find(text)
    with pytest.raises(OpenError, match="belongs to another user"):
        store.add("ann", {"*": "admin"})
    folder = keys_of(shared.parent)
    plant(folder.path, lambda path: shutil.copy(made.path, path))
    with pytest.raises(OpenError, match="belongs to another user"):
        folder.all()
    named = KeyStore(made.path)
    assert named.find(text) is not None, "a file that was named is believed"


def test_keys_that_others_may_write_open_no_door(shared: Path) -> None:
    store = keys_of(shared)
    _, text = store.add("ann", {"*": "admin"})
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert store.find(text) is not None
    store.path.chmod(0o666)
    with pytest.raises(OpenError, match=r"can be written by every user.*chmod go-w"):
        keys_of(shared).find(text)


@as_root
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_planted_log_is_not_replayed(shared: Path, end: str) -> None:
    plant(Path(f"{shared}{end}"), lambda path: path.write_bytes(b"x" * 5000))
    with pytest.raises(OpenError, match=rf"kb.db{end} belongs to another user"):
        worlds.open(shared, embedder=None)


def test_a_planted_draft_keeps_nobody_waiting(shared: Path) -> None:
    os.mkfifo(shared.with_name(".x.backup.part"))
    shared.with_name(".y.backup.part").symlink_to(shared)
    worlds.open(shared, embedder=None).close()
    assert shared.exists()


@as_root
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "file"])
def test_an_export_is_not_written_where_a_stranger_has_it(shared: Path, tmp_path: Path, kind: str) -> None:
    victim, target = tmp_path / "letters", shared.with_name("out.nq")
    if kind != "dangling link":
        victim.write_text("dear")
    made: dict[str, Callable[[Path], object]] = {"pipe": os.mkfifo, "file": Path.touch}
    plant(target, made.get(kind, lambda path: path.symlink_to(victim)))
    with worlds.open(shared, embedder=None) as world:
        with pytest.raises(OpenError, match="belongs to another user"):
            world.export(target)
        target.unlink()
        target.symlink_to(tmp_path / "mine.nq")
        assert world.export(target) == 2, "one's own link is followed"
    assert not victim.exists() if kind == "dangling link" else victim.read_text() == "dear"


@as_root
def test_planted_settings_and_replicas_are_not_read(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared.parent)
    plant(Path("worlds.toml").absolute(), lambda path: path.write_text("[server]\nallow_writes = true\n"))
    with pytest.raises(OpenError, match="worlds.toml belongs to another user"):
        load_settings()
    from worlds.extras.remote.status import Folder

    folder = Folder(shared.with_name("replica.db"))
    plant(folder.path, lambda path: path.mkdir())
    for call in (folder.make, folder.read):
        with pytest.raises(OpenError, match="belongs to another user"):
            call()


@as_root
def test_who_may_write_the_world_is_believed(shared: Path) -> None:
    beside = shared.with_name("beside")
    beside.touch(0o644)
    for owner, world, beside_, believed in (
        ((STRANGER, STRANGER), 0o644, 0o644, True),  # the world's owner
        ((0, 0), 0o666, 0o666, True),  # everybody may write the world
        ((0, 0), 0o644, 0o664, True),  # root's group
        ((STRANGER, 4), 0o644, 0o664, False),  # of a group that may not write the world
    ):
        os.chown(shared, STRANGER, STRANGER)
        shared.chmod(world)
        os.chown(beside, *owner)
        beside.chmod(beside_)
        if believed:
            believe(beside, shared)
        else:
            with pytest.raises(OpenError, match="can be written by a group"):
                believe(beside, shared)


# --- what is made of a world ------------------------------------------------------------------------------------------


@pytest.fixture
def usual() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize("private", [0o600, 0o640, 0o644])
def test_what_is_made_of_a_world_is_as_private(tmp_path: Path, private: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 1)
    path, target = tmp_path / "w.db", tmp_path / "made"
    target.mkdir()
    worlds.open(path, embedder=None).close()
    path.chmod(private)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add([("urn:a", "rdfs:label", '"red kite"')])
        world.query(QUERY)
        world.file.backup(target / "backup.db")
        world.export(target / "all.nq")
        world.export(target / "all.nt.gz")
        (target / "there.nq").touch(0o604)
        world.export(target / "there.nq")
        beside = [mode(Path(f"{path}{end}")) for end in ("-wal", "-shm")]
    worlds.restore(target / "backup.db", target / "restored.db")
    path.chmod(0o400 | private)
    worlds.restore(target / "backup.db", path)
    found = {entry.name: mode(entry) for entry in target.iterdir()}
    assert found.pop("there.nq") == 0o604
    assert set(found.values()) == {private}, found
    assert set(beside) == {private}
    assert mode(path) == private
    with worlds.open(path, embedder=None) as world:
        world.query(QUERY)
    assert mode(Path(f"{path}-sparql")) == 0o700


@as_root
@pytest.mark.usefixtures("usual")
def test_what_root_makes_of_a_world_belongs_to_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 1)
    path = tmp_path / "w.db"
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:p", "urn:b")])
    os.chown(path, STRANGER, STRANGER)
    with worlds.open(path, embedder=None) as world:
        world.query(QUERY)
        world.add([("urn:c", "urn:p", "urn:d")])
        world.file.backup(tmp_path / "backup.db")
        world.export(tmp_path / "all.nq")
        keys_of(path).add("ann", {"*": "read"})
    made = [tmp_path / "backup.db", tmp_path / "all.nq", Path(f"{path}-sparql"), *Path(f"{path}-sparql").rglob("*")]
    assert len(made) > 4
    assert {entry.stat().st_uid for entry in made} == {STRANGER}
    assert len(Cache(str(path)).generations()) == 1


@as_root
def test_a_file_keeps_no_rights_of_a_group_that_it_cannot_be_given_to(tmp_path: Path) -> None:
    original, made = tmp_path / "original", tmp_path / "made"
    original.touch()
    original.chmod(0o664)
    tmp_path.chmod(0o777)
    folder = os.open(tmp_path, os.O_RDONLY)
    if not (child := os.fork()):
        os.fchdir(folder)  # a user who may enter no folder above it
        os.setgroups([])
        os.setgid(STRANGER)
        os.setuid(STRANGER)
        os.close(create_like("made", "original"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    os.close(folder)
    assert (mode(made), made.stat().st_uid) == (0o604, STRANGER)
