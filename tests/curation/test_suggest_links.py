"""Links that are missing: literals in the place of entities, and texts that name what they are not joined with."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from rdflib import OWL, RDF, RDFS, Literal

import worlds
from worlds import World
from worlds.core.quads.dictionary import Dictionary
from worlds.extras.curation.linking.implied_links import Learnt, LinkConclusions, Naming
from worlds.extras.curation.linking.link_rules import Link
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
    return {tuple(map(local, quad[:3])) for one in found for quad in one.links}  # type: ignore[attr-defined]


def test_literals_and_texts_that_name_entities(world: World) -> None:
    found = world.curation.links()
    assert told(found) == {
        ("m2", "operator", "nasa"),  # and not the book
        ("m3", "operator", "esa"),  # by a sibling
    }
    assert found.counts == {"link": 2}
    unsure = world.curation.links(score=0.0)  # one text is no evidence
    assert told(unsure) - told(found) == {("d2", "subject", "esa")}
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(isinstance(one, Link) and one.kind == "link" for one in found)


def test_a_link_cites_its_text_and_says_what_to_write(world: World) -> None:
    links = [one for one in world.curation.links(score=0.0) if isinstance(one, Link)]
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
    assert not world.curation.links()
    assert not told(world.curation.links(score=0.0)) & told(links)


def test_what_is_looked_at_can_be_narrowed(world: World) -> None:
    world.add([("ex:m7", "ex:operator", Literal("ESA"), "ex:g")])
    assert told(world.curation.links(graphs="ex:g")) == {("m7", "operator", "esa")}
    assert told(world.curation.links(predicates="ex:operatorName")) == {("m3", "operator", "esa")}
    assert len(world.curation.links(limit=1)) == 1
    assert not world.curation.links(score=1)
    assert all(one.score >= 0.65 for one in world.curation.links(score=0.65))
    (link,) = world.curation.links(graphs=["ex:g"])
    assert str(link.add[0][3]) == EX + "g"
    with pytest.raises(ValueError, match="score"):
        world.curation.links(score=2)


def test_texts_link_by_schema_mentions_where_nothing_else_does() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        turtle = """
        ex:a rdfs:label "Ann Lee" . ex:C a owl:Class ; rdfs:label "paper" .
        ex:d dct:abstract "A paper by Ann Lee." .
        """
        world.load((PREFIXES + turtle).encode(), format="turtle")
        (link,) = world.curation.links()
        assert told([link]) == {("d", "mentions", "a")}
        assert told(world.curation.links(predicates=["dct:abstract"])) == {("d", "mentions", "a")}
        assert not world.curation.links(predicates=["dct:title"])
    with worlds.open(embedder=None) as world:
        assert not world.curation.links()


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
        found = world.curation.links()
        expected = {(f"f{n}", "director", f"p{n % 25}") for n in range(57, 60)}
        expected |= {(f"p{(n * 7 + 3) % 25}", "playsIn", f"f{n}") for n in range(57, 60)}  # from the one who is named
        assert told(found) == expected
        assert all(one.score > 0.85 for one in found)
        assert all(re.search(r"3 links: .* in (\d\d) of \1 similar cases", one.message) for one in found)
        assert not {one for one in told(world.curation.links(score=0.1)) if "jan" in one}
    with worlds.open(embedder=None) as world:  # two are no evidence
        world.bind("ex", EX)
        world.load((PREFIXES + films(5)).encode(), format="turtle")
        assert not world.curation.links(score=0.7)


def test_what_has_its_one_value_gets_no_other() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        world.add([(EX + "f59", EX + "director", EX + "p0")])
        assert "f59" not in {one for one, by, _ in told(world.curation.links(score=0.0)) if by == "director"}


def test_what_is_named_and_has_its_one_value_gets_no_other() -> None:
    known = "\n".join(f"ex:p{n} ex:knownFor ex:f{n} ." for n in range(25))
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(25) + known).encode(), format="turtle")
        later(world, 1)  # by p0, who is known for another film
        assert {one for one, by, _ in told(world.curation.links(score=0.0)) if by == "knownFor"} <= {"jan"}
        world.remove(list(world.quads(EX + "p0", EX + "knownFor")))
        found = {one for one in told(world.curation.links(score=0.0)) if one[:2] == ("p0", "knownFor")}
        assert found == {("p0", "knownFor", "f0"), ("p0", "knownFor", "n1")}


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
        found = {frozenset((one, other)) for one, _, other in told(world.curation.links(score=0.0))}
        assert frozenset(("new", "c")) in found
        assert frozenset(("a", "c")) not in found  # it follows, and the other way round it would be a circle


def test_a_link_that_another_property_says_is_not_missing() -> None:
    for said in ("ex:l3 ex:beside ex:h3 .", "ex:h3 ex:near ex:l3 ."):
        turtle = concepts("ex:near").replace("ex:l3 ex:near ex:h3 .", said + " ex:l3 ex:near ex:x .")
        with worlds.open(embedder=None) as world:
            world.load((PREFIXES + turtle).encode(), format="turtle")
            found = told(world.curation.links(score=0.0))
            assert not [one for one in found if {one[0], one[2]} == {"l3", "h3"} and one[1] == "near"], said


def test_a_link_has_support() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        assert not [one for one in world.curation.links(score=0.0) if "in 0 of" in one.message]


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
        following = LinkConclusions(connection, dictionary)

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


def rule_quads(world: World) -> list[object]:
    return list(world.quads(graph="urn:worlds:links"))


def test_links_that_one_rule_explains_are_one_finding() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        world.remove(list(world.quads(EX + "f5", EX + "director")))
        world.add([(EX + "f5", EX + "director", EX + "p6")])  # and not whom the text names
        found = [one for one in world.curation.links(score=0.5) if isinstance(one, Link)]
        assert sorted((local(one.predicate), one.count) for one in found) == [("director", 3), ("playsIn", 3)]
        director = next(one for one in found if local(one.predicate) == "director")
        assert director.cases == director.support + 1  # each film whose text names a person after "directed"
        assert [tuple(map(local, (one.subject, one.object))) for one in director.exceptions] == [("f5", "p5")]
        assert director.exceptions[0].sentence.startswith("A film of January, directed by")
        assert {local(one.subject) for one in director.examples} == {"f57", "f58", "f59"}
        assert len(director.links) == len(director.add) - 1 == 3
        assert f"in {director.support} of {director.cases} similar cases" in director.message
        assert director.message.endswith(f"but not between <{EX}f5> and <{EX}p5>")
        told = director.to_dict()
        assert (told["count"], len(told["examples"]), told["rule"]) == (3, 3, str(director.rule))


def later(world: World, number: int) -> None:
    """A film that comes the next day."""
    text = "A film of January, directed by Ann Lee and starring Bob Ray."
    world.load((PREFIXES + f'ex:n{number} a ex:Film ; dct:description "{text}" .').encode(), format="turtle")


def test_a_rule_that_was_accepted_is_followed() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        proposals = world.proposals.add_all(world.curation.links(), author="finder")
        assert len(proposals) == 2
        assert not world.proposals.add_all(world.curation.links()), "they wait"
        world.proposals.accept_all([one.id for one in proposals], reviewer="ann")
        assert len(rule_quads(world)) == 2
        assert not world.curation.links(), "there are none any more"
        later(world, 1)
        found = world.curation.links()
        assert told(found) == {("n1", "director", "p0"), ("p6", "playsIn", "n1")}
        assert all(isinstance(one, Link) and one.follows and one.count == 1 for one in found)
        followed = world.proposals.add_all(found, author="finder")
        assert [one.status for one in followed] == ["accepted", "accepted"]
        assert world.count(EX + "n1", EX + "director", EX + "p0") == 1
        assert not world.curation.links()
        later(world, 2)
        waiting = world.proposals.add_all(world.curation.links(), follow=False)  # who may not write
        assert [one.status for one in waiting] == ["open", "open"]
        assert world.count(EX + "n2", EX + "director") == 0


def test_a_rule_that_was_rejected_or_taken_back_is_not_followed() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        first, second = world.proposals.add_all(world.curation.links())
        world.proposals.reject(first.id, "no")
        change = world.proposals.accept(second.id)
        later(world, 1)
        assert len(world.curation.links()) == 1, "the rule that was rejected explains nothing any more"
        assert change.revision is not None
        world.undo(change.revision)
        assert not rule_quads(world)
        assert world.proposals.get(second.id).status == "open"
        assert not world.proposals.add_all(world.curation.links()), "it waits again"
        world.proposals.accept(second.id)
        world.remove(list(world.quads(graph="urn:worlds:links")))
        later(world, 2)
        assert not world.curation.links(), "whoever takes a rule away wants it no more"


def test_a_link_that_a_reviewer_took_out_does_not_come_back() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        proposals = world.proposals.add_all(world.curation.links())
        one = next(one for one in proposals if "director" in str(one.why))
        kept = [quad for quad in one.added if local(quad[0]) != "f58"]
        assert len(kept) == len(one.added) - 1
        world.proposals.amend(one.id, add=kept, why="not this one")
        world.proposals.accept(one.id)
        assert world.count(EX + "f58", EX + "director") == 0
        assert ("f58", "director", "p8") not in told(world.curation.links(score=0.0))


def test_a_link_that_was_rejected_alone_is_in_no_rule_later() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        for number in (57, 58):
            world.add([(EX + f"f{number}", EX + "director", EX + f"p{number % 25}")])
        proposals = world.proposals.add_all(world.curation.links())
        (alone,) = [one for one in proposals if len(one.added) == 1]
        world.proposals.reject(alone.id)
        later(world, 1)
        later(world, 2)
        found = {one for one in told(world.curation.links()) if one[1] == "director"}
        assert found == {("n1", "director", "p0"), ("n2", "director", "p0")}


def test_a_second_predicate_is_no_link_where_another_joins_the_pair() -> None:
    """A legal address is no headquarters' address, though both texts name the firm."""
    lines = []
    for n in range(30):
        lines.append(f'ex:firm{n} a ex:Firm ; rdfs:label "Firm {n} of Bern" ; ex:legal ex:l{n} ; ex:seat ex:s{n} .')
        lines.append(f'ex:l{n} a ex:Address ; dct:description "address for Firm {n} of Bern" .')
        lines.append(f'ex:s{n} a ex:Address ; dct:description "address for Firm {n} of Bern" .')
    lines.append('ex:firm99 a ex:Firm ; rdfs:label "Firm 99 of Bern" ; ex:seat ex:s99 .')
    lines.append('ex:s99 a ex:Address ; dct:description "address for Firm 99 of Bern" .')
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + "\n".join(lines)).encode(), format="turtle")
        assert not [one for one in world.curation.links(score=0.1) if isinstance(one, Link)]


