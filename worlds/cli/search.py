"""The command that searches. Its options are those of `World.search`, said as a command line can say them."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from worlds.cli import show
from worlds.cli.ask import as_text, read_stdin
from worlds.cli.command import command
from worlds.cli.options import (
    AS_OF,
    AT,
    EMBEDDER,
    FLAGS,
    METAVARS,
    WORLD_HELP,
    WORLDS,
    embedder_of,
    given,
    opened,
    parameter,
)
from worlds.cli.terminal import note, output, waiting, write_json
from worlds.search.options import OPTIONS

if TYPE_CHECKING:
    from worlds.search.hits import RanStatement, SearchResults
    from worlds.world import World

_PANELS: Mapping[str, str] = {
    "filter": "What may be found",
    "fusion": "How it is ranked",
    "stage": "How the ranking is changed, in this order",
    "answer": "What is printed",
}
_HALF_LIFE = 365  # days, unless it is given
_IN_PARTS = ("exclude", "weights", "rerank", "decay")  # options that the command line takes by several of its own
_FILTERS = ("subjects", "predicates", "types", "graphs", "sources", "source_kinds", "languages", "where")
_TABLE = tuple(name for name in OPTIONS if name not in (*_IN_PARTS, "vector", "boost"))


def _stage(words: str, help: str, *more: Any, **options: Any) -> inspect.Parameter:
    return given(words, help, *more, rich_help_panel=_PANELS["stage"], **options)


def _option(name: str) -> inspect.Parameter:
    """The parameter of an option of the table."""
    return parameter(OPTIONS[name], panel=_PANELS.get(OPTIONS[name].group))


def _exclusion(name: str) -> inspect.Parameter:
    """The parameter of a filter for what must not hold."""
    flags = [flag for flag in FLAGS[name] if flag.startswith("--")]
    without = replace(OPTIONS[name], name=f"exclude_{name}", help=f"Leave out what {flags[0]} would let through.")
    excluded = [flag.replace("--", "--exclude-") for flag in flags]
    return parameter(without, *excluded, panel=_PANELS["filter"], metavar=METAVARS[name])


def _place(name: str) -> int:
    """Where a parameter stands in the help: by the option that it is, or is a part of."""
    part_of = {"reranker": "rerank", "half_life": "decay", "group": "group_by"}
    words = {"exclude": "exclude", "weight": "weights", "evergreen": "decay"}
    whole = part_of.get(name) or words.get(name.partition("_")[0], name)
    return list(OPTIONS).index(whole) if whole in OPTIONS else -1 if name in ("path", "words") else len(OPTIONS)


@command(
    None,
    given("[WORLD]", WORLD_HELP, name="path"),
    given(
        "[QUERY...]",
        "Words, in any script; '\"a phrase\"', 'this -not that', 'prefix*'. '-' reads standard input.",
        name="words",
    ),
    *(*map(_option, _TABLE), *map(_exclusion, _FILTERS)),
    *(WORLDS, EMBEDDER),
    given("--weight-vector NUMBER", "What the list by meaning counts.", float, rich_help_panel=_PANELS["fusion"]),
    given("--weight-text NUMBER", "What the list by words counts.", float, rich_help_panel=_PANELS["fusion"]),
    _stage("--rerank/--no-rerank", "A cross-encoder reads the first again."),
    _stage("--reranker MODEL", "Which one, by name or path; means --rerank."),
    _stage(
        f"--boost {METAVARS['boost']}...",
        "Multiply scores: '2 ?subject a ex:Review' by 2 where a pattern matches, '0.1 ex:citations' by 1 + 0.1 ln(1 + "
        "number).",
    ),
    _stage("--decay IRI", "Scores fall with the age of the date under this predicate."),
    _stage("--half-life DAYS", "By half in so many days.", float, _HALF_LIFE),
    _stage("--evergreen-type IRI...", "Subjects of this type do not age."),
    _stage("--evergreen-predicate IRI...", "Texts under this predicate do not age."),
    _stage("--evergreen-flag IRI...", "Subjects for which this is true do not age."),
    given("--group", "The same as --group-by subject.", hidden=True),
    given(
        "--facets",
        "Count the types, predicates, graphs, languages and sources of all that matches, too.",
        rich_help_panel=_PANELS["answer"],
    ),
    given(
        "--sql",
        "The SQL statements that ran and their parameters, instead of hits.",
        rich_help_panel=_PANELS["answer"],
    ),
    *(AT, AS_OF),
    given("--json", "One JSON document.", rich_help_panel=_PANELS["answer"]),
    json=False,
    key=_place,
    examples=(
        "worlds search kb.db solar cell stability",
        "worlds search kb.db 'launch -shuttle' --type s:Mission --subclasses --lang en",
        "worlds search kb.db water --where '?subject s:year ?y FILTER(?y > 2000)' --explain",
        "worlds search kb.db water --group-by subject --boost '2 ?subject a s:Planet' --decay dcterms:date",
        "worlds search kb.db water --mode text --json | jq -r '.hits[].subject'",
        "worlds search --world birds.db --world lakes.db water",
        "worlds search kb.db -- -not these words",
    ),
)
def search(
    path: str | None,
    words: list[str] | None,
    *,
    worlds: list[str] | None,
    embedder: str,
    weight_vector: float | None,
    weight_text: float | None,
    rerank: bool | None,
    reranker: str | None,
    boost: list[str] | None,
    decay: str | None,
    half_life: float,
    evergreen_type: list[str] | None,
    evergreen_predicate: list[str] | None,
    evergreen_flag: list[str] | None,
    group: bool,
    facets: bool,
    sql: bool,
    at: str | None,
    as_of: str | None,
    json: bool,
    **given: Any,
) -> None:
    """Find the texts that best answer a question, best first.

    A filter never costs results: what it does not let through is left out before anything is ranked. A filter may be
    repeated for any of several values; different ones must all hold. Terms are IRIs or prefixed names.
    """
    if reranker and rerank is False:
        raise ValueError("--no-rerank and --reranker contradict each other")
    if decay is None and (evergreen_type or evergreen_predicate or evergreen_flag or half_life != _HALF_LIFE):
        raise ValueError("--half-life and --evergreen-… go with --decay")
    explain = given.pop("explain")
    weights = {name: one for name, one in (("vector", weight_vector), ("text", weight_text)) if one is not None}
    exclude = {name: value for name in _FILTERS if (value := given.pop(f"exclude_{name}"))}
    options: dict[str, Any] = dict(given)
    if group:
        options["group_by"] = "subject"
    options |= {
        "exclude": exclude or None,
        "weights": weights or None,
        "rerank": reranker or rerank,
        "boost": boost,
        "decay": None
        if decay is None
        else {
            "predicate": decay,
            "half_life": half_life,
            "evergreen_types": evergreen_type,
            "evergreen_predicates": evergreen_predicate,
            "evergreen_flags": evergreen_flag,
        },
    }
    if worlds and path is not None:
        words = [path, *(words or ())]
    if path is None and not worlds:
        raise typer.BadParameter("missing argument", param_hint="WORLD")
    if not words:
        raise typer.BadParameter("missing argument", param_hint="QUERY")
    query = as_text(read_stdin() if words == ["-"] else " ".join(words))
    if worlds and (at is not None or as_of is not None):
        raise ValueError("--at and --as-of are for one world")
    with _opened(path, worlds, "none" if options["mode"] == "text" else embedder, at, as_of) as world:
        busy = waiting("searching") if worlds or world.embedder is not None else contextlib.nullcontext()
        with busy:
            found = world.search(query, explain=explain, **options)
        if sql:
            _print_sql(found.explain.statements, json=json)
            return
        _print(found, query, world.prefixes, json=json, explain=explain, facets=facets or bool(options["facet"]))
        if not (found or json):
            note("no hits" if worlds else _nothing(world, query))


def _opened(
    path: str | None, worlds: list[str] | None, embedder: str, at: str | None, as_of: str | None
) -> contextlib.AbstractContextManager[Any]:
    """The world to search, or several as one."""
    if worlds:
        from worlds.groups.group import group

        return group(worlds, embedder=embedder_of(embedder))
    assert path is not None, "there is one, unless there are several"
    return opened(path, embedder=embedder, at=at, as_of=as_of)


def _print_sql(ran: Sequence[RanStatement], *, json: bool) -> None:
    """The statements that a search ran."""
    if json:
        values = [list(map(show.json_value, one.parameters)) for one in ran]
        write_json(
            [{"step": one.step, "sql": one.sql, "parameters": value} for one, value in zip(ran, values, strict=True)]
        )
    for one in () if json else ran:
        show.print_sql(output(), one.step, one.sql, one.parameters)


def _print(
    found: SearchResults, query: str, prefixes: Mapping[str, str], *, json: bool, explain: bool, facets: bool
) -> None:
    more = {"facets": found.facets.to_dict(prefixes)} if facets else {}
    if json:
        write_json({"query": query, **found.to_dict(sql=explain), **more})
        return
    for remark in found.notes:
        note(remark)
    show.print_hits(output(), found, prefixes)
    if facets:
        show.print_facets(output(), more["facets"], prefixes)
    if explain:
        show.print_explanation(output(), found, prefixes)


def _nothing(world: World, query: str) -> str:
    if not len(world):
        return f"no hits: the world is empty; `worlds load {world.path} FILE` fills it"
    return "no hits" if query.strip() else "no hits: the query is blank"
