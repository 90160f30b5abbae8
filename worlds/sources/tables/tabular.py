"""The tables of one world: read by a mapping, or with one that is proposed by what the world has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyoxigraph as ox

from worlds.errors import ArgumentError
from worlds.graph.sources import Source
from worlds.quads.dictionary import Ids
from worlds.quads.namespaces import Namespaces
from worlds.quads.patterns import Patterns
from worlds.sources.tables.mapping import TYPE, TableMapping, placed, read_mapping
from worlds.sources.tables.proposing import Known, class_name, folded, propose
from worlds.sources.tables.quads import Told, parts, source_of
from worlds.sources.tables.reading import ENDINGS, Table

if TYPE_CHECKING:
    from worlds.entities.schema import ClassSummary, PredicateSummary, Schema

_hostless = re.compile(r"https?:(?!//[^/?#:])").match  # IRIs that a parser takes, and nobody means
_KEYS = 100_000  # of another table, that are compared
Best = Callable[[str, tuple[str, ...] | None], tuple[str, tuple[str, ...]] | None]
"""Gives the entity that a name means for sure, of some classes or of any: its IRI and its classes."""


class Tables:
    """Makes sources of tables, and proposes mappings."""

    def __init__(
        self,
        namespaces: Namespaces,
        patterns: Patterns,
        schema: Callable[[], Schema],
        best: Best,
        exists: Callable[[Sequence[str]], set[str]],
    ) -> None:
        """`schema` gives the overview of a world, `exists` those of some IRIs that something is said of."""
        self._namespaces = namespaces
        self._patterns = patterns
        self._schema = schema
        self._best = best
        self._exists = exists

    def sources(
        self,
        paths: Sequence[str],
        mapping: object,
        base: str | None = None,
        kept: Mapping[str, object] = MappingProxyType({}),
    ) -> tuple[list[Source], list[Told]]:
        """The tables as sources of triples, and what there is to say of each, once it is read.

        `mapping` None is that of the file NAME-metadata.json beside each, that which is `kept` of its path, or one that
        is proposed.
        """
        files = list(map(Path, paths))
        folder = os.path.commonpath([file.parent for file in files]) if len(files) > 1 else None
        found, told = [], []
        for path in files:
            if path.suffix.lower() not in ENDINGS:
                raise ArgumentError(f"{path} is no table by its name: {', '.join(ENDINGS)}")
            chosen, given = self._mapping(path, mapping, base, kept.get(str(path)))
            one = Told(chosen, os.path.relpath(path, folder) if folder is not None else "", given=given)
            found.append(source_of(path, chosen, one, self._meant(path, chosen)))
            told.append(one)
        return found, told

    def _meant(self, path: Path, mapping: TableMapping) -> Callable[[str, tuple[str, ...]], str | None]:
        """What the names in a table's columns of names mean, found before it is loaded: the indexes may rest then."""
        found: dict[tuple[str, ...], dict[str, str]] = {}
        for column in mapping.columns:
            if not column.types:
                continue
            table = Table(path, mapping.dialect)
            place = placed(mapping, table).get(column.name, -1)
            cells = (row[place] if place < len(row) else None for _, row in table)
            names = {name for cell in cells for name in parts(cell, column.separator)}
            best = {name: self._best(name, column.types) for name in names if name}
            found.setdefault(column.types, {}).update({name: one[0] for name, one in best.items() if one is not None})
        return lambda name, types: found[types].get(name)

    def _mapping(self, path: Path, mapping: object, base: str | None, kept: object) -> tuple[TableMapping, bool]:
        """What a table is read by, and whether somebody gave it."""
        beside = path.with_name(f"{path.name}-metadata.json")
        inside = beside.resolve().is_relative_to(path.parent.resolve())  # no link that leads out of the folder
        if mapping is None and beside.is_file() and inside:
            mapping = beside
        given = mapping is not None
        chosen = mapping if given else self.proposed([path], base)[0] if kept is None else kept
        return read_mapping(chosen, self._namespaces.prefixes), given

    def proposed(self, paths: Sequence[Path], base: str | None) -> list[dict[str, Any]]:
        """A mapping for each of some tables that belong together, as CSVW metadata."""
        base = "https://example.org/" if base is None else base
        known = self._known(paths)
        keys: dict[str, tuple[str, frozenset[str]]] = {}
        for path in paths if len(paths) > 1 else ():
            alone = propose(path, known[path], base)["tableSchema"]
            name = alone.get("primaryKey")
            if name is not None and "{" + name + "}" in alone["aboutUrl"]:
                place = [column["name"] for column in alone["columns"]].index(name)
                values = islice((row[place] for _, row in Table(path) if place < len(row)), _KEYS)
                taken = frozenset(value for value in values if isinstance(value, str))
                keys[path.stem] = (alone["aboutUrl"].replace("{" + name + "}", "{key}"), taken)
        others = {path: {name: one for name, one in keys.items() if name != path.stem} for path in paths}
        return [propose(path, known[path], base, others[path]) for path in paths]

    def _known(self, paths: Sequence[Path]) -> dict[Path, Known]:
        """What the world has for each table: of predicates with one name, the one that the table's class uses most."""
        schema = self._schema()
        prefixes = self._namespaces.prefixes
        classes = _named(schema.classes, prefixes)
        predicates = _named([one for one in schema.predicates if one.quads > 1], prefixes)
        found = {}
        for path in paths:
            kind = next(iter(classes.get(folded(class_name(path.stem)), ())), None)
            chosen = {name: iris[0] for name, iris in predicates.items()}
            several = {name: iris for name, iris in predicates.items() if len(iris) > 1}
            if kind is not None and several:
                instances = self._subjects(TYPE, ox.NamedNode(kind))
                uses = {iri: np.isin(self._subjects(iri), instances).sum() for iris in several.values() for iri in iris}
                chosen |= {name: max(iris, key=uses.__getitem__) for name, iris in several.items()}
            found[path] = Known(chosen, self._entities, kind)
        return found

    def _subjects(self, predicate: str, value: ox.NamedNode | None = None) -> Ids:
        return self._patterns.matching((None, ox.NamedNode(predicate), value), None)[:, 0]

    def _entities(self, names: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Of names, or of IRIs, those that mean one entity for sure."""
        if names and re.match(r"[a-z]+:", names[0]):
            return {iri: (iri, ()) for iri in self._exists(names)}
        found = {name: self._best(name, None) for name in names}
        return {name: best for name, best in found.items() if best is not None}


def _named(found: Iterable[ClassSummary | PredicateSummary], prefixes: Mapping[str, str]) -> dict[str, list[str]]:
    """Folded local name or label → the IRIs, the commonest first.

    IRIs without a host, and prefixed names that were taken for IRIs, are left out.
    """
    named: dict[str, list[str]] = {}
    for one in found:
        iri = str(one.iri)
        if not _hostless(iri) and iri.partition(":")[0] not in prefixes:
            for name in {folded(_local(iri)), folded(one.label or "")} - {""}:
                named.setdefault(name, []).append(iri)
    return named


def _local(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#"))[-1]
