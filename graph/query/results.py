"""Results of a query: `Solutions` for SELECT, `Triples` for CONSTRUCT and DESCRIBE."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

import pyoxigraph as ox

from worlds.graph.cells import cell
from worlds.graph.formats import escape_xml, find_format, serialize
from worlds.graph.plain import TripleTerms, plain
from worlds.graph.tabular import Tabular
from worlds.graph.terms import RDF, XSD, Term, format_term, to_python, to_rdflib
from worlds.graph.turtle import nested

if TYPE_CHECKING:
    import rdflib

Solution: TypeAlias = "ox.QuerySolution | Mapping[str, Term | None] | _Restored"
T = TypeVar("T")


class _Fetched(Generic[T]):
    """The items of an iterator, fetched as a whole at the first use.

    An iterator that failed would go on after its error and pass for a shorter result: it is not asked again,
    its error is raised again.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._items = items
        self._error: Exception | None = None

    def all(self) -> list[T]:
        if self._error is not None:
            raise self._error
        if not isinstance(self._items, list):
            try:
                self._items = list(self._items)
            except Exception as error:
                self._error = error
                raise
        return self._items

    def __repr__(self) -> str:
        return str(len(self._items)) if isinstance(self._items, list) else "not fetched"


@dataclass(frozen=True)
class Repair:
    """A query similar to the one that was asked: its text, its differences, and its results.

    `union` is whether it is asked of all graphs together.
    """

    query: str
    changes: tuple[str, ...]
    union: bool
    found: Solutions | Triples

    def __str__(self) -> str:
        number = len(self.found)
        of_all = ", with union=true" if self.union else ""
        return f"{'; '.join(self.changes)}: this query finds {number:,}{of_all}: {self.query}"


def _none() -> None:
    return None


class _Noted:
    """Results with notes, which are made when they are first read."""

    _make_notes: Callable[[], tuple[str, ...]] = tuple
    _make_repair: Callable[[], Repair | None] = staticmethod(_none)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on an empty result, or a column without values, as far as the reasons are known; made on first read."""
        return self._make_notes()

    @cached_property
    def repair(self) -> Repair | None:
        """The query that may have been meant where this one found nothing, if it was asked with `repair=True`."""
        return self._make_repair()

    def repaired_by(self, make: Callable[[], Repair | None]) -> None:
        """Set what makes `repair`, when it is first read."""
        self._make_repair = make


class Row:
    """One solution: `row["n"]`, `row.n`, `row[1]`; it iterates as its values, in query order.

    Values are rdflib terms, None where unbound, made when they are read. The two variables that have the name
    of a method are reached by `row["get"]` and `row["asdict"]`.
    """

    __slots__ = ("_solution", "_variables")

    def __init__(self, solution: Solution, variables: Sequence[str]) -> None:
        self._solution = solution
        self._variables = variables

    @overload
    def __getitem__(self, key: int | str) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, slice):
            return tuple(self[name] for name in self._variables[key])
        if not isinstance(key, str):
            key = self._variables[key]
        key = str(key)  # an rdflib Variable is a str that equals none
        if key not in self._variables:
            raise KeyError(f"no variable {key!r}: the query gives {', '.join(self._variables)}")
        term = self._solution[key]
        return None if term is None else to_rdflib(term)

    def __getattr__(self, name: str) -> Any:
        if name in self._variables:
            return self[name]
        raise AttributeError(f"no variable {name!r}: the query gives {', '.join(self._variables)}")

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a variable; `default` where it is unbound, or not in the query."""
        value = self[name] if name in self._variables else None
        return default if value is None else value

    def asdict(self) -> dict[str, Any]:
        """Each variable with its rdflib term, the unbound ones with None."""
        return {name: self[name] for name in self._variables}

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Row | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:  # pyoxigraph's solutions cannot be copied
        return Row, ({name: self._solution[name] for name in self._variables}, self._variables)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.asdict().items())})"


class _Restored:
    """A solution whose terms have other forms for some variables."""

    __slots__ = ("_names", "_restore", "_solution")

    def __init__(self, solution: Solution, names: frozenset[str], restore: Callable[[Any], Any]) -> None:
        self._solution = solution
        self._names = names
        self._restore = restore

    def __getitem__(self, name: str) -> Any:
        term = self._solution[name]
        return self._restore(term) if name in self._names else term


