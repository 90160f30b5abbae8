"""The verbs of SPARQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.writer import Progress
from worlds.core.quads.dataset import default_graph
from worlds.core.sparql.repairing import repaired
from worlds.errors import QueryError
from worlds.graph.query.query import UNION_GRAPH, Query
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.verbs.invocation import verb
from worlds.verbs.knowing import Knowing

if TYPE_CHECKING:
    from worlds.core.quads.dataset import DefaultGraphSetting
    from worlds.core.sparql.explaining import QueryExplanation
    from worlds.graph.query.results import Solutions, Triples


class Querying(Knowing):
    """The verbs of SPARQL."""

    @verb
    def query(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        default_graphs: Iterable[object] | None = None,
        named_graphs: Iterable[object] | None = None,
        timeout: float | None = None,
        max_results: int | None = None,
        max_memory: int | None = None,
        allow_network: bool | Collection[str] = False,
        progress: Progress | None = None,
        repair: bool = False,
    ) -> Solutions | Triples | bool:
        """Answer a SPARQL query: SELECT gives `Solutions`, ASK a bool, CONSTRUCT and DESCRIBE `Triples`.

        A query without FROM sees the default graph alone, or with `union=True` all graphs together; with None it is as
        `default_graph` says. The world's prefixes need no declaration. `bindings` gives variables of the text their
        values (ArgumentError for others). The first query opens or builds the index.
        `default_graphs`, merged to be the default graph, and `named_graphs`, those that GRAPH sees, are another
        dataset; if only one of the two is given, the other has none. They take the place of what FROM says.

        A query from somebody who is not trusted wants limits: `timeout`, in seconds (QueryTimeout), and `max_memory`,
        in bytes, stop it wherever it is, in a process of its own that reads the index as it is now; `max_results` is
        how many solutions or triples it may have. SERVICE reaches the network only if `allow_network` is True or
        names the hosts. QueryError (with line and column) if the query does not parse, is too deep or too long, or
        exceeds a limit.

        With `repair`, a result that has nothing has `.repair`: the nearest query that the notes lead to and that finds
        something, with what it finds; and so has a QueryError. An ASK has none.
        """
        if union and not default_graphs is named_graphs is None:
            raise ValueError("a query takes union=True or a dataset of its own, not both")
        how: dict[str, Any] = {
            "bindings": bindings,
            "of": query,
            "graphs": (default_graphs, named_graphs),
            "timeout": timeout,
        }
        how |= {"max_results": max_results, "max_memory": max_memory, "allow_network": allow_network}

        def ask(text: str, union: bool | None) -> Solutions | Triples | bool:
            told = None if progress is None else partial(progress, "index")
            return self._look.answer(text, told, union=union, **how)

        if not repair:
            return ask(query, union)
        prefixes = self._core.namespaces.prefixes
        try:
            found = ask(query, union)
            if not isinstance(found, bool) and not len(found):
                found.repaired_by(lambda: repaired(query, found.notes, prefixes, ask, union))
        except QueryError as error:
            error.repair = repaired(query, error, prefixes, ask, union)
            raise
        return found

    @verb
    def interrupt(self) -> None:
        """Stop the reads of other threads, which raise QueryError there, as sqlite3's interrupt does.

        A query ends at once, with and without a `timeout`; so does the pattern of an update, which is undone by that.
        What cannot be stopped within this process lives on in the background, where nobody waits for it: `stats` counts
        it as `abandoned`. An SQL statement ends at once with SQLite's driver, a write's too, and is waited for with
        libSQL's, which never lets go of Python's lock; the verb ends before the next one.
        """
        self._core.running.interrupt()
        self._core.connection.interrupt()

    @verb
    def explain(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        timeout: float | None = None,
        allow_network: bool | Collection[str] = False,
        counts: bool = True,
        answer: bool | None = None,
        progress: Progress | None = None,
    ) -> QueryExplanation:
        """Answer a SPARQL query and tell how: what each step took, what its searches became, what each pattern matches.

        pyoxigraph shows no plan, so this is as far as can be seen from outside. `counts=False` leaves out what each
        pattern matches, which can take a second for each. Its `notes` say why nothing was found, for an ASK that is
        false, too: with its `answer`, if that is known, nothing is evaluated again. Options and errors as for `query`.
        """
        how: dict[str, Any] = {"bindings": bindings, "of": query, "timeout": timeout, "allow_network": allow_network}
        asked = self._query(query, union=union, **how)
        report = None if progress is None else partial(progress, "index")
        return self._core.queries.explain(asked, report, counts=counts and answer is None, answer=answer)

    @verb
    @rehearsable(Change)
    def update(
        self,
        text: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        using_graphs: Iterable[object] | None = None,
        using_named_graphs: Iterable[object] | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        timeout: float | None = None,
        max_quads: int | None = None,
        allow_network: bool | Collection[str] = False,
        allow_files: bool = False,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Run a SPARQL 1.1 Update request, several operations perhaps, as one revision: all of it or nothing.

        The world's prefixes need no declaration. `bindings` gives variables their terms. `union` is as for `query`,
        for patterns; `using_graphs` and `using_named_graphs` are what USING and USING NAMED
        would say for each pattern, in a request that says neither, nor WITH (else QueryError). `timeout` is in seconds,
        for reading the request, and for each pattern. LOAD and SERVICE reach the network only if `allow_network` is
        True or names their hosts, LOAD reads `file:` IRIs only with `allow_files`. An update that changes more than
        `max_quads` quads is a QueryError.

        Literals that have the same value are one to SPARQL: inserting `1` where `01` is changes nothing, deleting `1`
        deletes `01`. A named graph exists while it has quads, or from CREATE to DROP; the creation of an empty graph
        counts as one quad added. Where nothing changes, the `notes` of the change name what the world does not know.
        QueryError (with line and column) if the request does not parse or cannot be carried out.
        """
        from worlds.core.sparql.updates import WorldTarget
        from worlds.graph.update.driver import run_update  # others have no use for it

        how: dict[str, Any] = {"graphs": (using_graphs, using_named_graphs), "allow_network": allow_network}
        asked = self._query("", bindings=bindings, of=text, union=union, timeout=timeout, **how)
        using = None if asked.default_graphs is None else (asked.default_graphs, asked.named_graphs or ())
        with self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as revision:
            target = WorldTarget(self._core, revision, asked, allow_files, max_quads)
            names = {"w": NAMESPACE, **asked.prefixes}
            run_update(
                text, target, prefixes=names, bindings=asked.bindings, using=using,
                limits=asked.started().limits,
            )  # fmt: skip
        change = revision.change
        if isinstance(change, Diff):
            return change
        changed = change.added or change.removed or "where" not in text.lower()
        strange = () if changed else self._core.notes.strangers(asked.replaced(text=text))
        return dataclasses.replace(change, notes=strange) if strange else change

    def _query(
        self,
        text: str,
        *,
        bindings: Mapping[str, object] | None,
        of: str | None = None,
        graphs: tuple[Iterable[object] | None, Iterable[object] | None] = (None, None),
        known: tuple[Mapping[str, str], DefaultGraphSetting] | None = None,
        **how: Any,
    ) -> Query:
        """A query as this world asks it; `graphs` are those of a dataset that is not the world's own.

        The bindings have to be `of` that text. `known` are the prefixes and the setting of the default graph, where
        these were read before.
        """
        if graphs != (None, None):
            default, named = ([self._core.namespaces.graph(graph) for graph in given or ()] for given in graphs)
            if any(isinstance(graph, ox.DefaultGraph) for graph in named):
                raise ValueError("the default graph is not a named graph")
            every = UNION_GRAPH in default and graphs[1] is None
            how |= {"default_graphs": default, "named_graphs": None if every else named}
        prefixes, setting = known or self._core.connection.remembered(
            "asked", lambda: (self._core.namespaces.prefixes, default_graph(self._core.connection))
        )
        query = Query(text, prefixes, self._core.namespaces.bindings(bindings, of), **how)
        return query.settled(union=setting == "union")
