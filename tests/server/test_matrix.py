"""Who may do what: every key, on every world, with every operation of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import worlds
from tests.support.serving import Served, served
from worlds.doors.server.api.operation import Operation
from worlds.doors.server.api.operations import operations
from worlds.doors.server.keys import KeyStore, keys_of
from worlds.verbs.verb import LEVELS

WORLDS = ("a", "b")
FILLED = {"iri": "urn%3As", "revision": "999999", "number": "999999", "name": "base.css"}
SENT = {  # what an update is, the table cannot say
    "update": Operation("update", "POST", "/sparql", "An update.", "write", {}),
}
TABLE = {**{one.name: one for one in operations()}, **SENT}
KEYS: dict[str, dict[str, str] | None] = {
    "none": None,
    **{f"{level} on a": {"a": level} for level in LEVELS},
    **{f"{level} on all": {"*": level} for level in LEVELS},
    "write on a, read on all": {"a": "write", "*": "read"},
}
FEW = ("none", "propose on a", "write on a, read on all")


def allowed(operation: Operation, levels: dict[str, str] | None, world: str) -> bool:
    """What the documentation says: a level includes those before it; without a key, one may read on loopback."""
    if operation.level is None:
        return True
    if levels is None:
        return operation.level == "read"
    held = [levels[name] for name in (world, "*") if name in levels]
    return any(LEVELS.index(level) >= LEVELS.index(operation.level) for level in held)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, KeyStore]]:
    path = tmp_path_factory.mktemp("matrix") / "worlds"
    path.mkdir()
    for name in WORLDS:
        with worlds.open(path / f"{name}.db", embedder=None) as world:
            world.add([("urn:s", "urn:p", '"text"')])
    with served(path, "--readers", "1") as server:
        yield server, keys_of(path)


def address(operation: Operation, world: str) -> str:
    path = operation.path.replace("{world}", world)
    if operation.several:
        return f"{path}?world={world}"
    path = re.sub(r"\{(\w+)[^}]*\}", lambda name: FILLED.get(name[1], "x"), path)
    return f"/worlds/{world}{path}" if operation.of_world else path


@pytest.mark.parametrize("key", [key if key in FEW else pytest.param(key, marks=pytest.mark.long) for key in KEYS])
def test_every_cell(folder: tuple[Served, KeyStore], key: str) -> None:
    server, store = folder
    levels = KEYS[key]
    text = None if levels is None else store.add(key, levels)[1]
    admin = store.add(f"admin beside {key}", {"*": "admin"})[1]
    wrong = []
    with server.client(text) as client, server.client(admin) as root:
        for operation in TABLE.values():
            for world in WORLDS:
                if operation.name == "metrics":  # of all worlds
                    expected = levels is None or levels.get("*") is not None
                elif operation.of_world or operation.several or "{world}" in operation.path:
                    expected = allowed(operation, levels, world)
                else:
                    expected = operation.level is None or allowed(operation, levels, "*")
                body = {"update": "CLEAR GRAPH <urn:none>"} if operation.name == "update" else None
                json: dict[str, object] | None = {} if operation.fields is not None else None
                response = client.request(
                    operation.method, address(operation, world), data=body, json=json, follow_redirects=True
                )
                refused = response.status_code in (401, 403)
                if refused == expected or response.status_code >= 500:
                    wrong.append((operation.name, world, response.status_code, expected))
                if operation.name == "delete_world" and not refused:
                    assert root.put(f"/worlds/{world}").status_code == 201
    assert wrong == []
    if text is not None:
        store.revoke(key)
        with server.client(text) as client:
            for operation in TABLE.values():
                if operation.level is not None:
                    response = client.request(operation.method, address(operation, "a"))
                    assert response.status_code == 401, operation.name
