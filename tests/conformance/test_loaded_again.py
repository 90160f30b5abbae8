"""Every file of the W3C's test suites that can be loaded changes nothing when it is loaded again."""

from __future__ import annotations

import random
from typing import Any

import pytest

import worlds
from tests.history.test_recognition import load, renamed
from tests.support import w3c
from worlds.errors import WorldsError

FORMATS = {"ttl": "ttl", "nt": "nt", "nq": "nq", "trig": "trig", "rdf": "rdfxml", "jsonld": "jsonld"}


@pytest.mark.parametrize("part", [pytest.param(part, marks=[pytest.mark.long] if part else []) for part in range(12)])
def test_a_file_that_is_loaded_again_changes_nothing(part: int) -> None:
    try:
        files = {name: data for name, data in w3c.files().items() if name.rpartition(".")[2] in FORMATS}
    except w3c.NotHereError as error:
        pytest.skip(str(error))
    loaded = 0
    for name in sorted(files)[part::12]:
        options: Any = {"format": FORMATS[name.rpartition(".")[2]], "base": w3c.BASE}
        with worlds.open(embedder=None) as world:
            try:
                world.load(files[name], **options)
            except WorldsError:  # a file that is not RDF, on purpose
                continue
            loaded += 1
            others = renamed(list(world.diff(0).added.terms()), random.Random(name))
            modes: tuple[Any, ...] = ("merge", "replace")
            for mode in modes:
                assert world.load(files[name], mode=mode, **options).revision is None, (name, mode)
                assert load(world, others, mode).revision is None, (name, mode)
    assert loaded > 100
