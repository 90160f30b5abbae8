"""Cuts the text of a literal into chunks that an embedder reads whole.

Chunks are spans of the text, never copies: a chunk is `text[start:end]`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Literal

from worlds.core.texts.markdown import Block, blocks, looks_like_markdown

# The estimate was calibrated over 70,000 texts of 150 languages, code, chemistry and identifiers, against the
# WordPiece vocabulary of BERT (uncased), which all-MiniLM-L6-v2 and most English embedders have. English
# prose has 0.21 pieces a letter (99.9 %: under 0.32), other languages in Latin letters 0.35 to 0.5,
# identifiers and sequences with capitals and digits strewn in 0.5 to 0.7. So English is told by its commonest
# words.
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CAPITALS = _LETTERS[26:]
_DIGITS = b"0123456789"
_BLANKS = bytes(range(33)) + b"\x7f"
_BEYOND_ASCII = bytes(range(128, 256))
_HANGUL = bytes(range(0xEA, 0xEE))  # first bytes, in UTF-8, of the Hangul syllables
_ENGLISH = (b" the ", b" of ", b" and ", b" to ", b" in ", b" is ", b" a ", b" for ")
_ENGLISH_SHARE = 0.2  # of the words of English prose, at least this many are among those eight
_PIECES_A_LETTER = 0.3
_PIECES_A_DIGIT = 0.8
_PIECES_A_CAPITAL = 0.35  # what a capital adds where there is no English


def estimate_tokens(text: str) -> int:
    """An estimate, on the high side, of the word pieces that a BERT-like embedder reads for `text`.

    The two pieces that enclose a text are counted. Every punctuation mark and every character beyond ASCII
    counts as one, a Hangul syllable as three (its letters); ASCII letters and digits are estimated from how
    English the text looks. Never more than `len(text) + 2` for ASCII, `3 * len(text) + 2` for any text.

    Measured against the real count: below it for 1 in 1,000 English texts and 1 in 400 of other languages,
    by a tenth at most; random strings of small letters can have a third more pieces than estimated. The price
    is that English prose is overestimated by 45 %.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) == len(text):
        most = len(text)
        pieces = 4.0
        words = len(data.split())
    else:
        hangul = len(data) - len(data.translate(None, _HANGUL))
        data = data.translate(None, _BEYOND_ASCII)
        most = len(text) + 2 * hangul
        pieces = 4.0 + most - len(data)
        words = len(text.split())
    others = data.translate(None, _LETTERS)
    marks = others.translate(None, _DIGITS)
    letters = len(data) - len(others)
    digits = len(others) - len(marks)
    punctuation = len(marks.translate(None, _BLANKS))
    pieces += punctuation + digits * _PIECES_A_DIGIT
    if letters:
        rate = _PIECES_A_LETTER
        lower = data.lower()
        english = sum(map(lower.count, _ENGLISH))
        foreign = _ENGLISH_SHARE - english / max(words, 1)
        if foreign > 0:
            capitals = len(data) - len(data.translate(None, _CAPITALS))
            rate += foreign + _PIECES_A_CAPITAL * capitals / letters * foreign / _ENGLISH_SHARE
        # Digits and marks cut words: as many words at least as there can be of one letter.
        pieces += max(min(words + punctuation + digits, letters), letters * rate)
    return min(int(pieces) + 1, most + 2)


