"""Curation, several worlds, texts of all kinds and every screen of the page, in a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import worlds
from tests.support.page import EX, SMALL, SMALLEST, WIDE, Tab, expect, expect_readable, first_labels
from tests.support.serving import Served, served
from worlds.doors.server.keys import keys_of

pytestmark = pytest.mark.slow


# --- curation ---------------------------------------------------------------------------------------------------------


def test_a_revision_is_shown_and_undone(tab: Tab) -> None:
    page = tab.open(history="")
    expect(page.locator(".empty")).to_contain_text("Choose a revision")
    page.get_by_role("link", name=re.compile("A nickname")).last.click()
    expect(page.locator(".diff li.added")).to_have_text(re.compile("nickname little rover"))
    page.get_by_role("button", name="Undo this revision").click()
    dialog = page.get_by_role("dialog", name="Undo revision 3?")
    expect(dialog).to_contain_text("remove the 1 quad that it added")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    before = page.locator(".history-list li").count()
    page.get_by_role("button", name="Undo this revision").click()
    page.get_by_role("button", name="Undo it").click()
    expect(page.locator(".outcome")).to_contain_text(
        re.compile(r"Revision 3 is undone by revision \d+: 0 quads added, 1 quad")
    )
    expect(page.locator(".history-list li")).to_have_count(before + 1)
    # What is undone is not offered again, and the newest can be undone in turn.
    expect(page.locator(".detail-head")).to_contain_text("Nothing is left to undo.")
    expect(page.get_by_role("button", name="Undo this revision")).to_have_count(0)
    page.locator(".history-list a").first.click()
    page.get_by_role("button", name="Undo this revision").click()
    page.get_by_role("button", name="Undo it").click()
    expect(page.locator(".outcome")).to_contain_text("is undone by")
    # What stands in the way is said in words: somebody else took it back meanwhile.
    tab.expected.append("409")
    page = tab.open(history="3")
    expect(page.get_by_role("button", name="Undo this revision")).to_be_visible()
    assert httpx.post(f"{tab.url}/history/3/undo", json={"force": True}).json()["removed"] == 1
    page.get_by_role("button", name="Undo this revision").click()
    page.get_by_role("button", name="Undo it").click()
    expect(page.get_by_role("alert")).to_contain_text("A conflict")
    expect(page.get_by_role("alert")).to_contain_text("cannot be undone as a whole")
    expect(page.get_by_role("button", name="Undo the other changes")).to_be_visible()


def test_an_undo_asks_for_a_key(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:b", '"c"')], message="the only one")
    reader = keys_of(path).add("reader", {"*": "read"})[1]
    secret = keys_of(path).add("carla", {"*": "write"})[1]
    with served(path, "--readers", "1", "--no-public-reads") as locked:
        tab = new_tab(locked.url)
        tab.expected += ["401", "403"]
        page = tab.open(history="1")
        expect(page.get_by_role("alert").first).to_contain_text("A key is needed")
        page.get_by_role("button", name="Enter a key").first.click()
        page.get_by_label("Your key").fill(reader)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="the only one")).to_be_visible()
        page.get_by_role("button", name="Undo this revision").click()
        page.get_by_role("button", name="Undo it").click()
        dialog = page.get_by_role("dialog", name="Key")
        expect(dialog).to_be_visible()
        assert page.get_by_role("alert").count() == 0, "what is missing is said once"
        dialog.get_by_label("Your key").fill("wk_wrong")
        dialog.get_by_role("button", name="Use this key").click()
        dialog.get_by_label("Your key").fill(secret)
        dialog.get_by_role("button", name="Use this key").click()
        expect(page.locator(".outcome")).to_contain_text("Revision 1 is undone by revision 2")
        assert page.evaluate("[sessionStorage.getItem('worlds-key'), localStorage.length, document.cookie]") == [
            secret,
            0,
            "",
        ]
        page.locator(".outcome a").click()
        expect(page.locator(".detail-head")).to_contain_text("carla")


# --- several worlds ---------------------------------------------------------------------------------------------------


def test_the_start_page_lists_the_worlds(new_tab: Callable[..., Tab], server: Served) -> None:
    tab = new_tab(f"{server.url}/")
    page = tab.open()
    expect(page.get_by_role("heading", level=1)).to_have_text("Worlds")
    expect(page.locator(".worlds li")).to_have_count(2)
    page.get_by_role("link", name="empty").click()
    expect(page.locator(".empty")).to_contain_text("This world is empty")
    page.get_by_role("link", name="All worlds").click()
    page.get_by_role("link", name="space").click()
    expect(page.locator(".figures")).to_be_visible()


def test_a_server_that_is_gone_is_said(tab: Tab) -> None:
    tab.expected.append("net::ERR_FAILED")
    page = tab.open()
    expect(page.locator(".figures")).to_be_visible()
    page.route("**/search?*", lambda route: route.abort())
    page.keyboard.type("moon")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/search?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".hit").first).to_be_visible()


# --- texts of all kinds -----------------------------------------------------------------------------------------------


def test_data_stays_text(tab: Tab) -> None:
    page = tab.open(q="trap", mode="text")
    expect(page.locator(".hit", has_text="trap").nth(2)).to_be_visible()
    assert "<img src=x onerror=document.title='run'>trap" in first_labels(page)
    page.locator(".hit h3 a", has_text="<img").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("<img src=x onerror=document.title='run'>trap")
    expect(page.locator(".lead")).to_contain_text("<script>document.title='run'</script>")
    page.get_by_role("link", name="trap of a script").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("trap of a script")
    assert page.get_by_role("link", name="Open").count() == 0
    tab.open(query="SELECT ?s ?p ?o { GRAPH <urn:notes> { ?s ?p ?o } }")
    expect(page.locator("table.rows tbody tr")).to_have_count(6)
    tab.open(history="2")
    expect(page.get_by_role("heading", name="Notes <b>of</b> others")).to_be_visible()
    assert page.locator("a[href^=javascript], main img, main script, main b").count() == 0
    assert page.title() != "run"


def test_a_script_that_runs_from_right_to_left(tab: Tab) -> None:
    page = tab.open(q="المريخ", mode="text", languages="ar")
    snippet = page.locator(".hit .snippet").first
    expect(snippet.locator("mark")).to_have_text("المريخ")
    assert snippet.evaluate("node => getComputedStyle(node).direction") == "rtl"
    assert snippet.get_attribute("lang") == "ar"
    tab.open(entity=f"{EX}note")
    assert page.get_by_role("heading", level=1).evaluate("node => getComputedStyle(node).direction") == "rtl"


def test_an_entity_shows_what_held_and_when(tab: Tab) -> None:
    page = tab.open(entity=f"{EX}Beacon")
    over = page.locator(".over-time")
    expect(over.get_by_role("definition")).to_contain_text("North")
    lines = over.locator("li").all_inner_texts()
    assert [" ".join(line.split()) for line in lines] == ["ex:South until 1990, ended", "ex:North 1997 – 2150"]
    assert over.locator("rect").count() == 2


SCHEMA = "https://worlds.example/space/schema#"
VIEWS: dict[str, dict[str, str | list[str]]] = {
    "start": {},
    "search": {"q": "soil from another world", "languages": "en"},
    "nothing": {"q": "xyzzyq", "mode": "text"},
    "entity": {"entity": f"{EX}Mars"},
    "table": {"query": "SELECT ?s ?p ?o { ?s s:description ?o ; ?p ?o } LIMIT 20"},
    "graph": {"query": "CONSTRUCT { ?a s:target ?b } { ?a s:target ?b } LIMIT 40", "as": "graph"},
    "chart": {"query": "SELECT ?t (COUNT(*) AS ?n) { ?s a ?t } GROUP BY ?t LIMIT 20", "as": "chart"},
    "history": {"history": "2"},
    "edit": {"edit": f"{EX}Sojourner"},
    "new": {"new": ""},
    "merge": {"merge": f"{EX}Mars", "with": f"{EX}Venus"},
    "review": {"review": ""},
    "health": {"health": ""},
    "bring": {"bring": ""},
    "translate": {"translate": "", "within": f"class {EX}schema#Rover", "lang": ["en", "de"], "all": "1"},
    "match": {"match": ""},
    "browse": {"browse": ""},
    "tree": {"browse": "http://www.w3.org/2000/01/rdf-schema#subClassOf"},
    "members": {"browse": f"{SCHEMA}Rover", "facet": f"{SCHEMA}agency"},
    "update": {"query": "DELETE { ?r s:massKg ?m } WHERE { ?r s:massKg ?m }"},
}
READY = {
    "start": ".figures",
    "search": ".how",
    "nothing": ".empty",
    "entity": ".short-list",
    "table": ".rows",
    "edit": ".field",
    "new": ".new-form",
    "bring": ".beginning form",
    "translate": ".translations input",
    "match": ".match-form",
    "merge": ".rehearsal .diff",
    "review": ".review-group .item",
    "health": ".effect *",
    "browse": ".tree-links",
    "tree": ".tree-name",
    "members": ".member-facets .facet",
}


# --- every screen -----------------------------------------------------------------------------------------------------


def test_every_view_fits_and_can_be_read(new_tab: Callable[..., Tab], long: bool) -> None:
    """By rules of our own in windows of three sizes, and by those of axe-core."""
    tab = new_tab(viewport=WIDE)
    tab.expected.append("404")  # of a world without shapes
    tab.open()
    for view, state in VIEWS.items():
        page = tab.go(**state)
        page.locator(READY.get(view, ".results-head, .diff")).first.wait_for()
        tab.settle()
        expect_readable(page, view, SMALLEST, long=long)


def test_the_theme_can_be_chosen_and_is_kept(tab: Tab) -> None:
    page = tab.open()
    ground = "getComputedStyle(document.body).backgroundColor"
    system = page.evaluate(ground)
    page.get_by_role("button", name="Theme: as the system has it").click()
    assert page.evaluate(ground) == system
    page.get_by_role("button", name="Theme: light").click()
    dark = page.evaluate(ground)
    assert dark != system
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate(ground) == dark


def test_filters_fold_on_a_small_screen(new_tab: Callable[..., Tab]) -> None:
    page = new_tab(viewport=SMALL).open(q="moon")
    box = page.get_by_role("checkbox", name="English")
    expect(page.locator(".facets summary")).to_be_visible()
    expect(box).not_to_be_visible()
    page.locator(".facets summary").click()
    box.check()
    expect(page.locator(".facets summary")).to_have_text("Filters (1)")
    expect(page.get_by_role("checkbox", name="English")).to_be_visible()


def test_a_busy_reader_is_left_where_they_were(tab: Tab) -> None:
    """Going back shows the results as they were, at the place where they were left."""
    page = tab.open(q="moon", limit="50")
    expect(page.locator(".hit")).to_have_count(50)
    link = page.locator(".hit h3 a").nth(40)
    link.scroll_into_view_if_needed()
    place = page.evaluate("scrollY")
    assert place > 500
    link.click()
    expect(page.locator(".entity-head")).to_be_visible()
    assert page.evaluate("scrollY") == 0
    asked: list[str] = []
    tab.listen("request", lambda request: asked.append(request.url))
    began = time.monotonic()
    page.go_back()
    expect(page.locator(".hit")).to_have_count(50)
    assert page.evaluate("scrollY") == pytest.approx(place, abs=2)
    assert not [url for url in asked if "/search" in url], time.monotonic() - began
