"""The command that searches. Its options are those of `World.search`, said as a command line can say them."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from worlds.core.search.options import OPTIONS, gathered
from worlds.doors.cli import show
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
)  # fmt: skip
from worlds.doors.cli.terminal import as_text, note, read_stdin, waiting, write_json

if TYPE_CHECKING:
    from worlds.core.search.hits import SearchResults

_PANELS: Mapping[str, str] = {
    "filter": "What may be found",
    "fusion": "How it is ranked",
    "stage": "How the ranking is changed, in this order",
    "answer": "What is printed",
}
_HALF_LIFE = 365  # days, unless it is given
_FILTERS = ("subjects", "predicates", "types", "graphs", "sources", "source_kinds", "languages", "where")


def _exclusion(name: str) -> inspect.Parameter:
    """The parameter of a filter for excluded values."""
    flags = [flag for flag in FLAGS[name] if flag.startswith("--")]
    without = replace(OPTIONS[name], name=f"exclude_{name}", help=f"Leave out the texts that {flags[0]} would match.")
    excluded = [flag.replace("--", "--exclude-") for flag in flags]
    return parameter(without, *excluded, panel=_PANELS["filter"], metavar=METAVARS[name])


def _part(words: str, help: str, *more: Any, group: str = "stage", **options: Any) -> inspect.Parameter:
    return given(words, help, *more, rich_help_panel=_PANELS[group], **options)


_BOOST = (
    "Multiply scores: '2 ?subject a ex:Review' by 2 where a pattern matches, '0.1 ex:citations' by 1 + 0.1 ln(1 + "
    "number)."
)
_IN_PARTS = {
    "exclude": [_exclusion(name) for name in _FILTERS],
    "weights": [
        _part("--weight-vector NUMBER", "The weight of the results by meaning.", float, group="fusion"),
        _part("--weight-text NUMBER", "The weight of the full-text results.", float, group="fusion"),
    ],
    "vector": [],
    "rerank": [
        _part("--rerank/--no-rerank", "Rerank the first hits by a cross-encoder."),
        _part("--reranker MODEL", "The cross-encoder, by name or path; implies --rerank."),
    ],
    "boost": [_part(f"--boost {METAVARS['boost']}...", _BOOST)],
    "decay": [
        _part("--decay IRI", "Scores fall with the age of the date under this predicate."),
        _part("--half-life DAYS", "The days in which a score halves.", float, _HALF_LIFE),
        _part("--evergreen-type IRI...", "Subjects of this type do not age."),
        _part("--evergreen-predicate IRI...", "Texts under this predicate do not age."),
        _part("--evergreen-flag IRI...", "Subjects for which this is true do not age."),
    ],
}
"""Options of a search that the command line takes by several of its own, or words anew."""
_TABLE = tuple(name for name in OPTIONS if name not in _IN_PARTS)


def _parameters() -> Iterator[inspect.Parameter]:
    """The parameters of the options of a search, in the order of the help."""
    for name, one in OPTIONS.items():
        yield from _IN_PARTS.get(name) or ([] if name in _IN_PARTS else [parameter(one, panel=_PANELS.get(one.group))])


@command(
    None,
    given("[WORLD]", WORLD_HELP, name="path"),
    given(
        "[QUERY...]",
        "Words, in any script; '\"a phrase\"', 'this -not that', 'prefix*'. '-' reads standard input.",
        name="words",
    ),
    *_parameters(),
    given("--group", "The same as --group-by subject.", hidden=True),
    _part(
        "--facets", "Count the types, predicates, graphs, languages and sources of all that matches.", group="answer"
    ),
    _part("--sql", "The SQL statements that ran and their parameters, instead of hits.", group="answer"),
    *(WORLDS, EMBEDDER, *VIEWS),
    _part("--json", "One JSON document.", group="answer"),
    json=False,
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
    model = "none" if asked.mode == "text" else asked.embedder
    with _opened(asked.path, asked.worlds, model, **view) as world:
        with waiting("searching" if asked.worlds or world.embedder is not None else ""):
            found = world.search(query, **options)
        if asked.sql:
            show.print_sql(found.explain.statements, json=json)
            return
        _print(found, query, world.prefixes, asked)
        if not (found or json):
            empty = (
                "" if asked.worlds or len(world) else f": the world is empty; `worlds load {world.path} FILE` fills it"
            )
            note(f"no hits{empty or ('' if query.strip() else ': the query is blank')}")


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


def _print(found: SearchResults, query: str, prefixes: Mapping[str, str], asked: Any) -> None:
    facets = found.facets.to_dict(prefixes) if asked.facets or asked.facet else None
    if asked.json:
        more = {} if facets is None else {"facets": facets}
        write_json({"query": query, **found.to_dict(sql=asked.explain), **more})
        return
    for remark in found.notes:
        note(remark)
    show.print_hits(found, prefixes)
    if facets is not None:
        show.print_facets(facets, prefixes)
    if asked.explain:
        show.print_explanation(found, prefixes)
