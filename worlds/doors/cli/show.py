"""How hits, facts and problems are printed for people."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from worlds.doors.cli.terminal import clean, counted
from worlds.doors.cli.text_table import table

if TYPE_CHECKING:
    from rich.console import Console

    from worlds.core.search.hits import Hit, Leg, SearchResults, Step

_MARKED = re.compile(r"\*\*(.+?)\*\*")
_WIDEST = 100  # cells of a line of text, however wide the terminal is
_OTHERS = 3  # further subjects that a hit names
_HIT = 40  # characters of a hit's name in the table that explains
_PARAMETER = 100  # characters shown of a parameter
_MOST_VALUES = 20  # of a facet
_INDENT = 6  # of a long value's further lines
_NAMES = ("label", "term", "iri", "value", "name", "message")  # fields that name a record in a cell, the best first
_WHICH = re.compile(
    r"(^|[_ ])(revision|id|proposal|version|base|undoes|undone_by|start|end|by)$"
)  # numbers that count nothing
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_WHOLE_IRI = re.compile(r"([a-z][a-z\d+.-]*://|urn:)[^\s<>\"]+")
_WHOLE_TERM = re.compile(r'".*"|_:\S+$|<<\(', re.DOTALL)
_IRIS = re.compile(r"<([^<>\s]*)>")


def term(term: object, prefixes: Mapping[str, str]) -> str:
    """A term in Turtle, its control characters made visible."""
    from worlds.graph.terms import format_term, to_oxigraph

    return clean(format_term(to_oxigraph(term), prefixes))


# --- search -------------------------------------------------------------------------------------------------------


def print_hits(console: Console, hits: SearchResults, prefixes: Mapping[str, str]) -> None:
    """The hits, best first: label, subject and types, and the text under its predicate."""
    indent = len(str(len(hits))) + 2
    for rank, hit in enumerate(hits, 1):
        subject = term(hit.subject, prefixes)
        title = Text(f"{rank}. ".rjust(indent), style="dim")
        title.append(clean(hit.label) if hit.label else subject, style="not dim bold")
        about = Text(style="dim")
        if hit.label:
            about.append(f"{subject} ", style="not dim cyan")
        if hit.types:
            about.append("a ")
            about.append(", ".join(term(kind, prefixes) for kind in hit.types) + " ", style="not dim green")
        if hit.graph is not None:
            about.append("in ").append(f"{term(hit.graph, prefixes)} ", style="not dim magenta")
        if hit.world is not None:
            about.append(f"from {', '.join(str(one.world) for one in (hit, *hit.others))} ")
        score = f" {hit.score:.4f}"
        line = Text.assemble(title, "  " if about else "", about, (score, "dim"))
        if line.cell_len <= min(console.width, _WIDEST) or not console.is_terminal:
            print_wrapped(console, line, 0, indent)
        else:
            print_wrapped(console, title.append(f" {score}", style="not bold"), 0, indent)
            print_wrapped(console, about, indent, indent)
        language = getattr(hit.literal, "language", None)
        text = Text(f"{term(hit.predicate, prefixes)}{f'@{language}' if language else ''}: ", style="dim")
        text.append_text(_highlighted(clean(hit.snippet)))
        print_wrapped(console, text, indent, indent)
        if others := _others(hit, prefixes):
            print_wrapped(console, Text(others, style="dim"), indent, indent)


def print_wrapped(console: Console, text: Text, first: int, rest: int) -> None:
    """Print a text with its first line and the rest indented."""
    if not console.is_terminal:
        console.print(Text(" " * first).append_text(text), soft_wrap=True)
        return
    for number, line in enumerate(text.wrap(console, min(console.width, _WIDEST) - rest)):
        line.rstrip()
        console.print(Text(" " * (rest if number else first)).append_text(line), soft_wrap=True)


def _highlighted(snippet: str) -> Text:
    """The snippet with its **matches** set off."""
    text = Text(style="not dim")
    at = 0
    for match in _MARKED.finditer(snippet):
        text.append(snippet[at : match.start()])
        text.append(match[1], style="bold yellow")
        at = match.end()
    return text.append(snippet[at:])


def _others(hit: Hit, prefixes: Mapping[str, str]) -> str:
    """The other subjects of the same text."""
    subjects = list(dict.fromkeys(quad[0] for quad in hit.quads if quad[0] != hit.subject))
    if not subjects:
        return ""
    named = ", ".join(term(subject, prefixes) for subject in subjects[:_OTHERS])
    more = len(subjects) - _OTHERS
    return f"also {named}" + (f" and {more:,} more" if more > 0 else "")


def print_explanation(console: Console, hits: SearchResults, prefixes: Mapping[str, str]) -> None:
    """Print the lists' shares in each hit, the effect of each stage, the quads, and the plan of the search."""
    told = hits.explain
    if hits:
        legs = [name for name in ("vector", "text") if any(name in (hit.explain or {}) for hit in hits)]
        head = ["rank", "score"]
        for name in legs:
            head += [f"{name} #", "cosine" if name == "vector" else "BM25", "gives"]
        head += [*told.stages, "hit"]
        rows = [
            [
                str(rank),
                f"{hit.score:.5f}",
                *(cell for name in legs for cell in _leg((hit.explain or {}).get(name))),
                *map(_step, hit.steps or ()),
                clean(" ".join((hit.label or str(hit.subject)).split()))[:_HIT],
            ]
            for rank, hit in enumerate(hits, 1)
        ]
        console.print()
        print_table(console, head, rows)
        console.print()
        print_table(console, ["rank", "quads"], list(_cited(hits, prefixes)))
    facts: dict[str, object] = {"mode": told.mode, "fusion": told.fusion}
    if told.plan is not None:
        facts["plan"] = f"{told.plan}: {told.reason}"
    if told.eligible is not None:
        facts["eligible"] = f"{told.eligible:,} chunks pass the filter"
    if told.compared is not None:
        facts["compared"] = f"{told.compared:,} vectors"
    if told.match is not None:
        facts["words"] = f"{told.words}: {told.match}"
    reranked = f"; {counted(told.candidates, 'candidate')} for {', '.join(told.stages)}" if told.stages else ""
    facts["lists"] = f"at most {told.depth:,} long{reranked}"
    facts["time"] = ", ".join(f"{step} {time:,.1f}" for step, time in told.milliseconds.items()) + " ms"
    console.print()
    print_answer(console, facts, prefixes)
    console.print()
    console.print(Text(told.sql.rstrip(), style="dim"), soft_wrap=True)


