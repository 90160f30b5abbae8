"""The tables of one world: read by a mapping, or with one that is proposed by what the world has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.namespaces import Namespaces
from worlds.core.quads.patterns import Patterns
from worlds.errors import ArgumentError
from worlds.extras.sources.tables.mapping import TYPE, Among, TableMapping, placed, read_mapping
from worlds.extras.sources.tables.mapping_proposal import Known, class_name, folded, propose
from worlds.extras.sources.tables.quads import RowNotes, parts, source_of
from worlds.extras.sources.tables.rows import ENDINGS, Table
from worlds.graph.rdf_sources import Input
from worlds.graph.terms import local_name

if TYPE_CHECKING:
    from worlds.extras.entities.schema import ClassSummary, PredicateSummary, Schema

_hostless = re.compile(r"https?:(?!//[^/?#:])").match  # IRIs that a parser takes, and nobody means
_KEYS = 100_000  # of another table, that are compared
Best = Callable[[str, Among], tuple[str, tuple[str, ...]] | None]
"""Gives the entity that a name means for sure, among some or all: its IRI and its classes."""


@dataclass(eq=False, repr=False)
class TableSources:
    """Makes sources of tables, and proposes mappings."""

    _namespaces: Namespaces
    _patterns: Patterns
    _schema: Callable[[], Schema]  # the overview of a world
    _best: Best
    _exists: Callable[[Sequence[str]], set[str]]  # those of some IRIs that something is said of

    def sources(
        self,
        paths: Sequence[str],
        mapping: object,
        base: str | None = None,
        kept: Mapping[str, object] = MappingProxyType({}),
    ) -> tuple[list[Input], list[RowNotes]]:
        """The tables as sources of triples, with notes on each, which are complete once it is read.

        `mapping` None is that of the file NAME-metadata.json beside each, that which is `kept` of its path, or one that
        is proposed.
        """
        files = list(map(Path, paths))
        folder = os.path.commonpath([file.parent for file in files]) if len(files) > 1 else None
        found, told = [], []
        for path in files:
            if path.suffix.lower() not in ENDINGS:
                raise ArgumentError(f"{path} is not a table by its name: {', '.join(ENDINGS)}")
            chosen, given = self._mapping(path, mapping, base, kept.get(str(path)))
            one = RowNotes(chosen, os.path.relpath(path, folder) if folder is not None else "", given=given)
            found.append(source_of(path, chosen, one, self._meant(path, chosen)))
            told.append(one)
        return found, told

    def _meant(self, path: Path, mapping: TableMapping) -> Callable[[str, Among], str | None]:
        """The entities that names in a table's cells mean, found before it is loaded: the indexes may rest then."""
        found: dict[Among, dict[str, str]] = {}
        for column in mapping.columns:
            if (among := column.among) is None:
                continue
            table = Table(path, mapping.dialect)
            place = placed(mapping, table).get(column.name, -1)
            cells = (row[place] if place < len(row) else None for _, row in table)
            names = {name for cell in cells for name in parts(cell, column.separator)}
            best = {name: self._best(name, among) for name in names if name}
            found.setdefault(among, {}).update({name: one[0] for name, one in best.items() if one is not None})
        return lambda name, among: found[among].get(name)

    def _mapping(self, path: Path, mapping: object, base: str | None, kept: object) -> tuple[TableMapping, bool]:
        """The mapping of a table, and whether somebody gave it."""
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
        """The world's terms for each table: of predicates with one name, the one that the table's class uses most."""
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
        """The names, or IRIs, that mean one entity for sure, with that entity."""
        if names and re.match(r"[a-z]+:", names[0]):
            return {iri: (iri, ()) for iri in self._exists(names)}
        found = {name: self._best(name, Among()) for name in names}
        return {name: best for name, best in found.items() if best is not None}


def _named(found: Iterable[ClassSummary | PredicateSummary], prefixes: Mapping[str, str]) -> dict[str, list[str]]:
    """Folded local name or label → the IRIs, the commonest first.

    IRIs without a host, and prefixed names that were taken for IRIs, are left out.
    """
    named: dict[str, list[str]] = {}
    for one in found:
        iri = str(one.iri)
        if not _hostless(iri) and iri.partition(":")[0] not in prefixes:
            for name in {folded(local_name(iri)), folded(one.label or "")} - {""}:
                named.setdefault(name, []).append(iri)
    return named
