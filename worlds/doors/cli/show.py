"""How hits, facts and problems are printed for people."""

from __future__ import annotations

import base64
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.text import Text

from worlds.doors.cli.terminal import clean, counted, output, print_text, write_json
from worlds.doors.cli.text_table import table

if TYPE_CHECKING:
    from worlds.core.search.hits import Leg, RanStatement, SearchResults, Step

_MARKED = re.compile(r"\*\*(.+?)\*\*")
_WIDEST = 100  # cells of a line of text, however wide the terminal is
_OTHERS = 3  # further subjects that a hit names
_HIT = 40  # characters of a hit's name in the table that explains
_PARAMETER = 100  # characters shown of a parameter
_MOST_VALUES = 20  # of a facet
_BLOCK = 1000  # lines written at a time
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


def print_hits(hits: SearchResults, prefixes: Mapping[str, str]) -> None:
    """The hits, best first: label, subject and types, and the text under its predicate."""
    from worlds.graph.records import held  # whose module imports the engine, which no help needs

    console = output()
    indent = len(str(len(hits))) + 2
    for rank, hit in enumerate(hits, 1):
        subject = term(held(hit, "subject"), prefixes)
        title = Text(f"{rank}. ".rjust(indent), style="dim")
        title.append(clean(hit.label) if hit.label else subject, style="not dim bold")
        about = Text(style="dim")
        if hit.label:
            about.append(f"{subject} ", style="not dim cyan")
        if types := held(hit, "types"):
            about.append("a ")
            about.append(", ".join(term(kind, prefixes) for kind in types) + " ", style="not dim green")
        if (graph := held(hit, "graph")) is not None:
            about.append("in ").append(f"{term(graph, prefixes)} ", style="not dim magenta")
        if hit.world is not None:
            about.append(f"from {', '.join(str(one.world) for one in (hit, *hit.others))} ")
        score = f" {hit.score:.4f}"
        line = Text.assemble(title, "  " if about else "", about, (score, "dim"))
        if line.cell_len <= min(console.width, _WIDEST) or not console.is_terminal:
            print_wrapped(line, 0, indent)
        else:
            print_wrapped(title.append(f" {score}", style="not bold"), 0, indent)
            print_wrapped(about, indent, indent)
        language = f"@{hit.language}" if hit.language else ""
        text = Text(f"{term(held(hit, 'predicate'), prefixes)}{language}: ", style="dim")
        print_wrapped(text.append_text(_highlighted(clean(hit.snippet))), indent, indent)
        own = held(hit, "subject")
        others = list(dict.fromkeys(term(quad[0], prefixes) for quad in held(hit, "quads") if quad[0] != own))
        if others:
            more = f" and {len(others) - _OTHERS:,} more" if len(others) > _OTHERS else ""
            print_wrapped(Text(f"also {', '.join(others[:_OTHERS])}{more}", style="dim"), indent, indent)


def print_wrapped(text: Text, first: int, rest: int) -> None:
    """Print a text with its first line and the rest indented."""
    console = output()
    lines = [text]
    if console.is_terminal:
        lines = list(text.wrap(console, min(console.width, _WIDEST) - rest))
    for number, line in enumerate(lines):
        if console.is_terminal:
            line.rstrip()
        print_text(Text(" " * (rest if number else first)).append_text(line))


def _highlighted(snippet: str) -> Text:
    """The snippet with its **matches** set off."""
    text = Text(style="not dim")
    at = 0
    for match in _MARKED.finditer(snippet):
        text.append(snippet[at : match.start()])
        text.append(match[1], style="bold yellow")
        at = match.end()
    return text.append(snippet[at:])


def print_explanation(hits: SearchResults, prefixes: Mapping[str, str]) -> None:
    """Print the lists' shares in each hit, the effect of each stage, the quads, and the plan of the search."""
    told = hits.explain
    if hits:
        legs = [name for name in ("vector", "text") if any(name in (hit.explain or {}) for hit in hits)]
        values = {"vector": "cosine", "text": "BM25"}
        head = ["rank", "score", *(cell for name in legs for cell in (f"{name} #", values[name], "gives"))]
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
        print_text()
        print_table([*head, *told.stages, "hit"], rows)
        print_text()
        print_table(["rank", "quads"], list(_cited(hits, prefixes)))
    reranked = f"; {counted(told.candidates, 'candidate')} for {', '.join(told.stages)}" if told.stages else ""
    facts = {
        "mode": told.mode,
        "fusion": told.fusion,
        "plan": told.plan and f"{told.plan}: {told.reason}",
        "eligible": None if told.eligible is None else f"{told.eligible:,} chunks pass the filter",
        "compared": None if told.compared is None else f"{told.compared:,} vectors",
        "words": told.match and f"{told.words}: {told.match}",
        "lists": f"at most {told.depth:,} long{reranked}",
        "time": ", ".join(f"{step} {time:,.1f}" for step, time in told.milliseconds.items()) + " ms",
    }
    print_text()
    print_answer(facts, prefixes)
    print_text()
    print_text(Text(told.sql.rstrip(), style="dim"))


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
    from worlds.graph.records import held

    for rank, hit in enumerate(hits, 1):
        quads = held(hit, "quads")
        for subject, predicate, _, graph in quads[:_OTHERS]:
            place = "" if graph is None else f" in {term(graph, prefixes)}"
            yield [str(rank), f"{term(subject, prefixes)} {term(predicate, prefixes)}{place}"]
        if (more := len(quads) - _OTHERS) > 0:
            yield [str(rank), f"and {more:,} more"]


