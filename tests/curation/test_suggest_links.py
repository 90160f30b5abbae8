"""Links that are missing: literals in the place of entities, and texts that name what they are not joined with."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from rdflib import OWL, RDF, RDFS, Literal

import worlds
from worlds import World
from worlds.curation.linking.following import Following
from worlds.curation.linking.suggesting import Link
from worlds.quads.dictionary import Dictionary
from worlds.world import connection_of

EX = "http://example.org/"
PREFIXES = f"""
@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix dct: <http://purl.org/dc/terms/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
"""
DATA = """
ex:nasa a ex:Agency ; rdfs:label "NASA" . ex:esa a ex:Agency ; rdfs:label "ESA" .
ex:book a ex:Book ; rdfs:label "NASA" . ex:maria a ex:Person ; rdfs:label "Maria Garcia" .
ex:m1 ex:operator ex:nasa . ex:m2 ex:operator "nasa" . ex:m3 ex:operatorName "ESA" .
ex:m4 ex:operator "unknown" . ex:m5 ex:operator "Maria Garcia" . ex:m6 ex:operator "ESA" , ex:esa .
ex:d1 dct:description "A paper about ESA and more" ; dct:subject ex:esa .
ex:d2 dct:description "Maria Garcia joined ESA." .
"""


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as opened:
        opened.bind("ex", EX)
        opened.load((PREFIXES + DATA).encode(), format="turtle", author="ann")
        yield opened


def local(one: object) -> str:
    return str(one).rpartition("/")[2]


def told(found: object) -> set[tuple[str, ...]]:
    return {tuple(map(local, (one.subject, one.predicate, one.object))) for one in found}  # type: ignore[attr-defined]


def test_literals_and_texts_that_name_entities(world: World) -> None:
    found = world.suggest_links()
    assert told(found) == {
        ("m2", "operator", "nasa"),  # and not the book
        ("m3", "operator", "esa"),  # by a sibling
    }
    assert found.counts == {"link": 2}
    unsure = world.suggest_links(minimum=0.0)  # one text is no evidence
    assert told(unsure) - told(found) == {("d2", "subject", "esa")}
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(isinstance(one, Link) and one.kind == "link" for one in found)


def test_a_link_cites_its_text_and_says_what_to_write(world: World) -> None:
    links = [one for one in world.suggest_links(minimum=0.0) if isinstance(one, Link)]
    by_subject = {local(one.subject): one for one in links}
    for one in by_subject.values():
        (said,) = one.quads
        assert said.quad in set(world.quads())
        assert said.added is not None
        assert said.added.author == "ann"
        assert str(said.quad[2])[one.start : one.end] == one.text
        assert one.to_dict()["text"] == one.text
        assert one.text in one.sentence
        assert str(one.object) in one.message
    assert by_subject["m2"].remove == (by_subject["m2"].quads[0].quad,)
    assert by_subject["m3"].remove == by_subject["d2"].remove == ()
    # What is written so is suggested no more.
    for link in links:
        world.remove(link.remove)
        world.add([tuple(part for part in quad if part is not None) for quad in link.add])
    assert not world.suggest_links()
    assert not told(world.suggest_links(minimum=0.0)) & told(links)


def test_what_is_looked_at_can_be_narrowed(world: World) -> None:
    world.add([("ex:m7", "ex:operator", Literal("ESA"), "ex:g")])
    assert told(world.suggest_links(graphs="ex:g")) == {("m7", "operator", "esa")}
    assert told(world.suggest_links(predicates="ex:operatorName")) == {("m3", "operator", "esa")}
    assert len(world.suggest_links(limit=1)) == 1
    assert not world.suggest_links(minimum=1)
    (link,) = world.suggest_links(graphs=["ex:g"])
    assert str(link.add[0][3]) == EX + "g"
    with pytest.raises(ValueError, match="minimum"):
        world.suggest_links(minimum=2)


def test_texts_link_by_schema_mentions_where_nothing_else_does() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        turtle = """
        ex:a rdfs:label "Ann Lee" . ex:C a owl:Class ; rdfs:label "paper" .
        ex:d dct:abstract "A paper by Ann Lee." .
        """
        world.load((PREFIXES + turtle).encode(), format="turtle")
        (link,) = world.suggest_links()
        assert told([link]) == {("d", "mentions", "a")}
        assert told(world.suggest_links(predicates=["dct:abstract"])) == {("d", "mentions", "a")}
        assert not world.suggest_links(predicates=["dct:title"])
    with worlds.open(embedder=None) as world:
        assert not world.suggest_links()


FILMS = [("Ann", "Lee"), ("Bob", "Ray"), ("Carla", "Voss"), ("David", "Kern"), ("Eva", "Holm")]


def films(count: int) -> str:
    """Films whose texts name who directed them and who plays in them; the last ones have no director yet."""
    people = [f"{one[0]} {other[1]}" for one in FILMS for other in FILMS]
    lines = [f'ex:p{n} a ex:Person ; rdfs:label "{name}" .' for n, name in enumerate(people)]
    lines.append('ex:jan a ex:Person ; rdfs:label "January" .')
    for n in range(count):
        director, player = n % 25, (n * 7 + 3) % 25
        text = f"A film of January, directed by {people[director]} and starring {people[player]}."
        lines.append(f'ex:f{n} a ex:Film ; dct:description "{text}" .')
        if n < count - 3:
            lines.append(f"ex:f{n} ex:director ex:p{director} . ex:p{player} ex:playsIn ex:f{n} .")
    return "\n".join(lines)


def test_a_probability_is_how_often_such_a_text_speaks_of_the_link() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        found = world.suggest_links()
        expected = {(f"f{n}", "director", f"p{n % 25}") for n in range(57, 60)}
        expected |= {(f"p{(n * 7 + 3) % 25}", "playsIn", f"f{n}") for n in range(57, 60)}  # from the one who is named
        assert told(found) == expected
        assert all(one.score > 0.85 for one in found)
        assert all(re.search(r"in (\d\d) of \1 similar cases", one.message) for one in found)
        assert not {one for one in told(world.suggest_links(minimum=0.1)) if "jan" in one}
    with worlds.open(embedder=None) as world:  # two are no evidence
        world.bind("ex", EX)
        world.load((PREFIXES + films(5)).encode(), format="turtle")
        assert not world.suggest_links(minimum=0.7)


def test_what_has_its_one_value_gets_no_other() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        world.add([(EX + "f59", EX + "director", EX + "p0")])
        assert "f59" not in {one for one, by, _ in told(world.suggest_links(minimum=0.0)) if by == "director"}


HIERARCHY = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
ex:part a owl:TransitiveProperty ; owl:inverseOf ex:whole .
ex:near a owl:SymmetricProperty . ex:beside rdfs:subPropertyOf ex:near .
"""


