"""The page's query editor and its results, in a browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.page import SMALL, WIDE, Tab, expect
from tests.support.serving import ROOT, Served
from worlds.doors.server import page as assets

pytestmark = pytest.mark.slow
EDITORS = ["plain", "full"]
PLAIN = "document.addEventListener('readystatechange', () => document.documentElement.dataset.editor = 'plain')"


def typed(page: Any, query: str) -> None:
    """Put a query in the place of what the editor has, by the keyboard."""
    page.get_by_label("SPARQL query").focus()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(query)


def need_the_editor() -> None:
    if assets.EDITOR not in assets.assets():
        pytest.skip("the editor is not here: python -m worlds.doors.server.bundle builds it")


@pytest.fixture(params=EDITORS)
def editor(request: pytest.FixtureRequest, new_tab: Callable[..., Tab]) -> tuple[Tab, Callable[[str], None]]:
    """A tab with either editor, and a way to write a query in it."""
    if request.param == "full":
        need_the_editor()
    tab = new_tab(script=PLAIN if request.param == "plain" else "")
    page = tab.page

    def write(query: str) -> None:
        expect(page.locator(".code-editor" if request.param == "full" else ".plain-editor")).to_be_visible()
        typed(page, query)

    return tab, write


def test_a_query_gives_a_table(editor: tuple[Tab, Callable[[str], None]]) -> None:
    tab, write = editor
    page = tab.open(query="")
    write("SELECT ?rover ?day WHERE { ?rover a s:Rover ; s:launched ?day } ORDER BY ?day")
    page.get_by_role("button", name="Run").click()
    table = page.locator("table.rows")
    expect(table.locator("tbody tr")).to_have_count(10)
    expect(page.locator(".results-head")).to_contain_text("10 rows in")
    assert "s%3ARover" in page.url
    table.get_by_role("button", name="rover").click()
    expect(table.get_by_role("columnheader", name="rover")).to_have_attribute("aria-sort", "ascending")
    names = table.locator("tbody td:nth-child(2)").all_inner_texts()
    assert names == sorted(names)
    table.get_by_role("link").first.click()
    expect(page.locator(".types")).to_have_text("Rover")
    page.go_back()
    expect(table.locator("tbody tr")).to_have_count(10)


def test_an_error_shows_its_place(editor: tuple[Tab, Callable[[str], None]]) -> None:
    tab, write = editor
    tab.expected.append("400")
    page = tab.open(query="")
    write("SELECT * WHERE {\n  ?s a\n}")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("Line 3, column")
    expect(page.locator(".line-numbers .wrong, .cm-wrong")).to_have_count(1)


def test_control_enter_runs_the_query(editor: tuple[Tab, Callable[[str], None]]) -> None:
    tab, write = editor
    page = tab.open(query="")
    write("ASK { ?s a s:Rover }")
    page.get_by_label("SPARQL query").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".verdict")).to_have_text("Yes")


def test_prefixes_are_inserted(editor: tuple[Tab, Callable[[str], None]]) -> None:
    tab, write = editor
    page = tab.open(query="")
    write('SELECT ?x { ?x a s:Rover ; rdfs:label "foo:bar" . SERVICE w:search { ?hit w:query "x" } } # xsd:date')
    page.get_by_role("button", name="Insert prefixes").click()
    text = page.evaluate(
        """document.querySelector(".editor textarea")?.value ?? Array.from(
            document.querySelector(".code-editor").shadowRoot.querySelectorAll(".cm-line"), (line) => line.textContent
        ).join("\\n")"""
    )
    lines = text.split("\n\n")[0].split("\n")
    assert [line.split(":")[0] for line in lines] == ["PREFIX rdfs", "PREFIX s", "PREFIX w"]


def test_the_plain_editor_stands_in_when_the_other_does_not_come(tab: Tab) -> None:
    tab.expected.append("net::ERR_FAILED")
    tab.page.route("**/page/vendor/*", lambda route: route.abort())
    page = tab.open(query="")
    expect(page.get_by_label("SPARQL query")).to_have_value(re.compile("SERVICE w:search"))
    expect(page.locator(".line-numbers")).to_contain_text("12")


def test_names_of_the_world_are_completed(tab: Tab) -> None:
    need_the_editor()
    page = tab.open(query="")
    box = page.get_by_label("SPARQL query")
    expect(page.locator(".code-editor")).to_be_visible()
    typed(page, "SELECT ?x { ?x a s:Rov")
    page.keyboard.press("Control+Space")
    options = page.locator(".cm-tooltip-autocomplete li")
    expect(options.first).to_contain_text("s:Rover")
    page.wait_for_timeout(200)  # what has just appeared is not taken by mistake
    page.keyboard.press("Enter")
    expect(box).to_have_text("SELECT ?x { ?x a s:Rover")
    page.keyboard.type(" ; s:launched ?day . FILTER(?da")
    page.keyboard.press("Control+Space")
    expect(options).to_have_text([re.compile(r"\?day")])
    # Escape, then Tab leaves the editor.
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('.code-editor')")


def test_coordinates_have_a_map(tab: Tab) -> None:
    query = "SELECT ?site ?lat ?long { ?site a s:LaunchSite ; schema:latitude ?lat ; schema:longitude ?long }"
    page = tab.open(query=f"PREFIX schema: <https://schema.org/> {query}")
    page.get_by_role("tab", name="Map").click()
    points = page.locator(".map circle")
    expect(points).to_have_count(page.locator(".map a").count())
    assert points.count() > 5
    assert "as=map" in page.url
    if assets.EDITOR in assets.assets():
        expect(page.locator(".map .land")).to_have_attribute("d", re.compile(r"^M-?\d.*L-?\d"))
    page.locator(".map a").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".types")).to_have_text("Launch site")
    tab.go(query='SELECT ("POINT(13.4 52.5)" AS ?where) {}', **{"as": "map"})
    expect(page.locator(".map circle")).to_have_count(1)
    tab.go(query="SELECT ?s { ?s a s:Rover }")
    expect(page.get_by_role("tab")).to_have_text(["Table", "Graph", "Chart"])


def test_each_example_works(tab: Tab) -> None:
    page = tab.open(query="")
    examples = page.get_by_role("combobox", name="Examples")
    expect(examples.locator("option")).to_have_count(9)
    for number in range(1, 9):
        page.locator(".output").evaluate("place => place.replaceChildren()")
        examples.select_option(index=number)
        expect(page.locator(".results-head")).to_contain_text(re.compile(r"[1-9]\d* (rows?|triples?) in "))
        assert page.get_by_role("alert").count() == 0
        assert page.locator(".output .empty").count() == 0, number


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("named") / "kb.db"
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(ROOT / "examples" / "space.ttl", graph="urn:space")
    return path


@pytest.mark.parametrize("setting", ["union", pytest.param("strict", marks=pytest.mark.long)])
def test_the_examples_find_what_is_in_named_graphs(
    new_tab: Callable[..., Tab], folder: Path, named: Path, server: Served, setting: Any
) -> None:
    shutil.copyfile(named, folder / f"named-{setting}.db")
    with worlds.open(folder / f"named-{setting}.db", embedder=None) as world:
        world.file.default_graph = setting
    page = new_tab(f"{server.url}/worlds/named-{setting}").open(query="")
    examples = page.get_by_role("combobox", name="Examples")
    expect(examples.locator("option")).to_have_count(9)
    switch = page.get_by_label("All graphs")
    expect(switch).to_be_checked()
    for number in range(1, 9):
        page.locator(".output").evaluate("place => place.replaceChildren()")
        examples.select_option(index=number)
        expect(page.locator(".results-head")).to_contain_text(re.compile(r"[1-9]\d* (rows?|triples?) in "))
        assert page.locator(".output .empty").count() == 0, number
    examples.select_option(label="The types and their numbers")
    expect(page.locator(".results-head")).to_contain_text(re.compile(r"[1-9]\d* rows? in "))
    switch.uncheck()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".output .note")).to_contain_text("quads are in named graphs, none in the default graph")
    assert "union=false" in page.url
    page.reload()
    expect(page.get_by_label("All graphs")).not_to_be_checked()
    expect(page.locator(".output .note")).to_contain_text("in named graphs")


def test_a_query_that_finds_nothing_says_why(tab: Tab) -> None:
    page = tab.open(query="SELECT * { ?x s:launchd ?day }")
    expect(page.locator(".output .empty .note").first).to_contain_text("did you mean s:launched")
    assert "No data match this query" not in page.locator(".output").inner_text()
    tab.go(query="SELECT * { ?x s:launched '1969' }")
    expect(page.locator(".output .empty")).to_contain_text("No results")
    page = tab.go(query="ASK { ?x s:launchd ?day }")
    expect(page.locator(".output .verdict")).to_have_text("No")
    expect(page.locator(".output .note").first).to_contain_text("did you mean s:launched")
    page = tab.go(query="SELECT ?x { ?x a s:Rover }")
    expect(page.locator(".results-head")).to_contain_text("rows in")
    expect(page.locator(".output .note")).to_have_count(0)
    expect(page.get_by_label("All graphs")).not_to_be_checked()


def test_there_is_no_example_about_graphs_without_graphs(new_tab: Callable[..., Tab], server: Served) -> None:
    page = new_tab(f"{server.url}/worlds/empty").open(query="")
    examples = page.get_by_role("combobox", name="Examples")
    expect(examples.locator("option", has_text="The types and their numbers")).to_have_count(1)
    expect(examples.locator("option", has_text="Contents of each graph")).to_have_count(0)


def test_triples_are_a_graph(tab: Tab) -> None:
    query = "CONSTRUCT { ?rover s:target ?body } WHERE { ?rover a s:Rover ; s:target ?body }"
    page = tab.open(query=query, **{"as": "graph"})
    graph = page.get_by_role("group", name="Graph of the results")
    expect(graph.get_by_role("link", name="Mars", exact=True)).to_be_visible()
    assert graph.locator(".edge").count() == 11
    boxes = graph.locator(".node-label").evaluate_all(
        "labels => labels.map(label => label.getBBox()).map(({x, y, width, height}) => [x, y, x + width, y + height])"
    )
    for at, a in enumerate(boxes):
        for b in boxes[at + 1 :]:
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, "labels cover one another"
    page.get_by_role("tab", name="Table").click()
    expect(page.locator("table.rows tbody tr")).to_have_count(11)
    assert "as=graph" not in page.url
    page.go_back()


@pytest.mark.parametrize("viewport", [WIDE, SMALL], ids=["wide", "small"])
def test_a_long_name_leaves_room_for_the_other_columns(new_tab: Callable[..., Tab], viewport: dict[str, int]) -> None:
    long = f"urn:long:{'x' * 600}"
    page = new_tab(viewport=viewport).open(
        query=f"SELECT ?a ?b ?c {{ VALUES (?a ?b ?c) {{ (<{long}> 'one' 'two') }} }}"
    )
    link = page.locator("table.rows tbody a")
    expect(link).to_have_attribute("title", long)
    scroll = page.locator(".scroll")
    assert scroll.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert link.evaluate("node => node.closest('tr').offsetHeight") < 300


def test_numbers_are_a_chart(tab: Tab) -> None:
    query = "SELECT ?type (COUNT(?thing) AS ?number) { ?thing a ?type } GROUP BY ?type ORDER BY DESC(?number) LIMIT 5"
    page = tab.open(query=query, **{"as": "chart"})
    bars = page.get_by_role("img", name="Bars of number by type")
    expect(bars.locator(".column")).to_have_count(5)
    widths = bars.locator("rect").evaluate_all("bars => bars.map(bar => Number(bar.getAttribute('width')))")
    values = [float(text.replace(",", "")) for text in bars.locator(".value").all_text_contents()]
    assert [width / widths[0] for width in widths] == pytest.approx([value / values[0] for value in values], rel=0.01)
    page.get_by_label("Draw").select_option("line")
    expect(page.get_by_role("img", name="Line of number by type").locator("circle")).to_have_count(5)
    page.keyboard.press("Tab")
    page.get_by_role("tab", name="Chart").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Graph")).to_be_focused()
    expect(page.locator("[role=tabpanel]")).to_contain_text("No graph")


def test_results_can_be_taken_away(tab: Tab, tmp_path: Path) -> None:
    page = tab.open(query="SELECT ?name { ex:Sojourner rdfs:label ?name }")
    with page.expect_download() as found:
        page.get_by_role("button", name="Download as CSV").click()
    found.value.save_as(tmp_path / "results.csv")
    assert (tmp_path / "results.csv").read_bytes().splitlines()[:2] == [b"name", b"Sojourner"]
    # Nothing becomes a formula of a spreadsheet; numbers stay numbers.
    values = """'=1+1', '@x', '-cmd', 'a,"b"', '+1', -2, <urn:x>"""
    tab.go(query=f"SELECT ?v {{ VALUES ?v {{ {' '.join(values.split(', '))} }} }}")
    with page.expect_download() as found:
        page.get_by_role("button", name="Download as CSV").click()
    found.value.save_as(tmp_path / "formulas.csv")
    written = (tmp_path / "formulas.csv").read_bytes().decode().split("\r\n")
    assert written == ["v", "'=1+1", "'@x", "'-cmd", '"a,""b"""', "'+1", "-2", "urn:x", ""]


