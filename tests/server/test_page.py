"""The web page in Chromium, against a real server: what a person does with it."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.serving import EMBEDDER, ROOT, Served, served
from worlds.server import page as assets
from worlds.server.keys import KeyStore, key_file

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
if not CHROMIUM:
    pytest.skip("there is no Chromium on the PATH", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser; it is in the dev extra")
expect = playwright.expect
expect.set_options(timeout=15_000)  # the machine may be busy

pytestmark = pytest.mark.slow

EX = "https://worlds.example/space/"
SCHEMA = f"{EX}schema#"
WIDE = {"width": 1280, "height": 900}
SMALL = {"width": 360, "height": 740}
SMALLEST = {"width": 320, "height": 640}
EDITORS = ["plain", "yasqe"]
# A page that loaded an image or ran a handler out of this data would say so.
HOSTILE = f"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<{EX}trap> rdfs:label "<img src=x onerror=document.title='run'>trap" ;
  rdfs:comment "**bold** <script>document.title='run'</script> trap" ; rdfs:seeAlso <javascript:document.title='run'> .
<javascript:document.title='run'> rdfs:label "trap of a script" .
<{EX}note> rdfs:label "ملاحظة عن المريخ"@ar ; rdfs:comment "هذه ملاحظة عن كوكب المريخ"@ar .
"""


@dataclass
class Tab:
    """A page of the browser, and what went wrong in it."""

    page: Any
    url: str
    wrong: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # patterns of what may go wrong

    def open(self, **state: str | list[str]) -> Any:
        """The page in this state, which is its address."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}#{urlencode(state, doseq=True)}")
        return self.page

    def watch(self) -> None:
        """Note errors, what breaks the policy, and requests to anybody but the server."""
        home = urlsplit(self.url).netloc

        def said(message: Any) -> None:
            if message.type in ("error", "warning"):
                self.wrong.append(message.text)

        def asked(request: Any) -> None:
            if urlsplit(request.url).netloc not in (home, ""):
                self.wrong.append(f"a request to {request.url}")

        self.page.on("console", said)
        self.page.on("request", asked)
        self.page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))

    def check(self) -> None:
        """Nothing went wrong but what was expected to."""
        left = [text for text in self.wrong if not any(re.search(one, text) for one in self.expected)]
        assert not left


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two worlds; `space` has three revisions."""
    made = tmp_path_factory.mktemp("worlds")
    with worlds.open(made / "space.db", embedder=HashingEmbedder()) as world:
        world.load(ROOT / "examples" / "space.ttl", author="ann", message="The space of space.ttl")
        world.load(HOSTILE.encode(), format="ttl", graph="urn:notes", author="bob", message="Notes <b>of</b> others")
        world.add([("ex:Sojourner", "s:nickname", '"little rover"@en')], author="ann", message="A nickname")
    with worlds.open(made / "empty.db", embedder=None):
        pass
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served(folder, "--allow-writes", "--readers", "2", embedder=EMBEDDER) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def new_tab(browser: Any, server: Served) -> Iterator[Callable[..., Tab]]:
    """Makes tabs, and looks at the end whether they had errors, broke the policy, or asked somebody else."""
    tabs: list[Tab] = []
    contexts: list[Any] = []

    def make(base: str = f"{server.url}/worlds/space", viewport: dict[str, int] = WIDE, **options: Any) -> Tab:
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        tab = Tab(context.new_page(), base)
        tab.page.set_default_timeout(20_000)
        tab.watch()
        tabs.append(tab)
        return tab

    yield make
    for context in contexts:
        context.close()
    for tab in tabs:
        tab.check()


@pytest.fixture
def tab(new_tab: Callable[..., Tab]) -> Tab:
    return new_tab()


def first_labels(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".hit h3").all_inner_texts()]


# --- search -----------------------------------------------------------------------------------------------------------


def test_search_as_one_types(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(".figures")).to_contain_text("quads")
    page.keyboard.type("ingenuity helicop", delay=20)
    expect(page.locator(".hit").first).to_be_visible()
    page.keyboard.type("ter")
    expect(page.locator(".hit h3 a", has_text="Ingenuity").first).to_be_visible()
    expect(page.locator(".hit mark").first).to_be_visible()
    expect(page.locator(".status")).to_contain_text(re.compile(r"results? in "))
    expect(page).to_have_url(re.compile(r"#q=ingenuity\+helicopter$"))
    expect(page).to_have_title("ingenuity helicopter · space")


