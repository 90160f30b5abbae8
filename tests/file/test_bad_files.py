"""Files that are no worlds, damaged ones, and places that cannot be written to."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.misuse import A_QUAD, EX, LINE, P, files_of, made, reads, state, writes
from tests.support.oracle import problems
from worlds import EmbedderError, IntegrityError, OpenError, ReadOnlyError, SchemaError, World, WorldsError
from worlds.records import Change
from worlds.sql import SCHEMA_VERSION
from worlds.sql.connection import Connection
from worlds.world import connection_of

# --- what is not a world ----------------------------------------------------------------------------------------------


def database(path: Path, *statements: str) -> Path:
    """A database that another program made."""
    connection = Connection(str(path))
    for statement in statements:
        connection.run(statement)
    connection.close()
    return path


def refused(path: Path, kind: type[WorldsError], said: str, **options: Any) -> None:
    """Opening the file is an error, whichever way, and leaves it and its folder as they were."""
    before = path.read_bytes() if path.is_file() else None
    files = files_of(path)
    for read_only in (True, False):
        with pytest.raises(kind, match=said) as caught:
            worlds.open(path, **{"embedder": None, "read_only": read_only, **options})
        assert path.name in str(caught.value)
    assert files_of(path) == files
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"hello world\n" * 10, b"\n", b"\0", b"SQLite format 3\0", b"SQLite format 3\0" + bytes(4080), b"\xff" * 20_000],
    ids=lambda content: repr(content[:16]),
)
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused(path, OpenError, "not a world: the file is not a database")


def test_an_empty_file_becomes_a_world_where_one_may_be_made(path: Path) -> None:
    path.touch()
    refused(path, OpenError, "is empty: not a world", create=False)
    with pytest.raises(OpenError, match="is empty: not a world"):
        worlds.open(path, read_only=True, embedder=None)
    assert path.read_bytes() == b""
    with worlds.open(path, embedder=None) as world:
        assert world.add([A_QUAD]).revision == 1


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE notes (text)"],
        ["CREATE VIEW answers AS SELECT 42"],
        ["CREATE TABLE meta (a)", "INSERT INTO meta VALUES (1)"],
        ["CREATE TABLE meta (name, value)"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', 1)"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', 'x'), ('format', 'worlds')"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', 0), ('format', 'worlds')"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', -1), ('format', 'worlds')"],
    ],
    ids=str,
)
@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_database_that_is_no_world(path: Path, statements: list[str], journal: str) -> None:
    refused(
        database(path, f"PRAGMA journal_mode = {journal}", *statements), OpenError, "is a database, but not a world"
    )


def test_a_world_without_its_tables(path: Path) -> None:
    database(
        path,
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        f"INSERT INTO meta VALUES ('schema_version', {SCHEMA_VERSION}), ('format', 'worlds')",
    )
    with worlds.open(path, embedder=None) as world, pytest.raises(IntegrityError, match="no such table: "):
        len(world)


def test_a_world_of_a_newer_schema(path: Path) -> None:
    made(path, 2)
    database(path, "UPDATE meta SET value = 99 WHERE name = 'schema_version'")
    refused(path, SchemaError, r"has schema 99, this library knows \d+: upgrade with `pip install -U worlds-kg`")


def test_a_world_of_before_the_first_release(path: Path) -> None:
    made(path, 2)
    database(path, "UPDATE meta SET value = 9 WHERE name = 'schema_version'")
    refused(path, SchemaError, r"has schema 9, .* run `worlds export \S+ all.nq`.* no history")


def test_wrong_paths(tmp_path: Path) -> None:
    for name, said in (
        ("ftp://example.org/world", "is not the path of a file"),
        ("", "'' is not the path of a file"),
        ("a\0b", "is not the path of a file"),
        ("\udcff.db", "is not Unicode"),
        ("x" * 300, "cannot be opened: File name too long"),
        (str(tmp_path), r"is a folder; a world is one file, such as .*world\.db"),
        (str(tmp_path / "nowhere" / "world.db"), "the folder .*nowhere does not exist"),
        ("/dev/null", "is not a regular file"),
    ):
        with pytest.raises(OpenError, match=said):
            worlds.open(name, embedder=None)
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(OpenError, match=r"world\.db does not exist; `worlds load .*world\.db FILE` makes a world"):
            worlds.open(tmp_path / "world.db", embedder=None, **options)  # type: ignore[arg-type]  # booleans both
    assert list(tmp_path.iterdir()) == []


def test_what_opens_a_file_that_is_deleted_just_then_makes_none(path: Path) -> None:
    with pytest.raises(OpenError):
        Connection(str(path), create=False)
    assert not path.exists()


def test_links_and_pipes_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop.db").symlink_to("loop.db")
    (tmp_path / "dangling.db").symlink_to("nowhere/world.db")
    os.mkfifo(tmp_path / "pipe.db")
    for name in ("loop.db", "dangling.db", "pipe.db"):
        with pytest.raises(OpenError, match=name):
            worlds.open(tmp_path / name, embedder=None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": "x"}, "timeout must be a number of seconds from 0 on, not 'x'"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": None}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"durability": "high"}, "durability must be one of normal, full, not 'high'"),
        ({"vector_index": "no"}, "vector_index must be True, False or 'auto', not 'no'"),
        ({"vector_index": 1}, "vector_index"),
        ({"encryption_key": ""}, "encryption_key"),
        ({"encryption_key": b"key"}, "encryption_key"),
    ],
    ids=str,
)
def test_wrong_options_of_open(path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        worlds.open(path, **{"embedder": None, **options})
    assert not path.exists()


def test_a_very_long_timeout(path: Path) -> None:
    for timeout in (10**12, float("inf")):
        with worlds.open(path, embedder=None, timeout=timeout) as world:
            world.add([A_QUAD])


# --- damage -----------------------------------------------------------------------------------------------------------


def use(world: World) -> None:
    """Read and write all kinds of things; errors of damage are fine, others are not."""

    def hits() -> None:
        for hit in world.search("kite 17", where="?subject ?p ?o"):
            assert hit.quads
            assert hit.snippet

    uses: list[Callable[[], object]] = [
        lambda: len(world),
        hits,
        lambda: list(world.query("SELECT * { ?s ?p ?o }")),  # type: ignore[arg-type]  # solutions
        lambda: world.export(io.BytesIO()),
        world.stats,
        lambda: world.add([A_QUAD]),
        lambda: world.remove([(EX + "5", P, '"the red kite number 5 flies over the hills"@en')]),
        lambda: world.embed(rebuild=True),
        world.file.compact,
    ]
    for one in uses:
        with contextlib.suppress(IntegrityError, OpenError):
            one()


def test_a_truncated_world(path: Path) -> None:
    whole = made(path).read_bytes()
    for size in (100, 4096, 5000, len(whole) // 2, len(whole) - 4096):
        path.write_bytes(whole[:size])
        refused(path, IntegrityError, "the file is damaged: restore a backup")
    path.write_bytes(whole[:-1])
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert not world.check().ok
        use(world)


def test_a_corrupted_world(path: Path, tmp_path: Path) -> None:
    whole = made(path).read_bytes()
    chance = random.Random(1)
    for number in range(24):
        content = bytearray(whole)
        if number % 2:  # a page; else bits, which may lie where nothing is
            page = chance.randrange(1, len(whole) // 4096) * 4096
            content[page : page + 4096] = chance.randbytes(4096) if number % 4 == 1 else bytes(4096)
        else:
            for _ in range(50):
                content[chance.randrange(4096, len(whole))] ^= 1 << chance.randrange(8)
        broken = tmp_path / f"{number}.db"
        broken.write_bytes(content)
        refusals = (IntegrityError, OpenError, EmbedderError)  # the last where what is kept of the embedder was hit
        with contextlib.suppress(*refusals), worlds.open(broken, embedder=HashingEmbedder()) as world:
            assert not (number % 2 and world.check().ok)
            use(world)


@pytest.mark.parametrize("size", ["x''", "x'0102'"])
def test_lengths_of_texts_that_cannot_be(path: Path, size: str) -> None:
    """A text's length in tokens that is damaged, and reads as below zero."""
    made(path, 3)
    connection = Connection(str(path))
    connection.run(f"UPDATE chunks_fts_docsize SET sz = {size}")
    connection.close()
    with worlds.open(path, embedder=None) as world, pytest.raises(IntegrityError, match="full-text index is damaged"):
        world.search("red kite", mode="text")


