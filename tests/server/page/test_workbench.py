"""The workbench in a browser: editing, two people at once, the review by keyboard, health, who said it, and updates."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from rdflib import RDF, RDFS, Literal, URIRef

import worlds
from tests.support.page import EX, Tab, expect
from tests.support.serving import ROOT, served
from worlds.doors.server.keys import keys_of

pytestmark = pytest.mark.slow
SHAPES = b"""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix s: <https://worlds.example/space/schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
s:RoverShape a sh:NodeShape ; sh:targetClass s:Rover ; sh:property
  [ sh:path rdfs:label ; sh:minCount 1 ; sh:order 1 ; sh:name "Name"@en ; sh:uniqueLang true ] ,
  [ sh:path s:massKg ; sh:datatype xsd:decimal ; sh:maxCount 1 ; sh:order 2 ] .
"""
TWIN = b"""
@prefix ex: <https://worlds.example/space/> . @prefix s: <https://worlds.example/space/schema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:Sojourner2 a s:Rover ; rdfs:label "Sojourner rover"@en ; s:launched "1996-12-04"^^xsd:date ; s:agency ex:NASA .
"""


def build(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.load(ROOT / "examples" / "space.ttl", author="ann", message="The space of space.ttl")
        world.shapes.load(SHAPES, format="turtle")
        world.load(TWIN, format="turtle", author="import", message="Another list of rovers")
        world.add([("ex:Spirit", "s:launched", '"1903-06-10"^^xsd:date')], author="cara", message="dates")
        for number, name in enumerate(["Curiosity", "Spirit", "Opportunity"]):
            world.proposals.add(
                add=[(f"ex:{name}", "s:nickname", f'"nick {number}"@en')], why=f"heard {number} times",
                confidence=(7 + number) / 10, author="agent", kind="nickname",
            )  # fmt: skip
        world.proposals.add(
            remove=[("ex:Spirit", "s:launched", '"1903-06-10"^^xsd:date')], why="not in 1903", author="agent"
        )
        world.policy = world.policy.changed({"iris": {"namespace": EX}}, world.prefixes)


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Makes worlds that anybody may write to, on one server; gives their addresses. They are as built, or another."""
    folder = tmp_path_factory.mktemp("benches")
    built = tmp_path_factory.mktemp("built") / "space.db"
    build(built)
    names = (f"space{number}" for number in itertools.count())
    with served(folder, "--allow-writes", "--readers", "1") as server:

        def make(path: Path = built) -> str:
            name = next(names)
            shutil.copyfile(path, folder / f"{name}.db")
            return f"{server.url}/worlds/{name}"

        yield make


@pytest.fixture
def bench(benches: Callable[..., str], new_tab: Callable[..., Tab]) -> Callable[..., Tab]:
    """Makes tabs of a world of its own that anybody may write to."""
    address = benches()
    return lambda **options: new_tab(address, **options)


def values(tab: Tab, subject: str, predicate: str) -> set[str]:
    query = f"SELECT ?o {{ {subject} {predicate} ?o }}"
    asked = httpx.get(f"{tab.url}/sparql", params={"query": query}, headers={"accept": "application/json"}, timeout=30)
    found = asked.json()
    return {row["o"]["value"] for row in found["results"]["bindings"]}


def field(page: Any, name: str) -> Any:
    return page.get_by_role("group", name=name, exact=True)


# --- editing ----------------------------------------------------------------------------------------------------------