def test_no_link_is_likelier_than_the_cases_that_bear_it_most() -> None:
    """Laplace's rule of succession, over the cases counted anew."""
    way = (1, False)
    namings = [Naming(n, n % 30, 9, ((3,), (5,)), "by" if n % 30 == 0 else "", ("", "")) for n in range(300)]
    joined = [{way} if one.entity == 0 and n > 30 else set() for n, one in enumerate(namings)]
    learnt = Learnt(namings, joined, {one.subject: {way: 2} for one in namings})
    for one in namings:
        for found in learnt.chances(one, set()):
            borne = []
            for context in one.contexts(way):
                cases = [by for other, by in zip(namings, joined, strict=True) if context in other.contexts(way)]
                borne.append((sum(way in by for by in cases) + 1) / (len(cases) + 2))
            assert found.share <= max(borne) + 1e-9
            assert (found.linked + 1) / (found.cases + 2) == max(borne)


def test_a_view_of_graphs_proposes_links_without_their_rule() -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle", graph=EX + "g")
        seen = world.only(graphs=EX + "g")
        proposals = seen.proposals.add_all(seen.curation.links())
        assert [len(one.added) for one in proposals] == [3, 3]


def test_no_link_that_was_decided_is_proposed_again(long: bool) -> None:
    """Each night links are found and proposed; by day some proposals are decided, links go, and films come."""
    chance = random.Random(5)
    people = [f"{one[0]} {other[1]}" for one in FILMS for other in FILMS]
    decided: set[tuple[str, ...]] = set()
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + films(60)).encode(), format="turtle")
        for night in range(50 if long else 6):
            made = world.proposals.add_all(world.curation.links(score=0.2), author="finder")
            proposed = {tuple(map(str, quad[:3])) for one in made for quad in one.added if EX in str(quad[0])}
            assert not proposed & decided, f"night {night}"
            waiting = list(world.proposals.list(kind="link"))
            for one in [*(one for one in made if one.status == "accepted"), *chance.sample(waiting, len(waiting) // 2)]:
                if one.status == "open":
                    (world.proposals.accept if chance.random() < 0.5 else world.proposals.reject)(one.id)
                decided |= {tuple(map(str, quad[:3])) for quad in one.added}
            gone = chance.choice(list(world.quads(None, EX + "director")))
            world.remove([gone])
            director, player = chance.choice(people), chance.choice(people)
            verb = chance.choice(["directed", "made", "shot"])
            text = f"A film of January, {verb} by {director} and starring {player}."
            world.load((PREFIXES + f'ex:n{night} a ex:Film ; dct:description "{text}" .').encode(), format="turtle")
        assert len(decided) >= 5
        assert world.check().ok


def test_what_follows_by_a_rule_of_the_world_is_not_missing() -> None:
    led = "\n".join(f"ex:f{n} ex:ledBy ex:p{n % 25} ." for n in range(60))
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load((PREFIXES + films(60) + led).encode(), format="turtle")
        assert ("f59", "director", "p9") in told(world.curation.links())
        world.rules.add("led", "CONSTRUCT { ?film ex:director ?one } WHERE { ?film ex:ledBy ?one }")
        assert {by for _, by, _ in told(world.curation.links())} == {"playsIn"}


def test_a_class_that_a_text_names_is_no_class_of_what_has_none() -> None:
    """Each coin has the class that its text names; that says nothing of dishes whose text names it, too."""
    lines = ['ex:Coin a owl:Class ; rdfs:label "coin" .']
    lines += [f'ex:c{n} a ex:Coin ; dct:description "A small coin of metal {n}." .' for n in range(30)]
    lines += [f'ex:d{n} dct:description "A small coin is what dish {n} costs." .' for n in range(30)]
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + "\n".join(lines)).encode(), format="turtle")
        assert not [one for one in told(world.curation.links()) if one[1].endswith("type")]
