"""The filter of a search, as its caller gives it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH
from worlds.errors import FilterError

_SUBJECT = re.compile(r"[?$]subject\b")
_TAG = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
ToTerm = Callable[[object], Any]
ToGraphs = Callable[[str, Iterable[object]], tuple[Any, ...]]
"""Gives the graphs of sources, by what names them: "sources" or "source_kinds"."""
_OF_SOURCES = ("sources", "source_kinds")


def _no_sources(what: str, wanted: Iterable[object]) -> tuple[Any, ...]:
    raise FilterError(f"{what} is not available in a search of several worlds")


@dataclass(frozen=True)
class Conditions:
    """Conditions on a quad that holds a text; None is no condition, a tuple is any of these."""

    subjects: tuple[Any, ...] | None = None
    predicates: tuple[Any, ...] | None = None
    types: tuple[Any, ...] | None = None
    graphs: tuple[Any, ...] | None = None
    languages: tuple[str, ...] | None = None
    where: str | None = None

    @property
    def any(self) -> bool:
        """Whether there is a condition at all."""
        return any(value is not None for value in vars(self).values())


@dataclass(frozen=True)
class Filter:
    """The quads that a search may find: all that meet `include` and nothing of `exclude`."""

    include: Conditions = Conditions()
    exclude: Conditions = Conditions()
    subclasses: bool = False

    @property
    def any(self) -> bool:
        """Whether anything is filtered at all."""
        return self.include.any or self.exclude.any


def make_filter(
    to_term: ToTerm,
    to_graphs: ToGraphs = _no_sources,
    *,
    exclude: Mapping[str, object] | None = None,
    subclasses: bool = False,
    **include: object,
) -> Filter:
    """A filter from a caller's arguments; FilterError names a wrong one."""
    if exclude is not None and not isinstance(exclude, Mapping):
        raise FilterError(f"exclude takes a mapping of filters, not {exclude!r}")
    known = {*_OF_SOURCES, *(item.name for item in fields(Conditions))}
    if unknown := include.keys() - known:
        raise TypeError(f"a search has no option {min(unknown)!r}")
    if strange := [name for name in exclude or () if name not in known]:
        raise FilterError(f"exclude has no {strange[0]!r}; it takes {', '.join(sorted(known))}")
    included, excluded = _conditions(to_term, include), _conditions(to_term, exclude or {})
    for name in _OF_SOURCES:
        if include.get(name) is not None:
            graphs = to_graphs(name, _listed(include[name]))
            kept = graphs if included.graphs is None else tuple(one for one in included.graphs if one in graphs)
            included = replace(included, graphs=kept)
        if exclude and exclude.get(name) is not None:
            excluded = replace(excluded, graphs=(*(excluded.graphs or ()), *to_graphs(name, _listed(exclude[name]))))
    return Filter(included, excluded, bool(subclasses))


def _conditions(to_term: ToTerm, given: Mapping[str, object]) -> Conditions:
    values: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or name in _OF_SOURCES:
            continue
        if name == "where":
            values[name] = check_pattern(value)
        elif name == "languages":
            values[name] = tuple(check_language(tag) for tag in _listed(value))
        else:
            values[name] = tuple(_term(to_term, name, item) for item in _listed(value))
    return Conditions(**values)


def check_pattern(value: object) -> str:
    """The value, if it can be a pattern over ?subject; else FilterError."""
    if not isinstance(value, str) or not value.strip():
        raise FilterError(f"where takes a SPARQL group pattern over ?subject, not {value!r}")
    if not _SUBJECT.search(value):
        raise FilterError(f"where takes a SPARQL group pattern over ?subject, which is not in {value!r}")
    return value


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def check_language(tag: object) -> str:
    """A language tag in lower case, "" for none; FilterError for a malformed one."""
    if not isinstance(tag, str) or (tag and not _TAG.fullmatch(tag)):
        raise FilterError(f"languages takes language tags such as 'en' or 'zh-Hans' ('' for none), not {tag!r}")
    return tag.lower()


def _term(to_term: ToTerm, name: str, value: object) -> Any:
    if isinstance(value, ox.DefaultGraph) or (name == "graphs" and value == "default"):
        if name != "graphs":
            raise FilterError(f"{name} takes IRIs, not the default graph")
        return DEFAULT_GRAPH
    try:
        term = to_term(value)
    except (ValueError, TypeError) as error:
        raise FilterError(f"{name}: {error}") from error
    if not isinstance(term, ox.NamedNode) and not (name != "predicates" and isinstance(term, ox.BlankNode)):
        raise FilterError(f"{name} takes IRIs, not {value!r}")
    return term