def test_a_label_is_edited_two_are_merged_and_both_are_taken_back(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(q="sojourner", mode="text")
    page.locator(".hit h3 a", has_text=re.compile("^Sojourner$")).first.click()
    page.get_by_role("link", name="Edit", exact=True).click()
    names = field(page, "Name")
    names.get_by_role("textbox").first.fill("Sojourner the first")
    expect(page.locator(".edit-review .diff li")).to_contain_text("Sojourner the first")
    page.get_by_label("Message").fill("its full name")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sojourner the first")
    assert "Sojourner the first" in values(tab, "ex:Sojourner", "rdfs:label")
    notice = page.locator(".notice")
    expect(notice).to_contain_text("Saved as revision")
    # Merged with its twin, found by its name and seen side by side.
    page.get_by_role("link", name="Compare and merge").click()
    page.get_by_role("combobox", name="The other entity").fill("Sojourner rover")
    page.get_by_role("option", name=re.compile("Sojourner rover")).click()
    expect(page.locator(".sides .agrees", has_text="launched")).to_be_visible()
    expect(page.locator(".rehearsal .diff")).to_be_visible()
    assert values(tab, "ex:Sojourner2", "rdfs:label") == {"Sojourner rover"}, "a rehearsal writes nothing"
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(notice).to_contain_text("Merged as revision")
    assert values(tab, "ex:Sojourner2", "rdfs:label") == set()
    # Both are taken back: the merge at once, the label by the history.
    notice.get_by_role("button", name="Undo").click()
    expect(notice).to_contain_text("Undone")
    assert values(tab, "ex:Sojourner2", "rdfs:label") == {"Sojourner rover"}
    tab.open(history="")
    page.get_by_role("link", name=re.compile("its full name")).click()
    page.get_by_role("button", name="Undo this revision").click()
    page.get_by_role("button", name="Undo it").click()
    expect(page.locator(".outcome")).to_contain_text("is undone by")
    assert values(tab, "ex:Sojourner", "rdfs:label") == {"Sojourner"}
    expect(page.get_by_role("button", name="Undo this revision")).to_have_count(0)


def test_the_shapes_speak_while_one_writes(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(entity=f"{EX}Sojourner")
    page.get_by_role("link", name="Edit", exact=True).click()
    mass = field(page, "mass in kilograms")
    mass.get_by_role("textbox").fill("heavy")
    expect(mass.locator(".problems")).to_contain_text("is not a well-formed xsd:decimal")
    expect(mass.get_by_role("textbox")).to_have_attribute("aria-invalid", "true")
    mass.get_by_role("textbox").fill("11.5")
    expect(mass.locator(".problems li")).to_have_count(0)
    # What is not saved is not left without a question.
    questions = tab.dialogs(accept=False)
    page.get_by_role("link", name="Review").click()
    assert len(questions) == 1
    expect(mass.get_by_role("textbox")).to_have_value("11.5")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".edit-view")).to_have_count(0)


def test_values_of_all_kinds_are_written(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(edit=f"{EX}Curiosity")
    target = field(page, "target").get_by_role("combobox")
    target.fill("phob")
    page.get_by_role("option", name=re.compile("Phobos")).click()
    field(page, "launched").get_by_role("textbox").fill("2011-11")
    names = field(page, "Name")
    names.get_by_role("button", name="Add a value of Name").click()
    names.get_by_role("textbox").last.fill('Neu"gier\\')
    names.get_by_role("combobox", name="Language").last.select_option("de")
    agency = field(page, "agency")
    agency.get_by_role("button", name="Remove this value of agency").click()
    expect(agency.get_by_role("button", name="Keep it")).to_be_visible()
    page.get_by_role("combobox", name="Another property").fill("https://worlds.example/space/schema#motto")
    page.get_by_role("button", name="Add property").click()
    field(page, "motto").get_by_role("textbox").fill("أهلا")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("Saved")
    assert values(tab, "ex:Curiosity", "s:target") == {f"{EX}Phobos"}
    assert values(tab, "ex:Curiosity", "s:launched") == {"2011-11"}
    assert 'Neu"gier\\' in values(tab, "ex:Curiosity", "rdfs:label")
    assert values(tab, "ex:Curiosity", "s:agency") == set()
    assert values(tab, "ex:Curiosity", "s:motto") == {"أهلا"}
    query = 'ASK { ex:Curiosity s:launched "2011-11"^^xsd:gYearMonth ; rdfs:label ?n FILTER(LANG(?n) = "de") }'
    assert httpx.get(f"{tab.url}/sparql", params={"query": query}).json()["boolean"]


def test_a_new_entity_is_made_commented_retired_and_deleted(bench: Callable[..., Tab]) -> None:
    tab = bench()
    tab.expected.append("404")
    page = tab.open()
    page.get_by_role("link", name="New entity").click()
    page.get_by_label("Class of the new entity").select_option(label="Rover")
    page.get_by_label("Name", exact=True).fill("Rocky VII")
    page.get_by_role("button", name="Go on to its form").click()
    expect(field(page, "Name").get_by_role("textbox")).to_have_value("Rocky VII")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rocky VII")
    assert values(tab, "ex:rocky-vii", "a") == {f"{EX}schema#Rover"}
    page.get_by_role("button", name="Comment").click()
    page.get_by_role("textbox", name="Comment").fill("A prototype.")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator(".properties")).to_contain_text("A prototype.")
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Retire…").click()
    page.get_by_role("button", name="Retire it").click()
    expect(page.locator(".notice")).to_contain_text("Retire Rocky VII as revision")
    assert values(tab, "ex:rocky-vii", "owl:deprecated") == {"true"}
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator(".empty")).to_contain_text("No data about it")
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rocky VII")
    # A name that is taken is said before anything is made.
    page = tab.open(new=f"{EX}schema#Rover")
    page.get_by_label("Name", exact=True).fill("Curiosity")
    page.get_by_role("button", name="Go on to its form").click()
    expect(page.locator(".notes").first).to_contain_text(re.compile("has it already|may mean one"))