def test_the_first_result_comes_within_300_milliseconds(tab: Tab) -> None:
    page = tab.open()
    box = page.get_by_role("searchbox")
    taken = []
    for words in ("moon", "rover", "comet", "rings", "telescope", "station", "probe"):
        box.fill("")
        expect(page.locator(".figures")).to_be_visible()
        taken.append(
            page.evaluate(
                """words => new Promise(done => {
                    const box = document.getElementById("search-box"), began = performance.now();
                    new MutationObserver((_, seen) => {
                        if (!document.querySelector(".hit")) return;
                        seen.disconnect();
                        done(performance.now() - began);
                    }).observe(document.querySelector(".results"), {childList: true});
                    box.value = words;
                    box.dispatchEvent(new Event("input"));
                })""",
                words,
            )
        )
    assert min(taken) < 300, taken  # the best, because the machine may do other things


def test_facets_filter_and_the_address_keeps_it(tab: Tab) -> None:
    page = tab.open(q="moon")
    facets = page.get_by_role("complementary", name="Filters")
    facets.get_by_role("checkbox", name="English").check()
    expect(page.locator(".hit .meta", has_text="English")).to_have_count(10)
    facets.get_by_role("button", name="more").first.click()
    facets.get_by_role("checkbox", name="Flyby probe").check()
    expect(page.locator(".hit", has_not=page.locator(".type", has_text="Flyby probe"))).to_have_count(0)
    expect(page).to_have_url(re.compile("languages=en"))
    assert f"types={quote(SCHEMA + 'Flyby', safe='')}" in page.url
    # What else could be chosen stays in sight, with its counts.
    expect(facets.get_by_role("checkbox", name="German")).to_be_visible()
    found = first_labels(page)
    page.reload()
    expect(page.locator(".hit")).to_have_count(len(found))
    assert first_labels(page) == found
    expect(facets.get_by_role("checkbox", name="Flyby probe")).to_be_checked()
    page.go_back()
    expect(facets.get_by_role("checkbox", checked=True)).to_have_count(1)
    expect(facets.get_by_role("checkbox", name="English")).to_be_checked()
    facets.get_by_role("button", name="Remove all filters").click()
    expect(facets.get_by_role("checkbox", name="English")).not_to_be_checked()


def test_the_facets_say_what_they_count(tab: Tab) -> None:
    page = tab.open(q="moon rover")
    said = page.get_by_role("complementary", name="Filters").locator(".unit")
    best = "Counts are of passages, among the best 100 that the other filters leave."
    expect(said).to_have_text(best)
    # The counts of a facet that filters are of more than what is listed, and may be cut where the list is not.
    tab.open(q="moon rover", languages="en", types=f"{SCHEMA}Rover", limit="50")
    expect(page.locator(".status")).to_have_text(re.compile(r"^\d+ results in "))
    expect(said).to_have_text(best)
    tab.open(q="Sojourner", mode="text")
    expect(said).to_have_text("Counts are of the passages that the other filters leave.")


def test_a_score_is_explained_when_asked(tab: Tab) -> None:
    page = tab.open(q="red planet", group_by="none")
    hit = page.locator(".hit").first
    assert hit.locator(".legs").count() == 0
    button = hit.get_by_role("button")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    rows = hit.locator(".legs tbody tr")
    expect(rows).to_have_count(2)
    parts = [float(text) for text in rows.locator("td.sum").all_inner_texts()]
    whole = float(hit.locator(".legs tfoot td").inner_text())
    assert sum(parts) == pytest.approx(whole, abs=0.001)
    assert float(hit.locator(".score").inner_text()) == pytest.approx(whole, abs=0.001)
    page.get_by_role("button", name="How this was answered").click()
    how = page.locator(".how")
    expect(how).to_contain_text("hybrid")
    expect(how.locator(".timings tr").first).to_be_visible()
    tab.open(q="red planet")  # where one result stands for the others of its subject, that is a stage
    hit.get_by_role("button").click()
    expect(hit.locator(".stages")).to_contain_text("Grouping")


def test_more_results_follow(tab: Tab) -> None:
    page = tab.open(q="the moon and its craters", group_by="none")
    expect(page.locator(".hit")).to_have_count(10)
    page.get_by_role("button", name="More results").click()
    expect(page.locator(".hit")).to_have_count(20)
    expect(page.locator(".hit h3 a").nth(10)).to_be_focused()
    keys = page.locator(".hit").evaluate_all("hits => hits.map(hit => hit.innerText)")
    assert len(set(keys)) == 20
    page.locator(".hit").nth(12).get_by_role("button").click()
    expect(page.locator(".hit").nth(12).locator(".legs tfoot td")).to_have_text(
        re.compile(re.escape(page.locator(".hit").nth(12).locator(".score").inner_text()[:4]))
    )


