"""The caller's terms as RDF terms: prefixed names are read by the prefixes of the world."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH
from worlds.errors import IntegrityError
from worlds.graph.formats import rdflib_quads
from worlds.graph.query.bindings import terms_of
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.graph.terms import WELL_KNOWN_PREFIXES, GraphName, Term, is_prefix, to_object, to_oxigraph
from worlds.sql import statements
from worlds.sql.connection import Connection, Row

_SQL = statements("queries.sql")
OWN_PREFIX = (
    f"w: in SPARQL is the search's own prefix ({NAMESPACE}), not {{}}: write that in full, or by another prefix"
)


class Namespaces:
    """The prefixes of one world, and the terms that its callers mean."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.home: GraphName | None = None
        """The graph of quads that have none, if it is another than the default graph."""
        self.wider: Namespaces | None = None
        """Those whose prefixes are known here, too."""

    # -- prefixes -------------------------------------------------------------------------------------------------

    @property
    def declared(self) -> dict[str, str]:
        """Prefix → IRI, of the prefixes that are stored in the file."""
        return dict(self._connection.remembered("prefixes", self._read))

    def _read(self) -> list[Row]:
        rows = self._connection.rows(_SQL["all_prefixes"])
        if not all(type(value) is str for row in rows for value in row):
            raise IntegrityError("the file is damaged, a prefix in it is not a text: restore a backup")
        return rows

    @property
    def prefixes(self) -> dict[str, str]:
        """The well-known prefixes, overridden by the stored ones; `w:` is always the search's in SPARQL."""
        declared = self.declared if self.wider is None else {**self.wider.declared, **self.declared}
        own = {prefix: iri for prefix, iri in declared.items() if prefix != "w" or iri == NAMESPACE}
        return {**WELL_KNOWN_PREFIXES, **own}

    def bind(self, prefix: str, iri: str) -> None:
        """Store a prefix. ValueError for one that SPARQL does not allow, and for an IRI that is not absolute."""
        row = _declaration(prefix, iri)
        with self._connection.transaction():
            self._connection.run(_SQL["set_prefix"], row)

    def unbind(self, prefix: str) -> None:
        """Forget a stored prefix, if there is one. In a transaction."""
        self._connection.run(_SQL["delete_prefix"], (prefix,))

    def adopt(self, prefixes: Mapping[str, str]) -> None:
        """Store the prefixes of a document that are not stored already. Needs a transaction."""
        for prefix, iri in prefixes.items():
            with contextlib.suppress(ValueError):  # rdflib and JSON-LD take more for a prefix than SPARQL does
                self._connection.run(_SQL["add_prefix"], _declaration(prefix, iri))

    # -- terms ----------------------------------------------------------------------------------------------------

    def term(self, value: object) -> Any:
        """The term that a caller wrote: see `World.add`."""
        return to_oxigraph(value, prefixes=_Prefixes(lambda: self.prefixes) if isinstance(value, str) else None)

    def iri(self, what: str, value: object) -> ox.NamedNode:
        """An IRI; ValueError, with `what` as the name of the value, for any other term."""
        term = self.term(value)
        if not isinstance(term, ox.NamedNode):
            raise ValueError(f"{what} must be an IRI, not {value!r}")
        return term

    def entity(self, value: object) -> ox.NamedNode | ox.BlankNode:
        """An IRI or a blank node."""
        term = self.term(value)
        if not isinstance(term, ox.NamedNode | ox.BlankNode):
            raise ValueError(f"an entity must be an IRI or a blank node, not {value!r}")
        return term

    def graph(self, value: object) -> GraphName:
        """The name of a graph; "default" is the default graph."""
        if isinstance(value, ox.DefaultGraph) or value == "default":
            return DEFAULT_GRAPH
        term = self.term(value)
        if not isinstance(term, (ox.NamedNode, ox.BlankNode)):
            raise ValueError(f"a graph must be named by an IRI or a blank node, not by {value!r}")
        return term

    def pattern(self, *values: object) -> list[Term | None]:
        """The terms of a triple pattern, None where any will do."""
        prefixes = self.prefixes if any(type(value) is str for value in values) else None
        return [None if value is None else to_object(value, prefixes=prefixes) for value in values]

    def bindings(self, bindings: Mapping[str, object] | None, text: str | None = None) -> dict[str, Any]:
        """The terms that variables are bound to, which the `text`, if it is given, has to have."""
        return terms_of(bindings, _Prefixes(lambda: self.prefixes), text)

    def quads(self, given: Iterable[object]) -> list[ox.Quad]:
        """Quads given as `World.add` takes them."""
        if hasattr(given, "triples") and hasattr(given, "namespaces"):
            found = list(rdflib_quads(given))  # type: ignore[arg-type]  # an rdflib graph
        else:
            terms = _Terms(_Prefixes(lambda: self.prefixes))
            found = [_quad(item, terms) for item in given]
        if (home := self.home) is None:
            return found
        return [
            quad if quad.graph_name != DEFAULT_GRAPH else ox.Quad(quad.subject, quad.predicate, quad.object, home)
            for quad in found
        ]


