"""Which entity a name means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.entities.limits import check_limit
from worlds.entities.names import Candidate, Named, Resolution, nearest, outcome, ranked, readings, words
from worlds.errors import EmbedderError
from worlds.graph.terms import to_rdflib
from worlds.quads.dictionary import Dictionary
from worlds.quads.redirects import Redirects
from worlds.search.engine import Searches
from worlds.search.words import STOP_WORDS
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore
from worlds.texts.facts import Facts

_NOBODY = "No entity has such a name: try `search`, which also reads descriptions."
_UNLIKELY = "No entity is likely to be meant: the best has a confidence of {:.2f}."
_HITS = 50  # of each search for names
_INITIALS = 6  # capitals that may stand apart, as in I.B.M.
_COMPARED = 20  # candidates that are looked at closely


class Resolver:
    """Finds the entities of one world by their names."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore, searches: Searches) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._searches = searches
        self._redirects = Redirects(connection, dictionary)
        self._facts = Facts(connection, dictionary)

    def resolve(
        self,
        name: str,
        *,
        context: str | None,
        types: object,
        graphs: object,
        limit: int,
        exclude: object = None,
    ) -> Resolution:
        """See `World.resolve`."""
        for what, text in (("name", name), ("context", context)):
            if not isinstance(text, str) and not (what == "context" and text is None):
                raise TypeError(f"{what} is a str, not {text!r}")
        check_limit(limit)
        with self._connection.snapshot():
            sought, close = self._compared(name, context=context, types=types, graphs=graphs, exclude=exclude)
            notes = self._searches.unknown(types=types, graphs=graphs)
        found = [candidate for _, candidate in ranked(sought, close)]
        meant = outcome(sought, close, found)
        if meant == "no match" and not notes:
            notes = (_UNLIKELY.format(found[0].confidence) if found else _NOBODY,)
        return Resolution(name, meant, tuple(found[:limit]), notes)

    def candidates(
        self, name: str, *, context: str | None = None, types: object = None, graphs: object = None
    ) -> list[tuple[tuple[float, ...], Candidate]]:
        """The candidates for a name, the likeliest first, each with its features."""
        return ranked(*self._compared(name, context=context, types=types, graphs=graphs))

    def _compared(
        self, name: str, *, context: str | None, types: object, graphs: object, exclude: object = None
    ) -> tuple[str, list[Named]]:
        """The name as it is compared, and the entities that have one like it."""
        read = readings(name)
        if not read[0]:
            return "", []
        without = {} if exclude is None else {"exclude": {"subjects": exclude}}
        named = self._named(name, read, types=types, graphs=graphs, **without)
        every = list(named.values())
        sought = read[0]
        if len(read) > 1 and every:
            sought = max(read, key=lambda reading: nearest(reading, every, 1)[0].spelling)
        near = nearest(sought, every, _COMPARED)
        by_meaning = sorted(every, key=lambda one: -(one.similarity or 0.0))[: _COMPARED // 4]
        for one in by_meaning:
            one.compare(sought)
        numbers = {id(one): number for number, one in named.items()}
        terms = self._dictionary.terms(numbers[id(one)] for one in (*near, *by_meaning))
        for one in (*near, *by_meaning):
            one.subject = to_rdflib(terms[numbers[id(one)]])
        near.sort(key=lambda one: (-one.spelling, -(one.similarity or 0.0), str(one.subject)))
        close = list({id(one): one for one in (*near[:_COMPARED], *by_meaning)}.values())
        self._learn_facts({numbers[id(one)]: one for one in close}, context)
        if any(one.similarity is not None for one in close):
            self._learn_cosines(close, name, graphs=graphs)
        return sought, close

    def _named(self, name: str, read: Sequence[str], **filters: Any) -> dict[int, Named]:
        """The entities with names like the one sought, by words, by beginnings of words, and by meaning: by their ids.

        They are not compared yet, and have no subject.
        """
        policy = self._chunks.policy
        sought = [*read, " ".join(name)] if name.isalpha() and name.isupper() and len(name) <= _INITIALS else read
        phrases = " OR ".join('"' + reading.replace('"', " ") + '"' for reading in sought)
        beginnings = " OR ".join(f'"{word[:3]}"*' for word in read[-1].split()[:8] if len(word) > 3)
        asked: list[tuple[str, dict[str, Any]]] = [
            (name, {"fusion": "rrf"}),
            (phrases, {"mode": "text", "syntax": "fts5"}),
        ]
        if beginnings:
            asked.append((beginnings, {"mode": "text", "syntax": "fts5", "limit": 4 * _HITS, "candidates": 4 * _HITS}))
        options = {"limit": _HITS, "predicates": policy.predicates("label", "alias"), **filters}
        passages = [one for text, more in asked for one in self._searches.passages(text, **{**options, **more})]
        terms = self._dictionary.terms({number for one in passages for quad in one.quads for number in quad[1:3]})
        found: dict[int, Named] = {}
        for similarity, quads in passages:
            for subject, predicate, literal, _ in quads:
                one = found.setdefault(subject, Named(None, None, ()))
                one.names.add((terms[literal].value, policy.role(terms[predicate].value)))
                if similarity is not None:
                    one.near(similarity)
        return self._merged(found)

    def _merged(self, found: Mapping[int, Named]) -> dict[int, Named]:
        """The entities, those that were merged into others as these."""
        leads = self._redirects.of(found)
        merged: dict[int, Named] = {}
        for number, one in found.items():
            kept = merged.setdefault(leads.get(number, number), one)
            if kept is not one:
                kept.names |= one.names
                if one.similarity is not None:
                    kept.near(one.similarity)
        return merged

    def _learn_facts(self, named: Mapping[int, Named], context: str | None) -> None:
        """The labels and types of each, and what share of the context's words are said of it."""
        wanted = {word for word in words((context or "").casefold()) if word not in STOP_WORDS}
        labels, kinds = self._facts.labels_and_types(self._chunks.policy, named)
        terms = self._dictionary.terms({kind for group in kinds.values() for kind in group})
        for number, one in named.items():
            one.types = tuple(to_rdflib(terms[kind]) for kind in kinds.get(number, ()))
            if number in labels:
                one.label = labels[number].label
            if wanted:
                said = self._words_about(number)
                one.context = len(wanted & said) / len(wanted)

    def _learn_cosines(self, named: Sequence[Named], name: str, *, graphs: object) -> None:
        """The cosine of each whose name was found by its words alone."""
        unknown = {one.subject: one for one in named if one.similarity is None}
        if not unknown:
            return
        predicates = self._chunks.policy.predicates("label", "alias")
        wanted: dict[str, Any] = {
            "subjects": list(unknown),
            "predicates": predicates,
            "graphs": graphs,
            "limit": len(unknown),
        }
        try:
            near = self._searches.run(name, mode="vector", group_by="subject", explain=True, **wanted)
        except EmbedderError:  # as an endpoint can, though it answered a moment ago
            return
        for hit in near:
            unknown[hit.subject].near((hit.explain or {})["vector"].value)

    def _words_about(self, number: int) -> set[str]:
        """The words of what is said of an entity: its texts, and the labels of what it points to."""
        rows = self._facts.quads_by("quads_of_entities", [number])
        terms = self._dictionary.terms(set(rows[:, 2].tolist()))
        texts = [term.value for term in terms.values() if isinstance(term, ox.Literal)]
        others = [other for other, term in terms.items() if other and not isinstance(term, ox.Literal)]
        texts += [text.whole for text in self._facts.labels(self._chunks.policy, others).values()]
        return set(words(" ".join(texts).casefold()))
