"""The parts of a world: each is made once, and given to the parts that need it.

What opening, writing and searching use is made when the world is opened; the rest, with its modules, when a verb asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import DEFAULT_GRAPH
from worlds.errors import ReadOnlyError
from worlds.extras.conclusions.following import Conclusions
from worlds.extras.curation.linking.passages import PassageLinks
from worlds.extras.facts.spans import Validity
from worlds.extras.shapes.guard import Guard
from worlds.extras.sources.store import Ownership, SourceStore
from worlds.looks.look import Look
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    from worlds.core.history.diff import Diff
    from worlds.extras.conclusions.ruling import Rules
    from worlds.extras.curation.changing.entity_merge import EntityMerging
    from worlds.extras.curation.changing.proposals import Proposals
    from worlds.extras.curation.changing.shapes_graph import Shapes
    from worlds.extras.curation.claims.claim_check import Verifier
    from worlds.extras.curation.claims.named_facts import Teller
    from worlds.extras.curation.claims.objections import Joining
    from worlds.extras.curation.duplicates.finder import DuplicateFinder
    from worlds.extras.curation.findings.contradictions import Contradictions
    from worlds.extras.curation.findings.report import Reporter
    from worlds.extras.curation.forms.form_builder import Forms
    from worlds.extras.curation.linking.links import Linker
    from worlds.extras.curation.linking.suggesting import Suggesting
    from worlds.extras.entities.context import Contexts
    from worlds.extras.entities.descriptions import Describer
    from worlds.extras.entities.disambiguation import Resolver
    from worlds.extras.entities.label_order import Ordering
    from worlds.extras.entities.members import Listing
    from worlds.extras.entities.neighbours import Neighbours
    from worlds.extras.entities.new_iris import Minting
    from worlds.extras.entities.schema import Schema
    from worlds.extras.entities.similar import SimilarEntities
    from worlds.extras.entities.tree_moves import Moving
    from worlds.extras.entities.trees import Trees
    from worlds.extras.facts.assertions import Stating
    from worlds.extras.facts.timeline import Timelines
    from worlds.extras.memory.files import Memories
    from worlds.extras.memory.memory import Memory
    from worlds.extras.questions.brief import Briefs
    from worlds.extras.questions.nearest import Nearest
    from worlds.extras.questions.question_store import Questions
    from worlds.extras.questions.question_terms import Answers
    from worlds.extras.shapes.world_validation import ShapeChecker
    from worlds.extras.sources.source_sync import Syncing
    from worlds.extras.sources.tables.export import Editing
    from worlds.extras.sources.tables.tabular import TableSources
    from worlds.graph.query.query import Query


_PREDICATES = 10_000  # that a table's columns are compared with


def part(home: str, *needs: str) -> Any:
    """A part that is made on first use from the core and the parts that it needs: "module:Class", in extras."""
    module, _, kind = home.partition(":")

    def made(parts: Parts) -> Any:
        make = getattr(import_module(f"worlds.extras.{module}"), kind)
        return make(parts._core, *(attrgetter(need)(parts) for need in needs))

    return cached_property(made)


class Parts:
    """The parts of a world, which its verbs call."""

    def __init__(self, core: Core, look: Look) -> None:
        """`look` says how the world of the `core` is looked at."""
        self._core = core
        self._validity = Validity(core)
        self._conclusions = Conclusions(core)
        self._ownership = Ownership(core.connection)
        self._guard = Guard(core, lambda: self._shape_checker)
        self._passages = PassageLinks(core, lambda: self._linker)
        for extension in (self._validity, self._ownership, self._guard, self._conclusions, self._passages):
            core.register(extension)
        self._look = look
        look.begin(self)

    if TYPE_CHECKING:

        def only(self, *, graphs: object) -> Any:
            """`World.only`."""

        query: Callable[..., Any]
        update: Callable[..., Any]
        edit: Callable[..., Any]
        diff: Callable[..., Diff]

        @property
        def proposals(self) -> Any:
            """`World.proposals`."""

    @property
    def _written(self) -> Connection:
        """The connection by which it is written."""
        return self._look.written

    def _sight(self) -> Any:
        """The world in which most verbs that read are asked first; None where it is this one."""
        return self._look.sight

    def _through(self, graphs: object) -> Any:
        """The world as seen through some of its graphs."""
        return self.only(graphs=graphs)

    @cached_property
    def _rules(self) -> Rules:
        from worlds.extras.conclusions.explaining import Explaining
        from worlds.extras.conclusions.ruling import Rules

        return Rules(self._core, self._conclusions, lambda: Explaining(self._core, self._conclusions), self._require)

    # -- sources --------------------------------------------------------------------------------------------------

    @cached_property
    def _source_store(self) -> SourceStore:
        return SourceStore(self._core.connection)

    @cached_property
    def _syncing(self) -> Syncing:
        from worlds.extras.sources.source_sync import Syncing

        return Syncing(self._core, self._source_store, self._ownership, lambda *given: self._tables.sources(*given))

    @cached_property
    def _tables(self) -> TableSources:
        from worlds.extras.sources.tables.mapping import Among
        from worlds.extras.sources.tables.tabular import TableSources

        core = self._core

        def best(name: str, among: Among) -> tuple[str, tuple[str, ...]] | None:
            one = self._resolver.resolve(name, context=None, graphs=None, limit=2, **among._asdict()).best
            return None if one is None else (str(one.iri), tuple(map(str, one.types)))

        def exists(iris: Sequence[str]) -> set[str]:
            terms = [ox.NamedNode(iri) for iri in iris if not set(iri) & set(' <>"{}|^`\\')]
            numbers = core.dictionary.find(terms)
            return {term.value for term, number in zip(terms, numbers, strict=True) if number is not None}

        return TableSources(core.namespaces, core.patterns, self._whole_schema, best, exists)

    _editing: Editing = part("sources.tables.export:Editing", "_tables")

    _memory: Memory | None = None
    """The memory whose world it is."""

    @cached_property
    def _memories(self) -> Memories:
        from worlds.extras.memory.files import Memories

        return Memories(self)

    def _memory_of(self, scope: object) -> Memory:
        """The memory of a scope, for whoever sees this world; see `World.memory`."""
        if self._memory is not None:
            return self._memory.within(scope, self)
        if not self._look.entire:
            raise ReadOnlyError(
                "memories need the whole present world, not a part of it or an earlier state", kind="scope"
            )
        return self._memories.of(scope)

    def _beside(self, path: str, *, make: bool) -> Any:
        """Another world, of the file at `path`, opened as this one was."""
        raise NotImplementedError

    def _require(self, what: str) -> None:
        """Refuse, with a ReadOnlyError, a verb or a setting that this view does not allow."""
        self._look.require(what)

    def _query(self, text: str, *, bindings: Mapping[str, object] | None, **how: Any) -> Query:
        """A query as this world asks it."""
        raise NotImplementedError

    _stating: Stating = part("facts.assertions:Stating", "_validity")

    @cached_property
    def _timelines(self) -> Timelines:
        from worlds.extras.facts.timeline import Timelines

        return Timelines(self._core, self._validity)

    def _whole_schema(self) -> Schema:
        """The overview of all graphs, of the commonest classes and predicates."""
        from worlds.extras.entities.schema import overview

        return overview(self._core, limit=_PREDICATES, graphs=None)

    def _propose_links(self, told: Iterable[Any], graph: object, author: str | None) -> str:
        """Propose the links of the names in tables that mean no entity for sure; gives the proposals' numbers."""
        from worlds.extras.sources.tables.quads import unsure_links

        core = self._core
        name = DEFAULT_GRAPH if graph is None else core.namespaces.graph(graph)
        trials = unsure_links(told, name, core.dictionary, core.patterns, self._resolver.resolve)
        return core.writer.propose(trials, author)

    # -- entities -------------------------------------------------------------------------------------------------

    _resolver: Resolver = part("entities.disambiguation:Resolver")

    @cached_property
    def _minting(self) -> Minting:
        from worlds.extras.entities.new_iris import Minting

        def resolve(label: str, types: object) -> Any:
            return self._resolver.resolve(label, context=None, types=types, graphs=None, exclude=None, limit=5)

        return Minting(self._core.dictionary, resolve)

    def _entity(self, value: object) -> Any:
        """The entity that a caller named, or the one that it was merged into."""
        return self._core.redirects.follow([self._core.namespaces.entity(value)])[0]

    _ordering: Ordering = part("entities.label_order:Ordering")
    _trees: Trees = part("entities.trees:Trees", "_ordering")
    _listing: Listing = part("entities.members:Listing", "_ordering", "_trees")
    _moving: Moving = part("entities.tree_moves:Moving", "_trees")
    _similar: SimilarEntities = part("entities.similar:SimilarEntities")
    _describer: Describer = part("entities.descriptions:Describer")
    _neighbours: Neighbours = part("entities.neighbours:Neighbours")
    _contexts: Contexts = part("entities.context:Contexts", "_neighbours")

    # -- questions ------------------------------------------------------------------------------------------------

    @cached_property
    def _answers(self) -> Answers:
        from worlds.extras.questions.question_terms import Answers

        ask = partial(self._query, bindings=None)
        return Answers(self._core, self._contexts.mentions, self._whole_schema, ask)

    _briefs: Briefs = part("questions.brief:Briefs", "_answers", "_nearest", "_contexts.cosines", "_neighbours.known")

    @cached_property
    def _questions(self) -> Questions:
        from worlds.extras.questions.question_store import Questions

        return Questions(self._core, self.query, lambda: self._nearest)

    @cached_property
    def _nearest(self) -> Nearest:
        from worlds.extras.questions.nearest import Nearest

        known = self._contexts.cosines, self._neighbours.known, self._resolver.called
        return Nearest(self._core, lambda: self._questions.kept, self._answers, *known)

    @cached_property
    def _teller(self) -> Teller:
        from worlds.extras.curation.claims.named_facts import Teller

        memory = self._memory
        wider = None if memory is None else memory.around
        namespace = None if memory is None else f"{memory.graph}#entity/"

        def resolve(name: str, **options: Any) -> Any:
            found = self._resolver.resolve(name, graphs=None, exclude=None, **options)
            return found if found.best is not None or wider is None else wider.resolve(name, **options)

        vocabulary = (self._answers if wider is None else wider._answers).vocabulary
        teller = None if wider is None else wider._teller
        return Teller(self._core, resolve, self._minting.mint, vocabulary, teller, namespace)

    # -- curation -------------------------------------------------------------------------------------------------

    @cached_property
    def _shape_checker(self) -> ShapeChecker:
        from worlds.extras.shapes.world_validation import ShapeChecker

        return ShapeChecker(self._core, lambda query: self._core.queries.rows(query))

    _shapes: Shapes = part("curation.changing.shapes_graph:Shapes", "_shape_checker")
    _merging: EntityMerging = part("curation.changing.entity_merge:EntityMerging", "_joining.merged")
    _joining: Joining = part("curation.claims.objections:Joining")

    @cached_property
    def _proposals(self) -> Proposals:
        from worlds.extras.curation.changing.proposals import Proposals

        return Proposals(self._core, self._merging, self._guard, against=self._joining.added)

    @cached_property
    def _contradictions(self) -> Contradictions:
        from worlds.extras.conclusions.explaining import Explaining, clashes
        from worlds.extras.curation.findings.contradictions import Contradictions

        core, conclusions = self._core, self._conclusions
        found = partial(clashes, conclusions, Explaining(core, conclusions))
        return Contradictions(core, self._shape_checker, self._validity, found)

    _duplicates: DuplicateFinder = part("curation.duplicates.finder:DuplicateFinder")
    _reporter: Reporter = part("curation.findings.report:Reporter", "_contradictions.by_shapes", "_duplicates.likely")
    _forms: Forms = part("curation.forms.form_builder:Forms", "_describer", "_shape_checker")
    _linker: Linker = part("curation.linking.links:Linker", "_neighbours")
    _suggesting: Suggesting = part("curation.linking.suggesting:Suggesting", "_neighbours", "_linker")

    @cached_property
    def _verifier(self) -> Verifier:
        from worlds.extras.curation.claims.claim_check import Verifier
        from worlds.extras.curation.claims.triples import ClaimReader

        return Verifier(self._core, ClaimReader(self._core, self._resolver))