def print_facets(facets: Mapping[str, Sequence[Mapping[str, Any]]], prefixes: Mapping[str, str]) -> None:
    """Each facet, the commonest values first, with the number of texts that have each."""
    from worlds.graph.terms import shorten

    for name, values in facets.items():
        rows = [(clean(one["label"]), f"{one['count']:,}") for one in values[:_MOST_VALUES]]
        if len(values) > _MOST_VALUES:
            rows.append(("…", f"{len(values) - _MOST_VALUES:,} more values"))
        print_table((shorten(name, prefixes) if ":" in name else name, "texts"), rows)


def print_sql(ran: Sequence[RanStatement], *, json: bool) -> None:
    """The statements that a search ran, and their parameters as comments, long ones cut; in JSON bytes as base64."""
    if json:
        values = [[_json_value(value) for value in one.parameters] for one in ran]
        told = [{"step": one.step, "sql": one.sql} for one in ran]
        write_json([{**one, "parameters": given} for one, given in zip(told, values, strict=True)])
        return
    for one in ran:
        print_text(f"-- {one.step}", "bold")
        print_text(Text(one.sql.rstrip() + ";"))
        for number, value in enumerate(one.parameters, 1):
            shown = f"{len(value):,} bytes" if isinstance(value, bytes) else repr(value)
            if len(shown) > _PARAMETER:
                shown = f"{shown[:_PARAMETER]}… ({len(shown):,} characters)"
            print_text(f"-- ?{number} = {shown}", "dim")


def _json_value(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


# --- any answer ---------------------------------------------------------------------------------------------------


def document(answer: Any) -> Any:
    """An answer as JSON-ready values."""
    if isinstance(answer, Mapping):
        return {name: document(value) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return list(map(document, answer))
    return answer.to_dict() if hasattr(answer, "to_dict") else answer


def print_record(answer: Any, prefixes: Mapping[str, str]) -> None:
    """Print an answer by its document."""
    print_answer(document(answer), prefixes)


def print_answer(told: Any, prefixes: Mapping[str, str]) -> None:
    """Print a document: a list of records as a table, a record as its fields, one a line, and its lists of records as
    tables below.

    Terms are shortened by the prefixes. What a cell cannot hold, such as the quads of a finding, is left to --json.
    """
    if isinstance(told, list):
        _print_records(told, prefixes)
        return
    if not isinstance(told, Mapping):
        print_text("\n".join(_text(line, prefixes) for line in str(told).split("\n")))
        return
    fields = {name: value for name, value in told.items() if name != "notes" and (value or value in (False, 0))}
    below = {name: value for name, value in fields.items() if _stands_below(value)}
    facts = {name: _cell(name, value, prefixes) for name, value in fields.items() if name not in below}
    width = max(map(len, facts), default=0) + 2
    for name, text in facts.items():
        if text:
            shown = Text(_words(name).ljust(width), style="dim")
            print_wrapped(shown.append(text, style="not dim"), 0, min(width, _INDENT))
    for name, value in below.items():
        if facts or len(below) > 1:
            print_text(f"{chr(10) * bool(facts)}{_words(name)} ({len(value):,})", "bold")
            facts = facts or {name: ""}
        if isinstance(value, Mapping):
            value = [{"name": name, "value": one} for name, one in value.items()]
        _print_records(value, prefixes)


def _stands_below(value: Any) -> bool:
    """Whether a field of a record stands below its lines, as a table."""
    records = [value] if isinstance(value, Mapping) else value if isinstance(value, list) else []
    return any(isinstance(one, Mapping) and "term" not in one for one in records)


def _print_records(records: Sequence[Any], prefixes: Mapping[str, str]) -> None:
    """A table of records: a column for each field that one of them has, and a cell can hold."""
    rows = [one if isinstance(one, Mapping) else {"": one} for one in records]
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [_cell(name, row.get(name), prefixes) for row in rows] for name in names}
    shown = {
        name: column
        for name, column in cells.items()
        if any(row.get(name) or row.get(name) is False for row in rows) and any(column)
    }
    print_table(list(map(_words, shown)), list(zip(*shown.values(), strict=True)))


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
        if len(cells) > _MOST_VALUES:
            cells[_MOST_VALUES:] = [f"and {len(cells) - _MOST_VALUES:,} more"]
        return ("; " if any(", " in cell for cell in cells) else ", ").join(filter(None, cells))
    return clean(" ".join(_text(value, prefixes).split()))


def _named(record: Mapping[str, Any], prefixes: Mapping[str, str]) -> str:
    """A record in a cell: its name with its annotations; for a record without a name its fields, if all are plain."""
    name = next((_cell(one, record[one], prefixes) for one in _NAMES if record.get(one)), "")
    fields = {key: one for key, one in record.items() if one is not None}
    if not name and all(isinstance(one, str | int | float) for one in fields.values()):
        return ", ".join(f"{_words(key)}: {_cell(key, one, prefixes)}" for key, one in fields.items())
    said = [f"{one['label']}: {_cell('', one['value'], prefixes)}" for one in record.get("annotations", ())]
    said += [f"{fields['count']:,}"] if name and "count" in fields else []
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


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table that fits the terminal."""
    console = output()
    lines = table(head, rows, width=console.width if console.is_terminal else None)
    print_text(Text(next(lines), style="bold"))
    while block := list(islice(lines, _BLOCK)):  # far faster than by the console
        sys.stdout.write("\n".join(block) + "\n")