# A sentence ends after its closing quotes and brackets. A Latin full stop needs a blank after it and no small
# letter then ("e.g. this", "3.5"), unless it stands between blanks, and is none after an initial or a common
# abbreviation; those of unspaced scripts and of Arabic and Indic end a sentence wherever they stand. A line
# break ends one unless the next line goes on with a small letter (a wrapped paragraph). One class of
# characters first, so that the search skips fast; possessive quantifiers, so that it is linear.
_CLOSING = "[\"'”’»›)\\]}」』】）〉》]*+"
_sentence_ends = re.compile(
    rf"""
    [.!?…。！？｡．؟۔।॥༎།\n]
    (?: (?<=[.!?…]) (?<![.!?…]{{2}})
        (?: [.!?…]++
          | (?<!\b[^\W\d_a-z]\.) (?<!\b(?:Dr|Mr|Ms|St|vs|cf|No|al)\.) (?<!\b(?:Mrs|Fig|Eqs|Ref|e\.g|i\.e)\.)
        )
        (?: {_CLOSING} (?= \s++ (?![a-z]) ) | (?<=\s.) (?=\s) )
      | (?<=[。！？｡．؟۔।॥༎།]) [。！？｡．؟۔।॥༎།]*+ {_CLOSING}
      | (?<=\n) [^\S\n]*+ (?: \n \s*+ | (?![\sa-z]) )
    )
    """,
    re.VERBOSE,
).finditer
_clause_ends = re.compile(rf"[.!?…;:；：؛]{_CLOSING}(?=\s)|[；：؛]").finditer
_word_ends = re.compile(r"[\s、，；：་—]++").finditer
_word_start = re.compile(r"(?<=[\s、，；：་—])[^\s、，；：་—]").search
_content = re.compile(r"\S").search
_line_ends = re.compile(r"\S[^\S\r\n]*[\r\n]").finditer

# No text has more characters a token than this, save by blanks; it bounds the work for a chunk where
# max_chars is far beyond what max_tokens allows.
_MOST_CHARS_A_TOKEN = 16
_HARD_BREAKS = ("  ", "\\", "  \r", "\\\r")  # before a line feed, in Markdown
_EVENED = 8  # chunks up to which a text is cut into even ones
_SLACK = (1.05, 1.15, 1.3)  # how far the longest of even chunks may exceed their mean, tried in turn
_LONGEST_SEQUENCE = 32  # of combining characters that are kept together


def chunk_spans(
    text: str,
    *,
    max_chars: int = 1300,
    overlap: int = 200,
    max_tokens: int = 256,
    count_tokens: Callable[[str], int] = estimate_tokens,
    format: Literal["text", "markdown"] | None = "text",
) -> list[tuple[int, int]]:
    """The chunks of `text` as (start, end) character offsets, half-open, in order.

    A text that fits one chunk gives `[(0, len(text))]`, its outer blanks included; a blank text gives `[]`.
    Otherwise no span begins or ends with a blank, both starts and ends strictly increase, and every character
    that is not blank is in a span. A span has at most `max_chars` characters and, by `count_tokens`, at most
    `max_tokens` tokens (a single character that has more stands alone). It ends with a sentence where it can;
    a sentence that is too long is cut between words, else anywhere but inside a combining sequence.

    A chunk begins with the last whole sentences of the one before, as far as they fit into `overlap`
    characters (of a chunk shorter than `max_chars` the same share, and never more than half); where a
    sentence was cut, with its last words. A text of a few chunks is cut into even ones, for a short rest would
    rank above better texts. Time is linear in the text; `count_tokens` is called a few times for each chunk.

    In Markdown (`format` None: in what looks like it), a chunk ends with a section where it can, else with a
    block if that fills three quarters of it, else with a sentence. A heading begins a chunk, unless the sections
    before it fill less than a quarter of one and its own section fits there too. It stays with what follows: no
    chunk ends with a heading if one character of that fits beside it. A list, a table or a block of code that
    fits one chunk is whole, unless that parts it from its heading; else it is cut between items, rows or lines.
    Nothing is repeated across a heading.

    Raises ValueError when max_chars or max_tokens is below 8, or overlap is negative or not below max_chars.
    """
    if max_chars < 8 or max_tokens < 8 or not 0 <= overlap < max_chars:
        raise ValueError(
            f"max_chars={max_chars}, max_tokens={max_tokens}, overlap={overlap}: "
            "max_chars and max_tokens must be 8 or more, and overlap from 0 to max_chars - 1"
        )
    length = len(text)
    if not text or text.isspace():
        return []
    # Labels are the commonest texts. No count for them: estimate_tokens has a bound.
    if (
        length <= max_chars
        and count_tokens is estimate_tokens
        and (length * 3 + 2 <= max_tokens or (length + 2 <= max_tokens and text.isascii()))
    ):
        return [(0, length)]
    if (length <= max_chars or len(text.strip()) <= max_chars) and count_tokens(text) <= max_tokens:
        return [(0, length)]
    if format == "markdown" or (format is None and looks_like_markdown(text)):
        return _MarkdownCutter(text, max_chars, overlap, max_tokens, count_tokens).spans()
    cutter = _Cutter(text, max_chars, overlap, max_tokens, count_tokens)
    spans = cutter.spans()
    return _evened(cutter, spans) if 1 < len(spans) <= _EVENED else spans


