from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import Any

import libsql_experimental
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.fts import CREATE_TEXTS
from worlds.core.texts.segmentation import SEPARATOR, SIGNS, UNSPACED, as_marked, fold, segment


@functools.cache
def index() -> Any:
    connection = libsql_experimental.connect(":memory:", isolation_level=None)
    connection.execute(CREATE_TEXTS)
    connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab (texts, instance)")
    return connection


def tokens(text: str) -> list[str]:
    """The words that the full-text index finds in `text`."""
    connection = index()
    connection.execute("DELETE FROM texts")
    connection.execute("INSERT INTO texts VALUES (?)", (segment(text) or text,))
    return [row[0] for row in connection.execute("SELECT term FROM words ORDER BY offset").fetchall()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain words.",
        "Crème brûlée",
        "Все люди",
        "يولد جميع الناس",
        "हिन्दी भाषा",
        "中",
        "a\x1fb",
        "l’été\u00a0: «…»",
    ],
)
def test_a_text_in_words_stays_itself(text: str) -> None:
    assert segment(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("中文分词测试", ["中", "文", "分", "词", "测", "试"]),
        ("東京の大学コーヒー", ["東", "京", "の", "大", "学", "コ", "ー", "ヒ", "ー"]),
        ("ｶﾀｶﾅ ﾊﾞ", ["カ", "タ", "カ", "ナ", "バ"]),
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
        ("hello🤔world 😀x", ["hello", "\U000ff914", "world", "\U000ff600", "x"]),
        ("👩\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3", ["\U000ff469", "\U000ff680", "\U000f2764", "1"]),
        ("₿500 \u2067abc\u2069", ["₿", "500", "abc"]),
        ("o\ufb03ce co\u00adop CO₂ ＡＢＣ", ["offic", "coop", "co2", "abc"]),
        ("Łódź Ørsted Æsir Straße đħı", ["lodz", "orst", "aesir", "strass", "dhi"]),
        ("1½ Worlds™ №5 5㎏ ①one", ["1", "1", "2", "world", "tm", "no", "5", "5kg", "1", "on"]),
        ("ᲐᲑ Ꭰ 𞤀", ["აბ", "Ꭰ", "𞤢"]),
        ("a\0b中", ["a", "b", "中"]),
    ],
)
def test_what_the_index_reads(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_marks_stay_with_their_letter() -> None:
    assert segment("ที่นี่") == f"ที่{SEPARATOR}นี่"
    assert segment("か\u309aき") == f"か\u309a{SEPARATOR}き"


def test_what_sqlite_or_a_match_takes_for_its_own_becomes_the_replacement_character() -> None:
    assert segment("a\0b\2c\3") == "a\ufffdb\ufffdc\ufffd"


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


odd = st.sampled_from(
    "ﬁﬃ\u00ad\u200d\ufe0f²₂ＡｆﾊﾞŁøßÆ½™①ᄒ\u1161\u11abㅎㅏé\u0301e\u0327\u0323가각Ⓐ👩🚀❤…\u00a0 ab3中\2\3\x1f"
)
texts = st.one_of(texts, st.text(odd), st.text(st.characters(codec="utf-8")))


@given(texts)
@example("\u00af")
@example("\u1112\u1161\u11ab e\u0323\u0301 \u0958 \u212b ﾊﾞ")
def test_equal_in_compatibility_is_equal_in_the_index(text: str) -> None:
    text = re.sub(f"[{SIGNS}\0\2\3{SEPARATOR}]", "", text)  # signs are set apart, which their letters are not
    spacing = [one for one in text if unicodedata.normalize("NFKD", one).startswith(" ")]
    text = text.translate(dict.fromkeys(map(ord, spacing)))  # an accent alone, as ¯, is no word, and a bare mark one
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert tokens(unicodedata.normalize(form, text)) == tokens(text)
    assert tokens("\u00ad".join(text)) == tokens(text)


@given(texts, st.data())
def test_marks_lead_back_to_the_text(text: str, data: st.DataObject) -> None:
    text = re.sub("[\0\2\3]", "", text)
    form = segment(text) or text
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(form))] * 2)))
    marked = as_marked(f"{form[:begin]}\2{form[begin:end]}\3{form[end:]}", text)
    assert re.sub("[\2\3]", "", marked) == text
    if not form[begin:end].strip(SEPARATOR) or form == text:
        return
    assert "\2" in marked
    inside = marked.partition("\2")[2].partition("\3")[0]
    assert form[begin:end].replace(SEPARATOR, "") in fold(inside).replace(SEPARATOR, "")


@given(texts)
def test_segmenting_twice_changes_nothing_more(text: str) -> None:
    assert segment(segment(text) or text) is None


@given(texts)
def test_no_mark_is_set_apart_and_no_letter_is_left(text: str) -> None:
    text = re.sub(f"[{SIGNS}{SEPARATOR}]", "", text)
    segmented = segment(text) or text
    for before, after in itertools.pairwise(segmented):
        if before == SEPARATOR:
            assert not unicodedata.category(after).startswith("M")
        elif UNSPACED.match(before) and UNSPACED.match(after):
            assert not after.isalnum()
