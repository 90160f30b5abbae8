"""How hits, facts and problems are printed for people."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from worlds.cli.table import table
from worlds.cli.terminal import clean, counted

if TYPE_CHECKING:
    from rich.console import Console

    from worlds.file.problems import CheckReport
    from worlds.search.hits import Hit, Leg, SearchResults, Step

_MARKED = re.compile(r"\*\*(.+?)\*\*")
_WIDEST = 100  # cells of a line of text, however wide the terminal is
_OTHERS = 3  # further subjects that a hit names
_HIT = 40  # characters of a hit's name in the table that explains
_PARAMETER = 100  # characters shown of a parameter
_MOST_VALUES = 20  # of a facet


def _iri(iri: str, prefixes: Mapping[str, str]) -> str:
    from worlds.graph.terms import shorten

    return clean(shorten(iri, prefixes))


def _term(term: object, prefixes: Mapping[str, str]) -> str:
    from worlds.graph.terms import format_term, to_oxigraph

    return clean(format_term(to_oxigraph(term), prefixes))


# --- search -------------------------------------------------------------------------------------------------------


def print_hits(console: Console, hits: SearchResults, prefixes: Mapping[str, str]) -> None:
    """The hits, best first: label, subject and types, and the text under its predicate."""
    indent = len(str(len(hits))) + 2
    for rank, hit in enumerate(hits, 1):
        subject = _term(hit.subject, prefixes)
        title = Text(f"{rank}. ".rjust(indent), style="dim")
        title.append(clean(hit.label) if hit.label else subject, style="not dim bold")
        about = Text(style="dim")
        if hit.label:
            about.append(f"{subject} ", style="not dim cyan")
        if hit.types:
            about.append("a ")
            about.append(", ".join(_term(kind, prefixes) for kind in hit.types) + " ", style="not dim green")
        if hit.graph is not None:
            about.append("in ").append(f"{_term(hit.graph, prefixes)} ", style="not dim magenta")
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
        text = Text(f"{_term(hit.predicate, prefixes)}{f'@{language}' if language else ''}: ", style="dim")
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
    named = ", ".join(_term(subject, prefixes) for subject in subjects[:_OTHERS])
    more = len(subjects) - _OTHERS
    return f"also {named}" + (f" and {more:,} more" if more > 0 else "")


def print_explanation(console: Console, hits: SearchResults, prefixes: Mapping[str, str]) -> None:
    """What each list gave to each hit, what each stage did to it, its quads, and how the search was answered."""
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
    print_facts(console, facts)
    console.print()
    console.print(Text(told.sql.rstrip(), style="dim"), soft_wrap=True)


def _leg(leg: Leg | None) -> tuple[str, str, str]:
    if leg is None:
        return "", "", ""
    return "" if leg.rank is None else str(leg.rank), f"{leg.value:.3f}", f"{leg.contribution:.5f}"


def _step(step: Step) -> str:
    """Where a stage found a hit, where it put it, and the factor if it has one."""
    factor = step.detail.get("factor")
    return f"{step.rank_before} → {step.rank}" + (f" ×{factor:.3g}" if isinstance(factor, float) else "")


def _cited(hits: SearchResults, prefixes: Mapping[str, str]) -> Iterator[list[str]]:
    """The first quads of each hit, without the text."""
    for rank, hit in enumerate(hits, 1):
        for subject, predicate, _, graph in hit.quads[:_OTHERS]:
            place = "" if graph is None else f" in {_term(graph, prefixes)}"
            yield [str(rank), f"{_term(subject, prefixes)} {_term(predicate, prefixes)}{place}"]
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


# --- the file -----------------------------------------------------------------------------------------------------


def print_facts(console: Console, facts: Mapping[str, object], prefixes: Mapping[str, str] | None = None) -> None:
    """Names and values, one a line; then what counts by IRI, each as a list."""
    names = max(map(len, facts), default=0)
    for name, value in facts.items():
        if not isinstance(value, Mapping):
            line = Text(name.replace("_", " ").ljust(names + 2), style="dim")
            console.print(line.append(clean(_fact(name, value)), style="not dim"), soft_wrap=True)
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            console.print(Text(f"\n{name.replace('_', ' ')}", style="bold"))
            width = max(len(f"{count:,}") for count in value.values())
            for iri, count in value.items():
                line = Text(f"  {count:>{width},}  ").append(_iri(iri, prefixes or {}), style="cyan")
                console.print(line, soft_wrap=True)


def _fact(key: str, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return size(value) if "bytes" in key else f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def print_problems(console: Console, report: CheckReport) -> None:
    """The problems that a check found, each with examples."""
    for problem in report.problems:
        line = Text(f"{problem.kind}: ", style="bold red")
        line.append(clean(problem.message), style="not bold default")
        console.print(line, soft_wrap=True)
        for example in problem.examples:
            console.print(Text(f"  such as {clean(example)}", style="dim"), soft_wrap=True)
        console.print(Text(f"  remedy: {clean(problem.remedy)}", style="not dim"), soft_wrap=True)


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
