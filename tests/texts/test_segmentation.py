from __future__ import annotations

import itertools
import unicodedata

import libsql_experimental
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fts import CREATE_TEXTS
from worlds.texts.segmentation import SEPARATOR, UNSPACED, segment, unsegment


def tokens(text: str) -> list[str]:
    """The words that the full-text index finds in `text`."""
    connection = libsql_experimental.connect(":memory:", isolation_level=None)
    connection.execute(CREATE_TEXTS)
    connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab (texts, instance)")
    connection.execute("INSERT INTO texts VALUES (?)", (segment(text) or text,))
    return [row[0] for row in connection.execute("SELECT term FROM words ORDER BY offset").fetchall()]


@pytest.mark.parametrize(
    "text", ["", "Plain words.", "Crème brûlée", "Все люди", "يولد جميع الناس", "हिन्दी भाषा", "中", "😀", "a\x1fb"]
)
def test_a_text_in_words_stays_itself(text: str) -> None:
    assert segment(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("中文分词测试", ["中", "文", "分", "词", "测", "试"]),
        ("東京の大学コーヒー", ["東", "京", "の", "大", "学", "コ", "ー", "ヒ", "ー"]),
        ("ｶﾀｶﾅ", ["ｶ", "ﾀ", "ｶ", "ﾅ"]),
        ("ㄅㄆㄇ", ["ㄅ", "ㄆ", "ㄇ"]),
        ("한국어를", ["한", "국", "어", "를"]),
        ("ไทยดี", ["ไ", "ท", "ย", "ดี"]),
        ("ພາສາ", ["ພ", "າ", "ສ", "າ"]),
        ("ខ្មែរ", ["ខ្", "មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("བོད་སྐད", ["བོ", "ད", "སྐ", "ད"]),
        ("𠀀𠀁𪛖", ["𠀀", "𠀁", "𪛖"]),
        ("Python编程3天", ["python", "编", "程", "3", "天"]),
        ("cafe\u0301中", ["cafe", "中"]),
        ("hello🤔world 😀x", ["hello", "🤔", "world", "x"]),
        ("₿500 \u2067abc\u2069", ["₿", "500", "\u2067", "abc", "\u2069"]),
        ("a\0b中", ["a", "b", "中"]),
    ],
)
def test_what_the_index_reads(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_marks_stay_with_their_letter() -> None:
    assert segment("ที่นี่") == f"ที่{SEPARATOR}นี่"
    assert segment("か\u3099き") == f"か\u3099{SEPARATOR}き"


def test_nul_becomes_the_replacement_character() -> None:
    assert segment("a\0b") == "a\ufffdb"


SCRIPTS = [
    *("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "BOPOMOFO", "THAI"),
    *("LAO", "KHMER", "MYANMAR", "TIBETAN", "TAI LE", "TAI THAM", "TAI VIET", "YI SYLLABLE", "HANGUL SYLLABLE"),
]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_there_whole(name: str) -> None:
    letters = [
        character
        for place in range(0x0E00, 0x32000)
        if unicodedata.name(character := chr(place), "").startswith(name) and unicodedata.category(character) == "Lo"
    ]
    assert len(letters) > 20
    assert [character for character in letters if not UNSPACED.fullmatch(character)] == []


letters = st.sampled_from("中文分词测試のコーกขคที่ນລກខមရမན한국𠀀a1é \u0301\u3099。, _🤔😀\x1f\0")
texts = st.one_of(st.text(), st.text(letters))


@given(texts)
def test_segmenting_only_inserts(text: str) -> None:
    segmented = segment(text)
    assert segmented != text
    assert unsegment(segmented or text) == unsegment(text).replace("\0", "\ufffd" if segmented else "\0")
    assert segmented is not None or "\0" not in text


@given(texts)
def test_segmenting_twice_changes_nothing_more(text: str) -> None:
    assert segment(segment(text) or text) is None


@given(texts)
def test_no_mark_is_set_apart_and_no_letter_is_left(text: str) -> None:
    segmented = segment(text) or text
    if SEPARATOR in text:
        return
    for before, after in itertools.pairwise(segmented):
        if before == SEPARATOR:
            assert not unicodedata.category(after).startswith("M")
        elif UNSPACED.match(before) and UNSPACED.match(after):
            assert not after.isalnum()
