"""The W3C tests of SHACL Core and SHACL-SPARQL, whole reports compared; see docs/conformance.md."""

from __future__ import annotations

import os
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib.collection import Collection
from rdflib.compare import to_isomorphic
from rdflib.namespace import RDF

import worlds

MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
SHT = rdflib.Namespace("http://www.w3.org/ns/shacl-test#")
SH = rdflib.Namespace("http://www.w3.org/ns/shacl#")
PARTS = ("focusNode", "resultSeverity", "sourceConstraintComponent", "sourceShape", "value")


def archive() -> Path:
    """Where the tests are, if they are."""
    shared = os.environ.get("WORLDS_SHARED_DATA")
    folder = Path(shared) if shared else Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder / "w3c-shacl-tests.tgz"


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked tests."""
    folder = tmp_path_factory.mktemp("shacl")
    with tarfile.open(archive()) as packed:
        packed.extractall(folder, filter="data")
    return folder / "w3c-shacl-tests" / "tests"


def names() -> list[str]:
    """The tests, by file."""
    found = []
    if archive().is_file():
        with tarfile.open(archive()) as packed:
            for member in packed:
                file = packed.extractfile(member)
                if file is not None and b"sht:Validate" in file.read():
                    found.append(member.name.partition("/tests/")[2])
    return sorted(found)


@cache
def graph(path: Path) -> rdflib.Graph:
    normalise, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False  # lexical forms are to be as they are
    try:
        return rdflib.Graph().parse(path, publicID=path.as_uri())
    finally:
        rdflib.NORMALIZE_LITERALS = normalise


def entry(path: Path) -> tuple[Any, Path, Path]:
    manifest = graph(path)
    (test,) = manifest.subjects(RDF.type, SHT.Validate)
    action, result = manifest.value(test, MF.action), manifest.value(test, MF.result)
    data, shapes = (
        Path(rdflib.URIRef(str(manifest.value(action, name))).removeprefix("file://"))
        for name in (SHT.dataGraph, SHT.shapesGraph)
    )
    return result, data, shapes


def path_of(node: Any, of: rdflib.Graph) -> Any:
    """A property path as nested tuples."""
    if node is None or isinstance(node, rdflib.URIRef):
        return node
    if (node, RDF.first, None) in of:
        return ("sequence", *(path_of(member, of) for member in Collection(of, node)))
    for name in ("inversePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath"):
        if (value := of.value(node, SH[name])) is not None:
            return (name, path_of(value, of))
    return ("alternativePath", *(path_of(one, of) for one in Collection(of, of.value(node, SH.alternativePath))))


def results(of: rdflib.Graph, report: Any, anonymous: bool = True) -> list[Any]:
    """The results of a report, as what can be compared: a blank node is one, whichever."""

    def plain(node: Any) -> Any:
        return "a blank node" if isinstance(node, rdflib.BNode) else node

    return sorted(
        repr([*(plain(of.value(result, SH[part])) for part in PARTS), path_of(of.value(result, SH.resultPath), of)])
        for result in of.objects(report, SH.result)
    )


@pytest.mark.parametrize(
    "name", names() or [pytest.param("", marks=pytest.mark.skip(f"the W3C tests are not at {archive()}"))]
)
def test_the_report_is_the_expected_one(name: str, suite: Path) -> None:
    result, data, shapes = entry(suite / name)
    with worlds.open(":memory:", embedder=None) as world:
        world.load(data, base=data.as_uri())
        if result == SHT.Failure:
            with pytest.raises(worlds.ShapesError):
                world.shapes.validate(shapes=shapes)
            return
        world.shapes.load(shapes, base=shapes.as_uri())  # so that queries can ask for them
        report = world.shapes.validate()
    expected = graph(suite / name)
    assert report.conforms == expected.value(result, SH.conforms).toPython()
    found = report.to_rdflib()
    (root,) = found.subjects(RDF.type, SH.ValidationReport)
    assert results(found, root) == results(expected, result)
    for given in expected.objects(result, SH.result):
        for message in expected.objects(given, SH.resultMessage):
            assert (None, SH.resultMessage, message) in found
    assert len(to_isomorphic(found)) == len(found)