def _leg(leg: Leg | None) -> tuple[str, str, str]:
    if leg is None:
        return "", "", ""
    return "" if leg.rank is None else str(leg.rank), f"{leg.value:.3f}", f"{leg.contribution:.5f}"


def _step(step: Step) -> str:
    """A stage's effect on a hit: its rank before and after, and the factor if there is one."""
    factor = step.detail.get("factor")
    return f"{step.rank_before} → {step.rank}" + (f" ×{factor:.3g}" if isinstance(factor, float) else "")


def _cited(hits: SearchResults, prefixes: Mapping[str, str]) -> Iterator[list[str]]:
    """The first quads of each hit, without the text."""
    for rank, hit in enumerate(hits, 1):
        for subject, predicate, _, graph in hit.quads[:_OTHERS]:
            place = "" if graph is None else f" in {term(graph, prefixes)}"
            yield [str(rank), f"{term(subject, prefixes)} {term(predicate, prefixes)}{place}"]
        if (more := len(hit.quads) - _OTHERS) > 0:
            yield [str(rank), f"and {more:,} more"]


def print_facets(
    console: Console, facets: Mapping[str, Sequence[Mapping[str, Any]]], prefixes: Mapping[str, str]
) -> None:
    """Each facet, the commonest values first, with the number of texts that have each."""
    from worlds.graph.terms import shorten

    for name, values in facets.items():
        rows = [(clean(one["label"]), f"{one['count']:,}") for one in values[:_MOST_VALUES]]
        if len(values) > _MOST_VALUES:
            rows.append(("…", f"{len(values) - _MOST_VALUES:,} more values"))
        print_table(console, (shorten(name, prefixes) if ":" in name else name, "texts"), rows)


def print_sql(console: Console, step: str, statement: str, parameters: Sequence[object]) -> None:
    """A statement of a search's step, and its parameters as comments, long ones cut."""
    console.print(Text(f"-- {step}", style="bold"))
    console.print(Text(statement.rstrip() + ";"), soft_wrap=True)
    for number, value in enumerate(parameters, 1):
        shown = f"{len(value):,} bytes" if isinstance(value, bytes) else repr(value)
        if len(shown) > _PARAMETER:
            shown = f"{shown[:_PARAMETER]}… ({len(shown):,} characters)"
        console.print(Text(f"-- ?{number} = {clean(shown)}", style="dim"), soft_wrap=True)


def json_value(value: object) -> object:
    """A parameter of a statement for JSON; bytes as {"base64": …}."""
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


# --- any answer ---------------------------------------------------------------------------------------------------