def test_options_change_the_search(tab: Tab) -> None:
    page = tab.open(q="mars")
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Find by").select_option("text")
    expect(page.locator(".busy")).to_have_count(0)
    page.get_by_role("button", name="How this was answered").click()
    expect(page.locator(".facts")).to_contain_text("text")
    grouped = page.get_by_label("One result for each subject")
    expect(grouped).to_be_checked()
    expect(page.locator(".hit")).to_have_count(10)
    links = page.locator(".hit h3 a").evaluate_all("links => links.map(link => link.href)")
    assert len(set(links)) == 10
    assert "group_by" not in page.url
    grouped.uncheck()
    expect(page.locator(".options summary")).to_have_text("Options (2 set)")
    expect(page.locator(".busy")).to_have_count(0)
    links = page.locator(".hit h3 a").evaluate_all("links => links.map(link => link.href)")
    assert len(set(links)) < len(links) == 10
    page.get_by_label("Only subjects with this SPARQL pattern").fill("?subject a s:Rover")
    page.get_by_label("Only subjects with this SPARQL pattern").press("Control+Enter")
    expect(page.locator(".hit", has_not=page.locator(".type", has_text="Rover"))).to_have_count(0)
    expect(page.locator(".hit").first).to_be_visible()
    assert {"mode=text", "group_by=none"} <= set(urlsplit(page.url).fragment.split("&"))
    expect(page.locator(".options summary")).to_have_text("Options (3 set)")
    tab.expected.append("400")
    page.get_by_label("Only subjects with this SPARQL pattern").fill("?subject a")
    page.get_by_label("Only subjects with this SPARQL pattern").press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("where takes a SPARQL group pattern")


def test_a_late_answer_does_not_replace_a_newer_one(tab: Tab) -> None:
    page = tab.open()
    slow: list[Any] = []
    page.route(re.compile(r"/search\?q=comet&"), lambda route: slow.append(route))
    box = page.get_by_role("searchbox")
    box.fill("comet")
    while not slow:
        page.wait_for_timeout(20)
    box.fill("saturn")
    expect(page.locator(".hit").first).to_contain_text("Saturn")
    # The request before was given up by the browser, so nobody can answer it any more.
    assert slow[0].request.failure == "net::ERR_ABORTED"
    expect(page.locator(".hit").first).to_contain_text("Saturn")


def test_the_keyboard_does_it_all(tab: Tab) -> None:
    page = tab.open(history="1")
    expect(page.get_by_role("heading", name="The space of space.ttl")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("titan")
    expect(page.locator(".hit h3 a").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit h3 a").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit h3 a").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("ArrowDown")
    name = page.locator(".hit h3 a").first.inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.go_back()
    page.get_by_role("searchbox").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("")
    expect(page.locator(".figures")).to_be_visible()


def test_nothing_found_says_what_to_do(tab: Tab) -> None:
    page = tab.open(q="xyzzyq", mode="text")
    expect(page.locator(".empty")).to_contain_text("Nothing found")
    tab.open(q="moon", types="urn:none")
    page.get_by_role("button", name="Remove the filters").click()
    expect(page.locator(".hit")).to_have_count(10)


# --- entities ---------------------------------------------------------------------------------------------------------


def test_an_entity_has_a_page(tab: Tab) -> None:
    page = tab.open(q="Sojourner")
    page.locator(".hit h3 a", has_text="Sojourner").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sojourner")
    assert f"entity={quote(EX + 'Sojourner', safe='')}" in page.url
    expect(page.locator(".types")).to_have_text("Rover")
    expect(page.locator(".properties").first).to_contain_text("little rover")
    expect(page.locator(".iri code")).to_have_text(f"{EX}Sojourner")
    changes = page.locator("section", has=page.get_by_role("heading", name="Changes"))
    expect(changes.locator(".revision")).to_have_count(2)
    similar = page.locator("section", has=page.get_by_role("heading", name="Similar"))
    expect(similar.locator("li")).to_have_count(6)
    graph = page.get_by_role("group", name="Neighbours of Sojourner")
    node = graph.get_by_role("link", name="Mars", exact=True)
    node.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Mars")
    incoming = page.locator("section", has=page.get_by_role("heading", name="What points here"))
    expect(incoming.get_by_role("link", name="Sojourner")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sojourner")
    page.go_back()
    expect(page.get_by_role("searchbox")).to_have_value("Sojourner")
    expect(page.locator(".hit").first).to_be_visible()


def test_values_beyond_the_first_are_fetched(tab: Tab) -> None:
    page = tab.open(entity=f"{EX}NASA")
    incoming = page.locator("section", has=page.get_by_role("heading", name="What points here"))
    agency = incoming.locator("dt:has-text('agency') + dd")
    expect(agency.locator("li")).to_have_count(20)
    agency.get_by_role("button").click()
    expect(agency.get_by_role("button")).to_have_count(0)
    assert agency.locator("li").count() > 20


def test_what_nobody_spoke_of(tab: Tab) -> None:
    tab.expected.append("404")
    page = tab.open(entity="urn:nobody")
    expect(page.locator(".empty")).to_contain_text("Nothing is said about it")


# --- queries ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=EDITORS)
def editor(request: pytest.FixtureRequest, new_tab: Callable[..., Tab]) -> tuple[Tab, Callable[[str], None]]:
    """A tab with either editor, and a way to write a query in it."""
    tab = new_tab()
    page = tab.page
    if request.param == "yasqe":
        if assets.EDITOR not in assets.assets():
            pytest.skip("YASGUI's editor is not here: python -m worlds.server.bundle fetches it")

        def write(query: str) -> None:
            expect(page.locator(".CodeMirror")).to_be_visible()
            page.evaluate("query => document.querySelector('.CodeMirror').CodeMirror.setValue(query)", query)

        return tab, write
    page.add_init_script(
        "document.addEventListener('readystatechange', () => document.documentElement.dataset.editor = 'plain')"
    )
    return tab, lambda query: page.get_by_label("SPARQL query").fill(query)


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
    expect(page.locator(".line-numbers .wrong, .CodeMirror .wrong")).to_have_count(1)


def test_control_enter_runs_the_query(editor: tuple[Tab, Callable[[str], None]]) -> None:
    tab, write = editor
    page = tab.open(query="")
    write("ASK { ?s a s:Rover }")
    page.locator(".plain-editor textarea, .CodeMirror textarea").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".verdict")).to_have_text("Yes")


