"""How the answers of SPARQL queries are printed."""

from __future__ import annotations

import functools
import sys
from itertools import islice
from typing import TYPE_CHECKING

from worlds.cli.table import NUMBER, table
from worlds.cli.terminal import clean, counted, messages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from worlds.graph.query.results import Solutions

_RESULTS = ("table", "json", "xml", "csv", "tsv")
_BLOCK = 1000  # lines written at a time
_XSD = "http://www.w3.org/2001/XMLSchema#"
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
