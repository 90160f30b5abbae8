"""A world on a server does what a file does, verb after verb."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlds
from tests.project.test_parity import READS, WRITES, make, python, same, state, write
from tests.support.primaries import Served
from worlds.errors import ConflictError
from worlds.extras.remote.file_transfer import push

APART = (
    "add",
    "edit",
    "undo",
    "curation.merge",
    "proposals.accept",
)  # they need the state that another of these verbs takes away


def test_a_world_on_a_server_does_the_same(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "kb.db"
    make(file)
    assert served.primary.keys is not None
    push(file, served.url, key=served.primary.keys.admin, replace=True)
    with worlds.open(file, embedder=None) as here, served.open() as there:
        for verb, given in READS.items():
            assert same(verb, python(there, verb, given)) == same(verb, python(here, verb, given)), verb
        for verb, given in WRITES.items():
            if verb not in APART:
                write(here, verb, given)
                write(there, verb, given)
                assert state(there) == state(here), verb


def test_an_edit_of_a_world_on_a_server_overwrites_nothing(served: Served) -> None:
    with served.open() as one, served.open() as other:
        before = one.count()
        one.add([("urn:a", "urn:p", 1)])
        other.refresh()
        base = other.history(1)[0].revision
        assert one.edit(add=[("urn:a", "urn:p", 2)], base=base).added == 1
        with pytest.raises(ConflictError, match="changed after revision"):
            other.edit(add=[("urn:a", "urn:p", 3)], base=base)
        assert other.edit(add=[("urn:b", "urn:p", 3)], base=base).added == 1
        one.refresh()
        assert one.count() == before + 3
