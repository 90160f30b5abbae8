"""The commands of memories: memory, purge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from worlds.cli.errors import NO
from worlds.cli.options import Author, Command, EmbedderName, Json, Message, WorldPath, examples, opened
from worlds.cli.terminal import clean, counted, note, output, write_json
from worlds.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worlds.memory.memory import Memory
    from worlds.memory.records import Forgotten, Remembered

_SCOPE = typer.Argument(metavar="SCOPE", help="Its parts, the widest first: user/ann.", show_default=False)
_Key = Annotated[str | None, typer.Option("--key", metavar="KEY", help="The key of a memory.")]
_Session = Annotated[str | None, typer.Option("--session", metavar="NAME", help="The conversation.")]


def memory(
    path: WorldPath,
    scope: Annotated[str, _SCOPE],
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="Recall what answers it.", show_default=False)
    ] = None,
    retain: Annotated[
        str | None, typer.Option("--retain", metavar="TEXT", help="Remember a text; - is standard input.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", metavar="IRI", help="Forget a memory. May be repeated.")
    ] = None,
    everything: Annotated[bool, typer.Option("--forget-all", help="Forget everything of this scope.")] = False,
    context: Annotated[bool, typer.Option("--context", help="Tell it for a language model.")] = False,
    documents: Annotated[bool, typer.Option("--documents", help="Search the texts of the world, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The number of memories at most.")] = 10,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="episode, fact, preference or entity.")
    ] = None,
    key: _Key = None,
    session: _Session = None,
    role: Annotated[str | None, typer.Option("--role", metavar="NAME", help="Who said it.")] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="When it was said.")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Its time to live, in days.")] = None,
    about: Annotated[
        list[str] | None, typer.Option("--about", metavar="ENTITY", help="An entity that it is about.")
    ] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What was known and held then.")] = None,
    author: Author = None,
    message: Message = None,
    embedder: EmbedderName = "auto",
    json: Json = False,
) -> None:
    """List what was told in a scope, recall what answers a question, remember or forget something.

    What is in a memory is seen by no other command that does not name its graph, <urn:worlds:memory:SCOPE>. Facts by
    name are told with `worlds tell --scope`.
    """
    given = [name for name, value in (("QUESTION", question), ("--retain", retain), ("--forget", forget),
                                      ("--forget-all", everything)) if value]  # fmt: skip
    if len(given) > 1:
        raise ArgumentError(f"{given[0]} and {given[1]} are two commands")
    written = {"author": author, "message": message}
    write = retain is not None or bool(forget) or everything
    with opened(path, write=write, embedder=embedder) as world:
        found = world.memory(scope=parts(scope))
        if retain is not None:
            text = sys.stdin.read() if retain == "-" else retain
            made = found.retain(
                text, at=at, session=session, role=role, about=about or [], key=key, days=days,
                kind=kind or "episode", **written,  # type: ignore[arg-type]
            )  # fmt: skip
            if json:
                write_json(made.to_dict())
            else:
                output().print(str(made.memories[0]), markup=False, highlight=False, soft_wrap=True)
                note("outlived already" if made.revision is None else f"revision {made.revision}")
            return
        if forget or everything:
            forgotten = found.forget(list(forget) if forget else None, everything=everything, **written)
            _tell_forgotten(forgotten, json=json)
            return
        narrow: dict[str, Any] = {"session": session, "memory_kinds": kind, "as_of": as_of}
        if context:
            if question is None:
                raise ArgumentError("--context needs QUESTION")
            told = found.context(question, documents=documents, **narrow)
            write_json(told.to_dict()) if json else output().print(clean(told.text), markup=False, highlight=False)
        elif question is not None:
            recalled = found.recall(question, limit=limit, documents=documents, **narrow)
            _list(recalled, json=json)
            for one in recalled.notes:
                note(one)
        else:
            _list(found.memories(limit=limit, **narrow), json=json)


def parts(scope: str) -> tuple[str, ...]:
    """The parts of a scope that stand between slashes, percent-encoded where they have one."""
    return tuple(unquote(part) for part in scope.split("/"))


def _list(memories: Sequence[Remembered], *, json: bool) -> None:
    if json:
        write_json([one.to_dict() for one in memories])
    elif not memories:
        note("nothing is remembered")
    else:
        for one in memories:
            when = f"{one.at:%Y-%m-%d %H:%M}" if one.at else ""
            about = " ".join(part for part in (when, one.kind, one.session, one.role) if part)
            shown = " ".join(one.text.split())
            line = f"{shown[:300]}{'…' if len(shown) > 300 else ''}  [{about}]  {one.iri}"
            output().print(clean(line), markup=False, highlight=False, soft_wrap=True)


def _tell_forgotten(forgotten: Forgotten, *, json: bool) -> None:
    if json:
        write_json(forgotten.to_dict())
        return
    memories = "memory" if forgotten.memories == 1 else "memories"
    what = f"{forgotten.memories:,} {memories}, {counted(forgotten.quads, 'quad')}"
    done = "purged" if forgotten.purged else f"forgotten; revision {forgotten.revision}" if forgotten.quads else "none"
    output().print(f"{what}: {done}", highlight=False)
    for one in forgotten.elsewhere:
        note(f"still there may be: {one}")


def purge(
    path: WorldPath,
    scope: Annotated[
        str | None, typer.Argument(metavar="[SCOPE]", help="The memory: user/ann.", show_default=False)
    ] = None,
    memories: Annotated[
        list[str] | None, typer.Argument(metavar="[IRI]…", help="The memories.", show_default=False)
    ] = None,
    key: _Key = None,
    session: _Session = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything of this scope.")] = False,
    compact: Annotated[bool, typer.Option(help="Rebuild the file afterwards.")] = True,
    prove: Annotated[
        bool, typer.Option("--prove", help="Read a text from standard input, and look for it in the world's files.")
    ] = False,
    author: Author = None,
    json: Json = False,
) -> None:
    """Forget memories so that nothing is left of them in the world's files: their texts, history and vectors.

    Revisions keep their numbers, authors and counts. With --prove alone nothing is changed; the exit code is 1 if the
    text, or a piece of it, is in a file.
    """
    if scope is None and not prove:
        raise ArgumentError("name the memory's SCOPE, or --prove that a text is nowhere")
    if scope is not None:
        with opened(path, write=True, embedder="none") as world:
            memory: Memory = world.memory(scope=parts(scope))
            given = list(memories) if memories else None
            done = memory.forget(given, key=key, session=session, everything=everything, purge=True, author=author)
            if compact:
                world.compact()
        if not prove:
            _tell_forgotten(done, json=json)
    if prove:
        _prove(Path(path), json=json)


def _prove(path: Path, *, json: bool) -> None:
    from worlds import prove

    proof = prove(sys.stdin.read().rstrip("\r\n"), path)
    found = proof.traces
    if json:
        write_json([{"file": one.file.name, "place": one.place} for one in found])
    elif not found:
        output().print(f"it is nowhere in {counted(len(proof.files), 'file')}")
    for one in () if json else found:
        output().print(clean(f"{one.file} has {one.piece!r} at byte {one.place:,}"), markup=False, highlight=False)
    if found:
        raise typer.Exit(NO)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (
            memory,
            (
                "worlds memory kb.db user/ann --retain 'Ann moved to Berlin' --session may",
                "worlds memory kb.db user/ann 'Where does Ann live?'",
                "worlds memory kb.db user/ann --forget-all",
            ),
        ),
        (purge, ("worlds purge kb.db user/ann --session may", "worlds purge kb.db --prove < text.txt")),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
