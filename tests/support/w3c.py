"""The W3C test suites: where they are, what their manifests say, and how two answers are compared."""

from __future__ import annotations

import csv
import functools
import os
import tarfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import pyoxigraph as ox
import pytest

import worlds
from worlds.graph.terms import Term, to_python

BASE = "https://w3c.github.io/rdf-tests/"  # what relative IRIs in the files stand for

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

Row: TypeAlias = tuple[Term | None, ...]


# --- the files ------------------------------------------------------------------------------------------


class NotHereError(Exception):
    """The test suites are not on this machine."""


@functools.cache
def files() -> dict[str, bytes]:
    """The files of the suites by their path, `sparql/…` and `rdf/…`; NotHereError where there are none."""
    given = os.environ.get("WORLDS_W3C_TESTS")
    if given:
        place = Path(given)
    else:
        shared = os.environ.get("WORLDS_SHARED_DATA")
        folder = Path(shared) if shared else Path(__file__).resolve().parents[3] / "shared" / "data"
        place = folder / "w3c-rdf-tests.tgz"
    found: dict[str, bytes] = {}
    if place.is_dir():
        root = place / "rdf-tests" if (place / "rdf-tests").is_dir() else place
        found = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.*") if path.is_file()}
    elif place.is_file():
        with tarfile.open(place) as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is not None:
                    found[member.name.removeprefix("./").partition("/")[2]] = content.read()
    if not {"sparql/sparql11/manifest-all.ttl", "rdf/rdf12/manifest.ttl"} <= found.keys():
        raise NotHereError(f"the W3C tests are not in {place}; WORLDS_W3C_TESTS names another archive or folder")
    return found


def read(iri: str) -> bytes:
    """The file that an IRI of a manifest stands for."""
    return files()[iri.removeprefix(BASE)]


def extension(iri: str) -> str:
    return PurePosixPath(iri).suffix.removeprefix(".")


# --- manifests ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class W3CTest:
    """One entry of a manifest. The files are named by their IRIs."""

    iri: str
    kind: str  # the type's local name, such as QueryEvaluationTest
    folder: str  # of the manifest, such as sparql/sparql11/add
    action: str  # the query, the update request, or the document
    result: str | None  # what a query or a document gives
    lax: bool  # whether solutions that are equal may be fewer
    before: Dataset = field(default_factory=lambda: Dataset())
    after: Dataset = field(default_factory=lambda: Dataset())  # what an update leaves

    @property
    def id(self) -> str:
        return f"{self.folder.partition('/')[2]}/{self.iri.rpartition('#')[2]}"

    @property
    def suite(self) -> str:
        """Such as "SPARQL 1.1" or "Turtle 1.2"."""
        area, version, *rest = self.folder.split("/")
        name = {"n-triples": "N-Triples", "n-quads": "N-Quads", "trig": "TriG", "xml": "RDF/XML"}
        what = "SPARQL" if area == "sparql" else name.get(rest[0].removeprefix("rdf-"), "Turtle")
        return f"{what} {version[-2]}.{version[-1]}"


@dataclass(frozen=True)
class Dataset:
    """Files that make a dataset: those of the default graph, and (graph name, file) of the named ones."""

    default: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()

    def load(self, world: worlds.World) -> None:
        for file in self.default:
            world.load(read(file), format=extension(file), base=file)
        for graph, file in self.named:
            world.load(read(file), format=extension(file), base=file, graph=f"<{graph}>")

    def quads(self) -> list[ox.Quad]:
        """All quads, as the parser gives them; each file's blank nodes are its own."""
        found = []
        for graph, file in (*((None, file) for file in self.default), *self.named):
            for quad in ox.parse(read(file), parser_format(file), base_iri=file, rename_blank_nodes=True):
                name = quad.graph_name if graph is None else ox.NamedNode(graph)
                found.append(ox.Quad(quad.subject, quad.predicate, quad.object, name))
        return found


def parser_format(file: str) -> ox.RdfFormat:
    found = ox.RdfFormat.from_extension(extension(file))
    assert found is not None, file
    return found


def manifest_tests(path: str) -> Iterator[W3CTest]:
    """The tests of a manifest and of those that it includes."""
    iri = BASE + path
    graph = _Graph(ox.parse(files()[path], ox.RdfFormat.TURTLE, base_iri=iri))
    for included in graph.lists(MF + "include"):
        if included.value != BASE + "rdf/rdf11/rdf-mt/manifest.ttl":  # which the archive has not
            yield from manifest_tests(included.value.removeprefix(BASE))
    for entry in graph.lists(MF + "entries"):
        if test := _test(graph, entry, str(PurePosixPath(path).parent)):
            yield test


