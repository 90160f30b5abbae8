"""The verbs of entities: resolve, similar, describe, context, neighbourhood, paths, schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from worlds.core.quads.namespaces import listed
from worlds.errors import ArgumentError
from worlds.extras.entities.limits import check_limit
from worlds.graph.terms import to_rdflib
from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts, part

if TYPE_CHECKING:
    from worlds.core.search.hits import SearchResults
    from worlds.core.search.options import Ranking
    from worlds.core.search.rerank import Reranker
    from worlds.extras.entities.context import Context
    from worlds.extras.entities.descriptions import Description
    from worlds.extras.entities.names import Resolution
    from worlds.extras.entities.neighbours import Neighbourhood, Path
    from worlds.extras.entities.new_iris import Minted
    from worlds.extras.entities.schema import Schema
    from worlds.extras.questions.brief import Brief, Briefs
    from worlds.extras.questions.nearest import Nearest
    from worlds.extras.questions.question_store import Questions
    from worlds.extras.questions.question_terms import Answers


class Knowing(Parts):
    """The verbs of entities: resolve, similar, describe, context, neighbourhood, paths, schema."""

    @verb
    def resolve(
        self,
        name: str,
        *,
        context: str | None = None,
        types: object = None,
        where: object = None,
        graphs: object = None,
        exclude: object = None,
        limit: int = 5,
    ) -> Resolution:
        """Find the entity that a name means: a "match", "ambiguous", or "no match", with the likeliest candidates.

        `context` is the text around the name; `types`, `where` and `graphs` narrow the candidates as they do in
        `search`: `where="?subject skos:inScheme ex:colours"` to the concepts of a scheme. A
        candidate's confidence is the chance that it is meant, as measured on names whose meaning is known; the
        outcome is a match if the best has at least 0.75 and leads by 0.2, and none if it would have less than 0.3 even
        if it alone bore its name. A leading "the", "a" or "an" and titles ("Dr.") matter only where a name is nearer
        with them. `exclude` is an entity, or several, that are no candidates: so one's twin is found by its name, as
        if it were not there.
        """
        return self._resolver.resolve(
            name, context=context, types=types, graphs=graphs, exclude=exclude, limit=limit, where=where
        )

    @verb
    def resolve_all(
        self,
        names: Iterable[str | tuple[str, str | None]],
        *,
        types: object = None,
        where: object = None,
        graphs: object = None,
        limit: int = 5,
    ) -> list[Resolution]:
        """Resolve many names, each given alone or as (name, context); one `Resolution` for each, in their order."""
        if isinstance(names, str):
            raise TypeError(f"resolve_all takes many names, such as [{names!r}], not a str; resolve takes one")
        asked = [(item, None) if isinstance(item, str) else item for item in names]
        for item in asked:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise TypeError(f"a name must be a str, or a pair of a name and its context, not {item!r}")
        return self._resolver.resolve_all(asked, types=types, where=where, graphs=graphs, limit=limit)

    @verb
    def mint(self, label: str | None = None, *, type: object = None, key: str | None = None) -> Minted:
        """An IRI for an entity, by `policy.iris`: that of the one that is there, or a new one that nothing has.

        What the `label` means is resolved first, among entities of the `type`: a match is given, and what it may be is
        told in the notes. A new IRI that another entity has already gets a number behind it; one of a {key} is that of
        the entity with this key. Nothing is written: the IRI is taken once a quad has it. ArgumentError where the
        policy has no namespace, or its template asks for what is not given.
        """
        iris = self._core.chunks.policy.iris
        if not iris:
            told = "https://example.org/id/"
            raise ArgumentError(f"the policy has no namespace for new IRIs, such as iris={{'namespace': {told!r}}}")
        kind = None if type is None else self._core.namespaces.iri("type", type)
        return self._minting.mint(iris, label=label, type=kind, key=key)

    @verb
    def similar(self, iri: object, *, limit: int = 10, **options: Any) -> SearchResults:
        """Find entities like this one: one hit for each, the likest first, without the entity itself.

        They are compared by the means of the vectors of their texts: a score is their cosine. First come the 100 that
        have the nearest texts, ordered by it, then the next 100, and so on. Where the entity has no vectors, or with
        mode="text", they are compared by the words that they share. `options` are those of `search`, all filters and
        `cursor` among them; with stages after fusion or `min_similarity`, entities are ranked by their nearest text, as
        these ask.
        """
        return self._similar.find(self._entity(iri), limit=limit, **options)

    @verb
    def describe(
        self, iri: object, *, limit: int = 20, language: str | None = None, graphs: object = None
    ) -> Description:
        """Describe an entity: label, types, description, its triples and the triples that point to it.

        Of each predicate `limit` values are given, and their number; each value says in which graphs it is said, and
        which revision added it; `former` are the facts that have ended. Labels and the description in `language` come
        first. The description of an entity that the world does not know is empty, and false. The name of one that was
        merged into another means that one, here and in the other verbs that take an entity. With `graphs`, here and in
        the other verbs of entities, it is what a world says that holds those alone: see `only`.
        """
        entity = self._entity(iri)
        with self._core.connection.snapshot():
            told = self._describer.describe(entity, limit=limit, language=language)
            return replace(told, former=self._timelines.former(entity))

    @verb
    def labels(self, iris: Iterable[object], *, language: str | None = None) -> dict[str, str]:
        """The labels of entities, by their IRIs, as `describe` has them; entities without a label are left out."""
        terms = [self._core.namespaces.entity(iri) for iri in ([iris] if isinstance(iris, str) else iris)]
        with self._core.connection.snapshot():
            numbers = zip(self._core.dictionary.find(terms), terms, strict=True)
            known = {number: term for number, term in numbers if number is not None}
            found = self._core.facts.labels(self._core.chunks.policy, known, language=language)
        return {str(to_rdflib(known[number])): text.label for number, text in found.items()}

    @verb
    def context(
        self,
        question: str,
        *,
        budget: int = 2000,
        hops: int = 2,
        types: object = None,
        language: str | None = None,
        graphs: object = None,
        where: str | None = None,
        predicates: object = None,
        exclude: Mapping[str, object] | None = None,
        rerank: bool | str | Reranker | None = None,
        ranking: Ranking | None = None,
    ) -> Context:
        """The context of a question, for a language model: facts and passages in words, with numbers that cite quads.

        The entities are those that the question names, by a label, an alias or another short literal, and those that
        search finds; `types` narrows both. Of the facts up to `hops` (0, 1 or 2) from them, those are told that bear
        on the question most, by the words and the meaning of their predicates; the rest of the budget goes to
        passages. `.text` has at most `budget` tokens, at 3.5 bytes each. Labels in `language` come first. Of an entity
        with many quads some hundreds are looked at. `graphs` are those that it tells of, as if there were no others.
        `where` is a SPARQL group pattern over ?subject, which the entities that facts are told of first have to match;
        `predicates`, `exclude`, `rerank` and `ranking` are those of `search`, for what it finds.
        """
        options: dict[str, Any] = {"budget": budget, "hops": hops, "types": types, "language": language, "where": where}
        options |= {"predicates": predicates, "exclude": exclude, "rerank": rerank, "ranking": ranking}
        if types is None and where is None and predicates is None and exclude is None and isinstance(question, str):
            from worlds.extras.questions.answer_sentences import answered

            return answered(question, self._nearest, self._contexts, self._briefs, options)
        return self._contexts.compose(question, **options)

    @verb
    def brief(self, question: str, *, budget: int = 2000, graphs: object = None) -> Brief:
        """The brief for a model that writes the query of a question, in at most `budget` tokens of 3.5 bytes.

        These are the entities that the question names, with their classes; the classes and predicates that bear on it,
        by their names, by their meaning where there are vectors, and by the entities, with their ends, counts and
        examples; the prefixes of all these; and the query that is kept for it, or for those that are near. `graphs` are
        those that it tells of, as if there were no others.
        """
        return self._briefs.brief(question, budget)

    @verb
    def neighbourhood(self, iri: object, *, hops: int = 2, limit: int = 100, graphs: object = None) -> Neighbourhood:
        """The quads around an entity, in both directions, and the entities in them with their labels.

        The nearest come first; where there are more than `limit` quads, each predicate has its turn. A hop never goes
        through a class to all its instances. The neighbourhood of an unknown entity is empty, and false. `graphs` are
        those that are looked at, as if there were no others.
        """
        return self._neighbours.neighbourhood(self._entity(iri), hops=hops, limit=limit)

    @verb
    def paths(self, start: object, end: object, *, hops: int = 4, limit: int = 10, graphs: object = None) -> list[Path]:
        """The shortest ways between two entities, of `hops` steps at most, over quads in either direction.

        All have the same length; at most `limit` are given. A way never goes through rdf:type. `graphs` are those that
        are looked at, as if there were no others.
        """
        return self._neighbours.paths(self._entity(start), self._entity(end), hops=hops, limit=limit)

    @verb
    def schema(self, *, limit: int = 50, graphs: object = None, matching: str | None = None) -> Schema:
        """The schema of the data: classes, predicates, named graphs, languages, and the prefixes of these.

        Of classes, predicates and graphs the `limit` commonest are given, and their number. `graphs` looks at those
        alone ("default" is the default graph). With `matching`, it gives the
        classes and predicates that have these words in their IRIs or labels, and, where there are vectors, those whose
        names are near in meaning. A second and a half for a million quads.
        """
        from worlds.extras.entities.schema import MATCHED, overview

        names = None if graphs is None else [self._core.namespaces.graph(graph) for graph in listed(graphs)]
        found = overview(self._core, limit=MATCHED if matching else limit, graphs=names)
        if matching:
            check_limit(limit)
            found = found.matching(matching, self._contexts.cosines, limit)
        return replace(found, notes=self._core.searches.unknown(graphs=graphs), **self._rules.list().told)

    def _entity(self, value: object) -> Any:
        """The entity that a caller named, or the one that it was merged into."""
        return self._core.redirects.follow([self._core.namespaces.entity(value)])[0]

    @cached_property
    def _answers(self) -> Answers:
        from worlds.extras.questions.question_terms import Answers

        ask = partial(self._query, bindings=None)
        return Answers(self._core, self._contexts.mentions, self._whole_schema, ask)

    _briefs: Briefs = part("questions.brief:Briefs", "_answers", "_nearest", "_contexts.cosines", "_neighbours.known")

    @property
    def _questions(self) -> Questions:
        raise NotImplementedError

    @cached_property
    def _nearest(self) -> Nearest:
        from worlds.extras.questions.nearest import Nearest

        known = self._contexts.cosines, self._neighbours.known, self._resolver.called
        return Nearest(self._core, lambda: self._questions.kept, self._answers, *known)