class Solutions(_Noted, Sequence[Row], Tabular):
    """The solutions of a SELECT, in the order that the query gives them, a sequence of `Row`.

    Nothing is fetched before the first use, all of it then; an error of the evaluation is raised there.
    """

    def __init__(
        self, solutions: Iterable[Solution], variables: Sequence[str], notes: Callable[[], tuple[str, ...]] = tuple
    ) -> None:
        self._solutions = _Fetched(solutions)
        self._variables = tuple(variables)
        self._make_notes = notes

    @property
    def variables(self) -> list[str]:
        """The names in query order, without `?`."""
        return list(self._variables)

    def __len__(self) -> int:
        return len(self._solutions.all())

    def __iter__(self) -> Iterator[Row]:
        variables = self._variables
        return (Row(solution, variables) for solution in self._solutions.all())

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Solutions: ...
    def __getitem__(self, index: int | slice) -> Row | Solutions:
        if isinstance(index, slice):
            return Solutions(self._solutions.all()[index], self._variables)
        return Row(self._solutions.all()[index], self._variables)

    def restored(self, names: Iterable[str], restore: Callable[[Any], Any]) -> Solutions:
        """The solutions, with `restore` applied to the terms of these variables when they are read."""
        chosen = frozenset(names)
        solutions = (_Restored(solution, chosen, restore) for solution in self._solutions.all())
        return Solutions(solutions, self._variables, self._make_notes)

    def __reduce__(self) -> tuple[Any, ...]:  # pyoxigraph's solutions cannot be copied
        names = self._variables
        rows = [{name: solution[name] for name in names} for solution in self._solutions.all()]
        return Solutions, (rows, names), {"notes": self.notes}

    def __repr__(self) -> str:
        return f"<Solutions {' '.join('?' + name for name in self._variables)}: {self._solutions}>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a solution, of Python values: str, int, float, Decimal, bool, date, datetime, None."""
        names = self._variables
        return [{name: to_python(solution[name]) for name in names} for solution in self._solutions.all()]

    @property
    def _columns(self) -> Sequence[str]:
        return self._variables

    def serialize(self, format: str = "json") -> str:
        """The solutions in a SPARQL results format: "json", "xml", "csv" or "tsv", or its media type.

        CSV, as its specification has it, tells neither IRIs from texts nor unbound from empty; it is safe to open in a
        spreadsheet (see `worlds.graph.cells.cell`), the others are exact. Raises `ValueError` for an unknown format,
        and for a character that XML can't hold.
        """
        if not isinstance(format, str):
            raise TypeError(f"a format must be named by a str, not {format!r}")
        writer = _WRITERS.get(format.partition(";")[0].strip().lower())
        if writer is None:
            raise ValueError(f"{format!r} is not a results format: use json, xml, csv or tsv")
        try:
            return writer(self._variables, self._solutions.all())
        except RecursionError:
            raise ValueError(f"a triple term is nested too deeply to be written as {format}") from None


# --- SPARQL results formats -----------------------------------------------------------------------------
# pyoxigraph's own writers have the columns of SELECT * in another order than the query.

_ITS = "http://www.w3.org/2005/11/its"
_TEXTS = (XSD + "string", RDF + "langString", RDF + "dirLangString")


def _to_json(variables: Sequence[str], solutions: list[Solution]) -> str:
    bindings = [
        {name: _json_term(term) for name in variables if (term := solution[name]) is not None} for solution in solutions
    ]
    document = {"head": {"vars": list(variables)}, "results": {"bindings": bindings}}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _json_term(term: Term) -> dict[str, Any]:
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, ox.Triple):
        subject, predicate, value = _json_term(term.subject), _json_term(term.predicate), _json_term(term.object)
        return {"type": "triple", "value": {"subject": subject, "predicate": predicate, "object": value}}
    found = {"type": "literal", "value": term.value}
    if term.language is not None:
        found["xml:lang"] = term.language
        if term.direction is not None:
            found["its:dir"] = str(term.direction)
    elif term.datatype.value != XSD + "string":
        found["datatype"] = term.datatype.value
    return found


def _to_xml(variables: Sequence[str], solutions: list[Solution]) -> str:
    out = ['<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>']
    out += [f'<variable name="{name}"/>' for name in variables]
    out.append("</head><results>")
    for solution in solutions:
        out.append("<result>")
        for name in variables:
            if (term := solution[name]) is not None:
                out.append(f'<binding name="{name}">{_xml_term(term)}</binding>')
        out.append("</result>")
    out.append("</results></sparql>")
    return "".join(out)


def _xml_term(term: Term) -> str:
    if isinstance(term, ox.NamedNode):
        return f"<uri>{escape_xml(term.value)}</uri>"
    if isinstance(term, ox.BlankNode):
        return f"<bnode>{term.value}</bnode>"
    if isinstance(term, ox.Triple):
        subject, predicate, value = _xml_term(term.subject), _xml_term(term.predicate), _xml_term(term.object)
        return (
            f"<triple><subject>{subject}</subject><predicate>{predicate}</predicate><object>{value}</object></triple>"
        )
    attributes = ""
    if term.language is not None:
        attributes = f' xml:lang="{term.language}"'
        if term.direction is not None:
            attributes += f' xmlns:its="{_ITS}" its:version="2.0" its:dir="{term.direction}"'
    elif term.datatype.value != XSD + "string":
        attributes = f' datatype="{escape_xml(term.datatype.value)}"'
    return f"<literal{attributes}>{escape_xml(term.value)}</literal>"


