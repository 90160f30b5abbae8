"""The command that searches. Its options are those of `World.search`, said as a command line can say them."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from worlds.core.search.options import OPTIONS, gathered
from worlds.doors.cli import show
from worlds.doors.cli.ask import as_text, read_stdin
from worlds.doors.cli.command import command
from worlds.doors.cli.options import (
    EMBEDDER,
    FLAGS,
    METAVARS,
    VIEWS,
    WORLD_HELP,
    WORLDS,
    embedder_of,
    given,
    opened,
    parameter,
)
from worlds.doors.cli.terminal import note, output, waiting, write_json

if TYPE_CHECKING:
    from worlds.core.search.hits import RanStatement, SearchResults
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
    """The parameter of a filter for excluded values."""
    flags = [flag for flag in FLAGS[name] if flag.startswith("--")]
    without = replace(OPTIONS[name], name=f"exclude_{name}", help=f"Leave out the texts that {flags[0]} would match.")
    excluded = [flag.replace("--", "--exclude-") for flag in flags]
    return parameter(without, *excluded, panel=_PANELS["filter"], metavar=METAVARS[name])


def _place(name: str) -> int:
    """The position of a parameter in the help, by its option."""
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
    given("--weight-vector NUMBER", "The weight of the results by meaning.", float, rich_help_panel=_PANELS["fusion"]),
    given("--weight-text NUMBER", "The weight of the full-text results.", float, rich_help_panel=_PANELS["fusion"]),
    _stage("--rerank/--no-rerank", "Rerank the first hits by a cross-encoder."),
    _stage("--reranker MODEL", "The cross-encoder, by name or path; implies --rerank."),
    _stage(
        f"--boost {METAVARS['boost']}...",
        "Multiply scores: '2 ?subject a ex:Review' by 2 where a pattern matches, '0.1 ex:citations' by 1 + 0.1 ln(1 + "
        "number).",
    ),
    _stage("--decay IRI", "Scores fall with the age of the date under this predicate."),
    _stage("--half-life DAYS", "The days in which a score halves.", float, _HALF_LIFE),
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
        "--sql", "The SQL statements that ran and their parameters, instead of hits.", rich_help_panel=_PANELS["answer"]
    ),
    *VIEWS,
    given("--json", "One JSON document.", rich_help_panel=_PANELS["answer"]),
    json=False,
    key=_place,
)
def search(asked: Any) -> None:
    """Find the texts that best answer a question, best first.

    A filter never costs results: what it does not let through is left out before anything is ranked. A filter may be
    repeated for any of several values; different ones must all hold. Terms are IRIs or prefixed names.

    $ worlds search kb.db solar cell stability
    $ worlds search kb.db 'launch -shuttle' --type s:Mission --subclasses --lang en
    $ worlds search kb.db water --where '?subject s:year ?y FILTER(?y > 2000)' --explain
    $ worlds search kb.db water --group-by subject --boost '2 ?subject a s:Planet' --decay dcterms:date
    $ worlds search kb.db water --mode text --json | jq -r '.hits[].subject'
    $ worlds search --world birds.db --world lakes.db water
    $ worlds search kb.db -- -not these words
    """
    words, json = asked.words, asked.json
    if asked.worlds and asked.path is not None:
        words = [asked.path, *(words or ())]
    for name, missing in (("WORLD", asked.path is None and not asked.worlds), ("QUERY", not words)):
        if missing:
            raise typer.BadParameter("missing argument", param_hint=name)
    query = as_text(read_stdin() if words == ["-"] else " ".join(words))
    view = {name: getattr(asked, name) for name in ("at", "as_of", "entailed")}
    if asked.worlds and any(view.values()):
        raise ValueError("--at, --as-of and --entailed work with one world only")
    options = gathered(_options(asked))
    with _opened(asked.path, asked.worlds, "none" if asked.mode == "text" else asked.embedder, **view) as world:
        busy = waiting("searching") if asked.worlds or world.embedder is not None else contextlib.nullcontext()
        with busy:
            found = world.search(query, **options)
        if asked.sql:
            _print_sql(found.explain.statements, json=json)
            return
        facets = asked.facets or bool(asked.facet)
        _print(found, query, world.prefixes, json=json, explain=asked.explain, facets=facets)
        if not (found or json):
            note("no hits" if asked.worlds else _nothing(world, query))


def _options(asked: Any) -> dict[str, Any]:
    """The options of the search that the command line asks for."""
    if asked.reranker and asked.rerank is False:
        raise ValueError("use --no-rerank or --reranker, not both")
    evergreen = {f"evergreen_{one}s": getattr(asked, f"evergreen_{one}") for one in ("type", "predicate", "flag")}
    decay = {"predicate": asked.decay, "half_life": asked.half_life, **evergreen}
    if asked.decay is None and (any(evergreen.values()) or asked.half_life != _HALF_LIFE):
        raise ValueError("--half-life and --evergreen-… need --decay")
    weights = {name: one for name in ("vector", "text") if (one := getattr(asked, f"weight_{name}")) is not None}
    return {
        **{name: getattr(asked, name) for name in (*_TABLE, "boost")},
        "group_by": "subject" if asked.group else asked.group_by,
        "exclude": {name: value for name in _FILTERS if (value := getattr(asked, f"exclude_{name}"))} or None,
        "weights": weights or None,
        "rerank": asked.reranker or asked.rerank,
        "decay": None if asked.decay is None else decay,
    }


def _opened(
    path: str | None, worlds: list[str] | None, embedder: str, **view: Any
) -> contextlib.AbstractContextManager[Any]:
    """The world to search, or several as one."""
    if worlds:
        from worlds.groups.group import group

        return group(worlds, embedder=embedder_of(embedder))
    assert path is not None, "there is one, unless there are several"
    return opened(path, embedder=embedder, **view)


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
