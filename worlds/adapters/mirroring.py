"""Keeps another SPARQL engine in step with a world, revision by revision, by SPARQL Update.

What the engine has is said by a triple of its own, which is written in the same request as the last of a revision's
quads. All else that is sent may be sent again, so that after any break it goes on from where that triple says.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pyoxigraph as ox

from worlds.errors import ConflictError, OpenError, WorldsError
from worlds.graph.terms import skolemised, to_oxigraph
from worlds.world import World

STATE_GRAPH = "urn:worlds:mirror"
"""The graph of the engine in which the mirror notes how far it is."""

BLANK = "urn:worlds:blank:"
"""What the IRI of a blank node begins with in the engine."""

_STATE = f"<{STATE_GRAPH}> <urn:worlds:mirror:at>"
_PIECE = 500_000  # characters of a request
_SAMPLE = 50  # quads that are asked for together
_LOADING = "loading"

Progress = Callable[[str, int, int | None], None]


class Mirror:
    """A SPARQL endpoint that is to have what a world has; nothing else may be in it.

    `update` is where it takes updates, if that is another address. `token` is sent as a bearer's.
    """

    def __init__(
        self, world: World, endpoint: str, *, update: str | None = None, token: str | None = None, timeout: float = 300
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise WorldsError("a mirror needs httpx: pip install 'worlds-kg[remote]'") from error
        self._httpx = httpx
        self._world = world
        self._endpoint = endpoint
        self._update = update or endpoint
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._client = httpx.Client(headers=headers, timeout=timeout)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Mirror:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- in step --------------------------------------------------------------------------------------------------

    def step(self, *, replace: bool = False, progress: Progress | None = None) -> int:
        """Bring the engine to the world's last revision; gives the number of quads that were sent.

        Where the engine is at no revision of this world, or at one that the world has forgotten, it is emptied and
        filled anew. ConflictError, unless `replace`, if it holds something that no mirror has written; OpenError if it
        cannot be reached, WorldsError for what it refuses.
        """
        self._world.refresh()
        entries = self._world.history(1)
        last, now = (entries[0].revision, _state(entries[0])) if entries else (0, "0")
        state = self.state()
        if state == now:
            return 0
        since = self._since(state)
        removed: Iterable[ox.Quad] = ()
        added: Iterable[ox.Quad]
        created: Iterable[Any]
        dropped: Iterable[Any] = ()
        if since is None:
            if state is None and not replace and self._ask("ASK { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"):
                raise ConflictError(f"{self._endpoint} holds data that is not of a mirror; replace=True empties it")
            self._send(f"DROP ALL ; INSERT DATA {{ GRAPH <{STATE_GRAPH}> {{ {_STATE} '{_LOADING}' }} }}")
            # What is written meanwhile is sent again by the next step, which changes nothing.
            added = (_quad(*row) for row in self._world.quads())
            total = len(self._world)
            created = self._world.graphs()
        else:
            diff = self._world.diff(since, last)
            removed, added, total = diff.removed.terms(), diff.added.terms(), len(diff.added) + len(diff.removed)
            created, dropped = diff.created, diff.dropped
        sent = 0
        pieces = [f"CREATE SILENT GRAPH <{name}>" for name in created if isinstance(to_oxigraph(name), ox.NamedNode)]
        for operation, quads in (("DELETE DATA", removed), ("INSERT DATA", added)):
            for piece, count in _pieces(quads):
                sent += count
                pieces.append(f"{operation} {{\n{piece}}}")
                if sum(map(len, pieces)) > _PIECE:
                    self._send(" ;\n".join(pieces))
                    pieces.clear()
                    if progress is not None:
                        progress("send", sent, total)
        pieces += [f"DROP SILENT GRAPH <{name}>" for name in dropped]
        pieces.append(
            f"WITH <{STATE_GRAPH}> DELETE {{ {_STATE} ?at }} INSERT {{ {_STATE} '{now}' }} WHERE {{ {_STATE} ?at }}"
        )
        self._send(" ;\n".join(pieces))
        return sent

    def state(self) -> str | None:
        """What the engine says that it has; None where no mirror has written to it."""
        answer = self._select(f"SELECT ?at {{ GRAPH <{STATE_GRAPH}> {{ {_STATE} ?at }} }}")
        return str(answer[0]["at"]["value"]) if answer else None

    def _since(self, state: str | None) -> int | None:
        """The revision that the engine is at; None where it is at none that the world still knows."""
        if state is None or state == _LOADING:
            return None
        number = int(state.partition(" ")[0])
        try:
            self._world.diff(number)  # which says whether it is still known what was removed since
        except (WorldsError, ValueError):
            return None
        if number == 0:
            return 0
        newest = self._world.history(1)[0].revision
        entries = self._world.history(newest - number + 1)
        return number if any(_state(entry) == state for entry in entries) else None

    def follow(
        self,
        every: float,
        over: threading.Event,
        tell: Callable[[int, WorldsError | None], None],
        *,
        replace: bool = False,
    ) -> None:
        """Take steps until `over`, `every` so many seconds; `tell` gets the number of quads sent, or an error.

        A ConflictError ends it.
        """
        while True:
            try:
                if sent := self.step(replace=replace):
                    tell(sent, None)
            except ConflictError:
                raise
            except WorldsError as error:
                tell(0, error)
            if over.wait(every):
                return

    def verify(self, sample: int = 200, seed: int | None = None) -> list[str]:
        """What is different between the world and the engine: counts of each graph, and quads drawn by lot.

        A difference of counts alone may be the engine's reading of literals, such as 01 for 1.
        """
        found: list[str] = []
        quads = [skolemised(_quad(*row), BLANK) for row in self._world.quads()]
        graphs: dict[Any, int] = {}
        for quad in quads:
            graphs[quad.graph_name] = graphs.get(quad.graph_name, 0) + 1
        for graph, count in graphs.items():
            if isinstance(graph, ox.DefaultGraph):
                pattern, allowed = "{ ?s ?p ?o }", {count, len({quad.triple for quad in quads}) + 1}  # or of all graphs
            else:
                pattern, allowed = f"{{ GRAPH {graph} {{ ?s ?p ?o }} }}", {count}
            there = int(self._select(f"SELECT (COUNT(*) AS ?n) {pattern}")[0]["n"]["value"])
            if there not in allowed:
                found.append(f"{graph}: {count:,} quads in the world, {there:,} in {self._endpoint}")
        names = {
            row["g"]["value"] for row in self._select("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
        } - {STATE_GRAPH}  # fmt: skip
        known = {graph.value for graph in graphs if isinstance(graph, ox.NamedNode)}
        found += [f"<{name}> is in {self._endpoint} alone" for name in sorted(names - known)]
        drawn = random.Random(seed).sample(quads, min(sample, len(quads)))
        for start in range(0, len(drawn), _SAMPLE):
            part = drawn[start : start + _SAMPLE]
            if not self._ask("ASK {\n" + "".join(map(_line, part)) + "}"):
                found += [f"missing: {quad}" for quad in part if not self._ask(f"ASK {{ {_line(quad)} }}")]
        return found

    # -- the engine -----------------------------------------------------------------------------------------------

    def _send(self, update: str) -> None:
        self._post(self._update, update, "application/sparql-update", "*/*")

    def _select(self, query: str) -> list[dict[str, Any]]:
        answer = self._post(self._endpoint, query, "application/sparql-query", "application/sparql-results+json")
        rows: list[dict[str, Any]] = answer.json()["results"]["bindings"]
        return rows

    def _ask(self, query: str) -> bool:
        answer = self._post(self._endpoint, query, "application/sparql-query", "application/sparql-results+json")
        return bool(answer.json()["boolean"])

    def _post(self, address: str, text: str, kind: str, accept: str) -> Any:
        try:
            answer = self._client.post(
                address, content=text.encode(), headers={"content-type": f"{kind}; charset=utf-8", "accept": accept}
            )
        except self._httpx.HTTPError as error:
            raise OpenError(f"{address} cannot be reached: {type(error).__name__}: {error}") from error
        if not answer.is_success:
            raise WorldsError(f"{address} answered {answer.status_code}: {answer.text[:300]}")
        return answer


def _state(entry: Any) -> str:
    """What tells a revision from others, also from one of the same number before the world was restored."""
    return f"{entry.revision} {entry.time.isoformat()}"


def _quad(subject: Any, predicate: Any, value: Any, graph: Any) -> ox.Quad:
    terms: list[Any] = [to_oxigraph(term) for term in (subject, predicate, value)]
    name: Any = ox.DefaultGraph() if graph is None else to_oxigraph(graph)
    return ox.Quad(terms[0], terms[1], terms[2], name)


def _line(quad: ox.Quad) -> str:
    triple = f"{quad.subject} {quad.predicate} {quad.object}"
    return (
        f"{triple} .\n" if isinstance(quad.graph_name, ox.DefaultGraph) else f"GRAPH {quad.graph_name} {{ {triple} }}\n"
    )


def _pieces(quads: Iterable[ox.Quad]) -> Iterator[tuple[str, int]]:
    """Quads as an update's data, and how many they are, in pieces."""
    lines = (_line(skolemised(quad, BLANK)) for quad in quads)
    while block := list(islice(lines, 1000)):
        yield "".join(block), len(block)
