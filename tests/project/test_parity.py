"""What one door can do all can, under the same names: each verb and option of the table is at each door, and gives the
same there; what is left out stands in the table with its reason, and in docs/verbs.md."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import worlds
from tests.support.command_line import run
from tests.support.mcp_clients import Agent, ask, inside
from tests.support.serving import Served, served
from tests.support.surface import commands, operations, tools
from worlds.core.search.options import REQUIRED
from worlds.doors.server.api.operations import operations as table
from worlds.doors.server.keys import keys_of
from worlds.graph.longtexts import parse_quads
from worlds.verbs.table import VERBS

DATA = Path(__file__).resolve().parents[2] / "examples" / "space.ttl"
IN_PARTS = {  # options that the command line says by several, or by a shorter one
    ("search", "exclude"): "exclude_types",
    ("search", "weights"): "weight_vector",
    ("search_sql", "exclude"): "exclude_types",
    ("search_sql", "weights"): "weight_vector",
    ("explain", "answer"): "explain",
    ("explain", "counts"): "explain",
    ("proposals.add_all", "findings"): "propose",
}


# --- what is there ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [name for name, row in VERBS.items() if "command" not in row.absent])
def test_a_command_has_every_option(verb: str) -> None:
    row = VERBS[verb]
    there = commands()[row.called("command")]
    missing = [
        one.name
        for one in row.at("command")
        if not {one.at("command"), one.name, IN_PARTS.get((verb, one.name))} & there.keys()
    ]
    assert not missing


@pytest.mark.parametrize("verb", [name for name, row in VERBS.items() if "http" not in row.absent])
def test_an_operation_has_every_option(verb: str) -> None:
    there = {name for taken in operations_of(verb) for name in taken}
    assert there or not VERBS[verb].at("http")
    missing = [one.name for one in VERBS[verb].at("http") if one.at("http") not in there]
    assert not missing


def operations_of(verb: str) -> list[dict[str, Any]]:
    name = VERBS[verb].called("http")
    return [taken for head, taken in operations().items() if f"({name}, " in head or f"({name}_" in head]


@functools.cache
def listed_tools() -> dict[str, Any]:
    return asyncio.run(tools())


@pytest.mark.parametrize("verb", [name for name, row in VERBS.items() if "agents" not in row.absent])
def test_a_tool_has_every_option(verb: str) -> None:
    found = listed_tools()
    name = VERBS[verb].called("agents")
    there = next(taken for head, taken in found.items() if head.startswith(f"{name} ("))
    there = {**there, "claim": there.get("subject")}  # agents say it by its terms
    missing = [one.name for one in VERBS[verb].at("agents") if one.at("agents") not in there]
    assert not missing


def test_a_group_has_what_the_table_says() -> None:
    there = {name for name in vars(worlds.Group) if not name.startswith("_")}
    assert there & VERBS.keys() == {name for name, row in VERBS.items() if "group" not in row.absent}


# --- what it gives ----------------------------------------------------------------------------------------------------

EX, RDFS = "https://worlds.example/space/", "http://www.w3.org/2000/01/rdf-schema#"
READS: dict[str, dict[str, Any]] = {  # a call of each verb that reads, by Python's names
    "search": {"text": "aerogel dust", "limit": 4, "mode": "text", "types": "s:Mission", "subclasses": True},
    "questions.brief": {"question": "Which missions did Stardust fly?", "budget": 300},
    "context": {"question": "What did Stardust bring?", "budget": 300, "hops": 1, "language": "en"},
    "resolve": {"name": "Curiosity", "types": "s:Rover", "limit": 2},
    "entities.similar": {"iri": "ex:Curiosity", "limit": 3, "mode": "text", "types": "s:Rover"},
    "describe": {"iri": "ex:Curiosity", "limit": 3, "language": "de"},
    "facts.timeline": {"iri": "ex:Curiosity"},
    "entities.tree": {"of": "rdfs:subClassOf", "parent": "s:Spacecraft", "limit": 3, "language": "de"},
    "entities.members": {
        "of": "s:Rover",
        "facet": ["s:agency"],
        "where": "?subject s:agency ?a",
        "subclasses": True,
        "limit": 2,
    },
    "schema": {"limit": 5},
    "stats": {},
    "history": {"author": "ann", "entity": "ex:Curiosity", "limit": 3},
    "revisions.provenance": {"subject": "ex:Curiosity", "predicate": "rdfs:label"},
    "entities.mentions": {"text": "Was Curiosity on Mars?", "types": "s:Rover"},
    "curation.links": {"limit": 5, "score": 0.3},
    "curation.verify": {"claim": ["ex:Curiosity", "rdf:type", "s:Rover"], "at": 1},
    "shapes.validate": {"subjects": ["ex:Curiosity"]},
    "entities.form": {"iri": "ex:Curiosity", "types": "s:Rover", "language": "de"},
    "curation.contradictions": {"suggested": True, "kinds": ["functional", "outlier"], "author": "ann", "limit": 3},
    "curation.duplicates": {"types": "s:Rover", "score": 0.1, "limit": 3},
    "curation.decisions": {},
    "curation.report": {"after": 1},
    "proposals.list": {"status": "any", "limit": 5},
    "proposals.get": {"id": 1},
    "query": {"query": "SELECT ?r { ?r a s:Rover } ORDER BY ?r", "union": True},
}
SHAPE = b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix s: <https://worlds.example/space/schema#> .
[] a sh:NodeShape ; sh:targetClass s:Rover ; sh:property [ sh:path s:no ; sh:minCount 1 ] ."""


