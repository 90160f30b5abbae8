"""The languages in which a question is read: by their stems its words are sought."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

from worlds.core.search.filters import Filters
from worlds.core.search.request import SearchRequest
from worlds.core.search.words import MAX_CHARS, read_query
from worlds.core.texts.languages import ENGLISH, indexed, is_stop_word, key, primary, words_of
from worlds.core.texts.segmentation import fold
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_LOOKED_AT = 200  # texts with a word whose languages are asked
_WORDS = 8  # of a question that have a say: the first, or the next where none of these stands anywhere
_BEGINNING = re.compile(r"(\w+)\*")


class WorldLanguages:
    """The languages of one world's words."""

    def __init__(self, connection: Connection, filters: Filters) -> None:
        self._connection = connection
        self._filters = filters

    @property
    def known(self) -> frozenset[str]:
        """The languages whose stemmers have read texts, besides English."""
        known: frozenset[str] = frozenset(self._connection.setting("languages", json.loads) or ())
        return known if self._filters.policy.tokenizer == "porter" else frozenset()

    def heard(self, words: Sequence[str], beginnings: Set[str], known: Set[str]) -> list[set[str]]:
        """Of each word, the languages that have it as a stop-word, or in whose texts it stands.

        A language other than English without a text that has one of the words is not among them: no text may be left
        in it.
        """
        untagged = primary(self._filters.policy.language) or ENGLISH
        found, present = [], {ENGLISH}
        for word in words:
            stands = set()
            forms, stopped = _forms(word, frozenset(known))
            for form, languages in forms:
                match = f'"{form}"*' if word in beginnings else f'"{form}"'
                statement = _SQL["languages_having"]
                rows = self._connection.rows(statement, statement.bind(match=match, looked_at=_LOOKED_AT))
                stands |= languages & {primary(tag) or untagged for (tag,) in rows}
            present |= stands
            found.append(stands | stopped)
        return [stands & present for stands in found]


@lru_cache(maxsize=1 << 13)  # names have words in common
def _forms(word: str, known: frozenset[str]) -> tuple[list[tuple[str, set[str]]], set[str]]:
    """The forms of a word with the languages that have it so, and the languages that have it as a stop-word."""
    every, by_form = (ENGLISH, *known), dict[str, tuple[str, set[str]]]()
    for language in every:
        form = word if language == ENGLISH else indexed(word, language) or word
        by_form.setdefault(key(form), (form, set()))[1].add(language)
    return list(by_form.values()), {language for language in every if is_stop_word(word, [language])}


def spoken(request: SearchRequest, worlds: Iterable[WorldLanguages]) -> frozenset[str]:
    """The languages that a question is read in; empty where that is English alone.

    They are what `query_language` says; else those that the filter lets through; else those in which most of its words
    stand, of several with as many all.
    """
    worlds = list(worlds)
    known = frozenset().union(*(world.known for world in worlds))
    if not known or request.syntax != "words":
        return frozenset()
    if request.query_language is not None:
        return frozenset({primary(request.query_language)} - {ENGLISH})
    if filtered := request.filter.include.languages:
        chosen = {primary(tag) for tag in filtered}
        return known | {ENGLISH} if "" in chosen else frozenset() if chosen == {ENGLISH} else frozenset(chosen)
    text = fold(request.text[:MAX_CHARS])
    words, beginnings = words_of(text), set(_BEGINNING.findall(text))
    for start in range(0, len(words), _WORDS):
        some = words[start : start + _WORDS]
        heard = [world.heard(some, beginnings, known) for world in worlds]
        counts = Counter(language for each in zip(*heard, strict=True) for language in set().union(*each))
        if most := max(counts.values(), default=0):
            found = frozenset(language for language, count in counts.items() if count == most)
            return frozenset() if found == {ENGLISH} else found
    return frozenset()


def read_in(text: str, tokenizer: str, languages: Set[str]) -> tuple[list[str], list[str]]:
    """Read a question in these languages: its words to find, and its words to exclude; see `read_query`."""
    others: Sequence[str] = sorted(languages - {ENGLISH})
    return read_query(text, tokenizer, others, english=ENGLISH in languages or not others)
