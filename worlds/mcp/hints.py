"""Errors and empty answers, with what an agent can do about them: the nearest name, the known prefixes, the line."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from worlds.errors import ArgumentError, EmbedderError, FilterError, ParseError, QueryError, WorldsError
from worlds.graph.query.tokens import scan
from worlds.graph.terms import shorten

if TYPE_CHECKING:
    from worlds.entities.schema import Schema
    from worlds.world import World

_KNOWN = 3000  # classes, and predicates, that names are compared with
_NEAREST = 3
_ALIKE = 0.65  # of spelling, from 0 to 1
_SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
_REMEDIES = {
    "timeout": "Narrow it: add a LIMIT, begin with the pattern that matches least, avoid patterns that share no\n"
    "variable, or use `search`, which is fast. `timeout` may be raised to 120.",
    "conflict": "Call `history` to see what was written meanwhile; then try again.",
    "read-only": "Tell the user, who may give a key with the scope write, or start the server with --allow-writes.",
    "results": "Add a LIMIT, or count and group: SELECT ?x (COUNT(*) AS ?n) … GROUP BY ?x.",
    "memory": "Narrow the patterns, or leave out ORDER BY and DISTINCT over many rows.",
    "network": "Only `SERVICE w:search { … }`, this world's own search, works here; read world://guide.",
    "cursor": "Leave `cursor` out to begin anew; a cursor goes with the very arguments that gave it.",
    "revision": "Call `history` to see which revisions there are.",
}
"""What to do next, by the kind of an error."""


@dataclass(frozen=True)
class Vocabulary:
    """The names that a world uses, by which a misspelt one is corrected."""

    prefixes: Mapping[str, str]
    used: Mapping[str, str]  # the prefixes of classes and predicates
    classes: Mapping[str, str | None]  # IRI → label
    predicates: Mapping[str, str | None]
    graphs: tuple[str, ...]
    default_quads: int
    named_quads: int
    complete: bool  # whether these are all

    def nearest(self, name: str, *, among: Mapping[str, str | None] | None = None) -> list[str]:
        """The names that are spelt most like an IRI, a prefixed name or a bare word, the likeliest first."""
        sought = _local(name).casefold()
        found: dict[str, str] = {}  # spelling → IRI
        for iri, label in ({**self.predicates, **self.classes} if among is None else among).items():
            found.setdefault(_local(iri).casefold(), iri)
            if label:
                found.setdefault("".join(label.split()).casefold(), iri)
        matches = get_close_matches(sought, found, n=2 * _NEAREST, cutoff=_ALIKE)
        within = [spelling for spelling in found if len(sought) > 3 and (sought in spelling or spelling in sought)]
        close = dict.fromkeys(found[spelling] for spelling in [*matches, *sorted(within, key=len)] if len(spelling) > 2)
        return [shorten(iri, self.prefixes) for iri in list(close)[:_NEAREST]]


def _local(name: str) -> str:
    return re.split(r"[/#:]", name.strip("<>").rstrip("/#:"))[-1]


class Hints:
    """What to say to an agent about one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._known: tuple[int, Vocabulary] | None = None

    def vocabulary(self, *, lately: bool = False) -> Vocabulary:
        """The names of the world as it is now; with `lately`, those that were found last will do."""
        with self._lock:
            if lately and self._known is not None:
                return self._known[1]
            entries = self._world.history(1)
            revision = entries[0].revision if entries else 0
            if self._known is None or self._known[0] != revision:
                self._known = revision, _vocabulary(self._world.schema(limit=_KNOWN), self._world.prefixes)
            return self._known[1]

    # -- errors ---------------------------------------------------------------------------------------------------

    def error(self, error: Exception, *, source: str | None = None) -> str:
        """What went wrong, and what to do next; `source` is the query or the input that it is about."""
        lines = [_message(error)]
        line, column = getattr(error, "line", None), getattr(error, "column", None)
        if source is not None and line is not None:
            lines += _quoted(source, line, column)
        lines += self._remedies(error)
        return "\n".join(lines)

    def _remedies(self, error: Exception) -> Iterator[str]:
        kind, name, prefix = _told(error)
        if prefix is not None:
            yield from self._prefixes(prefix)
        elif name is not None:
            nearest = self.vocabulary().nearest(name) or self.named(name)
            if nearest:
                yield f"Did you mean {either(nearest)}?"
            yield "Names are written with a prefix (ex:Thing) or as <IRI>; call `schema` to see them, or `resolve`."
        elif isinstance(error, EmbedderError):
            yield 'Search by words instead: mode="text".'
        elif kind in _REMEDIES:
            yield _REMEDIES[kind]

    def _prefixes(self, given: str) -> Iterator[str]:
        known = self.vocabulary()
        if close := get_close_matches(given, known.prefixes, n=1, cutoff=0.5):
            yield f"Did you mean {close[0]}: <{known.prefixes[close[0]]}>?"
        shown = [f"{prefix}: <{iri}>" for prefix, iri in known.used.items()]
        rest = [f"{prefix}:" for prefix in known.prefixes if prefix not in known.used]
        yield f"Prefixes that this world uses: {', '.join(shown) or 'none'}."
        yield f"Known besides: {', '.join(rest)} Declare others with PREFIX, or write the IRI as <…>."

    def named(self, name: str) -> list[str]:
        """The entities that a name may mean, with their labels."""
        found = self._world.resolve(name, limit=_NEAREST).candidates
        prefixes = self._world.prefixes
        return [f"{shorten(str(one.iri), prefixes)} ({one.label})" for one in found]

    # -- empty answers --------------------------------------------------------------------------------------------

    def unknown(
        self, what: str, names: Iterable[object], *, subclasses: bool = False, lately: bool = False
    ) -> Iterator[str]:
        """Which of the values of a filter the world does not know, with the nearest; `what` is the filter's name.

        `subclasses` says that a class takes in those below it, `lately` is as for `vocabulary`.
        """
        prefixes = self._world.prefixes
        for name in names:
            iri = expand(str(name), prefixes)
            if iri is None or (lately and self._knows(what, iri, self.vocabulary(lately=True))):
                continue
            known = self.vocabulary()
            if self._knows(what, iri, known):
                continue
            if what == "types" and (below := self._below(iri)):
                if not subclasses:
                    yield below
                continue
            among = {"types": known.classes, "predicates": known.predicates}.get(what)
            nearest = known.nearest(iri, among=among) if among is not None else []
            if what == "graphs":
                nearest = [shorten(graph, prefixes) for graph in get_close_matches(iri, known.graphs, n=_NEAREST)]
            hint = f" Did you mean {either(nearest)}?" if nearest else ""
            thing = {"types": "class with instances", "predicates": "predicate", "graphs": "graph"}.get(what, "entity")
            yield f"{shorten(iri, prefixes)} is no {thing} of this world.{hint}"

    def _below(self, iri: str) -> str | None:
        """What to say of a class without instances whose subclasses have some; None where they have none either."""
        from rdflib import URIRef

        below = {iri: None}
        waiting = [iri]
        while waiting and len(below) < _KNOWN:
            for subject, *_ in self._world.quads(predicate=_SUBCLASS, object=f"<{waiting.pop()}>"):
                if isinstance(subject, URIRef) and str(subject) not in below:
                    below[str(subject)] = None
                    waiting.append(str(subject))
        known = self.vocabulary()
        found = [shorten(one, known.prefixes) for one in known.classes if one in below]
        if not found:
            return None
        name = shorten(iri, known.prefixes)
        return (
            f"{name} has no instances of its own, but its subclasses have ({', '.join(found[:_NEAREST])}"
            f"{', …' if len(found) > _NEAREST else ''}): `search` takes subclasses=true, SPARQL is "
            f"?x a/rdfs:subClassOf* {name}."
        )

    def _knows(self, what: str, iri: str, known: Vocabulary) -> bool:
        if what == "types":
            return iri in known.classes or not known.complete
        if what == "predicates":
            return iri in known.predicates or iri == "urn:worlds:profile" or not known.complete
        if what == "graphs":
            return iri in known.graphs or iri == "default"
        return self.mentions(iri)

    def mentions(self, iri: str) -> bool:
        """Whether any quad has the IRI as subject or object."""
        term = f"<{iri}>"
        world = self._world
        return any(next(world.quads(**{place: term}), None) is not None for place in ("subject", "object"))

    def names_in(self, pattern: str) -> list[str]:
        """The IRIs that a piece of SPARQL names, its own prefixes followed."""
        prefixes = {"w": "urn:worlds:", **self._world.prefixes}
        found: dict[str, None] = {}
        declared: str | None = None  # the prefix that is being declared
        skip = False  # the IRI after PREFIX or BASE
        with contextlib.suppress(QueryError):
            for token in scan(pattern):
                if token.is_word("PREFIX", "BASE"):
                    skip, declared = True, None
                elif token.kind == "name" and skip:
                    declared = token.text[:-1]
                elif token.kind == "name":
                    prefix, _, local = token.text.partition(":")
                    if prefix in prefixes and local:
                        found[prefixes[prefix] + local] = None
                elif token.kind == "iri":
                    if skip and declared is not None:
                        prefixes[declared] = token.text[1:-1]
                    elif not skip:
                        found[token.text[1:-1]] = None
                    skip = False
        return [iri for iri in found if ":" in iri and "\\" not in iri]  # an escape is left to the parser

    def strangers(self, pattern: str, *, lately: bool = False) -> list[str]:
        """What to say of the names in a piece of SPARQL that the world does not know; `lately` as for `vocabulary`."""
        told = []
        for iri in self.names_in(pattern):
            if iri.startswith(("urn:worlds:", "http://www.w3.org/2001/XMLSchema#")):
                continue
            if (lately and self._occurs(iri, self.vocabulary(lately=True))) or self._occurs(iri, self.vocabulary()):
                continue
            known = self.vocabulary()
            nearest = known.nearest(iri)
            hint = f": did you mean {either(nearest)}?" if nearest else "."
            told.append(f"{shorten(iri, known.prefixes)} does not occur in this world{hint}")
        return told

    def _occurs(self, iri: str, known: Vocabulary) -> bool:
        return iri in known.predicates or iri in known.classes or iri in known.graphs or self.mentions(iri)


