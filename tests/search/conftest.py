"""Fixtures of more than one file of tests of searches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.search_worlds import EX
from tests.support.stages import Known
from worlds import World


@pytest.fixture
def birds(world: World) -> World:
    world.bind("ex", EX)
    world.load(
        b"""
        @prefix ex: <http://example.org/> .
        ex:kite a ex:Bird ; ex:label "the red kite"@en-GB , "der Milan"@de , "the kite" ; ex:year 2020 .
        ex:toy a ex:Toy ; ex:label "a kite of paper"@en ; ex:year 1999 .
        GRAPH ex:g { ex:kite ex:note "the kite soars"@en . _:b ex:note "the kite of nobody" }
        """,
        format="trig",
    )
    return world


@pytest.fixture(scope="module")
def known() -> Iterator[Known]:
    built = Known(5)
    yield built
    built.world.close()
