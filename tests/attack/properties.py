"""Properties that the tests hold over a few random values, held over as many as there is time for.

    python -m tests.attack.properties claims 7 12

A kind of fault has properties, which take turns: a case is one of them, with a seed of its own, in a process of its
own. What is parametrized is drawn by lot; fixtures other than folders are none of it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, settings

PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "graphs": ("graph.test_graph_operator.test_graph_is_an_operator",),
    "datasets": (
        "graph.test_merging.test_a_triple_of_several_graphs_is_one",
        "graph.test_merging.test_what_is_merged_follows_changes",
    ),
    "expressions": ("attack.generators.count_exactly", "attack.generators.name_variables"),
    "forms": (
        "attack.generators.write_forms",
        "graph.test_lexical.test_what_is_said_to_stay_does",
        "graph.test_lexical.test_other_datatypes_stay",
    ),
    "tables": (
        "sources.test_table_headers.test_every_cell_lands_under_a_predicate_of_its_own",
        "sources.test_tables.test_every_text_comes_back_as_it_was",
        "sources.test_table_export.test_a_table_comes_in_again_as_the_same_triples",
    ),
    "spellings": ("search.test_written.test_a_text_is_found_by_whatever_is_equal_in_compatibility",),
    "rdfxml": ("graph.test_rdfxml.test_all_is_read_as_rdflib_reads_it",),
    "shapes": (
        "attack.generators.mutate_shapes",
        "shapes.test_validate.test_it_finds_what_pyshacl_finds",
        "shapes.test_sparql_constraints.test_the_guard_finds_what_is_new",
        "shapes.test_sparql_constraints.test_many_nodes_at_once_are_as_one_by_one",
    ),
    "claims": (
        "curation.test_verify.test_no_claim_is_supported_by_a_name_that_is_another",
        "curation.test_verify.test_support_is_that_of_an_oracle",
        "curation.test_verify.test_a_number_of_another_datatype_has_the_same_value",
        "curation.test_tell.test_any_facts_leave_one_revision_that_is_undone_and_the_same_again_is_nothing",
        "questions.test_kept.test_what_is_told_is_of_what_has_the_name",
    ),
    "notes": ("sparql.test_notes.test_what_is_left_out_is_that_of_an_oracle",),
    "merges": (
        "curation.test_leading.test_what_is_shown_is_what_came_led_to_where_names_lead",
        "curation.test_merging.test_what_was_there_before_and_not_removed_since_is_there_again",
    ),
    "readers": ("attack.generators.ask_what_is_hidden",),
    "consent": ("attack.generators.open_a_gift",),
    "purges": ("attack.generators.purge_memories",),
    "cells": (
        "graph.test_cells.test_no_cell_is_a_formula_and_every_text_comes_back",
        "graph.test_cells.test_records_are_those_of_csv_with_their_lines",
    ),
}  # fmt: skip
"""Kind of fault → properties, each the module under tests and the name of a test or a generator."""

_MODULE = "tests.attack.properties"
_PROCESSOR = 600  # seconds of a process
_MEMORY = 4 << 30  # bytes of its data
_EXAMPLES = 100
_TIME = 10.0  # seconds that random models go on in one process


def hold(where: str, seed: int, most: int = _EXAMPLES) -> int:
    """Hold a property over at most so many random values; gives their number."""
    module, _, name = where.rpartition(".")
    test = getattr(importlib.import_module(f"tests.{module}"), name)
    chance, count = random.Random(seed), 0
    options: dict[str, Any] = {}
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize" and mark.args[0] != "seed":
            options[mark.args[0]] = chance.choice(list(mark.args[1]))
    with tempfile.TemporaryDirectory() as folder:
        given = {"long": False, "tmp_path": Path(folder)}
        parameters = inspect.signature(test).parameters
        options |= {key: value for key, value in given.items() if key in parameters}
        if not hypothesis.is_hypothesis_test(test):
            end = time.monotonic() + _TIME
            while count < most and (not count or time.monotonic() < end):
                print(f"with seed {(one := chance.randrange(2**32))}", file=sys.stderr, flush=True)
                test(**options, seed=one)
                count += 1
            return count
        before, inner = dict(vars(test)), test.hypothesis.inner_test

        @functools.wraps(inner)
        def counted(*arguments: Any, **drawn: Any) -> Any:
            nonlocal count
            count += 1
            return inner(*arguments, **drawn)

        test.hypothesis.inner_test = counted
        vars(test).pop("_hypothesis_internal_settings_applied", None)  # it has settings, which are others here
        wanted = settings(max_examples=most, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        try:
            hypothesis.seed(seed)(wanted(test))(**options)
        finally:
            test.hypothesis.inner_test = inner
            vars(test).clear()
            vars(test).update(before)
    return count


def chosen(kind: str, seed: int, number: int) -> tuple[str, int]:
    """The property of a case, and its seed."""
    return PROPERTIES[kind][number % len(PROPERTIES[kind])], random.Random(f"{seed} {kind} {number}").randrange(2**32)


def hold_property(kind: str, seed: int, number: int) -> tuple[int, str | None]:
    """One process of a property; how many values, and what was wrong."""
    command = [sys.executable, "-m", _MODULE, kind, str(seed), str(number)]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CONFIG_HOME": folder, "WORLDS_CACHE": folder}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=3 * _PROCESSOR, env=environment
            )
        except subprocess.TimeoutExpired as error:
            return 1, f"{chosen(kind, seed, number)[0]}: no end: {error}"
    if done.returncode:
        return 1, f"{chosen(kind, seed, number)[0]}: {done.returncode}: {done.stderr[-4000:]}"
    return int(done.stdout.splitlines()[-1]), None


if __name__ == "__main__":
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR, _PROCESSOR))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    print(hold(*chosen(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