def print_answer(console: Console, told: Any, prefixes: Mapping[str, str]) -> None:
    """Print an answer by its document: a list of records as a table, a record as its fields, one a line, and its lists
    of records as tables below.

    Terms are shortened by the prefixes. What a cell cannot hold, such as the quads of a finding, is left to --json.
    """
    if isinstance(told, list):
        _print_records(console, told, prefixes)
        return
    if not isinstance(told, Mapping):
        for line in str(told).split("\n"):
            console.print(Text(clean(_text(line, prefixes))), soft_wrap=True)
        return
    fields = {name: value for name, value in told.items() if name != "notes" and (value or value in (False, 0))}
    below = {name: value for name, value in fields.items() if _stands_below(value)}
    facts = {name: _cell(name, value, prefixes) for name, value in fields.items() if name not in below}
    width = max(map(len, facts), default=0) + 2
    for name, text in facts.items():
        if text:
            shown = Text(_words(name).ljust(width), style="dim")
            print_wrapped(console, shown.append(text, style="not dim"), 0, min(width, _INDENT))
    for name, value in below.items():
        if facts or len(below) > 1:
            console.print(Text(f"{chr(10) * bool(facts)}{_words(name)} ({len(value):,})", style="bold"), soft_wrap=True)
            facts = facts or {name: ""}
        if isinstance(value, Mapping):
            value = [{"name": name, "value": one} for name, one in value.items()]
        _print_records(console, value, prefixes)


def _stands_below(value: Any) -> bool:
    """Whether a field of a record stands below its lines, as a table."""
    records = [value] if isinstance(value, Mapping) else value if isinstance(value, list) else []
    return any(isinstance(one, Mapping) and "term" not in one for one in records)


def _print_records(console: Console, records: Sequence[Any], prefixes: Mapping[str, str]) -> None:
    """A table of records: a column for each field that one of them has, and a cell can hold."""
    rows = [one if isinstance(one, Mapping) else {"": one} for one in records]
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [_cell(name, row.get(name), prefixes) for row in rows] for name in names}
    shown = {
        name: column
        for name, column in cells.items()
        if any(row.get(name) or row.get(name) is False for row in rows) and any(column)
    }
    print_table(console, list(map(_words, shown)), list(zip(*shown.values(), strict=True)))


def _words(name: str) -> str:
    return clean(name).replace("_", " ")


def _cell(name: str, value: Any, prefixes: Mapping[str, str]) -> str:
    """A value of a record on one line; empty for a missing value, or a value too deeply nested for a line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return size(value) if "bytes" in name else str(value) if _WHICH.search(name) else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, Mapping):
        return _named(value, prefixes)
    if isinstance(value, list | tuple):
        cells = [_cell(name, one, prefixes) for one in value if not isinstance(one, list | tuple)]
        return ("; " if any(", " in cell for cell in cells) else ", ").join(filter(None, cells))
    return clean(" ".join(_text(value, prefixes).split()))


def _named(record: Mapping[str, Any], prefixes: Mapping[str, str]) -> str:
    """A record in a cell: its name with its annotations; for a record without a name its fields, if all are plain."""
    name = next((_cell(one, record[one], prefixes) for one in _NAMES if record.get(one)), "")
    fields = {key: one for key, one in record.items() if one is not None}
    if not name and all(isinstance(one, str | int | float) for one in fields.values()):
        return ", ".join(f"{_words(key)}: {_cell(key, one, prefixes)}" for key, one in fields.items())
    said = [f"{one['label']}: {_cell('', one['value'], prefixes)}" for one in record.get("annotations", ())]
    return f"{name} ({clean('; '.join(said))})" if said else name


def _text(text: str, prefixes: Mapping[str, str]) -> str:
    """A text with its terms as people read them, and a moment as one of this machine's."""
    from worlds.graph.terms import XSD, format_term, shorten, to_oxigraph

    def short(iri: str) -> str:
        """The prefixed name of an IRI; the IRI of a namespace itself stays whole."""
        name = shorten(iri, prefixes)
        return iri if name.endswith((":", ">")) else name

    if _MOMENT.fullmatch(text):
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
    if _WHOLE_IRI.fullmatch(text):
        return short(text)
    if _WHOLE_TERM.match(text):
        with contextlib.suppress(ValueError):
            term = to_oxigraph(text)
            datatype = getattr(getattr(term, "datatype", None), "value", "")
            plain = datatype.startswith(XSD) and datatype != f"{XSD}string"
            return str(getattr(term, "value", "")) if plain else format_term(term, prefixes)
    return _IRIS.sub(lambda found: found[0] if (name := short(found[1])) == found[1] else name, text)


def size(count: int) -> str:
    """A number of bytes as one reads it: 12.3 MB."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def print_table(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table that fits the terminal."""
    lines = table(head, rows, width=console.width if console.is_terminal else None)
    console.print(Text(next(lines), style="bold"), soft_wrap=True)
    for line in lines:
        console.print(Text(line), soft_wrap=True)
