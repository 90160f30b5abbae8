"""Files that the tests of the command line use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import DATA, NAMED, ok


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world, not to be changed."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "birds.ttl").write_text(DATA)
    (folder / "named.trig").write_text(NAMED)
    ok("load", folder / "kb.db", folder / "birds.ttl", folder / "named.trig", "--no-embed")
    return folder / "kb.db"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    file = tmp_path / "birds.ttl"
    file.write_text(DATA)
    return file


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """N-Triples enough for a load of seconds."""
    file = tmp_path_factory.mktemp("many") / "many.nt"
    with file.open("w") as out:
        for number in range(30_000):
            out.write(f'<http://example.org/{number}> <http://example.org/p> "text number {number} of many words" .\n')
    return file
