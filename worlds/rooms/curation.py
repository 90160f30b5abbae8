"""The room of curation: findings, merges, links, claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.history import Moment, is_whole
from worlds.core.quads.namespaces import listed
from worlds.core.quads.reader import quad_ids
from worlds.errors import ArgumentError
from worlds.extras.curation.changing.entity_merge import Merge, Redirect, Split
from worlds.rooms.room import Room
from worlds.verbs.invocation import verb_of

if TYPE_CHECKING:
    from worlds.extras.curation.changing.decisions import Decision
    from worlds.extras.curation.changing.entity_merge import Rule
    from worlds.extras.curation.claims.verification import Verification
    from worlds.extras.curation.duplicates.finder import Duplicates
    from worlds.extras.curation.findings.findings import Finding, Findings
    from worlds.extras.curation.findings.report import WorldReport
    from worlds.extras.curation.linking.link_rules import Link

verb = verb_of("curation")
_MOST_POINTS = 100
_DIFFERENT = ox.NamedNode("http://www.w3.org/2002/07/owl#differentFrom")


class CurationRoom(Room):
    """The curation of a world: what is wrong or missing in it, and merges of entities."""

    _name = "curation"

    @verb
    def report(self, *, after: int | None = None, points: int = 0) -> WorldReport:
        """The health of a world on one page: gaps, contradictions and duplicates, as in ROBOT's report and qSKOS.

        Entities without a label, a type or a description, broken references, ill-typed literals, circles, labels that
        several have, languages that some have no label in, unused classes and properties, predicates of nearly one
        name, …; contradictions of what is declared with their `causes`, violations of the world's shapes, and pairs
        that are likely one entity: each with its level, a count, examples, and the SPARQL query that gives all (over
        the union of all graphs). With `after`, a revision, such as that of the last report, `new` of a check is how
        many are found that were not there then; of shapes and duplicates it is None. With `points` the counts after so
        many earlier revisions are told, evenly apart; each takes as long as a report. `.fails("error")` says whether
        there is anything so grave; `to_markdown()`, `to_html()` and `to_dict()` give it as a document. All quads are
        read, in any graph but the world's own. Errors are those of `diff`.
        """
        if not is_whole(points) or points > _MOST_POINTS:
            raise ArgumentError(f"points must be a whole number from 0 to {_MOST_POINTS}, not {points!r}")
        return self._world._reporter.report(self._core.namespaces.prefixes, after=after, points=points)

    @verb
    def contradictions(
        self,
        *,
        suggested: bool = True,
        kinds: Iterable[str] | str | None = None,
        author: str | None = None,
        entity: object = None,
        graphs: object = None,
        after: int | None = None,
        limit: int | None = 1000,
    ) -> Findings[Finding]:
        """Find contradictions: `Findings`, the gravest first, each with its quads and their sources.

        By what OWL, RDF Schema and SKOS declare (functional properties, disjoint classes, cardinalities, domains,
        ranges, datatypes, circles, …), with what follows from the hierarchies; by the world's own shapes; and, with
        `suggested`, by what the data themselves suggest: a second value where nearly all subjects have one, numbers and
        dates far from all others, values of another kind, class or form, dates in an impossible order. Nothing is
        found in what is only missing. `kinds` narrows the findings to these kinds (ArgumentError for one that there is
        not), `author` to those with a quad that this author wrote, `entity` to those about it, `graphs` to those with a
        quad in one of them, `after` to those with a quad that was added after this revision. At most `limit` findings
        of a kind are given, None for all; `.counts` has how many there are, and `.causes` what several have in common.
        All quads are read, in any graph but the world's own.
        """
        about = None if entity is None else self._core.namespaces.entity(entity)
        return self._world._contradictions.find(
            suggested=suggested,
            kinds=[kinds] if isinstance(kinds, str) else kinds,
            author=author,
            entity=about,
            graphs=None if graphs is None else [self._core.namespaces.graph(one) for one in listed(graphs)],
            after=after,
            limit=limit,
            prefixes=self._core.namespaces.prefixes,
        )

    @verb
    def duplicates(
        self,
        *,
        types: object = None,
        where: object = None,
        graphs: object = None,
        between: tuple[object, object] | None = None,
        score: float = 0.5,
        limit: int | None = 1000,
        keep: object = None,
        again: bool = False,
    ) -> Duplicates:
        """Pairs of entities that may be one, the likeliest first, with the evidence for and against each.

        All entities that have a name or a type are compared, or those of `types` (and the classes below), those that
        match the pattern `where` (as in `search`), those that `graphs` say something of, or those of one graph with
        those of another, `between` the two. Pairs of a lower score than `score` are left out: it orders them, and is no
        probability, since data of a new kind contradict it.
        Names count as sets of words
        ("Armstrong, Neil", "I.B.M."), with initials, abbreviations and misspellings; shared values count by how rare
        they are, different ones by how rarely the values of one thing differ. Only entities that have something in
        common are compared at all. `between` two graphs an entity has one twin at most, so that its candidates share
        what is likely. Pairs that owl:sameAs joins do not come again; and only with `again` those that were decided to
        be two: by owl:differentFrom (see `distinct`), a rejected proposal or a `split`. `.clusters()` puts together
        what pairs hold together.

        `action` of a pair says what to do with it, and `keep` which entity stays, first of its `subjects`, in all pairs
        alike: "links", that which more links lead to; "older"; or a graph or a scheme, that which it has. Without it,
        `between` graphs it is the first one's, else "links".

        A pair has a `probability` once 30 proposals of duplicates were decided in this world, five accepted and five
        rejected at least: the score on the scale that agrees best with the decisions (Platt 1999). `.learned` is how
        many there were, 0 for too few.
        """
        if between is not None and len(between) != 2:
            raise ArgumentError(f"between must be a pair of graphs, not {between!r}")
        return self._world._duplicates.find(
            types=None if types is None else [self._core.namespaces.term(one) for one in listed(types)],
            graphs=None if graphs is None else [self._core.namespaces.graph(one) for one in listed(graphs)],
            between=None if between is None else (*map(self._core.namespaces.graph, between),),  # type: ignore[arg-type]
            score=score,
            keep=self._kept(keep, between),
            limit=limit,
            prefixes=self._core.namespaces.prefixes,
            again=again,
            among=self._core.searches.among(where),
        )

    def _kept(self, keep: object, between: tuple[object, object] | None) -> object:
        """The rule that decides which entity of a pair stays: a word, or the term of a graph or scheme."""
        given = keep if keep is not None else "links" if between is None else between[0]
        return given if given in ("links", "older") else self._core.namespaces.graph(given)

    @verb
    def decisions(self) -> list[Decision]:
        """The decisions of people on pairs of entities, oldest first: that they are the same, or differ.

        Decided proposals to merge, merges without a proposal, and what `distinct` and `split` keep apart. What `undo`
        took back is not there.
        """
        from worlds.core.quads.redirects import REDIRECTS
        from worlds.extras.curation.changing.decisions import decisions

        with self._core.connection.snapshot():
            redirects = self._core.provenances.of((None, None, None), REDIRECTS)
            different = self._core.provenances.of((None, _DIFFERENT, None), None)
            return decisions(self._core.connection, redirects, different)

    @verb
    @rehearsable(Change)
    def distinct(
        self,
        a: object,
        b: object,
        *,
        graph: object = "default",
        author: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Keep the decision that two entities are two: an owl:differentFrom between them, in `graph`.

        `duplicates` does not give the pair again, and `contradictions` says where something makes them one. ValueError
        for an entity and itself.
        """
        one, other = self._core.namespaces.entity(a), self._core.namespaces.entity(b)
        if one == other:
            raise ArgumentError(f"{a!r} is not distinct from itself")
        quad = ox.Quad(one, _DIFFERENT, other, self._core.namespaces.graph(graph))
        with self._core.writer.revision(author=author, message=message, dry_run=dry_run) as revision:
            revision.apply(added=quad_ids(self._core.connection, self._core.dictionary, [quad]))
        return revision.change

    @verb
    def links(
        self,
        *,
        types: object = None,
        where: object = None,
        graphs: object = None,
        predicates: object = None,
        limit: int = 100,
        score: float = 0.5,
    ) -> Findings[Link]:
        """Links that are missing, the surest first: `Findings` of the kind "link", to review or to propose.

        A literal that is the name of an entity, under a predicate that leads other subjects to entities, should be
        that entity; where only a sibling does (`authorName` beside `author`), the link goes under this one and the
        literal stays. The entity is of a class that the predicate leads to. And a text that names an entity which its
        subject is not joined with should link to it, by the predicate that does so mostly, else schema:mentions.

        Links that one rule explains are one finding, with its `support`, `examples` and `exceptions`: a context in
        which such links exist, as texts about films that name a person after "directed". Each has the `subject`,
        `predicate` and `object` of the surest link, a `score` that is no probability (none below `score`), the `text`
        with `start` and `end`, the quad that it stands in, and why. `types` and `where` (a pattern over ?subject, as in
        `search`) narrow the entities, `graphs` and `predicates` the quads that are looked at. At most `limit` findings
        are given; some thousands suffice to stop.

        Accepting a proposal of several links keeps their rule in the graph <urn:worlds:links>, and `proposals.add_all`
        accepts what it explains later. Links that were decided, and those of a rule that was, are not found again.
        """
        return self._world._suggesting.suggest(
            types=types, graphs=graphs, predicates=predicates, limit=limit, score=score,
            among=self._core.searches.among(where),
        )  # fmt: skip

    @verb
    @rehearsable(Change)
    def link_texts(
        self,
        *,
        types: object = None,
        score: float = 0.5,
        propose: bool = False,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Link all texts to the entities that they name, as one revision, which `undo` takes back.

        A name is a label or an alias. The links are schema:mentions from the subject of a text, in the graph
        <urn:worlds:mentions>, which is made anew as a whole: searches by `Ranking(related=True)` and `context` walk
        along them.
        `types` are classes whose instances are linked, else the policy's `mentions`, else all entities but classes and
        properties. A mention is a link where its confidence is at least `score`; see `entities.mentions`. With
        `propose` the difference becomes one proposal, whose number is the change's.

        `w.policy = w.policy.with_(mentions=True)` keeps the links in step from then on: a write links its texts, those
        of its subjects, and at most 1,000 older texts for each new name, in its own revision. Writes of a scope are not
        followed. A change of what is said of namesakes is not followed either: call this again.
        """
        how = {"author": author, "message": message, "embed": embed, "dry_run": dry_run}
        return self._world._passages.link(types=types, score=score, propose=propose, **how)

    @verb
    def verify(
        self,
        claim: object,
        *,
        extract: Callable[[str], Iterable[object]] | None = None,
        at: Moment | None = None,
        graphs: object = None,
    ) -> Verification:
        """Whether a claim holds: "supported", "contradicted" or "unknown", with what speaks for and against it.

        `claim` is a triple (terms, prefixed names, or the names of entities), or words, which `extract` turns into
        triples; without it, words bring passages alone. A triple is supported if it is said, or follows from what is
        said by declared hierarchies, inverses, symmetry, transitivity, domains and ranges. It is contradicted only by a
        rule that the world has: functional and inverse functional properties, cardinalities, disjoint classes and
        properties, domains, ranges and datatypes, asymmetry, irreflexivity, identity, negative assertions, shapes;
        never by what is missing. Two IRIs are two things, unless owl:sameAs joins them. What is both said and
        contradicted is unknown.

        The answer has all quads with the revisions that added them, the ways that were gone, what was read and not
        cited, and what could not be decided. It is that of the world after revision `at` (a time, too), None for now.
        `graphs` are those that speak for or against it, as if there were no others.
        """
        return self._world._verifier.verify(claim, extract, at)

    @verb
    @rehearsable(Merge)
    def merge(
        self,
        kept: object,
        *others: object,
        redirect: Redirect = "owl:sameAs",
        conflicts: Rule | None = None,
        author: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Merge | Diff:
        """Let `kept` take the place of the others in every quad: in all graphs and positions, triple terms too.

        Labels become other names (skos:altLabel, or what the world has most), but one in a language in which `kept` has
        none. What linked the entities to one another goes. The old names lead on: the graph <urn:worlds:redirects> gets
        `old redirect kept`, and `describe`, `resolve`, `entities.similar` and the filters `subjects` and `types`
        follow it.

        A property that is functional (by owl:FunctionalProperty, sh:maxCount 1, or nearly all its subjects in the data)
        and now has several values is a conflict: with "report" all stay, with "kept" those of `kept`, with "newest"
        the one that was added last; with "refuse" it is a ConflictError. The change tells them all, in `.conflicts` and
        in its notes; a Diff has the notes. What would close a circle of a transitive or hierarchical predicate, and
        entities that are declared to be different or are of disjoint classes, are a ConflictError unless `conflicts`
        is given: the Diff of a dry run says so before. ArgumentError if an entity to be merged is in no quad. `undo`
        takes a merge back as long as nothing changed since, `split` also later.
        """
        one, *more = (self._core.namespaces.entity(entity) for entity in (kept, *others))
        return self._world._merging.merge(
            one, more, redirect=redirect, conflicts=conflicts, author=author, message=message, dry_run=dry_run
        )

    @verb
    @rehearsable(Split)
    def split(
        self, revision: Moment, *, author: str | None = None, message: str | None = None, dry_run: bool = False
    ) -> Split | Diff:
        """Take a merge back that was made by `revision`, whatever has changed since.

        Each quad that the merge rewrote is as it was before, unless what became of it was removed since. What was added
        to the kept entity since stays there, and is listed in the change's `.unassigned`. ConflictError if the
        merge was taken back already, or the kept entity was itself merged into another since; ArgumentError for a
        revision that merged nothing. Other errors are those of `diff`.
        """
        revision = self._core.history.check(revision)
        return self._world._merging.split(revision, author=author, message=message, dry_run=dry_run)
