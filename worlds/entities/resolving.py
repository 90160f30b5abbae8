"""Which entity a name means."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyoxigraph as ox

from worlds.entities.apart import told_apart
from worlds.entities.limits import check_limit
from worlds.entities.names import (
    Candidate,
    Named,
    Resolution,
    nearest,
    normal,
    outcome,
    ranked,
    readings,
    spelt,
    ways,
    words,
)
from worlds.errors import EmbedderError
from worlds.graph.terms import to_oxigraph, to_rdflib
from worlds.quads.dictionary import Dictionary, hash_of, json_ids
from worlds.quads.redirects import Redirects
from worlds.search.engine import Passage, Searches
from worlds.search.words import STOP_WORDS
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore
from worlds.texts.facts import Facts
from worlds.texts.segmentation import segment

_SQL = statements("entities.sql")
_NOBODY = "No entity has such a name: try `search`, which also reads descriptions."
_UNLIKELY = "No entity is likely to be meant: the best has a confidence of {:.2f}."
_HITS = 50  # of each search for names
_INITIALS = 6  # capitals that may stand apart, as in I.B.M.
_COMPARED = 20  # candidates that are looked at closely
_MEANT = 5  # candidates by their meaning alone
_VALUES = 20_000  # of a predicate that are looked at
_FEW = 5  # values of a predicate of which nothing follows
_APART = 0.9  # the share of a predicate's values that are of one subject


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
        self, name: str, *, context: str | None, types: object, graphs: object, limit: int, exclude: object = None
    ) -> Resolution:
        """See `World.resolve`."""
        for what, text in (("name", name), ("context", context)):
            if not isinstance(text, str) and not (what == "context" and text is None):
                raise TypeError(f"{what} is a str, not {text!r}")
        check_limit(limit)
        with self._connection.snapshot():
            sought, close, known = self.compared(name, context=context, types=types, graphs=graphs, exclude=exclude)
            notes = self._searches.unknown(types=types, graphs=graphs)
            found = [candidate for _, candidate in ranked(sought, close, known)]
            meant = outcome(sought, close, found, known)
            shown = self._told_apart(found[:limit])
        if meant == "no match" and not notes:
            notes = (_UNLIKELY.format(found[0].confidence) if found else _NOBODY,)
        return Resolution(name, meant, tuple(shown), notes)

    def called(self, name: str) -> list[Any]:
        """The entities that have a name, but for case, accents and spacing: a label or an alias, else an identifier.

        Terms, ordered by their ids; none for a name that is only near.
        """
        text, read = spelt(name), readings(name)
        statement = _SQL["entities_called"]
        written = json.dumps([[hash_of(way), way] for way in ways(" ".join(name.split()))])
        with self._connection.snapshot():
            found = self._worded(name, read) if read[0] else {}
            roles = {number: {role for said, role in one.names if spelt(said) == text} for number, one in found.items()}
            naming = self._facts.numbers(self._chunks.policy.predicates("label", "alias"))
            rows = self._connection.rows(statement, statement.bind(spellings_json=written, most=_VALUES))
            named = {subject for _, subject, predicate in rows if predicate in naming}
            named |= {number for number, said in roles.items() if said - {"identifier"}}
            named = named or {number for number, said in roles.items() if said}
            leads = self._redirects.of(named)
            numbers = sorted({leads.get(number, number) for number in named})
            terms = self._dictionary.terms(numbers)
            return [terms[number] for number in numbers]

    def _told_apart(self, found: Sequence[Candidate]) -> list[Candidate]:
        """The candidates; those of one label with a fact that tells each from the others."""
        named: dict[str, list[Candidate]] = defaultdict(list)
        for one in found:
            named[(one.label or one.matched).casefold()].append(one)
        groups = [group for group in named.values() if len(group) > 1]
        if not groups:
            return list(found)
        iris = [to_oxigraph(one.iri) for group in groups for one in group]
        numbers = dict(zip(iris, self._dictionary.find(iris), strict=True))
        ids = [[number for one in group if (number := numbers[to_oxigraph(one.iri)]) is not None] for group in groups]
        told = told_apart(self._connection, self._dictionary, self._chunks.policy, ids)
        facts = {iri: told.get(number) for iri, number in numbers.items() if number is not None}
        return [replace(one, apart=facts.get(to_oxigraph(one.iri))) for one in found]

    def compared(
        self,
        name: str,
        *,
        context: str | None = None,
        types: object = None,
        graphs: object = None,
        exclude: object = None,
    ) -> tuple[str, list[Named], set[str]]:
        """The name as it is compared, the entities that have one like it, and its words that the world has."""
        read = readings(name)
        if not read[0]:
            return "", [], set()
        without = {} if exclude is None else {"exclude": {"subjects": exclude}}
        filters = {"types": types, "graphs": graphs, **without}
        named = self._merged(self._worded(name, read, **filters))
        every = list(named.values())
        sought = read[0]
        if len(read) > 1 and every:
            sought = max(read, key=lambda reading: nearest(reading, every, 1)[0].spelling)
        near = nearest(sought, every, _COMPARED)
        near.sort(key=lambda one: -one.spelling)
        meant = self._meant(name, **filters)
        for number, one in meant.items():
            if number in named and one.similarity is not None:
                named[number].near(one.similarity)
            elif number not in named and len(near) < _COMPARED + _MEANT:
                one.compare(sought)
                near.append(one)
        numbers = {id(one): number for number, one in (meant | named).items()}
        terms = self._dictionary.terms(numbers[id(one)] for one in near)
        for one in near:
            one.subject = to_rdflib(terms[numbers[id(one)]])
        worded = sorted((one for one in near if one.worded), key=lambda one: (-one.spelling, str(one.subject)))
        close = [*worded[:_COMPARED], *(one for one in near if not one.worded)]
        self._learn_facts({numbers[id(one)]: one for one in close}, context)
        if meant:
            self._learn_cosines(close, name, graphs=graphs)
        return sought, close, self._known(sought)

    def _known(self, sought: str) -> set[str]:
        """The words of a name that stand in some text of the world."""
        read = partial(segment, apart=self._chunks.policy.tokenizer != "trigram")
        asked = {word: '"' + (read(word) or word).replace('"', '""') + '"' for word in sought.split()}
        return {word for word, quoted in asked.items() if self._connection.row(_SQL["text_with_word"], (quoted,))}

    def _worded(self, name: str, read: Sequence[str], **filters: Any) -> dict[int, Named]:
        """The entities with names like the one sought, by words and by beginnings of words: by their ids.

        They are not compared yet, and have no subject.
        """
        policy = self._chunks.policy
        sought = [*read, " ".join(name)] if name.isalpha() and name.isupper() and len(name) <= _INITIALS else read
        phrases = " OR ".join('"' + reading.replace('"', " ") + '"' for reading in sought)
        beginnings = " OR ".join(f'"{word[:3]}"*' for word in read[-1].split()[:8] if len(word) > 3)
        fts: dict[str, Any] = {"syntax": "fts5"}
        asked: list[tuple[str, dict[str, Any]]] = [(name, {}), (phrases, fts)]
        if beginnings:
            asked.append((beginnings, {**fts, "limit": 4 * _HITS, "candidates": 4 * _HITS}))
        if identifying := self._identifying(name):
            asked.append((phrases, {**fts, "predicates": identifying}))
        options = {"mode": "text", "limit": _HITS, "predicates": policy.predicates("label", "alias"), **filters}
        found: dict[int, Named] = {}
        for text, more in asked:
            self._learn_names(found, self._searches.passages(text, **{**options, **more}), read[0])
        for one in found.values():
            one.worded = True
        return found

    def _learn_names(self, found: dict[int, Named], passages: Sequence[Passage], sought: str) -> None:
        """The names in passages: labels, aliases, and identifiers where they are the one sought."""
        policy = self._chunks.policy
        terms = self._dictionary.terms({number for one in passages for quad in one.quads for number in quad[1:3]})
        for similarity, quads in passages:
            for subject, predicate, literal, _ in quads:
                role, text = policy.role(terms[predicate].value), terms[literal].value
                if role not in ("label", "alias"):
                    role = "identifier"
                    if normal(text) != sought:
                        continue
                one = found.setdefault(subject, Named(None, None, ()))
                one.names.add((text, role))
                if similarity is not None:
                    one.near(similarity)

    def _identifying(self, name: str) -> list[Any]:
        """The predicates under which the name tells one thing from all others."""
        name = name.encode("utf-8", "replace").decode().replace("\0", " ").strip()
        literals = {literal for text in {name, name.upper()} for literal in self._dictionary.literals(text)}
        if not literals:
            return []
        known = set(self._facts.numbers(self._chunks.policy.predicates("label", "alias")))
        numbers = json_ids(number for number in self._dictionary.find(sorted(literals, key=str)) if number is not None)
        predicates = [number for (number,) in self._connection.rows(_SQL["predicates_of"], (numbers,))]
        chosen = [number for number in predicates if number not in known and self._tells_apart(number)]
        terms = self._dictionary.terms(chosen)
        return [terms[number] for number in chosen]

    def _tells_apart(self, predicate: int) -> bool:
        """Whether nearly all values of a predicate are of one subject each."""
        return self._connection.remembered(("tells apart", predicate), lambda: self._read_values(predicate))

    def _read_values(self, predicate: int) -> bool:
        quads, values = self._connection.rows(_SQL["values_told_apart"], (predicate, _VALUES))[0]
        return bool(quads >= _FEW and values >= _APART * quads)

    def _meant(self, name: str, **filters: Any) -> dict[int, Named]:
        """The entities with names near in meaning, the nearest first; none where there are no vectors."""
        predicates = self._chunks.policy.predicates("label", "alias")
        try:
            passages = self._searches.passages(name, mode="vector", limit=_HITS, predicates=predicates, **filters)
        except EmbedderError:  # there is none, or it failed
            return {}
        found: dict[int, Named] = {}
        self._learn_names(found, passages, "")
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
