"""Lucene's query syntax as an expression of FTS5."""

from __future__ import annotations

import pytest

from worlds.graph.search.lucene import as_fts5


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        ("rover AND wheels", '("rover" AND "wheels")'),
        ("rover && wheels", '("rover" AND "wheels")'),
        ("rover OR wheels", '("rover" OR "wheels")'),
        ("rover NOT wheels", '(("rover") NOT ("wheels"))'),
        ("rover AND NOT wheels", '(("rover") NOT ("wheels"))'),
        ("!wheels rover -soil +mars", '((("mars") OR ("mars" AND ("rover"))) NOT ("wheels" OR "soil"))'),
        ("+rover wheels", '(("rover") OR ("rover" AND ("wheels")))'),
        ("rov* AND (wheels OR soil)", '("rov" * AND ("wheels" OR "soil"))'),
        ('"six wheels"~3', '(NEAR("six" "wheels", 3))'),
        ('"a phrase" AND it\'s', '("a phrase" AND "it\'s")'),
        ("\\(a\\) AND b\\~", '("(a)" AND "b~")'),
    ],
)
def test_operators_mean_what_they_mean_to_lucene(words: str, expression: str) -> None:
    assert as_fts5(words) == expression


@pytest.mark.parametrize("words", ["rover wheels", '"a phrase" -without prefix*', "and or not", "中文 rover", ""])
def test_plain_words_stay_words(words: str) -> None:
    assert as_fts5(words) is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("rover~", "'~' in 'rover~' has no counterpart"),
        ("rov?r", "'?' in 'rov?r' has no counterpart"),
        ("r*r AND a", "in 'r*r' has no counterpart"),
        ("*r", "in '*r' has no counterpart"),
        ("rover^4", "weights"),
        ("[a TO b]", "ranges"),
        ("/r.*/", "patterns"),
        ("lang:en", 'a language follows the words, as in ("words" "lang:en")'),
        ("title:rover AND b", "asks for a field, and there are none"),
        ("NOT rover", "all words are excluded"),
        ("(a AND b", "a bracket is not closed"),
        ("a) AND b", "a closing bracket has no opening one"),
        ("(" * 60 + "a" + ")" * 60, "nested deeper than 50"),
        ('a AND "b', "a quotation mark is not closed, or a backslash has nothing to escape"),
    ],
)
def test_what_fts5_has_not_is_refused(words: str, told: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # whose message follows
        as_fts5(words)
    assert told in str(caught.value)
