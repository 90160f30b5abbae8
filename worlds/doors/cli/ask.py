"""The command that asks by SPARQL, its answers, and what it shares with update."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import BINDINGS, INTERRUPTIBLE, VIEWS, WORLD_HELP, WORLDS, given, opened
from worlds.doors.cli.terminal import clean, counted, messages, note, output, progress, write_json, write_utf8
from worlds.doors.cli.text_table import NUMBER, table
from worlds.errors import OpenError, QueryError
from worlds.graph.query.tokens import declared_prefixes
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from worlds.core.sparql.explaining import QueryExplanation
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
    form = ResultFormat("json" if asked.json else asked.format)
    limit = INTERRUPTIBLE if asked.timeout is None else asked.timeout
    options: dict[str, Any] = {"bindings": given_bindings(asked.bindings), "union": asked.union, "timeout": limit}
    if asked.worlds:
        of_one = ("explain", "allow_network", "sparql_index", "repair", "at", "as_of", "entailed")
        if asked.query is not None or any(getattr(asked, name) for name in of_one):
            raise ValueError(
                "with several worlds give one argument, the query, and no --explain, --allow-network, --sparql-index, "
                "--repair, --at, --as-of, --entailed"
            )
        _ask_group(asked.worlds, given_query(asked.path, asked.file), form, **options)
        return
    if asked.path is None:
        raise typer.BadParameter("missing argument", param_hint="WORLD")
    text = given_query(asked.query, asked.file)
    options["allow_network"] = asked.allow_network or False
    view = {name: getattr(asked, name) for name in ("sparql_index", "at", "as_of", "entailed")}
    with opened(asked.path, **view) as world:
        with progress() as bar:
            if asked.explain:
                told = world.explain(text, progress=bar, **options)
            else:
                answer = _answer(world, text, progress=bar, repair=asked.repair, **options)
        if not asked.explain:
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
    """Answer a query over several worlds as one."""
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
    """The text on standard input."""
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


_RESULTS = ("table", "json", "xml", "csv", "tsv")
_BLOCK = 1000  # lines written at a time
_NUMBERS = {f"{_XSD}{name}" for name in ("integer", "decimal", "double", "float", "int", "long", "nonNegativeInteger")}


class ResultFormat:
    """A result format by its name, None for what suits the query; ValueError for an unknown name."""

    def __init__(self, name: str | None) -> None:
        self.name = None if name is None else name.strip().lower()
        if self.name is not None and self.name not in _RESULTS:
            from worlds.graph.formats import FORMATS, find_format

            try:
                find_format(self.name)
            except ValueError as error:
                formats = ", ".join(dict.fromkeys([*_RESULTS, *FORMATS]))
                raise ValueError(f"{name!r} is not a format: use one of {formats}") from error

    def of_solutions(self) -> str:
        """The name for rows; ValueError for a format of triples."""
        if self.name not in _RESULTS:
            raise ValueError(f"the query gives rows, not triples: {self.name} cannot hold them; use {_any(_RESULTS)}")
        return self.name

    def of_triples(self) -> str:
        """The name for triples; ValueError for a format of rows."""
        if self.name in ("table", "csv", "tsv"):
            raise ValueError(f"the query gives triples, not rows: use turtle, nt, jsonld or rdfxml, not {self.name}")
        return self.name or "turtle"  # RDF has its own formats called json and xml

    def boolean(self, answer: bool) -> str:
        """The document for the answer of an ASK."""
        word = str(answer).lower()
        if self.name == "json":
            return f'{{"head":{{}},"boolean":{word}}}'
        if self.name == "xml":
            space = "http://www.w3.org/2005/sparql-results#"
            return f'<?xml version="1.0"?>\n<sparql xmlns="{space}"><head/><boolean>{word}</boolean></sparql>'
        if self.name is not None and self.name not in _RESULTS:
            raise ValueError(f"the query gives true or false: {self.name} cannot hold it; use {_any(_RESULTS)}")
        return word


def _any(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _number(term: object) -> str | None:
    """The term as a plain number, if it is one: no reader of a table misses its datatype."""
    kind = getattr(getattr(term, "datatype", None), "value", "")
    value = str(getattr(term, "value", ""))
    return value if kind in _NUMBERS and NUMBER.fullmatch(value) else None


def print_solutions(console: Console, solutions: Solutions, prefixes: Mapping[str, str]) -> None:
    """A table of the solutions, terms as in Turtle but for plain numbers, and on a terminal their number of rows."""
    from rich.text import Text

    from worlds.graph.terms import format_term, to_oxigraph

    @functools.lru_cache(maxsize=100_000)
    def shown(given: object) -> str:
        term = to_oxigraph(given)
        return clean(_number(term) or format_term(term, prefixes)).replace("\n", " ")

    head = [f"?{name}" for name in solutions.variables]
    rows = [["" if term is None else shown(term) for term in row] for row in solutions]
    lines = table(head, rows, width=console.width if console.is_terminal else None)
    console.print(Text(next(lines), style="bold"), soft_wrap=True)
    while block := list(islice(lines, _BLOCK)):
        sys.stdout.write("\n".join(block) + "\n")
    if console.is_terminal:
        sys.stdout.flush()
        messages().print(counted(len(rows), "row"), style="dim")
