"""The room of facts: statements with their times."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.quads.dictionary import DEFAULT_GRAPH
from worlds.core.quads.namespaces import listed
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import NO_QUADS
from worlds.errors import ArgumentError, ConflictError, ValidationError
from worlds.extras.facts.times import present
from worlds.graph.terms import to_rdflib
from worlds.rooms.room import Room
from worlds.verbs.invocation import verb_of
from worlds.verbs.writing import QuadLike

if TYPE_CHECKING:
    from worlds.core.history.writer import Writing
    from worlds.extras.curation.claims.receipt import Fact, Receipt, ToldFact
    from worlds.extras.facts.assertions import Edit
    from worlds.extras.facts.timeline import DueFact, Timeline

verb = verb_of("facts")


class FactsRoom(Room):
    """The facts of a world in time: `state`, `tell` and `end` them; `due` and `carry_out` follow the calendar."""

    _name = "facts"

    @verb
    @rehearsable(Change)
    def state(
        self,
        subject: object,
        predicate: object,
        object: object,
        *,
        graph: object = None,
        valid_from: object = None,
        valid_to: object = None,
        cites: object = None,
        confidence: float | None = None,
        supersede: Literal["functional"] | Sequence[QuadLike] | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
    ) -> Change | Diff:
        """State a fact, as one revision: the quad is asserted, and a reifier (RDF 1.2) says when it began to hold.

        Times are dates, datetimes or ISO 8601 texts, of the policy's `time_zone` if they name none. With a `valid_to`
        that is past, or a `valid_from` to come, its reifier is written and nothing is asserted; one whose `valid_to` is
        to come is asserted. When a time comes, the fact is `due`, and `carry_out` makes it so. `cites` are IRIs or
        texts (dcterms:source), `confidence` is from 0 to 1 (itsrdf:taConfidence). The same call again changes nothing;
        another `valid_from` of a fact that holds takes the place of the one that was said.

        `supersede="functional"` ends the other value of a predicate that is declared to have one, when this one begins,
        else now; a list of quads names what ends. Where several other values hold, nobody can tell which ends: the
        change is a proposal (`.proposal`). ArgumentError for an end before the beginning, and for a beginning to come
        of what holds without an end.
        """
        (quad,) = self._core.namespaces.quads([(subject, predicate, object, graph)])
        cited = [self._core.namespaces.term(one) for one in ([] if cites is None else listed(cites))]
        with self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as writing:
            added, removed = self._world._stating.state(
                quad, valid_from=valid_from, valid_to=valid_to, cites=cited, confidence=confidence
            )
            others: list[ox.Quad] = []
            if supersede == "functional":
                others = self._world._stating.superseded(quad) if valid_to is None else []
            elif supersede is not None:
                others = self._core.namespaces.quads(supersede)
            for other in others:
                came, went = self._world._stating.end(other, valid_from, before=True)
                added, removed = added + came, removed + went
            unsure = supersede == "functional" and len(others) > 1 and not dry_run
            if not unsure:
                self._apply(writing, (added, removed))
        if not unsure:
            return writing.change
        proposal = self._world.proposals.add(
            add=added, remove=removed, kind="supersede", author=author, confidence=confidence,
            why=message or f"{len(others)} values of {quad.predicate.value} hold: does this one end all of them?",
        )  # fmt: skip
        assert isinstance(writing.change, Change)
        return dataclasses.replace(writing.change, proposal=proposal.id)

    @verb
    def tell(
        self,
        facts: Iterable[object],
        *,
        graph: object = None,
        context: str | None = None,
        vocabulary: Literal["known", "open"] = "known",
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
        scope: object = None,
    ) -> Receipt:
        """State facts by the names of things, and return the outcome of each: a `Receipt`, in their order.

        A fact is (subject, predicate, object), and maybe a mapping with "from", "to" (as `state` has valid_from and
        valid_to), "cites" and "confidence": `("Ann", "works at", "Acme", {"from": "2026-05"})`. A part in words is the
        name of an entity, as `resolve` finds it among those of the classes that the predicate has, with `context` as
        the text around it; of a predicate, by its label or the words of its IRI; or a value, in the datatype that the
        predicate has. IRIs, prefixed names and terms are what they are. `"is a"` gives a class by its label.

        What is sure is written, as one revision: names that mean an entity with at least 0.9, and predicates that have
        the name. A name that nobody has is a new entity, with label and class, by `policy.iris`. What is not sure is
        proposed with the likeliest, for somebody to decide; what cannot be read is refused. So is a predicate or class
        that the world does not have, unless `vocabulary` is "open". What violates the world's shapes is proposed, too.
        The same facts again change nothing. With `dry_run` nothing is written or proposed. With a `scope`, they are
        told in its `memory`: names mean entities of that or of the world, predicates are the world's, and what is new
        is named within the memory. The world's shapes do not see memories.
        """
        if scope is not None:
            receipt: Receipt = self._world._memory_of(scope).tell(
                facts, graph=graph, context=context, vocabulary=vocabulary, author=author, message=message,
                embed=embed, dry_run=dry_run,
            )  # fmt: skip
            return receipt
        if vocabulary not in ("known", "open"):
            raise ArgumentError(f"vocabulary must be 'known' or 'open', not {vocabulary!r}")
        place = self._core.namespaces.home or DEFAULT_GRAPH if graph is None else self._core.namespaces.graph(graph)
        told = self._world._teller.read(facts, context=context, open_=vocabulary == "open")
        sure = [one for one in told if one.triple is not None and not one.why]
        with self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as writing:
            fresh = self._tell(sure, place)
        became = [
            one.told("refused", place)
            if one.triple is None
            else one.told("written" if id(one) in fresh else "known", place)
            if not one.why
            else self._unsure(one, place, author, dry_run=dry_run)
            for one in told
        ]
        revision = writing.change.revision if isinstance(writing.change, Change) else None
        from worlds.extras.curation.claims.receipt import Receipt

        return Receipt(revision, tuple(became), tuple(writing.change.notes))

    def _tell(self, sure: list[Fact], graph: Any) -> set[int]:
        """Write facts, except ones that violate the shapes, which get the reason; returns the new ones, by id()."""
        while sure:
            try:
                with self._core.writer.revision() as writing:
                    fresh = {id(one) for one in sure if self._is_new(one, graph)}
                    fresh |= {id(one) for one in sure if self._told(writing, one, graph) and one.times}
                    if self._world._shapes:
                        self._world._guard.look(writing.number, writing.first_quad, "reject")
                    return fresh
            except ValidationError as error:
                foci = {str(one.focus) for one in error.report}
                wrong = [one for one in sure if foci & {str(to_rdflib(part)) for part in one.triple or ()}] or list(
                    sure
                )
                for one in wrong:
                    one.why.append(f"it violates the shapes: {error}")
                sure = [one for one in sure if one not in wrong]
        return set()

    def _is_new(self, fact: Fact, graph: Any) -> bool:
        assert fact.triple is not None
        return not (fact.times or len(self._core.patterns.matching(fact.triple, graph)))

    def _told(self, writing: Writing, fact: Fact, graph: Any) -> bool:
        """Write a fact; whether it was new."""
        before = writing.added
        self._apply(writing, self._edit(fact, graph))
        return writing.added > before

    def _edit(self, fact: Fact, graph: Any) -> Edit:
        quads = [ox.Quad(*triple, graph) for triple in fact.about]
        assert fact.triple is not None
        quad = ox.Quad(*fact.triple, graph)
        if not fact.times:
            return [*quads, quad], []
        cites = [self._core.namespaces.term(one) for one in listed(fact.times.get("cites") or [])]
        added, removed = self._world._stating.state(quad, **{**fact.times, "cites": cites})
        return quads + added, removed

    def _unsure(self, fact: Fact, graph: Any, author: str | None, *, dry_run: bool) -> ToldFact:
        """Propose a fact that is not sure."""
        added, removed = self._edit(fact, graph)
        known = [one.confidence for part in fact.unsure for one in part.candidates[:1]]
        if all(len(self._core.patterns.matching((one.subject, one.predicate, one.object), graph)) for one in added):
            fact.why.append("of the likeliest, that is known")
            return fact.told("refused", graph)
        number = None
        if not dry_run:
            with contextlib.suppress(ConflictError):  # it waits already, or was rejected
                number = self._world.proposals.add(
                    add=added, remove=removed, kind="tell", author=author, confidence=min(known, default=None),
                    why=f"{' '.join(fact.given)}: {'; '.join(fact.why)}",
                ).id  # fmt: skip
        return fact.told("proposed", graph, proposal=number)

    @verb
    @rehearsable(Change)
    def end(
        self,
        quad: QuadLike,
        *,
        at: object = None,
        reason: str | None = None,
        author: str | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """End a fact that holds, as one revision: the assertion goes, and its reifier says when; what it says stays.

        So SPARQL and search see the present without a filter. `at` is now, or a time; a day, month or year that is not
        over ends now. A fact that is to end stays asserted; when the end comes, it is `due`. `reason` is the message of
        the revision.
        ArgumentError for a quad that does not hold, and for an end before the beginning.
        """
        given = self._fact(quad)
        with self._core.writer.revision(author=author, message=reason, dry_run=dry_run) as writing:
            self._apply(writing, self._world._stating.end(given, at))
        return writing.change

    @verb
    @rehearsable(Change)
    def reinstate(
        self,
        quad: QuadLike,
        *,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Let a fact that was ended, or is to end, hold as if it were not: its last end is removed.

        What is to begin is still to begin.
        ArgumentError for a quad that holds, or was not ended.
        """
        given = self._fact(quad)
        with self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as writing:
            self._apply(writing, self._world._stating.reinstate(given))
        return writing.change

    def _fact(self, quad: QuadLike) -> ox.Quad:
        if not isinstance(quad, (ox.Quad, ox.Triple)) and not (isinstance(quad, (list, tuple)) and len(quad) in (3, 4)):
            raise ArgumentError(
                f"a fact must have a subject, a predicate, an object and optionally a graph, not {quad!r}"
            )
        return self._core.namespaces.quads([quad])[0]

    def _apply(self, writing: Writing, edit: Edit) -> None:
        added, removed = edit
        writing.looks_ahead(self._world._stating.first_ahead(added))
        gone = [
            self._core.patterns.matching((one.subject, one.predicate, one.object), one.graph_name) for one in removed
        ]
        writing.apply(quad_ids(self._core.connection, self._core.dictionary, added), np.concatenate([NO_QUADS, *gone]))

    @verb
    def timeline(self, iri: object) -> Timeline:
        """The facts of an entity over time: values with their intervals, gaps and overlaps."""
        entity = self._core.namespaces.entity(iri)
        with self._core.connection.snapshot():
            return self._world._timelines.of(entity)

    @verb
    def due(self) -> list[DueFact]:
        """The facts whose beginning or end has come, and is not carried out; the earliest first.

        Such a time was written before it came, and nobody has decided it since: what was asserted, removed or undone
        after it came stays as it is. In a scope, those of its graphs.
        """
        from worlds.extras.facts.timeline import due_facts

        with self._core.connection.snapshot():
            return due_facts(self._core.dictionary, self._world._validity.due(present()))

    @verb
    @rehearsable(Change)
    def carry_out(
        self, *, author: str | None = None, message: str | None = None, embed: bool = True, dry_run: bool = False
    ) -> Change | Diff:
        """Carry out what is due, as one revision: what has begun is asserted, and what has ended no longer is.

        Nothing is written because time has passed: until this is called, for instance every night, the present is what
        it was. Then it is as of now, in what has come due. Graphs that sources own are changed, too. Whatever a guard
        refuses stays due.
        """
        message = "what has come due is carried out" if message is None else message
        with (
            self._world._ownership.lifted(),
            self._look.whole._ownership.lifted(),
            self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as writing,
        ):
            due = self._world._validity.due(present())
            begun, ended = (
                np.array([one.quad for one in due if one.begins is begins], dtype=np.int64).reshape(-1, 4)
                for begins in (True, False)
            )
            writing.apply(begun, ended)
        return writing.change
