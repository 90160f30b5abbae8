"""Random worlds of several graphs, the same worlds without some of these, and calls of every verb that reads."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World

EX = "http://example.org/"
SECRET = "zq"  # is in every name and every word that stands in graphs outside of a scope alone
MESSAGE = "a step"
Quad: TypeAlias = tuple[str, str, str, str]
Step: TypeAlias = tuple[str, list[Quad]]
Call: TypeAlias = Callable[[World], Any]

ASKED = ("resolve near", "mentions", "search unknown", "query empty", "query wrong")
"""Calls that name what stands outside by themselves."""
_WORDS = (
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "island", "juniper", "kelp", "lagoon",
    "maple", "nectar",
)  # fmt: skip
_KINDS = ("Person", "Place", "Ship")
_LINKS = ("knows", "near", "owns")
_TEXTS = ("rdfs:label", "rdfs:comment", "skos:altLabel", "ex:note")


def history(random: random.Random, graphs: int, steps: int) -> tuple[list[Step], list[str]]:
    """Writes, each "add" or "remove" with its quads, and the graphs inside of the scope."""
    names = [f"ex:g{number}" for number in range(graphs)]
    inside = sorted(random.sample(names, random.randint(1, graphs - 1)))
    if random.random() < 0.3:
        inside[0] = "default"
        names = [*(set(names) - {inside[0]}), "default"]
    # Both worlds number the terms that stand in and outside of the scope in one order, by which ties are broken.
    seed = [("ex:a", "ex:seed", "ex:seed", graph) for graph in inside]
    seed += [(f"ex:{one}", "ex:seed", "ex:seed", inside[0]) for one in "bcdefghij"]
    seed += [("ex:a", f"ex:{link}", f"ex:{kind}", inside[0]) for link in (*_LINKS, "size", "note") for kind in _KINDS]
    seed += [("ex:a", predicate, "ex:a", inside[0]) for predicate in ("rdf:type", *_TEXTS)]
    seed += [("ex:a", "ex:size", f'"{number}"^^xsd:integer', inside[0]) for number in range(1, 10)]
    seed += [("ex:a", "rdfs:label", '"a text, so that both have an embedder"', inside[0])]
    written: list[Step] = [("add", seed), ("remove", seed)]
    held: set[Quad] = set()
    for _ in range(steps):
        if held and random.random() < 0.25:
            gone = random.sample(sorted(held), min(len(held), random.randint(1, 6)))
            written.append(("remove", gone))
            held -= set(gone)
        else:
            new = [_quad(random, names, inside) for _ in range(random.randint(1, 12))]
            written.append(("add", new))
            held |= set(new)
    return written, inside


def _quad(random: random.Random, graphs: list[str], inside: list[str]) -> Quad:
    graph = random.choice(graphs)
    mark = "" if graph in inside else SECRET
    entity = f"ex:{mark}{random.choice('abcdefghij')}"
    if mark and random.random() < 0.5:
        entity = entity.replace(mark, "")  # told of in both
    kind = random.random()
    if kind < 0.2:
        return entity, "rdf:type", f"ex:{mark}{random.choice(_KINDS)}", graph
    if kind < 0.45:
        return entity, f"ex:{mark}{random.choice(_LINKS)}", f"ex:{mark}{random.choice('abcdefghij')}", graph
    if kind < 0.55:
        return entity, f"ex:{mark}size", f'"{random.randint(1, 9)}"^^xsd:integer', graph
    words = " ".join(mark + random.choice(_WORDS) for _ in range(random.randint(1, 5)))
    tag = random.choice(("", "@en", "@de"))
    predicate = random.choice(_TEXTS)
    return entity, predicate, f'"{words}"{tag}', graph


def opened() -> World:
    """A world without quads, with the embedder of the tests."""
    world = worlds.open(":memory:", embedder=HashingEmbedder(64))
    world.bind("ex", EX)
    return world


def play(world: World, steps: list[Step], graphs: list[str] | None = None) -> None:
    """Make the writes, or what of them is of some graphs."""
    for verb, quads in steps:
        chosen = [quad for quad in quads if graphs is None or quad[3] in graphs]
        if chosen:
            ordered = sorted(chosen, key=lambda quad: quad[2].rpartition('"')[2])  # for the order of new literals
            getattr(world, verb)([quad[:3] if quad[3] == "default" else quad for quad in ordered], message=MESSAGE)


def calls(random: random.Random, count: int) -> Iterator[tuple[str, Call]]:
    """Calls of the verbs that read, with what names them."""
    for _ in range(count):
        entity, other = (f"ex:{random.choice('abcdefghijk')}" for _ in range(2))
        words = " ".join(random.choice(_WORDS) for _ in range(random.randint(1, 3)))
        kind, link = f"ex:{random.choice(_KINDS)}", f"ex:{random.choice(_LINKS)}"
        mode = random.choice(("text", "vector", "hybrid"))
        yield random.choice(_calls(entity, other, words, kind, link, mode, random.randint(1, 20)))


def _calls(entity: str, other: str, words: str, kind: str, link: str, mode: Any, limit: int) -> list[tuple[str, Call]]:
    return [
        ("search", lambda w: w.search(words, mode=mode, limit=limit)),
        ("search types", lambda w: w.search(words, types=kind, limit=5)),
        ("search where", lambda w: w.search(words, where=f"?s {link} ?o", limit=5)),
        ("search facets", lambda w: w.search(words, group_by="subject").facets),
        ("search unknown", lambda w: w.search(words, types="ex:zqPlac")),
        ("explain search", lambda w: w.search(words, where="?s ex:knows ?o", mode="text")),
        ("context", lambda w: w.context(f"{words} {entity[3:]}", budget=400)),
        ("resolve", lambda w: w.resolve(words)),
        ("resolve near", lambda w: w.resolve(SECRET + words.split()[0])),
        ("similar", lambda w: w.entities.similar(entity, limit=5)),
        ("describe", lambda w: w.describe(entity)),
        ("schema", lambda w: w.schema()),
        ("mentions", lambda w: w.entities.mentions(f"The {words} of {SECRET}amber")),
        ("suggest_links", lambda w: w.curation.links(score=0.1)),
        ("verify", lambda w: w.curation.verify((entity, link, other))),
        ("verify words", lambda w: w.curation.verify((entity, "ex:size", words))),
        ("validate", lambda w: w.shapes.validate()),
        ("contradictions", lambda w: w.curation.contradictions()),
        ("duplicates", lambda w: w.curation.duplicates(score=0.05)),
        ("report", lambda w: w.curation.report()),
        ("neighbourhood", lambda w: w.entities.neighbourhood(entity)),
        ("paths", lambda w: w.entities.paths(entity, other)),
        ("quads", lambda w: sorted(map(str, w.quads(entity)))),
        ("count", lambda w: (w.count(), len(w), w.count(triples=True))),
        ("graphs", lambda w: w.graphs()),
        ("export", _export),
        ("query", lambda w: w.query(f"SELECT ?p ?o {{ GRAPH ?g {{ {entity} ?p ?o }} }} ORDER BY ?p ?o")),
        ("query union", lambda w: w.query(f"SELECT (COUNT(*) AS ?n) {{ ?s {link} ?o }}", union=True)),
        ("query empty", lambda w: w.query("SELECT * { ?s ex:zqknow ?o }", union=True)),
        ("query wrong", lambda w: w.query("SELECT * { ?s ex:zqknows ?o . ?s rdfs:labl ?l }")),
        ("query class", lambda w: w.query("SELECT * { ?s a ex:Persn }", union=True)),
        ("query search", lambda w: w.query(
            f'SELECT ?s ?score {{ SERVICE w:search {{ ?hit w:query "{words}" ; w:subject ?s ; w:score ?score }} }}')),
        ("prefixes", lambda w: w.prefixes),
        ("proposals", lambda w: w.proposals.list(status="any")),
        ("provenance", lambda w: w.revisions.provenance(entity)),
        ("history", lambda w: w.history()),
        ("diff", lambda w: w.diff(0).patch().splitlines()[2:]),
        ("dry update", lambda w: sorted(
            map(str, w.update(f"DELETE WHERE {{ GRAPH ?g {{ {entity} ?p ?o }} }}", dry_run=True).removed))),
    ]  # fmt: skip


def _export(world: World) -> list[str]:
    out = io.BytesIO()
    world.export(out, format="nq")
    return sorted(out.getvalue().decode().splitlines())


_NUMBERS = re.compile(r"(urn:worlds:chunk:|\brevisions? |_:w)\d+")
_OWN = {
    "revision",
    "revisions",
    "chunk",
    "id",
    "time",
    "uri",
    "cursor",
    "sql",
    "statements",
    "milliseconds",
    "removed_in",
}


def answer(call: Call, world: World) -> str:
    """What a call gives, or its error, as text in which ids and numbers of revisions are the same everywhere."""
    return json.dumps(_plain(whole(call, world)), sort_keys=True, default=str)


def whole(call: Call, world: World) -> Any:
    """What a call gives, or its error, as JSON-ready values."""
    try:
        found = call(world)
    except (worlds.WorldsError, ValueError) as error:
        return [type(error).__name__, str(error)]
    told = getattr(found, "to_dict", None)
    if told is not None:
        return told()
    if hasattr(found, "to_dicts"):
        return [found.to_dicts(), getattr(found, "notes", ())]
    if isinstance(found, list):
        return [one.to_dict() if hasattr(one, "to_dict") else str(one) for one in found]
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in _OWN}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return None if value == MESSAGE else _NUMBERS.sub(r"\1N", value)
    return round(value, 4) if isinstance(value, float) else value
