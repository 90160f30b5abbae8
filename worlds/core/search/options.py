"""The options of a search, and the form of an option: the engine's checks and every door take them from here.

`worlds.verbs.table` has the options of the other verbs. `OPTIONS` gives each a `.default`, `.choices`, `.least` and
`.most` (inclusive), a `.kind` and one line of `.help`. None means that an option is not given, wherever the default is
None. The fields of `Ranking` are options of the doors, which hand them to `gathered`; Python has one option, `ranking`.
`check` says what is wrong with values; a door that has its own errors need not repeat it. An option that is `kept` may
have a default of the world's own, so doors leave it to the engine where it is not given: its `.default` is None, and
`.usual` what it is where the world has none. A test pins the signature of `World.search` to the table, which keeps it
explicit for editors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

MOST_CANDIDATES = 10_000
DEFAULT_CANDIDATES = 100

Kind: TypeAlias = Literal["integer", "number", "boolean", "text", "texts", "numbers", "json", "revision"]
Group: TypeAlias = Literal["", "page", "filter", "fusion", "stage", "answer"]
REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "required"})()
"""The default of an option that has to be given."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `kind` is the form of its value in text or JSON: "texts" is one text or a list of texts, "json" a
    mapping, or a list of mappings. Options of one `group` stand together in a help. `absent` maps the doors that do not
    have the option to the reason, and `names` those that call it by another name than Python to that name."""

    name: str
    kind: Kind
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    unit: str = ""
    group: Group = ""
    example: Any = None
    absent: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    usual: Any = None
    kept: bool = False

    @property
    def told(self) -> str:
        """The help, with the default where no door shows it."""
        return self.help if self.usual is None else f"{self.help} {str(self.usual).lower()} by default."

    def at(self, door: str) -> str:
        """The name of the option at a door."""
        return self.names.get(door, self.name)


_MANY = "a list of some hundred numbers"
_TUNED = {"agents": "the ranking is tuned by people who measure it"}
OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        Option(
            "limit",
            "integer",
            "The number of hits at most.",
            least=1,
            most=MOST_CANDIDATES,
            group="page",
            usual=10,
            kept=True,
        ),
        Option(
            "mode",
            "text",
            "Search by meaning (vector), words (text), or both (hybrid).",
            "hybrid",
            choices=("hybrid", "vector", "text"),
            group="fusion",
        ),
        Option("subjects", "texts", "Only texts of these subjects.", group="filter"),
        Option("predicates", "texts", "Only texts under these predicates.", group="filter", example="rdfs:label"),
        Option("types", "texts", "Only texts of subjects of these types.", group="filter", example="ex:Report"),
        Option("subclasses", "boolean", "The filter `types` includes subclasses.", False, group="filter"),
        Option("graphs", "texts", 'Only texts in these graphs; "default" is the default graph.', group="filter"),
        Option("sources", "texts", "Only texts of these sources, by name.", group="filter", example="notes"),
        Option(
            "source_kinds",
            "texts",
            "Only texts of sources of these kinds: documents, rdf or tables.",
            group="filter",
            example="documents",
            absent={"agents": "`sources` names them"},
        ),
        Option(
            "languages",
            "texts",
            'Only texts in these languages; "en" includes en-GB, "" means without a language tag.',
            group="filter",
            kept=True,
        ),
        Option(
            "where",
            "text",
            "Only texts of subjects that match this SPARQL group pattern over ?subject.",
            group="filter",
            example="?subject ex:year ?y . FILTER(?y > 2020)",
        ),
        Option(
            "exclude",
            "json",
            "Leave out the texts that these filters match: an object, by their names.",
            group="filter",
        ),
        Option(
            "fusion",
            "text",
            "How the two result lists are fused: by scaled scores (relative), by ranks (rrf), or by plain scores "
            "(weighted).",
            choices=("relative", "rrf", "weighted"),
            group="fusion",
            usual="relative",
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "normalise",
            "text",
            "The score that relative fusion scales to 0: the lowest in the list (minmax), or the lowest possible "
            "(theoretical).",
            choices=("minmax", "theoretical"),
            group="fusion",
            usual="minmax",
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "label_bonus",
            "boolean",
            "Relative fusion ranks a label first if it equals the query.",
            group="fusion",
            usual=True,
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "k",
            "number",
            "The rank constant of rrf: a smaller constant gives the first ranks more weight.",
            least=0,
            group="fusion",
            usual=60,
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "weights",
            "json",
            'The weight of each result list, by "vector" and "text"; 1 by default.',
            group="fusion",
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "candidates",
            "integer",
            f"The length of each result list before fusion: {DEFAULT_CANDIDATES} by default, or the limit.",
            least=1,
            most=MOST_CANDIDATES,
            group="fusion",
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "syntax",
            "text",
            "How the query is read: as words with phrases, -without and prefix*, or as an FTS5 expression.",
            "words",
            choices=("words", "fts5"),
            group="fusion",
            absent=_TUNED,
        ),
        Option(
            "query_language",
            "text",
            "The language of the query, as a tag; by default the filter's, or that of texts with most of its words.",
            group="fusion",
            example="de",
            kept=True,
            absent={"agents": "the query's words tell its language"},
        ),
        Option(
            "vector",
            "numbers",
            "The query vector, instead of the vector of the query's text.",
            group="fusion",
            absent={"command": _MANY, "agents": _MANY},
        ),
        Option(
            "plan",
            "text",
            "How the nearest vectors are found: all compared (exact), codes, the native index, or the cheapest.",
            "auto",
            choices=("auto", "exact", "codes", "index"),
            group="fusion",
            absent=_TUNED,
        ),
        Option(
            "min_similarity",
            "number",
            "The lowest cosine of a match by vector.",
            least=-1,
            most=1,
            group="fusion",
            example=0.4,
            kept=True,
        ),
        Option("related", "boolean", "Add texts linked to the first hits.", group="stage", usual=False, kept=True),
        Option(
            "rerank",
            "text",
            "Rerank the first hits by a cross-encoder: true for the default model, or its name or path.",
            group="stage",
            kept=True,
        ),
        Option(
            "rerank_top",
            "integer",
            "The number of hits that the cross-encoder reads.",
            least=1,
            most=MOST_CANDIDATES,
            group="stage",
            usual=50,
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "rerank_timeout",
            "number",
            "The time that the cross-encoder may take; after it the ranking stays as it was.",
            least=0,
            unit="seconds",
            group="stage",
            kept=True,
            absent=_TUNED,
        ),
        Option(
            "boost",
            "json",
            'Multiply scores: {"where", "factor"}, {"predicate", "weight"}, a text such as "2 ?subject a ex:Report", '
            "a list of these.",
            group="stage",
        ),
        Option(
            "decay",
            "json",
            'Halve scores with age: {"predicate", "half_life" (days)}, and perhaps "now", "evergreen_types", '
            '"evergreen_predicates", "evergreen_flags".',
            group="stage",
        ),
        Option(
            "diversity",
            "number",
            "The lambda of maximal marginal relevance: 1 is relevance alone, 0 diversity alone.",
            least=0,
            most=1,
            group="stage",
            example=0.7,
            kept=True,
        ),
        Option(
            "group_by",
            "text",
            "Group the hits by subject, or not.",
            choices=("subject", "none"),
            group="stage",
            kept=True,
        ),
        Option(
            "per_subject",
            "integer",
            "The most hits of one subject, with group_by.",
            least=1,
            most=MOST_CANDIDATES,
            group="stage",
            usual=1,
            kept=True,
        ),
        Option("cursor", "text", "The cursor of an earlier answer gives the next hits.", group="page"),
        Option(
            "facet",
            "texts",
            "Predicates whose values the facets count, too.",
            group="answer",
            example="ex:year",
            absent={"agents": "a SPARQL query counts them"},
        ),
        Option(
            "explain",
            "boolean",
            "Each hit has its score and rank in each list and stage.",
            False,
            group="answer",
            absent={"agents": "every hit of an agent has its score"},
        ),
    )
}
DEFAULTS: Mapping[str, Any] = {
    name: option.default if option.usual is None else option.usual
    for name, option in OPTIONS.items()
    if option.group not in ("filter", "answer")
}
"""The options of a request besides its filters, and what they are where they are not given."""
KEPT = tuple(name for name, option in OPTIONS.items() if option.kept)
"""The options that may have a default of the world's own."""


