"""Solutions that take a place in the text of a query, as a group pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyoxigraph as ox

_TERM = "urn:worlds:term:"  # what follows gives the term for which an IRI of this beginning stands
_IS_PLAIN = re.compile(r'(?!.*/\.)[^<>"{}|^`\\\x00-\x20]*').fullmatch  # a BASE would change "/." in an IRI


class Tables:
    """Writes tables for one query. Terms that no text can name are given by functions, added to `functions`.

    `kind` tells the function from those of other tables in the query.
    """

    def __init__(self, kind: str, functions: dict[Any, Callable[..., Any]]) -> None:
        self._function = ox.NamedNode(_TERM + kind)
        self._functions = functions
        self._terms: dict[Any, Any] = {}
        self._numbers: dict[Any, int] = {}

    def table(
        self, names: Sequence[str], rows: Iterable[Sequence[Any]], keep: Callable[[list[str]], str] = " ".join
    ) -> str:
        """A group pattern that has the rows as its solutions; `keep` returns the columns for the rows of its VALUES."""
        odd: set[int] = set()  # columns with what no text can name
        lines = []
        for row in rows:
            cells = [written(term) for term in row]
            for place, term in enumerate(row):
                if cells[place] is None:
                    odd.add(place)
                    cells[place] = self._stand_in(term)
            lines.append(f"({' '.join(cells)})")  # type: ignore[arg-type]  # each is a text now
        before = next(name for name in map("stand_in{}_".format, range(len(names) + 1)) if not _begins(names, name))
        listed = " ".join(f"?{before if place in odd else ''}{name}" for place, name in enumerate(names))
        table = f"VALUES ({listed}) {{ {keep(lines)} }}"
        if not odd:
            return f"{{ {table} }}"
        chosen = (
            f"({self._function}(?{before}{name}) AS ?{name})" if place in odd else f"?{name}"
            for place, name in enumerate(names)
        )
        return f"{{ SELECT {' '.join(chosen)} {{ {table} }} }}"

    def _stand_in(self, term: Any) -> str:
        """A text that stands for a term that no text can name, once the function is called with it."""
        self._functions[self._function] = lambda given: self._terms.get(given, given)
        number = self._numbers.setdefault(term, len(self._numbers))
        iri = ox.NamedNode(f"{self._function.value}:{number}")
        self._terms[iri] = term
        return str(iri)


def _begins(names: Iterable[str], beginning: str) -> bool:
    return any(name.startswith(beginning) for name in names)


def written(term: Any) -> str | None:
    """A term as SPARQL writes it, `UNDEF` for none; None for what no text can name."""
    if term is None:
        return "UNDEF"
    if isinstance(term, ox.NamedNode):
        return str(term) if _IS_PLAIN(term.value) and not term.value.startswith(_TERM) else None
    text = str(term)
    return text if isinstance(term, ox.Literal) and "\\" not in text and _IS_PLAIN(term.datatype.value) else None
