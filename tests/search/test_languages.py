"""Words in other languages than English: found by their stems, told as they were written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal

import worlds
from tests.support import seams
from worlds.core.search.options import gathered
from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.languages import ALGORITHMS, as_written, guess, indexed, is_stop_word, stop_words

TEXTS = {
    "de": "Die Häuser der alten Dörfer stehen am See",
    "fr": "Les maisons des vieux villages étaient près des chevaux",
    "es": "Las canciones de los pueblos antiguos",
    "ru": "Описание параметров компоновщика",
    "fi": "Taloissa asuttiin jokien rannoilla",
    "tr": "Kitaplarımızdaki bölümler ve başlıkları",
    "sv": "Husen i byarna",
    "en": "The houses of old villages stood by the lake",
}
ASKED = [
    ("de", "Haus"),
    ("de", "Dorf"),
    ("de", "hauser"),  # without its accent
    ("fr", "maison"),
    ("fr", "pres"),
    ("es", "canción"),
    ("es", "cancion antiguo"),
    ("ru", "параметр"),
    ("ru", "компоновщику описанию"),
    ("fi", "talossa"),
    ("tr", "kitap"),
    ("tr", "başlık"),
    ("sv", "huset"),
    ("en", "house"),
]


@pytest.fixture(scope="module")
def world() -> worlds.World:
    made = worlds.open(embedder=None)
    made.add([(f"urn:{tag}", "urn:text", Literal(text, lang=tag)) for tag, text in TEXTS.items()])
    return made


@pytest.mark.parametrize(("language", "question"), ASKED)
def test_a_word_is_found_in_another_form(world: worlds.World, language: str, question: str) -> None:
    ways: list[dict[str, Any]] = [{"languages": language}, {"query_language": language}]
    for options in ways:
        found = world.search(question, mode="text", **gathered(options))
        assert f"urn:{language}" in [str(hit.subject) for hit in found], found.explain.match
        assert found.explain.languages == ((language,) if language != "en" else ())


def test_the_words_of_a_question_tell_its_language(world: worlds.World) -> None:
    assert world.search("kitap bölümü").explain.languages == ("tr",)
    assert world.search("the old house").explain.languages == ()
    assert world.search("vieille maison").explain.languages == ("fr",)
    assert [str(hit.subject) for hit in world.search("Dorf am See", mode="text")] == ["urn:de"]


def test_a_match_is_marked_as_it_was_written(world: worlds.World) -> None:
    (hit,) = world.search('"haus der alten dorf"', languages="de")
    assert hit.snippet == "Die **Häuser der alten Dörfer** stehen am See"
    (hit,) = world.search("параметр", languages="ru")
    assert hit.snippet == "Описание **параметров** компоновщика"


def test_phrases_prefixes_and_exclusions_hold(world: worlds.World) -> None:
    def found(question: str) -> list[str]:
        return [str(hit.subject) for hit in world.search(question, mode="text", languages="de")]

    assert found('"alte Häuser"') == []
    assert found('"alten Dörfer"') == ["urn:de"]
    assert found("Häus*") == found("Dörf*") == found("dörfe*") == ["urn:de"]
    assert found("See -Haus") == []
    assert found("See -Schiff") == ["urn:de"]


def test_stop_words_are_those_of_the_language(world: worlds.World) -> None:
    assert world.search("war die Häuser", languages="de").explain.match == '"Häuser" OR "haus"'
    assert world.search("die war", languages="en").explain.match == '"die" OR "war"'
    assert is_stop_word("für", ["de"])
    assert is_stop_word("FUR", ["de"])
    assert not is_stop_word("für", ["fr"])
    assert set(stop_words()) <= {*ALGORITHMS, "en"}
    assert stop_words()["en"] == STOP_WORDS


def test_an_english_world_reads_as_it_did() -> None:
    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "urn:text", Literal("Häuser und houses", lang="en")), ("urn:b", "urn:text", '"houses"')])
        explain = world.search("houses").explain
        assert (explain.match, explain.languages) == ('"houses"', ())


def test_texts_without_a_tag_are_read_in_the_language_of_the_first(tmp_path: Path) -> None:
    line = "Der Hund und die Katze sind in dem Haus, weil es nicht warm ist, und die Häuser sind {} Meter hoch"
    with worlds.open(tmp_path / "w.db", embedder=None) as world:
        world.add([("urn:early", "urn:text", '"Hunde"')])
        change = world.add([(f"urn:{n}", "urn:text", f'"{line.format(n)}"') for n in range(20)])
        assert "read as 'de'" in " ".join(change.notes)
        assert world.policy.language == "de"
        assert len(world.search("Hund", mode="text", limit=50)) == 21
        world.policy = worlds.records.TextPolicy()  # which says nothing of a language
        assert world.policy.language == "de"
        assert world.check().ok
        world.policy = world.policy.with_(language="en")
        assert len(world.search("Meter Hunden", mode="text", limit=50)) == 20
        assert world.check().ok
    with worlds.open(embedder=None) as world:
        change = world.add([(f"urn:{n}", "urn:text", '"The dog and the cat are in the house"') for n in range(9)])
        assert change.notes == ()
        assert world.policy.language is None


def test_a_world_of_an_older_release_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with worlds.open(path, embedder=None) as world:
        world.policy = worlds.records.TextPolicy(tokenizer="unicode")
        world.add([(f"urn:{tag}", "urn:text", Literal(text, lang=tag)) for tag, text in TEXTS.items()])
    with worlds.open(path, embedder=None) as world:
        assert not world.search("Haus", languages="de", mode="text")
        world.policy = world.policy.with_(tokenizer="porter")
        assert world.search("Haus", languages="de", mode="text")
        assert world.check().ok
        world.file.compact()
        assert world.search("Haus", languages="de", mode="text")
        assert world.check().ok


def test_rolled_back_texts_leave_nothing_behind() -> None:
    with worlds.open(embedder=None) as world:
        with pytest.raises(ZeroDivisionError), world.transaction():
            world.add([("urn:a", "urn:text", Literal("Häuser", lang="de"))])
            assert world.search("Haus")
            raise ZeroDivisionError
        assert not world.search("Haus")
        assert world.search("Haus").explain.languages == ()


def test_a_group_answers_as_one_world_with_all() -> None:
    halves = [worlds.open(embedder=None) for _ in range(2)]
    whole = worlds.open(embedder=None)
    for number, (tag, text) in enumerate(TEXTS.items()):
        quad = (f"urn:{tag}", "urn:text", Literal(text, lang=tag))
        halves[number % 2].add([quad])
        whole.add([quad])
    group = worlds.group({"a": halves[0], "b": halves[1]})
    for _, question in ASKED:
        one, several = whole.search(question, mode="text"), group.search(question, mode="text")
        assert {(str(h.subject), round(h.score, 9)) for h in one} == {
            (str(h.subject), round(h.score, 9)) for h in several
        }
        assert one.explain.languages == several.explain.languages


letters = st.text("aäeéiıİoöuüßñçsnrtlкошаый שָׁלוֹםالعربية中文 .-'0", max_size=60)


@given(text=letters, language=st.sampled_from(sorted({*ALGORITHMS, "he", "en", "ja"})))
def test_an_indexed_form_leads_back_to_the_text(text: str, language: str) -> None:
    form = indexed(text, language)
    assert as_written(form or text, text).replace("\x1f", "") == text
    assert form is None or indexed(text, language) == form


@given(st.lists(st.text("aäeioußnrsthкоша中 ", min_size=1, max_size=30), min_size=1, max_size=6), st.data())
def test_every_word_of_a_text_finds_it(texts: list[str], data: st.DataObject) -> None:
    language = data.draw(st.sampled_from(["de", "ru", "fr", "tr", "fi"]))
    with worlds.open(embedder=None) as world:
        world.add([(f"urn:{n}", "urn:text", Literal(text, lang=language)) for n, text in enumerate(texts)])
        for number, text in enumerate(texts):
            for word in text.split():
                found = world.search(f'"{word}"', mode="text", languages=language, limit=20)
                assert any(text in [str(quad[2]) for quad in hit.quads] for hit in found), (word, number)
        assert world.check().ok


def test_a_guess_needs_enough_to_go_by() -> None:
    assert guess(["Der Hund"]) is None
    assert guess(["LA", "DE", "La Porte", "MA", "Les Cayes", "ME", "NE", "Des Moines", "AU", "ES"] * 20) is None
    assert guess(["der die das und ist nicht mit von für ein"] * 3) == "de"
    assert guess(["the of and to in is that for it was"] * 3) == "en"


@pytest.mark.parametrize("narrow", [False, True])
def test_all_ways_to_find_words_agree(monkeypatch: pytest.MonkeyPatch, narrow: bool) -> None:
    chance = random.Random(5)
    words = [
        "Haus",
        "Häuser",
        "Hauses",
        "Dorf",
        "Dörfer",
        "Dörfern",
        "See",
        "Seen",
        "Kind",
        "Kinder",
        "Kindern",
        "houses",
        "villages",
        "children",
    ]
    with worlds.open(embedder=None) as world:
        world.add(
            [
                (
                    f"urn:{n}",
                    f"urn:p{n % 7}",
                    Literal(" ".join(chance.choices(words, k=9)), lang=chance.choice(["de", "en"])),
                )
                for n in range(300)
            ]
        )
        options: dict[str, Any] = {"mode": "text", "limit": 40, "predicates": "urn:p3" if narrow else None}
        for question in ("Haus Kindern", "Dörfern -Seen", '"Haus Dorf" children', "Kind*"):
            ranked = []
            for always in (False, True):
                seams.keep_posting_lists(monkeypatch, always)
                found = world.search(question, **options)
                ranked.append([(hit.chunk, round(hit.score, 9)) for hit in found])
            assert ranked[0]
            assert ranked[0] == ranked[1]
