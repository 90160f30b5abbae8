"""The commands that are verbs and little more: what the table of verbs says of them, with examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from json import loads
from operator import not_
from typing import TYPE_CHECKING, Any, Literal

import typer

from worlds.core.search.options import gathered
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import EMBEDDER, ENTAILED, VIEWS, from_stdin, given
from worlds.doors.cli.show import print_answer, print_hits, print_record
from worlds.doors.cli.terminal import note, print_text, read_stdin, read_text, write_json
from worlds.errors import ArgumentError, OpenError
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.extras.curation.claims.receipt import Receipt
    from worlds.extras.entities.names import Resolution
    from worlds.world import World

_LEAST = 0.01  # confidence of a candidate that is printed
_UNKNOWN = "the world has no quads about it"
_QUESTION = given("QUESTION...", "The question.", name="question")


@command("stats")
def stats() -> None:
    """
    $ worlds stats kb.db
    $ worlds stats kb.db --json | jq .quads
    """


@command("schema", ENTAILED)
def schema() -> None:
    """The commonest come first.

    $ worlds schema kb.db
    $ worlds schema kb.db --json | jq .classes
    """


@command("check", waiting="checking", fails=lambda found: not found.ok)
def check() -> None:
    """The exit code is 1 if they do not.

    $ worlds check kb.db && echo fine
    """


@command("undo", EMBEDDER, nothing="nothing changed: later revisions reversed all of it")
def undo() -> None:
    """The newer revisions stay.

    $ worlds undo kb.db 5 --author ann --message 'wrong file'
    """


@command("describe", *VIEWS, empty=_UNKNOWN, fails=not_)
def describe() -> None:
    """The exit code is 1 if the world has no quads about the entity.

    $ worlds describe kb.db ex:metropolis
    """


@command("context", *(_QUESTION, EMBEDDER, *VIEWS))
def context() -> None:
    """The text is made for a language model, which cites facts by their numbers.

    $ worlds context kb.db 'Who directed the films in which Brigitte Helm played?'
    $ worlds context kb.db 'What did Curiosity find?' --budget 500 --json | jq -r .text
    """


@command("questions.brief", *(_QUESTION, EMBEDDER, *VIEWS))
def brief() -> None:
    """The text is made for a language model that writes SPARQL.

    $ worlds questions brief kb.db 'How many films did Fritz Lang direct?' --budget 1000
    """


# -- entities ----------------------------------------------------------------------------------------------------------


def _print_resolutions(found: Sequence[Resolution], prefixes: Mapping[str, str]) -> None:
    for remark in dict.fromkeys(remark for one in found for remark in one.notes):
        note(remark)
    for number, one in enumerate(found):
        if number:
            print_text()
        meant = tuple(candidate for candidate in one.candidates if candidate.confidence >= _LEAST)
        print_record(replace(one, candidates=meant), prefixes)


_NAMES = "The names; quote a name of several words. '-' reads them from standard input, one a line."


@command(
    "resolve",
    given("NAME...", _NAMES, name="names"),
    given("--context -c TEXT", "The text around the names."),
    EMBEDDER,
    show=_print_resolutions,
    fails=lambda found: any(one.outcome != "match" for one in found),
)
def resolve(world: World, names: list[str], **given: Any) -> list[Resolution]:
    """The exit code is 1 unless each name has a match.

    $ worlds resolve kb.db 'Fritz Lang' --type ex:Person
    $ worlds resolve kb.db - --json < names.txt
    """
    every = [name for one in names for name in (read_stdin().splitlines() if one == "-" else [one])]
    return [world.resolve(name.strip(), **given) for name in every if name.strip()]


@command(
    "entities.tree",
    given("[OF]", "The scheme, or the property.", name="of"),
    ENTAILED,
    empty="there is no such tree, or nothing in this place of it",
    fails=not_,
)
def tree() -> None:
    """Without OF, the trees of the world.

    $ worlds entities tree kb.db
    $ worlds entities tree kb.db ex:Colours --parent ex:Red
    $ worlds entities tree kb.db rdfs:subClassOf
    """


def _print_members(found: Any, prefixes: Mapping[str, str]) -> None:
    print_answer(
        {name: one for name, one in found.to_dict().items() if name not in ("letters", "properties")}, prefixes
    )


@command("entities.members", ENTAILED, show=_print_members, empty="it has no members", fails=not_)
def members() -> None:
    """The exit code is 1 if there are none.

    $ worlds entities members kb.db ex:Film --facet ex:director
    $ worlds entities members kb.db ex:Colours --json
    """


@command("entities.mint", given("[LABEL]", "The name of the entity."), show=lambda found, _: print_text(str(found.iri)))
def mint() -> None:
    """`worlds policy WORLD iris=NAMESPACE` sets the beginning of new IRIs.

    $ worlds policy kb.db iris=https://example.org/id/
    $ worlds entities mint kb.db 'Fritz Lang' --type ex:Person
    """


@command("entities.form", given("[IRI]", "The entity."))
def form(world: World, **given: Any) -> Any:
    """With --type and no entity, the form of a new one.

    $ worlds entities form kb.db ex:metropolis
    $ worlds entities form kb.db --type ex:Film --json
    """
    found = world.entities.form(**given)
    if not found.fields:
        note("no fields are known: there is neither a shape nor another entity of these classes")
    return found


@command(
    "entities.similar",
    given("--mode", "By meaning, where there are vectors, or by words.", Literal["vector", "text"], "vector"),
    given("--words", "The same as --mode text."),
)
def similar(world: World, iri: str, *, mode: str, words: bool, json: bool, **given: Any) -> None:
    """The exit code is 1 if the world has no quads about the entity.

    $ worlds entities similar kb.db ex:metropolis --type ex:Film
    """
    if words or mode == "text":
        given["mode"] = "text"
    hits = world.entities.similar(iri, **gathered(given))
    if json:
        write_json(hits.to_dict(sql=False))
    else:
        for remark in hits.notes:
            note(remark)
        print_hits(hits, world.prefixes)
    if not hits and not world.describe(iri, limit=1):
        raise typer.Exit(NO)


@command(
    "entities.mentions",
    given("TEXT", "A text, a document's IRI, or '-' for standard input.", callback=from_stdin),
)
def mentions() -> None:
    """Positions are counted in characters.

    $ worlds entities mentions kb.db 'Fritz Lang shot Metropolis in Babelsberg'
    """


# -- curation ----------------------------------------------------------------------------------------------------------

_CLAIM = "A triple, of IRIs, prefixed names or names; or words, for which passages are found."


@command(
    "curation.verify",
    given("SUBJECT PREDICATE OBJECT | WORDS", _CLAIM, list[str], name="claim"),
    embedder=lambda given: "auto" if len(given["claim"]) == 1 else "none",
    fails=lambda found: found.outcome != "supported",
)
def verify(world: World, claim: list[str], **given: Any) -> Any:
    """The exit code is 1 unless the claim is supported.

    $ worlds curate verify kb.db ex:metropolis ex:director ex:fritz-lang
    """
    if len(claim) not in (1, 3):
        raise typer.BadParameter("give a triple (three arguments), or words (one argument, quoted)")
    return world.curation.verify(claim[0] if len(claim) == 1 else tuple(claim), **given)


@command("curation.decisions", empty="nothing was decided")
def decisions() -> None:
    """Decided proposals to merge, merges, and pairs of `worlds curate distinct`; the oldest come first.

    $ worlds curate decisions kb.db --json
    """


@command("curation.distinct")
def distinct() -> None:
    """It is kept as an owl:differentFrom.

    $ worlds curate distinct kb.db ex:paris ex:paris-texas --author ann
    """


# -- facts -------------------------------------------------------------------------------------------------------------


@command("facts.timeline", empty=_UNKNOWN, fails=not_)
def timeline() -> None:
    """The exit code is 1 if the world has no quads about the entity.

    $ worlds facts timeline kb.db ex:Acme
    """


@command("facts.state", EMBEDDER)
def state() -> None:
    """The fact is asserted, and a reifier has its time; with `--to`, it has ended and is not asserted.

    $ worlds facts state kb.db ex:Acme ex:director ex:Ann --from 2019-05 --cites ex:report --supersede
    """


@command("facts.end", given("--at TIME", VERBS["facts.end"].options["at"].help))
def end() -> None:
    """A named graph is the fourth term.

    $ worlds facts end kb.db ex:Acme ex:director ex:Ann --at 2024-03 --reason 'she left'
    """


@command("facts.reinstate", EMBEDDER)
def reinstate() -> None:
    """A named graph is the fourth term.

    $ worlds facts reinstate kb.db ex:Acme ex:director ex:Ann
    """


@command("facts.due", empty="nothing is due")
def due() -> None:
    """`worlds facts carry-out` writes the changes.

    $ worlds facts due kb.db
    $ worlds facts due kb.db --json
    """


@command("facts.carry_out", EMBEDDER, nothing="nothing is due")
def carry_out() -> None:
    """It is for a job that runs every night.

    $ worlds facts carry-out kb.db --author night
    $ worlds facts carry-out kb.db --dry-run
    """


@command(
    "facts.tell",
    given("[SUBJECT PREDICATE OBJECT]", "A fact, its parts in words.", list[str], name="fact"),
    given("--file -f FILE", "Facts as JSON lines, one list a line; - is standard input."),
    given("--from TIME", "The time at which it began.", name="begun"),
    given("--to TIME", "The time at which it ended.", name="ended"),
    given("--cites SOURCE...", f"{VERBS['facts.state'].options['cites'].help} May be repeated."),
    EMBEDDER,
    show=print_record,
    fails=lambda receipt: bool(receipt.of("refused")),
)
def tell(
    world: World, fact: list[str] | None, *, file: str | None, begun: str | None, ended: str | None,
    cites: list[str] | None, **given: Any,
) -> Receipt:  # fmt: skip
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
    facts: list[Any] = [[*fact, times]] if fact else list(_lines(file or "-"))
    return world.facts.tell(facts, **given)


def _lines(file: str) -> Iterator[Any]:
    """The facts of a file."""
    for number, line in enumerate(read_text(file).splitlines(), 1):
        try:
            yield from [loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            raise OpenError(f"{file}, line {number}: no list in JSON: {getattr(error, 'msg', error)}") from error
