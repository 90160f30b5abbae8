"""The commands that are verbs and no more: what the table of verbs says of one, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from operator import not_
from typing import Any

from rich.text import Text

from worlds.doors.cli.command import command
from worlds.doors.cli.options import EMBEDDER, ENTAILED, VIEWS, given
from worlds.doors.cli.show import term
from worlds.doors.cli.terminal import clean, note, output
from worlds.verbs.table import VERBS

_UNKNOWN = "the world has no quads about it"
_QUESTION = given("QUESTION...", "The question.", name="question")


def _print_text(found: Any, _: Mapping[str, str]) -> None:
    output().print("\n".join(map(clean, found.text.split("\n"))), markup=False, highlight=False, soft_wrap=True)


def _print_iri(found: Any, _: Mapping[str, str]) -> None:
    output().print(str(found.iri), soft_wrap=True, markup=False, highlight=False)


def _print_entity(one: Any, counts: list[str], prefixes: Mapping[str, str]) -> None:
    line = Text(f"{clean(one.label)}  " if one.label else "", style="bold")
    line.append(term(one.iri, prefixes), style="not bold cyan")
    told = [*counts, *([clean(one.apart)] if one.apart else [])]
    output().print(line.append("  " + ", ".join(told) if told else "", style="not bold dim"), soft_wrap=True)


def _print_tree(found: Any, prefixes: Mapping[str, str]) -> None:
    for one in found.nodes:
        below, all_in = ("at the top", "in it") if one.kind else ("below", "instances")
        known = (below, one.children), (all_in, one.instances)
        path = [" / ".join(clean(step.label or str(step.iri)) for step in one.path)] if one.path else []
        _print_entity(one, [*(f"{count:,} {what}" for what, count in known if count), *path], prefixes)
    _print_rest(found, len(found.nodes))


def _print_members(found: Any, prefixes: Mapping[str, str]) -> None:
    for one in found.members:
        _print_entity(one, [], prefixes)
    for facet in found.facets:
        output().print(Text(f"\n{clean(facet.label or term(facet.predicate, prefixes))}", style="bold"))
        for value in facet.values:
            output().print(Text(f"  {value.count:,}  {clean(value.label or str(value.term))}"), soft_wrap=True)
    _print_rest(found, len(found.members))


def _print_rest(found: Any, shown: int) -> None:
    for remark in getattr(found, "notes", ()):
        note(remark)
    if found.offset + shown < found.total:
        note(f"{found.offset + 1:,} to {found.offset + shown:,} of {found.total:,}; --offset goes on")


@command(
    "entities.tree",
    given("[OF]", "The scheme, or the property.", name="of"),
    ENTAILED,
    show=_print_tree,
    empty="there is no such tree, or nothing in this place of it",
    fails=not_,
)
def tree() -> None:
    """Without OF, the trees of the world.

    $ worlds entities tree kb.db
    $ worlds entities tree kb.db ex:Colours --parent ex:Red
    $ worlds entities tree kb.db rdfs:subClassOf
    """


@command("entities.members", ENTAILED, show=_print_members, empty="it has no members", fails=not_)
def members() -> None:
    """The exit code is 1 if there are none.

    $ worlds entities members kb.db ex:Film --facet ex:director
    $ worlds entities members kb.db ex:Colours --json
    """


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


@command("describe", *VIEWS, empty=_UNKNOWN, fails=not_)
def describe() -> None:
    """The exit code is 1 if the world has no quads about the entity.

    $ worlds describe kb.db ex:metropolis
    """


@command("facts.timeline", empty=_UNKNOWN, fails=not_)
def timeline() -> None:
    """The exit code is 1 if the world has no quads about the entity.

    $ worlds facts timeline kb.db ex:Acme
    """


@command("entities.mint", given("[LABEL]", "The name of the entity."), show=_print_iri)
def mint() -> None:
    """`worlds policy WORLD iris=NAMESPACE` sets the beginning of new IRIs.

    $ worlds policy kb.db iris=https://example.org/id/
    $ worlds entities mint kb.db 'Fritz Lang' --type ex:Person
    """


@command("context", *(_QUESTION, EMBEDDER, *VIEWS), show=_print_text)
def context() -> None:
    """The text is made for a language model, which cites facts by their numbers.

    $ worlds context kb.db 'Who directed the films in which Brigitte Helm played?'
    $ worlds context kb.db 'What did Curiosity find?' --budget 500 --json | jq -r .text
    """


@command("questions.brief", *(_QUESTION, EMBEDDER, *VIEWS), show=_print_text)
def brief() -> None:
    """The text is made for a language model that writes SPARQL.

    $ worlds questions brief kb.db 'How many films did Fritz Lang direct?' --budget 1000
    """


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


@command("undo", EMBEDDER, nothing="nothing changed: later revisions reversed all of it")
def undo() -> None:
    """The newer revisions stay.

    $ worlds undo kb.db 5 --author ann --message 'wrong file'
    """


@command("facts.end", given("--at TIME", VERBS["facts.end"].options["at"].help))
def end() -> None:
    """A named graph is the fourth term.

    $ worlds facts end kb.db ex:Acme ex:director ex:Ann --at 2024-03 --reason 'she left'
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


@command("facts.reinstate", EMBEDDER)
def reinstate() -> None:
    """A named graph is the fourth term.

    $ worlds facts reinstate kb.db ex:Acme ex:director ex:Ann
    """
