"""Results as data frames, and as the tables that a notebook shows."""

from __future__ import annotations

import html
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

_SHOWN = 50  # rows
_LONGEST = 300  # characters of a cell


class Tabular:
    """A table of rows: `to_dicts` of its subclass gives them, `_columns` names them."""

    @property
    def _columns(self) -> Sequence[str]:
        raise NotImplementedError

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a row."""
        raise NotImplementedError

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, or a polars one where pandas is not installed; the values of `to_dicts`.

        A column of mixed types is one of objects in pandas; polars turns it into the type that holds all.
        """
        rows, names = self.to_dicts(), list(self._columns)
        try:
            return importlib.import_module("pandas").DataFrame(rows, columns=names)
        except ImportError:
            pass
        try:
            polars = importlib.import_module("polars")
        except ImportError as error:
            raise ImportError("to_dataframe() needs pandas or polars: pip install pandas") from error
        return polars.DataFrame([polars.Series(name, [row[name] for row in rows], strict=False) for name in names])

    def _repr_html_(self) -> str:
        rows, names = self.to_dicts(), list(self._columns)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{_cells(row, names)}</tr>" for row in rows[:_SHOWN])
        more = f"<p>and {len(rows) - _SHOWN:,} more</p>" if len(rows) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cells(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return "".join(f"<td>{html.escape(_text(row[name]))}</td>" for name in names)


def _text(value: object) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
