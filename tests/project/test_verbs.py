"""The table of the verbs is what `World` is, and every door has what the table says."""

from __future__ import annotations

import inspect

import pytest

from tests.project.test_public import verbs_of_a_world
from worlds.core.search.options import OPTIONS, RANKED, REQUIRED
from worlds.verbs.table import VERBS

METHODS = dict(verbs_of_a_world())


def test_every_verb_of_a_world_is_in_the_table() -> None:
    assert sorted(VERBS) == sorted(METHODS)


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_signature_is_the_tables(name: str) -> None:
    parameters = list(inspect.signature(METHODS[name]).parameters.values())[1:]
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:  # the options of a search, after its own
        parameters.pop()
        assert set(VERBS[name].options) - {one.name for one in parameters} <= set(OPTIONS)
    else:
        ranking = ["ranking"] if any(one in RANKED for one in VERBS[name].options) else []
        own = [one for one in VERBS[name].options if one not in RANKED]
        assert own + ranking == [one.name for one in parameters]
    for one in parameters:
        if one.name == "ranking":
            assert one.default is None
            continue
        default = VERBS[name].options[one.name].default
        given = REQUIRED if one.default is one.empty else one.default
        assert (default, type(default)) == (given, type(given)), one.name


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_row_says_what_it_is_in_words(name: str) -> None:
    row = VERBS[name]
    texts = [row.help, *(option.help for option in row.options.values())]
    assert all(text[0].isupper() and text.endswith(".") and "\n" not in text for text in texts), texts
    reasons = [*row.absent.values(), *(why for option in row.options.values() for why in option.absent.values())]
    assert all(reasons)


def test_what_writes_is_done_anew_on_a_server() -> None:
    assert {name for name, row in VERBS.items() if row.effect != "reads" and not row.retried} == {
        *("proposals.accept_all", "proposals.add_all", "sources.sync", "facts.tell"),
        *("file.compact", "file.build_vector_index", "file.drop_vector_index"),
    }