def test_pages_that_lead_nowhere_have_an_end(path: Path) -> None:
    """A damaged table can give the same page for ever."""
    with worlds.open(path, embedder=None) as world:
        connection = connection_of(world)
        page = "SELECT 3, '1'"
        assert connection.page(page, after=2)[0] == 3
        with pytest.raises(IntegrityError, match="not in order"):
            connection.page(page, after=3)


def test_text_that_is_not_utf8(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made(path, 3)
    database(path, "UPDATE terms SET value = CAST(x'fffefd' AS TEXT) WHERE kind = 3")
    with worlds.open(path, embedder=None) as world:
        with pytest.raises(IntegrityError, match="not UTF-8"):
            world.export(io.BytesIO())
        assert not world.check().ok
        assert len(world) == 3
    capfd.readouterr()  # the driver's panic


# --- encryption -------------------------------------------------------------------------------------------------------


def test_keys(path: Path, tmp_path: Path) -> None:
    made(path, 3, encryption_key="secret")
    assert b"red kite" not in path.read_bytes()
    assert not path.read_bytes().startswith(b"SQLite")
    for key in (None, "wrong", "secret "):
        refused(path, OpenError, "not a world: the file is not a database, or the key is wrong", encryption_key=key)
    for read_only in (True, False):
        with worlds.open(path, encryption_key="secret", embedder=None, read_only=read_only) as world:
            assert len(world.search("kite")) == 3
            assert problems(world) == []
    plain = made(tmp_path / "plain.db", 3)
    refused(plain, OpenError, "or the key is wrong", encryption_key="secret")


# --- read-only --------------------------------------------------------------------------------------------------------


def test_a_world_opened_read_only(path: Path, tmp_path: Path) -> None:
    made(path, 3)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add([(EX + "pending", P, '"pending"')], embed=False)
        world.remove([(EX + "pending", P, '"pending"')])
    before = path.read_bytes()
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        for write in writes(world):
            with pytest.raises(ReadOnlyError, match=r"world\.db was opened read-only"):
                write()
            reads(world)
        world.file.backup(tmp_path / "backup.db")
    assert path.read_bytes() == before
    assert files_of(path) == {"world.db", "backup.db"}
    with worlds.open(tmp_path / "backup.db", embedder=HashingEmbedder()) as world:
        reads(world)


def test_a_read_only_world_sees_what_others_write(path: Path) -> None:
    made(path, 3)
    with worlds.open(path, embedder=None, read_only=True) as reader, worlds.open(path, embedder=None) as writer:
        assert reader.query("ASK { ex: ?p ?o }".replace("ex:", f"<{EX}new>")) is False
        writer.add([A_QUAD])
        assert len(reader) == 4
        assert len(reader.search("new text")) == 1
        assert reader.query(f"ASK {{ <{EX}new> ?p ?o }}") is True


def test_pending_texts_of_a_read_only_world_are_not_embedded(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.load(LINE, format="nt")
    embedder = HashingEmbedder()
    with worlds.open(path, embedder=embedder, read_only=True) as world:
        with pytest.raises(ReadOnlyError):
            world.embed()
        assert embedder.documents == 0
        assert len(world.search("text")) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_file_that_permissions_keep_from_us(path: Path) -> None:
    made(path, 3)
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("this user (root) may write to every file")
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        reads(world)
    with worlds.open(path, embedder=None) as world, pytest.raises(ReadOnlyError):
        world.add([A_QUAD])
    path.chmod(0)
    with pytest.raises(OpenError, match=r"world\.db"):
        worlds.open(path, embedder=None)
    path.chmod(0o644)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(ReadOnlyError, match="lies in a read-only folder"):
            worlds.open(path, embedder=None)
        with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
            reads(world)
    finally:
        path.parent.chmod(0o755)


class Mount:
    """A file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "world.db"

    def set(self, options: str) -> None:
        """Mount it, or mount it anew."""
        remount = "remount," if self.folder.is_mount() else ""
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", remount + options, "worlds-test", str(self.folder)],
            check=True,
            capture_output=True,
            timeout=10,
        )


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """A small file system that can be made read-only, or full, for root too."""
    folder = tmp_path / "mount"
    folder.mkdir()
    mount = Mount(folder)
    try:
        mount.set("size=16m")
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"mounting is not permitted here: {error}")
    yield mount
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=10)


def test_a_folder_that_is_read_only(mount: Mount, tmp_path: Path) -> None:
    made(mount.path, 3)
    mount.set("ro")
    with pytest.raises(ReadOnlyError, match=r"lies in a read-only folder, .*; open it with read_only=True"):
        worlds.open(mount.path, embedder=None)
    with pytest.raises(OpenError, match=r"new\.db cannot be made: the folder .* is read-only"):
        worlds.open(mount.folder / "new.db", embedder=None)
    link = tmp_path / "link.db"
    link.symlink_to(mount.path)
    with pytest.raises(ReadOnlyError, match=r"link\.db lies in a read-only folder"):
        worlds.open(link, embedder=None)
    for path in (mount.path, link):
        with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
            reads(world)
            for write in writes(world):
                with pytest.raises(ReadOnlyError):
                    write()
            for verb in (world.export, world.file.backup):
                with pytest.raises(OpenError, match="Read-only file system"):
                    verb(mount.folder / "out.nq")
            world.file.backup(tmp_path / f"backup-{path.name}")
    assert files_of(mount.path) == {"world.db"}


def test_a_log_in_a_read_only_folder_is_not_passed_over(mount: Mount) -> None:
    made(mount.path, 3)
    copied = mount.folder / "copied.db"
    with worlds.open(mount.path, embedder=None) as world:
        world.add([A_QUAD])
        shutil.copy(mount.path, copied)
        shutil.copy(f"{mount.path}-wal", f"{copied}-wal")
    mount.set("ro")
    with pytest.raises(OpenError, match=r"has a log, .*-wal, that cannot be read in a read-only folder: copy both"):
        worlds.open(copied, embedder=None, read_only=True)
    mount.set("rw")
    with worlds.open(copied, embedder=None, read_only=True) as world:
        assert len(world) == 4


# --- a full disk ------------------------------------------------------------------------------------------------------


def test_a_full_disk(mount: Mount) -> None:
    many = b"".join(
        b'<http://example.org/%d> <http://example.org/q> "text number %d that takes some room on the disk" .\n' % (i, i)
        for i in range(10_000)
    )
    with worlds.open(made(mount.path, 3), embedder=HashingEmbedder()) as world:
        mount.set(f"size={world.stats().bytes + 1_500_000}")
        before = state(world)

        def load() -> Change:
            return world.load(many, format="nt", embed=False)

        def load_in_transaction() -> None:
            with world.transaction():
                world.add([A_QUAD])
                with contextlib.suppress(IntegrityError):
                    load()

        for write in (load, load_in_transaction):
            with pytest.raises(IntegrityError, match="the disk is full, and nothing was changed: make room"):
                write()
            assert state(world) == before
            reads(world)
        assert world.add([A_QUAD]).revision == 2
        assert world.remove([A_QUAD]).revision == 3
        mount.set("size=64m")
        assert load().added == 10_000
        assert len(world.search("text number 9999", mode="text")) == 10
        assert problems(world) == []
    assert files_of(mount.path) == {"world.db"}


@pytest.mark.parametrize("driver", ["libsql", "sqlite"])
def test_a_full_disk_names_the_file_that_could_not_be_written(mount: Mount, driver: Any) -> None:
    with worlds.open(mount.path, embedder=None, driver=driver) as world:
        lines = [b'<http://a/%d> <http://a/c> "text %d that takes some room" .\n' % (i, i) for i in range(4000)]
        world.load(b"".join(lines), format="nt", embed=False)
        with contextlib.suppress(OSError), (mount.folder / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass
        writes: list[tuple[str, str, Callable[[], object]]] = [
            ("world.db", "the disk is full", lambda: world.update("INSERT { ?s <urn:a> ?o } WHERE { ?s ?p ?o }")),
            ("world.db", "the disk is full", world.file.compact),
            ("backup.db", "No space left", lambda: world.file.backup(mount.folder / "backup.db")),
            ("e.nq", "No space left", lambda: world.export(mount.folder / "e.nq")),
            ("new.db", "the disk is full", lambda: worlds.open(mount.folder / "new.db", embedder=None, driver=driver)),
            ("r.db", "No space left", lambda: worlds.restore(mount.path, mount.folder / "r.db")),
        ]
        for name, said, write in writes:
            with pytest.raises((IntegrityError, OpenError), match=said) as raised:
                write()
            assert str(mount.folder / name) in str(raised.value)
        assert len(world) == 4000
        (mount.folder / "filler").unlink()
        assert world.check().ok


def test_a_disk_that_is_full_before_the_world_is_made(mount: Mount) -> None:
    mount.set("size=40k")
    for _ in range(2):
        with pytest.raises(IntegrityError, match="the disk is full"):
            worlds.open(mount.path, embedder=None)
    mount.set("size=16m")
    made(mount.path, 3)


def test_a_disk_that_is_full_when_texts_are_embedded(mount: Mount) -> None:
    embedder = HashingEmbedder(1024)
    with worlds.open(mount.path, embedder=embedder, vector_index=False) as world:
        many = b"".join(b'<http://a/%d> <http://a/c> "text %d" .\n' % (i, i) for i in range(1000))
        world.load(many, format="nt", embed=False)
        mount.set(f"size={world.stats().bytes + 1_200_000}")
        with pytest.raises(IntegrityError, match="the disk is full"):
            world.embed()
        pending = world.stats().pending
        assert 0 < pending <= 1000
        assert len(world) == 1000
        assert problems(world) == []
        mount.set("size=64m")
        world.embed()
        assert world.stats().pending == 0
        assert embedder.documents <= 1256  # no more than one batch was embedded twice
