"""Words are found however they are written, at every tokenizer and plan; what is shown is the text as it is."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal

import worlds
from tests.support.tables import run
from worlds.records import TextPolicy

TEXTS = {
    "the o\ufb03ce of \ufb01nance": "office",
    "co\u00adoperation works": "cooperation",
    "emissions of CO\u2082 rose": "CO2",
    "\uff21\uff22\uff23 text": "abc",
    "zero\u200bwidth": "zerowidth",
    "\uff76\uff80\uff76\uff85 test": "\u30ab\u30bf\u30ab\u30ca",
    "\u0141\u00f3d\u017a": "Lodz",
    "\u00d8rsted": "Orsted",
    "\u039f\u03b4\u03c5\u03c3\u03c3\u03ad\u03b1\u03c2": "\u03bf\u03b4\u03c5\u03c3\u03c3\u03b5\u03b1\u03c2",
    "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd": "\u05e9\u05dc\u05d5\u05dd",
    "party \U0001f389": "\U0001f389",
}


@pytest.mark.parametrize("tokenizer", ["porter", "unicode", "trigram"])
def test_every_word_is_found_and_shown_as_it_is(tokenizer: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with worlds.open(path, embedder=None) as world:
        world.policy = TextPolicy(tokenizer=tokenizer)
        world.add([(f"urn:{n}", "rdfs:comment", Literal(text, lang="en")) for n, text in enumerate(TEXTS)])
    with worlds.open(path, embedder=None) as world:
        for text, word in TEXTS.items():
            if tokenizer == "trigram" and len(word) < 3:
                continue
            for asked, syntax in ((word, "words"), (text.split()[-1], "words"), (f'"{word}"', "fts5")):
                hits = world.search(asked, mode="text", syntax=syntax, limit=1)  # type: ignore[arg-type]
                assert [hit.text for hit in hits] == [text], asked
            found = world.search(word, mode="text", limit=1)[0]
            marked = re.findall(r"\*\*(.+?)\*\*", found.snippet)
            assert found.snippet.replace("**", "") == text
            assert all(one in text for one in marked)
            assert marked
        assert world.check().ok
        world.file.compact()
        assert world.check().ok
        assert world.search("office", mode="text")[0].snippet.count("**") == 2


def test_a_file_of_an_older_release_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with worlds.open(path, embedder=None) as world:
        world.add(
            [
                ("urn:a", "rdfs:comment", Literal("the o\ufb03ce of L\u00f3d\u017a")),
                ("urn:b", "rdfs:comment", Literal("plain")),
            ]
        )
        for sql in (  # as an older release left it
            "UPDATE meta SET value = 'snowball 3.1' WHERE name = 'stems'",
            "INSERT INTO chunks_fts (chunks_fts) VALUES ('delete-all')",
            "DROP TRIGGER chunks_rewritten",
            "UPDATE chunks SET segmented = NULL",
            "INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')",
        ):
            run(world, sql)
        found = world.search("office", mode="text")
        assert not found
        assert any("compact()" in note for note in found.notes)
        report = world.check()
        assert report.checked["chunks of an older release"] == 1
        assert not [problem for problem in report.problems if problem.kind != "schema"]
        world.file.compact()
        found = world.search("office", mode="text")
        assert [hit.text for hit in found] == ["the o\ufb03ce of L\u00f3d\u017a"]
        assert not found.notes


words = st.text(
    "\ufb01\ufb03fi2\u2082\uff21A\uff76\uff9e\u30ab\uac00\u1100\u1161e\u0301\u00e9\u0141\u00d8o中n",
    min_size=2,
    max_size=8,
)


@given(st.lists(words.filter(lambda word: word[0].isalnum()), min_size=1, max_size=4), st.data())
def test_a_text_is_found_by_whatever_is_equal_in_compatibility(parts: list[str], data: st.DataObject) -> None:
    with worlds.open(embedder=None) as world:
        text = " ".join(parts)
        world.add([("urn:a", "rdfs:comment", Literal(text))])
        form: Any = data.draw(st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
        word = unicodedata.normalize(form, data.draw(st.sampled_from(parts)))
        word = data.draw(st.sampled_from(["", "\u00ad", "\u200d"])).join(word)
        (hit,) = world.search(f'"{word}"', mode="text")
        assert hit.text == text
        assert hit.snippet.replace("**", "") == " ".join(text.split())
        assert "**" in hit.snippet


def test_the_first_beginnings_are_sought_as_such_and_the_rest_is_told() -> None:
    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "rdfs:comment", Literal("zirconium"))])
        found = world.search(" ".join(f"a{number}*" for number in range(11)), mode="text")
        assert "11 words end with *: 8 are sought as beginnings, the others as whole words" in found.notes