class _Cutter:
    """Cuts one text, from left to right."""

    def __init__(
        self, text: str, max_chars: int, overlap: int, max_tokens: int, count_tokens: Callable[[str], int]
    ) -> None:
        self.text = text
        self.stop = len(text.rstrip())
        self.max_reach = self.reach = min(max_chars, _MOST_CHARS_A_TOKEN * max_tokens)
        self.overlap = min(overlap / max_chars, 0.5)  # as a share of a chunk
        self.max_tokens = max_tokens
        self.count_tokens = count_tokens
        self.preferred: list[int] = []  # ends, the last first, none of which is passed by untried

    def spans(self) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        start = fresh = self._content_from(0)  # fresh: where that begins which is in no chunk yet
        while fresh < self.stop:
            sentences = self._sentence_ends(start)
            end = self._end(start, fresh, sentences)
            if end is None:  # what would be repeated leaves no room for what is new
                start = fresh
                continue
            spans.append((start, end))
            fresh = self._content_from(end)
            start = self._repeated(start, end, sentences) or fresh
        return spans

    def tears(self, spans: list[tuple[int, int]]) -> bool:
        """Whether any of the spans ends within a sentence."""
        ends = {self._without_blanks(found.end()) for found in _sentence_ends(self.text)} | {self.stop}
        return any(end not in ends for _, end in spans)

    def _content_from(self, position: int) -> int:
        found = _content(self.text, position)
        return found.start() if found else self.stop

    def _without_blanks(self, end: int) -> int:
        while self.text[end - 1].isspace():
            end -= 1
        return end

    def _sentence_ends(self, start: int) -> list[int]:
        """Where sentences end within reach of `start`, in order."""
        limit = start + self.reach
        ends = []
        for found in _sentence_ends(self.text, start, limit + 16):  # some more, for what it looks ahead
            end = found.end()
            if self.text[end - 1].isspace():  # a line break
                end = self._without_blanks(found.start())
            if end > limit:
                break
            ends.append(end)
        if self.stop <= limit:
            ends.append(self.stop)
        return ends

    def _end(self, start: int, fresh: int, sentences: list[int]) -> int | None:
        """Where the chunk from `start` ends, beyond `fresh`; None when `start` is too far back for that."""
        limit = start + self.reach
        dense = False
        while limit > fresh:
            end = self._choose(start, fresh, limit, sentences)
            size = end - start
            tokens = self.count_tokens(self.text[start:end])
            if tokens <= self.max_tokens or (size == 1 and start == fresh):
                # Where tokens are dense, the next chunk need not look as far.
                self.reach = min(self.max_reach, size * 3 if dense else self.max_reach)
                return end
            dense = True
            # What would fit if tokens were spread evenly, and always something less.
            limit = start + min(size * self.max_tokens // tokens, size * 15 // 16)
            limit = next((place for place in self.preferred if limit < place < end), limit)
            if limit == start == fresh:
                limit += 1
        return None

    def _choose(self, start: int, fresh: int, limit: int, sentences: list[int]) -> int:
        """Where to end a chunk, beyond `fresh`, at most at `limit`."""
        within = bisect_right(sentences, limit)
        end = sentences[within - 1] if within else 0
        return end if end > fresh else self._cut(start, fresh, limit)

    def _cut(self, start: int, fresh: int, limit: int) -> int:
        """Where to cut a sentence that goes on beyond `limit`: after a clause or word, unless far before."""
        text = self.text
        size = limit - start
        end = 0
        for found in _clause_ends(text, max(fresh, start + size // 2), limit + 1):
            if found.end() <= limit:
                end = found.end()
        if not end:
            for found in _word_ends(text, max(fresh + 1, start + size // 4), limit + 1):
                word_end = found.start() if text[found.start()].isspace() else found.end()
                if word_end <= limit:
                    end = word_end
        if not end:
            end = limit
            while _joins(text, end) and fresh + 1 < end and limit - end < _LONGEST_SEQUENCE:
                end -= 1
            if _joins(text, end):
                end = limit
        return self._without_blanks(end)

    def _repeated(self, start: int, end: int, sentences: list[int]) -> int | None:
        """Where the next chunk begins inside the one from `start` to `end`; None when nothing is repeated."""
        first = end - int((end - start) * self.overlap)
        after = sentences[bisect_left(sentences, first) :]
        if after and after[0] < end:
            return self._content_from(after[0])
        if first == end or end in after:
            return None
        word = _word_start(self.text, first, end)
        if word:
            return word.start()
        while first < end and _joins(self.text, first):
            first += 1
        return first if first < end else None


def _evened(cutter: _Cutter, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many spans of like length, if that tears no sentence; else the spans as they are."""
    longest = max(end - start for start, end in spans)
    mean = sum(end - start for start, end in spans) / len(spans)
    for slack in _SLACK:
        size = max(int(mean * slack), 1)
        if size >= longest:
            break
        cutter.max_reach = cutter.reach = size
        even = cutter.spans()
        if len(even) <= len(spans) and not cutter.tears(even):
            return even
    return spans


class _MarkdownCutter(_Cutter):
    """Cuts one text in Markdown."""

    def __init__(
        self, text: str, max_chars: int, overlap: int, max_tokens: int, count_tokens: Callable[[str], int]
    ) -> None:
        super().__init__(text, max_chars, overlap, max_tokens, count_tokens)
        self.blocks, self.items = blocks(text)
        self.starts = [block.start for block in self.blocks]
        self.sections: list[int] = []  # where sections end
        self.headings: list[tuple[int, int]] = []  # (where a run of headings begins, where what follows it does)
        self.ends: list[int] = []  # of sentences and blocks
        self.block_ends: list[int] = []
        self.fitting: dict[Block, bool] = {}
        previous = None
        for block in self.blocks:
            if block.kind == "heading":
                if previous is None or previous.kind != "heading":
                    if previous is not None:
                        self.sections.append(previous.end)
                    self.headings.append((block.start, self.stop))
            else:
                if previous is not None and previous.kind == "heading":
                    self.headings[-1] = (self.headings[-1][0], block.start)
                if block.kind == "text":
                    self.ends += self._sentences(block.start, block.end)
                self.ends.append(block.end)
                self.block_ends.append(block.end)
            previous = block
        self.sections.append(self.stop)
        if not self.ends or self.ends[-1] < self.stop:  # the last block is a heading
            self.ends.append(self.stop)

    def _sentence_ends(self, start: int) -> list[int]:
        return self.ends

    def _end(self, start: int, fresh: int, sentences: list[int]) -> int | None:
        self.reach = self.max_reach
        follows = self._follows(fresh)
        block = self.blocks[bisect_right(self.starts, follows) - 1]
        section = self.sections[bisect_right(self.sections, fresh)]
        self.preferred = [
            section,
            *([block.end] if block.kind != "text" else []),
            *([follows + 1] if follows > fresh else []),
        ]
        return super()._end(start, fresh, sentences)

    def _choose(self, start: int, fresh: int, limit: int, sentences: list[int]) -> int:
        within = bisect_right(self.sections, limit)
        section = bisect_left(self.sections, max(fresh + 1, start + (limit - start) // 4), 0, within)
        if section < within:
            return self.sections[section]
        if within and self.sections[within - 1] > fresh:
            return self.sections[within - 1]
        follows = self._follows(fresh)
        least = follows if follows < limit else fresh
        block = self.blocks[bisect_left(self.starts, limit) - 1]
        if limit < block.end and block.kind not in ("text", "heading"):
            inner = [] if block.start > least and self._fits(block) else self._inner(block, least, limit)
            if inner:
                return inner[-1]
        whole = bisect_right(self.block_ends, limit) - 1
        if whole >= 0 and self.block_ends[whole] > max(least, start + (limit - start) * 3 // 4):
            return self.block_ends[whole]
        return super()._choose(start, least, limit, self.ends)

    def _follows(self, position: int) -> int:
        """Where that begins which stands behind the headings that `position` is in, if it is and there is."""
        heading = bisect_right(self.headings, (position, self.stop)) - 1
        follows = self.headings[heading][1] if heading >= 0 else 0
        return follows if position < follows < self.stop else position

    def _fits(self, block: Block) -> bool:
        """Whether the block fits a chunk."""
        if block not in self.fitting:
            size = block.end - block.start
            self.fitting[block] = (
                size <= self.max_reach and self.count_tokens(self.text[block.start : block.end]) <= self.max_tokens
            )
        return self.fitting[block]

    def _inner(self, block: Block, after: int, limit: int) -> list[int]:
        """Where a list, a table or a block of code can be cut beyond `after`, up to `limit`."""
        first = max(block.start, after)
        ends = []
        if block.kind == "list":
            at = bisect_right(self.items, first)
            while at < len(self.items) and self.items[at] <= block.end:
                end = self._without_blanks(self.items[at])
                if end > limit:
                    break
                if end > first:
                    ends.append(end)
                at += 1
            return ends or self._sentences(first, limit)
        for found in _line_ends(self.text, first, min(limit + 1, block.end)):
            if found.start() >= first:
                ends.append(found.start() + 1)
        return ends

    def _sentences(self, start: int, stop: int) -> list[int]:
        """Where sentences end between the two; a line end is a blank unless two blanks or a backslash precede it."""
        ends = []
        for found in _sentence_ends(self.text, start, stop):
            end = found.end()
            if self.text[end - 1].isspace():  # a line break
                if found[0].count("\n") < 2 and not self.text.endswith(_HARD_BREAKS, start, found.start()):
                    continue
                end = self._without_blanks(found.start())
            if start < end < stop:
                ends.append(end)
        return ends

    def _repeated(self, start: int, end: int, sentences: list[int]) -> int | None:
        section = bisect_left(self.sections, end)
        if self.sections[section] == end:
            return None
        first = end - int((end - start) * self.overlap)
        if section and self.sections[section - 1] >= first:
            return self._content_from(self.sections[section - 1])
        block = self.blocks[bisect_right(self.starts, self._content_from(end)) - 1]
        marks = self.ends[bisect_left(self.ends, first) : bisect_right(self.ends, end)]
        if block.kind not in ("text", "heading"):
            if block.start >= end:  # with something before it, it may not fit
                return None
            marks += self._inner(block, first, end)
        return super()._repeated(start, end, marks)


def _joins(text: str, position: int) -> bool:
    """Whether the character at `position` belongs to the one before it."""
    character = text[position]
    return (
        unicodedata.category(character)[0] == "M"
        or "\u1160" <= character <= "\u11ff"  # vowels and finals of decomposed Hangul
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\udc00" <= character <= "\udfff"  # the second half of a surrogate pair
        or "\u200d" in (character, text[position - 1])  # joined emoji
    )
