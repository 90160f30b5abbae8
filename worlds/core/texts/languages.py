"""Words by their language: stems, stop-words, and which language a text is in.

The full-text index knows English stems alone (FTS5's porter). So a text in another language is indexed in a form that
has each word's stem in the word's place: Snowball's (https://snowballstem.org) of the word in small letters without
diacritics, which are then found with and without them, as everywhere. What stands between words stays as it is, so that
phrases hold, and a match leads back to the word as it was written.
"""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from worlds.core.texts.segmentation import as_marked, fold, segment

ENGLISH = "en"
VERSION = "snowball 3.1, folded by accents"
"""The version of the index's word forms: the minor releases of Snowball differ in words."""
ALGORITHMS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""The languages whose words have stems of their own, as the first parts of tags; the index sees to English."""

_LONGEST = {"fi": 7, "tr": 5}
"""Letters of a stem at most, where Snowball leaves suffixes on: of Turkish words five letters tell as much as their
analysis (Can et al., Information retrieval on Turkish texts, 2008). `benchmarks.inflections` measures it."""

_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f"
_MARKS += "\u0951-\u0957\u0962\u0963\u0b82\u0bbe-\u0bcd\u0bd7"
_WORDS = re.compile(rf"[^\W\d_]+(?:[{_MARKS}]+[^\W\d_]*)*")
_UNMARKED = dict.fromkeys((2, 3, 31))
_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")  # of Hebrew
_LATIN = "\u0370"  # letters below are Latin, once they have no diacritics
_MOST = 200_000  # words whose stems are remembered, of one language
_TELLING = 20  # stop-words of a sample that tell its language
_DISTINCT = 5  # of these at least
_AHEAD = 2  # times as many as of any other language


def primary(tag: str | None) -> str:
    """The first part of a language tag, in small letters: "pt" of pt-BR; "" of none."""
    return (tag or "").partition("-")[0].lower()


def indexed(text: str, language: str) -> str | None:
    """The form of a text in a language for the full-text index, None where that is the text itself."""
    apart = segment(text)
    stems = _stems(language)
    if stems is None:
        return apart
    read = _WORDS.sub(lambda found: stems[found[0]], text if apart is None else apart)
    return None if read == text else read


def stemmed(language: str) -> bool:
    """Whether words of a language have a form of their own in the index."""
    return language in ALGORITHMS or language == "he"


def key(text: str) -> str:
    """The key that forms of a word share in an index with English stems; one of them is enough then."""
    with _LOCK:
        return " ".join(map(_english, map(_folded, _WORDS.findall(text))))


def _english(word: str) -> str:
    """The stem that the index has for a word; the word itself where FTS5's differs from Snowball's, or may."""
    if not 3 <= len(word.encode()) <= 64 or "logi" in word or "bli" in word:
        return word
    stem: str = _stemmer("porter")(word)
    return stem


def words_of(text: str) -> list[str]:
    """The distinct words of a text, in their order."""
    return list(dict.fromkeys(_WORDS.findall(text)))


def as_written(marked: str, text: str) -> str:
    """An indexed text with marks (U+0002, U+0003) as the text itself has it; without marks, if others read it."""
    form = segment(text) or text
    if marked.translate(_UNMARKED) != form.translate(_UNMARKED):
        written, between = _WORDS.findall(form), _WORDS.split(marked)
        if len(between) != len(written) + 1:
            return text
        marked = "".join(part for pair in zip(between, [*written, ""], strict=True) for part in pair)
    return as_marked(marked, text)


# -- stop-words -------------------------------------------------------------------------------------------------------


@functools.cache
def stop_words() -> dict[str, frozenset[str]]:
    """The stop-words of each language that has a list, without diacritics."""
    lists = {}
    for line in Path(__file__).with_name("stopwords.txt").read_text("utf-8").splitlines():
        language, _, words = line.partition(":")
        if words and not line.startswith("#"):
            lists[language] = frozenset(map(_folded, words.split()))
    return lists


def is_stop_word(word: str, languages: Iterable[str]) -> bool:
    """Whether a word is a stop-word in one of the languages."""
    folded = _folded(word)
    return any(folded in stop_words().get(language, ()) for language in languages)


@functools.cache
def _languages_of() -> dict[str, list[str]]:
    """The languages of each stop-word."""
    found: dict[str, list[str]] = {}
    for language, words in stop_words().items():
        for word in words:
            found.setdefault(word, []).append(language)
    return found


def guess(texts: Iterable[str]) -> str | None:
    """The language of texts by their stop-words in small letters; None without enough of them."""
    counts: Counter[str] = Counter()
    distinct: set[str] = set()
    languages = _languages_of()
    for text in texts:
        for word in _WORDS.findall(text[:1000]):
            if word != word.lower():
                continue  # of a name, or a code: "LA", "La Porte"
            word = _folded(word)
            if word in languages:
                counts.update(languages[word])
                distinct.add(word)
    ranked = counts.most_common(2)
    if not ranked or ranked[0][1] < _TELLING or (len(ranked) > 1 and ranked[0][1] < _AHEAD * ranked[1][1]):
        return None
    found = ranked[0][0]
    return found if len(distinct & stop_words()[found]) >= _DISTINCT else None


# -- stems ------------------------------------------------------------------------------------------------------------


_LOCK = threading.Lock()  # a stemmer is for one thread at a time


class _Stems(dict[str, str]):
    """The indexed form of each word of a language, as it is met."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._longest = _LONGEST.get(language)
        self._stem = (lambda word: _POINTS.sub("", word)) if language == "he" else _stemmer(ALGORITHMS[language])

    def __missing__(self, word: str) -> str:
        folded = _folded(word)
        with _LOCK:
            stem = self._stem(folded)[: self._longest]
        if not _WORDS.fullmatch(stem):
            stem = folded
        if len(self) >= _MOST:
            self.clear()
        self[word] = stem = word if stem == word.lower() else stem
        return stem


@functools.cache
def _stems(language: str) -> _Stems | None:
    return _Stems(language) if stemmed(language) else None


@functools.cache
def _stemmer(algorithm: str):  # type: ignore[no-untyped-def]  # a function of a compiled class
    import Stemmer

    return Stemmer.Stemmer(algorithm).stemWord


def _folded(word: str) -> str:
    """A word in small letters, and where it is Latin, without diacritics."""
    small = fold(word).lower()
    if small.isascii():
        return small
    plain = "".join(each for each in unicodedata.normalize("NFD", small) if not "\u0300" <= each < _LATIN)
    return plain if max(plain, default="") < _LATIN else unicodedata.normalize("NFC", small)