def test_two_people_edit_the_same_and_nothing_is_lost(bench: Callable[..., Tab]) -> None:
    first, second = bench(), bench()
    first.expected.append("409")
    second.expected.append("409")
    ours, theirs = (tab.open(edit=f"{EX}Sojourner") for tab in (first, second))
    field(ours, "Name").get_by_role("textbox").first.fill("Ours")
    field(ours, "mass in kilograms").get_by_role("textbox").fill("12.5")
    field(theirs, "Name").get_by_role("textbox").first.fill("Theirs")
    theirs.get_by_role("button", name="Save").click()
    expect(theirs.locator(".notice")).to_contain_text("Saved")
    ours.get_by_role("button", name="Save").click()
    told = ours.get_by_role("alert")
    expect(told).to_contain_text("Somebody else changed this meanwhile")
    expect(told).to_contain_text("Theirs")
    assert values(first, "ex:Sojourner", "rdfs:label") == {"Theirs", "Sojourner"}, "nothing was overwritten"
    # What was written is still there, beside what the other wrote; saving again keeps both.
    boxes = field(ours, "Name").get_by_role("textbox")
    assert {boxes.nth(at).input_value() for at in range(boxes.count())} == {"Theirs", "Sojourner", "Ours"}
    ours.get_by_role("button", name="Save").click()
    expect(ours.locator(".notice")).to_contain_text("Saved")
    assert values(first, "ex:Sojourner", "rdfs:label") == {"Ours", "Theirs", "Sojourner"}
    assert values(first, "ex:Sojourner", "s:massKg") == {"12.5"}


def test_a_merged_or_short_name_edits_the_entity_that_it_leads_to(bench: Callable[..., Tab]) -> None:
    tab = bench()
    merged = {"kept": "ex:Sojourner", "others": ["ex:Sojourner2"]}
    httpx.post(f"{tab.url}/merge", json=merged).raise_for_status()
    tab.open()
    for at, name in enumerate((f"{EX}Sojourner2", "ex:Sojourner")):
        page = tab.go(entity=name)
        expect(page.locator(".iri code")).to_have_text(f"{EX}Sojourner")
        page.get_by_role("link", name="Edit", exact=True).click()
        field(page, "mass in kilograms").get_by_role("textbox").fill(f"1{at}.5")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".notice")).to_contain_text("Saved")
        assert values(tab, "ex:Sojourner", "s:massKg") == {f"1{at}.5"}
        page = tab.go(edit=name)
        expect(page.locator(".iri code")).to_have_text(f"{EX}Sojourner")
    assert values(tab, "ex:Sojourner2", "?p") == set()
    page = tab.go(merge=f"{EX}Sojourner2", **{"with": f"{EX}Sojourner"})
    expect(page.locator(".empty")).to_contain_text("They are merged already")


