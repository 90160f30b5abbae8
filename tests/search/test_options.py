"""The table of a search's options against the verb, and what the table refuses."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import pytest

import worlds
from worlds.core.search.options import DEFAULTS, OPTIONS, RANKED, Option, gathered
from worlds.core.search.request import SearchRequest
from worlds.graph.search.vocabulary import PROPERTIES

*GIVEN, LAST = [
    item for item in inspect.signature(worlds.World.search).parameters.values() if item.default is not item.empty
]
FIELDS = list(inspect.signature(worlds.Ranking).parameters.values())


def test_the_verb_has_the_options_of_the_table_in_their_order() -> None:
    own = [(one.name, one.default) for name, one in OPTIONS.items() if name not in RANKED]
    assert [(item.name, item.default) for item in GIVEN] == own
    assert LAST.name == "ranking"
    assert [(item.name, item.default) for item in FIELDS] == [(name, None) for name in OPTIONS if name in RANKED]
    assert len(GIVEN) < 22


def test_flat_options_are_gathered_for_all_doors() -> None:
    ranking = worlds.Ranking(fusion="rrf", k=5)
    assert gathered({"limit": 3, "fusion": "rrf", "k": 5, "boost": None}) == {"limit": 3, "ranking": ranking}
    assert gathered({"limit": 3, "k": None}) == {"limit": 3}


@pytest.mark.parametrize("item", [*GIVEN, *FIELDS], ids=lambda item: str(item.name))
def test_the_verb_has_the_types_of_the_table(item: inspect.Parameter) -> None:
    option = OPTIONS[item.name]
    annotation = str(item.annotation)
    if option.choices:
        assert all(repr(choice) in annotation for choice in option.choices)
        assert annotation.count("'") == 2 * len(option.choices)
    words = {"integer": "int", "number": "float", "boolean": "bool", "numbers": "Sequence[float]"}
    if option.kind in words:
        assert annotation.startswith(words[option.kind])
    if option.default is None and option.kind != "texts" and annotation != "object":
        assert annotation.endswith("None")


def test_sparql_has_a_property_for_every_option() -> None:
    options = {(one.option or "").partition(".")[0] for one in PROPERTIES.values()}
    assert set(OPTIONS) - {"explain", "facet"} <= options


def test_a_request_has_no_option_that_the_table_has_not() -> None:
    made = {"text", "filter", "stages", "identity", "limits", "notes", "defaults", "facet", "listing", "asking", "rest"}
    made |= {"languages", "sequence"}  # that the words are read in; that the texts come in
    assert set(typing.get_type_hints(SearchRequest)) - made <= set(DEFAULTS)


def _beyond(option: Option) -> list[Any]:
    wrong: list[Any] = ["an odd one"] if option.choices else []
    if option.kind in ("integer", "number"):
        wrong += [True, "1", float("nan")]
        wrong += [] if option.least is None else [option.least - 1]
        wrong += [float("inf")] if option.most is None else [option.most + 1]
    return wrong + ([1.5] if option.kind == "integer" else [])


@pytest.mark.parametrize(
    ("name", "value"), [(option.name, value) for option in OPTIONS.values() for value in _beyond(option)]
)
def test_what_the_table_does_not_allow_is_refused_by_name(world: worlds.World, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be "):
        world.search("words", **gathered({name: value}))
