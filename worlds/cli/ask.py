"""The command that asks by SPARQL, and what it shares with update."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from worlds.cli.answers import ResultFormat, print_solutions
from worlds.cli.command import command
from worlds.cli.errors import NO
from worlds.cli.options import AS_OF, AT, BINDINGS, INTERRUPTIBLE, WORLD_HELP, WORLDS, given, opened
from worlds.cli.terminal import note, output, progress, write_json, write_utf8
from worlds.errors import OpenError, QueryError
from worlds.graph.query.tokens import declared_prefixes
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.graph.query.results import Solutions, Triples
    from worlds.sparql.explaining import QueryExplanation


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
    given("--union/--strict", "Ask all graphs together, or the default graph alone; else as the world.", bool),
    BINDINGS,
    given("--timeout SECONDS", "Stop the query after so long.", float),
    given("--allow-network HOST...", "Let SERVICE ask this host; may be repeated."),
    given("--explain", "How it is answered instead: times, searches, matches of each pattern."),
    given("--sparql-index PLACE", "Where a large world is asked: memory, disk or auto; else as configured."),
    given("--repair", VERBS["query"].options["repair"].help),
    *(AT, AS_OF),
    given("--json", "The same as --format json."),
    json=False,
    examples=(
        "worlds sparql kb.db 'SELECT ?type (COUNT(*) AS ?n) WHERE { ?s a ?type } GROUP BY ?type'",
        "worlds sparql kb.db --file query.rq --format csv > rows.csv",
        "worlds sparql kb.db 'SELECT ?s ?p ?o WHERE { ?s ?p ?o }' --bind s=ex:apollo11",
        "worlds sparql kb.db 'ASK { ?s a ex:Rover }' && echo 'there are rovers'",
        "worlds sparql --world birds.db --world lakes.db 'SELECT * { SERVICE <worlds:lakes> { ?s ?p ?o } }'",
    ),
)
def sparql(
    path: str | None,
    query: str | None,
    *,
    worlds: list[str] | None,
    file: str | None,
    format: str | None,
    union: bool | None,
    bindings: list[str] | None,
    timeout: float | None,
    allow_network: list[str] | None,
    explain: bool,
    sparql_index: str | None,
    repair: bool,
    at: str | None,
    as_of: str | None,
    json: bool,
) -> None:
    """Answer a SPARQL query.

    The prefixes that loaded files declared need no declaration. An ASK prints true, or false with exit code 1.
    """
    if json and format not in (None, "json"):
        raise ValueError("--json and another --format exclude each other")
    form = ResultFormat("json" if json else format)
    bound = given_bindings(bindings)
    if worlds:
        if explain or allow_network or sparql_index or repair or at or as_of or query is not None:
            raise ValueError(
                "several worlds take one argument, the query, and no --explain, --allow-network, --sparql-index, "
                "--repair, --at, --as-of"
            )
        limit = INTERRUPTIBLE if timeout is None else timeout
        _ask_group(worlds, given_query(path, file), form, bindings=bound, union=union, timeout=limit)
        return
    if path is None:
        raise typer.BadParameter("missing argument", param_hint="WORLD")
    text = given_query(query, file)
    with opened(path, sparql_index=sparql_index, at=at, as_of=as_of) as world:
        options: dict[str, Any] = {
            "bindings": bound,
            "union": union,
            "timeout": INTERRUPTIBLE if timeout is None else timeout,
            "allow_network": allow_network or False,
        }
        with progress() as bar:
            if explain:
                told = world.explain(text, progress=bar, **options)
            else:
                answer = _answer(world, text, progress=bar, repair=repair, **options)
        if not explain:
            for remark in _notes(answer, lambda: world.explain(text, answer=False, **options)):
                note(remark)
            if not isinstance(answer, bool) and answer.repair is not None:
                note(str(answer.repair))
            _print_answer(answer, form, {**world.prefixes, **declared_prefixes(text)})
        elif form.name == "json":
            write_json(told.to_dict())
        else:
            output().print(str(told), markup=False, highlight=False, soft_wrap=True)


def _answer(world: Any, text: str, *, repair: bool, **options: Any) -> Solutions | Triples | bool:
    try:
        found: Solutions | Triples | bool = world.query(text, **options, **({"repair": True} if repair else {}))
    except QueryError as error:
        if error.repair is not None:
            note(str(error.repair))
        raise
    return found


def _notes(answer: Solutions | Triples | bool, explain: Callable[[], QueryExplanation]) -> tuple[str, ...]:
    if isinstance(answer, bool):
        return () if answer else explain().notes
    return answer.notes


def _ask_group(worlds: list[str], text: str, form: ResultFormat, **options: Any) -> None:
    """Ask several worlds as one."""
    from worlds.groups.group import group

    with group(worlds, embedder=None) as members:
        answer = members.query(text, **options)
        _print_answer(answer, form, {**members.prefixes, **declared_prefixes(text)})


def _print_answer(answer: Solutions | Triples | bool, form: ResultFormat, prefixes: Mapping[str, str]) -> None:
    from worlds.graph.query.results import Solutions

    if isinstance(answer, bool):
        write_utf8(form.boolean(answer))
        if not answer:
            raise typer.Exit(NO)
    elif isinstance(answer, Solutions):
        if form.name is None or form.name == "table":
            print_solutions(output(), answer, prefixes)
        else:
            write_utf8(answer.serialize(form.of_solutions()))
    else:
        write_utf8(answer.serialize(form.of_triples()))


def given_query(query: str | None, file: str | None) -> str:
    """The text of a query or an update: an argument, standard input, or a file."""
    if (query is None) == (file is None):
        raise ValueError("give one query: as an argument, as - for standard input, or by --file")
    if query == "-" or file == "-":
        return as_text(read_stdin())
    if file is None:
        return as_text(query or "")
    try:
        return Path(file).read_text("utf-8-sig")
    except OSError as error:
        raise OpenError(f"the query file {file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise OpenError(f"the query file {file} is not UTF-8: {error}") from error


def read_stdin(what: str = "the query") -> str:
    """What standard input holds."""
    stream = sys.stdin
    if stream is None:
        raise OpenError("there is no standard input")
    if stream.isatty():
        note(f"reading {what} from the terminal; Ctrl-D ends it")
    return stream.buffer.read().decode("utf-8-sig", "replace")


def as_text(given: str) -> str:
    """A command-line argument as text: bytes that were not UTF-8 become U+FFFD."""
    return given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def given_bindings(items: list[str] | None) -> dict[str, object]:
    """The variables' values of `--bind`."""
    return dict(_binding(item) for item in items or ())


def _binding(item: str) -> tuple[str, object]:
    """The variable and the value of `name=value`, which is a term in Turtle's notation."""
    name, equals, value = item.partition("=")
    name = name.strip().lstrip("?$")
    if not equals or not name:
        raise ValueError(f"--bind takes NAME=TERM, not {item!r}")
    return name, _term(as_text(value.strip()))


_XSD = "http://www.w3.org/2001/XMLSchema#"
_BARE = {
    "integer": r"[+-]?[0-9]+",
    "decimal": r"[+-]?[0-9]*\.[0-9]+",
    "double": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+",
    "boolean": r"true|false",
}


def _term(value: str) -> str:
    """The term as N-Triples has it, where Turtle also has a bare form: numbers, true, false."""
    for name, pattern in _BARE.items():
        if re.fullmatch(pattern, value):
            return f'"{value}"^^<{_XSD}{name}>'
    return value
