"""The form of a text that the full-text index reads, so that words are found in every script.

The index's tokenizer (`porter unicode61 remove_diacritics 2`) knows a word as a run of letters and digits.
Chinese, Japanese, Thai and their like are written without spaces, so that a whole clause would be one word
and `中文` would not find `中文分词测试`. Here each of their letters becomes a word of its own, by a U+001F
between, and a word of several letters is searched as a phrase. Nothing else in the text changes.
"""

from __future__ import annotations

import functools
import re

SEPARATOR = "\x1f"
"""What `segment` inserts: a control character that no tokenizer keeps and no keyboard types."""

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
# The tokenizer's tables are of Unicode 6.1: it takes younger symbols for letters and glues them to their
# neighbours (`hello🤔` would be one word). These are the younger ones that are met: emoji, currency signs,
# arrows, bidirectional isolates. (Older symbols, 😀 among them, it drops. No symbol is searchable.)
_SYMBOLS = "\u061c\u2066-\u2069\u20ba-\u20cf\u23f4-\u23ff\u2b4d-\u2bff\u2e3c-\u2e7f\U0001f000-\U0001fbff"

_APART = f"[{_UNSPACED}{_SYMBOLS}]"
# `\w` has no combining marks, so that a mark never begins a word and stays with its letter. Planes 2 and 3
# are named because this Python may be older than their newest ideographs.
_BEGINS_WORD = rf"[\w{_SYMBOLS}\U00020000-\U0003ffff]"

_concerns = re.compile(rf"[\0{_UNSPACED}{_SYMBOLS}]").search


@functools.cache
def _boundary() -> re.Pattern[str]:
    """Where a text is cut; compiled when it is first wanted."""
    return re.compile(rf"(?={_BEGINS_WORD})(?:(?<={_APART})|(?<=[\w\u0300-\u036f])(?={_APART}))")


UNSPACED = re.compile(f"[{_UNSPACED}]+")
"""A run of letters, and their marks, of scripts that are written without spaces."""


def segment(text: str) -> str | None:
    """The form of `text` for the full-text index, or None when that is `text` itself.

    Letters of unspaced scripts are set apart by U+001F, with their combining marks; so are the symbols that
    the tokenizer would take for letters. U+0000, at which SQLite would cut the text, becomes U+FFFD.
    Segmenting twice changes nothing more.
    """
    if (text.isascii() and "\0" not in text) or not _concerns(text):
        return None
    segmented = SEPARATOR.join(_boundary().split(text)).replace("\0", "\ufffd")
    return None if segmented == text else segmented


def unsegment(text: str) -> str:
    """`text` without the U+001F that `segment` inserted (or that were there before)."""
    return text.replace(SEPARATOR, "")