class _Graph:
    """The triples of a manifest, by subject and predicate."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self._values: dict[tuple[Any, str], list[Any]] = {}
        self._subjects: dict[str, list[Any]] = {}
        for quad in quads:
            self._values.setdefault((quad.subject, quad.predicate.value), []).append(quad.object)
            self._subjects.setdefault(quad.predicate.value, []).append(quad.subject)

    def values(self, subject: Any, predicate: str) -> list[Any]:
        return self._values.get((subject, predicate), [])

    def value(self, subject: Any, predicate: str) -> Any:
        return next(iter(self.values(subject, predicate)), None)

    def subjects(self, predicate: str) -> list[Any]:
        return self._subjects.get(predicate, [])

    def of_type(self, kind: str) -> list[Any]:
        return [
            subject
            for subject in self.subjects(RDF + "type")
            if ox.NamedNode(kind) in self.values(subject, RDF + "type")
        ]

    def lists(self, predicate: str) -> Iterator[Any]:
        """The members of the lists that are the predicate's values."""
        for subject in self.subjects(predicate):
            node = self.value(subject, predicate)
            while (first := self.value(node, RDF + "first")) is not None:
                yield first
                node = self.value(node, RDF + "rest")


def _test(graph: _Graph, entry: Any, folder: str) -> W3CTest | None:
    """None for an entry without a type, which a manifest may list and not describe."""
    kinds = [kind.value.rpartition("#")[2] for kind in graph.values(entry, RDF + "type")]
    kind = next((kind for kind in kinds if "Test" in kind), None)
    action, result = graph.value(entry, MF + "action"), graph.value(entry, MF + "result")
    if kind is None or action is None:
        return None
    request = graph.value(action, QT + "query") or graph.value(action, UT + "request") or action
    if not isinstance(request, ox.NamedNode):
        request = entry  # a protocol test, which has no file
    return W3CTest(
        iri=entry.value,
        kind=kind,
        folder=folder,
        action=request.value,
        result=result.value if isinstance(result, ox.NamedNode) else None,
        lax=graph.value(entry, MF + "resultCardinality") == ox.NamedNode(MF + "LaxCardinality"),
        before=_dataset(graph, action),
        after=_dataset(graph, result),
    )


def _dataset(graph: _Graph, node: Any) -> Dataset:
    default = [file.value for space in (QT, UT) for file in graph.values(node, space + "data")]
    named = [(file.value, file.value) for file in graph.values(node, QT + "graphData")]
    for member in graph.values(node, UT + "graphData"):
        file, label = graph.value(member, UT + "graph"), graph.value(member, RDFS + "label")
        named.append((label.value, file.value))
    return Dataset(tuple(default), tuple(named))


# --- comparing ------------------------------------------------------------------------------------------


def exactly(literal: ox.Literal) -> Hashable:
    """A literal's own form."""
    return literal


def by_value(literal: ox.Literal) -> Hashable:
    """What a literal stands for, whatever its lexical form."""
    value = to_python(literal)
    return literal.language, literal.direction, literal.datatype, repr(value) if value != value else value


Form: TypeAlias = Callable[[ox.Literal], Hashable]


def same_rows(expected: Sequence[Row], found: Sequence[Row], *, ordered: bool, form: Form) -> bool:
    """Whether two sequences of solutions are equal up to the names of their blank nodes; multisets if not `ordered`."""
    if len(expected) != len(found):
        return False
    left, right = ([_shape(row, form) for row in rows] for rows in (expected, found))
    if ordered:
        return (
            all(a[0] == b[0] for a, b in zip(left, right, strict=True))
            and _agree(
                [blank for _, blanks in left for blank in blanks],
                [blank for _, blanks in right for blank in blanks],
                {},
            )
            is not None
        )
    if Counter(shape for shape, _ in left) != Counter(shape for shape, _ in right):
        return False
    return _match([row for row in left if row[1]], [row for row in right if row[1]], {})


_Shape: TypeAlias = tuple[Hashable, list[ox.BlankNode]]


def _shape(row: Row, form: Form) -> _Shape:
    """A row without its blank nodes, and these in their order."""
    blanks: list[ox.BlankNode] = []

    def shape(term: Term | None) -> Hashable:
        if isinstance(term, ox.BlankNode):
            blanks.append(term)
            return "_:"
        if isinstance(term, ox.Triple):
            return tuple(map(shape, (term.subject, term.predicate, term.object)))
        return form(term) if isinstance(term, ox.Literal) else term

    return tuple(map(shape, row)), blanks


