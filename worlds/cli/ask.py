"""The commands that ask: search, sparql."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from worlds.cli import show
from worlds.cli.answers import ResultFormat, print_solutions
from worlds.cli.errors import NO
from worlds.cli.options import INTERRUPTIBLE, Command, EmbedderName, WorldPath, examples, opened
from worlds.cli.terminal import note, output, progress, waiting, write_json, write_utf8
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.graph.query.results import Solutions, Triples
    from worlds.world import World

FILTERS = "What may be found"
RANKING = "How it is ranked"
STAGES = "How the ranking is changed, in this order"
OUTPUT = "What is printed"

Terms = list[str] | None


def _filter(flags: tuple[str, ...], metavar: str, text: str) -> Any:
    return typer.Option(*flags, metavar=metavar, help=text, rich_help_panel=FILTERS)


def _ranking(text: str, *flags: str, **more: Any) -> Any:
    return typer.Option(*flags, help=text, rich_help_panel=RANKING, **more)


def _stage(text: str, *flags: str, **more: Any) -> Any:
    return typer.Option(*flags, help=text, rich_help_panel=STAGES, **more)


def _printing(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=OUTPUT)


Bindings = Annotated[
    list[str] | None,
    typer.Option(
        "--bind",
        "-b",
        metavar="NAME=TERM",
        help="Give a variable a value: an IRI, a prefixed name, a number, true, false, or '\"a text\"@en'; may be "
        "repeated.",
    ),
]


def search(
    path: WorldPath,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY...",
            help="Words, in any script; '\"a phrase\"', 'this -not that', 'prefix*'. '-' reads standard input.",
            show_default=False,
        ),
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", help="The most hits.")] = 10,
    mode: Annotated[
        Literal["hybrid", "vector", "text"], typer.Option("--mode", help="By meaning, by words, or by both.")
    ] = "hybrid",
    embedder: EmbedderName = "auto",
    subject: Annotated[Terms, _filter(("--subject", "-s"), "IRI", "Texts of this subject.")] = None,
    predicate: Annotated[Terms, _filter(("--predicate", "-p"), "IRI", "Texts under this predicate.")] = None,
    types: Annotated[Terms, _filter(("--type", "-t"), "IRI", "Texts of subjects with this type.")] = None,
    subclasses: Annotated[
        bool, typer.Option("--subclasses", help="--type takes in the classes below it.", rich_help_panel=FILTERS)
    ] = False,
    graph: Annotated[
        Terms, _filter(("--graph", "-g"), "IRI", "Texts in this graph ('default': the default one).")
    ] = None,
    lang: Annotated[Terms, _filter(("--lang", "-l"), "TAG", "Texts in this language ('': without one).")] = None,
    where: Annotated[
        str | None, _filter(("--where", "-w"), "PATTERN", "Subjects that match a SPARQL pattern over ?subject.")
    ] = None,
    exclude_subject: Annotated[Terms, _filter(("--exclude-subject",), "IRI", "Not of this subject.")] = None,
    exclude_predicate: Annotated[Terms, _filter(("--exclude-predicate",), "IRI", "Not under this predicate.")] = None,
    exclude_type: Annotated[Terms, _filter(("--exclude-type",), "IRI", "Not of this type.")] = None,
    exclude_graph: Annotated[Terms, _filter(("--exclude-graph",), "IRI", "Not in this graph.")] = None,
    exclude_lang: Annotated[Terms, _filter(("--exclude-lang",), "TAG", "Not in this language.")] = None,
    exclude_where: Annotated[str | None, _filter(("--exclude-where",), "PATTERN", "Not what matches this.")] = None,
    fusion: Annotated[
        Literal["relative", "rrf"], _ranking("The two lists are joined by their values, or by their ranks.", "--fusion")
    ] = "relative",
    normalise: Annotated[
        Literal["minmax", "theoretical"],
        _ranking("Of values, what counts 0: the least found, or the least in theory.", "--normalise"),
    ] = "minmax",
    k: Annotated[
        float, _ranking("Of ranks, how much the first outweigh the later ones: the less, the more.", "--k")
    ] = 60,
    weight_vector: Annotated[float, _ranking("What the list by meaning counts.", "--weight-vector")] = 1.0,
    weight_text: Annotated[float, _ranking("What the list by words counts.", "--weight-text")] = 1.0,
    candidates: Annotated[
        int | None, _ranking("How long each list is; else 100, or the limit.", "--candidates")
    ] = None,
    syntax: Annotated[
        Literal["words", "fts5"], _ranking("fts5 takes the query as an SQLite FTS5 expression.", "--syntax")
    ] = "words",
    plan: Annotated[
        Literal["auto", "exact", "codes", "index"], _ranking("How the nearest vectors are found.", "--plan")
    ] = "auto",
    min_similarity: Annotated[
        float | None,
        _ranking("The least cosine of a match by meaning.", "--min-similarity", metavar="COSINE", show_default=False),
    ] = None,
    rerank: Annotated[bool, _stage("A cross-encoder reads the first again.", "--rerank")] = False,
    reranker: Annotated[
        str | None, _stage("Which one, by name or path; means --rerank.", "--reranker", metavar="MODEL")
    ] = None,
    rerank_top: Annotated[int, _stage("How many it reads.", "--rerank-top")] = 50,
    rerank_timeout: Annotated[
        float | None, _stage("After this time the ranking stands as it was.", "--rerank-timeout", metavar="SECONDS")
    ] = None,
    boost: Annotated[
        Terms,
        _stage(
            "Multiply scores: '2 ?subject a ex:Review' by 2 where a pattern matches, '0.1 ex:citations' by 1 + 0.1 "
            "ln(1 + number).",
            "--boost",
            metavar="'NUMBER PATTERN|IRI'",
        ),
    ] = None,
    decay: Annotated[
        str | None, _stage("Scores fall with the age of the date under this predicate.", "--decay", metavar="IRI")
    ] = None,
    half_life: Annotated[float, _stage("By half in so many days.", "--half-life", metavar="DAYS")] = 365,
    evergreen_type: Annotated[
        Terms, _stage("Subjects of this type do not age.", "--evergreen-type", metavar="IRI")
    ] = None,
    evergreen_predicate: Annotated[
        Terms, _stage("Texts under this predicate do not age.", "--evergreen-predicate", metavar="IRI")
    ] = None,
    evergreen_flag: Annotated[
        Terms, _stage("Subjects for which this is true do not age.", "--evergreen-flag", metavar="IRI")
    ] = None,
    diversity: Annotated[
        float | None,
        _stage("Relevance counts so much, being unlike what stands before the rest.", "--diversity", metavar="0..1"),
    ] = None,
    group_by: Annotated[
        Literal["subject"] | None,
        _stage("One hit a subject, whose hits add up.", "--group-by", show_default=False),
    ] = None,
    group: Annotated[bool, typer.Option("--group", hidden=True, help="The same as --group-by subject.")] = False,
    per_subject: Annotated[int, _stage("With --group-by, so many hits a subject.", "--per-subject")] = 1,
    cursor: Annotated[
        str | None, _stage("The hits that follow: what --json gave as cursor.", "--cursor", metavar="CURSOR")
    ] = None,
    explain: Annotated[
        bool, _printing("--explain", "Also what each list gave and each stage did, the plan, and timings.")
    ] = False,
    sql: Annotated[bool, _printing("--sql", "The SQL statement and its parameters, instead of hits.")] = False,
    json: Annotated[bool, _printing("--json", "One JSON document.")] = False,
) -> None:
    """Find the texts that best answer a question, best first.

    A filter never costs results: what it does not let through is left out before anything is ranked. A filter may be
    repeated for any of several values; different ones must all hold. Terms are IRIs or prefixed names.
    """
    exclude = {
        "subjects": exclude_subject,
        "predicates": exclude_predicate,
        "types": exclude_type,
        "graphs": exclude_graph,
        "languages": exclude_lang,
        "where": exclude_where,
    }
    options: dict[str, Any] = {
        "limit": limit,
        "mode": mode,
        "subjects": subject or None,
        "predicates": predicate or None,
        "types": types or None,
        "subclasses": subclasses,
        "graphs": graph or None,
        "languages": lang or None,
        "where": where,
        "exclude": {name: value for name, value in exclude.items() if value} or None,
        "fusion": fusion,
        "normalise": normalise,
        "k": k,
        "weights": {"vector": weight_vector, "text": weight_text},
        "candidates": candidates,
        "syntax": syntax,
        "plan": plan,
        "min_similarity": min_similarity,
        "rerank": reranker or rerank,
        "rerank_top": rerank_top,
        "rerank_timeout": rerank_timeout,
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
        "diversity": diversity,
        "group_by": "subject" if group else group_by,
        "per_subject": per_subject,
        "cursor": cursor,
    }
    query = _text(_read_stdin() if words == ["-"] else " ".join(words))
    with opened(path, embedder="none" if mode == "text" else embedder) as world:
        busy = waiting("searching") if world.embedder is not None else contextlib.nullcontext()
        if sql:
            with busy:
                statement, parameters = world.search_sql(query, **options)
            if json:
                write_json({"sql": statement, "parameters": [show.json_value(value) for value in parameters]})
            else:
                show.print_sql(output(), statement, parameters)
            return
        with busy:
            found = world.search(query, explain=explain, **options)
        if json:
            write_json({"query": query, **found.to_dict()})
            return
        for remark in found.notes:
            note(remark)
        show.print_hits(output(), found, world.prefixes)
        if explain:
            show.print_explanation(output(), found, world.prefixes)
        if not found:
            note(_nothing(world, query))


def _nothing(world: World, query: str) -> str:
    if not len(world):
        return f"no hits: the world is empty; `worlds load {world.path} FILE` fills it"
    return "no hits" if query.strip() else "no hits: the query is blank"


def sparql(
    path: WorldPath,
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="The query, or - for standard input.", show_default=False),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the query from a file.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="SELECT and ASK: table, json, xml, csv, tsv. CONSTRUCT and DESCRIBE: turtle, nt, nq, trig, rdfxml, "
            "jsonld. Else table or turtle.",
        ),
    ] = None,
    union: Annotated[
        bool, typer.Option("--union", help="Ask all graphs together, not the default graph alone.")
    ] = False,
    bind: Bindings = None,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop the query after so long.")] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Let SERVICE ask this host; may be repeated.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="How it is answered instead: times, searches, matches of each pattern.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Answer a SPARQL query.

    The prefixes that loaded files declared need no declaration. An ASK prints true, or false with exit code 1.
    """
    if json and format not in (None, "json"):
        raise ValueError("--json and another --format exclude each other")
    form = ResultFormat("json" if json else format)
    text = given_query(query, file)
    bindings = given_bindings(bind)
    with opened(path) as world:
        options: dict[str, Any] = {
            "bindings": bindings,
            "union": union,
            "timeout": INTERRUPTIBLE if timeout is None else timeout,
            "allow_network": allow_network or False,
        }
        with progress() as bar:
            if explain:
                told = world.explain(text, progress=bar, **options)
            else:
                answer = world.query(text, progress=bar, **options)
        if not explain:
            _print_answer(answer, form, world)
        elif form.name == "json":
            write_json(told.to_dict())
        else:
            output().print(str(told), markup=False, highlight=False, soft_wrap=True)


