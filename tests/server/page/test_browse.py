"""The browser of trees and lists: a concept found by its place, moved and taken back, and lists with facets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import worlds
from tests.server.page.test_workbench import values
from tests.support.page import SMALL, Tab, expect
from tests.support.serving import served

pytestmark = pytest.mark.slow
EX = "http://example.org/"
BROADER = "http://www.w3.org/2004/02/skos/core#broader"
WORDS = """
@prefix ex: <http://example.org/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Colours a skos:ConceptScheme ; skos:prefLabel "Colours"@en , "Farben"@de .
ex:warm skos:topConceptOf ex:Colours ; skos:prefLabel "warm colours"@en , "warme Farben"@de .
ex:cold skos:topConceptOf ex:Colours ; skos:prefLabel "cold colours"@en .
ex:red skos:broader ex:warm ; skos:prefLabel "red"@en ; skos:definition "The colour of blood."@en .
ex:crimson skos:broader ex:red ; skos:prefLabel "crimson"@en .
ex:teal skos:broader ex:warm ; skos:prefLabel "teal"@en , "Petrol"@de ; skos:altLabel "blue-green"@en .
ex:sky skos:broader ex:cold ; skos:prefLabel "blue"@en . ex:sea skos:broader ex:cold ; skos:prefLabel "blue"@en .
ex:Work rdfs:label "work"@en . ex:Painting rdfs:subClassOf ex:Work ; rdfs:label "painting"@en .
ex:shows rdfs:label "shows"@en . ex:year rdfs:label "year"@en .
""" + "".join(
    f'ex:p{n} a ex:Painting ; rdfs:label "{"abc"[n % 3]} picture {n:03}"@en ; ex:shows ex:{("red", "sky")[n % 2]} ; '
    f"ex:year {1900 + n % 4} .\n"
    for n in range(120)
)


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Makes vocabularies that anybody may write to, on one server; gives their addresses."""
    folder = tmp_path_factory.mktemp("vocabularies")
    names = (f"words{number}" for number in itertools.count())
    with served(folder, "--allow-writes", "--readers", "1") as server:

        def make() -> str:
            name = next(names)
            with worlds.open(folder / f"{name}.db", embedder=None) as world:
                world.load(WORDS.encode(), format="turtle")
            return f"{server.url}/worlds/{name}"

        yield make


@pytest.fixture
def vocabulary(vocabularies: Callable[[], str], new_tab: Callable[..., Tab]) -> Callable[..., Tab]:
    """Makes tabs of a vocabulary of its own that anybody may write to."""
    address = vocabularies()
    return lambda **options: new_tab(address, **options)


def row(page: Any, name: str) -> Any:
    return page.get_by_role("treeitem", name=re.compile(f"^{name}(,|$)"))


