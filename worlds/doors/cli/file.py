"""The commands on the file as a whole, and on what it says of itself: policy, prefix."""

from __future__ import annotations

import json as json_format
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import stopping
from worlds.doors.cli.options import AT, ENTAILED_TOO, WORLD_HELP, given
from worlds.doors.cli.show import print_table
from worlds.doors.cli.terminal import clean, counted, note, progress, waiting

if TYPE_CHECKING:
    from worlds.world import World

_STANDARD_OUTPUT = ("-", "/dev/stdout")


@command(
    None,
    given("[TARGET]", "A file (.gz, .bz2 and .zst compress), or - for standard output.", default="-"),
    given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld; else by the target's name, else nq."),
    given("--graph -g IRI", "Only this graph ('default': the default one)."),
    given("--table CLASS", "Write the instances of CLASS as a table (.csv, .tsv), its mapping beside it."),
    ENTAILED_TOO,
)
def export(world: World, target: str, *, format: str | None, graph: str | None, json: bool, **given: Any) -> Any:
    """Write the quads to a file or to standard output, as they were given.

    A file is put in place only when it is complete.

    $ worlds export kb.db kb.nq.gz
    $ worlds export kb.db --graph ex:people --format turtle | less
    $ worlds export kb.db people.csv --table ex:Person
    """
    if target in _STANDARD_OUTPUT:
        if json:
            raise ValueError("--json needs a TARGET; JSON-LD on standard output is --format jsonld")
        if given.get("table") is not None:
            raise ValueError("--table needs a TARGET: the mapping is written beside it")
        sys.stdout.flush()
        world.export(sys.stdout.buffer, format=format, graph=graph)
        return None
    with waiting(f"writing {target}"):
        return {"target": target, "quads": world.export(target, format=format, graph=graph, **given)}


@command("file.backup", given("TARGET", "The copy, a new file."))
def backup(world: World, target: str) -> dict[str, Any]:
    """Others go on using the world meanwhile.

    $ worlds file backup kb.db kb-2025-01-31.db
    """
    with waiting(f"writing {target}"):
        world.file.backup(target)
    return {"target": target, "bytes": Path(target).stat().st_size}


@command(
    "file.restore",
    given("BACKUP", "The file that `worlds file backup` wrote.", name="source"),
    given("WORLD", WORLD_HELP, name="path"),
)
def restore(source: str, path: str) -> dict[str, Any]:
    """Put a backup in the place of a world that nobody has open.

    What belonged to the world before goes: its log, and what is derived from it.

    $ worlds file restore kb-2025-01-31.db kb.db
    """
    from worlds.core.file.restore import restore as put_in_place

    with waiting(f"writing {path}"):
        put_in_place(source, path)
    return {"path": path, "bytes": Path(path).stat().st_size}


@command("file.compact", waiting="compacting")
def compact(world: World, path: str) -> dict[str, Any]:
    """The sizes are in bytes.

    $ worlds file compact kb.db
    """
    began = time.perf_counter()
    before = os.path.getsize(path)  # noqa: PTH202  # a path that may be none
    with stopping(f"nothing is lost; run `worlds file compact {path}` for the rest"):
        world.file.compact()
    after = os.path.getsize(path)  # noqa: PTH202
    return {"before": before, "after": after, "seconds": round(time.perf_counter() - began, 3)}


@command(
    "file.vector-index",
    given("--build/--drop", "Build it anew and keep it, or drop it for good.", bool, show_default=False),
    writes=lambda given: given["build"] is not None,
)
def vector_index(world: World, build: bool | None) -> dict[str, Any]:
    """Tell whether a world has the native vector index, build it, or drop it.

    Other programs that use libSQL find the nearest vectors by it (`vector_top_k`); searches of this one need none, but
    those with `--plan index`. A new world keeps it up to some 3,000 vectors.

    $ worlds file vector-index kb.db
    $ worlds file vector-index kb.db --build
    """
    if build:
        with stopping("nothing was changed: the index is built as a whole or not at all"), progress() as bar:
            world.file.build_vector_index(progress=bar)
    elif build is False:
        world.file.drop_vector_index()
    stats = world.stats()
    return {"vector_index": stats.vector_index, "vectors": stats.vectors}


@command("file.publish", *(AT, ENTAILED_TOO), waiting="publishing")
def publish() -> None:
    """The site opens from the disk, too. A further run writes only what differs; tags are its releases.

    $ worlds file publish kb.db site/ --scheme ex:Scheme
    $ worlds file publish kb.db site/ --scheme ex:Scheme --at 2026-11
    """


# -- policy -----

_DEFAULT_GRAPH = "default_graph"


def _print(told: Mapping[str, Any], _: Mapping[str, str]) -> None:
    """The names as they are given to the command, and the values as JSON."""
    values = [one if isinstance(one, str) else json_format.dumps(one, ensure_ascii=False) for one in told.values()]
    print_table(("name", "value"), list(zip(map(clean, told), map(clean, values), strict=True)))


@command(
    None,
    given(
        "[NAME=VALUE...]",
        "What to change. A value is a word, a list of IRIs with commas between them, or JSON.",
        name="changes",
    ),
    writes="changes",
    show=_print,
)
def policy(world: World, path: str, changes: list[str] | None) -> dict[str, Any]:
    """Show or change which literals of a world are text, and the default graph of queries.

    With `profiles=true` each entity gets a text of its own, its triples in words; of a list of classes, their
    instances do. With `statements=true` each quad between two entities gets one; of a list of predicates, their
    quads do. A change cuts and indexes anew what it concerns, in one transaction; `worlds embed` gives new texts their
    vectors.

    $ worlds policy kb.db
    $ worlds policy kb.db profiles=true
    $ worlds policy kb.db profiles=ex:Film,ex:Person tokenizer=trigram
    $ worlds policy kb.db statements=true
    $ worlds policy kb.db default_graph=union
    """
    given = dict(map(_pair, changes or ()))
    setting = given.pop(_DEFAULT_GRAPH, None)
    if given:
        world.policy = world.policy.changed(given, world.prefixes)
    if setting is not None:
        world.file.default_graph = setting
    pending = world.stats().pending
    if pending and changes:
        note(f"{counted(pending, 'text')} without a vector; `worlds embed {path}` embeds")
    return {**json_format.loads(world.policy.to_json()), _DEFAULT_GRAPH: world.file.default_graph}


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"a change is NAME=VALUE, not {text!r}")
    try:
        return name, json_format.loads(value)
    except ValueError:
        return name, value


@command(
    None,
    given("[PREFIX]", "The prefix, with its colon or without.", name="name"),
    given("[IRI]", "The IRI that the prefix stands for from now on."),
    writes="iri",
    show=_print,
)
def prefix(world: World, path: str, name: str | None, iri: str | None) -> dict[str, str]:
    """List the prefixes of a world, print the namespace of one, or declare one.

    Queries, filters and exports use them without a declaration. Loading a file adds those that it declares.

    $ worlds prefix kb.db
    $ worlds prefix kb.db ex: http://example.org/
    $ worlds prefix kb.db ex
    """
    key = (name or "").removesuffix(":")
    if iri is not None:
        world.bind(key, iri.removeprefix("<").removesuffix(">"))
    known = dict(sorted(world.prefixes.items()))
    if name is None:
        return known
    if key not in known:
        raise ValueError(f"{key!r} is not a prefix of this world; `worlds prefix {path} {key}: IRI` declares it")
    return {key: known[key]}
