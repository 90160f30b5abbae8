"""Turns a person's words into a query of the full-text index (SQLite FTS5).

What finds best was measured over four collections (nDCG@10): any of the words, without stop-words (+.009), and
compounds as their parts rather than as the phrase beside its parts (+.014; the phrase alone does as well, but finds
nothing where the parts stand apart). A repeated word counts once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from worlds.core.texts.languages import indexed, is_stop_word, key
from worlds.core.texts.segmentation import EMOJI, SEPARATOR, UNSPACED, fold, segment
from worlds.errors import QueryError

MAX_CHARS = 10_000
"""Characters of a question that an embedder, or a guess at its language, reads; its words are read whole."""
MAX_WORDS = 10_000
"""The different words of a question at most, those of phrases with them: its cost grows with their square."""
MAX_BEGINNINGS = 8
"""Of its `prefix*` terms a query searches this many as such, the others as whole words: each can be slow."""
MAX_PHRASE = 32
"""A run of an unspaced script that has more letters is not searched as one phrase, but by its groups alone."""

_STOP_WORDS = """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has have having he
    her here hers herself him himself his how i if in into is it its itself just may me might more most must my
    myself no nor not now of off on once only or other our ours ourselves out over own same shall she should so
    some such than that the their theirs them themselves then there these they this those through to too under
    until up very was we were what when where which while who whom why will with would you your yours yourself
    yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that tell nothing of a subject. A query of nothing else keeps them."""


class StopWords:
    """The stop-words of a question in some languages."""

    def __init__(self, languages: Sequence[str], *, english: bool) -> None:
        self._languages = languages
        self._english = english

    def __contains__(self, word: str) -> bool:
        return (self._english and word in STOP_WORDS) or (bool(self._languages) and is_stop_word(word, self._languages))


# A minus excludes only at the beginning of a word. A straight quote opens before a word and closes after one, so
# that inches and unbalanced quotes are ordinary; typographic quotes say themselves which they are.
_items = re.compile(
    r"""
      (?P<minus>(?<!\S)-)?
      (?: (?<!\w)"(?P<straight>[^"]*)"(?!\w) | [“„«「『](?P<curved>[^“”„«»「」『』]*)[”“»」』] )
    | (?P<word>[^\s"“”„«»「」『』]+)
    """,
    re.VERBOSE,
).finditer
_excludes = re.compile(rf"(?<!\S)-(?=[^\W\d_]|{EMOJI})").match  # not a number below zero, nor an option like --json
_star = re.compile(r"(?<=[^\s*])\*[.,;:!?)\]}]*$").search
_readings = re.compile(r'"[^"]*"\*?').findall
_contraction = re.compile(r"(?:n['’]t|['’](?:s|d|ll|m|re|ve))\W*$", re.IGNORECASE).search
_runs = re.compile(f"({UNSPACED.pattern})").split
_ascii_words = re.compile(r"[^\W_]+").finditer
_non_blanks = re.compile(r"\S+").finditer

# The index holds stems: `veloc` for velocity, which the prefix veloci* would miss. So a prefix that ends with the
# beginning of a suffix also searches what is before it as a word: of all prefixes of the collections' words, 4 %
# then miss their word, instead of 19 %.
_SUFFIXES = (
    "ability able al ality ance ation ator ed ence er es ical icity ies ing ion ional ity ive ization ment ness ous"
)
_ENDINGS = frozenset(suffix[:size] for suffix in _SUFFIXES.split() for size in range(1, len(suffix) + 1))
_LONGEST_SUFFIX = max(map(len, _ENDINGS))
_SHORTEST_STEM = 4
_CUT = 3  # letters that the beginning of a word may have after its stem, in other languages

# A longer quote in a query is a title or a saying, seldom to be found word for word.
_LONGEST_QUOTE = 4
_LONG_RUN = 500  # characters, more than which are seldom of one clause

_EDGES = " \t\r\n.,;:!?()[]{}*'’"

_MARKS = {"Mn", "Mc", "Me", "Co"}  # what is part of a word beside letters and digits: marks, private use


def read_query(
    words: str, tokenizer: str = "porter", languages: Sequence[str] = (), *, english: bool = True
) -> tuple[list[str], list[str]]:
    """The different terms of a person's words, and those that are excluded.

    Each is an FTS5 expression by itself: a word or phrase, or several `readings` of it by OR. Without `english`, the
    question is in other languages, and English stop-words are words.

    FTS5 does not raise on them, whatever the words; QueryError for more than MAX_WORDS of these. English stop-words are
    left out (unless there is nothing else). `"quoted words"` are searched as a
    phrase (more than four beside other words: as a phrase and as words), `prefix*` as the beginning of a word (of two
    letters or more), and texts with `-word` or `-"quoted words"` are excluded; with nothing to search for beside them,
    those are ordinary words, and so are `-5`, `--json`, AND, and what follows an unbalanced quote.

    A word is read as the index's tokenizer reads it. A compound (`state-of-the-art`) becomes its parts, and
    the phrase too where a part is a single letter or has digits (`x-ray`, `covid-19`). A run of a script
    without spaces becomes the phrase of its letters, and the pairs of neighbours in it when it is longer than
    a pair (in South-East Asian alphabets, groups of four), since nobody knows where its words end.

    A word is sought by its stem in English, and in each of `languages`, whose texts are indexed by stems of their own;
    what is a stop-word in one of these languages is dropped.

    `tokenizer` is the index's. With "trigram" every word, phrase or prefix is sought as it is written, anywhere in a
    text, also inside other words; those of less than three characters cannot be, and are left out.
    """
    words = fold(words.encode("utf-8", "replace").decode().replace("\0", " "))
    sides: tuple[dict[tuple[str, bool], None], ...] = {}, {}  # what was written, and whether it was in quotes
    for found in _items(words):
        word = found["word"]
        if word is None:
            sides[found["minus"] is not None][found["straight"] or found["curved"] or "", True] = None
        elif _excludes(words, found.start()):
            sides[True][word[1:], False] = None
        else:
            sides[False][word, False] = None
    wanted, unwanted = map(list, sides)

    idle = StopWords(languages, english=english)
    read = _substrings if tokenizer == "trigram" else _terms
    terms = read(wanted, idle)
    if not terms:
        terms, unwanted = read(unwanted, idle), []
    excluded: list[str] = []
    for text, quoted in unwanted:
        if tokenizer == "trigram":
            excluded += _substring(text)
            continue
        beginning = None if quoted else _beginning(text)
        excluded += _phrase(beginning, star=True) if beginning else _phrase(text)
    kept, left_out = _bounded(terms), _bounded(excluded)
    if languages and tokenizer == "porter":
        return [_read_by(term, languages) for term in kept], [_read_by(term, languages) for term in left_out]
    return kept, left_out


def beginnings(words: str) -> int:
    """How many different words of a question end with a star."""
    return len({found[0] for found in _non_blanks(words) if _beginning(found[0])}) if "*" in words else 0


def readings(terms: Iterable[str]) -> list[str]:
    """The words and phrases that terms are, each an FTS5 expression without OR."""
    return [one for term in terms for one in (_readings(term) if " OR " in term else (term,))]


def expression(terms: list[str], excluded: list[str]) -> str | None:
    """The FTS5 MATCH expression for texts that have any of the terms and none of the excluded; None without terms."""
    if not terms:
        return None
    query = " OR ".join(terms)
    return f"({query}) NOT ({' OR '.join(excluded)})" if excluded else query


def _substrings(items: list[tuple[str, bool]], idle: StopWords) -> list[str]:
    """The terms for an index of three characters in a row."""
    terms: list[str] = []
    stop_words: list[str] = []
    for text, quoted in items:
        if not quoted and text.strip(_EDGES).casefold() in idle:
            stop_words += _substring(text)
            continue
        terms += _substring(text)
        if not quoted:
            for run in _runs(text)[1::2]:
                terms += [f'"{run[at : at + 3]}"' for at in range(len(run) - 2) if len(run) > 3]
    return terms or stop_words


def _substring(text: str) -> list[str]:
    """The term for a text as it is written; none where it has less than three characters."""
    plain = text.strip(_EDGES).replace('"', " ")
    return [f'"{plain}"'] if len(plain) >= 3 else []


def _bounded(terms: list[str]) -> list[str]:
    """The different terms; QueryError where they are too many."""
    different: dict[str, str] = {}
    for term in terms:
        different.setdefault(term.casefold(), term)
    kept = list(different.values())
    count = sum(1 + term.count(" ") for term in kept)
    if count > MAX_WORDS:
        raise QueryError(f"the question has {count:,} different words; at most {MAX_WORDS:,} can be searched at once")
    beginnings = [place for place, term in enumerate(kept) if term.endswith("*")]
    for place in beginnings[MAX_BEGINNINGS:]:
        kept[place] = kept[place][:-1]
    return kept


def _terms(items: list[tuple[str, bool]], idle: StopWords) -> list[str]:
    terms: list[str] = []
    stop_words: list[str] = []
    only_quotes = all(quoted for _, quoted in items)
    for text, quoted in items:
        if text.isascii() and text.isalpha() and not quoted:  # nearly all, so the short way
            (stop_words if text.lower() in idle else terms).append(f'"{text}"')
        elif quoted:
            terms += _phrase(text)
            words = text.split()
            if len(words) > _LONGEST_QUOTE and not only_quotes:
                terms += _terms([(word, False) for word in words], idle)
        elif _is_stop_word(text, idle):
            stop_words += _phrase(text)
        else:
            terms += _word(text, idle)
    return terms or stop_words


def _is_stop_word(text: str, idle: StopWords) -> bool:
    if _beginning(text):
        return False
    contraction = _contraction(text)
    if contraction and contraction[0][0] in "nN":  # don't
        return True
    parts = _parts(text[: contraction.start()] if contraction else text)
    # The second condition keeps A.I.; `and/or` goes.
    return all(part.lower() in idle for part in parts) and (len(parts) == 1 or any(len(part) > 1 for part in parts))


def _word(text: str, idle: StopWords) -> list[str]:
    """The terms for a word as it was written; none when it has no letter or digit."""
    beginning = _beginning(text)
    if beginning:
        return _phrase(beginning, star=True) + _stems(beginning)
    contraction = _contraction(text)
    if contraction:
        text = text[: contraction.start()]
    parts: list[str] = []
    grams: list[str] = []
    for place, run in enumerate(_runs(text)):
        if place % 2:
            grams += _grams(run)
        else:
            parts += _parts(run)
    if len(parts) == 1 and not grams:
        return _phrase(parts[0])
    telling = [part for part in parts if len(part) > 1 and part.lower() not in idle]
    terms = _phrase(text) if any(map(_vague, parts)) or not (telling or grams) else []
    for part in telling:
        terms += _phrase(part)
    return terms + grams


def _vague(part: str) -> bool:
    """Whether a part of a compound tells little without the others."""
    return len(part) == 1 or any(map(str.isdigit, part))


def _beginning(text: str) -> str | None:
    """The text before the star that ends a `prefix*`, if it is long enough."""
    star = _star(text)
    if not star:
        return None
    beginning = text[: star.start()]
    parts = _parts(beginning)
    return beginning if parts and (len(parts[-1]) > 1 or UNSPACED.match(parts[-1])) else None


def _stems(beginning: str) -> list[str]:
    """The words that can be the stem of one that begins so."""
    if not (beginning.isascii() and beginning.isalpha()):
        return []
    size = len(beginning)
    cuts = range(max(_SHORTEST_STEM, size - _LONGEST_SUFFIX), size)
    return [f'"{beginning[:cut]}"' for cut in cuts if beginning[cut:].lower() in _ENDINGS]


def _read_by(term: str, languages: Sequence[str]) -> str:
    """A term, or its stems in these languages: the beginning of a word may be a stem, or go beyond it."""
    text = term.rstrip("*").strip('"')
    found = {key(text): term}
    cuts = range(max(_SHORTEST_STEM, len(text) - _CUT), len(text)) if term.endswith("*") and text.isalpha() else ()
    for language in languages:
        for form in (indexed(text, language) or text, *(text[:cut] for cut in cuts)):
            if form != text:
                found.setdefault(key(form), f'"{form}"')
    return " OR ".join(found.values())


def _grams(run: str) -> list[str]:
    """The phrases for a run of an unspaced script; for a long run, overlapping phrases of its parts."""
    if len(run) > 2 * _LONG_RUN:
        parts = dict.fromkeys(run[at : at + _LONG_RUN + 16] for at in range(0, len(run), _LONG_RUN))
        return list(dict.fromkeys(gram for part in parts for gram in _grams(part)))
    parts_of = cache(_parts)
    letters = [part for letter in (segment(run) or run).split(SEPARATOR) for part in parts_of(letter)]
    size = 4 if run[0] < "\u2e80" or "\ua9e0" <= run[0] <= "\uaadf" else 2
    groups = [tuple(letters)] if 0 < len(letters) <= MAX_PHRASE else []
    if len(letters) > size:
        groups += zip(*(letters[at:] for at in range(size)), strict=False)
    return [f'"{" ".join(group)}"' for group in dict.fromkeys(groups)]


def _phrase(text: str, *, star: bool = False) -> list[str]:
    """The term for `text` as a phrase, or as the beginning of one; none when it has no letter or digit."""
    text = segment(text) or text
    spans = _spans(text)
    if not spans:
        return []
    words = text[spans[0][0] : spans[-1][1]].replace('"', " ")
    return [f'"{words}"*' if star else f'"{words}"']


def _parts(text: str) -> list[str]:
    return [text[start:end] for start, end in _spans(text)]


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the runs of letters, digits and their marks are."""
    if text.isascii():
        return [found.span() for found in _ascii_words(text)]
    if text.isalnum():
        return [(0, len(text))]
    letters = "".join(
        character if character.isalnum() or unicodedata.category(character) in _MARKS else " " for character in text
    )
    return [found.span() for found in _non_blanks(letters)]
