"""Which tests a change reaches: `dev.py test --changed`."""

from __future__ import annotations

import pytest

from tests.support.changed import ALWAYS, reached


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("worlds/core/search/words.py", "tests/search/test_words.py"),
        ("worlds/core/quads/rows.py", "tests/quads/test_rows.py"),
        ("worlds/extras/curation/linking/links.py", "tests/curation/test_suggest_links.py"),
        ("worlds/doors/cli/search.py", "tests/cli/test_search.py"),
        ("worlds/doors/server/page/search.js", "tests/server/page/test_search.py"),
        ("sql/stages.sql", "tests/search/test_stages.py"),
        ("tests/core/test_alone.py", "tests/core/test_alone.py"),
    ],
)
def test_a_change_reaches_the_tests_of_its_module(path: str, found: str) -> None:
    assert found in reached([path])


def test_a_module_without_tests_of_its_name_reaches_its_room() -> None:
    found = reached(["worlds/core/history/undo.py"])
    assert {"tests/history/test_history.py", "tests/history/test_any_history.py", *ALWAYS} <= set(found)


def test_a_module_that_all_import_reaches_no_more_than_its_room() -> None:
    assert {path.split("/")[1] for path in reached(["worlds/world.py"])} == {"world", "project"}


def test_a_document_reaches_nothing() -> None:
    assert reached(["README.md"]) == []
