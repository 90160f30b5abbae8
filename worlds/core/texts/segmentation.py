"""The form of a text that the full-text index reads, so that words are found in every script, however written.

Texts and questions are compared in Unicode's compatibility form (NFKC; UAX #15) without ignorable characters: so with
ligatures, soft hyphens, subscripts and full width. Letters that differ by case, a stroke or an accent are one, also
where the index's tokenizer (`porter unicode61 remove_diacritics 2`) keeps them apart: `Łódź`, `Αθήνα`, and pointed
Hebrew and Arabic. An emoji becomes a letter of private use.

The tokenizer knows a word as a run of letters and digits. Chinese, Japanese, Thai and their like are written without
spaces, so that a whole clause would be one word and `中文` would not find `中文分词测试`. Here each of their letters
becomes a word of its own, by a U+001F between, and a word of several letters is searched as a phrase. The text that is
shown is never the form, but the text: `as_marked` leads back.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator

SEPARATOR = "\x1f"
"""The mark that `segment` inserts: a control character that no tokenizer keeps and no keyboard types."""

# Han, kana, Bopomofo, Yi, Tangut and Nüshu; then the South-East Asian scripts that Unicode's line breaking
# (UAX #14, class SA) leaves to a dictionary; Tibetan, whose syllables are set apart but whose words are not;
# and Hangul: Korean has spaces, but particles cling to the noun (한국어를) and compounds run together, so
# that whole words miss most of what they should find. Its syllables find both, without a dictionary.
_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\uff66-\uff9f\U00016fe0-\U00018dff"
    "\U0001aff0-\U0001b2ff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
    "\u0f00-\u0fff"
    "\uac00-\ud7a3"
)
# What the tokenizer drops, or, as its tables are of Unicode 6.1, takes for a letter. Each becomes one of plane 15.
_EMOJI = "\u231a\u231b\u2328\u23cf\u23e9-\u23ff\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b4d-\u2bff\U0001f000-\U0001fbff"
_FROM_EMOJI = "\U000f2300-\U000ffbff"
# Other symbols, younger than those tables, that would be glued to their neighbours: currency signs, arrows.
_SYMBOLS = f"\u20ba-\u20cf\u23f4-\u23ff\u2e3c-\u2e7f{_FROM_EMOJI}"

EMOJI = f"[{_FROM_EMOJI}]"
"""An emoji of a folded text, as a pattern."""
_APART = f"[{_UNSPACED}{_SYMBOLS}]"
# `\w` has no combining marks, so that a mark never begins a word and stays with its letter. Planes 2 and 3
# are named because this Python may be older than their newest ideographs.
_BEGINS_WORD = rf"[\w{_SYMBOLS}\U00020000-\U0003ffff]"

_is_apart = re.compile(_APART).search


@functools.cache
def _boundary() -> re.Pattern[str]:
    """Where a text is cut; compiled when it is first wanted."""
    return re.compile(rf"(?={_BEGINS_WORD})(?:(?<={_APART})|(?<=[\w\u0300-\u036f])(?={_APART}))")


UNSPACED = re.compile(f"[{_UNSPACED}{_FROM_EMOJI}]+")
"""A run of letters, and their marks, of scripts that are written without spaces; or of emoji, in folded text."""


# -- folding ----------------------------------------------------------------------------------------------------------

# Default_Ignorable_Code_Point (Unicode, DerivedCoreProperties), and the box of a keycap.
_IGNORED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20e3\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Signs whose compatibility forms have letters or digits that must not run into the word beside them: ™ ½ № ① ⒜ 🄰.
SIGNS = "\u00bc-\u00be\u2100\u2101\u2103\u2105\u2106\u2109\u2116\u2120-\u2122\u213b\u2150-\u215f\u2189\u2460-\u24ff"
SIGNS += "\u3200-\u32ff\U0001f100-\U0001f1e5\U0001f200-\U0001f2ff"
# Blanks and marks between words, to which the form makes no difference: a text with these alone stays itself.
_idle = re.compile(
    "[\u00a0\u00a8\u00af\u00b4\u00b8\u2000-\u200a\u2011\u2024-\u2026\u202f\u2033\u2034\u205f\u3000"
    "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
).sub
# Points of Hebrew and Arabic, which most texts go without, and the tatweel; not what makes another letter, as hamza.
_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670"
_POINTS += "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
_GREEK = (range(0x386, 0x3CF), range(0x1F00, 0x2000))  # letters whose accents the tokenizer keeps
_CONTROLS = dict.fromkeys((0, 2, 3), "\ufffd")  # SQLite would cut the text at the first; the others mark matches
_LATIN = (range(0xC0, 0x250), range(0x1E00, 0x1F00), range(0x2C60, 0x2C80), range(0xA720, 0xA800))
_YOUNG = (  # letters whose cases the tokenizer does not know
    *(range(0x37F, 0x380), range(0x528, 0x530), range(0x13A0, 0x13FE), range(0x1C80, 0x1CC0), range(0x2C2F, 0x2C30)),
    *(range(0xA698, 0xA69C), range(0xA794, 0xA7F7), range(0xAB53, 0xABC0), range(0x104B0, 0x104FC)),
    *(range(0x10570, 0x105BD), range(0x10C80, 0x10CF3), range(0x118A0, 0x118E0), range(0x16E40, 0x16E80)),
    range(0x1E900, 0x1E944),
)
_LIGATED = {"ß": "ss", "ẞ": "SS", "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "Ð": "D", "ð": "d", "Þ": "TH", "þ": "th"}
_ASTRAL = "\U00010000"
_MOST = 100_000  # groups of characters whose form is remembered
_stroked = re.compile(r"LATIN (CAPITAL|SMALL) LETTER (?:([A-Z]) WITH .*|DOTLESS ([IJ]))").fullmatch
_is_joining = re.compile("[\u1160-\u11ff\u3131-\u318e\uff9e-\uffdc]").match
_marks = re.compile("[\2\3]").split


@functools.cache
def _changes() -> tuple[dict[str, str], Callable[[str], object], Callable[..., str]]:
    """Replacements of characters beside their compatibility form; a test for them; and a function that removes them."""
    changes = {letter: _stroke(letter) for codes in _LATIN for letter in map(chr, codes)} | _LIGATED
    changes |= {letter: unicodedata.normalize("NFD", letter)[0] for codes in _GREEK for letter in map(chr, codes)}
    changes |= {letter: letter.casefold() for codes in _YOUNG for letter in map(chr, codes)}
    changes |= {letter: small for letter in map(chr, range(0x1F50, 0x2000)) if len(small := letter.casefold()) > 1}
    changes |= {sign: f"{SEPARATOR}{unicodedata.normalize('NFKC', sign)}{SEPARATOR}" for sign in _members(SIGNS)}
    changes |= {emoji: chr(0xF0000 | ord(emoji) & 0xFFFF) for emoji in _members(_EMOJI)}
    changes |= dict.fromkeys(_members(_IGNORED + _POINTS), "") | dict.fromkeys("\0\2\3", "\ufffd")
    changes = {before: after for before, after in changes.items() if before != after}
    # Python tests members of a set without astral characters ten times as fast.
    near = re.compile(f"[{''.join(one for one in changes if one < _ASTRAL)}]")
    return changes, near.search, re.compile(f"{near.pattern}|[{_ASTRAL}-\U0010ffff]").sub


def _members(characters: str) -> Iterator[str]:
    """The characters of a set as patterns have it."""
    for first, last in re.findall("(.)(?:-(.))?", characters, re.DOTALL):
        yield from map(chr, range(ord(first), ord(last or first) + 1))


def _stroke(letter: str) -> str:
    """The base letter of a letter with a stroke, which the tokenizer keeps apart; else the letter itself."""
    base = unicodedata.normalize("NFD", letter)[0]
    found = _stroked(unicodedata.name(base, ""))
    if found is None:
        return _LIGATED.get(base, letter)
    plain = found[2] or found[3]
    return plain if found[1] == "CAPITAL" else plain.lower()


def fold(text: str) -> str:
    """The normal form of a text for comparison: case, compatibility forms, ignorable marks and strokes are folded.

    Case and the diacritics that Unicode sets apart are the tokenizer's. Folding twice changes nothing more.
    """
    if text.isascii():
        return text
    search = _changes()[1]
    astral = len(text.encode("utf-16-le", "surrogatepass")) > 2 * len(text)
    is_normal = functools.partial(unicodedata.is_normalized, "NFKC")
    if not (astral or search(text)) and (is_normal(text) or is_normal(_idle(" ", text))):
        return text
    return _folded(text)


def _folded(text: str) -> str:
    changes, _, replace = _changes()
    before = ""
    while before != text:
        before, text = text, replace(lambda found: changes.get(found[0], found[0]), text)
        text = unicodedata.normalize("NFKC", text)
    return text


def segment(text: str, *, apart: bool = True) -> str | None:
    """The form of `text` for the full-text index, or None when that is `text` itself.

    It is folded, and letters of unspaced scripts are set `apart` by U+001F, with their combining marks, if not for an
    index of three characters in a row; so are symbols. U+0000, at which SQLite would cut the text, and the marks of
    matches become U+FFFD. Segmenting twice changes nothing more.
    """
    form = fold(text)
    if "\0" in form or "\2" in form or "\3" in form:
        form = form.translate(_CONTROLS)
    if apart and not form.isascii() and _is_apart(form):
        form = SEPARATOR.join(_boundary().split(form))
    return None if form == text else form or SEPARATOR


_folded_group = functools.lru_cache(_MOST)(_folded)


def _groups(text: str) -> Iterator[str]:
    """The text in parts that can be normalised alone: each character with the marks that may combine with it."""
    begin = 0
    for at, each in enumerate(text):
        joins = _is_joining(each) or unicodedata.category(each)[0] == "M" or _changes()[0].get(each) == ""
        if at and not joins:
            yield text[begin:at]
            begin = at
    yield text[begin:]


def as_marked(marked: str, text: str) -> str:
    """`text` with the marks U+0002 and U+0003 of its normalised form `marked`; without marks if the forms differ."""
    marked = marked.replace(SEPARATOR, "").replace("\3\2", "")  # a word of several letters was marked one by one
    parts = _marks(marked)
    if "".join(parts) == text:
        return marked
    inside = "".join(str(number % 2) * len(part) for number, part in enumerate(parts))
    found: list[str] = []
    at, open_ = 0, False
    for group in _groups(text):
        end = at + len(_folded_group(group).replace(SEPARATOR, ""))
        if end > at and ("1" in inside[at:end]) != open_:
            found.append("\3" if open_ else "\2")
            open_ = not open_
        found.append(group)
        at = end
    return "".join(found) + ("\3" if open_ else "") if at == len(inside) else text
