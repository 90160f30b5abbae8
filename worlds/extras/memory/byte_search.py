"""Whether a text is anywhere in the files of a world, byte for byte."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worlds.core.file.opening import MEMORIES, REPLICAS
from worlds.errors import ArgumentError, OpenError
from worlds.extras.memory.erasure import forms

_PIECE = 48  # bytes: SQLite cuts long texts, at places that it chooses, but none so short
_SHORTEST = 4  # characters of a text; a shorter one is in every file
_BESIDE = ("", "-wal", "-shm", "-journal", "-sparql", REPLICAS, MEMORIES)


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a text, or a piece of it, stands: the file, and how many bytes before."""

    file: Path
    place: int
    piece: bytes


@dataclass(frozen=True, slots=True)
class Proof:
    """The files in which a text was looked for, and where it, or a piece of it, stands; false where it does."""

    files: tuple[Path, ...]
    traces: tuple[Trace, ...]

    def __bool__(self) -> bool:
        return not self.traces


def prove(text: str, path: str | os.PathLike[str]) -> Proof:
    """Look for a text in all that is written of a world on this machine: the first place of each piece in each file.

    That is its file, what lies beside it (logs, the SPARQL index, the folder of a replica, and what killed backups,
    exports, pushes and pulls left), and the copies of worlds in the folder for temporary files.

    It is looked for as it is, and as patches and JSON write it. A text of some length is looked for in pieces, since
    SQLite cuts it. ArgumentError for a text of less than four characters, OpenError for a file that cannot be read.
    """
    path = Path(path)
    if len(text.strip()) < _SHORTEST:
        raise ArgumentError(f"the text must have at least {_SHORTEST} characters: shorter texts occur everywhere")
    if not path.is_file():
        raise OpenError(f"{path} does not exist")
    pieces = list(
        dict.fromkeys(piece for form in forms(text) for piece in _pieces(form.encode("utf-8", "surrogatepass")))
    )
    found = tuple(_files(path))
    return Proof(found, tuple(trace for file in found for trace in _looked_for(pieces, file)))


def _files(path: Path) -> Iterator[Path]:
    """The files of a world that there are, and drafts and copies that a killed process left."""
    places = [path.with_name(path.name + end) for end in _BESIDE]
    left = [one for one in sorted(path.parent.iterdir()) if one.name.startswith((f".{path.name}.", ".push-", ".pull-"))]
    copies = sorted(Path(tempfile.gettempdir()).glob("worlds-*"))
    copies = [one for one in copies if one.is_file() and os.access(one, os.R_OK)]
    for place in (*places, *left, *copies):
        if place.is_dir():
            yield from (one for one in sorted(place.rglob("*")) if one.is_file())
        elif place.is_file():
            yield place


def _pieces(text: bytes) -> list[bytes]:
    if len(text) < 2 * _PIECE:
        half = len(text) // 2
        return [text] if half < _PIECE // 4 else [text[:half], text[half:]]
    return [text[start : start + _PIECE] for start in range(0, len(text) - _PIECE + 1, _PIECE)]


def _looked_for(pieces: list[bytes], file: Path) -> Iterator[Trace]:
    try:
        with file.open("rb") as stream:
            if not file.stat().st_size:
                return
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                for piece in pieces:
                    if (place := content.find(piece)) >= 0:
                        yield Trace(file, place, piece)
    except FileNotFoundError:  # it was removed just now
        return
    except OSError as error:
        raise OpenError(f"{file} cannot be read: {error.strerror or error}") from error