def test_nothing_runs_while_the_editor_is_fetched(tab: Tab) -> None:
    held: list[Any] = []
    tab.page.route("**/stats", lambda route: held.append(route))
    page = tab.open(query="SELECT ?name { ex:Sojourner rdfs:label ?name }")
    run = page.get_by_role("button", name="Run")
    expect(run).to_be_disabled()
    held[0].continue_()
    expect(page.get_by_text("Sojourner").first).to_be_visible()
    expect(run).to_be_enabled()


def test_who_has_begun_with_a_question_keeps_the_focus(tab: Tab) -> None:
    held: list[Any] = []
    tab.page.route("**/stats", lambda route: held.append(route))
    page = tab.open(query="")
    page.get_by_label("Ask in words").fill("Which")
    held[0].continue_()
    expect(page.get_by_role("button", name="Run")).to_be_enabled()
    page.keyboard.type(" rovers")
    expect(page.get_by_label("Ask in words")).to_have_value("Which rovers")


def test_a_query_can_be_stopped(tab: Tab) -> None:
    page = tab.open(query="")
    expect(page.get_by_role("button", name="Run")).to_be_visible()
    page.route("**/sparql?*", lambda route: None)
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".output")).to_have_text("Stopped.")
    expect(page.get_by_role("button", name="Run")).to_be_visible()