@dataclass(frozen=True)
class Ranking:
    """How a search ranks: `w.search("words", ranking=worlds.Ranking(fusion="rrf"))`.

    A field that is None has the default of the world's own, from `worlds.open(search=…)` or the policy, else the usual
    value. Command line, HTTP, SPARQL, the policy and settings have the fields as options of their own. ValueError for
    an impossible value.
    """

    fusion: Literal["relative", "rrf", "weighted"] | None = None
    """How the lists of vectors and of words are fused. "weighted" adds weight · value, each value brought to [0, 1].
    "relative", as usual, does too, but words count beside vectors as much as the best text holds of them. "rrf" adds
    weight / (`k` + rank)."""
    normalise: Literal["minmax", "theoretical"] | None = None
    """The value that becomes 0 in "relative" and "weighted": the least found (minmax, as usual), or in theory."""
    label_bonus: bool | None = None
    """In mode "hybrid" with "relative", a label that is exactly the question comes first: True as usual."""
    k: float | None = None
    """The rank constant of "rrf", from 0 on: 60 as usual. A smaller one gives the first ranks more weight."""
    weights: Mapping[str, float] | None = None
    """Numbers from 0 on by "vector" and "text": 1.0 as usual. A text whose vector is pending loses nothing: its sum is
    scaled by all weights over that of the words."""
    candidates: int | None = None
    """The length of each list: 100 as usual, or `limit` if that is more."""
    query_language: str | None = None
    """The tag of the language by whose stems words are sought; else those of the filter, else those whose texts have
    most of the words."""
    plan: Literal["auto", "exact", "codes", "index"] | None = None
    """The way to find the nearest vectors: "exact", "codes", "index", or as usual the cheapest (auto)."""
    min_similarity: float | None = None
    """The least cosine, from -1 to 1, of a match by vector."""
    related: bool | None = None
    """Walk two quads far, in either direction, from the entities that the first five hits are about, and add the texts
    met, by their ranks among themselves and personalised PageRank. The first two hits stay first; `Hit.path` has the
    quads that lead to a hit."""
    rerank_top: int | None = None
    """The number of hits that the cross-encoder of `rerank` reads: 50 as usual."""
    rerank_timeout: float | None = None
    """Seconds that the cross-encoder may take; after them the order stays as it was."""
    boost: object = None
    """Multiply scores: {"where": pattern, "factor": f}, {"predicate": p, "weight": w}, which gives 1 + w · ln(1 +
    number), a text such as "2 ?subject a ex:Report", or a list of these. A call alone has it."""
    decay: Mapping[str, object] | None = None
    """Halve scores every "half_life" days since the date under "predicate", or until "now", but for "evergreen_types",
    "evergreen_predicates" (of the text) and "evergreen_flags" (true of the subject). A call alone has it."""
    diversity: float | None = None
    """The lambda of maximal marginal relevance, from 0 to 1, which is relevance alone."""

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            _check_one(OPTIONS[name], value)

    @property
    def given(self) -> dict[str, Any]:
        """The fields that are not None."""
        return {name: value for name, value in vars(self).items() if value is not None}


