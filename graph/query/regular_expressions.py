"""Regular expressions of XPath (F&O 3.1, section 5.6, and XML Schema 1.1 part 2, appendix G) in those of Rust.

pyoxigraph's engine takes time that is linear in the text, so the patterns are translated and not run by another one.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.tokens import CHAR, START

_INSIDE = {"s": " \\t\\n\\r", "i": f"{START}_:", "c": f"{CHAR}:\\-.", "d": "\\p{Nd}", "W": "\\p{P}\\p{Z}\\p{C}"}
_CLASSES = {name: f"[{inside}]" for name, inside in _INSIDE.items()}
_CLASSES |= {name.swapcase(): f"[^{inside}]" for name, inside in _INSIDE.items()}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", **{one: one for one in "\\|.?*+(){}-[]^$"}}
_CATEGORY = re.compile(r"\{(?:(L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?)|Is([A-Za-z0-9-]+))\}")
_TIMES = re.compile(r"(?:[?*+]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
# The blocks of Unicode, by their first and last characters.
_BLOCKS = """
BasicLatin 0 7F Latin-1Supplement 80 FF LatinExtended-A 100 17F LatinExtended-B 180 24F IPAExtensions 250 2AF
SpacingModifierLetters 2B0 2FF CombiningDiacriticalMarks 300 36F Greek 370 3FF GreekandCoptic 370 3FF Cyrillic 400 4FF
CyrillicSupplement 500 52F Armenian 530 58F Hebrew 590 5FF Arabic 600 6FF Syriac 700 74F Thaana 780 7BF
Devanagari 900 97F Bengali 980 9FF Gurmukhi A00 A7F Gujarati A80 AFF Oriya B00 B7F Tamil B80 BFF Telugu C00 C7F
Kannada C80 CFF Malayalam D00 D7F Sinhala D80 DFF Thai E00 E7F Lao E80 EFF Tibetan F00 FFF Myanmar 1000 109F
Georgian 10A0 10FF HangulJamo 1100 11FF Ethiopic 1200 137F Cherokee 13A0 13FF Ogham 1680 169F Runic 16A0 16FF
UnifiedCanadianAboriginalSyllabics 1400 167F Khmer 1780 17FF Mongolian 1800 18AF LatinExtendedAdditional 1E00 1EFF
GreekExtended 1F00 1FFF GeneralPunctuation 2000 206F SuperscriptsandSubscripts 2070 209F CurrencySymbols 20A0 20CF
CombiningMarksforSymbols 20D0 20FF CombiningDiacriticalMarksforSymbols 20D0 20FF LetterlikeSymbols 2100 214F
NumberForms 2150 218F Arrows 2190 21FF MathematicalOperators 2200 22FF MiscellaneousTechnical 2300 23FF
ControlPictures 2400 243F OpticalCharacterRecognition 2440 245F EnclosedAlphanumerics 2460 24FF BoxDrawing 2500 257F
BlockElements 2580 259F GeometricShapes 25A0 25FF MiscellaneousSymbols 2600 26FF Dingbats 2700 27BF
BraillePatterns 2800 28FF CJKRadicalsSupplement 2E80 2EFF KangxiRadicals 2F00 2FDF
IdeographicDescriptionCharacters 2FF0 2FFF CJKSymbolsandPunctuation 3000 303F Hiragana 3040 309F Katakana 30A0 30FF
Bopomofo 3100 312F HangulCompatibilityJamo 3130 318F Kanbun 3190 319F BopomofoExtended 31A0 31BF
EnclosedCJKLettersandMonths 3200 32FF CJKCompatibility 3300 33FF CJKUnifiedIdeographsExtensionA 3400 4DBF
CJKUnifiedIdeographs 4E00 9FFF YiSyllables A000 A48F YiRadicals A490 A4CF HangulSyllables AC00 D7A3
PrivateUse E000 F8FF CJKCompatibilityIdeographs F900 FAFF AlphabeticPresentationForms FB00 FB4F
ArabicPresentationForms-A FB50 FDFF CombiningHalfMarks FE20 FE2F CJKCompatibilityForms FE30 FE4F
SmallFormVariants FE50 FE6F ArabicPresentationForms-B FE70 FEFE Specials FFF0 FFFD HalfwidthandFullwidthForms FF00 FFEF
OldItalic 10300 1032F Gothic 10330 1034F Deseret 10400 1044F ByzantineMusicalSymbols 1D000 1D0FF
MusicalSymbols 1D100 1D1FF MathematicalAlphanumericSymbols 1D400 1D7FF CJKUnifiedIdeographsExtensionB 20000 2A6DF
CJKCompatibilityIdeographsSupplement 2F800 2FA1F Tags E0000 E007F
"""


_STORE = ox.Store()  # empty; a new one takes five times as long as a pattern


class PatternError(ValueError):
    """An error in a pattern, in flags or in a replacement, as XPath has them: err:FORX0001 to FORX0004."""


class UnsupportedPatternError(QueryError):
    """A pattern that XPath has and that is not answered: it refers back to a group, or is too large."""


@dataclass(frozen=True)
class Pattern:
    """A pattern as pyoxigraph takes it, without flags; its groups; and whether it matches the empty text."""

    text: str
    groups: int
    empty: bool
    quoted: bool = False

    def replacement(self, given: str) -> str:
        """A replacement in pyoxigraph's syntax; PatternError if invalid, or if the pattern matches the empty text."""
        if self.empty:
            raise PatternError("the pattern matches the empty text")
        if self.quoted:
            return given.replace("$", "$$")
        return re.sub(r"\\(.?)|\$([0-9]*)|[^\\$]+", self._part, given, flags=re.DOTALL)

    def _part(self, match: re.Match[str]) -> str:
        text = match[0]
        if text.startswith("\\"):
            if match[1] not in ("\\", "$"):
                raise PatternError(r"a backslash in a replacement must come before \ or $ only")
            return match[1].replace("$", "$$")
        if not text.startswith("$"):
            return text
        digits = match[2]
        if not digits:
            raise PatternError("a $ in a replacement must come before a digit, or after a backslash")
        used = next((end for end in range(len(digits), 0, -1) if int(digits[:end]) <= self.groups), 0)
        # $N of a group that is not there is the empty text; its digits are those of the number, one at least.
        return f"${{{int(digits[:used])}}}{digits[used:]}" if used else digits[1:]