def test_a_question_finds_its_query_and_is_kept(new_tab: Callable[..., Tab], server: Served) -> None:
    kept = {"question": "Which rovers are there?", "query": "SELECT ?rover { ?rover a s:Rover }"}
    httpx.post(f"{server.url}/worlds/space/questions", json=kept).raise_for_status()
    tab = new_tab()
    page = tab.open(query="")
    question, find = page.get_by_label("Ask in words"), page.get_by_role("button", name="Find the query")
    question.fill("Which rovers are there?")
    question.press("Enter")
    page.get_by_role("button", name="Kept query of this question").click()
    expect(page.locator("table.rows tbody tr")).to_have_count(11)
    question.fill("How many rovers are there?")
    find.click()
    expect(page.locator(".queries")).not_to_contain_text("Kept query of this question")
    page.get_by_role("button", name="Kept: Which rovers are there?").click()
    expect(page.locator("table.rows tbody tr")).to_have_count(11)
    question.fill("Name all of them, <b>the rovers</b>")
    find.click()
    page.get_by_role("button", name="Keep the query in the editor").click()
    expect(page.get_by_role("status").filter(has_text="Kept as revision")).to_be_visible()
    listed = httpx.get(f"{server.url}/worlds/space/questions").raise_for_status().json()
    assert {one["question"] for one in listed["questions"]} == {"Name all of them, <b>the rovers</b>", kept["question"]}
    for one in listed["questions"]:
        httpx.delete(f"{server.url}/worlds/space/questions", params={"question": one["iri"]}).raise_for_status()
    assert httpx.get(f"{server.url}/worlds/space/questions").json() == {"questions": [], "count": 0}
