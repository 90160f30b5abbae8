"""The commands on the history: log; revisions provenance, patch, apply, prune, tag, tags, untag."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.command import command, document
from worlds.doors.cli.differences import FROM, TO
from worlds.doors.cli.options import AUTHOR, EMBEDDER, MESSAGE, at_moment, given, moment
from worlds.doors.cli.show import print_answer
from worlds.doors.cli.terminal import note, output, write_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worlds.core.history.history import Entry
    from worlds.core.history.provenance import Provenance
    from worlds.core.history.tags import Tag
    from worlds.world import World


@command("history", name="log")
def log(world: World, *, since: str | None, until: str | None, **given: Any) -> dict[str, list[Entry]]:
    """Each has its time, and its numbers of quads. A time without a zone is this machine's.

    $ worlds log kb.db
    $ worlds log kb.db -n 5 --json
    """
    times: dict[str, Any] = {
        name: None if text is None else moment(name, text) for name, text in (("since", since), ("until", until))
    }
    return {"revisions": world.history(**times, **given)}


def _print_blame(found: Mapping[str, list[Provenance]], prefixes: Mapping[str, str]) -> None:
    """A row a quad: it, and who said it first."""
    rows = []
    for one in document(found["quads"]):
        added, removed = one["added"] or {}, one["removed"] or {}
        said = one["said"] or added or {"revision": "forgotten"}
        row = {name: said.get(name) for name in ("revision", "time", "author", "message")}
        row |= dict(zip(("predicate", "object", "graph"), one["quad"][1:], strict=True))
        row["brought by"] = added.get("revision") if said != added else None  # a merge, a split or an undo
        rows.append(row | {"removed by": removed.get("revision"), "remover": removed.get("author")})
    print_answer(output(), rows, prefixes)


@command(
    "revisions.provenance",
    given("IRI", "The entity: an IRI, or a prefixed name.", name="entity"),
    given("--removed", "Include quads that were removed."),
    show=_print_blame,
)
def blame(world: World, entity: str, *, removed: bool, **given: Any) -> dict[str, list[Provenance]]:
    """The matches are the quads with the entity as their subject.

    $ worlds revisions provenance kb.db ex:Curiosity
    $ worlds revisions provenance kb.db ex:Curiosity -p ex:landed --removed
    """
    return {"quads": [one for one in world.revisions.provenance(entity, **given) if removed or one.removed is None]}


@command("revisions.patch", *(FROM, TO), json=False)
def patch(world: World, a: str, b: str | None) -> None:
    """`revisions apply` takes it. What one revision did is the difference from the one before it.

    $ worlds revisions patch kb.db 4 5 > fifth.rdfp
    """
    found = world.diff(at_moment(world, a), None if b is None else at_moment(world, b))
    for piece in found.pieces():
        write_utf8(piece)
    if found.created or found.dropped:
        note("an RDF Patch cannot say that a graph without quads was created or dropped")


@command(
    "revisions.apply",
    given("PATCH", "A file (.gz, .bz2, .zst), or - for standard input.", name="source"),
    EMBEDDER,
    nothing="nothing changed: the world has all changes of the patch already",
)
def apply(world: World, source: str, **given: Any) -> Any:
    """All of it is applied or, after an error, nothing.

    $ worlds revisions apply copy.db fifth.rdfp
    $ worlds revisions patch kb.db 4 | worlds revisions apply copy.db -
    """
    if source == "-" and sys.stdin is not None and sys.stdin.isatty():
        note("reading a patch from the terminal; Ctrl-D ends it")
    return world.revisions.apply(source, **given)


@command(
    "revisions.prune",
    given(
        "[BEFORE]",
        "Forget the revisions before this number, tag, day or time (2025-01-31, 2025-01-31T12:00+01:00; "
        "without a zone, this machine's).",
    ),
    given("--keep N", "From now on, keep the newest N revisions.", int),
    given("--keep-days DAYS", "From now on, keep the revisions of so many days.", float),
    given("--keep-all", "From now on, keep all revisions."),
    writes=True,
)
def prune(
    world: World, before: str | None, *, keep: int | None, keep_days: float | None, keep_all: bool
) -> dict[str, int | None]:
    """Present quads stay. A revision that --keep or --keep-days keeps is kept; both are stored, and applied after
    every write too. `file compact` gives the space back.

    $ worlds revisions prune kb.db 2025-01-31
    $ worlds revisions prune kb.db --keep 100 --keep-days 30
    """
    if sum((before is not None, keep is not None or keep_days is not None, keep_all)) != 1:
        raise ValueError("name the revisions to forget: BEFORE, --keep and --keep-days, or --keep-all to keep all")
    held = len(world.history())
    if before is not None:
        world.revisions.prune(at_moment(world, before))
    else:
        world.revisions.retention = replace(world.revisions.retention, revisions=keep, days=keep_days)
    left = world.history()
    return {"forgotten": held - len(left), "first": left[-1].revision if left else None}


@command(
    "revisions.tag",
    given("NAME", "The name, such as that of a release.", name="tag"),
    given("[REVISION]", "The revision: its number or a time; else the last one."),
    *(AUTHOR, MESSAGE),
    writes=True,
)
def add(world: World, tag: str, revision: str | None, **said: Any) -> Tag:
    """Name a revision; the name is taken wherever a revision is.

    $ worlds revisions tag kb.db 2026-11
    $ worlds diff kb.db 2026-10 2026-11 --summary
    """
    return world.revisions.tag(tag, None if revision is None else at_moment(world, revision), **said)


@command("revisions.tags", empty="no revision has a tag")
def listed(world: World) -> dict[str, tuple[Tag, ...]]:
    """Show the tags, and the revisions that they name.

    $ worlds revisions tags kb.db
    """
    return {"tags": world.revisions.list()}


@command("revisions.remove", given("NAME", "The tag.", name="name"), name="revisions untag", writes=True)
def remove() -> None:
    """Remove a tag; its revision stays.

    $ worlds revisions untag kb.db 2026-11
    """