def _to_csv(variables: Sequence[str], solutions: list[Solution]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(variables)
    writer.writerows([_csv_term(solution[name]) for name in variables] for solution in solutions)
    return out.getvalue()


def _csv_term(term: Term | None) -> str:
    if term is None:
        return ""
    text = term.value if isinstance(term, ox.NamedNode | ox.Literal) else format_term(term)
    number = text[:1] in ("+", "-") and isinstance(term, ox.Literal) and term.datatype.value not in _TEXTS
    return cell(text, "JSON and TSV", number=number)


def _to_tsv(variables: Sequence[str], solutions: list[Solution]) -> str:
    lines = ["\t".join(f"?{name}" for name in variables)]
    for solution in solutions:
        terms = (solution[name] for name in variables)
        lines.append("\t".join("" if term is None else format_term(term) for term in terms))
    return "\n".join(lines) + "\n"


_WRITERS: dict[str, Callable[[Sequence[str], list[Solution]], str]] = {
    "json": _to_json,
    "application/json": _to_json,
    "application/sparql-results+json": _to_json,
    "xml": _to_xml,
    "application/xml": _to_xml,
    "application/sparql-results+xml": _to_xml,
    "csv": _to_csv,
    "text/csv": _to_csv,
    "tsv": _to_tsv,
    "text/tab-separated-values": _to_tsv,
}


# --- CONSTRUCT, DESCRIBE --------------------------------------------------------------------------------


class Triples(_Noted):
    """The triples of a CONSTRUCT or DESCRIBE, each once; iterates as tuples of three rdflib terms.

    Nothing is fetched before the first use, all of it then; an error of the evaluation is raised there.
    """

    def __init__(
        self,
        triples: Iterable[ox.Triple],
        prefixes: Mapping[str, str] | None = None,
        notes: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._triples = _Fetched(_distinct(triples))
        self._prefixes = dict(prefixes or {})
        self._make_notes = notes

    def __len__(self) -> int:
        return len(self._triples.all())

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        return (
            (to_rdflib(triple.subject), to_rdflib(triple.predicate), to_rdflib(triple.object))
            for triple in self._triples.all()
        )

    def restored(self, restore: Callable[[Any], Any]) -> Triples:
        """The triples, with `restore` applied to their objects."""
        triples = (ox.Triple(one.subject, one.predicate, restore(one.object)) for one in self._triples.all())
        return Triples(triples, self._prefixes, self._make_notes)

    def __reduce__(self) -> tuple[Any, ...]:
        return Triples, (self._triples.all(), self._prefixes), {"notes": self.notes}

    def __repr__(self) -> str:
        return f"<Triples: {self._triples}>"

    def serialize(self, format: str = "turtle") -> str:
        """The triples as a document; formats, and their limits, are the ones of `formats.serialize`.

        In Turtle blank nodes stand in brackets where they are used, if there are no more than 1,000 triples.
        """
        triples, prefixes = self._triples.all(), self._used_prefixes()
        if find_format(format).name == "turtle" and (text := nested(triples, prefixes)) is not None:
            return text
        out = io.BytesIO()
        serialize((ox.Quad(*triple) for triple in triples), out, format, prefixes)
        return out.getvalue().decode()

    def _used_prefixes(self) -> dict[str, str]:
        """The prefixes worth a line at the head: a world may know hundreds."""
        used: set[str] = set()
        for triple in self._triples.all():
            for term in triple:
                iri = term.datatype.value if isinstance(term, ox.Literal) else getattr(term, "value", "")
                used.add(iri[: max(iri.rfind("#"), iri.rfind("/"), iri.rfind(":")) + 1])
        return {prefix: namespace for prefix, namespace in self._prefixes.items() if namespace in used}

    def to_rdflib(self, *, triple_terms: TripleTerms = "skip") -> rdflib.Graph:
        """An rdflib Graph; `triple_terms` sets the treatment of terms that rdflib lacks, as in `World.to_rdflib`."""
        import rdflib

        graph = rdflib.Graph()
        for prefix, namespace in self._prefixes.items():
            graph.bind(prefix, namespace, replace=True)
        for subject, predicate, value in plain(self, triple_terms):
            graph.add((subject, predicate, value))
        return graph


def _distinct(triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
    yield from dict.fromkeys(triples)  # a template makes the same triple many times; a graph has it once
