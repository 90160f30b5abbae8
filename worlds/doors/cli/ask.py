"""The command that asks by SPARQL, its answers, and what it shares with update."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import BINDINGS, INTERRUPTIBLE, VIEWS, WORLD_HELP, WORLDS, given, opened
from worlds.doors.cli.terminal import (
    as_text,
    clean,
    counted,
    messages,
    note,
    print_text,
    progress,
    read_text,
    write_json,
    write_utf8,
)  # fmt: skip
from worlds.doors.cli.text_table import NUMBER
from worlds.errors import QueryError
from worlds.graph.query.tokens import declared_prefixes
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.graph.query.results import Solutions, Triples


@command(
    None,
    given("[WORLD]", WORLD_HELP, name="path"),
    given("[QUERY]", "The query, or - for standard input."),
    WORLDS,
    given("--file -f FILE", "Read the query from a file."),
    given(
        "--format FORMAT",
        "SELECT and ASK: table, json, xml, csv, tsv. CONSTRUCT and DESCRIBE: turtle, nt, nq, trig, rdfxml, jsonld. "
        "Else table or turtle.",
    ),
    given("--union/--strict", "Ask all graphs together, or the default graph alone; else as in the world.", bool),
    BINDINGS,
    given("--timeout SECONDS", "The time limit of the query.", float),
    given("--allow-network HOST...", "Let SERVICE ask this host; may be repeated."),
    given("--explain", "Show times, searches and matches of each pattern instead of the results."),
    given("--sparql-index PLACE", "The SPARQL index of a large world: memory, disk or auto; else as configured."),
    given("--repair", VERBS["query"].options["repair"].help),
    *VIEWS,
    given("--json", "The same as --format json."),
    json=False,
)
def sparql(asked: Any) -> None:
    """Answer a SPARQL query.

    The prefixes that loaded files declared need no declaration. An ASK prints true, or false with exit code 1.

    $ worlds sparql kb.db 'SELECT ?type (COUNT(*) AS ?n) WHERE { ?s a ?type } GROUP BY ?type'
    $ worlds sparql kb.db --file query.rq --format csv > rows.csv
    $ worlds sparql kb.db 'SELECT ?s ?p ?o WHERE { ?s ?p ?o }' --bind s=ex:apollo11
    $ worlds sparql kb.db 'ASK { ?s a ex:Rover }' && echo 'there are rovers'
    $ worlds sparql --world birds.db --world lakes.db 'SELECT * { SERVICE <worlds:lakes> { ?s ?p ?o } }'
    """
    if asked.json and asked.format not in (None, "json"):
        raise ValueError("use --json or --format, not both")
    format = _known_format("json" if asked.json else asked.format)
    limit = INTERRUPTIBLE if asked.timeout is None else asked.timeout
    options: dict[str, Any] = {"bindings": dict(asked.bindings or ()), "union": asked.union, "timeout": limit}
    if asked.worlds:
        from worlds.groups.group import group

        of_one = ("explain", "allow_network", "sparql_index", "repair", "at", "as_of", "entailed")
        if asked.query is not None or any(getattr(asked, name) for name in of_one):
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in of_one)
            raise ValueError(f"with several worlds give one argument, the query, and no {flags}")
        text = given_query(asked.path, asked.file)
        with group(asked.worlds, embedder=None) as members:
            _print_answer(members.query(text, **options), format, {**members.prefixes, **declared_prefixes(text)})
        return
    if asked.path is None:
        raise typer.BadParameter("missing argument", param_hint="WORLD")
    text = given_query(asked.query, asked.file)
    options["allow_network"] = asked.allow_network or False
    view = {name: getattr(asked, name) for name in ("sparql_index", "at", "as_of", "entailed")}
    with opened(asked.path, **view) as world:
        if asked.explain:
            with progress() as bar:
                told = world.explain(text, progress=bar, **options)
            write_json(told.to_dict()) if format == "json" else print_text(str(told))
            return
        answer = _answer(world, text, repair=asked.repair, **options)
        if not isinstance(answer, bool):
            notes = [*answer.notes, *([] if answer.repair is None else [answer.repair])]
        else:
            notes = [] if answer else [*world.explain(text, answer=False, **options).notes]
        for remark in notes:
            note(str(remark))
        _print_answer(answer, format, {**world.prefixes, **declared_prefixes(text)})


def _answer(world: Any, text: str, **options: Any) -> Solutions | Triples | bool:
    try:
        with progress() as bar:
            found: Solutions | Triples | bool = world.query(text, progress=bar, **options)
    except QueryError as error:
        if error.repair is not None:
            note(str(error.repair))
        raise
    return found


_ROWS = ("table", "json", "xml", "csv", "tsv")
_BOOLEANS = {
    "json": '{"head":{},"boolean":%s}',
    "xml": '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head/><boolean>%s</boolean>'
    "</sparql>",
}


def _known_format(name: str | None) -> str | None:
    """A result format, None for the one that suits the query; ValueError for an unknown name."""
    if name is None or (name := name.strip().lower()) in _ROWS:
        return name
    from worlds.graph.formats import find_format

    try:
        find_format(name)
    except ValueError as error:
        raise ValueError(f"{error}; rows and booleans: {', '.join(_ROWS)}") from error
    return name


def _print_answer(answer: Solutions | Triples | bool, format: str | None, prefixes: Mapping[str, str]) -> None:
    """Print an answer in a format; ValueError for a format that cannot hold it."""
    from worlds.graph.query.results import Triples

    if isinstance(answer, Triples):
        if format in ("table", "csv", "tsv"):
            raise ValueError(f"the query gives triples, not rows: use turtle, nt, jsonld or rdfxml, not {format}")
        write_utf8(answer.serialize(format or "turtle"))  # RDF has its own formats called json and xml
        return
    if format is not None and format not in _ROWS:
        kind = "true or false" if isinstance(answer, bool) else "rows, not triples"
        raise ValueError(f"the query gives {kind}: {format} cannot hold it; use {', '.join(_ROWS)}")
    if isinstance(answer, bool):
        write_utf8(_BOOLEANS.get(format or "", "%s") % str(answer).lower())
        if not answer:
            raise typer.Exit(NO)
    elif format in (None, "table"):
        print_solutions(answer, prefixes)
    else:
        write_utf8(answer.serialize(format))


def given_query(query: str | None, file: str | None) -> str:
    """The text of a query or an update: an argument, standard input, or a file."""
    if (query is None) == (file is None):
        raise ValueError("give one query: as an argument, as - for standard input, or by --file")
    return read_text(file or "-") if query is None or query == "-" else as_text(query)


_NUMBERS = {"integer", "decimal", "double", "float", "int", "long", "nonNegativeInteger"}  # of XML Schema


def _number(term: object) -> str | None:
    """The term as a plain number, if it is one: no reader of a table misses its datatype."""
    from worlds.graph.terms import XSD

    kind = getattr(getattr(term, "datatype", None), "value", "").removeprefix(XSD)
    value = str(getattr(term, "value", ""))
    return value if kind in _NUMBERS and NUMBER.fullmatch(value) else None


def print_solutions(solutions: Solutions, prefixes: Mapping[str, str]) -> None:
    """A table of the solutions, terms as in Turtle but for plain numbers, and on a terminal their number of rows."""
    from worlds.doors.cli.show import print_table
    from worlds.graph.terms import format_term, to_oxigraph

    @functools.lru_cache(maxsize=100_000)
    def shown(given: object) -> str:
        term = to_oxigraph(given)
        return clean(_number(term) or format_term(term, prefixes)).replace("\n", " ")

    head = [f"?{name}" for name in solutions.variables]
    rows = [["" if term is None else shown(term) for term in row] for row in solutions]
    print_table(head, rows)
    if sys.stdout.isatty():
        sys.stdout.flush()
        messages().print(counted(len(rows), "row"), style="dim")
