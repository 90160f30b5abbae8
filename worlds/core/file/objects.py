"""The tables, indexes, views and triggers of a world's file: those of the schema, of any version, and no others.

Whoever makes a file may put SQL of his own into it (a trigger, a view, a default), which runs in each program that
opens it. So their definitions are compared with ours before anything else is read.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache, lru_cache
from typing import TypeAlias

from worlds.core.texts.chunks import full_text_indexes
from worlds.errors import OpenError
from worlds.sql import migrations, schema, statements, texts
from worlds.sql.connection import Connection, Row

_Definitions: TypeAlias = Mapping[str, Set[str]]

_SQL = statements("maintenance.sql")
_VECTORS = texts("vectors.sql")
_MOST = 200  # objects of a world
checked: set[str] = set()
"""The definitions of files that were found to be worlds; there are as many as tokenizers and dimensions."""
_STATISTICS = ("CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)")
_PART = re.compile(r"""--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_QUOTED_NAME = re.compile(r'"(\w+)"')
_NAME = re.compile(r"CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|INDEX|VIEW|TRIGGER) '?(\w+)")
_DIMENSION = re.compile(r"F32_BLOB\((?:\d+|\{dimension\})\)")
_INDEX_OPTIONS = re.compile(r"(libsql_vector_idx\(embedding)(?:,'[a-z_]+=[a-z0-9_.]+')*\)")


def definitions_of(connection: Connection) -> str:
    """All definitions of the file as one text, by which `checked` knows a file that is like another one."""
    return str(connection.value(_SQL["definitions"]))


def objects_of(connection: Connection, path: str) -> list[Row]:
    """(Type, name, definition) of the file's objects; OpenError unless texts are in UTF-8, and `meta` can be read."""
    found = connection.rows(_SQL["objects"], (_MOST + 1,))
    if found and not any(_known(name, sql, _definitions()) for _, name, sql in found if name == "meta"):
        raise OpenError(f"{path} is a database, but not a world: it has no table of settings as worlds have it")
    if connection.value("PRAGMA encoding") != "UTF-8":
        raise OpenError(f"{path} is a database, but not a world: its texts are not in UTF-8")
    return found


def check_objects(objects: Sequence[Row], path: str) -> None:
    """OpenError if one of a file's objects is none of a world's, or has another form."""
    if len(objects) > _MOST:
        raise OpenError(f"{path} is a database, but not a world: it has more than {_MOST} tables and indexes")
    for kind, name, sql in objects:
        if not (_known(name, sql, _definitions()) or _known(name, sql, _former())):
            raise OpenError(
                f"{path} is a database, but not a world: no world has its {kind} {name[:100]!r} in this form, and SQL "
                "that somebody put into a file is not run. SQLite's own shell shows it, and drops it"
            )


def _known(name: str, sql: str | None, definitions: _Definitions) -> bool:
    return normal(sql or "") in definitions.get(name, ())


@lru_cache(maxsize=512)
def normal(sql: str) -> str:
    """A definition without comments, quotes around names, accidental space, dimension and options of the vectors."""
    kept = _PART.sub(_unquoted, sql)
    kept = re.sub(r" ?([(),;]) ?", r"\1", " ".join(kept.split()))
    return _INDEX_OPTIONS.sub(r"\1)", _DIMENSION.sub("F32_BLOB({dimension})", kept))


def _unquoted(part: re.Match[str]) -> str:
    if part[0].startswith("--"):
        return ""
    return _QUOTED_NAME.sub(r"\1", part[0]) if part[0].startswith('"') else part[0]


@cache
def _definitions() -> _Definitions:
    """Object name → its allowed SQL definitions, in the form of `normal`, in a world of the present schema."""
    made = Connection(":memory:")
    try:
        made.script(schema())
        made.run(_VECTORS["create_vectors"].format(dimension=8))
        made.script(_VECTORS["create_new_vectors"].format(dimension=8))
        native = [_VECTORS[name] for name in ("create_vector_index", "native_index_tables")]
        native = [form for text in native for form in text.split(";\n") if form.strip()]
        return _forms([_objects(made), _STATISTICS, full_text_indexes(), native])
    finally:
        made.close()


@cache
def _former() -> _Definitions:
    """The forms that objects had on the road to today's schema."""
    made = Connection(":memory:")
    try:
        found = []
        for _, script in migrations():
            made.script(script)
            found.append(_objects(made))
        return _forms(found)
    finally:
        made.close()


def _objects(connection: Connection) -> list[str]:
    return [sql for _, _, sql in connection.rows(_SQL["objects"], (_MOST,))]


def _forms(groups: Iterable[Iterable[str]]) -> _Definitions:
    found: dict[str, set[str]] = defaultdict(set)
    for form in map(normal, itertools.chain.from_iterable(groups)):
        created = _NAME.match(form)
        assert created is not None, form
        found[created[1]].add(form)
    return found
