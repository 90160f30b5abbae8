"""The commands that state facts: state, tell."""

from __future__ import annotations

import sys
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.command import command
from worlds.doors.cli.options import EMBEDDER, given
from worlds.doors.cli.terminal import clean, note, output
from worlds.errors import ArgumentError, OpenError
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worlds.extras.curation.claims.receipt import Receipt
    from worlds.world import World

_OF = VERBS["facts.state"].options


@command(
    "facts.state",
    *(given(name.upper(), _OF[name].help) for name in ("subject", "predicate", "object")),
    given("--supersede", "End the other value of a functional predicate."),
    EMBEDDER,
)
def state(world: World, *, supersede: bool, **given: Any) -> Any:
    """The fact is asserted, and a reifier has its time; with `--to`, it has ended and is not asserted.

    $ worlds facts state kb.db ex:Acme ex:director ex:Ann --from 2019-05 --cites ex:report --supersede
    """
    return world.facts.state(supersede="functional" if supersede else None, **given)


def _print_receipt(receipt: Receipt, _: Mapping[str, str]) -> None:
    for one in receipt.facts:
        more = [f"new: {' '.join(map(str, one.new))}"] if one.new else []
        more += [one.why] if one.why else []
        more += [f"proposal {one.proposal}"] if one.proposal else []
        told = f"{one.became}: {' '.join(one.fact)}" + (f" ({'; '.join(more)})" if more else "")
        output().print(clean(told), markup=False, highlight=False, soft_wrap=True)
    note(str(receipt) + ("" if receipt.revision is None else f"; revision {receipt.revision}"))


@command(
    "facts.tell",
    given("[SUBJECT PREDICATE OBJECT]", "A fact, its parts in words.", list[str], name="fact"),
    given("--file -f FILE", "Facts as JSON lines, one list a line; - is standard input."),
    given("--from TIME", "The time at which it began.", name="begun"),
    given("--to TIME", "The time at which it ended.", name="ended"),
    given("--cites SOURCE...", f"{_OF['cites'].help} May be repeated."),
    EMBEDDER,
    show=_print_receipt,
    fails=lambda receipt: bool(receipt.of("refused")),
)
def tell(
    world: World,
    fact: list[str] | None,
    *,
    file: str | None,
    begun: str | None,
    ended: str | None,
    cites: list[str] | None,
    **given: Any,
) -> Receipt:
    """Facts that are sure are written as one revision. The exit code is 1 if a fact was refused.

    $ worlds facts tell kb.db 'Ann Smith' 'works at' Acme --from 2026-05
    $ worlds facts tell kb.db --file facts.jsonl --dry-run
    """
    if (file is None) == (not fact) or (fact and len(fact) != 3):
        raise ArgumentError(
            "a fact is SUBJECT PREDICATE OBJECT, each in quotes if it has several words; or --file FILE"
        )
    times = {name: value for name, value in (("from", begun), ("to", ended), ("cites", cites)) if value}
    if file and times:
        raise ArgumentError("--from, --to and --cites are for one fact; in a file, give each fact a fourth part")
    facts: list[Any] = [[*fact, times]] if fact else _lines(file or "-")
    return world.facts.tell(facts, **given)


def _lines(file: str) -> list[Any]:
    """The facts of a file."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OpenError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    facts = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            facts += [loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            raise OpenError(f"{file}, line {number}: no list in JSON: {getattr(error, 'msg', error)}") from error
    return facts