def expand(name: str, prefixes: Mapping[str, str]) -> str | None:
    """The IRI of `<IRI>`, a prefixed name or an IRI; None for any other text. "default" stays."""
    if name == "default" or (name.startswith("<") and name.endswith(">")):
        return name.strip("<>")
    prefix, colon, local = name.partition(":")
    if not colon or prefix == "_":
        return None
    return prefixes[prefix] + local if prefix in prefixes and not local.startswith("//") else name


def _vocabulary(schema: Schema, prefixes: Mapping[str, str]) -> Vocabulary:
    named = {str(one.iri): one.label for one in schema.classes}
    graphs: list[Any] = [one for one in schema.graphs if one.name is not None]
    return Vocabulary(
        prefixes=prefixes,
        used=schema.prefixes,
        classes=named,
        predicates={str(one.iri): one.label for one in schema.predicates},
        graphs=tuple(str(one.name) for one in graphs),
        default_quads=sum(one.quads for one in schema.graphs if one.name is None),
        named_quads=sum(one.quads for one in graphs),
        complete=max(schema.class_count, schema.predicate_count) <= _KNOWN,
    )


def _told(error: BaseException) -> tuple[str, str | None, str | None]:
    """The kind of an error, and the name or the prefix that it is about; a filter's error has them from its cause."""
    if isinstance(error, FilterError) and error.__cause__ is not None:
        return _told(error.__cause__)
    kind = error.kind if isinstance(error, WorldsError | ArgumentError) else ""
    return kind, getattr(error, "name", None), getattr(error, "prefix", None)


def _message(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    text = str(error) or type(error).__name__
    kind = "the input does not parse: " if isinstance(error, ParseError) else ""
    return f"{kind}{text}"


def _quoted(source: str, line: int, column: int | None) -> Iterator[str]:
    """The line of the input that an error is about, and a mark under the place."""
    lines = source.splitlines()
    if not 1 <= line <= len(lines):
        return
    text, place = lines[line - 1], column or 1
    start = max(0, place - 60) if len(text) > 120 else 0
    number = f"{line:>4} | "
    yield number + text[start : start + 120].replace("\t", " ")
    if column is not None:
        yield " " * (len(number) + place - 1 - start) + "^"


def either(names: list[str]) -> str:
    """The names as a choice: `a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