def test_prefixes_are_inserted(editor: tuple[Tab, Callable[[str], None]]) -> None:
    tab, write = editor
    page = tab.open(query="")
    write('SELECT ?x { ?x a s:Rover ; rdfs:label "foo:bar" . SERVICE w:search { ?hit w:query "x" } } # xsd:date')
    page.get_by_role("button", name="Insert prefixes").click()
    text = page.evaluate(
        """document.querySelector(".CodeMirror")?.CodeMirror.getValue()
        ?? document.querySelector(".editor textarea").value"""
    )
    lines = text.split("\n\n")[0].split("\n")
    assert [line.split(":")[0] for line in lines] == ["PREFIX rdfs", "PREFIX s", "PREFIX w"]


def test_the_editor_knows_the_prefixes_of_the_world(tab: Tab) -> None:
    if assets.EDITOR not in assets.assets():
        pytest.skip("YASGUI's editor is not here: python -m worlds.server.bundle fetches it")
    page = tab.open(query="")
    page.locator(".CodeMirror").wait_for()
    icons = page.locator(".parseErrorIcon")
    expect(icons).to_have_count(0)
    for query, wrong in {
        "SELECT ?x { ?x a s:Rover }": 0,
        'SELECT ?x {\n  SERVICE w:search { ?hit w:query "moon" ; w:subject ?x }\n}': 0,
        "SELECT ?x {\n  ?x a nobody:Rover\n}": 1,
        "PREFIX nobody: <urn:nobody:>\nSELECT ?x { ?x a nobody:Rover , s:Rover }": 0,
        "SELECT ?x { ?x a s:Rover": 0,  # not yet whole
        "SELECT ?x { ?x a }": 1,
    }.items():
        page.evaluate("query => document.querySelector('.CodeMirror').CodeMirror.setValue(query)", query)
        assert icons.count() == wrong, query


def test_the_plain_editor_stands_in_when_the_other_does_not_come(tab: Tab) -> None:
    tab.expected.append("net::ERR_FAILED")
    tab.page.route("**/page/vendor/*", lambda route: route.abort())
    page = tab.open(query="")
    expect(page.get_by_label("SPARQL query")).to_have_value(re.compile("SERVICE w:search"))
    expect(page.locator(".line-numbers")).to_contain_text("12")


def test_names_of_the_world_are_completed(tab: Tab) -> None:
    if assets.EDITOR not in assets.assets():
        pytest.skip("YASGUI's editor is not here: python -m worlds.server.bundle fetches it")
    page = tab.open(query="")
    page.locator(".CodeMirror").wait_for()
    page.evaluate(
        """() => {
            const editor = document.querySelector(".CodeMirror").CodeMirror;
            editor.setValue("SELECT * { ?thing a s:Ro }");
            editor.setCursor(0, 24);
            editor.focus();
        }"""
    )
    page.keyboard.press("Control+Space")
    hints = page.locator(".CodeMirror-hint")
    assert "s:Rotorcraft" in expect_texts(hints)
    hints.filter(has_text=re.compile("^s:Rover$")).click()
    written = page.evaluate("document.querySelector('.CodeMirror').CodeMirror.getValue()")
    assert written == "SELECT * { ?thing a s:Rover }"


