"""Files beside a world: which of them are believed, who may read those that are made from it, and what it may reach.

A folder may be shared: in one with the sticky bit, such as /tmp, everybody may put a file beside another's world.
Where the system has no owners of files (Windows) nothing is checked and nothing is changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from worlds.errors import OpenError

if sys.platform != "win32":
    import fcntl

OWNERS = os.name == "posix"
"""Whether files have an owner, a group and permissions."""
_LOG_ENDS = ("-wal", "-shm", "-journal")
_consents: set[str] = set()  # that were given in this process
_log = logging.getLogger("worlds")


def user_folder() -> Path:
    """Where the user's own configuration is, or would be."""
    from platformdirs import user_config_path

    try:
        return user_config_path("worlds", appauthor=False)
    except RuntimeError:  # a user without a home has no such folder, and needs none
        return Path("~/.config/worlds")


def home_of(connection: Any) -> str:
    """The key of consents to the world of a connection: the real path of its file, or its address."""
    name = connection.path if connection.file == ":memory:" else connection.file  # a scope's is in memory
    path = str(getattr(connection, "address", name))
    return path if path == ":memory:" or "://" in path else os.path.realpath(path)


def consents(world: str, what: object) -> bool:
    """Whether this user lets a world reach a place that its file names, such as a source: a stranger may name it.

    A consent is a file in the user's folder of configuration, by the world's `home_of` and all of `what`, as JSON: a
    copy of the world, or another definition, has none.
    """
    name = _consent(world, what)
    return name in _consents or _kept(name).is_file()


def consent(world: str, what: object, *, keep: bool = True) -> None:
    """Allow a world to reach a place that its file names; without `keep` in this process alone."""
    name = _consent(world, what)
    _consents.add(name)
    file = _kept(name)
    if not keep or world == ":memory:" or file.is_file():
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text(json.dumps({"world": world, "trusted": what}, ensure_ascii=False, indent=1), "utf-8")
    except OSError as error:
        _log.warning("the trust is kept in this process alone: %s: %s", file, error.strerror or error)


def withdraw_consent(world: str, what: object) -> None:
    """Take a consent back, if it was given."""
    name = _consent(world, what)
    _consents.discard(name)
    with contextlib.suppress(OSError):
        _kept(name).unlink()


def _consent(world: str, what: object) -> str:
    return hashlib.sha256(json.dumps([world, what], sort_keys=True).encode()).hexdigest()


def _kept(name: str) -> Path:
    return user_folder() / "trusted" / name


def believe(path: str | os.PathLike[str], beside: str | os.PathLike[str], *, links: bool = False) -> None:
    """OpenError if someone can write the file at `path` who cannot write `beside`, a world or a folder.

    The user and root always may. A link is believed only with `links`, if its owner is; where nothing is at `path`,
    nothing is to be checked.
    """
    if not OWNERS:
        return
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    fault = _fault(found, _owned(beside), links)
    if fault is not None:
        kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
        raise OpenError(
            f"{os.fspath(path)} {fault}, so it is not used: remove this {kind} unless you know it is yours; then make "
            "it your own (chown) and take the others' right to write away (chmod go-w)"
        )


def believe_logs(world: str) -> None:
    """OpenError unless the logs beside a world's file, which SQLite would replay, are believed."""
    for end in _LOG_ENDS:
        believe(world + end, world)


def _owned(path: str | os.PathLike[str]) -> os.stat_result:
    """The status of the file at `path`, else of the folder that it would be in."""
    try:
        return os.stat(path)  # noqa: PTH116  # at each opening
    except FileNotFoundError:
        return Path(path).absolute().parent.stat()


