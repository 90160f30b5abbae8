"""The evaluation command on sets small enough to check by hand."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest

from benchmarks import quality
from benchmarks.quality_cache import CachedEmbedder
from benchmarks.quality_measures import interval, measure
from benchmarks.quality_sets import DOCUMENT, HIDDEN, entity_search, film_questions, find_set, text_collection
from tests.support.embedder import HashingEmbedder

DOCUMENTS = {
    "1": ("Lava", "Molten rock flows from a volcano."),
    "2": ("Glaciers", "Ice moves slowly down a valley."),
    "3": ("", "A volcano under the ice melts a glacier."),
    "a b": ("Deserts", "Sand and wind, and seldom rain."),
}
QUESTIONS = {"q1": "volcano", "q2": "wind and sand", "q3": "nobody judged this", "q4": "only irrelevant ones"}
JUDGED = [("q1", "1", 2), ("q1", "3", 1), ("q1", "2", 0), ("q2", "a b", 1), ("q4", "2", 0)]

VOCABULARY = """
<urn:x:car> <http://www.w3.org/2004/02/skos/core#prefLabel> "automobile"@en .
<urn:x:car> <http://www.w3.org/2004/02/skos/core#altLabel> "motor  car"@en .
<urn:x:car> <http://www.w3.org/2004/02/skos/core#altLabel> "Automobile"@en .
<urn:x:car> <http://www.w3.org/2004/02/skos/core#altLabel> "Kraftwagen"@de .
<urn:x:car> <http://www.w3.org/2004/02/skos/core#definition> "A car with a motor."@en .
<urn:x:boat> <http://www.w3.org/2000/01/rdf-schema#label> "boat" .
<urn:x:boat> <urn:x:synonym> "ship" .
<urn:x:boat> <urn:x:synonym> <urn:x:vessel> .
<urn:x:unnamed> <urn:x:synonym> "nameless" .
"""

FILMS = """
<urn:x:1> <http://www.w3.org/2000/01/rdf-schema#label> "Kismet" .
<urn:x:1> <urn:x:directedBy> <urn:x:2> .
<urn:x:2> <http://www.w3.org/2000/01/rdf-schema#label> "William Dieterle" .
<urn:x:3> <http://www.w3.org/2000/01/rdf-schema#label> "1944" .
"""


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "nature"
    folder.mkdir()
    with gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        for name, (title, text) in DOCUMENTS.items():
            file.write(json.dumps({"_id": name, "title": title, "text": text}) + "\n")
    lines = [json.dumps({"_id": name, "text": text}) for name, text in QUESTIONS.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n")
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in JUDGED)]
    (folder / "qrels.tsv").write_text("\n".join(rows) + "\n")
    return folder


def test_the_measures_agree_with_a_hand() -> None:
    judgements = {"q1": {"b": 2, "d": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"k": 1}}
    rankings = {"q1": ["a", "b", "c"], "q2": ["a"], "q3": [], "q4": list("abcdefghijk")}
    values = measure(rankings, judgements)
    # The gain is the judgement, its discount the binary logarithm of the place and one.
    assert values["nDCG@10"] == pytest.approx([(2 / math.log2(3)) / (2 + 1 / math.log2(3)), 1, 0, 0])
    assert values["MRR"] == pytest.approx([1 / 2, 1, 0, 1 / 11])
    assert values["recall@100"] == pytest.approx([1 / 2, 1, 0, 1])


def test_an_interval_is_that_of_the_mean() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.2, 400)
    low, high = interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * 0.2 / math.sqrt(400), rel=0.15)
    assert interval(np.ones(5)) == (1, 1)
    low, high = interval(values, values - 1)
    assert low < values.mean() - 0.5 < high


@pytest.mark.parametrize("layout", ["joined", "fields"])
def test_a_folder_of_texts(collection: Path, layout: str) -> None:
    judged = text_collection(collection, layout)
    assert judged.questions == {"q1": "volcano", "q2": "wind and sand"}
    assert judged.judgements["q1"] == {f"{DOCUMENT}1": 2, f"{DOCUMENT}3": 1}
    assert judged.judgements["q2"] == {f"{DOCUMENT}a%20b": 1}
    texts = [str(value.value) for _, _, value in judged.triples() if isinstance(value, ox.Literal)]
    assert texts[0] == ("Lava\n\nMolten rock flows from a volcano." if layout == "joined" else "Lava")
    assert len(texts) == (4 if layout == "joined" else 7)


def test_hidden_synonyms(tmp_path: Path) -> None:
    file = tmp_path / "things.nt"
    file.write_text(VOCABULARY)
    judged = find_set(f"{file}:synonyms", tmp_path, "joined")
    right = {judged.questions[key]: list(iris) for key, iris in judged.judgements.items()}
    # Neither what a label still says, nor another language, nor what has no label to be found by.
    assert right == {"motor car": ["urn:x:car"], "ship": ["urn:x:boat"]}
    left = {value.value for _, _, value in judged.triples() if not isinstance(value, ox.Triple)}
    assert left == {"automobile", "A car with a motor.", "boat", "urn:x:vessel"}
    described = entity_search(file, "things", HIDDEN["descriptions"])
    assert list(described.questions.values()) == ["A car with a motor."]


def test_film_questions(tmp_path: Path) -> None:
    (tmp_path / "films.nt").write_text(FILMS)
    asked = [
        {"hops": 1, "question": "who directed Kismet", "answers": ["William Dieterle"], "qtype": "movie_to_director"},
        {"hops": 1, "question": "when was Kismet released", "answers": ["1944"], "qtype": "movie_to_year"},
        {
            "hops": 2,
            "question": "what else did he direct",
            "answers": ["Kismet"],
            "qtype": "movie_to_director_to_movie",
        },
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)))
    judged = film_questions(tmp_path)
    assert judged.questions == {"0": "who directed Kismet"}
    assert judged.judgements == {"0": {"urn:x:2": 1}}


def test_what_is_no_set(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="neither"):
        find_set("nowhere", tmp_path, "joined")
    file = tmp_path / "empty.nt"
    file.write_text("")
    with pytest.raises(ValueError, match="altLabel"):
        find_set(f"{file}:synonyms", tmp_path, "joined")


def test_a_text_is_embedded_once(tmp_path: Path) -> None:
    first = HashingEmbedder()
    cached = CachedEmbedder(first, tmp_path)
    texts = ["one", "three words here", "one", "two words"]
    vectors = cached.embed_documents(texts)
    np.testing.assert_array_equal(vectors, first.embed_documents(texts))
    asked = cached.embed_query("one")
    second = HashingEmbedder()
    again = CachedEmbedder(second, tmp_path)
    np.testing.assert_array_equal(again.embed_documents(texts), vectors)
    np.testing.assert_array_equal(again.embed_query("one"), asked)
    assert (second.documents, second.queries) == (0, 0)
    other = HashingEmbedder(name="other")
    CachedEmbedder(other, tmp_path).embed_documents(["one"])
    assert other.documents == 1


def test_a_set_is_asked(collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged = text_collection(collection)
    options = quality.parse_options(["candidates=50"])
    asked = quality.configurations(["text", "hybrid"], [], options, {"candidates": 20})
    assert [each.name for each in asked] == ["text", "hybrid", "text, candidates=20", "hybrid, candidates=20"]
    done = {
        each.name: found for each, found in quality.evaluate(judged, asked, CachedEmbedder(HashingEmbedder(), tmp_path))
    }
    assert done["text"].measures["nDCG@10"][1] == 1  # one document alone has wind and sand
    assert done["text"].measures["recall@100"].tolist() == [1, 1]
    quality.report({judged.name: done})
    quality.compare({judged.name: done}, quality.pairs_of(asked, [], {"candidates": 20}))
    printed = capsys.readouterr().out
    assert "nature: 2 questions" in printed
    assert "| hybrid | hybrid, candidates=20 | nature | +0.000 [+0.000, +0.000] | noise" in printed


def test_the_command(collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        str(collection),
        "--modes",
        "text",
        "--embedder",
        "none",
        "--cache",
        str(tmp_path),
        "--layout",
        "fields",
    ]
    quality.main(arguments)
    assert "nature (fields): 2 questions" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        quality.main(["nowhere", "--data", str(tmp_path)])
    assert "neither nowhere" in capsys.readouterr().err


def test_options_are_json_or_strings() -> None:
    found = quality.parse_options(
        ["limit=5", "fusion=rrf", 'weights={"text": 2}', "policy.exclude=[]", "where=?a = ?b"]
    )
    assert found == {"limit": 5, "fusion": "rrf", "weights": {"text": 2}, "policy.exclude": [], "where": "?a = ?b"}
    (configuration,) = quality.configurations(["hybrid"], ["rrf"], found, {})
    assert configuration.policy == {"exclude": []}
    assert configuration.search == {
        "limit": 5, "fusion": "rrf", "weights": {"text": 2}, "where": "?a = ?b", "mode": "hybrid"
    }  # fmt: skip
    with pytest.raises(ValueError, match="name=value"):
        quality.parse_options(["limit"])