def expect_texts(place: Any) -> list[str]:
    """The texts, once there are some."""
    expect(place.first).to_be_visible()
    return [str(text) for text in place.all_inner_texts()]


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


def test_there_is_no_example_about_graphs_without_graphs(new_tab: Callable[..., Tab], server: Served) -> None:
    page = new_tab(f"{server.url}/worlds/empty").open(query="")
    examples = page.get_by_role("combobox", name="Examples")
    expect(examples.locator("option", has_text="The types and their numbers")).to_have_count(1)
    expect(examples.locator("option", has_text="What is in which graph")).to_have_count(0)


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


def test_a_query_can_be_stopped(tab: Tab) -> None:
    page = tab.open(query="")
    expect(page.get_by_role("button", name="Run")).to_be_visible()
    page.route("**/sparql", lambda route: None)
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".output")).to_have_text("Stopped.")
    expect(page.get_by_role("button", name="Run")).to_be_visible()


# --- curation ---------------------------------------------------------------------------------------------------------


def test_a_revision_is_shown_and_undone(tab: Tab) -> None:
    page = tab.open(history="")
    expect(page.locator(".empty")).to_contain_text("Choose a revision")
    page.get_by_role("link", name=re.compile("A nickname")).last.click()
    expect(page.locator(".diff.added li")).to_have_text(re.compile("s:nickname little rover"))
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
    # What stands in the way is said in words, and the newest can be undone in turn.
    tab.expected.append("409")
    page.get_by_role("button", name="Undo this revision").click()
    page.get_by_role("button", name="Undo it").click()
    expect(page.get_by_role("alert")).to_contain_text("A conflict")
    expect(page.get_by_role("alert")).to_contain_text("cannot be undone as a whole")
    expect(page.get_by_role("button", name="Undo the rest of it")).to_be_visible()
    page.locator(".history-list a").first.click()
    page.get_by_role("button", name="Undo this revision").click()
    page.get_by_role("button", name="Undo it").click()
    expect(page.locator(".outcome")).to_contain_text("is undone by")


def test_an_undo_asks_for_a_key(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:b", '"c"')], message="the only one")
    reader = KeyStore(key_file(path)).add("reader", {"*": "read"})[1]
    secret = KeyStore(key_file(path)).add("carla", {"*": "write"})[1]
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


# --- every screen -----------------------------------------------------------------------------------------------------

VIEWS: dict[str, dict[str, str | list[str]]] = {
    "start": {},
    "search": {"q": "soil from another world", "languages": "en"},
    "nothing": {"q": "xyzzyq", "mode": "text"},
    "entity": {"entity": f"{EX}Mars"},
    "table": {"query": "SELECT ?s ?p ?o { ?s s:description ?o ; ?p ?o } LIMIT 20"},
    "graph": {"query": "CONSTRUCT { ?a s:target ?b } { ?a s:target ?b } LIMIT 40", "as": "graph"},
    "chart": {"query": "SELECT ?t (COUNT(*) AS ?n) { ?s a ?t } GROUP BY ?t LIMIT 20", "as": "chart"},
    "history": {"history": "2"},
}
READY = {"start": ".figures", "search": ".how", "nothing": ".empty", "entity": ".short-list", "table": ".rows"}

CHECKS = (ROOT / "tests" / "support" / "page_checks.js").read_text("utf-8")


@pytest.mark.parametrize("viewport", [WIDE, SMALL, SMALLEST], ids=["wide", "small", "smallest"])
def test_every_view_fits_and_can_be_read(new_tab: Callable[..., Tab], viewport: dict[str, int]) -> None:
    tab = new_tab(viewport=viewport)
    for view, state in VIEWS.items():
        page = tab.open(**state)
        page.locator(READY.get(view, ".results-head, .diff")).first.wait_for()
        page.wait_for_load_state("networkidle")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CHECKS) == [], (view, scheme)


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
    page.on("request", lambda request: asked.append(request.url))
    began = time.monotonic()
    page.go_back()
    expect(page.locator(".hit")).to_have_count(50)
    assert page.evaluate("scrollY") == pytest.approx(place, abs=2)
    assert not [url for url in asked if "/search" in url], time.monotonic() - began
