"""What is said of triples, found: a hit tells the triples that it is said of, and is found by their subjects."""

from __future__ import annotations

import random
from typing import Any

import worlds
from tests.support.command_line import ok

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DATA = b"""
@prefix e: <urn:> .
e:ann a e:Person ; e:worksAt e:acme ~ e:r {| e:note "hired after the merger" |} .
e:bob e:worksAt e:acme {| e:note "hired before the merger" |} .
[] <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( e:ann e:leads e:acme )>> ; e:note "said since the merger" .
e:acme e:note "made by a merger" .
"""
NOTES = {
    "urn:ann": {"hired after the merger", "said since the merger"},
    "urn:bob": {"hired before the merger"},
    "urn:acme": {"made by a merger"},
}


def texts(world: worlds.World, **options: Any) -> set[str]:
    return {hit.text for hit in world.search("merger", **options)}


def test_what_is_said_of_a_triple_is_found_by_its_subject() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.load(DATA, format="turtle")
        every = set.union(*NOTES.values())
        assert texts(world) == every
        for subject, notes in NOTES.items():
            assert texts(world, subjects=subject) == notes
            assert texts(world, exclude={"subjects": subject}) == every - notes
        assert texts(world, types="urn:Person") == NOTES["urn:ann"]
        assert texts(world, where="?subject <urn:worksAt> <urn:acme>") == NOTES["urn:ann"] | NOTES["urn:bob"]
        assert texts(world, subjects="urn:r") == {"hired after the merger"}
        hit = next(hit for hit in world.search("merger") if hit.text == "said since the merger")
        assert [tuple(map(str, triple)) for triple in hit.annotates] == [("urn:ann", "urn:leads", "urn:acme")]
        assert hit.to_dict()["annotates"] == [["<urn:ann>", "<urn:leads>", "<urn:acme>"]]
        assert "annotates" not in world.search("made")[0].to_dict()
        # The filter follows every write.
        world.add([("urn:new", RDF + "reifies", "<<( <urn:bob> <urn:p> <urn:x> )>>")])
        world.add([("urn:new", "urn:note", '"a merger again"')])
        assert texts(world, subjects="urn:bob") == {"hired before the merger", "a merger again"}
        world.remove(list(world.quads("urn:new")))
        assert texts(world, subjects="urn:bob") == {"hired before the merger"}


def test_a_scope_finds_nothing_by_triples_of_other_graphs(tmp_path: Any) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.load(DATA, format="turtle", graph="urn:g")
        world.add([("urn:h", "urn:note", '"a merger"', "urn:open")])
        assert texts(world.only(graphs=["urn:open"])) == {"a merger"}
        assert texts(world.only(graphs=["urn:open"]), subjects="urn:ann") == set()
        assert texts(world, subjects="urn:ann", graphs="urn:g") == NOTES["urn:ann"]
    assert '"annotates"' in ok("search", path, "hired", "--json", "--embedder", "none")


def test_many_reifiers_are_those_of_an_oracle() -> None:
    draw = random.Random(4)
    with worlds.open(":memory:", embedder=None) as world:
        said: dict[str, set[str]] = {}
        lines = []
        for number in range(300):
            subject = f"urn:s{draw.randrange(20)}"
            said.setdefault(subject, set()).add(f"merger {number}")
            lines.append(f'<{subject}> <urn:p> <urn:o{draw.randrange(9)}> {{| <urn:note> "merger {number}" |}} .')
        world.load("\n".join(lines).encode(), format="turtle")
        for subject, notes in said.items():
            found = {hit.text for hit in world.search("merger", subjects=subject, limit=400)}
            assert found == notes
