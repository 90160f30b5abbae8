"""The commands on the history: log, diff, compare; revisions provenance, patch, apply, prune, tag, tags, untag."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from worlds.doors.cli.changes import SHOWN, print_diff
from worlds.doors.cli.command import command
from worlds.doors.cli.options import AUTHOR, EMBEDDER, MESSAGE, TARGET, announced, at_moment, given
from worlds.doors.cli.show import document, print_answer
from worlds.doors.cli.terminal import counted, json_text, note, print_text, waiting, write_document, write_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from worlds.core.history.diff import Diff
    from worlds.core.history.history import Entry
    from worlds.core.history.provenance import Provenance
    from worlds.core.history.tags import Tag
    from worlds.world import World

_MOST = f"The most entities, and quads of each kind; else {SHOWN}, and all with --json."
_SHOWN = (
    given("--format -f", "The format.", Literal["table", "json", "markdown", "html", "patch"], "table"),
    given("--summary", "Count the changes by predicate and class."),
    given("--limit -n N", _MOST, int, min=0),
    TARGET,
)
_FROM = given("A", "A revision: its number, a tag or a time; 0 is the empty world.")
_TO = given("[B]", "A later revision; now by default.")


@command("history")
def log(world: World, **given: Any) -> dict[str, list[Entry]]:
    """Each has its time, and its numbers of quads. A time without a zone is this machine's.

    $ worlds log kb.db
    $ worlds log kb.db -n 5 --json
    """
    return {"revisions": world.history(**given)}


def _write(found: Diff, what: str, prefixes: Mapping[str, str], asked: Any, told: dict[str, Any] | None = None) -> None:
    """Print a difference as it is asked for, or write it to a file; `told` is its document, if it has its own."""
    made: dict[str, Callable[[], str]] = {
        "json": lambda: json_text(told or found.to_dict(asked.limit)),
        "patch": found.patch,
        "html": lambda: found.edits.to_html(what, prefixes, asked.limit),
        "markdown": lambda: found.edits.to_markdown(prefixes, asked.limit),
    }
    format = "json" if asked.json else "markdown" if asked.target and asked.format == "table" else asked.format
    if format in made:
        write_document(made[format](), asked.target)
        return
    if asked.summary:
        print_answer(document(list(found.edits.summary)) or "no differences", prefixes)
    else:
        print_diff(found, what, SHOWN if asked.limit is None else asked.limit, prefixes)
    for remark in found.notes:
        note(remark)


@command("diff", *(_FROM, _TO, *_SHOWN))
def diff(world: World, a: Any, b: Any, asked: Any) -> None:
    """Changes are listed by entity: changed values (~ old → new), added (+) and removed (-) values.

    $ worlds diff kb.db 3
    $ worlds diff kb.db 3 7 --summary
    $ worlds diff kb.db 3 -f html -o diff.html
    """
    found = world.diff(a, b)
    _write(found, f"from revision {found.a} to {found.b}", world.prefixes, asked)


@command(
    None,
    given("A", "A world's file, or a file, folder or glob of RDF."),
    given("B", "The other side of the comparison; - for standard input."),
    given("--base OLD", "The common ancestor of both: shows their conflicts."),
    given("--graph -g IRI", "The graph of a world, and of the files' quads."),
    *_SHOWN,
)
def compare(asked: Any) -> None:
    """Compare two worlds, two files, or a file and a world; blank nodes are matched by their statements.

    $ worlds compare yesterday.ttl today.ttl
    $ worlds compare kb.db today.ttl --graph https://example.org/import -f markdown
    $ worlds compare mine.ttl theirs.ttl --base old.ttl
    """
    from worlds.comparison import compare as compared

    if [asked.a, asked.b, asked.base].count("-") > 1:
        raise ValueError("standard input (-) can be read once: name a file for the others")
    with waiting("comparing"):
        found = compared(asked.a, asked.b, base=asked.base, graph=asked.graph)
    conflicts = document(list(found.conflicts))
    told = found.to_dict(asked.limit) | {"conflicts": conflicts, "agreed": found.agreed}
    told["notes"] = list(found.notes)
    del told["from"], told["to"]
    _write(found, f"from {asked.a} to {asked.b}", found.prefixes, asked, told)
    if asked.base is not None and asked.format == "table" and not asked.json:
        print_text(f"{counted(len(conflicts), 'conflict')}, {found.agreed:,} quads changed alike by both", "bold")
        if conflicts:
            print_answer(conflicts[:SHOWN], found.prefixes)


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
    print_answer(rows, prefixes)


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


@command("revisions.patch", *(_FROM, _TO), json=False)
def patch(world: World, a: Any, b: Any) -> None:
    """`revisions apply` takes it. What one revision did is the difference from the one before it.

    $ worlds revisions patch kb.db 4 5 > fifth.rdfp
    """
    found = world.diff(a, b)
    for piece in found.pieces():
        write_utf8(piece)
    if found.created or found.dropped:
        note("an RDF Patch cannot say that a graph without quads was created or dropped")


@command(
    "revisions.apply",
    given("PATCH", "A file (.gz, .bz2, .zst), or - for standard input.", name="source", callback=announced),
    EMBEDDER,
    nothing="nothing changed: the world has all changes of the patch already",
)
def apply() -> None:
    """All of it is applied or, after an error, nothing.

    $ worlds revisions apply copy.db fifth.rdfp
    $ worlds revisions patch kb.db 4 | worlds revisions apply copy.db -
    """


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
    world: World, before: Any, *, keep: int | None, keep_days: float | None, keep_all: bool
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
        world.revisions.prune(before)
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