def test_a_value_ends_with_its_time(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(edit=f"{EX}Sojourner")
    field(page, "agency").get_by_role("button", name="This value of agency ended").click()
    page.get_by_label("It ended").fill("1998-03")
    page.get_by_label("Reason").fill("the mission was over")
    page.get_by_role("dialog").get_by_role("button", name="It ended").click()
    expect(page.locator(".notice")).to_contain_text("Ended as revision")
    assert values(tab, "ex:Sojourner", "s:agency") == set()
    tab.open(entity=f"{EX}Sojourner")
    expect(page.locator(".over-time")).to_contain_text("1998-03")


# --- who may what -----------------------------------------------------------------------------------------------------


def test_each_key_sees_and_does_what_it_may(tmp_path: Path, new_tab: Callable[..., Tab]) -> None:
    path = tmp_path / "space.db"
    build(path)
    with worlds.open(path, embedder=None) as world:
        world.add([("ex:Sojourner", "s:secret", '"hush"', "urn:theirs")])
        world.add([("ex:Sojourner", "rdfs:label", '"S"', "urn:mine")])
    store = keys_of(path)
    keys = {level: store.add(level, {"*": level})[1] for level in ("read", "propose", "write")}
    keys["scoped"] = store.add("scoped", {"*": "write"}, graphs=["urn:mine"])[1]
    with served(path, "--readers", "1", "--no-public-reads") as server:
        tab = new_tab(server.url)

        def opened(level: str, **state: str) -> Any:
            tab.key = keys[level]
            return tab.open(**state)

        page = opened("read", entity=f"{EX}Sojourner")
        expect(page.locator(".properties").first).to_be_visible()
        tab.settle()
        expect(page.get_by_role("link", name="Edit", exact=True)).to_have_count(0)
        page = opened("read", edit=f"{EX}Sojourner")
        expect(page.locator(".empty")).to_contain_text("a key with the level propose")
        expect(page.locator(".empty")).to_contain_text("worlds keys add FILE YOUR-NAME --level propose")
        page = tab.go(review="")
        expect(page.locator(".review-detail h2")).to_be_visible()
        expect(page.get_by_role("button", name="Accept")).to_have_count(0)
        page = tab.go(query="DELETE WHERE { ?s s:launched ?o }")
        expect(page.locator(".empty")).to_contain_text("The key “read” has the level read")

        page = opened("propose", edit=f"{EX}Sojourner")
        field(page, "Name").get_by_role("textbox").first.fill("Proposed")
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
        page.get_by_role("button", name="Propose").click()
        expect(page.locator(".notice")).to_contain_text("Proposed as proposal 5")
        with worlds.open(path, embedder=None, read_only=True) as world:
            assert [one.author for one in world.proposals.list()][-1] == "propose"
            assert world.count("ex:Sojourner", "rdfs:label", '"Proposed"@en') == 0

        page = opened("write", review="5")
        expect(page.locator(".review-detail")).to_contain_text("Proposed")
        page.keyboard.press("a")
        expect(page.locator(".notice")).to_contain_text("Accepted as revision")

        page = opened("scoped", entity=f"{EX}Sojourner")
        expect(page.get_by_role("heading", level=1)).to_have_text("S")
        expect(page.locator("main")).not_to_contain_text("hush")
        page.get_by_role("link", name="Edit", exact=True).click()
        expect(page.locator(".field")).to_have_count(1)
        page.locator(".field").get_by_role("textbox").fill("S2")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".notice")).to_contain_text("Saved")
        page = tab.open(review="")
        expect(page.locator(".review-detail .empty, .review-group.none").first).to_be_visible()
        expect(page.locator("main")).not_to_contain_text("nick")
        with worlds.open(path, embedder=None, read_only=True) as world:
            assert world.count("ex:Sojourner", None, None, "urn:mine") == 1
            assert world.count("ex:Sojourner", "rdfs:label", '"S2"', "urn:mine") == 1


