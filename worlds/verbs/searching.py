"""Search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from worlds.core.search.hits import RanStatement, SearchResults
from worlds.core.search.options import Ranking
from worlds.core.search.rerank import Reranker
from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    pass

_MOST_AROUND = 100  # neighbours of a passage on either side


class Searching(Parts):
    """Search."""

    @verb
    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        mode: Literal["hybrid", "vector", "text"] = "hybrid",
        subjects: object = None,
        predicates: object = None,
        types: object = None,
        subclasses: bool = False,
        graphs: object = None,
        sources: object = None,
        source_kinds: object = None,
        languages: object = None,
        where: str | None = None,
        exclude: Mapping[str, object] | None = None,
        syntax: Literal["words", "fts5"] = "words",
        vector: Sequence[float] | np.ndarray[Any, Any] | None = None,
        rerank: bool | str | Reranker | None = None,
        group_by: Literal["subject", "none"] | None = None,
        per_subject: int | None = None,
        cursor: str | None = None,
        facet: object = None,
        explain: bool = False,
        ranking: Ranking | None = None,
    ) -> SearchResults:
        """The chunks that best answer `text`, best first: by vectors, by words, or by both, fused.

        `ranking` has the rest of the options, on how the lists are made, fused and changed: see `worlds.Ranking`. An
        option that is None, there too, has the default of the world's own, which `worlds.open` was given or the policy
        has; `explain.defaults` tells them. Else `limit` is 10 and `per_subject` 1.

        **Filters** narrow what can be found before anything is ranked, so the answer has min(`limit`, eligible) hits
        however few they are (in mode "text", as many as have one of the words). Each takes one value or a list, any of
        which will do; all that are given must hold for one quad: `subjects`, `predicates`, `types` (with `subclasses`,
        those below them too), `graphs` ("default" is the default graph), `sources` by name, `source_kinds`
        ("documents", "rdf", "tables"), `languages` ("en" includes en-GB, "" is none), `where`, a SPARQL group pattern
        over ?subject. `exclude` maps the same names to what must not hold.
        `types`, `subclasses` and `where` read the union of all graphs, or those that `graphs` names.

        **Words**: all scripts; `"a phrase"`, `-without`, `prefix*`. `syntax="fts5"` hands the text to FTS5 as it is.
        **Vectors**: `vector`, float32 [d], takes the place of the text's own.

        **After fusion**, in this order: related texts; `rerank`, a cross-encoder (True, a name, a path, or what has
        `predict`); boosts, decay, diversity; `group_by="subject"`, at most `per_subject` hits a subject; `cursor`, of
        an earlier answer, gives the hits that follow.
        `facet` are predicates whose values `.facets` counts, beside types, predicates, graphs, languages and sources.
        `explain=True` tells for each hit what each list and stage did.

        Without an embedder that fits, "hybrid" degrades to "text" and says so in `.notes`, as does a cross-encoder that
        fails; "vector" is an EmbedderError, and so is a `vector` of another dimension than the world's. FilterError
        if a filter cannot be one, QueryError for a wrong FTS5 expression, ValueError for any other wrong option.
        """
        given = locals()  # each option is passed on by its name
        options = {name: value for name, value in given.items() if name not in ("self", "text")}
        return self._core.searches.run(text, noted=True, own=True, **options)

    @verb
    def search_sql(self, text: str, **options: Any) -> list[RanStatement]:
        """The SQL statements that a search runs, in their order: (step, SQL, parameters `?1 … ?N`) of each.

        The options are those of `search`. The step "statement" finds and fuses, "filter" and "plan" come before it,
        and "quads", "notes" and "hits" read what hits show. What the world has in memory runs no statement: filters
        that were asked before, and with many texts the lists of words. With `Ranking(plan="index", fusion="rrf")`,
        one statement finds and fuses, in worlds of every size.
        """
        return list(self._core.searches.run(text, noted=True, own=True, **options).explain.statements)
