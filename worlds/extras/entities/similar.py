"""Which entities are like one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worlds.core.core import Core
from worlds.core.search.hits import Hit, SearchResults
from worlds.core.search.options import DEFAULTS, MOST_CANDIDATES, spread
from worlds.core.search.request import SearchIdentity
from worlds.core.search.stages import Cursor, sent_cursor
from worlds.core.search.words import STOP_WORDS
from worlds.extras.entities.limits import check_limit
from worlds.extras.entities.names import words
from worlds.graph.terms import to_oxigraph
from worlds.sql import statements
from worlds.sql.bound_values import as_text

_SQL = statements("entities.sql")
_NEAREST = 100  # entities near one whose means are compared
_RANKING = ("boost", "decay", "diversity", "min_similarity", "per_subject", "rerank")
_FILTERS = ("types", "subclasses", "predicates", "graphs", "where")
_QUERY_WORDS = 60  # of an entity's texts, that others are sought by


class SimilarEntities:
    """Compares the entities of one world by their texts."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def find(self, iri: Any, *, limit: int, **options: Any) -> SearchResults:
        """See `World.entities.similar`."""
        check_limit(limit)
        exclude = dict(options.pop("exclude", None) or {})
        subjects = exclude.get("subjects", ())
        others = list(subjects) if isinstance(subjects, (list, tuple, set, frozenset)) else [subjects]
        given = {**options, "limit": limit, "exclude": {**exclude, "subjects": [*others, iri]}}
        if given.get("group_by") is None:
            given["group_by"] = "subject"
        number = self._core.dictionary.find([iri])[0]
        embedded = self._core.connection.meta("embedder") is not None
        mean = self._mean(number) if embedded and options.get("mode") != "text" else None
        text = "" if number is None or mean is not None else self._words_of(number)
        if mean is None:
            found = self._core.searches.run(text, **{**given, "mode": "text"})
        elif _is_ranked(options):  # who ranks otherwise gets that ranking
            found = self._core.searches.run("", **{**given, "mode": "vector", "vector": mean})
        else:
            found = self._by_means(iri, {**given, "mode": "vector", "vector": mean}, mean)
        notes = self._core.searches.unknown(**{name: options.get(name) for name in _FILTERS})
        if not found and options.get("cursor") is None and not notes:
            name = self._core.searches.notes.short(iri)
            if self._core.searches.unknown(subjects=iri):
                notes = (f"{name} is not an entity of this world.",)
            elif mean is None and not text:
                notes = (f"{name} has no text to compare.",)
            else:
                notes = (f"No other entity has texts like those of {name}: try `search` with its label.",)
        return found.noting(notes)

    def _mean(self, number: int | None) -> NDArray[np.float32] | None:
        """The mean of the vectors of an entity's texts, of unit length; None without any, or a direction."""
        rows = [] if number is None else self._core.connection.rows(_SQL["vectors_of_entity"], (number,))
        if not rows:
            return None
        mean = np.frombuffer(b"".join(blob for (blob,) in rows), dtype="<f4").reshape(len(rows), -1).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length > 0 else None

    def _by_means(self, iri: Any, options: dict[str, Any], mean: NDArray[np.float32]) -> SearchResults:
        """The entities whose own mean is nearest: else short labels would be near everything.

        The entities with the nearest texts are taken `_NEAREST` at a time, and ordered by their means within these.
        """
        limit, cursor = options["limit"], options.pop("cursor", None)
        fixed = ("limit", "vector", "explain", *_RANKING)
        asked = {name: value for name, value in spread(options).items() if name not in fixed and value is not None}
        digest = SearchIdentity("similar", str(iri), sorted(asked.items())).digest
        given = Cursor() if cursor is None else sent_cursor(cursor, digest)
        needed = -(-(limit + len(given.keys)) // _NEAREST) * _NEAREST
        near = self._core.searches.run("", **{**options, "limit": max(limit, min(needed, MOST_CANDIDATES))})
        numbers = self._core.dictionary.find([to_oxigraph(hit.subject) for hit in near])
        ranked: list[tuple[int, float, int, Hit]] = []
        for place, (hit, number) in enumerate(zip(near, numbers, strict=True)):
            other = None if number is None or given.of(number) else self._mean(number)
            if number is not None and other is not None:
                score = min(float(mean @ other), 1.0)
                ranked.append((place // _NEAREST, -score, number, replace(hit, score=score)))
        ranked.sort(key=lambda item: item[:2])
        page = ranked[:limit]

        def following(count: int) -> str:
            return Cursor([*given.keys, *((number, 0) for _, _, number, _ in page[:count])]).text(digest)

        more = bool(page) and (len(ranked) > limit or len(near) == needed)
        return SearchResults([hit for *_, hit in page], near.explain, lambda: near.facets, following, more=more)

    def _words_of(self, number: int) -> str:
        """The words of an entity's texts, as a query."""
        rows = self._core.connection.rows(_SQL["texts_of_entity"], (number,))
        texts = [as_text(text) for (text,) in rows]
        found = dict.fromkeys(word for text in sorted(texts, key=len) for word in words(text))
        return " ".join([word for word in found if word.casefold() not in STOP_WORDS][:_QUERY_WORDS])


def _is_ranked(options: Mapping[str, Any]) -> bool:
    """Whether options of a search ask for more than the nearest."""
    given = {name: value for name, value in spread(options).items() if name in _RANKING}
    return any(value is not None and value is not False and value != DEFAULTS[name] for name, value in given.items())