# --- the review -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("many", [12, pytest.param(100, marks=pytest.mark.long)])
def test_proposals_are_decided_by_keyboard(tmp_path: Path, new_tab: Callable[..., Tab], many: int) -> None:
    path = tmp_path / "many.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        world.add([(f"ex:t{n}", "rdfs:label", f'"thing {n}"') for n in range(many)])
        for n in range(many):
            world.proposals.add(
                add=[(f"ex:t{n}", "ex:p", n)], why=f"reason {n:03}", confidence=1 - n / 200, author="agent"
            )
    with served(path, "--allow-writes", "--readers", "1") as server:
        page = new_tab(server.url).open(review="")
        for n in range(many):
            expect(page.locator(".item-head")).to_have_text(f"reason {n:03}")
            page.keyboard.press("r" if n % 4 == 3 else "s" if n == many - 2 else "a")
            if n == many - 2:  # what is skipped stays
                expect(page.locator(".item-head")).to_have_text(f"reason {many - 1:03}")
        expect(page.locator(".item-head")).to_have_text(f"reason {many - 2:03}")
        page.keyboard.press("a")
        expect(page.locator(".review-detail")).to_contain_text("Everything is decided")
    with worlds.open(path, embedder=None) as world:
        told = {one.why: one.status for one in world.proposals.list(status="any")}
        assert told == {f"reason {n:03}": "rejected" if n % 4 == 3 else "accepted" for n in range(many)}
        assert world.count(None, "ex:p") == many - many // 4


