"""Texts with questions and the right answers to them: what `benchmarks.quality` measures searches on.

A set is quads, questions, and for each question the IRIs that answer it. It comes from a folder of texts with
judgements, from RDF whose labels or descriptions are hidden and asked for, or from the film graph with its questions.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
Triple = tuple[Any, ox.NamedNode, Term]

DOCUMENT = "urn:worlds-quality:"
TITLE = ox.NamedNode("http://purl.org/dc/terms/title")
TEXT = ox.NamedNode("http://purl.org/dc/terms/description")
LAYOUTS = ("joined", "fields")
COLLECTIONS = ("cranfield", "cisi", "medline", "cacm")
FILMS = "metaqa-movies"
PLOTS = Path(__file__).with_name("plots.tsv")  # films of it, each with its plot in other words
MOST_QUESTIONS = 300  # that a set made of RDF asks

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_LABEL = ox.NamedNode(f"{_RDFS}label")
_SYNONYMS = ("altLabel", "hiddenLabel", "synonym", "abbreviation", "alternateName", "acronym")
_DESCRIPTIONS = ("definition", "comment", "description", "abstract")
HIDDEN = {"synonyms": _SYNONYMS, "descriptions": _DESCRIPTIONS}
ENTITY_SETS = (
    "uat:synonyms", "physh:synonyms", "d3fend:synonyms", "fibo:synonyms",
    "uat:descriptions", "schemaorg:descriptions", "d3fend:descriptions", "fibo:descriptions",
)  # fmt: skip


@dataclass(frozen=True)
class JudgedSet:
    """What is searched, what is asked, and what is right."""

    name: str
    triples: Callable[[], Iterator[Triple]]
    questions: dict[str, str]
    judgements: dict[str, dict[str, int]]  # question → IRI → how relevant, from 1


def find_set(name: str, data: Path, layout: str) -> JudgedSet:
    """The set that `name` means: the path of a folder or an RDF file, or the name of one below `data`.

    `FILE:synonyms` and `FILE:descriptions` hide those of an RDF file, or of the one in a folder; `FOLDER:plots` asks
    for films by plots.tsv. FileNotFoundError if there is no such folder, ValueError if it holds nothing to measure on.
    """
    place, _, hidden = name.partition(":") if name.rpartition(":")[2] in (*HIDDEN, "plots") else (name, "", "")
    path = Path(place) if Path(place).exists() else data / place
    if not path.exists():
        raise FileNotFoundError(f"there is neither {place} nor {data / place}")
    if hidden == "plots":
        return film_plots(_graph_file(path), f"{path.name}:plots")
    if hidden:
        return entity_search(_graph_file(path), f"{path.name}:{hidden}", HIDDEN[hidden])
    if (path / "questions.jsonl").exists():
        return film_questions(path)
    return text_collection(path, layout)


def shared_data() -> Path:
    """The folder of the shared collections, beside the project's; WORLDS_SHARED_DATA names another."""
    given = os.environ.get("WORLDS_SHARED_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


def text_collection(folder: Path, layout: str = "joined") -> JudgedSet:
    """A folder with `corpus.jsonl`, `queries.jsonl` (either may be .gz) and `qrels.tsv`, as BEIR has them.

    A document is one literal, its title above its text, or two with the layout "fields".
    """
    judgements: dict[str, dict[str, int]] = {}
    with _open(folder / "qrels.tsv") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            if int(line["score"]) > 0:
                judgements.setdefault(line["query-id"], {})[_document(line["corpus-id"])] = int(line["score"])
    questions = {str(line["_id"]): line["text"] for line in _lines(folder / "queries.jsonl")}
    questions = {key: text for key, text in questions.items() if key in judgements}
    if not questions:
        raise ValueError(f"no question of {folder} has a judgement above 0")

    def triples() -> Iterator[Triple]:
        for line in _lines(folder / "corpus.jsonl"):
            subject = ox.NamedNode(_document(str(line["_id"])))
            title, text = (line.get("title") or "").strip(), (line.get("text") or "").strip()
            if layout == "joined":
                yield subject, TEXT, ox.Literal(f"{title}\n\n{text}".strip())
                continue
            if title:
                yield subject, TITLE, ox.Literal(title)
            if text:
                yield subject, TEXT, ox.Literal(text)

    name = folder.name if layout == "joined" else f"{folder.name} ({layout})"
    return JudgedSet(name, triples, questions, judgements)


def entity_search(file: Path, name: str, hidden: tuple[str, ...]) -> JudgedSet:
    """An RDF file without its triples under predicates of the local names `hidden`: those texts are the questions.

    What is right is every IRI that had the text. A text that the file still has as a label is no question, and of
    the others the file's texts choose MOST_QUESTIONS, the same in every run.
    """
    kept: list[Triple] = []
    answers: dict[str, set[str]] = {}
    for triple in _parse(file):
        subject, predicate, value = triple
        if not isinstance(value, ox.Literal) or _local_name(predicate) not in hidden:
            kept.append(triple)
        elif isinstance(subject, ox.NamedNode) and value.value.strip() and _english(value):
            answers.setdefault(" ".join(value.value.split()), set()).add(subject.value)
    named = {subject.value for subject, predicate, _ in kept if _local_name(predicate) in ("label", "prefLabel")
             and isinstance(subject, ox.NamedNode)}  # fmt: skip
    labels = {value.value.strip().casefold() for _, _, value in kept if isinstance(value, ox.Literal)}
    asked = sorted(
        (text for text, iris in answers.items() if text.casefold() not in labels and iris <= named),
        key=lambda text: hashlib.sha256(text.encode()).digest(),
    )[:MOST_QUESTIONS]
    if not asked:
        raise ValueError(f"{file} has no {', '.join(hidden)} to ask for")
    questions = {str(number): text for number, text in enumerate(asked)}
    judgements = {number: dict.fromkeys(sorted(answers[text]), 1) for number, text in questions.items()}
    return JudgedSet(name, lambda: iter(kept), questions, judgements)


def film_questions(folder: Path, hops: int = 1) -> JudgedSet:
    """The questions of so many hops whose answers are entities of the graph, which are right by their label."""
    file = _graph_file(folder)
    by_label: dict[str, dict[str, int]] = {}
    for subject, predicate, value in _parse(file):
        if predicate == _LABEL and isinstance(value, ox.Literal):
            by_label.setdefault(value.value, {})[subject.value] = 1
    questions: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_lines(folder / "questions.jsonl")):
        # A year is a literal in the graph, no entity, even where a film happens to be called like it.
        right = {iri: 1 for answer in line["answers"] for iri in by_label.get(answer, {})}
        if line["hops"] == hops and right and not line["qtype"].endswith("_year"):
            questions[str(number)] = line["question"]
            judgements[str(number)] = right
    return JudgedSet(folder.name, lambda: _parse(file), questions, judgements)


