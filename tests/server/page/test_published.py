"""A published vocabulary, opened from the disk: tree, search, links, languages, themes and small windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.publishing.test_publish import BIRDS, EX
from tests.support.page import SMALL, WIDE, Tab, expect

pytestmark = pytest.mark.slow
AXE = """async () => (await axe.run(document, {preload: false})).violations.map(
    ({id, nodes}) => [id, ...nodes.map(({html}) => html)])"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("published")
    with worlds.open(embedder=None) as world:
        world.load(BIRDS, format="turtle")
        trap, mars = '"</script><img src=x onerror=document.title=1>trap"@en', '"\u202eكوكب المريخ"@ar'
        for name, label in (("trap", trap), ("mars", mars)):
            world.add([(EX + name, "skos:inScheme", EX + "S"), (EX + name, "skos:prefLabel", label)])
        world.add([(EX + "mars", "skos:broader", EX + "trap")])
        world.revisions.tag("2026-10")
        world.add([(EX + "bird", "skos:altLabel", '"fowl and the like"@en')])
        world.file.publish(made, scheme=EX + "S")
    return made


@pytest.fixture
def front(browser: Any, site: Path) -> Iterator[Callable[..., Tab]]:
    """Opens the first page from the disk, in a browser of a language."""
    tabs: list[Tab] = []

    def make(**options: Any) -> Tab:
        tab = Tab(browser.new_context(**options).new_page(), (site / "index.html").as_uri())
        tab.watch()
        tab.page.goto(tab.url)
        tabs.append(tab)
        return tab

    yield make
    for tab in tabs:
        tab.page.context.close()
        tab.check()


def test_the_tree_leads_to_a_concept(front: Callable[..., Tab]) -> None:
    page = front(locale="en").page
    expect(page.get_by_role("heading", level=1)).to_have_text("Birds")
    expect(page.locator("#tree > li")).to_have_count(2)
    page.get_by_role("button", name="Narrower: bird").click()
    page.get_by_role("button", name="Narrower: kite").click()
    page.get_by_role("link", name="red kite").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("red kite")
    page.get_by_role("link", name="kite", exact=True).click()
    expect(page.get_by_role("link", name="bird", exact=True)).to_be_visible()


def test_the_search_finds_labels_of_all_languages(front: Callable[..., Tab]) -> None:
    page = front(locale="en").page
    for sought, found in {"GLEDE": "kite", "vogel": "bird", "المريخ": "المريخ", "img src": "trap"}.items():
        page.get_by_role("searchbox").fill(sought)
        expect(page.locator("#found a").first).to_contain_text(found)
    page.get_by_role("searchbox").fill("nothing such")
    expect(page.locator("#found")).to_contain_text("0 found")
    page.get_by_role("searchbox").fill("red")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("red kite")
    page.get_by_role("searchbox").fill("milan")
    page.keyboard.press("Enter")
    expect(page.locator("#found a")).to_have_text("kite")


def test_a_language_is_chosen_and_kept(front: Callable[..., Tab]) -> None:
    page = front(locale="de-AT").page
    expect(page.get_by_role("heading", level=1)).to_have_text("Vögel")
    expect(page.locator("#tree")).to_contain_text("Vogel")
    page.get_by_label("Language").select_option("en")
    expect(page.locator("#tree")).to_contain_text("bird")
    page.get_by_role("link", name="bird", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("bird")
    expect(page.get_by_role("heading", level=1).locator("bdi")).to_have_attribute("lang", "en")


def test_every_page_fits_and_can_be_read(front: Callable[..., Tab], site: Path, long: bool) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is in the dev extra")
    rules = Path(axe.__path__[0], "axe.min.js").read_text("utf-8")
    page = front(locale="en", bypass_csp=True).page
    both = [(SMALL, "light"), (WIDE, "dark")]
    for number, path in enumerate(sorted(site.rglob("*.html"))):
        page.goto(path.as_uri())
        page.evaluate(rules)
        for viewport in (SMALL, {"width": 390, "height": 800}, WIDE):
            page.set_viewport_size(viewport)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, (path.name, viewport)
            for scheme in ("light", "dark"):
                if (viewport, scheme) == both[number % 2] or long:
                    page.emulate_media(color_scheme=scheme)
                    assert page.evaluate(AXE) == [], (path.name, viewport, scheme)
