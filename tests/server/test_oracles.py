"""Whatever a key may not read has no effect on any answer that it gets, in whatever place of a request it is named."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.support.oracles import MEMORY, OPEN, E, pair, plain, requests
from worlds import World
from worlds.doors.server.api.jobs import encoded
from worlds.doors.server.api.operation import Operation
from worlds.doors.server.protocols.graph_jobs import Document, Preconditions
from worlds.doors.server.workers.jobs import load_jobs
from worlds.errors import WorldsError

_SPARQL: dict[str, Any] = {"base": "https://e/", "union": None, "allow_network": []}


class _BackError(Exception):
    pass


ELSEWHERE = ("sparql_post", "sync", "page", "access", "reconcile", "reconcile_post")
"""Updates are those of propose; queries that reconcile have a test of their own; the others take no terms."""


def asked(operation: Operation, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The job that an operation calls, and with what."""
    name = operation.name
    options = {operation.keys.get(key, key): value for key, value in given.items()}
    if operation.job == "proposals.add_all":
        return "found", {"of": operation.defaults["of"], **options}
    if name == "resolve_post":
        return "entities.resolve_all", {**options, "names": [(one, None) for one in options["names"]]}
    if name == "query" and "query" in options:
        return "query", {**_SPARQL, "query": options["query"], "accept": None, "default_graphs": None,
                         "named_graphs": None, "max_results": 100}  # fmt: skip
    if name == "suggest":
        return name, {"kind": options["kind"], "prefix": options.get("prefix", ""), "skip": 0, "limit": 10}
    if name == "extension_properties":
        return name, {"of_type": options.get("type", ""), "limit": 10}
    if "_graph" in name:
        graph, none = options.get("graph") or options.get("path"), Preconditions()
        if name.startswith(("get", "head")):
            return "read_graph", {"graph": graph, "accept": "text/turtle", "conditions": none, "body": True}
        if name.startswith("delete"):
            return "delete_graph", {"graph": graph, "conditions": none, "author": "key"}
        body = [Document(b"<urn:x> <urn:y> <urn:z> .", "turtle")]
        return "write_graph", {"graph": graph, "documents": body, "base": "https://e/", "conditions": none,
                               "replace": name.startswith("put"), "author": "key"}  # fmt: skip
    return operation.job or name, options


def told(world: World, name: str, options: dict[str, Any]) -> str:
    """What a job answers, or fails with; what it wrote is undone."""
    job = load_jobs()[name]
    found: Any = None

    def ask() -> Any:
        given = dict(options)
        seen = world.as_of(given.pop("as_of")) if "as_of" in given else world  # as a worker does
        if name == "found":
            return load_jobs()["proposals.add_all"].function(
                world, author="key", follow=True, findings=job.function(seen, **given)
            )
        answer = job.function(seen, **given, **({"author": "key"} if job.write and "author" not in given else {}))
        return [answer[0], b"".join(answer[1]).decode()] if job.streams else answer

    try:
        with contextlib.suppress(_BackError), world.transaction():
            found = ask()
            raise _BackError
    except (WorldsError, ValueError, TypeError) as error:
        return f"{type(error).__name__} {getattr(error, 'kind', '')} {error}"
    return plain(found if isinstance(found, bytes) else encoded(found))


def worlds_of(scoped: bool) -> list[World]:
    """The two worlds as a client sees them whose key has no scope, or one of a graph."""
    made = pair(scoped)
    return [one.only(graphs=OPEN) if scoped else one for one in made]


@pytest.mark.parametrize("scoped", [False, True], ids=["memory", "graph"])
def test_no_answer_tells_what_may_not_be_read(scoped: bool, long: bool) -> None:
    # Whether a key has the level is settled before it is looked at what it says: so what the level admin may is asked.
    seen = worlds_of(scoped)
    chosen = [
        (operation, given)
        for operation, given in requests()
        if operation.name not in ELSEWHERE and (operation.name != "query" or "query" in given)
    ]
    differ = []
    for operation, given in chosen if long else chosen[5 * scoped :: 80]:
        name, options = asked(operation, given)
        one, other = (told(world, name, options) for world in seen)
        if one != other:
            differ.append((operation.name, given, one, other))
        assert "TypeError" not in one, (operation.name, given, one)
    assert differ == []


@pytest.mark.parametrize(
    ("job", "options"),
    [
        ("curation.merge", {"kept": f"{E}mars", "others": [f"{E}hidden"]}),
        ("proposals.add", {"merge": [f"{E}mars", f"{E}hidden"], "add": ["<urn:x> <urn:y> <urn:z> ."]}),
        ("proposals.add", {"remove": [f'<{E}hidden> <{E}hates> "asthma" <{E}shut> .']}),
        ("curation.split", {"revision": 2}),
    ],
    ids=["merge", "merge that is proposed", "removal that is proposed", "split"],
)
def test_a_scope_refuses_alike_what_is_elsewhere_and_what_is_nowhere(job: str, options: dict[str, Any]) -> None:
    one, other = (told(world, job, options) for world in worlds_of(True))
    assert (one, "TypeError" in one) == (other, False)


HIDDEN = f'<{E}hidden> <{E}hates> "asthma" <{MEMORY}ann> .'


@pytest.mark.parametrize(
    ("job", "options"),
    [
        ("proposals.add", {"add": ["<urn:a> <urn:b> <urn:c> ."], "relies_on": [HIDDEN]}),
        ("facts.end", {"quad": [f"{E}hidden", f"{E}hates", '"asthma"', f"{MEMORY}ann"]}),
        ("facts.reinstate", {"quad": [f"{E}hidden", f"{E}likes", f"{E}hates", f"{MEMORY}ann"]}),
        ("curation.merge", {"kept": f"{E}mars", "others": [f"{E}hidden"]}),
        ("edit", {"remove": [HIDDEN]}),
        ("edit", {"add": [f'<{E}mars> <{E}sufferz> "x" .']}),
        ("rehearsal", {"update": f"INSERT DATA {{ GRAPH <{MEMORY}ann> {{ {HIDDEN.rsplit(' ', 2)[0]} }} }}"}),
        ("proposals.add", {"update": f"DELETE DATA {{ GRAPH <{MEMORY}ann> {{ {HIDDEN.rsplit(' ', 2)[0]} }} }}"}),
        ("history", {}),
        ("revision", {"revision": 2}),
        ("undo", {"revision": 2}),
        ("stats", {}),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_was_an_oracle_tells_nothing(job: str, options: dict[str, Any]) -> None:
    one, other = (told(world, job, options) for world in worlds_of(False))
    assert one == other
