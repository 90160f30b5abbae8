from __future__ import annotations

import contextlib
import time
import unicodedata
from typing import Any

import libsql_experimental
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.fts import CREATE_TEXTS
from worlds.core.search.words import MAX_BEGINNINGS, MAX_WORDS, STOP_WORDS, expression, read_query
from worlds.core.texts.segmentation import segment
from worlds.errors import QueryError


class Index:
    """A full-text index like a world's."""

    def __init__(self) -> None:
        self.connection: Any = libsql_experimental.connect(":memory:", isolation_level=None)
        self.connection.execute(CREATE_TEXTS)

    def fill(self, *texts: str) -> None:
        self.connection.execute("DELETE FROM texts")
        for place, text in enumerate(texts):
            self.connection.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (place, segment(text) or text))

    def find(self, words: str) -> list[int]:
        """The places of the texts that `words` find, best first."""
        match = expression(*read_query(words))
        if match is None:
            return []
        rows = self.connection.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid", (match,)
        )
        return [row[0] for row in rows.fetchall()]


@pytest.fixture(scope="module")
def index() -> Index:
    return Index()


# --- the expression


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("boundary layer", '"boundary" OR "layer"'),
        ("what is the boundary of a layer?", '"boundary" OR "layer"'),
        ("jet after Jet", '"jet"'),
        ("to be or not to be", '"to" OR "be" OR "or" OR "not"'),
        ("The Who", '"The" OR "Who"'),
        ('"boundary layer" flow', '"boundary layer" OR "flow"'),
        ("“boundary layer” «heat»", '"boundary layer" OR "heat"'),
        ("flow -wing", '("flow") NOT ("wing")'),
        ('flow -"leading edge" -jet', '("flow") NOT ("leading edge" OR "jet")'),
        ("flow -aero*", '("flow") NOT ("aero"*)'),
        ("-wing", '"wing"'),
        ("-5 degrees", '"5" OR "degrees"'),
        ("a - b", '"b"'),
        ("--json output", '"json" OR "output"'),
        ("mid-wing", '"mid" OR "wing"'),
        ("aero*", '"aero"*'),
        ("(aero*),", '"aero"*'),
        ("veloci*", '"veloci"* OR "veloc"'),
        ("a* search", '"search"'),
        ("**bold** f**k", '"bold" OR "f**k"'),
        ("state-of-the-art", '"state" OR "art"'),
        ("x-ray", '"x-ray" OR "ray"'),
        ("covid-19", '"covid-19" OR "covid" OR "19"'),
        ("U.S.A.", '"U.S.A"'),
        ("C++ and C#", '"C"'),
        ("foo:bar", '"foo" OR "bar"'),
        ("it's Smith's", '"Smith"'),
        ("don't panic", '"panic"'),
        ("don't", '"don\'t"'),
        ("O'Brien", '"O\'Brien" OR "Brien"'),
        ("and/or", '"and/or"'),
        ("A.I. and/or not", '"A.I"'),
        ("cats AND dogs NEAR(one two)", '"cats" OR "dogs" OR "NEAR" OR "one" OR "two"'),
        ('12" and 14" pipes', '"12" OR "14" OR "pipes"'),
        ('an "unbalanced quote', '"unbalanced" OR "quote"'),
        (
            'who wrote "The Structure of Scientific Revolutions"',
            '"wrote" OR "The Structure of Scientific Revolutions" OR "Structure" OR "Scientific" OR "Revolutions"',
        ),
        ('"The Structure of Scientific Revolutions"', '"The Structure of Scientific Revolutions"'),
        ("中文", '"中 文"'),
        ("机器学习", '"机 器 学 习" OR "机 器" OR "器 学" OR "学 习"'),
        ("Python编程", '"Python" OR "编 程"'),
        ("3月", '"3\x1f月" OR "月"'),
        ("ภาษาไทย", '"ภ า ษ า ไ ท ย" OR "ภ า ษ า" OR "า ษ า ไ" OR "ษ า ไ ท" OR "า ไ ท ย"'),
        ("हिन्दी", '"हिन्दी"'),
        ("naïve\ud800café", '"naïve" OR "café"'),
        ("a\0flow", '"flow"'),
        ("o\ufb03ce CO₂ ＡＢＣ", '"office" OR "CO2" OR "ABC"'),
        ("party🎉 👩\u200d🚀", '"party" OR "\U000ff389" OR "\U000ff469 \U000ff680"'),
        ("Łódź -🎉", '("Lódź") NOT ("\U000ff389")'),
    ],
)
def test_the_expression(words: str, expected: str) -> None:
    assert expression(*read_query(words)) == expected


