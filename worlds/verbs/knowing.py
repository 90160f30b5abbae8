"""The verbs of entities: resolve, similar, describe, context, neighbourhood, paths, schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from worlds.core.quads.namespaces import listed
from worlds.extras.entities.limits import check_limit
from worlds.graph.terms import to_rdflib
from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.core.search.options import Ranking
    from worlds.core.search.rerank import Reranker
    from worlds.extras.entities.context import Context
    from worlds.extras.entities.descriptions import Description
    from worlds.extras.entities.names import Resolution
    from worlds.extras.entities.schema import Schema


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
            from worlds.extras.questions.brief import answered

            return answered(question, self._nearest, self._contexts, self._briefs, options)
        return self._contexts.compose(question, **options)

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