def concepts(link: str, of: str = "ex:{0}", to: str = "ex:{1}") -> str:
    """Twenty pairs of concepts: the first's text names the second, which a link joins it with."""
    lines = [HIERARCHY]
    for n in range(20):
        low, high = f"l{n}", f"h{n}"
        lines.append(f'ex:{low} a ex:K ; rdfs:label "lower{n}" ; dct:description "A kind of upper{n} it is." .')
        lines.append(f'ex:{high} a ex:K ; rdfs:label "upper{n}" ; dct:description "The first of lower{n} it is." .')
        lines.append(f"{of.format(low, high)} {link} {to.format(low, high)} .")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("link", "turned"),
    [
        ("skos:broader", False),
        ("skos:narrower", True),
        ("ex:part", False),
        ("ex:whole", True),
        ("rdfs:subClassOf", False),
    ],
)
def test_no_link_follows_along_a_hierarchy_or_closes_a_circle(link: str, turned: bool) -> None:
    ends = ("ex:{1}", "ex:{0}") if turned else ("ex:{0}", "ex:{1}")
    chain = (
        concepts(link, *ends)
        + """
    ex:a a ex:K ; rdfs:label "lowest" ; dct:description "A kind of highest it is." .
    ex:b a ex:K ; rdfs:label "middle" . ex:c a ex:K ; rdfs:label "highest" ; dct:description "A kind of lowest it is." .
    ex:new a ex:K ; rdfs:label "newest" ; dct:description "A kind of highest it is." .
    """
    )
    pairs = [("ex:a", "ex:b"), ("ex:b", "ex:c"), ("ex:new", "ex:other")]
    chain += "\n".join(f"{high} {link} {low} ." if turned else f"{low} {link} {high} ." for low, high in pairs)
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + chain).encode(), format="turtle")
        found = {frozenset((one, other)) for one, _, other in told(world.suggest_links(minimum=0.0))}
        assert frozenset(("new", "c")) in found
        assert frozenset(("a", "c")) not in found  # it follows, and the other way round it would be a circle


def test_a_link_that_another_property_says_is_not_missing() -> None:
    for said in ("ex:l3 ex:beside ex:h3 .", "ex:h3 ex:near ex:l3 ."):
        turtle = concepts("ex:near").replace("ex:l3 ex:near ex:h3 .", said + " ex:l3 ex:near ex:x .")
        with worlds.open(embedder=None) as world:
            world.load((PREFIXES + turtle).encode(), format="turtle")
            found = told(world.suggest_links(minimum=0.0))
            assert not [one for one in found if {one[0], one[2]} == {"l3", "h3"} and one[1] == "near"], said


def test_a_link_has_support() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        assert not [one for one in world.suggest_links(minimum=0.0) if "in 0 of" in one.message]


def test_what_stands_above_is_inherited() -> None:
    """A class, a domain and a disjointness (OWL 2 RL, cax-sco, scm-dom1, scm-dom2)."""
    turtle = """
    ex:Low rdfs:subClassOf ex:Mid . ex:Mid rdfs:subClassOf ex:High . ex:High owl:disjointWith ex:Other . ex:x a ex:Low .
    ex:q rdfs:domain ex:Mid . ex:p rdfs:subPropertyOf ex:q . ex:s rdfs:subPropertyOf ex:p .
    ex:Part rdfs:subClassOf ex:Other . ex:Sibling rdfs:subClassOf ex:Mid .
    """
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + turtle).encode(), format="turtle")
        connection = connection_of(world)
        dictionary = Dictionary(connection)
        following = Following(connection, dictionary)

        def is_new(*names: str) -> bool:
            found = dictionary.find([ox.NamedNode(name if ":" in name else EX + name) for name in names])
            return following.is_new(*(number or 0 for number in found))

        rdfs, rdf, owl = str(RDFS), str(RDF), str(OWL)
        for said in [
            ("x", rdf + "type", "High"), ("s", rdfs + "domain", "High"), ("p", rdfs + "domain", "Mid"),
            ("Low", owl + "disjointWith", "Part"), ("Part", owl + "disjointWith", "Low"),
            ("Low", rdfs + "subClassOf", "High"),
        ]:  # fmt: skip
            assert not is_new(*said), said
        for said in [
            ("x", rdf + "type", "Other"), ("q", rdfs + "domain", "Low"), ("Other", owl + "disjointWith", "x"),
            ("Part", rdfs + "subClassOf", "x"), ("Low", rdfs + "subClassOf", "Sibling"),
        ]:  # fmt: skip
            assert is_new(*said), said