@functools.lru_cache(maxsize=512)
def translated(given: str, flags: str = "") -> Pattern:
    """A pattern of XPath with its flags; PatternError for an invalid pattern, UnsupportedPatternError."""
    pattern = _translated(given, flags)
    (row,) = _STORE.query(f'SELECT (REGEX("", {ox.Literal(pattern.text)}) AS ?met) {{}}')  # type: ignore[misc]  # a SELECT
    if row[0] is None:
        raise UnsupportedPatternError("the pattern is too large: write it with fewer or smaller repetitions")
    return pattern


def _translated(given: str, flags: str) -> Pattern:
    if not set(flags) <= set("smixq"):
        raise PatternError(f"{flags!r}: the flags are s, m, i, x and q")
    before = "".join(flag for flag in "sim" if flag in flags)
    before = f"(?{before})" if before else ""
    if "q" in flags:
        return Pattern(("(?i)" if "i" in flags else "") + _escaped(given), 0, not given, True)
    reader = _Reader(_without_spaces(given) if "x" in flags else given, flags)
    text, empty = reader.read()
    return Pattern(before + text, reader.groups, empty)


def _escaped(text: str) -> str:
    return "".join(one if one.isalnum() and one.isascii() else f"\\x{{{ord(one):X}}}" for one in text)


def _without_spaces(pattern: str) -> str:
    """The pattern without white space that is in no class of characters."""
    kept: list[str] = []
    depth, escaped = 0, False
    for one in pattern:
        if not depth and one in " \t\n\r":
            continue
        kept.append(one)
        if not escaped:
            depth += (one == "[") - (one == "]")
        escaped = one == "\\" and not escaped
    return "".join(kept)


