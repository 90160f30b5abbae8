"""The verbs of curation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.history import Moment
from worlds.core.quads.namespaces import listed
from worlds.errors import ArgumentError
from worlds.extras.shapes.guard import GuardSetting
from worlds.verbs.invocation import setting, verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.core.history.diff import Diff
    from worlds.extras.conclusions.ruling import Rules
    from worlds.extras.curation.changing.shapes import Shapes
    from worlds.extras.curation.claims.verification import Verification
    from worlds.extras.curation.findings.findings import Findings
    from worlds.extras.curation.forms.form import Form
    from worlds.extras.curation.linking.link import Link
    from worlds.extras.curation.linking.links import Mentions
    from worlds.extras.shapes.report import ValidationReport


class Curating(Parts):
    """The verbs of curation."""

    @verb
    def mentions(self, text: object, *, types: object = None, where: object = None, graphs: object = None) -> Mentions:
        """Which entities a text names, by a label or an alias: where, and how surely, in the order of the text.

        Names are compared without regard to case, accents and punctuation. Of names that overlap the longest counts,
        whatever its type. Of its namesakes (of `types` and those that match the pattern `where`, if given) that one is
        meant of which most of the words around are said; `confidence` is that of `resolve`, by words. Instead of a text
        it takes a document, by its IRI or prefixed name: then the texts of its quads are read, without mentions of
        itself. Linear in the text; the names are read once, until the world changes. `graphs` are those that names are
        looked for in, as if there were no others.
        """
        among = self._core.searches.among(where)
        return self._linker.mentions(text, types, among).noting(self._core.searches.unknown(types=types))

    @verb
    def suggest_links(
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

        Accepting a proposal of several links keeps their rule in the graph <urn:worlds:links>, and `propose_all`
        accepts what it explains later. Links that were decided, and those of a rule that was, are not found again.
        """
        return self._suggesting.suggest(
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
        properties. A mention is a link where its confidence is at least `score`; see `mentions`. With `propose` the
        difference becomes one proposal, whose number is the change's.

        `w.policy = w.policy.with_(mentions=True)` keeps the links in step from then on: a write links its texts, those
        of its subjects, and at most 1,000 older texts for each new name, in its own revision. Writes of a scope are not
        followed. A change of what is said of namesakes is not followed either: call this again.
        """
        how = {"author": author, "message": message, "embed": embed, "dry_run": dry_run}
        return self._passages.link(types=types, score=score, propose=propose, **how)

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
        return self._verifier.verify(claim, extract, at)

    @property
    def rules(self) -> Rules:
        """The rules by which conclusions follow from the quads: `use`, `add` and `remove` set them, `why` explains.

        A world without rules concludes nothing. Conclusions are no quads: they are kept beside them, in step.
        """
        return self._rules

    @property
    def shapes(self) -> Shapes:
        """The world's own SHACL shapes, which `validate` and `guard` go by: `load`, `add` and `remove` write them.

        They are the graph <urn:worlds:shapes> of the world; setting the property loads what is given in their place.
        """
        return self._shapes

    @shapes.setter
    @setting
    def shapes(self, source: object) -> None:
        self._shapes.load(source, mode="replace")

    @property
    def guard(self) -> GuardSetting:
        """The treatment of a write that brings violations of the world's shapes; "off" in a new world.

        "warn" keeps it and says so in the change's `.notes`; "queue" changes nothing and proposes it (an empty change,
        whose note names the proposal); "reject" raises ValidationError, and nothing is changed. A write, or the whole
        of a transaction, is validated before it is kept, on the focus nodes that it can touch; what was violated before
        counts for nothing. Results of other severities than sh:Violation are notes. The setting is stored in the file;
        `transaction(guard=…)` comes before it.
        """
        return self._guard.setting

    @guard.setter
    @setting
    def guard(self, setting: GuardSetting) -> None:
        self._guard.put(setting)

    @verb
    def set_guard(self, setting: GuardSetting, *, partly: bool = False) -> None:
        """Set `guard`, which is refused (ShapesError) where some of the world's shapes cannot be checked.

        With `partly` it goes by the others, which `shapes.left_out` are not, now and later.
        """
        self._guard.put(setting, partly=partly)

    @verb
    def form(self, iri: object = None, *, types: object = None, language: str | None = None) -> Form:
        """Give the fields in which an entity is edited, or a new one is made: a `Form`.

        First come the fields that the world's shapes declare for the entity or its `types`, with cardinality, datatype,
        classes, choices, bounds, and the words of sh:name and sh:description; then what 300 other entities of these
        classes usually have, with the share that has it; then whatever else the entity has. Each field has its values,
        with the graphs and revisions that say them, and what the shapes find wrong with them. Labels in `language` come
        first. The form's `revision` is the `base` of a change (see `transaction`). ArgumentError without an entity and
        without a type.
        """
        kinds = [] if types is None else [self._core.namespaces.iri("types", one) for one in listed(types)]
        if iri is None and not kinds:
            raise ArgumentError("a form needs an entity, or the types of a new entity")
        entity = None if iri is None else self._core.redirects.follow([self._core.namespaces.entity(iri)])[0]
        return self._forms.form(entity, kinds, language)

    @verb
    def validate(
        self, *, subjects: Iterable[object] | None = None, shapes: object = None, timeout: float | None = None
    ) -> ValidationReport:
        """Validate the data against SHACL shapes: a `ValidationReport` of every violation, by shape and focus node.

        `shapes` is an rdflib graph or what `load` takes (a file, bytes, …); None takes the world's own, in its graph
        <urn:worlds:shapes>. What is validated is the union of all graphs of data. `subjects` are the only focus
        nodes then, of those that the shapes target. SHACL Core and SHACL-SPARQL are checked
        (https://www.w3.org/TR/shacl/), over sets of nodes. Shapes that are not well formed, refer to themselves, or ask
        for what is not checked are left out, and the report's `left_out` says why; ShapesError if none with a
        target are left, or given. It takes `timeout` seconds at most, 60 if none is given (QueryTimeout).
        """
        given = None if subjects is None else [self._core.namespaces.term(subject) for subject in subjects]
        return self._shape_checker.validate(given, shapes, timeout)
