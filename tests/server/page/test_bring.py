"""Bringing files in, translating, matching a pasted column and a new world's first steps, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import worlds
from tests.support.page import EX, Tab, expect, expect_readable
from tests.support.serving import ROOT, Served, served
from worlds.doors.server.keys import keys_of

pytestmark = pytest.mark.slow
MOONS = """name,planet,discovered,note_de
Titania,Uranus,11.01.1787,Größter Mond des Uranus
Oberon,Uranus,11.01.1787,
Naiad,Neptune,18.09.1989,Innerster Mond
"""
SHAPE = f"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
[] a sh:NodeShape ; sh:targetClass <{EX}schema#Rover> ;
  sh:property [ sh:path <{EX}schema#launched> ; sh:datatype xsd:date ] ."""
NAMES = [
    *("Sojourner", "Mars", "Venus", "Titan", "Europa", "Curiosity", "Spirit", "Opportunity", "Phobos", "Io", "Jupiter"),
    *("Buzz Aldrin", "Neil Armstrong", "Yuri Gagarin", "Saturn", "Armstrong", "Hubble", "Voyager", "Moon", "Soyuz"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a world of space, one that follows a source, and an empty one."""
    made = tmp_path_factory.mktemp("worlds")
    notes = made / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Rings\n\nRings of ice.\n")
    with pytest.MonkeyPatch.context() as patch, worlds.open(made / "space.db", embedder=None) as world:
        patch.setenv("XDG_CONFIG_HOME", str(made.parent))  # the user's, as whom the server runs
        world.sources.add(str(notes), base="https://worlds.example/notes/")
        world.load(ROOT / "examples" / "space.ttl", author="ann")
        world.shapes.load(SHAPE.encode(), format="turtle")
    with worlds.open(made / "empty.db", embedder=None):
        pass
    return made


@pytest.fixture(scope="module")
def keys(folder: Path) -> dict[str, str]:
    store = keys_of(folder)
    return {level: store.add(f"{level[0]}-ann", {"*": level})[1] for level in ("read", "propose", "write")}


@pytest.fixture(scope="module")
def server(folder: Path, keys: dict[str, str]) -> Iterator[Served]:
    with served(folder, "--allow-writes", "--readers", "1") as found:
        yield found


@pytest.fixture
def opened(new_tab: Callable[..., Tab], keys: dict[str, str]) -> Callable[..., Tab]:
    """Makes tabs in which the key of a level was entered."""

    def make(level: str) -> Tab:
        return new_tab(key=keys[level])

    return make


def ask(tab: Tab, query: str) -> list[dict[str, str]]:
    answer = httpx.get(f"{tab.url}/sparql", params={"query": query}, headers={"accept": "application/json"}, timeout=60)
    rows = answer.json()["results"]["bindings"]
    return [{name: value["value"] for name, value in row.items()} for row in rows]


def last(tab: Tab) -> dict[str, Any]:
    return dict(httpx.get(f"{tab.url}/history", params={"limit": 1}, timeout=60).json()["revisions"][0])


def choose(page: Any, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    page.locator("#bring-file").set_input_files({"name": name, "mimeType": "", "buffer": data})


def choose_large(page: Any, file: Path, content: bytes) -> None:
    """Choose a file on the disk: what goes through the driver of the browser takes it seconds."""
    file.write_bytes(content)
    page.locator("#bring-file").set_input_files(file)


# --- bringing in ------------------------------------------------------------------------------------------------------


def test_a_table_is_mapped_by_menus_seen_kept_and_taken_back(tab: Tab) -> None:
    before = last(tab)["revision"]
    page = tab.open()
    page.get_by_role("link", name="Bring in").click()
    choose(page, "moons.csv", MOONS)
    columns = page.locator(".map-column")
    expect(columns).to_have_count(4)
    assert page.get_by_label("A", exact=True).input_value() == f"{EX}schema#Moon", "the class of the file's name"
    # Two columns are changed: a text of one language becomes one of another, a name an entity.
    planet, note = columns.nth(1), columns.nth(3)
    planet.get_by_label("planet: property").fill("s:planet")
    planet.get_by_label("planet: kind of value").select_option(label="name of an entity")
    expect(planet.get_by_label("planet: class of the entities")).to_have_value(f"{EX}schema#IceGiant")
    expect(planet.get_by_label("planet: property")).to_have_value("s:planet")
    expect(planet).to_contain_text("A name that no entity has is left out.")
    expect(planet.get_by_role("link", name="Uranus").first).to_be_visible()
    note.get_by_label("note_de: property").fill("rdfs:comment")
    note.get_by_label("note_de: language").select_option("en")
    expect(note.locator(".map-samples .tag").first).to_have_text("en")
    expect_readable(page, "mapping")
    page.get_by_role("button", name="Preview the changes").click()
    expect(page.get_by_role("heading", name=re.compile(r"It would add \d+ quads and remove 0"))).to_be_visible()
    expect(page.locator(".bring-outcome .diff-group", has_text="Titania")).to_contain_text("Uranus")
    expect_readable(page, "difference")
    assert last(tab)["revision"] == before, "nothing is kept by looking"
    page.get_by_label("Message").fill("moons of a list")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator(".outcome")).to_contain_text("moons.csv is in")
    query = """SELECT ?planet ?c ?d { ?m rdfs:label "Titania" ; ?p ?planet ; ?q ?d ; rdfs:comment ?c
        FILTER(LANG(?c) = "en" && ISIRI(?planet) && CONTAINS(STR(?p), "planet") && CONTAINS(STR(?q), "discovered")) }"""
    (row,) = ask(tab, query)
    assert row["planet"] == f"{EX}Uranus"
    assert last(tab)["message"] == "moons of a list"
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".outcome")).to_contain_text("is out again")
    assert ask(tab, query) == []


def test_menus_make_dates_lists_keys_and_columns_that_are_left_out(tab: Tab) -> None:
    page = tab.open(bring="")
    choose(page, "things.csv", "code,when,tags,junk,yes\nA 1,03/04/2020,a+b,x,ja\nB 2,05/06/2021,c,y,nein\n")
    column = {name: page.locator(".map-column", has_text=name).first for name in ("when", "tags", "junk", "yes")}
    when = column["when"]
    when.get_by_label("when: kind of value").select_option(label="date")
    when.get_by_label("when: format of dates").select_option(label="31/12/1999")
    expect(when.locator(".map-samples li").first).to_contain_text("2020-04-03")
    when.get_by_label("when: format of dates").select_option(label="12/31/1999")
    expect(when.locator(".map-samples li").first).to_contain_text("2020-03-04")
    page.get_by_label("junk: kind of value").select_option(label="left out")
    page.get_by_label("yes: kind of value").select_option(label="yes or no")
    expect(page.locator(".problems")).to_contain_text("is no boolean")
    page.get_by_label("yes: words for yes and no").fill("ja|nein")
    page.get_by_label("yes: words for yes and no").press("Enter")
    expect(page.locator(".problems")).to_have_count(0)
    page.get_by_label("A", exact=True).select_option(label="another…")
    page.get_by_label("Class, a word or an IRI").first.fill("Strange thing")
    page.get_by_label("New IRIs begin with").first.fill("https://mine.example/")
    page.get_by_label("New IRIs begin with").first.press("Tab")
    page.get_by_label("Known by (key)").select_option("when")
    expect(page.locator(".mapping")).to_contain_text("https://mine.example/things/03%2F04%2F2020")
    page.get_by_role("button", name="Preview the changes").click()
    difference = page.locator(".bring-outcome .diff")
    expect(difference).to_contain_text("StrangeThing")
    expect(difference).not_to_contain_text("junk")
    page.get_by_role("button", name="Leave it").click()
    expect(page.locator(".bring-place")).to_be_empty()


def test_rdf_shows_its_difference_violations_and_graph(tab: Tab) -> None:
    before = last(tab)["revision"]
    page = tab.open(bring="")
    rover = f'<{EX}New> a <{EX}schema#Rover> ; <{EX}schema#launched> "soon" ; <rel> <{EX}Mars> .'
    choose(page, "rover.ttl", rover)
    expect(page.locator(".bring-violations")).to_contain_text("launched")
    expect(page.locator(".bring-violations")).to_contain_text("1 violation")
    page.get_by_label("Graph", exact=True).select_option(label="another…")
    page.get_by_label("Another graph").fill("urn:rovers")
    page.get_by_label("Another graph").press("Enter")
    expect(page.locator(".bring-outcome .diff li").first).to_contain_text("in rovers")
    # Left without a word it is asked about, and nothing of it is kept.
    questions = tab.dialogs(accept=True)
    page.get_by_role("link", name="Health").click()
    assert questions == ["rover.ttl is not kept yet. Leave all the same?"]
    assert last(tab)["revision"] == before


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", "", "empty.csv is empty"),
        ("blank.csv", "\n\n", "the table is empty"),
        ("broken.ttl", '<urn:a> <urn:b> "x .\n<urn:c> .', "Line 1"),
        ("notes.pdf", "x", "notes.pdf cannot be read here"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tab: Tab, name: str, content: str | bytes, said: str) -> None:
    tab.expected.append("400")
    page = tab.open(bring="")
    choose(page, name, content)
    expect(page.get_by_role("alert")).to_contain_text(said)


def test_a_file_that_is_too_large_says_so(tab: Tab, tmp_path: Path) -> None:
    page = tab.open(bring="")
    choose_large(page, tmp_path / "big.ttl", b"#" * (17 * 2**20))
    expect(page.get_by_role("alert")).to_contain_text("larger than 16 MB")


def test_rows_of_the_wrong_length_are_named_and_five_megabytes_are_tried(tab: Tab, tmp_path: Path) -> None:
    page = tab.open(bring="")
    choose(page, "short.csv", "a,b\n1,2\n3,4,5\n6\n")
    expect(page.locator(".problems")).to_contain_text("Row 2: 3 cells instead of 2")
    page.get_by_role("button", name="Preview the changes").click()
    expect(page.locator(".bring-outcome .notes").first).to_contain_text("row 2: 3 cells instead of 2")
    page.once("dialog", lambda dialog: dialog.accept())
    rows = "".join(f"{number},{'word ' * 2500}\n" for number in range(400))
    choose_large(page, tmp_path / "long.csv", f"id,text\n{rows}".encode())
    page.get_by_role("button", name="Preview the changes").click()
    expect(page.get_by_role("heading", name=re.compile("It would add"))).to_be_visible(timeout=60_000)


def test_a_source_is_synced_from_the_page(tab: Tab, folder: Path) -> None:
    page = tab.open(bring="")
    source = page.locator(".sources li", has_text="notes")
    expect(source).to_contain_text("never read")
    source.get_by_role("button", name="Sync notes").click()
    expect(page.locator(".notice")).to_contain_text("notes: 1 new as revision")
    expect(source).to_contain_text("1 file")
    (folder / "notes" / "b.md").write_text("# Moons\n\nMoons of rock.\n")
    source.get_by_role("button", name="Sync notes").click()
    expect(source).to_contain_text("2 files")
    source.get_by_role("button", name="Sync notes").click()
    expect(page.locator(".notice")).to_contain_text("nothing has changed there")


def test_without_the_level_it_is_said_how_to_get_it(opened: Callable[..., Tab]) -> None:
    tab = opened("read")
    for view in ("bring", "translate", "new"):
        page = tab.open(**{view: ""})
        expect(page.locator(".empty")).to_contain_text("takes a key with the level propose")
        expect(page.locator(".empty code").first).to_have_text("worlds keys add FOLDER YOUR-NAME --level propose")
    tab = opened("propose")
    page = tab.open(bring="")
    choose(page, "a.ttl", f'<{EX}New> <{EX}schema#says> "hello" .')
    page.get_by_role("button", name="Propose it").click()
    expect(page.locator(".notice")).to_contain_text("Proposed as proposal")


# --- a new world ------------------------------------------------------------------------------------------------------


def test_the_first_entity_of_a_world_is_made_without_a_document(new_tab: Callable[..., Tab], server: Served) -> None:
    tab = new_tab(f"{server.url}/worlds/empty")
    page = tab.open()
    expect(page.get_by_label("New names begin with")).to_have_value("https://example.org/empty/")
    expect_readable(page, "first steps")
    page.get_by_label("New names begin with").fill("https://people.example/")
    page.get_by_label("Its class").fill("Famous person")
    page.get_by_label("Its name").fill("Ada Lovelace")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ada Lovelace")
    assert ask(tab, "SELECT ?t { <https://people.example/ada-lovelace> a ?t }") == [
        {"t": "https://people.example/FamousPerson"}
    ]
    page = tab.open(bring="")
    expect(page.locator(".beginning")).to_contain_text("New IRIs begin with https://people.example/")
    page.locator(".beginning summary").click()
    page.get_by_label("Prefix", exact=True).fill("pp")
    page.get_by_label("stands for").fill("https://people.example/")
    page.get_by_role("button", name="Add the prefix").click()
    expect(page.locator(".beginning .facts")).to_contain_text("pp:")


# --- translations -----------------------------------------------------------------------------------------------------


def test_ten_labels_are_translated_by_keyboard_as_one_revision(opened: Callable[..., Tab]) -> None:
    tab = opened("write")
    before = last(tab)["revision"]
    page = tab.open(translate="")
    page.get_by_label("Within").select_option(label="Moon")
    expect(page.locator(".translations tbody tr").first).to_be_visible()
    page.get_by_label("Another language").fill("fr")
    page.get_by_label("Another language").press("Enter")
    expect(page.get_by_role("columnheader", name=re.compile("French"))).to_be_visible()
    cells = page.get_by_role("textbox", name=re.compile(", French$"))
    names = page.locator(".translations tbody th").all_inner_texts()[:10]
    cells.first.focus()
    for name in names:
        page.keyboard.insert_text(f"{name} (fr)")
        page.keyboard.press("Enter")
    page.keyboard.type("a slip")
    page.keyboard.press("Escape")
    expect(page.locator(".translate-view .status")).to_have_text("10 changes")
    expect_readable(page, "translations")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("10 translations saved")
    assert last(tab)["revision"] == before + 1
    assert (last(tab)["author"], last(tab)["message"]) == ("w-ann", "Translations: French")
    assert (
        len(ask(tab, 'SELECT ?n { ?m a s:Moon ; rdfs:label ?n FILTER(STRENDS(?n, " (fr)") && LANG(?n) = "fr") }')) == 10
    )
    # A value that is replaced, and one that is taken away.
    page = tab.open(translate="", within=f"class {EX}schema#Moon", lang="fr", all="1")
    cell = page.get_by_role("textbox", name=re.compile(r"^.* \(fr\), French$")).first
    cell.fill("Autre")
    page.get_by_role("textbox", name=re.compile(r"^.* \(fr\), French$")).nth(1).fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("2 translations saved")
    assert (last(tab)["added"], last(tab)["removed"]) == (1, 2)
    # A text keeps its direction, and the address may name a language in capitals.
    quads = {"add": [f'<{EX}Titan> <http://www.w3.org/2000/01/rdf-schema#label> "T"@ar--rtl .']}
    httpx.post(f"{tab.url}/quads", json=quads, timeout=60).raise_for_status()
    page = tab.open(translate="", within=f"class {EX}schema#Moon", lang="AR", all="1")
    page.locator('input[lang="ar"]:not(.missing)').fill("U")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("1 translation saved")
    assert httpx.get(f"{tab.url}/history/{last(tab)['revision']}", timeout=60).text.count("@ar--rtl") >= 2
    gone = quads["add"][0].replace('"T"', '"U"')
    httpx.post(f"{tab.url}/quads", json={"remove": [gone]}, timeout=60).raise_for_status()


def test_two_who_translate_do_not_overwrite_each_other(opened: Callable[..., Tab]) -> None:
    tab = opened("write")
    tab.expected.append("409")
    page = tab.open(translate="", within=f"class {EX}schema#Moon", lang="it")
    cell = page.get_by_role("textbox", name="Titan, Italian", exact=True)
    cell.fill("Titano")
    quads = {"add": [f'<{EX}Titan> <http://www.w3.org/2000/01/rdf-schema#label> "Titano!"@it .']}
    assert httpx.post(f"{tab.url}/quads", json=quads, timeout=60).status_code == 200
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".edit-outcome")).to_contain_text("Somebody else has changed some of these entities meanwhile")
    expect(cell).to_have_value("Titano")
    page.get_by_role("button", name="Propose").click()
    expect(page.locator(".notice")).to_contain_text("Proposed as proposal")


# --- matching ---------------------------------------------------------------------------------------------------------


def test_twenty_names_are_matched_three_of_them_by_keyboard(tab: Tab) -> None:
    page = tab.open(match="")
    page.get_by_label("Paste a column").fill("\n".join([*NAMES, "=Xyzzy"]))
    page.get_by_role("button", name="Find entities").click()
    status = page.locator(".match-view .status")
    expect(status).to_have_text("17 names of 21 matched, 1 without a match, 3 to decide")
    expect(page.locator(".match-detail h2")).to_have_text("Voyager")
    expect(page.locator(".match-options")).to_be_focused()
    expect(page.locator(".match-about").first).to_contain_text("Voyager 1")
    expect_readable(page, "matches")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".match-detail h2")).to_have_text("Moon")
    # Two are called so: their classes tell them apart.
    options = page.locator(".match-options > li")
    kinds = [options.nth(place).locator(".unit").first.inner_text() for place in range(2)]
    assert len(set(kinds)) == 2, kinds
    page.keyboard.press("Enter")
    expect(page.locator(".match-detail h2")).to_have_text("Soyuz")
    page.keyboard.press("n")
    expect(status).to_have_text("19 names of 21 matched, 2 without a match, 0 to decide")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    lines = Path(download.value.path()).read_bytes().decode().split("\r\n")
    assert lines[0] == '"name","iri","label","match","confidence"'
    assert lines[1].startswith(f'"Sojourner","{EX}Sojourner","Sojourner","found","0.9')
    assert lines[18].startswith(f'"Voyager","{EX}Voyager2","Voyager 2","chosen"')
    assert lines[20] == '"Soyuz","","","none",""'
    assert lines[21].startswith('"\'=Xyzzy"'), "a spreadsheet takes it for a text"
    page.get_by_role("button", name="Propose as other names").click()
    expect(page.locator(".notice")).to_contain_text("proposal")
    told = httpx.get(f"{tab.url}/proposals", params={"kind": "match", "limit": 100}, timeout=60).json()["proposals"]
    assert any("altLabel" in one["added"][0] and '"Voyager"@en' in one["added"][0] for one in told), [
        one["added"] for one in told
    ]
    # On plain http a page may not copy: the text is selected.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("textbox", name="Text to copy")).to_be_focused()
    assert "Sojourner" in page.evaluate("document.activeElement.value.slice(0, document.activeElement.selectionEnd)")


def test_rows_of_a_spreadsheet_keep_their_columns(tab: Tab) -> None:
    page = tab.open(match="")
    page.get_by_label("Paste a column").fill("1\tDeimos\n2\tPhobos\n3\tNobody at all")
    page.get_by_label("Names are in column").select_option("1")
    page.get_by_label("Class of the entities").select_option(label="Moon")
    page.get_by_role("button", name="Find entities").click()
    expect(page.locator(".match-list li").first).to_contain_text("Deimos · found")
    page.locator(".match-list button").nth(2).click()
    page.get_by_role("combobox", name="Another entity").fill("phob")
    page.get_by_role("option", name=re.compile("Phobos")).last.click()
    expect(page.locator(".match-list li").nth(2)).to_contain_text("Phobos · chosen")