@pytest.mark.parametrize("words", ["", "  ", '"', '""', "-", '-""', "*", "()", "...", "\0", "\ud800", "!?→", "\u00ad"])
def test_nothing_to_search_for(words: str) -> None:
    assert expression(*read_query(words)) is None


# --- what is found


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("中文", "中文分词测试"),
        ("分词", "中文分词测试"),
        ("测试方法", "中文分词测试"),  # a pair is enough
        ("什么是机器学习？", "机器学习是人工智能的一个分支。"),
        ("𠀁𠀂", "𠀀𠀁𠀂𠀃"),
        ("大学", "東京大学で勉強する"),
        ("コーヒー", "ホットコーヒーを飲む"),
        ("한국어", "저는 한국어를 공부합니다"),
        ("한국어를", "한국어 문법"),
        ("문법", "한국어문법"),
        ("ภาษา", "ฉันเรียนภาษาไทย"),
        ("ไทย", "ฉันเรียนภาษาไทย"),
        ("ພາສາ", "ຂ້ອຍຮຽນພາສາລາວ"),
        ("ភាសា", "ខ្ញុំរៀនភាសាខ្មែរ"),
        ("སྐད་", "བོད་སྐད་"),
        ("الكرامة", "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق"),
        ("भाषा", "हिन्दी भाषा"),
        ("ЛЮДИ", "Все люди рождаются свободными"),
        ("creme brulee", "Crème brûlée"),
        ("Crème", "creme"),
        ("stabilities", "the stability of cells"),
        ("state-of-the-art", "the art of the state"),
        ("hello", "hello🤔world"),
        ("500", "₿500"),
        ("velocit*", "the velocity of sound"),
        ("Experimenta*", "an experiment"),
        ("C++", "Programming in C"),
        ("it's", "it is what it's"),
        ("foo_bar", "call foo_bar()"),
        ("office", "the o\ufb03ce"),
        ("o\ufb03ce", "the office"),
        ("cooperation", "co\u00adoperation"),
        ("zerowidth", "zero\u200bwidth"),
        ("می\u200cخواهم", "میخواهم"),
        ("CO2", "CO₂"),
        ("カタカナ", "ｶﾀｶﾅ"),
        ("한글", unicodedata.normalize("NFD", "한글")),
        ("Lodz", "Łódź"),
        ("Øst", "ost"),
        ("Οδυσσεας", "Οδυσσέας Ελύτης"),
        ("αθήνα", "ΑΘΗΝΑ"),
        ("αθηνα", unicodedata.normalize("NFD", "ἀθήνᾱ")),
        ("שלום", "שָׁלוֹם"),
        ("كتاب", "كِتَاب"),
        ("مُحَمَّد", "محمـد"),
        ("أحمد", unicodedata.normalize("NFD", "أحمد")),
        ("STRASSE", "straße"),
        ("Œuvre", "oeuvre"),
        ("👩\u200d🚀", "an astronaut 👩\u200d🚀 here"),
        ("👍", "well done👍🏽"),
        ("❤", "I ❤\ufe0f it"),
        ("Worlds", "Worlds™"),
        ("⑴", "1"),
    ],
)
def test_words_find_a_text(index: Index, words: str, text: str) -> None:
    index.fill("nothing of that kind", text)
    assert index.find(words) == [1]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("中文", "文中有字"),
        ("ภาษา", "ษาภา"),
        ('"layer boundary"', "the boundary layer"),
        ('"heat transfer"', "transfer of heat"),
        ("layer -boundary", "the boundary layer"),
        ("layer -bound*", "the boundary layer"),
        ('layer -"the boundary"', "the boundary layer"),
        ("测试 -中文", "中文分词测试"),
        ("aero*", "plane"),
    ],
)
def test_words_do_not_find_a_text(index: Index, words: str, text: str) -> None:
    index.fill(text)
    assert index.find(words) == []


def test_a_repeated_word_counts_once(index: Index) -> None:
    index.fill("jet of air", "wing of lead", *["other words here"] * 9)
    assert index.find("jet wing wing") == index.find("jet wing jet") == [0, 1]
    assert index.find("hay " * 20_000 + "wing") == [1]


