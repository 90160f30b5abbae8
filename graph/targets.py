"""Outputs: files that are put in place only when they are complete, compressed as their names say."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from worlds.errors import OpenError
from worlds.graph.formats import EXTENSIONS, FORMATS
from worlds.permissions import believe, create_like, lock, remove_dead

_DRAFT = ".part"
_COMPRESSIONS = (".gz", ".bz2", ".zst")


def file_name(path: object) -> str:
    """The name of a file as a str; TypeError for what is no path, OpenError for what no file is called."""
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise TypeError(f"a path must be a str or an os.PathLike of one, not {path!r}")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise OpenError(f"{name!r} is not the path of a file: it is not Unicode ({error})") from error
    if not name or "\0" in name or "://" in name:
        raise OpenError(f"{name!r} is not the path of a file")
    return name


def format_of(name: str) -> str:
    """The format that a file's name asks for; N-Quads for one without an extension. ValueError for an unknown one."""
    path = Path(name.lower())
    extension = (path.with_suffix("") if path.suffix in _COMPRESSIONS else path).suffix.removeprefix(".")
    if extension and extension not in EXTENSIONS:
        raise ValueError(f"the format of {name} cannot be told from '.{extension}'; name one: {', '.join(FORMATS)}")
    return EXTENSIONS.get(extension, "nq")


@contextlib.contextmanager
def replacing(name: str, *, like: str | os.PathLike[str] | None = None, most: int = 0o666) -> Iterator[IO[bytes]]:
    """A file that takes the place of `name` when the block ends, and is gone if the block raises.

    It has the permissions and the owner of the file that was there, else of the file `like`; `most` are the permissions
    that it has at most. A pipe, and a file below /dev such as /dev/stdout, is written to as it is, but for
    files in /dev/shm. OpenError for a file that a stranger has put into a shared folder.
    """
    given, final = Path(name), Path(os.path.realpath(name))  # of /dev/stdout, a pipe's real path is none
    try:
        device = given.is_relative_to("/dev") and not given.is_relative_to("/dev/shm") and given.exists()
        if not device:
            believe(given, given.parent, links=True)  # whose link it is would choose what is overwritten
            believe(final, final.parent)  # whose file or pipe it is would be given all that is written
        if device or (given.exists() and not given.is_file()):
            with given.open("ab") as out:  # a folder raises, as it should
                yield out
            return
        remove_dead(final.parent, f".{final.name}.", _DRAFT)
        draft = final.with_name(f".{final.name}.{secrets.token_hex(4)}{_DRAFT}")
        try:
            with os.fdopen(create_like(draft, final if final.exists() else like, most=most), "wb") as out:
                lock(out)  # so that a dead process's is known
                yield out
                out.flush()
                os.fsync(out.fileno())
            draft.replace(final)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OpenError(f"{name} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def compressing(out: IO[bytes], name: str) -> Iterator[BinaryIO]:
    """A stream that compresses into `out` by the extension of `name`; closed, but not `out`, when the block ends."""
    extension = Path(name.lower()).suffix
    packed: Any
    if extension == ".gz":
        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=out)
    elif extension == ".bz2":
        packed = bz2.BZ2File(out, "wb")
    elif extension == ".zst":
        import zstandard  # not before it is needed: importing worlds stays quick

        packed = zstandard.ZstdCompressor().stream_writer(out, closefd=False)
    else:
        yield cast(BinaryIO, out)
        return
    with packed:
        yield packed
