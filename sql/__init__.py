"""SQL as source: schema, named statements, migrations, and the one module that touches a driver.

A statement stands in a `.sql` file under a line `-- name: <name>`, and its parameters are written `:name`.
It is imported as `worlds.sql`; CONTRIBUTING.md says why it stands beside `worlds`.
The driver knows only positional parameters, so loading turns each `:name` into `?N`. `{data graph}` says that a column
is none of the world's own graphs, `{statement}` stands for what is added to a quad's id to name its statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from zlib import crc32

SQL_FOLDER = Path(__file__).parent
SCHEMA_VERSION = 10
FIRST_VERSION = 10
"""The oldest schema version that opens; a migration leads from each version since to the next."""

STATEMENT = 1 << 30
"""Profiles belong to entities, by their ids; statements to quads, by this plus their ids."""
OWN_GRAPHS = ("urn:worlds:shapes", "urn:worlds:questions", "urn:worlds:links")
"""The world's own graphs, which are data in no search, union or overview."""
_OWN = [f"(SELECT id FROM terms WHERE hash = {crc32(iri.encode()) & 0x7FFFFFFF} AND kind = 1 AND value = '{iri}')"
        for iri in OWN_GRAPHS]  # fmt: skip
_DATA = re.compile(r"\{data ([a-z_.]+)\}")

# What may hold a colon without being a parameter comes first: comments, strings.
_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|:([a-z_]+)")


@dataclass(frozen=True)
class Statement:
    """One SQL statement with positional parameters `?1 … ?N` and the names that they had."""

    sql: str
    parameters: tuple[str, ...]

    def bind(self, **values: object) -> tuple[object, ...]:
        """The values in the order of `?1 … ?N`; KeyError where one is missing."""
        return tuple([values[name] for name in self.parameters])


def compile_statement(text: str) -> Statement:
    """Give `text` positional parameters, numbered by their first appearance."""
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match[1]
        return match[0] if name is None else f"?{names.setdefault(name, len(names) + 1)}"

    text = _DATA.sub(lambda match: f"({' AND '.join(f'{match[1]} IS NOT {own}' for own in _OWN)})", text)
    text = text.replace("{statement}", str(STATEMENT))
    return Statement(_TOKEN.sub(number, text).strip().rstrip(";"), tuple(names))


def _sections(path: Path) -> Iterator[tuple[str, str]]:
    parts = re.split(r"^-- name: (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    yield from zip(parts[1::2], parts[2::2], strict=True)


@cache
def texts(file: str) -> Mapping[str, str]:
    """The named pieces of one `.sql` file as they are written, comments included."""
    return dict(_sections(SQL_FOLDER / file))


@cache
def statements(file: str) -> Mapping[str, Statement]:
    """The named statements of one `.sql` file."""
    return {name: compile_statement(text) for name, text in texts(file).items()}


_READING = re.compile(
    r"(?:\s|--[^\n]*\n)*(?:SELECT|PRAGMA|BEGIN|COMMIT|SAVEPOINT|RELEASE|WITH(?!.*\b(?:INSERT|UPDATE|DELETE)\b))",
    re.DOTALL,
)


@lru_cache(maxsize=1024)
def writes(sql: str) -> bool:
    """Whether a statement may change the file."""
    return _READING.match(sql) is None


def schema() -> str:
    """The script that makes an empty database a world of today's schema."""
    return (SQL_FOLDER / "schema.sql").read_text(encoding="utf-8")


def migrations() -> list[tuple[int, str]]:
    """(Schema version, script that leads to it), in order: FIRST_VERSION from an empty database, then each later one.

    Empty until the schema first changes: then `schema.sql` as it was becomes the script of FIRST_VERSION.
    """
    files = sorted((SQL_FOLDER / "migrations").glob("[0-9]*.sql"))
    return [(int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in files]