def film_plots(file: Path, name: str) -> JudgedSet:
    """The films of plots.tsv by what happens in them; a film is right by its label, if it has a description."""
    described = {subject.value for subject, predicate, _ in _parse(file) if _local_name(predicate) == "description"}
    by_label: dict[str, dict[str, int]] = {}
    for subject, predicate, value in _parse(file):
        if predicate == _LABEL and isinstance(value, ox.Literal) and subject.value in described:
            by_label.setdefault(value.value, {})[subject.value] = 1
    asked = [line.rstrip("\n").split("\t") for line in PLOTS.read_text("utf-8").splitlines()]
    judgements = {plot: by_label[film] for film, plot in asked}
    return JudgedSet(name, lambda: _parse(file), {plot: plot for _, plot in asked}, judgements)


def _document(name: str) -> str:
    return DOCUMENT + quote(name, safe="")


def _graph_file(path: Path) -> Path:
    if path.is_file():
        return path
    found = sorted(file for pattern in ("*.nt", "*.nt.gz", "*.ttl", "*.ttl.gz") for file in path.glob(pattern))
    if len(found) != 1:
        raise ValueError(f"{path} has {len(found)} files of RDF, not one")
    return found[0]


def _parse(file: Path) -> Iterator[Triple]:
    suffix = Path(file.name.removesuffix(".gz")).suffix
    if suffix not in (".nt", ".ttl"):
        raise ValueError(f"{file} is neither N-Triples nor Turtle")
    content = file.read_bytes()
    kind = ox.RdfFormat.N_TRIPLES if suffix == ".nt" else ox.RdfFormat.TURTLE
    for quad in ox.parse(gzip.decompress(content) if file.suffix == ".gz" else content, kind):
        yield quad.subject, quad.predicate, quad.object


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with _open(file) as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


def _open(file: Path) -> Any:
    """The text file, or the one of that name with .gz."""
    if file.exists():
        return file.open(encoding="utf-8", newline="")
    return gzip.open(file.with_name(file.name + ".gz"), "rt", encoding="utf-8", newline="")


def _local_name(predicate: ox.NamedNode) -> str:
    return re.split("[/#:]", predicate.value)[-1]


def _english(literal: ox.Literal) -> bool:
    return literal.language is None or literal.language.split("-")[0] == "en"