def test_a_question_of_any_length_is_read_whole(index: Index) -> None:
    index.fill("zirconium", "中间的词语")
    words = " ".join(f"w{number}" for number in range(5000))
    assert index.find(f"{words} zirconium") == [0]
    assert index.find(f'"{"hay " * 100}" {words}{"," * 10_000} zirconium') == [0]
    assert index.find("人" * 200 + "词语") == [1]
    index.fill("hay " * 99 + "stack")
    assert index.find('"' + "hay " * 99 + 'stack"') == [0]
    assert index.find('"' + "hay " * 99 + 'needle"') == []
    with pytest.raises(QueryError, match="different words"):
        expression(*read_query(" ".join(f"w{number}" for number in range(MAX_WORDS + 1))))


def test_a_longer_run_comes_before_its_pairs(index: Index) -> None:
    index.fill("机器很好，学习也好", "机器学习", "没有")
    assert index.find("机器学习") == [1, 0]


# --- any text

snippets = [
    *"\"'()*-+^:{},.\\/ \t\0\x1f😀🤔\ud800\u0301\ue000\u0378é“”«»5½",
    *("AND", "OR", "NOT", "NEAR", "NEAR(", "text:", "rowid", "wing", "a", "the", "n't", "it's", "x-ray", "中文", "ก็"),
]
soup = st.lists(st.sampled_from(snippets), max_size=30).map("".join)
anything = st.one_of(st.text(), soup)
alphabet = "abcxyz019éöщяαωابتکगतমকאב中文字𠀀のカーกขคຂລខមမရ한국어"
spoken = st.text(alphabet, min_size=1, max_size=12).filter(lambda word: word.lower() not in STOP_WORDS)


@given(words=anything)
def test_no_words_raise(index: Index, words: str) -> None:
    match = expression(*read_query(words))
    assert match is None or match.encode()
    index.find(words)


@given(before=st.text(alphabet + " ", max_size=20), word=spoken, after=st.text(alphabet + " ", max_size=20))
def test_a_word_is_found_where_it_stands(index: Index, before: str, word: str, after: str) -> None:
    index.fill(f"{before} {word} {after}")
    for words in (word, f'"{word}"', word.upper() if word.isascii() else word, f"zzzz {word} qqqq"):
        assert index.find(words) == [0]


@given(
    text=st.text("中文字𠀀のカーกขคຂລខមမရ한국어", min_size=2, max_size=30),
    start=st.integers(0, 28),
    size=st.integers(2, 12),
)
def test_a_word_is_found_inside_an_unspaced_run(index: Index, text: str, start: int, size: int) -> None:
    word = text[start : start + size]
    assume(len(word) > 1)
    index.fill(text)
    assert index.find(word) == [0]
    assert index.find(f'"{word}"') == [0]


@given(text=st.lists(spoken, min_size=1, max_size=6), word=spoken)
def test_an_excluded_word_is_never_found(index: Index, text: list[str], word: str) -> None:
    assume(word[0].isalpha())
    index.fill(" ".join([*text, word]))
    assert index.find(f"{' '.join(text)} -{word}") == []


@given(words=anything, more=anything)
def test_bounds(words: str, more: str) -> None:
    match = expression(*read_query(f"{words} " * 50 + more))
    if match is not None:
        assert match.count('"*') <= 2 * MAX_BEGINNINGS


# --- cost


@pytest.mark.parametrize(
    "words",
    [
        "a" * 100_000,
        "wing " * 40_000,
        " ".join(f"word{number}" for number in range(5000)),
        "(" * 100_000,
        '"' * 100_000,
        "“" * 100_000,
        "«" * 100_000,
        "*" * 100_000,
        "ab* " * 25_000,
        "-ab " * 25_000,
        "'s!" * 60_000,
        "a." * 50_000,
        "中" * 100_000,
        "ก็" * 50_000,
        '"' + "wing jet " * 20_000 + '"',
        '"a' + "🤔" * 60_000 + 'b"',
    ],
    ids=lambda words: words[:9],
)
def test_a_hundred_thousand_characters_are_no_trouble(index: Index, words: str) -> None:
    index.fill("a wing and a jet", "中中中ก็ก็ก็")
    began = time.process_time()
    with contextlib.suppress(QueryError):
        index.find(words)
    assert time.process_time() - began < 2


def test_many_beginnings_become_words() -> None:
    match = expression(*read_query(" ".join(f"wing{number}*" for number in range(20))))
    assert match is not None
    assert match.count("*") == MAX_BEGINNINGS
