"""The commands of memories: memory, purge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import typer

from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import AUTHOR, EMBEDDER, MESSAGE, WORLD_HELP, from_stdin, given, opened
from worlds.doors.cli.show import print_answer, print_record
from worlds.doors.cli.terminal import counted, note, print_text, read_stdin, write_json
from worlds.errors import ArgumentError

if TYPE_CHECKING:
    from worlds.world import World

_SHOWN = 300  # characters of a memory
_KEY = given("--key KEY", "The key of a memory.")
_SESSION = given("--session NAME", "The conversation.")


def parts(scope: str) -> tuple[str, ...]:
    """The parts of a scope that stand between slashes, percent-encoded where they have one."""
    return tuple(unquote(part) for part in scope.split("/"))


def _print(found: Any, prefixes: Mapping[str, str]) -> None:
    """Print memories as a table, long texts cut; a text for a model as it is; anything else as a record."""
    if isinstance(found, Sequence):
        rows = [one.to_dict() for one in found]
        names = ("at", "kind", "session", "role", "text", "iri")
        print_answer([{name: str(row.get(name) or "")[:_SHOWN] for name in names} for row in rows], prefixes)
    elif hasattr(found, "text"):
        print_text(found.text)
    else:
        print_record(found, prefixes)


@command(
    None,
    given("SCOPE", "Its parts, the widest first: user/ann."),
    given("[QUESTION]", "Recall the memories that answer this question."),
    given("--retain TEXT", "Remember a text; - is standard input.", callback=from_stdin),
    given("--forget IRI...", "Forget a memory. May be repeated."),
    given("--forget-all", "Forget everything of this scope.", name="everything"),
    given("--context", "Print a text for a language model."),
    given("--documents", "Search the texts of the world, too."),
    given("--limit -n N", "The number of memories at most.", int, 10, min=1, max=1000),
    given("--kind KIND", "episode, fact, preference or entity."),
    *(_KEY, _SESSION),
    given("--role NAME", "Who said it."),
    given("--at TIME", "When it was said."),
    given("--days NUMBER", "Its time to live, in days.", float),
    given("--about ENTITY...", "An entity that it is about."),
    given("--as-of TIME", "A time: recall the memories that held and were known then."),
    *(AUTHOR, MESSAGE, EMBEDDER),
    writes="retain forget everything",
    show=_print,
    empty="nothing is remembered",
)
def memory(world: World, asked: Any) -> Any:
    """List what was told in a scope, recall what answers a question, remember or forget something.

    A memory is a world of its own, in a file of the folder WORLD-memory. Facts by name are told with `worlds facts tell
    --scope`.

    $ worlds memory kb.db user/ann --retain 'Ann moved to Berlin' --session may
    $ worlds memory kb.db user/ann 'Where does Ann live?'
    $ worlds memory kb.db user/ann --forget-all
    """
    several = {"QUESTION": "question", "--retain": "retain", "--forget": "forget", "--forget-all": "everything"}
    chosen = [name for name, option in several.items() if getattr(asked, option)]
    if len(chosen) > 1:
        raise ArgumentError(f"use {chosen[0]} or {chosen[1]}, not both")
    found = world.memory(scope=parts(asked.scope))
    if asked.retain is not None:
        said = {name: getattr(asked, name) for name in ("session", "key", "role", "at", "days", "author", "message")}
        return found.retain(asked.retain, kind=asked.kind or "episode", about=asked.about or [], **said)
    if asked.forget or asked.everything:
        said = {name: getattr(asked, name) for name in ("everything", "author", "message")}
        return found.forget(asked.forget, **said)
    narrow: dict[str, Any] = {"session": asked.session, "memory_kinds": asked.kind, "as_of": asked.as_of}
    if asked.context:
        if asked.question is None:
            raise ArgumentError("--context needs QUESTION")
        return found.context(asked.question, documents=asked.documents, **narrow)
    if asked.question is not None:
        recalled = found.recall(asked.question, limit=asked.limit, documents=asked.documents, **narrow)
        for one in recalled.notes:
            note(one)
        return tuple(recalled)
    return found.memories(limit=asked.limit, **narrow)


@command(
    "file.purge",
    given("WORLD", WORLD_HELP, name="path"),
    given("[SCOPE]", "The memory: user/ann."),
    given("[IRI]…", "The memories.", name="memories"),
    *(_KEY, _SESSION),
    given("--all", "Everything of this scope.", name="everything"),
    given("--prove", "Read a text from standard input, and look for it in the world's files."),
    AUTHOR,
    show=_print,
)
def purge(path: str, scope: str | None, memories: list[str] | None, *, prove: bool, json: bool, **given: Any) -> Any:
    """Forget memories so that nothing is left of them in the world's files: their texts, history and vectors.

    Revisions keep their numbers, authors and counts. With --prove alone nothing is changed; the exit code is 1 if the
    text, or a piece of it, is in a file.

    $ worlds file purge kb.db user/ann --session may
    $ worlds file purge kb.db --prove < text.txt
    """
    if scope is None and not prove:
        raise ArgumentError("give the SCOPE of a memory, or --prove")
    done = None
    if scope is not None:
        with opened(path, write=True) as world:
            done = world.memory(scope=parts(scope)).forget(memories, purge=True, **given)
    if prove:
        _prove(Path(path), json=json)
    return None if prove else done


def _prove(path: Path, *, json: bool) -> None:
    from worlds.records import prove

    proof = prove(read_stdin().rstrip("\r\n"), path)
    if json:
        write_json([{"file": one.file.name, "place": one.place} for one in proof.traces])
    else:
        traces = [f"{one.file} has {one.piece!r} at byte {one.place:,}" for one in proof.traces]
        print_text("\n".join(traces) or f"not found in {counted(len(proof.files), 'file')}")
    if proof.traces:
        raise typer.Exit(NO)