RANKED = tuple(one.name for one in fields(Ranking))
"""The options that are fields of a `Ranking` in Python."""


def gathered(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a door as Python has them: the fields of a `Ranking` as `ranking`, where any is given."""
    ranking = Ranking(**{name: value for name, value in options.items() if name in RANKED})
    rest = {name: value for name, value in options.items() if name not in RANKED}
    return {**rest, "ranking": ranking} if ranking.given else rest


def spread(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of Python with the given fields of their `ranking` as options; TypeError for fields beside it."""
    rest = {name: value for name, value in options.items() if name != "ranking"}
    if beside := next((name for name in RANKED if name in rest), None):
        raise TypeError(f"{beside} is a field of the ranking: ranking=worlds.Ranking({beside}=…)")
    ranking = options.get("ranking")
    if not isinstance(ranking, Ranking | None):
        raise TypeError(f"ranking must be a worlds.Ranking, not {ranking!r}")
    return rest if ranking is None else {**rest, **ranking.given}


def kept(given: Mapping[str, Any]) -> dict[str, Any]:
    """The world's own defaults, without None; ValueError for an impossible one."""
    if not isinstance(given, Mapping):
        raise TypeError(f"search must map options to values, not {given!r}")
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in KEPT:
            raise ValueError(f"{name!r} has no default of the world's own; these have: {', '.join(KEPT)}")
    tags = chosen.get("languages", ())
    if not isinstance(tags, str) and not (isinstance(tags, list | tuple) and all(isinstance(tag, str) for tag in tags)):
        raise ValueError(f"languages are language tags, not {tags!r}")
    if tags:
        from worlds.core.search.conditions import check_language  # whose module takes long to load

        for tag in [tags] if isinstance(tags, str) else tags:
            check_language(tag)
    if "per_subject" in chosen:
        chosen.setdefault("group_by", "subject")
    check({**DEFAULTS, **{name: value for name, value in chosen.items() if name in DEFAULTS}})
    return chosen


def check(chosen: Mapping[str, Any]) -> None:
    """ValueError for the first of `DEFAULTS`' values that cannot be, whatever needs a world to tell left out."""
    for name, value in chosen.items():
        _check_one(OPTIONS[name], value)
    if chosen["group_by"] in (None, "none") and chosen["per_subject"] != DEFAULTS["per_subject"]:
        raise ValueError("per_subject needs group_by='subject'")


def _check_one(option: Option, value: Any) -> None:
    if value is option.default or (value is option.usual and value is not None):
        return
    if option.choices:
        if value not in option.choices:
            raise ValueError(f"{option.name} must be one of {', '.join(option.choices)}, not {value!r}")
    elif option.kind == "boolean" and not isinstance(value, bool):
        raise ValueError(f"{option.name} must be True or False, not {value!r}")
    elif option.kind in ("integer", "number") and not _within(option, value):
        what = "a whole number" if option.kind == "integer" else f"a number{option.unit and f' of {option.unit}'}"
        bounds = f"from {option.least:g} " + ("on" if option.most is None else f"to {option.most:,g}")
        raise ValueError(f"{option.name} must be {what} {bounds}, not {value!r}")
    elif option.name in _FORMS and not _FORMS[option.name][0](value):
        raise ValueError(f"{_FORMS[option.name][1]} {value!r}")


def _within(option: Option, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Integral if option.kind == "integer" else Real):
        return False
    least = -float("inf") if option.least is None else option.least
    most = float("inf") if option.most is None else option.most
    return least <= value <= most and abs(value) != float("inf")  # type: ignore[operator]  # a real number


def at_least_zero(value: object) -> bool:
    """Whether it is a finite number, Python's or NumPy's, that is not below 0."""
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < float("inf")


def _is_named(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_weights(value: object) -> bool:
    return isinstance(value, Mapping) and value.keys() <= {"vector", "text"} and all(map(at_least_zero, value.values()))


_FORMS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "weights": (_are_weights, "weights map 'vector' and 'text' to numbers from 0 on, they are not"),
    "query_language": (_is_named, "query_language must be a language tag such as 'de', not"),
    "rerank": (
        lambda value: isinstance(value, bool) or _is_named(value) or callable(getattr(value, "predict", None)),
        "rerank must be True, a model's name or path, or have a method predict, not",
    ),
}
"""The checks of options that are more than their kind, and the beginnings of their errors."""
