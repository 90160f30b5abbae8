"""Exports, backups and transactions that cannot be done: one clear error, and a world as it was."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.misuse import A_QUAD, LINE, Thing
from worlds import (
    OpenError,
    ParseError,
)

# --- export and backup ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [None, 3, b"out.nq", Thing(), ["out.nq"]])
def test_what_is_no_path(kept: Any, target: object) -> None:
    opening: Any = worlds.open
    for verb in (kept.export, kept.file.backup, opening):
        with pytest.raises(TypeError, match=r"a path must be a str or an os\.PathLike of one, not"):
            verb(target)


@pytest.mark.parametrize(
    "target", ["", "a\0b.nq", "/nowhere/at/all.nq", "y" * 300 + ".nq", "\ud800.nq", "/"], ids=ascii
)
def test_where_nothing_can_be_written(kept: Any, target: str) -> None:
    for verb in (kept.export, kept.file.backup):
        with pytest.raises(OpenError):
            verb(target)


def test_wrong_exports(kept: Any, tmp_path: Path) -> None:
    for options, said in (
        ({"format": "foo"}, "'foo' is not a format"),
        ({"format": "turtle"}, "cannot hold the named graphs of this world: name one by the option graph"),
        ({"graph": "http://a/b c"}, "is not an IRI"),
        ({"graph": "nowhere:x"}, "the prefix 'nowhere:' is not known"),
        ({"graph": '"text"'}, "named by an IRI"),
    ):
        with pytest.raises(ValueError, match=said):
            kept.export(tmp_path / "out.nq", **options)
    with pytest.raises(ValueError, match=r"cannot be told from '\.foo'; name one: turtle"):
        kept.export(tmp_path / "out.foo")
    with pytest.raises(ValueError, match="is the world itself"):
        kept.export(kept.path, format="nq")
    with pytest.raises(ValueError, match="is the world itself"):
        kept.export(f"{kept.path}-wal", format="nq")
    with pytest.raises(OpenError, match="exists already; a backup is always a new file"):
        kept.file.backup(kept.path)
    with pytest.raises(TypeError):
        kept.export(io.StringIO())
    assert list(tmp_path.iterdir()) == []


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_transaction_that_raises(kept: Any) -> None:
    for error in (ZeroDivisionError, KeyboardInterrupt, SystemExit, GeneratorExit):
        with pytest.raises(error), kept.transaction(author="ann"):
            kept.add([A_QUAD])
            assert len(kept.search("new text", mode="text")) == 1
            with kept.transaction():
                kept.load(LINE.replace(b"new", b"newer"), format="nt")
            raise error


@pytest.mark.parametrize("remark", [{"author": 3}, {"message": []}, {"author": "a\0"}, {"message": "\ud800"}], ids=str)
def test_wrong_remarks_are_refused_when_the_transaction_begins(kept: Any, remark: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)), kept.transaction(**remark):
        pytest.fail("the block was entered")


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize("opening", ["<<( <urn:s> <urn:p> ", "<<(<urn:s><urn:p>"])
def test_triple_terms_too_deep_for_the_parser_are_an_error(format: str, opening: str) -> None:
    deep = "<urn:a> <urn:p> " + opening * 30_000 + "<urn:o>" + " )>>" * 30_000 + " .\n"
    with worlds.open() as world, pytest.raises(ParseError, match="nested deeper than"):
        world.load(deep.encode(), format=format)
    with worlds.open() as world, pytest.raises(ParseError, match="nested deeper than"):
        world.revisions.apply(f"TX .\nA {deep}TC .\n".encode())


def test_texts_that_hold_the_marks_of_triple_terms_are_loaded() -> None:
    texts = [f"cat <<EOF {number} << <<" for number in range(5000)]
    data = "".join(f'<urn:{number}> <urn:p> "{text}" .\n' for number, text in enumerate(texts))
    with worlds.open(embedder=None) as world:
        assert world.load(data.encode(), format="nt").added == 5000
