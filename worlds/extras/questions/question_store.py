"""The kept questions of a world: a graph of their own, found by words and meaning, and asked anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.owngraph import OwnGraph
from worlds.core.quads.dataset import QUESTIONS_GRAPH
from worlds.errors import ArgumentError, QueryError, QueryTimeout, WorldsError
from worlds.extras.entities.context import KeptQuestion, NearQuestion
from worlds.extras.questions.examples import as_quads, declared, files_of, form_of, iri_of, of_file, read, same
from worlds.extras.questions.nearest import Nearest
from worlds.extras.questions.question_terms import KEPT_LIMITS
from worlds.graph.query.query import Query
from worlds.graph.records import Iri, Record, Spare
from worlds.sql import statements

_SQL = statements("rules.sql")
_LIMITS = {**KEPT_LIMITS, "max_results": 100_000}
_LONGEST = 10_000  # characters of a question

Trouble: TypeAlias = Literal["fails", "slow", "empty"]


@dataclass(frozen=True, slots=True)
class BrokenQuestion(Record):
    """A kept question whose query fails, takes too long, or finds nothing, with the reason.

    `repair` is the nearest query that finds something, where the hints on it lead to one.
    """

    iri: Iri
    question: str
    query: str
    trouble: Trouble
    why: str
    repair: Annotated[str | None, Spare] = None


class Questions(OwnGraph):
    """The kept questions of one world, each with the query that answers it: the graph <urn:worlds:questions>.

    They are no text, and in no union of graphs; a query that names their graph sees them. They are written as the SIB
    writes examples: a sh:SPARQLExecutable with rdfs:comment, sh:select, sh:ask, sh:construct or spex:describe, and
    schema:description, schema:keywords and schema:alternateName for other words. Each write is a revision, as any
    other is, and can be undone.
    """

    _graph = QUESTIONS_GRAPH

    def __init__(self, core: Core, ask: Callable[..., Any], nearest: Callable[[], Nearest]) -> None:
        """`ask` is `World.query`."""
        super().__init__(core)
        self._ask = ask
        self._nearest = nearest
        self._read: tuple[object, list[KeptQuestion]] = None, []

    @rehearsable(Change)
    def add(
        self,
        question: str,
        query: str,
        *,
        description: str | None = None,
        wordings: Sequence[str] = (),
        keywords: Sequence[str] = (),
        author: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Keep a question and its query; they replace a kept query of the same question.

        `wordings` are other words for it. The query is asked once, by the world's prefixes, without network; QueryError
        where it fails, and for an update. One that is only slow is kept.
        """
        asked = [question, *([wordings] if isinstance(wordings, str) else wordings)]
        for one in asked:
            if not isinstance(one, str) or not one.strip() or len(one) > _LONGEST:
                raise ArgumentError(f"a question must be a text of at most {_LONGEST:,} characters, not {one!r:.80}")
        text = declared(query, self._core.namespaces.prefixes) if isinstance(query, str) else query
        form = form_of(Query(text))
        with suppress(QueryTimeout):
            self._ask(text, **_LIMITS)
        words = (keywords,) if isinstance(keywords, str) else tuple(keywords)
        others = tuple(one for one in dict.fromkeys(map(str.strip, asked[1:])))
        same_as = [one for one in self if same(one.question, question)]
        iri = same_as[0].iri if same_as else iri_of(question)
        kept = KeptQuestion(iri, question.strip(), text, description, others, words)

        def write() -> None:
            self._apply(as_quads(kept, form, self._graph), self._about(one.iri for one in same_as))

        return self._write(write, author, message, dry_run)

    @rehearsable(Change)
    def load(
        self,
        source: object,
        *,
        format: str | None = None,
        mode: Literal["merge", "replace"] = "merge",
        base: str | None = None,
        author: str | None = None,
        message: str | None = None,
        allow_network: bool | Collection[str] = False,
        max_unpacked: int | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Load questions: RDF as `World.load` takes it, and grlc's `.rq` files, also in folders.

        None is asked: `check` tells which fail. Of a `.rq` file the summary is the question.
        """
        files, others = files_of(source)
        kept = [of_file(path) for path in files]
        quads = [quad for one in kept for quad in as_quads(one, _form(one), self._graph)]
        if not files:
            return super().load(
                source, format=format, mode=mode, base=base, author=author, message=message,
                allow_network=allow_network, max_unpacked=max_unpacked, dry_run=dry_run,
            )  # fmt: skip

        def write() -> None:
            gone = list(self._stored()) if mode == "replace" else self._about(one.iri for one in kept)
            self._apply(quads, gone)
            if others:
                self._core.loader.load(
                    others, format=format, graph=self._graph, base=base, embed=False,
                    allow_network=allow_network, max_unpacked=max_unpacked,
                )  # fmt: skip

        return self._write(write, author, message, dry_run, given=others)

    @rehearsable(Change)
    def remove(
        self, question: object, *, author: str | None = None, message: str | None = None, dry_run: bool = False
    ) -> Change | Diff:
        """Keep a question no longer, given in its words or by its IRI; ArgumentError for one that is not kept."""
        found = [one for one in self if str(one.iri) == str(question) or same(one.question, str(question))]
        if not found:
            raise ArgumentError(f"no such question is kept: {question!r:.200}")
        return self._write(lambda: self._apply((), self._about(one.iri for one in found)), author, message, dry_run)

    def _about(self, iris: Iterable[Any]) -> list[ox.Quad]:
        gone = set(map(str, iris))
        return [
            quad for quad in self._stored() if isinstance(quad.subject, ox.NamedNode) and quad.subject.value in gone
        ]

    # -- what is kept -------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> list[KeptQuestion]:
        """The kept questions, ordered by IRI; the same list while nothing changes."""
        number = self._core.dictionary.find([self._graph])[0]
        if number is None:
            return []
        prefixes = self._core.namespaces.prefixes
        stamp = self._core.connection.rollbacks, self._core.connection.row(_SQL["shapes_stamp"], (number,)), prefixes
        if self._read[0] != stamp:
            with self._core.connection.snapshot():
                self._read = stamp, read(self._stored(), prefixes)
        return self._read[1]

    def near(self, question: str, *, limit: int = 3) -> tuple[NearQuestion, ...]:
        """The kept questions nearest to another one, the nearest first.

        How near they are, from 0 to 1, is by their meaning, where there are vectors, and by their words; 1 only where
        the words are the same.
        """
        return self._nearest().find(question, limit)

    def check(self) -> tuple[BrokenQuestion, ...]:
        """Ask all queries anew, and tell which are broken, ordered by IRI.

        Each has three seconds and a gigabyte, and no network.
        """
        return tuple(found for one in self.kept if (found := self._broken(one)) is not None)

    def _broken(self, one: KeptQuestion) -> BrokenQuestion | None:
        def told(trouble: Trouble, why: object, repair: Any = None) -> BrokenQuestion:
            near = None if repair is None else repair.query
            return BrokenQuestion(one.iri, one.question, one.query, trouble, str(why), near)

        try:
            form_of(Query(one.query))
            found = self._ask(one.query, repair=True, **_LIMITS)
        except QueryTimeout as error:
            return told("slow", error)
        except QueryError as error:
            return told("fails", error, error.repair)
        except WorldsError as error:
            return told("fails", error)
        if isinstance(found, bool) or len(found):
            return None
        return told("empty", " ".join(map(str, found.notes)) or "it finds nothing", found.repair)

    def __iter__(self) -> Iterator[KeptQuestion]:
        return iter(self.kept)

    def __len__(self) -> int:
        """The number of kept questions."""
        return len(self.kept)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"<Questions: {len(self)} kept>"


def _form(one: KeptQuestion) -> str:
    try:
        return form_of(Query(one.query))
    except QueryError as error:
        raise QueryError(f"{one.question}: {error}") from error