class _Reader:
    """Reads a pattern once, from left to right."""

    def __init__(self, text: str, flags: str) -> None:
        self._text = text
        self._flags = flags
        self._at = 0
        self.groups = 0

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        one = self._next()
        if not one:
            raise PatternError("the pattern ends too early")
        self._at += 1
        return one

    def read(self) -> tuple[str, bool]:
        """The pattern in Rust's syntax, and whether it matches the empty text."""
        out: list[str] = []
        opened: list[tuple[bool, bool]] = []  # for each open group: of the branches before, of this one so far
        done, branch = False, True  # whether a branch before, or this one, matches the empty text
        while one := self._next():
            if one == "|":
                done, branch = done or branch, True
            elif one == "(":
                opened.append((done, branch))
                done, branch = False, True
                plain = self._text.startswith("(?:", self._at)
                self.groups += not plain
                self._at += 2 * plain
                one = "(?:" if plain else "("
            elif one == ")":
                if not opened:
                    raise PatternError("a ) closes nothing")
                self._at += 1
                times, none = self._times()
                empty = done or branch or none
                done, branch = opened.pop()
                branch = branch and empty
                out.append(")" + times)
                continue
            else:
                atom = self._atom()
                times, none = self._times()
                branch = branch and (none or atom in ("\\b", "\\B", "^", "$"))
                out.append(atom + times)
                continue
            self._at += 1
            out.append(one)
        if opened:
            raise PatternError("a ( is not closed")
        return "".join(out), done or branch

    def _times(self) -> tuple[str, bool]:
        """How often, as it is written, and whether that may be never."""
        match = _TIMES.match(self._text, self._at)
        if match is None:
            return "", False
        self._at = match.end()
        least, most = match[1], match[3]
        if least and most and int(most) < int(least):
            raise PatternError(f"{match[0]}: the second number is smaller than the first")
        return match[0], match[0][0] in "?*" or (bool(least) and int(least) == 0)

    def _atom(self) -> str:
        one = self._take()
        if one == ".":
            return "." if "s" in self._flags else "[^\\n\\r]"
        if one in "^$":
            return one
        if one == "[":
            return self._class()
        if one == "\\":
            if (after := self._next()) and after in "123456789":
                raise UnsupportedPatternError(f"{self._text!r} refers back to a group, which is not supported")
            if after and after in "bB":  # XPath has none, but nothing else that it could mean
                return "\\" + self._take()
            return self._escape()
        if one in "?*+{}]":
            raise PatternError(f"a {one} has nothing before it to apply to")
        return _escaped(one)

    def _escape(self) -> str:
        """The translation of the part after a backslash: a class of Rust's, or one escaped character."""
        one = self._take()
        if one in _ESCAPES:
            return _escaped(_ESCAPES[one])
        if one in _CLASSES:
            return _CLASSES[one]
        if one in "pP" and (match := _CATEGORY.match(self._text, self._at)):
            self._at = match.end()
            if match[1]:
                return f"(?-i:\\{one}{{{match[1]}}})"
            if block := _blocks().get(match[2]):
                return f"(?-i:[{'^' if one == 'P' else ''}{block}])"
            raise PatternError(f"Unicode has no block {match[2]}")
        raise PatternError(f"\\{one} means nothing in a pattern")

    def _class(self) -> str:
        """A class of characters after its bracket, with its subtracted class."""
        negated = self._next() == "^"
        self._at += negated
        parts: list[str] = []
        exact: list[str] = []  # categories and blocks, which the flag i does not change
        less = ""
        while (one := self._take()) != "]":
            if one == "-" and self._next() == "[":
                self._at += 1
                less = f"--{self._class()}"
                if self._take() != "]":
                    raise PatternError("nothing may follow the subtracted class")
                break
            low = self._one_of(one)
            if self._next() != "-" or self._text[self._at + 1 : self._at + 2] in ("[", "]"):
                among = exact if low.startswith("(?-i:") and "i" in self._flags else parts
                among.append(low.removeprefix("(?-i:").removesuffix(")"))
                continue
            self._at += 1
            high = self._one_of(self._take())
            if _code(low) > _code(high):
                raise PatternError(f"{low}-{high} is not a range")
            parts.append(f"{low}-{high}")
        if not parts and not exact:
            raise PatternError("a class of no characters")
        if (exact and (less or (negated and parts))) or "(?-i:" in less:
            raise UnsupportedPatternError("under the flag i, a class with categories is neither negated nor subtracted")
        begin = "[^" if negated else "["
        if exact:
            found = f"(?-i:{begin}{''.join(exact)}])"
            return f"(?:{begin}{''.join(parts)}]|{found})" if parts else found
        found = f"{begin}{''.join(parts)}]"
        return f"[{found}{less}]" if less else found

    def _one_of(self, one: str) -> str:
        if one == "[":
            raise PatternError("a [ in a class must be escaped by a backslash")
        return self._escape() if one == "\\" else _escaped(one)


def _code(part: str) -> int:
    if len(part) == 1:
        return ord(part)
    if part.startswith("\\x{"):
        return int(part[3:-1], 16)
    raise PatternError("a range goes from a character to a character")


@functools.cache
def _blocks() -> dict[str, str]:
    words = _BLOCKS.split()
    return {name: f"\\x{{{first}}}-\\x{{{last}}}" for name, first, last in zip(*[iter(words)] * 3, strict=True)}