def test_many_are_accepted_at_once_after_a_dry_run(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(review="")
    expect(page.locator(".review-group", has_text="Proposals").locator(".item")).to_have_count(4)
    page.get_by_label("Lowest confidence").fill("0.8")
    page.get_by_label("Filter", exact=True).fill("nickname")
    expect(page.locator(".review-group", has_text="Proposals").locator(".item")).to_have_count(2)
    page.get_by_role("button", name=re.compile("Select 2 items")).click()
    page.get_by_role("button", name="Accept 2…").click()
    dialog = page.get_by_role("dialog", name="Accept 2 items?")
    expect(dialog).to_contain_text("2 quads added, 0 removed")
    assert values(tab, "?s", "s:nickname") == set()
    dialog.get_by_role("button", name="Accept them").click()
    expect(page.locator(".notice")).to_contain_text("Accepted 2 items")
    assert values(tab, "?s", "s:nickname") == {"nick 1", "nick 2"}
    page.locator(".notice").get_by_role("button", name="Undo all").click()
    expect(page.locator(".notice")).to_contain_text("Undone: 2 revisions")
    assert values(tab, "?s", "s:nickname") == set()


def test_what_was_seen_is_what_is_accepted(bench: Callable[..., Tab]) -> None:
    tab = bench()
    tab.expected.append("409")
    page = tab.open(review="1")
    expect(page.locator(".item-head")).to_have_text("heard 0 times")
    other = {"add": f'<{EX}Curiosity> <{EX}schema#nickname> "another"@en .', "why": "rather this"}
    httpx.post(f"{tab.url}/proposals/1/amend", json=other).raise_for_status()
    page.keyboard.press("a")
    expect(page.locator(".review-detail").get_by_role("alert")).to_contain_text("A conflict")
    assert values(tab, "ex:Curiosity", "s:nickname") == set()
    page.get_by_role("button", name="Reload the proposal").click()
    page.locator(".item", has_text="heard 0 times").click()
    expect(page.locator(".review-detail")).to_contain_text("another")
    expect(page.locator(".review-detail")).to_contain_text("rather this")
    page.keyboard.press("e")
    page.get_by_label("To add (N-Quads)").fill(f'<{EX}Curiosity> <{EX}schema#nickname> "the last"@en .')
    page.get_by_role("button", name="Amend", exact=True).last.click()
    page.locator(".item", has_text="heard 0 times").click()
    expect(page.locator(".review-detail .diff")).to_contain_text("the last")
    page.keyboard.press("a")
    expect(page.locator(".notice")).to_contain_text("Accepted as revision")
    assert values(tab, "ex:Curiosity", "s:nickname") == {"the last"}
    page.keyboard.press("u")
    expect(page.locator(".notice")).to_contain_text("Undone")
    assert values(tab, "ex:Curiosity", "s:nickname") == set()


def test_findings_stand_in_the_same_list_and_are_decided(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(review="")
    links = page.locator(".review-group", has_text="Missing links")
    expect(links.locator(".item").first).to_be_visible(timeout=60_000)
    tab.settle()  # until names stand for IRIs in the titles
    before = links.locator(".item").count()
    title = links.locator(".item-title").first.inner_text()
    links.locator(".item").first.click()
    expect(page.locator(".item-head")).to_have_text(title)
    expect(page.locator(".review-detail")).to_contain_text("Origin of the quads")
    page.keyboard.press("r")
    expect(links.locator(".item")).to_have_count(before - 1)
    page.get_by_label("Keys:").uncheck()  # then a letter does nothing
    page.keyboard.press("r")
    page.wait_for_timeout(300)
    expect(links.locator(".item")).to_have_count(before - 1)
    rejected = httpx.get(f"{tab.url}/proposals", params={"status": "rejected"}).json()["proposals"]
    assert [one["kind"] for one in rejected] == ["link"]
    tab.open(review="")  # what was rejected does not come again
    expect(links.locator(".item")).to_have_count(before - 1, timeout=60_000)
    violations = page.locator(".review-group", has_text="Violations")
    expect(violations.locator("h3").first).to_have_text(re.compile("what several have in common"))
    violations.locator(".item").first.click()
    expect(page.locator(".review-detail")).to_contain_text("5 of the 5 findings")
    expect(page.locator(".review-detail")).to_contain_text("is not a well-formed")


# --- health, history, updates -----------------------------------------------------------------------------------------


def test_health_tells_what_is_wrong_and_shapes_show_their_effect(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(health="")
    expect(page.locator(".checks .check").first).to_be_visible()
    expect(page.locator(".effect .status")).to_have_text("5 violations")
    page.get_by_label("Shapes, as Turtle").focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\ns:RoverShape sh:property [ sh:path s:nickname ; sh:minCount 1 ] .\n")
    expect(page.locator(".effect .status")).to_have_text("17 violations")
    expect(page.locator(".effect")).to_contain_text("Lunokhod 1")
    assert len(httpx.get(f"{tab.url}/validate").json()["results"]) == 5, "nothing is kept before it is saved"
    page.get_by_role("button", name="Save the shapes").click()
    expect(page.locator(".notice")).to_contain_text("Shapes saved")
    assert len(httpx.get(f"{tab.url}/validate").json()["results"]) == 17
    page.get_by_label("Shapes, as Turtle").focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(
        '\ns:Odd a sh:NodeShape ; sh:targetClass s:Rover ; sh:pattern "(" . s:Idle sh:targetClass s:Nothing .\n'
    )
    expect(page.locator(".effect .notes").first).to_contain_text(
        "Not checked: <https://worlds.example/space/schema#Odd>"
    )
    expect(page.locator(".effect .notes").last).to_contain_text("Nothing")
    expect(page.locator(".effect .status")).to_have_text("17 violations")
    tab.expected += ["400", "412"]
    page.get_by_label("Shapes, as Turtle").focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\nthis is no Turtle")
    expect(page.locator(".effect").get_by_role("alert")).to_be_visible()


def test_who_wrote_a_wrong_date_and_what_held_before(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(entity=f"{EX}Spirit")
    page.get_by_role("button", name="Who says so: launched").click()
    told = page.locator(".timeline li", has_text="1903-06-10")
    expect(told).to_contain_text("cara")
    expect(told).to_contain_text("dates")
    expect(page.locator(".timeline li", has_text="2003-06-10")).to_contain_text("ann")
    page.get_by_role("button", name="The entity at a time…").click()
    page.get_by_label("Revision or time").fill("1")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".as-was")).to_contain_text("2003-06-10")
    expect(page.locator(".as-was")).not_to_contain_text("1903-06-10")
    told.get_by_role("link", name=re.compile("revision")).click()
    expect(page.get_by_role("heading", name="dates")).to_be_visible()
    expect(page.locator(".diff")).to_contain_text("launched")  # by its label
    # The history by whom and about what.
    page.locator(".filters summary").click()
    page.get_by_label("By", exact=True).fill("cara")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator(".history-list li")).to_have_count(1)


def test_an_update_is_tried_then_run_and_taken_back(bench: Callable[..., Tab]) -> None:
    tab = bench()
    page = tab.open(query="DELETE { ?r s:massKg ?m } WHERE { ?r a s:Rover ; s:massKg ?m }")
    expect(page.locator(".status").first).to_contain_text("nothing has been written")
    before = values(tab, "?r", "a s:Rover ; s:massKg")
    assert before
    page.get_by_role("button", name="Run it").click()
    expect(page.locator(".output .outcome")).to_contain_text("Done")
    assert values(tab, "?r", "a s:Rover ; s:massKg") == set()
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_contain_text("Undone")
    assert values(tab, "?r", "a s:Rover ; s:massKg") == before
    page = tab.open(query='INSERT DATA { ex:Mars s:nickname "Red"@en }')
    page.get_by_label("Reason").fill("it is red")
    page.get_by_role("button", name="Propose it").click()
    expect(page.locator(".notice")).to_contain_text("Proposed as proposal 5")
    tab.expected.append("400")
    page = tab.open(query="INSERT DATA { this is wrong")
    expect(page.get_by_role("alert")).to_contain_text("Line 1")


def test_a_merge_is_split_in_the_history(bench: Callable[..., Tab]) -> None:
    tab = bench()
    merged = {"kept": "ex:Sojourner", "others": ["ex:Sojourner2"]}
    revision = httpx.post(f"{tab.url}/merge", json=merged).json()["revision"]
    page = tab.open(history=str(revision))
    page.get_by_role("button", name="Undo its merge").click()
    expect(page.locator(".notice")).to_contain_text("Split as revision")
    assert values(tab, "ex:Sojourner2", "rdfs:label") == {"Sojourner rover"}


# --- hostile data -----------------------------------------------------------------------------------------------------

TRAPS = [
    "<img src=x onerror=document.title='run'>",
    "<script>document.title='run'</script>",
    "javascript:document.title='run'",
    "'\"><svg onload=document.title='run'>",
    "{{constructor.constructor('document.title=1')()}}",
    "\u202eleft to right",
    "</textarea><img src=x onerror=document.title='run'>",
    "a" * 5000,
    "line\nbreak\ttab",
    "data:text/html,<script>1</script>",
]


def test_hostile_data_does_nothing_in_any_view(
    tmp_path: Path, benches: Callable[..., str], new_tab: Callable[..., Tab]
) -> None:
    path = tmp_path / "traps.db"
    iris = ["javascript:document.title='run'", "data:text/html,x", f"{EX}%22%3E%3Cimg", "urn:x:'onmouseover=1"]
    with worlds.open(path, embedder=None) as world:
        for n, trap in enumerate(TRAPS):
            for kind, iri in enumerate(iris):
                trapped = URIRef(iri + str(n))
                quads = [(trapped, RDFS.label, Literal(f"{trap} {kind}")), (trapped, RDF.type, URIRef(iri))]
                world.add(quads, message=trap)
            named = (URIRef(f"{EX}t{n}"), RDFS.comment, Literal(trap))
            world.proposals.add(add=[named], why=trap, author=trap, kind=trap[:100])
        world.proposals.add(merge=[URIRef(iris[0] + "0"), URIRef(iris[1] + "0")], why=TRAPS[0])
        world.shapes.load(
            f'@prefix sh: <http://www.w3.org/ns/shacl#> . <{EX}shape> a sh:NodeShape ; sh:targetClass <{iris[0]}> ; '
            f'sh:message "{TRAPS[0]}" ; sh:property [ sh:path <{EX}none> ; sh:minCount 1 ; sh:name "{TRAPS[0]}" ; '
            f'sh:description "{TRAPS[1]}" ; sh:message "{TRAPS[0]}" ] .'.encode(),
            format="turtle",
        )  # fmt: skip
    tab = new_tab(benches(path))
    tab.open()
    one, other = iris[0] + "0", iris[1] + "0"
    for state, ready in [
        ({"edit": one}, ".field"), ({"entity": one}, ".entity-acts .actions"), ({"new": ""}, ".new-form"),
        ({"merge": one, "with": other}, ".sides"), ({"health": ""}, ".effect .check"), ({"history": "3"}, ".diff"),
        ({"query": 'INSERT DATA { <urn:a> rdfs:label "<b>x</b>" }'}, ".output .diff"),
    ]:  # fmt: skip
        page = tab.go(**state)
        page.locator(ready).first.wait_for()
    page = tab.go(review="")
    page.locator(".item").first.wait_for()
    for item in page.locator(".item").all()[:40:2]:
        item.click()
    assert (
        page.locator("main img, main script, main svg[onload], main b, a[href^=javascript], a[href^=data]").count() == 0
    )
    assert page.title() != "run"
    field_page = tab.go(edit=one)
    expect(field_page.locator(".field-label", has_text="<img src=x")).to_be_visible()