def _print_answer(answer: Solutions | Triples | bool, form: ResultFormat, world: World) -> None:
    from worlds.graph.query.results import Solutions

    if isinstance(answer, bool):
        write_utf8(form.boolean(answer))
        if not answer:
            raise typer.Exit(NO)
    elif isinstance(answer, Solutions):
        if form.name is None or form.name == "table":
            print_solutions(output(), answer, world.prefixes)
        else:
            write_utf8(answer.serialize(form.of_solutions()))
    else:
        write_utf8(answer.serialize(form.of_triples()))


def given_query(query: str | None, file: str | None) -> str:
    """The text of a query or an update: an argument, standard input, or a file."""
    if (query is None) == (file is None):
        raise ValueError("give one query: as an argument, as - for standard input, or by --file")
    if query == "-" or file == "-":
        return _text(_read_stdin())
    if file is None:
        return _text(query or "")
    try:
        return Path(file).read_text("utf-8-sig")
    except OSError as error:
        raise OpenError(f"the query file {file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise OpenError(f"the query file {file} is not UTF-8: {error}") from error


def _read_stdin() -> str:
    stream = sys.stdin
    if stream is None:
        raise OpenError("there is no standard input")
    if stream.isatty():
        note("reading the query from the terminal; Ctrl-D ends it")
    return stream.buffer.read().decode("utf-8-sig", "replace")


def _text(given: str) -> str:
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
    return name, _term(_text(value.strip()))


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


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds search kb.db solar cell stability",
            "worlds search kb.db 'launch -shuttle' --type s:Mission --subclasses --lang en",
            "worlds search kb.db water --where '?subject s:year ?y FILTER(?y > 2000)' --explain",
            "worlds search kb.db water --group-by subject --boost '2 ?subject a s:Planet' --decay dcterms:date",
            "worlds search kb.db water --mode text --json | jq -r '.hits[].subject'",
            "worlds search kb.db -- -not these words",
        ),
    )(search)
    app.command(
        cls=Command,
        epilog=examples(
            "worlds sparql kb.db 'SELECT ?type (COUNT(*) AS ?n) WHERE { ?s a ?type } GROUP BY ?type'",
            "worlds sparql kb.db --file query.rq --format csv > rows.csv",
            "worlds sparql kb.db 'SELECT ?s ?p ?o WHERE { ?s ?p ?o }' --bind s=ex:apollo11",
            "worlds sparql kb.db 'ASK { ?s a ex:Rover }' && echo 'there are rovers'",
        ),
    )(sparql)
