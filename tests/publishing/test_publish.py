"""A vocabulary as a static web site: its pages, links, tree and index, and what a further run does to the folder."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from tests.support.command_line import ok
from worlds import ConflictError, World
from worlds.errors import ArgumentError

EX = "https://example.org/v/"
BIRDS = b"""
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix ex: <https://example.org/v/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix dct: <http://purl.org/dc/terms/> .
ex:S a skos:ConceptScheme ; dct:title "Birds"@en, "V\xc3\xb6gel"@de ; dct:description "All of them."@en ;
  skos:hasTopConcept ex:bird .
ex:bird a skos:Concept ; skos:inScheme ex:S ; skos:prefLabel "bird"@en, "Vogel"@de .
ex:kite a skos:Concept ; skos:inScheme ex:S ; skos:prefLabel "kite"@en, "Milan"@de ; skos:altLabel "glede"@en ;
  skos:broader ex:bird ; skos:definition "A bird of prey."@en ; skos:exactMatch <https://other.org/kite> ;
  skos:related ex:toy ; skos:closeMatch <javascript:alert(1)> .
ex:redKite skos:prefLabel "red kite"@en ; skos:broader ex:kite .
ex:toy a skos:Concept ; skos:inScheme ex:T ; skos:prefLabel "kite"@en .
ex:old a skos:Concept ; skos:inScheme ex:S ; skos:prefLabel "fowl"@en ; owl:deprecated true .
"""


class Page(HTMLParser):
    """A page as a person reads it: the text of its heading, and the links and texts below each lesser one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.scripts: list[str | None] = []
        self.title = self.heading = ""
        self.links: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.texts: dict[str, str] = defaultdict(str)
        self._open: list[str] = []
        self._href: str | None = None
        self._text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        assert not any(name.startswith("on") for name in given), given
        self.tags.add(tag)
        if tag == "script":
            self.scripts.append(given.get("src"))
        if tag not in ("meta", "link", "input"):
            self._open.append(tag)
        if tag in ("h1", "h2"):
            self.heading = ""
        if tag == "a":
            self._href = given["href"]
            self._text = ""

    def handle_endtag(self, tag: str) -> None:
        while self._open.pop() != tag:
            pass
        if tag == "a":
            self.links[self.heading].append((self._href or "", self._text))
            self._href = None

    def handle_data(self, data: str) -> None:
        if "h1" in self._open:
            self.title += data
        if {"h1", "h2"} & set(self._open):
            self.heading += data
        else:
            self.texts[self.heading] += data
        self._text += data


def page(site: Path, iri: str) -> Page:
    """The page of a concept: the one that shows its IRI as its own."""
    found = [path for path in (site / "c").iterdir() if f'class="iri"><code>{iri}<' in path.read_text("utf-8")]
    assert len(found) == 1, found
    return Page(found[0].read_text("utf-8"))


def index(site: Path) -> dict[str, Any]:
    [path] = (site / "a").glob("index-*.js")
    text = path.read_text("utf-8")
    assert "</" not in text
    found: dict[str, Any] = json.loads(text.removeprefix("window.WORLDS = ").removesuffix(";\n"))
    return found


def contents(site: Path) -> dict[str, bytes]:
    return {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}


@pytest.fixture
def birds(world: World) -> World:
    world.load(BIRDS, format="turtle")
    return world


def test_a_concept_has_a_page(birds: World, tmp_path: Path) -> None:
    made = birds.file.publish(tmp_path, scheme="ex:S")
    assert (made.concepts, made.languages, made.removed) == (4, ("de", "en"), 0)
    kite = page(tmp_path, EX + "kite")
    assert kite.title == "kite"
    assert [text for _, text in kite.links["Broader"]] == ["bird"]
    assert [text for _, text in kite.links["Narrower"]] == ["red kite"], "which is in no scheme but below one that is"
    assert "A bird of prey." in kite.texts["Definition"]
    assert kite.links["Exact match"] == [("https://other.org/kite", "kite")]
    assert not kite.links["Close match"], "no link runs a script"
    assert "javascript:alert(1)" in kite.texts["Close match"]
    assert "glede" in kite.texts["Labels"]
    assert "Milan" in kite.texts["Labels"]
    assert "Related" not in kite.links, "a concept of another scheme is not of this site"
    front = Page((tmp_path / "index.html").read_text("utf-8"))
    assert front.title == "Birds"
    assert [text for _, text in front.links["Birds"]] == ["bird"]
    for path in tmp_path.rglob("*.html"):
        for links in Page(path.read_text("utf-8")).links.values():
            for href, _ in links:
                assert href.startswith("https://other.org/") or (path.parent / href).is_file()