_Names: TypeAlias = dict[tuple[str, ox.BlankNode], ox.BlankNode]


def _agree(left: list[ox.BlankNode], right: list[ox.BlankNode], names: _Names) -> _Names | None:
    """The mapping, both ways, with what these pairs add to it; None if they contradict it."""
    names = dict(names)
    for a, b in zip(left, right, strict=True):
        if names.setdefault(("left", a), b) != b or names.setdefault(("right", b), a) != a:
            return None
    return names


def _match(left: list[_Shape], right: list[_Shape], names: _Names) -> bool:
    if not left:
        return True
    (shape, blanks), *others = left
    for position, (candidate, its_blanks) in enumerate(right):
        if candidate == shape:
            more = _agree(blanks, its_blanks, names)
            if more is not None and _match(others, right[:position] + right[position + 1 :], more):
                return True
    return False


def same_quads(expected: Iterable[ox.Quad], found: Iterable[ox.Quad]) -> bool:
    """Whether two datasets are isomorphic, lexical forms as they are."""
    return canonical(expected) == canonical(found)


def canonical(quads: Iterable[ox.Quad]) -> set[str]:
    """The quads with names for the blank nodes that depend on nothing but the dataset."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(str, dataset))


# --- expected results -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The result of a SELECT."""

    variables: list[str]
    rows: list[Row]
    indexed: bool = False  # whether the file numbers its solutions


def read_table(content: bytes | str, format: str) -> Table | bool:
    """A result in a SPARQL results format; for CSV the cells are plain literals, `_:x` blank nodes."""
    if format == "csv":
        text = content if isinstance(content, str) else content.decode()
        head, *lines = csv.reader(text.splitlines())
        return Table(head, [tuple(map(_cell, line)) for line in lines])
    chosen = ox.QueryResultsFormat.from_extension(format)
    assert chosen is not None, format
    parsed = ox.parse_query_results(content, chosen)
    if isinstance(parsed, ox.QueryBoolean):
        return bool(parsed)
    assert isinstance(parsed, ox.QuerySolutions)
    names = [variable.value for variable in parsed.variables]
    return Table(names, [tuple(solution[name] for name in names) for solution in parsed])


def _cell(text: str) -> Term:
    return ox.BlankNode(text[2:]) if text.startswith("_:") else ox.Literal(text)


def read_result_graph(quads: Iterable[ox.Quad]) -> Table | bool:
    """A result that is written as RDF, in the vocabulary of result sets."""
    graph = _Graph(quads)
    (result,) = graph.of_type(RS + "ResultSet")
    boolean = graph.value(result, RS + "boolean")
    if boolean is not None:
        return bool(boolean.value == "true")
    names = [name.value for name in graph.values(result, RS + "resultVariable")]
    solutions = graph.values(result, RS + "solution")
    indexed = all(graph.value(solution, RS + "index") is not None for solution in solutions)
    if indexed:
        solutions.sort(key=lambda solution: int(graph.value(solution, RS + "index").value))
    rows = []
    for solution in solutions:
        values = {
            graph.value(binding, RS + "variable").value: graph.value(binding, RS + "value")
            for binding in graph.values(solution, RS + "binding")
        }
        rows.append(tuple(values.get(name) for name in names))
    return Table(names, rows, indexed and bool(solutions))


# --- counts ---------------------------------------------------------------------------------------------


class Tally:
    """Counts what was run, and as a plugin of pytest says it at the end, where one process runs all tests."""

    def __init__(self) -> None:
        self._passed: Counter[tuple[str, str]] = Counter()
        self._run: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def counting(self, test: W3CTest) -> Iterator[None]:
        key = (test.suite, test.kind)
        self._run[key] += 1
        yield
        self._passed[key] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("W3C tests that pass")
        for suite in dict.fromkeys(suite for suite, _ in self._run):
            kinds = {kind: count for (its, kind), count in self._run.items() if its == suite}
            passed = {kind: self._passed[suite, kind] for kind in kinds}
            terminalreporter.write_line(f"{suite}: {sum(passed.values())} of {sum(kinds.values())}")
            for kind, count in kinds.items():
                terminalreporter.write_line(f"    {kind}: {passed[kind]} of {count}")


def parameters(
    tests: Iterable[W3CTest], failures: dict[str, str]
) -> list[Any]:  # pytest has no public name for ParameterSet
    """The tests as pytest's parameters; those in `failures` (IRI → cause) must fail."""
    marks = {iri: pytest.mark.xfail(strict=True, reason=cause) for iri, cause in failures.items()}
    return [pytest.param(test, id=test.id, marks=[marks[test.iri]] if test.iri in marks else []) for test in tests]
