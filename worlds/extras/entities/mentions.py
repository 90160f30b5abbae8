"""Which entities a text names: spans of it that are written as a label, an alias or another short literal of theirs."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worlds.core.quads.dictionary import Dictionary, hash_of
from worlds.core.search.engine import Searches
from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.chunks import ChunkStore
from worlds.core.texts.entity_facts import Facts
from worlds.errors import WorldsError
from worlds.extras.entities.names import likeness, normal, ways
from worlds.graph.terms import to_oxigraph
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("entities.sql")
_WORDS = 80  # of a text that are read
_LONGEST = 12  # words of a name
_MOST_ROWS = 2000  # of names that are written exactly as a span
_NAMESAKES = 8  # entities that a span may name
_SHARED = 20  # subjects of one literal, beyond which it is a value, and names none of them
_HITS = 40  # labels that are sought by words
_ALIKE = 0.84  # likeness of spelling from which on a span is a misspelt name

_word = re.compile(r"\S+").finditer
_EDGES = " \t\r\n.,;:!?()[]{}<>\"'“”„«»‘’`*"
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity that a text names, and where; `weight`, from 0 to 1, says how surely.

    `called` is whether by a label or an alias; else it is by another short literal that few have.
    """

    entity: int
    start: int
    end: int
    weight: float
    called: bool = True


class MentionFinder:
    """Finds the entities of one world that texts name, without vectors."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore, searches: Searches) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._searches = searches
        self._facts = Facts(connection, dictionary)
        self._last: tuple[object, str, list[Mention]] | None = None

    def find(self, text: str) -> list[Mention]:
        """The mentions, the surest first; of a span that holds another one, the longer. The last text's are kept."""
        state, last = self._connection.state(), self._last
        if last is None or last[0] is not state or last[1] != text:
            self._last = last = state, text, self._found(text)
        return last[2]

    def _found(self, text: str) -> list[Mention]:
        spans = _spans(text)
        found = self._exact(text, spans)
        covered = [one for one in found if one.weight >= 0.5]
        found += self._by_words(text, spans, covered)
        return _longest(found)

    # -- exactly as it is written -------------------------------------------------------------------------------------

    def _exact(self, text: str, spans: Sequence[tuple[int, int]]) -> list[Mention]:
        spelt: list[tuple[str, tuple[int, int]]] = []
        for start, end in spans:
            spelt += [(way, (start, end)) for way in ways(text[start:end])]
        if not spelt:
            return []
        statement = _SQL["entities_called"]
        sought = json.dumps([[hash_of(way), way] for way, _ in spelt])
        rows = self._connection.rows(statement, statement.bind(spellings_json=sought, most=_MOST_ROWS))
        policy = self._chunks.policy
        roles = {number: role for role in ("label", "alias") for number in self._facts.numbers(policy.predicates(role))}
        by_span: dict[tuple[int, int], dict[int, float]] = {}
        others: dict[tuple[int, int], set[int]] = {}
        for key, subject, predicate in rows:
            span = spelt[int(key)][1]
            role = roles.get(predicate)
            if role is None:
                others.setdefault(span, set()).add(subject)
                continue
            worth = 1.0 if role == "label" else 0.9
            if spelt[int(key)][0] != text[span[0] : span[1]]:
                worth *= 0.95  # in other letters than the text's
            known = by_span.setdefault(span, {})
            known[subject] = max(worth, known.get(subject, 0.0))
        unlabelled = others.keys() - by_span.keys()
        for span, subjects in others.items():
            if span not in by_span and len(subjects) <= _SHARED and len(text[span[0] : span[1]]) > 2:
                by_span[span] = dict.fromkeys(subjects, 0.6)
        found: list[Mention] = []
        for (start, end), called in by_span.items():
            said = says(text, start, end)
            best = sorted(called.items(), key=lambda item: (-item[1], item[0]))[:_NAMESAKES]
            own = (start, end) not in unlabelled
            found += [Mention(entity, start, end, worth * said, own) for entity, worth in best]
        return found

    # -- by words -----------------------------------------------------------------------------------------------------

    def _by_words(self, text: str, spans: Sequence[tuple[int, int]], covered: Sequence[Mention]) -> list[Mention]:
        """Names in other letters than the text's, with other punctuation, or misspelt."""
        rest = _without(text, covered)
        predicates = self._chunks.policy.predicates("label", "alias")
        try:
            hits = self._searches.run(rest, mode="text", predicates=predicates, limit=_HITS)
        except WorldsError:  # nothing in it is a word, or the index cannot be read
            return []
        plain = [(span, _folded(text[slice(*span)])) for span in spans if not _inside(span, covered)]
        by_text: dict[str, list[tuple[int, int]]] = {}
        for span, words in plain:
            by_text.setdefault(words, []).append(span)
        numbers: list[int | None] = self._dictionary.find(
            [to_oxigraph(subject) for hit in hits for subject, _, _, _ in hit.quads[:_NAMESAKES]]
        )
        at = iter(numbers)
        found: list[Mention] = []
        for hit in hits:
            entities = [number for number in (next(at) for _ in hit.quads[:_NAMESAKES]) if number is not None]
            name = _folded(hit.text)
            places = by_text.get(name)
            worth = 0.9
            if places is None:
                worth, place = max(
                    ((_fits(text[slice(*span)], words, name), span) for span, words in plain), default=(0.0, (0, 0))
                )
                if not worth:
                    continue
                places = [place]
            for start, end in places:
                said = says(text, start, end)
                found += [Mention(entity, start, end, worth * said) for entity in entities]
        return found