def test_a_scheme_is_named_by_a_label_that_no_other_has(birds: World, tmp_path: Path) -> None:
    assert birds.file.publish(tmp_path / "de", scheme="vögel").concepts == 4
    birds.add([(EX + "T", "dct:title", '"Birds"@en')])
    with pytest.raises(ArgumentError, match="several schemes are called 'Birds': choose ex:S, ex:T"):
        birds.file.publish(tmp_path / "en", scheme="Birds")


def test_the_trees_count_what_is_published(birds: World, tmp_path: Path) -> None:
    told = {str(one.iri): one.instances for one in birds.entities.tree().nodes if one.kind == "scheme"}
    assert told == {EX + name: birds.file.publish(tmp_path / name, scheme=EX + name).concepts for name in ("S", "T")}


def test_dates_are_shown_in_words(birds: World, tmp_path: Path) -> None:
    stamps = {"created": ("2026-03-04", "date"), "modified": ("2026-11-28T16:38:40.123Z", "dateTime"),
              "valid": ("-0044-03-15", "date")}  # fmt: skip
    birds.add([(EX + "kite", f"dct:{name}", f'"{value}"^^xsd:{kind}') for name, (value, kind) in stamps.items()])
    birds.file.publish(tmp_path)
    texts = page(tmp_path, EX + "kite").texts
    shown = [texts[name].strip() for name in ("Created", "Modified", "Valid")]
    assert shown == ["4 March 2026", "28 November 2026, 16:38 UTC", "-0044-03-15"]


def test_others_use_the_world_while_its_pages_are_made(birds: World, tmp_path: Path) -> None:
    counts: list[int] = []

    class Title(str):
        """A title that has somebody else ask the world when a page is made with it."""

        def __html__(self) -> str:
            asking = threading.Thread(target=lambda: counts.append(len(birds)), daemon=True)
            asking.start()
            asking.join(20)
            return "Birds"

    birds.file.publish(tmp_path, title=Title("Birds"))
    assert set(counts) == {len(birds)}


def test_all_schemes_and_classes_are_one_vocabulary(birds: World, tmp_path: Path) -> None:
    birds.load(b"<urn:C> a <http://www.w3.org/2002/07/owl#Class> . <urn:D> a <http://www.w3.org/2002/07/owl#Class> ; "
               b"<http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:C>, [] .", format="turtle")  # fmt: skip
    assert birds.file.publish(tmp_path, title="All <of> it").concepts == 7
    assert Page((tmp_path / "index.html").read_text("utf-8")).title == "All <of> it"
    assert [text for _, text in page(tmp_path, "urn:D").links["Broader"]] == ["urn:C"]
    twins = {row[0]: row[4] for row in index(tmp_path)["concepts"] if row[1].get("en") == "kite"}
    assert sorted(twins.values()) == ["kite", "toy"], "namesakes show the end of their IRIs"
    assert [row[4] for row in index(tmp_path)["concepts"] if row[1].get("en") == "fowl"] == ["deprecated"]
    assert "(toy)" in page(tmp_path, EX + "kite").texts["Related"]


HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", '" onmouseover="alert(1)', "'\"><img src=x>",
    "{{ 7 * 7 }}{% raw %}", "\u202egnp.exe", "עברית", "\u2028", "a\0b", "&lt;b&gt;", "]]>", "<!--",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_label_is_a_text(world: World, tmp_path: Path, text: str) -> None:
    concept, label, other = rdflib.URIRef(EX + "a"), rdflib.Literal(text, lang="en"), rdflib.Literal(text, lang="de")
    said = {rdflib.SKOS.prefLabel: label, rdflib.SKOS.altLabel: other, rdflib.SKOS.note: label,
            rdflib.URIRef(EX + "x"): rdflib.Literal(text), rdflib.RDF.type: rdflib.SKOS.Concept}  # fmt: skip
    world.add([(concept, predicate, value) for predicate, value in said.items()])
    world.revisions.tag(text.replace("\0", "") + "x")
    world.add([(concept, rdflib.SKOS.note, rdflib.Literal(text + "?"))])
    world.file.publish(tmp_path, title=text)
    shown = " ".join(text.replace("\0", " ").split()) or "a"
    for path in tmp_path.rglob("*.html"):
        read = Page(path.read_text("utf-8"))
        assert all(one and re.fullmatch(r"(\.\./)?a/(site|index)-[0-9a-f]{10}\.js", one) for one in read.scripts)
        assert not read.tags & {"img", "iframe", "object", "base"}
    assert page(tmp_path, EX + "a").title == shown
    [row] = index(tmp_path)["concepts"]
    assert list(row[1].values()) == [shown]


