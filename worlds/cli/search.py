"""The command that searches. Its options are those of `World.search`, said as a command line can say them."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worlds.cli import show
from worlds.cli.ask import as_text, read_stdin
from worlds.cli.options import (
    FLAGS,
    METAVARS,
    AsOf,
    At,
    Command,
    EmbedderName,
    Worlds,
    embedder_of,
    examples,
    opened,
    parameter,
    with_options,
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
_IN_PARTS = ("exclude", "weights", "rerank", "decay")  # options that the command line takes by several of its own
_FILTERS = ("subjects", "predicates", "types", "graphs", "sources", "source_kinds", "languages", "where")
_TABLE = tuple(name for name in OPTIONS if name not in (*_IN_PARTS, "vector", "boost"))


def _stage(text: str, *flags: str, **more: Any) -> Any:
    return typer.Option(*flags, help=text, rich_help_panel=_PANELS["stage"], **more)


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


@with_options([*map(_option, _TABLE), *map(_exclusion, _FILTERS)], key=_place)
def search(
    path: Annotated[
        str | None,
        typer.Argument(metavar="WORLD", help="The world's file, or its address on a server.", show_default=False),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY...",
            help="Words, in any script; '\"a phrase\"', 'this -not that', 'prefix*'. '-' reads standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    worlds: Worlds = None,
    embedder: EmbedderName = "auto",
    weight_vector: Annotated[
        float | None, typer.Option(help="What the list by meaning counts.", rich_help_panel=_PANELS["fusion"])
    ] = None,
    weight_text: Annotated[
        float | None, typer.Option(help="What the list by words counts.", rich_help_panel=_PANELS["fusion"])
    ] = None,
    rerank: Annotated[bool | None, _stage("A cross-encoder reads the first again.", "--rerank/--no-rerank")] = None,
    reranker: Annotated[
        str | None, _stage("Which one, by name or path; means --rerank.", "--reranker", metavar="MODEL")
    ] = None,
    boost: Annotated[
        list[str] | None,
        _stage(
            "Multiply scores: '2 ?subject a ex:Review' by 2 where a pattern matches, '0.1 ex:citations' by 1 + 0.1 "
            "ln(1 + number).",
            "--boost",
            metavar=METAVARS["boost"],
        ),
    ] = None,
    decay: Annotated[
        str | None, _stage("Scores fall with the age of the date under this predicate.", "--decay", metavar="IRI")
    ] = None,
    half_life: Annotated[float, _stage("By half in so many days.", "--half-life", metavar="DAYS")] = 365,
    evergreen_type: Annotated[
        list[str] | None, _stage("Subjects of this type do not age.", "--evergreen-type", metavar="IRI")
    ] = None,
    evergreen_predicate: Annotated[
        list[str] | None, _stage("Texts under this predicate do not age.", "--evergreen-predicate", metavar="IRI")
    ] = None,
    evergreen_flag: Annotated[
        list[str] | None, _stage("Subjects for which this is true do not age.", "--evergreen-flag", metavar="IRI")
    ] = None,
    group: Annotated[bool, typer.Option("--group", hidden=True, help="The same as --group-by subject.")] = False,
    facets: Annotated[
        bool,
        typer.Option(
            "--facets",
            help="Count the types, predicates, graphs, languages and sources of all that matches, too.",
            rich_help_panel=_PANELS["answer"],
        ),
    ] = False,
    sql: Annotated[
        bool,
        typer.Option(
            "--sql",
            help="The SQL statements that ran and their parameters, instead of hits.",
            rich_help_panel=_PANELS["answer"],
        ),
    ] = False,
    at: At = None,
    as_of: AsOf = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.", rich_help_panel=_PANELS["answer"])] = False,
    **given: Any,
) -> None:
    """Find the texts that best answer a question, best first.

    A filter never costs results: what it does not let through is left out before anything is ranked. A filter may be
    repeated for any of several values; different ones must all hold. Terms are IRIs or prefixed names.
    """
    explain = given.pop("explain")
    weights = {name: one for name, one in (("vector", weight_vector), ("text", weight_text)) if one is not None}
    exclude = {name: value for name in _FILTERS if (value := given.pop(f"exclude_{name}"))}
    options: dict[str, Any] = {name: value or None if name in _FILTERS else value for name, value in given.items()}
    if group:
        options["group_by"] = "subject"
    options |= {
        "exclude": exclude or None,
        "weights": weights or None,
        "rerank": reranker or rerank,
        "boost": boost or None,
        "decay": None
        if decay is None
        else {
            "predicate": decay,
            "half_life": half_life,
            "evergreen_types": evergreen_type or None,
            "evergreen_predicates": evergreen_predicate or None,
            "evergreen_flags": evergreen_flag or None,
        },
    }
    if worlds and path is not None:
        words = [path, *(words or ())]
    if path is None and not worlds:
        raise typer.BadParameter("missing argument", param_hint="WORLD")
    if not words:
        raise typer.BadParameter("missing argument", param_hint="QUERY")
    query = as_text(read_stdin() if words == ["-"] else " ".join(words))
    if worlds:
        if at is not None or as_of is not None:
            raise ValueError("--at and --as-of are for one world")
        _search_group(worlds, query, embedder, json=json, explain=explain, facets=facets, sql=sql, options=options)
        return
    assert path is not None, "there is one, unless there are several"
    with opened(path, embedder="none" if options["mode"] == "text" else embedder, at=at, as_of=as_of) as world:
        busy = waiting("searching") if world.embedder is not None else contextlib.nullcontext()
        if sql:
            with busy:
                ran = world.search_sql(query, **options)
            _print_sql(ran, json=json)
            return
        with busy:
            found = world.search(query, explain=explain, **options)
        _print(found, query, world.prefixes, json=json, explain=explain, facets=facets or bool(options["facet"]))
        if not (found or json):
            note(_nothing(world, query))


def _search_group(
    worlds: list[str],
    query: str,
    embedder: str,
    *,
    json: bool,
    explain: bool,
    facets: bool,
    sql: bool,
    options: Mapping[str, Any],
) -> None:
    """Search several worlds as one."""
    from worlds.groups.group import group

    with group(worlds, embedder=embedder_of("none" if options["mode"] == "text" else embedder)) as members:
        with waiting("searching"):
            found = members.search(query, explain=explain, **options)
        if sql:
            _print_sql(found.explain.statements, json=json)
            return
        _print(found, query, members.prefixes, json=json, explain=explain, facets=facets or bool(options["facet"]))
        if not (found or json):
            note("no hits")


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
    counted = {"facets": found.facets.to_dict(prefixes)} if facets else {}
    if json:
        write_json({"query": query, **found.to_dict(sql=explain), **counted})
        return
    for remark in found.notes:
        note(remark)
    show.print_hits(output(), found, prefixes)
    if facets:
        show.print_facets(output(), counted["facets"], prefixes)
    if explain:
        show.print_explanation(output(), found, prefixes)


def _nothing(world: World, query: str) -> str:
    if not len(world):
        return f"no hits: the world is empty; `worlds load {world.path} FILE` fills it"
    return "no hits" if query.strip() else "no hits: the query is blank"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds search kb.db solar cell stability",
            "worlds search kb.db 'launch -shuttle' --type s:Mission --subclasses --lang en",
            "worlds search kb.db water --where '?subject s:year ?y FILTER(?y > 2000)' --explain",
            "worlds search kb.db water --group-by subject --boost '2 ?subject a s:Planet' --decay dcterms:date",
            "worlds search kb.db water --mode text --json | jq -r '.hits[].subject'",
            "worlds search --world birds.db --world lakes.db water",
            "worlds search kb.db -- -not these words",
        ),
    )(search)