def _spans(text: str) -> list[tuple[int, int]]:
    """Runs of words that may be a name, as they stand and without punctuation at their edges."""
    words = [found.span() for found in _word(text)][:_WORDS]
    spans: dict[tuple[int, int], None] = {}
    for first in range(len(words)):
        for last in range(first, min(first + _LONGEST, len(words))):
            start, end = words[first][0], words[last][1]
            spans[start, end] = None
            inner = text[start:end]
            left = start + len(inner) - len(inner.lstrip(_EDGES))
            right = end - (len(inner) - len(inner.rstrip(_EDGES)))
            if left < right:
                spans[left, right] = None
                if owner := _POSSESSIVE.search(text[left:right]):
                    spans[left, left + owner.start()] = None
    return [span for span in spans if says(text, *span)]


def says(text: str, start: int, end: int) -> float:
    """How much it tells that a span is written like a name, from 0 to 1: a stop-word or a lone letter is none."""
    words = normal(text[start:end]).split()
    telling = [word for word in words if word not in STOP_WORDS]
    if not telling:
        # A name of stop-words alone ("It", "Her") has to be written as one.
        written = text[start:end]
        return 0.4 if start and written[:1].isupper() and len(written) > 1 else 0.0
    size = sum(map(len, telling))
    if size < 2:
        return 0.3 if len(words) > 1 else 0.0
    capital = any(word[:1].isupper() or word[:1].isdigit() for word in text[start:end].split())
    return min(1.0, (0.75 if capital else 0.45) + 0.15 * (len(words) - 1))


def _folded(text: str) -> str:
    """The words of a name without regard to case and accents."""
    plain = unicodedata.normalize("NFKD", normal(text[:300]))
    return "".join(character for character in plain if not unicodedata.combining(character))


def _fits(written: str, words: str, name: str) -> float:
    """How well a span, and its folded words, fit a name that is another: misspelt, or the beginning of it."""
    if name.startswith(words + " "):
        return 0.5 if written[:1].isupper() else 0.0
    if len(name) < 4 or abs(len(words) - len(name)) > 3 or words[:1] != name[:1]:
        return 0.0
    alike = likeness(words, name)
    return 0.8 * alike if alike >= _ALIKE else 0.0


def _inside(span: tuple[int, int], covered: Iterable[Mention]) -> bool:
    return any(one.start <= span[0] and span[1] <= one.end for one in covered)


def _without(text: str, covered: Iterable[Mention]) -> str:
    for one in covered:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text if text.strip() else ""


def _longest(found: Sequence[Mention]) -> list[Mention]:
    """The mentions that are not inside a longer one; of an entity, the surest."""
    best: dict[int, Mention] = {}
    spans = {(one.start, one.end) for one in found}
    for one in found:
        if any(start <= one.start and one.end <= end and (start, end) != (one.start, one.end) for start, end in spans):
            continue
        if one.entity not in best or one.weight > best[one.entity].weight:
            best[one.entity] = one
    return sorted(best.values(), key=lambda one: (-one.weight, one.start, one.entity))
