"""The tool that asks: sparql."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import Annotated, Any, Literal

import anyio.from_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from worlds.doors.mcp.rendering import TermRenderer, TokenBudget
from worlds.doors.mcp.toolbox import LONGEST, MEMORY, MOST_ROWS, Service, answer
from worlds.doors.mcp.tools import Entails, Tokens, tool
from worlds.errors import QueryError
from worlds.graph.query.evaluation import first_keyword
from worlds.graph.query.results import Solutions as Rows
from worlds.graph.query.results import Triples
from worlds.graph.query.tokens import declared_prefixes
from worlds.world import Progress

_TIMEOUT = 20.0  # seconds
_PAUSE = 0.5  # seconds between reports of progress
_CELL = 500  # characters of one value


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tool."""

    @tool(server, service, "query", "SPARQL query", source="query")
    def sparql(
        *,
        query: Annotated[str, Field(description="SELECT, ASK, CONSTRUCT or DESCRIBE; the world's prefixes are known.")],
        context: Context[Any, Any],
        limit: Annotated[int, Field(ge=1, le=1000, description="The number of rows or triples that are shown.")] = 100,
        format: Annotated[Literal["table", "json"], Field(description="The form of the rows.")] = "table",
        timeout: Annotated[float, Field(gt=0, le=LONGEST, description="The time limit in seconds.")] = _TIMEOUT,
        entailed: Entails = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> CallToolResult:
        """Call `brief` first, for the names of its terms. Terms are as in Turtle. A query may search:
        SERVICE w:search { ?hit w:query "words" ; w:subject ?s ; w:score ?score }; see world://guide."""
        _refuse_updates(query, writes=service.allow_writes)
        try:
            world = service.at(None, entailed=entailed)
            found = world.query(
                query,
                timeout=min(timeout, service.longest(context)),
                max_results=MOST_ROWS,
                max_memory=MEMORY if sys.platform == "linux" else None,
                progress=_reporting(context),
                repair=True,
                **given,
            )
        except QueryError as error:
            if error.repair is not None:
                error.args = (f"{error}. {error.repair}",)
            raise
        if isinstance(found, bool):
            told = () if found else world.explain(query, answer=False, **given).notes
            solutions: dict[str, Any] = {"form": "ask", "variables": [], "rows": [], "truth": found, "total": 1}
            return answer([str(found).lower(), *told], **solutions, notes=list(told))
        terms = TermRenderer({**service.terms().prefixes, **declared_prefixes(query)})
        return _table(found, terms, limit, service.budget(token_budget), as_json=format == "json")


def _notes(found: Any) -> list[str]:
    """The notes on a result, the query that may have been meant among them."""
    return [*found.notes, *([] if found.repair is None else [str(found.repair)])]


def _reporting(context: Context[Any, Any]) -> Progress:
    """Tells a client that asked for it how far the SPARQL index is, which the first query of a large world makes."""
    last = -_PAUSE

    def report(step: str, done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last < _PAUSE:
            return
        last = time.monotonic()
        with contextlib.suppress(Exception):  # nobody waits any more; the index is made all the same
            anyio.from_thread.run(context.report_progress, done, total, step)

    return report


def _refuse_updates(query: str, *, writes: bool) -> None:
    """QueryError for an update, which would fail with a parser's complaint."""
    begin = first_keyword(query)
    if begin is not None and begin[1]:
        where = "call `update` for this" if writes else "this server was started without --allow-writes"
        raise QueryError(f"{begin[0].text.upper()} is an update, and `sparql` answers queries only: {where}")


def _table(
    found: Rows | Triples, terms: TermRenderer, limit: int, budget: TokenBudget, *, as_json: bool
) -> CallToolResult:
    """The rows or triples of a query, as many as the limit and the budget allow."""
    names = list(found.variables) if isinstance(found, Rows) else None
    every: list[Any] = list(found)
    notes, as_json = _notes(found), as_json and names is not None
    rows = [[None if term is None else terms.show(term, _CELL) for term in row] for row in every[:limit]]
    head, total = "\t".join(f"?{name}" for name in names or ()), len(every)

    def line(row: list[str | None]) -> str:
        if as_json:
            return json.dumps(dict(zip(names or (), row, strict=True)), ensure_ascii=False)
        cells = ("" if cell is None else cell.replace("\t", " ") for cell in row)
        return " ".join(cells) + " ." if names is None else "\t".join(cells)

    budget.take("\n".join([head, *notes]))
    kept = budget.fill(rows, line)
    if len(kept) < total:
        why = "the token budget" if len(kept) < len(rows) else "`limit`"
        notes.append(
            f"{total - len(kept):,} of {total:,} {'triples' if names is None else 'rows'} are not shown: "
            f"{why} is reached. Select less, aggregate, or page: ORDER BY … LIMIT {len(kept)} OFFSET {len(kept)}."
        )
    lines = [line(row) for row in kept]
    if as_json:
        text = "[" + ",\n".join(lines) + "]"
    else:
        text = "\n".join([*([head] if head else []), *lines]) if total else "No results."
    form = "construct" if names is None else "select"
    solutions = {"form": form, "variables": names or [], "rows": kept, "truth": None, "total": total}
    return answer([text, *notes], **solutions, notes=notes)