class _Prefixes(Mapping[str, str]):
    """Prefixes that are read when the first is asked for: most quads are of whole IRIs."""

    def __init__(self, read: Callable[[], dict[str, str]]) -> None:
        self._read = read
        self._known: dict[str, str] | None = None

    @property
    def _found(self) -> dict[str, str]:
        if self._known is None:  # no cached_property: until Python 3.12, all of a class have one lock
            self._known = self._read()
        return self._known

    def __getitem__(self, prefix: str) -> str:
        return self._found[prefix]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class _Terms:
    """The terms that values stand for; repeated texts are parsed once."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes
        self._known: dict[str, Term] = {}

    def of(self, value: object, read: Callable[..., Term] = to_oxigraph) -> Term:
        """The term that `read` makes of a value."""
        if type(value) is not str:
            return read(value, prefixes=self._prefixes)
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = read(value, prefixes=self._prefixes)
        return found


def listed(values: object) -> list[object]:
    """A value, or a list of values, as a list."""
    return list(values) if isinstance(values, (list, tuple, set, frozenset)) else [values]


def _declaration(prefix: object, iri: object) -> tuple[str, str]:
    """A prefix and its IRI in SPARQL's syntax; ValueError if they do not fit it."""
    if not isinstance(prefix, str) or not is_prefix(prefix):
        raise ValueError(f"{prefix!r} is not a prefix: a letter, then letters, digits, '_', '-' and inner dots, or ''")
    try:
        return str(prefix), ox.NamedNode(iri).value  # type: ignore[arg-type]  # what is no str is a TypeError
    except (TypeError, ValueError) as error:
        raise ValueError(f"the prefix {prefix!r} stands for an absolute IRI, not {iri!r}: {error}") from error


def _quad(item: Any, terms: _Terms) -> ox.Quad:
    if isinstance(item, ox.Quad):
        return item
    if isinstance(item, ox.Triple):
        return ox.Quad(item.subject, item.predicate, item.object)
    listed = type(item) is tuple or (isinstance(item, Sequence) and not isinstance(item, (str, bytes)))
    if not listed or len(item) not in (3, 4):
        hint = "; give a single quad in a list" if isinstance(item, (str, ox.NamedNode)) else ""
        raise TypeError(f"a quad must be a tuple of three or four terms, not {item!r}{hint}")
    subject, predicate = terms.of(item[0]), terms.of(item[1])
    if not isinstance(subject, (ox.NamedNode, ox.BlankNode)) or not isinstance(predicate, ox.NamedNode):
        raise ValueError(f"a subject must be an IRI or a blank node, a predicate an IRI: {item!r}")
    value = terms.of(item[2], to_object)
    graph: Any = DEFAULT_GRAPH
    if len(item) == 4 and item[3] is not None and not isinstance(item[3], ox.DefaultGraph):
        graph = terms.of(item[3])
        if not isinstance(graph, (ox.NamedNode, ox.BlankNode)):
            raise ValueError(f"a graph must be named by an IRI: {item!r}")
    return ox.Quad(subject, predicate, value, graph)
