"""The commands that are verbs and no more: what the table of verbs says of one, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from operator import not_
from typing import Any

from rich.text import Text

from worlds.doors.cli.command import verbs_own
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


verbs_own(
    "entities.tree",
    given("[OF]", "The scheme, or the property.", name="of"),
    ENTAILED,
    show=_print_tree,
    help="Without OF, the trees of the world.",
    empty="there is no such tree, or nothing in this place of it",
    fails=not_,
    examples=(
        "worlds entities tree kb.db",
        "worlds entities tree kb.db ex:Colours --parent ex:Red",
        "worlds entities tree kb.db rdfs:subClassOf",
    ),
)
verbs_own(
    "entities.members",
    ENTAILED,
    show=_print_members,
    help="The exit code is 1 if there are none.",
    empty="it has no members",
    fails=not_,
    examples=(
        "worlds entities members kb.db ex:Film --facet ex:director",
        "worlds entities members kb.db ex:Colours --json",
    ),
)
verbs_own("stats", examples=("worlds stats kb.db", "worlds stats kb.db --json | jq .quads"))
verbs_own(
    "schema",
    ENTAILED,
    help="The commonest come first.",
    examples=("worlds schema kb.db", "worlds schema kb.db --json | jq .classes"),
)
verbs_own(
    "check",
    help="The exit code is 1 if they do not.",
    waiting="checking",
    fails=lambda found: not found.ok,
    examples=("worlds check kb.db && echo fine",),
)
verbs_own(
    "describe",
    *VIEWS,
    help="The exit code is 1 if the world has no quads about the entity.",
    empty=_UNKNOWN,
    fails=not_,
    examples=("worlds describe kb.db ex:metropolis",),
)
verbs_own(
    "facts.timeline",
    help="The exit code is 1 if the world has no quads about the entity.",
    empty=_UNKNOWN,
    fails=not_,
    examples=("worlds facts timeline kb.db ex:Acme",),
)
verbs_own(
    "entities.mint",
    given("[LABEL]", "The name of the entity."),
    help="`worlds policy WORLD iris=NAMESPACE` sets the beginning of new IRIs.",
    show=_print_iri,
    examples=(
        "worlds policy kb.db iris=https://example.org/id/",
        "worlds entities mint kb.db 'Fritz Lang' --type ex:Person",
    ),
)
verbs_own(
    "context",
    *(_QUESTION, EMBEDDER, *VIEWS),
    help="The text is made for a language model, which cites facts by their numbers.",
    show=_print_text,
    examples=(
        "worlds context kb.db 'Who directed the films in which Brigitte Helm played?'",
        "worlds context kb.db 'What did Curiosity find?' --budget 500 --json | jq -r .text",
    ),
)
verbs_own(
    "questions.brief",
    *(_QUESTION, EMBEDDER, *VIEWS),
    help="The text is made for a language model that writes SPARQL.",
    show=_print_text,
    examples=("worlds questions brief kb.db 'How many films did Fritz Lang direct?' --budget 1000",),
)
verbs_own(
    "curation.decisions",
    help="Decided proposals to merge, merges, and pairs of `worlds curate distinct`; the oldest come first.",
    empty="nothing was decided",
    examples=("worlds curate decisions kb.db --json",),
)
verbs_own(
    "curation.distinct",
    help="It is kept as an owl:differentFrom.",
    examples=("worlds curate distinct kb.db ex:paris ex:paris-texas --author ann",),
)
verbs_own(
    "undo",
    EMBEDDER,
    help="The newer revisions stay.",
    nothing="nothing changed: later revisions reversed all of it",
    examples=("worlds undo kb.db 5 --author ann --message 'wrong file'",),
)
verbs_own(
    "facts.end",
    given("--at TIME", VERBS["facts.end"].options["at"].help),
    help="A named graph is the fourth term.",
    examples=("worlds facts end kb.db ex:Acme ex:director ex:Ann --at 2024-03 --reason 'she left'",),
)
verbs_own(
    "facts.due",
    help="`worlds facts carry-out` writes the changes.",
    empty="nothing is due",
    examples=("worlds facts due kb.db", "worlds facts due kb.db --json"),
)
verbs_own(
    "facts.carry_out",
    EMBEDDER,
    help="It is for a job that runs every night.",
    nothing="nothing is due",
    examples=("worlds facts carry-out kb.db --author night", "worlds facts carry-out kb.db --dry-run"),
)
verbs_own(
    "facts.reinstate",
    EMBEDDER,
    help="A named graph is the fourth term.",
    examples=("worlds facts reinstate kb.db ex:Acme ex:director ex:Ann",),
)
