"""The commands that are verbs and no more: what the table of verbs says of one, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from operator import not_
from typing import Any

from worlds.cli.command import verbs_own
from worlds.cli.options import AS_OF, AT, EMBEDDER, given
from worlds.cli.terminal import clean, output
from worlds.verbs.table import VERBS

_UNKNOWN = "the world says nothing of it"
_QUESTION = given("QUESTION...", "The question.", name="question")


def _print_text(found: Any, _: Mapping[str, str]) -> None:
    output().print("\n".join(map(clean, found.text.split("\n"))), markup=False, highlight=False, soft_wrap=True)


def _print_iri(found: Any, _: Mapping[str, str]) -> None:
    output().print(str(found.iri), soft_wrap=True, markup=False, highlight=False)


verbs_own("stats", examples=("worlds stats kb.db", "worlds stats kb.db --json | jq .quads"))
verbs_own(
    "schema",
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
    *(AT, AS_OF),
    help="The exit code is 1 if the world says nothing of the entity.",
    empty=_UNKNOWN,
    fails=not_,
    examples=("worlds describe kb.db ex:metropolis",),
)
verbs_own(
    "timeline",
    help="The exit code is 1 if the world says nothing of the entity.",
    empty=_UNKNOWN,
    fails=not_,
    examples=("worlds timeline kb.db ex:Acme",),
)
verbs_own(
    "mint",
    given("[LABEL]", "The name of the entity."),
    help="`worlds policy WORLD iris=NAMESPACE` says how new IRIs begin.",
    show=_print_iri,
    examples=(
        "worlds policy kb.db iris=https://example.org/id/",
        "worlds mint kb.db 'Fritz Lang' --type ex:Person",
    ),
)
verbs_own(
    "context",
    *(_QUESTION, EMBEDDER, AT, AS_OF),
    help="The text is made for a language model, which cites facts by their numbers.",
    show=_print_text,
    examples=(
        "worlds context kb.db 'Who directed the films in which Brigitte Helm played?'",
        "worlds context kb.db 'What did Curiosity find?' --budget 500 --json | jq -r .text",
    ),
)
verbs_own(
    "brief",
    *(_QUESTION, EMBEDDER, AT, AS_OF),
    help="The text is made for a language model that writes SPARQL.",
    show=_print_text,
    examples=("worlds brief kb.db 'How many films did Fritz Lang direct?' --budget 1000",),
)
verbs_own(
    "decisions",
    help="Decided proposals to merge, merges, and what `worlds distinct` keeps apart; the oldest come first.",
    empty="nothing was decided",
    examples=("worlds decisions kb.db --json",),
)
verbs_own(
    "distinct",
    help="It is kept as an owl:differentFrom.",
    examples=("worlds distinct kb.db ex:paris ex:paris-texas --author ann",),
)
verbs_own(
    "undo",
    EMBEDDER,
    help="The newer revisions stay.",
    nothing="nothing changed: all that it did was changed back since",
    examples=("worlds undo kb.db 5 --author ann --message 'wrong file'",),
)
verbs_own(
    "end",
    given("--at TIME", VERBS["end"].options["at"].help),
    help="A named graph is the fourth term.",
    examples=("worlds end kb.db ex:Acme ex:director ex:Ann --at 2024-03 --reason 'she left'",),
)
verbs_own(
    "due",
    help="`worlds carry-out` makes it so.",
    empty="nothing is due",
    examples=("worlds due kb.db", "worlds due kb.db --json"),
)
verbs_own(
    "carry_out",
    EMBEDDER,
    help="It is for a job that runs every night.",
    nothing="nothing is due",
    examples=("worlds carry-out kb.db --author night", "worlds carry-out kb.db --dry-run"),
)
verbs_own(
    "reinstate",
    EMBEDDER,
    help="A named graph is the fourth term.",
    examples=("worlds reinstate kb.db ex:Acme ex:director ex:Ann",),
)