def test_a_concept_is_found_by_its_place_moved_and_taken_back(vocabulary: Callable[..., Tab]) -> None:
    tab = vocabulary()
    page = tab.open()
    expect(page.locator(".tree-links")).to_contain_text("7 concepts, 2 at the top")
    page.get_by_role("link", name="Colours").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Colours")
    # By keyboard alone: down, open, down to it, choose it.
    row(page, "cold colours").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(row(page, "teal")).to_be_visible()
    expect(row(page, "warm colours")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("teal")
    expect(page.locator(".browse-head")).to_contain_text("warm colours")
    page.get_by_role("button", name="Move…").click()
    page.get_by_role("combobox", name="New place below").fill("cold")
    page.get_by_role("option", name=re.compile("cold colours")).click()
    expect(page.locator(".move-outcome .diff")).to_contain_text("cold colours")
    assert values(tab, f"<{EX}teal>", "skos:broader") == {EX + "warm"}, "a rehearsal writes nothing"
    page.get_by_label("Message").fill("it is rather blue")
    page.get_by_role("button", name="Move it").click()
    notice = page.locator(".notice")
    expect(notice).to_contain_text("Moved teal as revision")
    assert values(tab, f"<{EX}teal>", "skos:broader") == {EX + "cold"}
    expect(page.locator(".browse-head")).to_contain_text("cold colours")
    expect(row(page, "cold colours")).to_have_attribute("aria-label", re.compile("3 below"))
    notice.get_by_role("button", name="Undo").click()
    expect(notice).to_contain_text("Undone")
    assert values(tab, f"<{EX}teal>", "skos:broader") == {EX + "warm"}
    expect(page.locator(".browse-head")).to_contain_text("warm colours")


def test_a_drag_is_tried_first_and_a_circle_is_refused_in_words(vocabulary: Callable[..., Tab]) -> None:
    tab = vocabulary()
    tab.expected.append("400")
    page = tab.open(browse=EX + "Colours", at=EX + "crimson")
    expect(row(page, "crimson")).to_have_attribute("aria-selected", "true")
    row(page, "warm colours").locator("> .tree-row").drag_to(row(page, "crimson").locator("> .tree-row"))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("would close a circle")
    expect(dialog.get_by_role("button", name="Move it")).to_be_disabled()
    dialog.get_by_role("button", name="Cancel").click()
    row(page, "crimson").locator("> .tree-row").drag_to(row(page, "cold colours").locator("> .tree-row"))
    expect(dialog.locator(".diff")).to_contain_text("cold colours")
    dialog.get_by_role("button", name="Move it").click()
    expect(page.locator(".notice")).to_contain_text("Moved crimson")
    assert values(tab, f"<{EX}crimson>", "skos:broader") == {EX + "cold"}
    # And to the top, by a drop above the tree.
    row(page, "crimson").locator("> .tree-row").drag_to(page.locator(".tree-top"))
    dialog.get_by_role("button", name="Move it").click()
    expect(page.locator(".notice")).to_contain_text("revision 3")
    assert values(tab, f"<{EX}crimson>", "skos:topConceptOf") == {EX + "Colours"}
    assert values(tab, f"<{EX}crimson>", "skos:broader") == set()
    # An entity below two of others stays below the one that it is not taken from.
    httpx.post(f"{tab.url}/quads", json={"add": [f"<{EX}red> <{BROADER}> <{EX}cold> ."]}).raise_for_status()
    page = tab.open(browse=EX + "Colours", at=EX + "red")
    page.get_by_role("button", name="Move…").click()
    dialog.get_by_role("combobox").fill("teal")
    page.get_by_role("option", name=re.compile("teal")).click()
    expect(dialog).to_contain_text(
        re.compile("no longer below (warm|cold) colours, and it stays below (warm|cold) colours")
    )


def test_a_tree_is_searched_and_namesakes_are_told_apart(vocabulary: Callable[..., Tab]) -> None:
    page = vocabulary(locale="de-DE").open(browse=EX + "Colours")
    expect(page.get_by_role("heading", level=1)).to_have_text("Farben")
    page.get_by_role("searchbox", name="Find in Farben").fill("blue-gr")
    found = page.locator(".tree-found li")
    expect(found).to_have_text(re.compile("Petrol *warme Farben"))
    found.get_by_role("button").click()
    expect(row(page, "Petrol")).to_have_attribute("aria-selected", "true")
    row(page, "cold colours").locator("> .tree-row .tree-toggle").click()
    expect(row(page, "blue")).to_have_count(2)
    assert len(set(row(page, "blue").evaluate_all("rows => rows.map(row => row.getAttribute('aria-label'))"))) == 2


def test_a_class_lists_its_instances_and_counts_all_of_them(vocabulary: Callable[..., Tab]) -> None:
    tab = vocabulary()
    page = tab.open(entity=EX + "p7")
    page.locator(".types a").click()  # a class leads to its instances
    expect(page.get_by_role("heading", level=1)).to_have_text("painting")
    expect(page.locator(".members-head")).to_contain_text("120 instances")
    expect(row(page, "painting")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".member-list li")).to_have_count(50)
    page.get_by_label("Filter by").select_option(label="shows")
    red = page.locator(".facet", has_text="red")
    expect(red.locator(".count")).to_have_text("60")
    red.get_by_role("checkbox").check()
    expect(page.locator(".members-head")).to_contain_text("60 instances that pass the filters")
    expect(page.locator(".facet", has_text="blue").locator(".count")).to_have_text("60")
    page.get_by_label("Filter by").select_option(label="year")
    expect(page.locator(".member-facets fieldset", has_text="year").locator(".facet")).to_have_count(2)
    page.go_back()
    page.go_back()
    expect(page.locator(".members-head h2")).to_have_text("120 instances")
    page.get_by_role("navigation", name="Letters").get_by_role("button", name="C").click()
    expect(page.locator(".pages")).to_contain_text("51 to 100 of 120")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".member-list li").last).to_have_text("c picture 119")
    tab.open()
    page.locator(".bars").get_by_role("link", name="shows").click()
    expect(page.locator(".facet", has_text="red").locator(".count")).to_have_text("60")
    page.locator(".bars, .member-list a").first.click()
    expect(page.locator(".entity-head")).to_be_visible()


def test_the_browser_fits_a_phone(vocabulary: Callable[..., Tab]) -> None:
    page = vocabulary(viewport=SMALL, color_scheme="dark").open(browse=EX + "Colours", at=EX + "red")
    expect(page.locator(".lead")).to_have_text("The colour of blood.")
    assert page.evaluate("document.documentElement.scrollWidth") <= SMALL["width"]
