"""The options of a search: one table, from which the engine's checks and every door take names, types and defaults.

A door reads `OPTIONS`, in the order of `World.search`: `OPTIONS["k"].default`, `.choices`, `.least` and `.most`
(inclusive), `.kind` and the one line `.help`. A value of None means that the option is not given, wherever the default
is None. `check` says what is wrong with values; a door that has its own errors need not repeat it. A test pins the
signature of `World.search` to the table, which keeps it explicit for editors and type checkers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

MOST_CANDIDATES = 10_000
DEFAULT_CANDIDATES = 100

Kind: TypeAlias = Literal["integer", "number", "boolean", "text", "texts", "numbers", "json"]
Group: TypeAlias = Literal["page", "filter", "fusion", "stage", "answer"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `kind` is what a value is where it is written as text or JSON: "texts" is one text or a list of such,
    "json" a mapping, or a list of such. `group` is what it belongs to."""

    name: str
    kind: Kind
    group: Group
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    unit: str = ""


OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        Option("limit", "integer", "page", "The most hits.", 10, least=1, most=MOST_CANDIDATES),
        Option(
            "mode",
            "text",
            "fusion",
            "By meaning (vectors), by words, or by both.",
            "hybrid",
            choices=("hybrid", "vector", "text"),
        ),
        Option("subjects", "texts", "filter", "Only texts of these subjects."),
        Option("predicates", "texts", "filter", "Only texts under these predicates."),
        Option("types", "texts", "filter", "Only texts of subjects of these types."),
        Option("subclasses", "boolean", "filter", "Whether types includes the classes below them.", False),
        Option("graphs", "texts", "filter", 'Only texts in these graphs; "default" is the default graph.'),
        Option(
            "languages", "texts", "filter", 'Only texts in these languages; "en" includes en-GB, "" is no language.'
        ),
        Option("where", "text", "filter", "Only texts of subjects that match: a SPARQL group pattern over ?subject."),
        Option("exclude", "json", "filter", "What must not hold: the filters above, by their names."),
        Option(
            "fusion",
            "text",
            "fusion",
            "How the two lists are joined: by their values, by their ranks, or by the plain sum of their values.",
            "relative",
            choices=("relative", "rrf", "weighted"),
        ),
        Option(
            "normalise",
            "text",
            "fusion",
            "Of values, which counts 0: the least found, or the least in theory.",
            "minmax",
            choices=("minmax", "theoretical"),
        ),
        Option(
            "label_bonus",
            "boolean",
            "fusion",
            "With fusion relative, a label that is what was asked comes first.",
            True,
        ),
        Option("k", "number", "fusion", "Of ranks, the constant: the less, the more the first outweigh.", 60, least=0),
        Option("weights", "json", "fusion", 'What each list counts, by "vector" and "text"; 1 by default.'),
        Option(
            "candidates",
            "integer",
            "fusion",
            f"How long each list is: {DEFAULT_CANDIDATES} by default, or the limit.",
            least=1,
            most=MOST_CANDIDATES,
        ),
        Option(
            "syntax",
            "text",
            "fusion",
            "Words with phrases, -without and prefix*; or an FTS5 expression.",
            "words",
            choices=("words", "fts5"),
        ),
        Option("vector", "numbers", "fusion", "The vector to search with, in the place of the text's own."),
        Option(
            "plan",
            "text",
            "fusion",
            "How the nearest vectors are found.",
            "auto",
            choices=("auto", "exact", "codes", "index"),
        ),
        Option("min_similarity", "number", "fusion", "The least cosine of a match by vector.", least=-1, most=1),
        Option("rerank", "text", "stage", "A cross-encoder that reads the first again: True, or a name or path."),
        Option("rerank_top", "integer", "stage", "How many it reads.", 50, least=1, most=MOST_CANDIDATES),
        Option(
            "rerank_timeout", "number", "stage", "After so many seconds the ranking stands.", least=0, unit="seconds"
        ),
        Option(
            "boost",
            "json",
            "stage",
            'What multiplies scores: {"where", "factor"}, {"predicate", "weight"}, a text such as "2 ?subject a '
            'ex:Report", or a list of these.',
        ),
        Option(
            "decay",
            "json",
            "stage",
            'What halves scores with age: {"predicate", "half_life" (days)}, and maybe "now", "evergreen_types", '
            '"evergreen_predicates", "evergreen_flags".',
        ),
        Option(
            "diversity",
            "number",
            "stage",
            "The lambda of maximal marginal relevance; 1 is relevance alone.",
            least=0,
            most=1,
        ),
        Option("group_by", "text", "stage", "Give hits by subject.", choices=("subject",)),
        Option(
            "per_subject",
            "integer",
            "stage",
            "The most hits of one subject, with group_by.",
            1,
            least=1,
            most=MOST_CANDIDATES,
        ),
        Option("cursor", "text", "page", "The cursor of an earlier answer, for the hits that follow."),
        Option("explain", "boolean", "answer", "Whether each hit says what each list and stage did.", False),
    )
}
DEFAULTS: Mapping[str, Any] = {
    name: option.default for name, option in OPTIONS.items() if option.group not in ("filter", "answer")
}
"""The options of a request besides its filters, and what they are where they are not given."""


def check(chosen: Mapping[str, Any]) -> None:
    """ValueError for the first of `DEFAULTS`' values that cannot be, whatever needs a world to tell left out."""
    for name, value in chosen.items():
        _check_one(OPTIONS[name], value)
    weights = chosen["weights"]
    given = weights if isinstance(weights, Mapping) else {} if weights is None else {"": weights}
    if not given.keys() <= {"vector", "text"} or not all(map(at_least_zero, given.values())):
        raise ValueError(f"weights map 'vector' and 'text' to numbers from 0 on, they are not {weights!r}")
    rerank = chosen["rerank"]
    named = isinstance(rerank, str) and bool(rerank.strip())
    if not (rerank is None or isinstance(rerank, bool) or named or callable(getattr(rerank, "predict", None))):
        raise ValueError(f"rerank is True, a model's name or path, or has a method predict; it is not {rerank!r}")
    if chosen["group_by"] is None and chosen["per_subject"] != DEFAULTS["per_subject"]:
        raise ValueError("per_subject needs group_by='subject'")


def _check_one(option: Option, value: object) -> None:
    if value is option.default:
        return
    if option.choices:
        if value not in option.choices:
            listed = "is " + repr(option.choices[0]) + " or None" if option.default is None else _one_of(option)
            raise ValueError(f"{option.name} {listed}, not {value!r}")
    elif option.kind == "boolean" and not isinstance(value, bool):
        raise ValueError(f"{option.name} is True or False, not {value!r}")
    elif option.kind in ("integer", "number") and not _within(option, value):
        what = "a whole number" if option.kind == "integer" else f"a number{option.unit and f' of {option.unit}'}"
        bounds = f"from {option.least:g} " + ("on" if option.most is None else f"to {option.most:,g}")
        raise ValueError(f"{option.name} is {what} {bounds}, not {value!r}")


def _one_of(option: Option) -> str:
    return f"is one of {', '.join(option.choices)}"


def _within(option: Option, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Integral if option.kind == "integer" else Real):
        return False
    least = -float("inf") if option.least is None else option.least
    most = float("inf") if option.most is None else option.most
    return least <= value <= most and abs(value) != float("inf")  # type: ignore[operator]  # a real number


def at_least_zero(value: object) -> bool:
    """Whether it is a finite number, Python's or NumPy's, that is not below 0."""
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < float("inf")
