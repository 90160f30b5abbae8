"""The commands on the file as a whole: export, stats, check, backup, restore, compact, vector-index."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from worlds.cli import show
from worlds.cli.errors import NO, Interrupted
from worlds.cli.options import Command, Json, WorldPath, examples, opened
from worlds.cli.terminal import counted, output, progress, waiting, write_json

_STANDARD_OUTPUT = ("-", "/dev/stdout")


def export(
    path: WorldPath,
    target: Annotated[
        str,
        typer.Argument(
            metavar="[TARGET]",
            help="A file (.gz, .bz2 and .zst compress), or - for standard output; of everything, a new folder.",
        ),
    ] = "-",
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="turtle, nt, nq, trig, rdfxml or jsonld; else by the target's name, else nq.",
        ),
    ] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", "-g", metavar="IRI", help="Only this graph ('default': the default one).")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="CLASS",
            help="Write the instances of CLASS as a table (.csv, .tsv), its mapping beside it.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--everything",
            help="Write a folder of plain files: quads by revision, policies, proposals, sources, vectors.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Write the quads to a file or to standard output, as they were given.

    A file is put in place only when it is complete. `worlds restore` makes a world of a folder of everything.
    """
    if target in _STANDARD_OUTPUT and json:
        raise ValueError("--json needs a TARGET; JSON-LD on standard output is --format jsonld")
    if table is not None and target in _STANDARD_OUTPUT:
        raise ValueError("--table needs a TARGET: the mapping is written beside it")
    if everything and target in _STANDARD_OUTPUT:
        raise ValueError("--everything needs a TARGET, a new folder")
    with opened(path) as world:
        if target in _STANDARD_OUTPUT:
            sys.stdout.flush()
            world.export(sys.stdout.buffer, format=format, graph=graph)
            return
        with waiting(f"writing {target}"):
            count = world.export(target, format=format, graph=graph, table=table, everything=everything)
        if json:
            write_json({"target": target, "quads": count})
        else:
            output().print(f"{counted(count, 'quad')} in {target}")


def stats(path: WorldPath, json: Json = False) -> None:
    """Tell what a world holds: counts, sizes, the embedder, what is pending."""
    with opened(path) as world:
        told, prefixes = world.stats().to_dict(), world.prefixes
    if json:
        write_json(told)
    else:
        show.print_facts(output(), told, prefixes)


def check(path: WorldPath, json: Json = False) -> None:
    """Verify that quads, chunks, full-text and vectors agree. Exits with 1 if they do not."""
    with opened(path) as world, waiting("checking"):
        report = world.check()
    if json:
        write_json(report.to_dict())
    elif report.ok:
        output().print("no problems")
    else:
        show.print_problems(output(), report)
    if not report.ok:
        raise typer.Exit(NO)


def backup(
    path: WorldPath,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The copy, a new file.", show_default=False)],
    json: Json = False,
) -> None:
    """Write a complete copy of a world, while others go on using it."""
    with opened(path) as world, waiting(f"writing {target}"):
        world.backup(target)
    size = Path(target).stat().st_size
    if json:
        write_json({"target": target, "bytes": size})
    else:
        output().print(f"{show.size(size)} in {target}")


def restore(
    source: Annotated[
        str,
        typer.Argument(
            metavar="BACKUP", help="What `worlds backup` or `worlds export --everything` wrote.", show_default=False
        ),
    ],
    path: WorldPath,
    json: Json = False,
) -> None:
    """Put a backup in the place of a world that nobody has open.

    What belonged to the world before goes: its log, and what is derived from it.
    """
    from worlds.file.restoring import restore as put_in_place

    with waiting(f"writing {path}"):
        put_in_place(source, path)
    size = Path(path).stat().st_size
    if json:
        write_json({"path": path, "bytes": size})
    else:
        output().print(f"{show.size(size)} in {path}")


def compact(path: WorldPath, json: Json = False) -> None:
    """Give unused space back."""
    began = time.perf_counter()
    with opened(path, write=True) as world:
        before = os.path.getsize(path)  # noqa: PTH202  # a path that may be none
        try:
            with waiting("compacting"):
                world.compact()
        except KeyboardInterrupt as interrupt:
            raise Interrupted(f"nothing is lost; `worlds compact {path}` does the rest") from interrupt
    after = os.path.getsize(path)  # noqa: PTH202
    if json:
        write_json({"before": before, "after": after, "seconds": round(time.perf_counter() - began, 3)})
    else:
        output().print(f"{show.size(before)} before, {show.size(after)} now")


def vector_index(
    path: WorldPath,
    build: Annotated[
        bool | None,
        typer.Option("--build/--drop", help="Build it anew and keep it, or drop it for good.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Tell whether a world has the native vector index, build it, or drop it.

    Other programs that use libSQL find the nearest vectors by it (`vector_top_k`); searches of this one need none, but
    those with `--plan index`. A new world keeps it up to some 3,000 vectors.
    """
    with opened(path, write=build is not None) as world:
        if build:
            try:
                with progress() as bar:
                    world.build_vector_index(progress=bar)
            except KeyboardInterrupt as interrupt:
                raise Interrupted("nothing was changed: the index is built as a whole or not at all") from interrupt
        elif build is False:
            world.drop_vector_index()
        stats = world.stats()
    if json:
        write_json({"vector_index": stats.vector_index, "vectors": stats.vectors})
    elif stats.vector_index:
        output().print(f"{counted(stats.vectors, 'vector')} in the native vector index")
    else:
        output().print(f"no native vector index; `worlds vector-index {path} --build` builds it")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds export kb.db kb.nq.gz",
            "worlds export kb.db --graph ex:people --format turtle | less",
            "worlds export kb.db people.csv --table ex:Person",
            "worlds export kb.db kb-in-plain-files --everything",
        ),
    )(export)
    app.command(cls=Command, epilog=examples("worlds stats kb.db", "worlds stats kb.db --json | jq .quads"))(stats)
    app.command(cls=Command, epilog=examples("worlds check kb.db && echo fine"))(check)
    app.command(cls=Command, epilog=examples("worlds backup kb.db kb-2025-01-31.db"))(backup)
    app.command(cls=Command, epilog=examples("worlds restore kb-2025-01-31.db kb.db"))(restore)
    app.command(cls=Command, epilog=examples("worlds compact kb.db"))(compact)
    app.command(
        "vector-index", cls=Command, epilog=examples("worlds vector-index kb.db", "worlds vector-index kb.db --build")
    )(vector_index)
