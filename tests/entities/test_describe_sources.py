"""A description says of every value where it stands, in the reader's language."""

from __future__ import annotations

import worlds

EX = "http://example.org/"


def test_every_value_has_its_graphs_and_revisions() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "a", EX + "p", EX + "b"), (EX + "a", "rdf:type", EX + "T")])
        world.add([(EX + "a", EX + "p", EX + "b", EX + "g"), (EX + "c", EX + "q", EX + "a", EX + "h")])
        told = world.describe(EX + "a")
        (part,) = told.properties
        assert [(source.graph and str(source.graph), source.revision) for source in part.values[0].sources] == [
            (None, 1),
            (EX + "g", 2),
        ]
        assert [(source.graph, source.revision) for source in told.types[0].sources] == [(None, 1)]
        (incoming,) = told.incoming
        assert [(str(source.graph), source.revision) for source in incoming.values[0].sources] == [(EX + "h", 2)]
        assert told.to_dict()["incoming"][0]["values"][0]["sources"] == [{"graph": f"<{EX}h>", "revision": 2}]


def test_labels_and_the_description_are_in_the_readers_language() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "a", "rdfs:label", text) for text in ('"heron"@en', '"Reiher"@de-AT')])
        world.add([(EX + "a", "rdfs:comment", text) for text in ('"a bird"@en', '"ein Vogel"@de')])
        world.add([(EX + "b", "rdfs:label", text) for text in ('"water"@en', '"Wasser"@de')])
        world.add([(EX + "a", EX + "in", EX + "b")])
        told = world.describe(EX + "a", language="de")
        inside = [part for part in told.properties if part.label == "in"]
        assert (told.label, told.description, inside[0].values[0].label) == ("Reiher", "ein Vogel", "Wasser")
        assert world.describe(EX + "a").label == "heron"
        assert world.describe(EX + "a", language="fr").label == "heron"