def make(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.load(DATA, author="ann", message="the example")
        world.shapes.load(SHAPE, format="turtle")
        world.add([("ex:Curiosity", "s:seen", 1)], author="ann")
        world.proposals.add(add=[("ex:Curiosity", "s:seen", 2)], why="seen again", confidence=0.5, author="bob")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parity") / "kb.db"
    make(path)
    with worlds.open(path, embedder=None) as world:
        world.curation.distinct("ex:Saturn", "ex:Jupiter", author="ann")
    return path


@pytest.fixture(scope="module")
def client(kb: Path) -> Iterator[httpx.Client]:
    with served(kb) as server, server.client() as client:
        yield client


def python(world: worlds.World, verb: str, given: Mapping[str, Any]) -> Any:
    """What the verb gives, as JSON-ready values."""
    return plain(verb, VERBS[verb].of(world)(**options_for(verb, given)))


async def asynchronous(path: Path, verb: str, given: Mapping[str, Any]) -> Any:
    """The same of a world of which every verb is awaited."""
    async with worlds.aopen(path, embedder=None, read_only=True) as world:
        return plain(verb, await VERBS[verb].of(world)(**options_for(verb, given)))


def options_for(verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call in Python."""
    options = dict(given)
    if verb == "curation.verify":
        options["claim"] = tuple(options["claim"])
    return options


def plain(verb: str, found: Any) -> Any:
    """An answer as JSON-ready values."""
    if isinstance(found, list | tuple):
        return [one.to_dict() for one in found]
    if verb == "query":
        return json.loads(found.serialize("json"))
    return found.to_dict()


def command_line(path: Path, verb: str, given: Mapping[str, Any]) -> Any:
    """What the command prints as JSON; its arguments are the required options, in their order."""
    row, words = VERBS[verb], []
    for name, value in given.items():
        option = row.options[name]
        if option.default is REQUIRED or (verb, name) in (
            ("entities.form", "iri"),
            ("entities.tree", "of"),
        ):  # an argument that may lack
            words += value if isinstance(value, list) else [value]
        elif isinstance(value, bool):
            words += [f"--{'' if value else 'no-'}{name}"]
        else:
            flag = {"types": "type", "subjects": "subject", "graphs": "graph", "kinds": "kind"}.get(
                name, option.at("command")
            )
            words += [part for one in (value if isinstance(value, list) else [value]) for part in (f"--{flag}", one)]
    if verb == "revisions.provenance":
        words = [words[1], *words[2:]]  # the subject is an argument
    name = row.called("command")
    result = run(name, path, *map(str, words), "--json")
    assert result.exit_code in (0, 1), result.stderr
    return json.loads(result.stdout)


def over_http(client: httpx.Client, verb: str, given: Mapping[str, Any]) -> Any:
    """What the operation answers; its names and its address are the table's."""
    row = VERBS[verb]
    one = next(one for one in table() if one.name == row.called("http"))
    named = {row.options[name].at("http"): value for name, value in given.items()}
    path = one.path.format(**named)
    rest = {name: value for name, value in named.items() if f"{{{name}}}" not in one.path}
    response = client.post(path, json=rest) if one.method == "POST" else client.get(path, params=rest)
    assert response.is_success, response.text
    return response.json()


def same(verb: str, document: Any) -> Any:
    """A document without what is of a door, a file or a moment."""
    if verb == "resolve" and isinstance(document, list):
        (document,) = document
    if isinstance(document, dict):
        document = {name: value for name, value in document.items() if name not in PASSING}
        if verb in LISTED:
            (document,) = (value for name, value in document.items() if name != "total")
    return document


LISTED = ("history", "revisions.provenance", "proposals.list", "entities.mentions", "curation.decisions")
PASSING = (
    "bytes",
    "explain",
    "path",
    "query",
    "explanation",
    "notes",
    "pending",
    "sqlite",
    "durability",
    "sparql_index",
)


@pytest.mark.parametrize("verb", READS)
def test_what_reads_gives_the_same_at_every_door(kb: Path, client: httpx.Client, verb: str) -> None:
    given = READS[verb]
    with worlds.open(kb, embedder=None, read_only=True) as world:
        expected = json.loads(json.dumps(python(world, verb, given), default=str))
    assert expected, "an empty answer would compare nothing"
    awaited = json.loads(json.dumps(asyncio.run(asynchronous(kb, verb, given)), default=str))
    assert same(verb, awaited) == same(verb, expected)
    assert same(verb, command_line(kb, verb, given)) == same(verb, expected)
    assert same(verb, over_http(client, verb, given)) == same(verb, expected)


def test_every_verb_that_reads_at_two_doors_is_compared() -> None:
    reads = {
        name for name, row in VERBS.items() if row.effect == "reads" and not {"command", "http"} & row.absent.keys()
    }
    assert reads - READS.keys() == {"entities.resolve_all", "export", "entities.mint", "facts.due"}


def test_agents_are_told_the_same(kb: Path) -> None:
    with worlds.open(kb, embedder=None) as world:
        expected = {verb: essence(verb, python(world, verb, given)) for verb, given in READS.items()}
        found: dict[str, Any] = {}

        async def scenario(agent: Agent) -> None:
            for verb, given in READS.items():
                row = VERBS[verb]
                if "agents" in row.absent or verb == "proposals.get":
                    continue
                arguments = {row.options[name].at("agents"): value for name, value in given.items()}
                if verb == "curation.verify":
                    claim = arguments.pop("claim")
                    arguments |= dict(zip(("subject", "predicate", "object"), claim, strict=True))
                if verb == "context":  # its text is there twice, and cited
                    arguments["token_budget"] *= 4
                found[verb] = told(verb, await agent.data(row.called("agents"), **arguments), world.prefixes)

        ask(inside(world, allow_proposals=True, token_budget=50_000), scenario)
    assert found == {verb: expected[verb] for verb in found}
    assert len(found) > 14


def essence(verb: str, document: Any) -> Any:
    """What a document has that an answer for a model has, too."""
    if verb in ("search", "entities.similar"):
        return [hit["subject"] for hit in document["hits"]]
    if verb == "context":
        return document["text"]
    if verb == "resolve":
        return [one["iri"] for one in document["candidates"]]
    if verb == "describe":
        return [one["predicate"] for one in document["properties"]]
    if verb == "schema":
        return [one["iri"] for one in document["classes"]]
    if verb == "entities.form":
        return [one["predicate"] for one in document["fields"]]
    if verb == "curation.decisions":
        return [one["how"] for one in document]
    if verb in ("history", "entities.mentions", "proposals.list"):
        key = {"history": "revision", "entities.mentions": "start", "proposals.list": "id"}[verb]
        return [one[key] for one in document]
    if verb == "revisions.provenance":
        return [one["added"]["revision"] for one in document]
    if verb in ("curation.contradictions", "curation.duplicates"):
        return document["counts"]
    if verb == "curation.report":
        return [one["name"] for one in document["checks"] if one["count"]]
    if verb == "query":
        return [one["r"]["value"] for one in document["results"]["bindings"]]
    return document.get("outcome", document.get("conforms"))


def told(verb: str, answer: Mapping[str, Any], prefixes: Mapping[str, str]) -> Any:
    """The same of an answer to an agent, whose names have prefixes."""

    def full(name: str) -> str:
        prefix, _, local = name.partition(":")
        return prefixes[prefix] + local

    if verb in ("search", "entities.similar"):
        return [full(one["subject"]) for one in answer["citations"]]
    if verb == "context":
        return answer["text"]
    if verb == "resolve":
        return [full(one["iri"]) for one in answer["names"][0]["candidates"]]
    if verb == "describe":
        return [full(one["predicate"]) for one in answer["properties"]]
    if verb == "schema":
        return [full(one["iri"]) for one in answer["classes"]]
    if verb == "entities.form":
        return [full(one["predicate"]) for one in answer["fields"]]
    if verb in ("history", "entities.mentions", "proposals.list"):
        name, key = {"history": ("revisions", "revision"), "entities.mentions": ("mentions", "start")}.get(
            verb, ("proposals", "id")
        )
        return [one[key] for one in answer[name]]
    if verb == "revisions.provenance":
        return [one["added"]["revision"] for one in answer["quads"]]
    if verb in ("curation.contradictions", "curation.duplicates"):
        return answer["counts"]
    if verb == "curation.report":
        return [one["name"] for one in answer["checks"]]
    if verb == "query":
        return [full(row[0]) for row in answer["rows"]]
    return answer.get("outcome", answer.get("conforms"))


# --- what it does -----------------------------------------------------------------------------------------------------

QUAD = '<urn:new> <http://www.w3.org/2000/01/rdf-schema#label> "A kite"@en .'
SEEN = f'<{EX}Curiosity> <{EX}schema#seen> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .'
WRITES: dict[str, dict[str, Any]] = {  # of each verb that writes; the world has three revisions and a proposal
    "add": {"quads": [QUAD], "message": "a bird"},
    "remove": {"quads": [SEEN]},
    "update": {"text": "INSERT DATA { ex:new s:seen 3 }"},
    "undo": {"revision": 3, "message": "no"},
    "bind": {"prefix": "n", "iri": "urn:n:"},
    "curation.merge": {"kept": "ex:Curiosity", "others": ["ex:Perseverance"], "conflicts": "kept", "message": "one"},
    "facts.state": {
        "subject": "ex:Curiosity",
        "predicate": "s:base",
        "object": "ex:Mars",
        "graph": "urn:g",
        "valid_from": "2012-08",
        "cites": ["ex:NASA"],
        "confidence": 0.5,
        "message": "why",
    },
    "facts.tell": {"facts": [["Curiosity", "seen", "5"]], "graph": "urn:g", "message": "heard"},
    "facts.end": {"quad": ["ex:Curiosity", "rdf:type", "s:Rover"], "at": "2020-05", "reason": "why"},
    "curation.distinct": {"a": "ex:Curiosity", "b": "ex:Perseverance", "graph": "urn:g"},
    "edit": {"add": [QUAD], "remove": [SEEN], "base": 3, "message": "a bird, seen"},
    "proposals.add": {"add": [QUAD], "why": "heard", "confidence": 0.25, "kind": "bird", "relies_on": [QUAD]},
    "proposals.amend": {"id": 1, "add": [QUAD], "why": "rather this"},
    "proposals.accept": {"id": 1, "why": "yes", "version": 1},
    "proposals.reject": {"id": 1, "why": "no"},
    "curation.link_texts": {"score": 0.4, "message": "links"},
}


def state(path: Path | worlds.World) -> Any:
    """All that a write can change, but who and when: the key has another name than the author."""
    opened = worlds.open(path, embedder=None) if isinstance(path, Path) else contextlib.nullcontext(path)
    with opened as world:
        proposals = [one.to_dict() for one in world.proposals.list(status="any")]
        names = ("id", "status", "kind", "why", "confidence", "added", "removed", "version", "decision")
        return {
            "quads": sorted(f"{quad}" for quad in world.quads()),
            "messages": [(entry.added, entry.removed) for entry in world.history()],
            "prefixes": world.prefixes,
            "proposals": [{name: one[name] for name in names} for one in proposals],
        }


def write(world: worlds.World, verb: str, given: Mapping[str, Any]) -> None:
    """The call in Python."""
    options = dict(given)
    for name in ("quads", "add", "remove", "relies_on"):
        if name in options:
            options[name] = parse_quads(options[name])
    others = options.pop("others", ())
    first = [options.pop("kept")] if others else []
    VERBS[verb].of(world)(*first, *others, **options)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "kb.db"
    make(path)
    return path


@pytest.fixture(scope="module")
def before(original: Path) -> Any:
    return state(original)


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copied(name: str) -> Path:
        path = tmp_path / name / "kb.db"
        path.parent.mkdir()
        shutil.copy(original, path)
        return path

    return copied


@pytest.fixture(scope="module")
def written(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str, Path]]:
    """A server of a copy for each verb, a key, and the folder."""
    folder = tmp_path_factory.mktemp("written") / "worlds"
    folder.mkdir()
    for verb in WRITES:
        shutil.copy(original, folder / f"{verb}.db")
    key = keys_of(folder).add("ann", {"*": "admin"})[1]
    with served(folder, "--readers", "1") as server:
        yield server, key, folder


@pytest.mark.parametrize("verb", WRITES)
def test_what_writes_does_the_same_at_every_door(
    copy: Callable[[str], Path], before: Any, written: tuple[Served, str, Path], verb: str
) -> None:
    row, given = VERBS[verb], WRITES[verb]
    own = copy("python")
    with worlds.open(own, embedder=None) as world:
        write(world, verb, given)
        assert world.check().ok
    expected = state(own)
    assert expected != before
    if "command" not in row.absent:
        path = copy("command")
        command_line_writes(path, verb, given)
        assert state(path) == expected
    server, key, folder = written
    with server.client(key) as client:
        client.base_url = httpx.URL(f"{server.url}/worlds/{verb}")
        http_writes(client, verb, given)
    assert state(folder / f"{verb}.db") == expected
    if "agents" not in row.absent:
        path = copy("agents")
        with worlds.open(path, embedder=None) as world:
            ask(inside(world, allow_writes=True), partial(agent_writes, verb=verb, given=given))
        assert state(path) == expected


def command_line_writes(path: Path, verb: str, given: Mapping[str, Any]) -> None:
    words: list[Any] = []
    row = VERBS[verb]
    for name, value in given.items():
        if row.options[name].default is REQUIRED:
            words += (value[0] if verb == "facts.tell" else value) if isinstance(value, list) else [value]
        else:
            words += [f"--{name.replace('_', '-')}", *(value if isinstance(value, list) else [value])]
    json_ = [] if verb == "bind" else ["--json"]
    result = run(row.called("command"), path, *map(str, words), *json_)
    assert result.exit_code == 0, result.stderr


def http_writes(client: httpx.Client, verb: str, given: Mapping[str, Any]) -> None:
    if verb == "update":
        response = client.post("/sparql", content=given["text"], headers={"content-type": "application/sparql-update"})
        assert response.is_success, response.text
    else:
        over_http(client, verb, given)


async def agent_writes(agent: Agent, *, verb: str, given: Mapping[str, Any]) -> None:
    row = VERBS[verb]
    arguments = {row.options[name].at("agents"): value for name, value in given.items()}
    for name in ("quads", "add", "relies_on"):
        if name in arguments:
            arguments[name] = [["<urn:new>", "rdfs:label", '"A kite"@en']]
    await agent.data(row.called("agents"), **arguments)


def test_every_verb_that_writes_is_compared() -> None:
    writes = {
        name for name, row in VERBS.items() if row.effect != "reads" and not {"command", "http"} <= row.absent.keys()
    }
    others = {"curation.split", "load", "sources.add_document", "sources.sync", "revisions.apply", "revisions.prune"}
    others |= {"embed", "facts.reinstate", "shapes.set_guard", "facts.carry_out", *BULK}
    assert writes - WRITES.keys() == others


BULK = (
    *("proposals.accept_all", "proposals.reject_all", "proposals.add_all"),
    *("file.compact", "file.build_vector_index", "file.drop_vector_index"),
)