def test_concepts_without_a_label_are_named_by_their_iris(world: World, tmp_path: Path) -> None:
    for name in ("v#broaderTerm", "v/snake_case", "v/", "ü/%20"):
        world.add([(rdflib.URIRef(f"https://example.org/{name}"), "rdf:type", rdflib.SKOS.Concept)])
    world.file.publish(tmp_path)
    titles = {Page(path.read_text("utf-8")).title for path in (tmp_path / "c").iterdir()}
    assert titles == {"broader term", "snake case", "v", "%20"}


def test_nothing_to_publish_says_what_there_is(birds: World, world: World, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="no concept is in the scheme ex:none; the world's schemes are ex:S, ex:T"):
        birds.file.publish(tmp_path, scheme="ex:none")
    with (
        worlds.open(embedder=None) as empty,
        pytest.raises(ArgumentError, match="no concept, no class and no property"),
    ):
        empty.file.publish(tmp_path)
    assert not list(tmp_path.iterdir())


# --- a further run ----------------------------------------------------------------------------------------------------


def test_a_further_run_writes_what_differs(birds: World, tmp_path: Path) -> None:
    birds.file.publish(tmp_path, scheme="ex:S")
    before = contents(tmp_path)
    again = birds.file.publish(tmp_path, scheme="ex:S")
    assert (again.written, again.removed, again.unchanged) == (0, 0, len(before) - 1)
    assert contents(tmp_path) == before
    birds.add([(EX + "old", "skos:altLabel", '"poultry"@en')])
    made = birds.file.publish(tmp_path, scheme="ex:S")
    assert (made.written, made.removed) == (3, 1), "its page, the index, and the first page, which names the index"
    birds.remove([(EX + "redKite", "skos:broader", EX + "kite")])
    gone = birds.file.publish(tmp_path, scheme="ex:S")
    assert (gone.written, gone.removed, gone.concepts) == (3, 2, 3)
    birds.add([(EX + "redKite", "skos:broader", EX + "kite")])
    birds.remove([(EX + "old", "skos:altLabel", '"poultry"@en')])
    birds.file.publish(tmp_path, scheme="ex:S")
    assert contents(tmp_path) == before


def test_foreign_files_are_left_alone(birds: World, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(ConflictError, match="index.html is not of a site that was published here"):
        birds.file.publish(tmp_path)
    (tmp_path / "index.html").rename(tmp_path / "CNAME")
    birds.file.publish(tmp_path)
    [edited] = (tmp_path / "c").glob("red-kite*")
    edited.write_text("by hand")
    birds.update("DELETE WHERE { ex:redKite ?p ?o }")
    made = birds.file.publish(tmp_path)
    assert made.removed == 1, "the index"
    assert made.notes == (f"c/{edited.name} is no longer part of the site, and stays: it was edited since",)
    assert edited.read_text() == "by hand"
    assert (tmp_path / "CNAME").read_text() == "mine"


@pytest.mark.parametrize("names", ['{"../x": ""}', '{"c/../../x": ""}', '{"/etc/passwd": ""}', "[]", "1"])
def test_a_strange_list_of_files_is_refused(birds: World, tmp_path: Path, names: str) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "x").write_text("mine")
    (tmp_path / "site" / "worlds-site.json").write_text(f'{{"files": {names}}}')
    if names != "[]":
        with pytest.raises(ConflictError, match="not the list of a published site"):
            birds.file.publish(tmp_path / "site")
    assert (tmp_path / "x").read_text() == "mine"


def test_an_interrupted_run_is_completed_by_the_next(birds: World, tmp_path: Path) -> None:
    birds.file.publish(tmp_path / "whole")
    birds.file.publish(tmp_path / "part")
    for path in list((tmp_path / "part" / "c").iterdir())[::2]:
        path.unlink()
    (tmp_path / "part" / "index.html").write_text("<half")
    birds.file.publish(tmp_path / "part")
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")


# --- releases ---------------------------------------------------------------------------------------------------------


