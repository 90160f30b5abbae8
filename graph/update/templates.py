"""Templates of an update: quads with variables, which solutions fill."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.longtexts import parse_all
from worlds.graph.terms import GraphName, Term

MARKER = f"urn:worlds-variable:{uuid.uuid4().hex}:"  # no request can hold it by chance or by design
_SUBJECTS = frozenset[type]({ox.NamedNode, ox.BlankNode})
_PREDICATES = frozenset[type]({ox.NamedNode})
_OBJECTS = frozenset[type]({ox.NamedNode, ox.BlankNode, ox.Literal, ox.Triple})


class _Line(NamedTuple):
    form: list[str]
    columns: list[int]
    checks: list[tuple[int, frozenset[type]]]


class Template:
    """Quads whose variables a solution fills.

    They are written as N-Quads and parsed: to make a quad of terms takes pyoxigraph several times as long.
    """

    def __init__(
        self, quads: list[ox.Quad], variables: list[str], bindings: Mapping[str, Term], default_graph: GraphName
    ) -> None:
        self._variables = variables
        self._bindings = bindings
        self._default_graph = "" if isinstance(default_graph, ox.DefaultGraph) else str(default_graph)
        self._labels: dict[str, int] = {}
        self._lines = [line for quad in quads if (line := self._line(quad)) is not None]
        self.blank_nodes = len(self._labels)  # that each solution makes

    def _line(self, quad: ox.Quad) -> _Line | None:
        """The line of N-Quads to fill; None where no solution can make it a quad."""
        line = _Line([], [], [])
        places = [(quad.subject, _SUBJECTS), (quad.predicate, _PREDICATES), (quad.object, _OBJECTS)]
        if not all(self._write(term, kinds, line) for term, kinds in places):
            return None
        if isinstance(quad.graph_name, ox.DefaultGraph):
            line.form.append(self._default_graph.replace("%", "%%"))
        elif not self._write(quad.graph_name, _SUBJECTS, line):
            return None
        line.form.append(".\n")
        return line

    def _write(self, term: Term, kinds: frozenset[type], line: _Line) -> bool:
        """Append a term to a line; whether it can stand there."""
        name = _variable(term)
        if name in self._variables:
            column = self._variables.index(name)
            line.columns.append(column)
            line.checks.append((column, kinds))
            line.form.append("%s")
        elif isinstance(term, ox.BlankNode):
            line.columns.append(len(self._variables) + self._labels.setdefault(term.value, len(self._labels)))
            line.form.append("%s")
        elif isinstance(term, ox.Triple):
            line.form.append("<<(")
            parts = [(term.subject, _SUBJECTS), (term.predicate, _PREDICATES), (term.object, _OBJECTS)]
            legal = all(self._write(part, allowed, line) for part, allowed in parts)
            line.form.append(")>>")
            return legal
        else:
            constant = term if name is None else self._bindings[name]
            line.form.append(_text(constant).replace("%", "%%"))
            return type(constant) in kinds
        return True

    def filled(self, rows: Iterable[Sequence[Term | None]]) -> list[ox.Quad]:
        """The distinct quads for these solutions; what would be no RDF, or has something unbound, is left out."""
        new = range(self.blank_nodes)
        lines = [(" ".join(form), tuple(columns), checks) for form, columns, checks in self._lines]
        found: dict[str, None] = {}
        for row in rows:
            texts = [_text(term) if type(term) is ox.Triple else str(term) for term in row]
            if new:
                texts += [str(ox.BlankNode()) for _ in new]
            for form, columns, checks in lines:
                for column, kinds in checks:
                    if type(row[column]) not in kinds:
                        break
                else:
                    found[form % tuple([texts[column] for column in columns])] = None
        return read_quads(found)


def read_quads(lines: Iterable[str]) -> list[ox.Quad]:
    """The quads of N-Quads; QueryError for what cannot be read back, such as an IRI with a space in it."""
    try:
        return parse_all("".join(lines), ox.RdfFormat.N_QUADS, lenient=True)
    except SyntaxError as error:
        raise QueryError(f"the update would make terms that are not RDF: {error}") from error


def _text(term: Term) -> str:
    """The term in N-Quads."""
    return f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)


def _variable(term: Term) -> str | None:
    if isinstance(term, ox.NamedNode) and term.value.startswith(MARKER):
        return term.value.removeprefix(MARKER)
    return None