def _fault(found: os.stat_result, beside: os.stat_result, links: bool) -> str | None:
    """Why something is not believed beside another; None if it is."""
    link = stat.S_ISLNK(found.st_mode)
    if link and not links:
        return "is a link"
    sticky = stat.S_ISDIR(beside.st_mode) and beside.st_mode & stat.S_ISVTX
    if beside.st_mode & stat.S_IWOTH and not sticky:
        return None
    group = beside.st_gid if beside.st_mode & stat.S_IWGRP and not sticky else None
    if found.st_uid not in (0, os.geteuid(), beside.st_uid) and not (group is not None and _in(found.st_uid, group)):
        return f"belongs to another user (number {found.st_uid})"
    if link:
        return None  # its permissions say nothing
    if found.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    if found.st_mode & stat.S_IWGRP and found.st_gid != group and found.st_gid != 0:
        return f"can be written by a group (number {found.st_gid})"
    return None


def _in(user: int, group: int) -> bool:
    """Whether a user is a member of a group."""
    import pwd  # not on Windows

    try:
        account = pwd.getpwuid(user)
    except KeyError:
        return False
    return group in os.getgrouplist(account.pw_name, account.pw_gid)


def private_folder(path: Path, beside: str | os.PathLike[str]) -> None:
    """Make a folder that its owner alone can enter, unless it is there; OpenError if that one is not believed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
        give(path, _owned(beside))
        return
    believe(path, beside)


def create_like(path: str | os.PathLike[str], original: str | os.PathLike[str] | None, *, most: int = 0o666) -> int:
    """A new file, open for writing, with the permissions and, where possible, the owner of `original`.

    Gives its descriptor; FileExistsError if there is something at `path`. Without an original, as the user's own.
    `most` are the permissions that it may have at most.
    """
    found = None
    if original is not None:
        with contextlib.suppress(OSError):
            found = os.stat(original)  # noqa: PTH116
    mode = most if found is None else found.st_mode & most
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, mode)
    if found is not None:
        give(descriptor, found)
    return descriptor


def lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; False if another process has it locked."""
    if sys.platform == "win32":  # a file that is open cannot be removed there
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove_dead(folder: Path, begin: str, end: str, further: Sequence[str] = ()) -> None:
    """Remove drafts that killed processes left in a folder: files of such names that nobody has locked.

    With each goes what is called like it with one of the `further` ends, a file or a folder.
    """
    drafts: list[str] = []
    with contextlib.suppress(PermissionError), os.scandir(folder) as entries:
        drafts = [entry.path for entry in entries if entry.name.startswith(begin) and entry.name.endswith(end)]
    # Anybody may have put a link or a pipe there, which must not be followed or waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for draft in drafts:
        with contextlib.suppress(OSError), os.fdopen(os.open(draft, flags), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and lock(file):
                for name in ("", *further):
                    remove(Path(draft + name))


def remove(path: Path) -> None:
    """Remove a file, or a folder with all in it, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def most_private(paths: Sequence[str]) -> str | None:
    """The path of the file that the fewest may read; None if none of the paths is a file."""
    files = [path for path in paths if os.path.isfile(path)]  # noqa: PTH113  # it may be an address
    return min(files, key=lambda path: os.stat(path).st_mode & 0o066, default=None)  # noqa: PTH116


def give(file: int | str | os.PathLike[str], owner: os.stat_result) -> None:
    """Give a file the owner and group of another, as far as this user may; a group of its own loses its rights."""
    if not OWNERS:
        return
    now = os.stat(file)  # noqa: PTH116
    if now.st_uid != owner.st_uid:
        with contextlib.suppress(OSError):
            os.chown(file, owner.st_uid, -1)
    if now.st_gid != owner.st_gid:
        try:
            os.chown(file, -1, owner.st_gid)
        except OSError:
            os.chmod(file, stat.S_IMODE(now.st_mode) & ~0o070)  # noqa: PTH101  # it may be a descriptor


def give_tree(folder: Path, owner: os.stat_result) -> None:
    """Give a folder and all in it the owner of a file; nothing where that is this user."""
    if not OWNERS or (owner.st_uid == os.geteuid() and owner.st_gid == os.getegid()):
        return
    for entry in (folder, *folder.rglob("*")):  # which follows no links
        give(entry, owner)