def test_releases_are_told_at_each_concept_and_on_a_page(birds: World, tmp_path: Path) -> None:
    birds.file.publish(tmp_path, scheme="ex:S")
    assert not (tmp_path / "changes.html").exists()
    birds.revisions.tag("one")
    birds.edit(
        remove=[(EX + "kite", "skos:prefLabel", '"kite"@en')], add=[(EX + "kite", "skos:prefLabel", '"Kite"@en')]
    )
    birds.update("DELETE WHERE { ex:old ?p ?o }")
    birds.revisions.tag("two")
    birds.add([(EX + "hawk", "skos:inScheme", EX + "S"), (EX + "hawk", "skos:prefLabel", '"hawk"@en')])
    birds.file.publish(tmp_path, scheme="ex:S")
    told = {name: " ".join(page(tmp_path, EX + name).texts["Releases"].split()) for name in ("kite", "bird", "hawk")}
    assert told == {
        "kite": "Added in one Changed in two",
        "bird": "Added in one",
        "hawk": "Added since the last release",
    }
    changes = Page((tmp_path / "changes.html").read_text("utf-8"))
    assert "Since two: 1 concept." in " ".join(changes.texts["Changes"].split())
    assert "hawk" in changes.texts
    birds.at("two").file.publish(tmp_path, scheme="ex:S")
    changes = Page((tmp_path / "changes.html").read_text("utf-8"))
    assert "Since one, up to two: 2 concepts." in " ".join(changes.texts["Changes"].split())
    assert [" ".join(changes.texts["Kite"].split())] == ["pref label kite en Kite en"]
    assert "fowl removed" in changes.texts
    birds.revisions.prune("two")
    birds.file.publish(tmp_path, scheme="ex:S")
    assert "Releases" not in page(tmp_path, EX + "kite").texts


def test_the_first_release_of_a_pruned_world_is_told(birds: World, tmp_path: Path) -> None:
    birds.revisions.prune(birds.stats().revisions)
    birds.revisions.tag("only")
    birds.file.publish(tmp_path / "site")
    assert "only" in (tmp_path / "site" / "changes.html").read_text()


def test_the_command_publishes_a_release(birds: World, tmp_path: Path) -> None:
    birds.revisions.tag("2026-11")
    birds.add([(EX + "bird", "skos:prefLabel", '"uccello"@it')])
    birds.file.backup(tmp_path / "kb.db")
    told = json.loads(
        ok("file publish", tmp_path / "kb.db", tmp_path / "site", "--scheme", "ex:S", "--at", "2026-11", "--json")
    )
    assert told["languages"] == ["de", "en"]
    told = json.loads(ok("file publish", tmp_path / "kb.db", tmp_path / "site", "--scheme", "ex:S", "--json"))
    assert told["languages"] == ["de", "en", "it"]
    assert "Published" not in ok("file publish", tmp_path / "kb.db", tmp_path / "site", "--scheme", "ex:S")


# --- any vocabulary ---------------------------------------------------------------------------------------------------

NODES = [EX + name for name in "abcdef"]
LINKS = st.tuples(st.sampled_from(NODES), st.sampled_from(["broader", "narrower", "related"]), st.sampled_from(NODES))


@settings(deadline=None)
@given(st.lists(LINKS, max_size=14), st.sets(st.sampled_from(NODES), min_size=1))
def test_links_stand_at_both_ends_and_the_tree_reaches_all(
    links: list[tuple[str, str, str]], members: set[str]
) -> None:
    """The oracle walks the triples as they were given."""
    import tempfile

    with worlds.open(embedder=None) as world, tempfile.TemporaryDirectory() as folder:
        world.add([(one, "rdf:type", rdflib.SKOS.Concept) for one in members])
        world.add([(one, rdflib.SKOS[name], other) for one, name, other in links])
        world.file.publish(folder)
        members = set(members)
        for _ in links:  # what is below a member belongs to it
            members |= {one for one, name, other in links if name == "broader" and other in members}
            members |= {other for one, name, other in links if name == "narrower" and one in members}
        inside = [(one, name, other) for one, name, other in links if {one, other} <= members and one != other]
        inverse = {"broader": "narrower", "narrower": "broader", "related": "related"}
        for member in members:
            read = page(Path(folder), member)
            for name, back in inverse.items():
                expected = {other for one, given, other in inside if one == member and given == name}
                expected |= {one for one, given, other in inside if other == member and given == back}
                if name == "broader":  # what is not of the site is a link out of it
                    expected |= {other for one, given, other in links if (one, given) == (member, name)} - {member}
                assert {EX + text for _, text in read.links[name.capitalize()]} == expected
        told = index(Path(folder))
        reached, open_ = set(told["roots"]), set(told["roots"])
        while open_:
            open_ = {place for place, row in enumerate(told["concepts"]) if open_ & set(row[3])} - reached
            reached |= open_
        assert len(reached) == len(members) == len(told["concepts"])
