"""The entity that a name means, and the facts that tell namesakes apart."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import Dictionary, hash_of, json_ids
from worlds.core.search.engine import RetrievedPassage
from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.policy import TextPolicy
from worlds.core.texts.segmentation import segment
from worlds.errors import EmbedderError
from worlds.extras.entities.limits import check_limit
from worlds.extras.entities.names import (
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
from worlds.graph.terms import RDF, local_name, to_oxigraph, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_FIRST = (RDF + "type", _SKOS + "inScheme", _SKOS + "broader")  # before other entities, these before texts
_LONGEST = 60  # characters of a value
_DISTINGUISHING = 2  # of a predicate that are told
_SQL = statements("entities.sql")
_NOBODY = "No entity has such a name: try `search`, which also reads descriptions."
_UNLIKELY = "No likely match: the best candidate has a confidence of {:.2f}."
_HITS = 50  # of each search for names
_INITIALS = 6  # capitals that may stand apart, as in I.B.M.
_COMPARED = 20  # candidates that are looked at closely
_TOGETHER = 50  # names whose texts are read at once
_MEANT = 5  # candidates by their meaning alone
_VALUES = 20_000  # of a predicate that are looked at
_FEW = 5  # values of a predicate of which nothing follows
_NOTATION = ox.NamedNode("http://www.w3.org/2004/02/skos/core#notation")  # of one concept of a scheme
_APART = 0.9  # the share of a predicate's values that are of one subject


def told_apart(
    connection: Connection, dictionary: Dictionary, policy: TextPolicy, groups: Sequence[Sequence[int]]
) -> Mapping[int, str]:
    """Entity → a fact that distinguishes it within its group, "country: France", if there is one.

    One predicate is chosen for a group: the one by which most of them differ.
    """
    statement = _SQL["properties_of"]
    rows = [
        (number, predicate, value)
        for group in groups
        for number in group
        for predicate, value, _ in connection.rows(statement, statement.bind(entity=number, limit=_DISTINGUISHING))
    ]
    terms = dictionary.terms({number for row in rows for number in row})
    labels = {number: text.label for number, text in Facts(connection, dictionary).labels(policy, terms).items()}
    naming = {*policy.predicates("label"), *policy.predicates("alias")}
    said: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    linked: set[int] = set()
    for subject, predicate, value in rows:
        if terms[predicate].value in naming:
            continue
        if isinstance(terms[value], ox.NamedNode):
            linked.add(predicate)
        shown = labels.get(value) or _shown(terms[value])
        said[predicate][subject].add(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…")
    found: dict[int, str] = {}
    for group in groups:
        best: tuple[int, int, str] | None = None
        chosen: dict[int, str] = {}
        for predicate, by_subject in said.items():
            values = {one: ", ".join(sorted(by_subject[one])) for one in group if one in by_subject}
            own = {one: text for one, text in values.items() if list(values.values()).count(text) == 1}
            iri = terms[predicate].value
            place = _FIRST.index(iri) if iri in _FIRST else len(_FIRST) + (predicate not in linked)
            key = (-len(own), place, iri)
            if own and (best is None or key < best):
                best, name = key, labels.get(predicate) or _words(iri)
                chosen = {one: f"{name}: {text}" for one, text in own.items()}
        found |= chosen
    return found


def _shown(term: object) -> str:
    """A literal as it is written, an IRI by its last part."""
    return term.value if isinstance(term, ox.Literal) else local_name(term)


def _words(iri: str) -> str:
    """The last part of an IRI, as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", local_name(iri)).lower()


class Resolver:
    """Finds the entities of one world by their names."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def resolve(self, name: str, *, context: str | None, **options: Any) -> Resolution:
        """See `World.resolve`."""
        return self.resolve_all([(name, context)], **options)[0]

    def resolve_all(
        self,
        asked: Sequence[tuple[str, str | None]],
        *,
        types: object,
        graphs: object,
        limit: int,
        exclude: object = None,
        where: object = None,
    ) -> list[Resolution]:
        """See `World.entities.resolve_all`: what names have in common is read once."""
        for name, context in asked:
            for what, text in (("name", name), ("context", context)):
                if not isinstance(text, str) and not (what == "context" and text is None):
                    raise TypeError(f"{what} must be a str, not {text!r}")
        check_limit(limit)
        found: list[Resolution] = []
        with self._core.connection.snapshot():
            notes = self._core.searches.unknown(types=types, graphs=graphs)
            for start in range(0, len(asked), _TOGETHER):
                some = asked[start : start + _TOGETHER]
                every = self.compared(some, types=types, graphs=graphs, exclude=exclude, where=where)
                for (name, _), (sought, close, known) in zip(some, every, strict=True):
                    candidates = [candidate for _, candidate in ranked(sought, close, known)]
                    meant = outcome(sought, close, candidates, known)
                    shown = tuple(self._told_apart(candidates[:limit]))
                    noted = notes
                    if meant == "no match" and not notes:
                        noted = (_UNLIKELY.format(candidates[0].confidence) if candidates else _NOBODY,)
                    found.append(Resolution(name, meant, shown, noted))
        return found

    def called(self, name: str) -> list[Any]:
        """The entities that have a name, but for case, accents and spacing: a label or an alias, else an identifier.

        Terms, ordered by their ids; none for a name that is only near.
        """
        text, read = spelt(name), readings(name)
        statement = _SQL["entities_called"]
        written = json.dumps([[hash_of(way), way] for way in ways(" ".join(name.split()))])
        with self._core.connection.snapshot():
            (found,) = self._worded([(name, read)])
            roles = {number: {role for said, role in one.names if spelt(said) == text} for number, one in found.items()}
            naming = self._core.facts.numbers(self._core.chunks.policy.predicates("label", "alias"))
            rows = self._core.connection.rows(statement, statement.bind(spellings_json=written, most=_VALUES))
            named = {subject for _, subject, predicate in rows if predicate in naming}
            named |= {number for number, said in roles.items() if said - {"identifier"}}
            named = named or {number for number, said in roles.items() if said}
            leads = self._core.redirects.of(named)
            numbers = sorted({leads.get(number, number) for number in named})
            terms = self._core.dictionary.terms(numbers)
            return [terms[number] for number in numbers]

    def _told_apart(self, found: Sequence[Candidate]) -> list[Candidate]:
        """The candidates; candidates with the same label get a fact that distinguishes each from the others."""
        named: dict[str, list[Candidate]] = defaultdict(list)
        for one in found:
            named[(one.label or one.matched).casefold()].append(one)
        groups = [group for group in named.values() if len(group) > 1]
        if not groups:
            return list(found)
        iris = [to_oxigraph(one.iri) for group in groups for one in group]
        numbers = dict(zip(iris, self._core.dictionary.find(iris), strict=True))
        ids = [[number for one in group if (number := numbers[to_oxigraph(one.iri)]) is not None] for group in groups]
        told = told_apart(self._core.connection, self._core.dictionary, self._core.chunks.policy, ids)
        facts = {iri: told.get(number) for iri, number in numbers.items() if number is not None}
        return [replace(one, apart=facts.get(to_oxigraph(one.iri))) for one in found]

    def compared(
        self,
        asked: Sequence[tuple[str, str | None]],
        *,
        types: object = None,
        graphs: object = None,
        exclude: object = None,
        where: object = None,
    ) -> list[tuple[str, list[Named], set[str]]]:
        """Of names with contexts: each as it is compared, the entities that have one like it, and its words that the
        world has.
        """
        without = {} if exclude is None else {"exclude": {"subjects": exclude}}
        filters = {"types": types, "graphs": graphs, "where": where, **without}
        read = [readings(name) for name, _ in asked]
        worded = self._worded([(name, forms) for (name, _), forms in zip(asked, read, strict=True)], **filters)
        every: list[tuple[str, list[Named], dict[int, Named]]] = []
        for (name, _), forms, found in zip(asked, read, worded, strict=True):
            every.append(self._near(name, forms, found, **filters) if forms[0] else ("", [], {}))
        self._learn_facts([(numbers, context) for (_, _, numbers), (_, context) in zip(every, asked, strict=True)])
        compared = []
        for (name, _), (sought, close, _) in zip(asked, every, strict=True):
            if any(not one.worded or one.similarity is not None for one in close):  # there are vectors
                self._learn_cosines(close, name, graphs=graphs)
            compared.append((sought, close, self._known(sought)))
        return compared

    def _near(
        self, name: str, read: Sequence[str], found: Mapping[int, Named], **filters: Any
    ) -> tuple[str, list[Named], dict[int, Named]]:
        """A name as it is compared, and the nearest of the entities that were found by its words or are by meaning."""
        named = self._merged(found)
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
        terms = self._core.dictionary.terms(numbers[id(one)] for one in near)
        for one in near:
            one.subject = to_rdflib(terms[numbers[id(one)]])
        by_words = sorted((one for one in near if one.worded), key=lambda one: (-one.spelling, str(one.subject)))
        close = [*by_words[:_COMPARED], *(one for one in near if not one.worded)]
        return sought, close, {numbers[id(one)]: one for one in close}

    def _known(self, sought: str) -> set[str]:
        """The words of a name that stand in some text of the world."""
        read = partial(segment, apart=self._core.chunks.policy.tokenizer != "trigram")
        asked = {word: '"' + (read(word) or word).replace('"', '""') + '"' for word in sought.split()}
        return {word for word, quoted in asked.items() if self._core.connection.row(_SQL["text_with_word"], (quoted,))}

    def _worded(self, asked: Sequence[tuple[str, Sequence[str]]], **filters: Any) -> list[dict[int, Named]]:
        """The entities with similar names, by words and by beginnings of words: by their ids.

        They are not compared yet, and have no subject.
        """
        usual = {"limit": _HITS, "predicates": self._core.chunks.policy.predicates("label", "alias"), **filters}
        fts = {**usual, "syntax": "fts5"}
        found: list[dict[int, Named]] = [{} for _ in asked]
        phrases, beginnings = [], []
        for (name, read), named in zip(asked, found, strict=True):
            initials = name.isalpha() and name.isupper() and len(name) <= _INITIALS
            sought = [*read, " ".join(name)] if initials else read
            phrases.append(" OR ".join('"' + reading.replace('"', " ") + '"' for reading in sought if reading))
            beginnings.append(" OR ".join(f'"{word[:3]}"*' for word in read[-1].split()[:8] if len(word) > 3))
            if phrases[-1] and (identifying := self._identifying(name)):
                own = {**fts, "predicates": identifying}
                self._learn_names(named, self._core.searches.passages(phrases[-1], mode="text", **own), read[0])
        lists = [
            self._core.searches.best_texts([name for name, _ in asked], **usual),
            self._core.searches.best_texts(phrases, **fts),
            self._core.searches.best_texts(beginnings, **{**fts, "limit": 4 * _HITS}),
        ]
        texts = [list(dict.fromkeys(chain.from_iterable(chunks))) for chunks in zip(*lists, strict=True)]
        names = self._names({chunk for chunks in texts for chunk in chunks}, usual["predicates"], **filters)
        for named, chunks in zip(found, texts, strict=True):
            for chunk in chunks:
                for subject, told in names.get(chunk, ()):
                    named.setdefault(subject, Named(None, None, ())).names.add(told)
            for one in named.values():
                one.worded = True
        return found

    def _names(self, chunks: Iterable[int], predicates: Any, **filters: Any) -> dict[int, list[tuple[int, Any]]]:
        """Of each chunk, the entities that it names, each with the name and its role."""
        table = self._core.searches.quads_of_texts(chunks, predicates=predicates, **filters)
        policy, terms = self._core.chunks.policy, self._core.dictionary.terms(np.unique(table[:, 2:4]).tolist())
        found: dict[int, list[tuple[int, Any]]] = {}
        for chunk, subject, predicate, literal, _ in table.tolist():
            role = policy.role(terms[predicate].value)
            if role in ("label", "alias"):
                found.setdefault(chunk, []).append((subject, (terms[literal].value, role)))
        return found

    def _learn_names(self, found: dict[int, Named], passages: Sequence[RetrievedPassage], sought: str) -> None:
        """The names in passages: labels, aliases, and identifiers where they are the one sought."""
        policy = self._core.chunks.policy
        terms = self._core.dictionary.terms({number for one in passages for quad in one.quads for number in quad[1:3]})
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
        """The predicates under which the name identifies one entity, in the world or in its scheme."""
        name = name.encode("utf-8", "replace").decode().replace("\0", " ").strip()
        literals = {literal for text in {name, name.upper()} for literal in self._core.dictionary.literals(text)}
        if not literals:
            return []
        known = set(self._core.facts.numbers(self._core.chunks.policy.predicates("label", "alias")))
        numbers = json_ids(
            number for number in self._core.dictionary.find(sorted(literals, key=str)) if number is not None
        )
        predicates = [number for (number,) in self._core.connection.rows(_SQL["predicates_of"], (numbers,))]
        (notation,) = self._core.dictionary.find([_NOTATION])
        others = [number for number in predicates if number not in known]
        chosen = [number for number in others if number == notation or self._tells_apart(number)]
        terms = self._core.dictionary.terms(chosen)
        return [terms[number] for number in chosen]

    def _tells_apart(self, predicate: int) -> bool:
        """Whether nearly all values of a predicate are of one subject each."""
        return self._core.connection.remembered(("tells apart", predicate), lambda: self._read_values(predicate))

    def _read_values(self, predicate: int) -> bool:
        quads, values = self._core.connection.rows(_SQL["values_told_apart"], (predicate, _VALUES))[0]
        return bool(quads >= _FEW and values >= _APART * quads)

    def _meant(self, name: str, **filters: Any) -> dict[int, Named]:
        """The entities with names near in meaning, the nearest first; none where there are no vectors."""
        predicates = self._core.chunks.policy.predicates("label", "alias")
        try:
            passages = self._core.searches.passages(name, mode="vector", limit=_HITS, predicates=predicates, **filters)
        except EmbedderError:  # there is none, or it failed
            return {}
        found: dict[int, Named] = {}
        self._learn_names(found, passages, "")
        return self._merged(found)

    def _merged(self, found: Mapping[int, Named]) -> dict[int, Named]:
        """The entities, those that were merged into others as these."""
        leads = self._core.redirects.of(found)
        merged: dict[int, Named] = {}
        for number, one in found.items():
            kept = merged.setdefault(leads.get(number, number), one)
            if kept is not one:
                kept.names |= one.names
                if one.similarity is not None:
                    kept.near(one.similarity)
        return merged

    def _learn_facts(self, asked: Sequence[tuple[Mapping[int, Named], str | None]]) -> None:
        """The labels and types of entities, and what share of the context's words are said of each."""
        every = {number for named, _ in asked for number in named}
        labels, kinds = self._core.facts.labels_and_types(self._core.chunks.policy, every)
        terms = self._core.dictionary.terms({kind for group in kinds.values() for kind in group})
        types = {number: tuple(to_rdflib(terms[kind]) for kind in group) for number, group in kinds.items()}
        for named, context in asked:
            wanted = {word for word in words((context or "").casefold()) if word not in STOP_WORDS}
            for number, one in named.items():
                one.types = types.get(number, ())
                if number in labels:
                    one.label = labels[number].label
                if wanted:
                    one.context = len(wanted & self._words_about(number)) / len(wanted)

    def _learn_cosines(self, named: Sequence[Named], name: str, *, graphs: object) -> None:
        """The cosine of each whose name was found by its words alone."""
        unknown = {one.subject: one for one in named if one.similarity is None}
        if not unknown:
            return
        predicates = self._core.chunks.policy.predicates("label", "alias")
        wanted: dict[str, Any] = {
            "subjects": list(unknown),
            "predicates": predicates,
            "graphs": graphs,
            "limit": len(unknown),
        }
        try:
            near = self._core.searches.run(name, mode="vector", group_by="subject", explain=True, **wanted)
        except EmbedderError:  # as an endpoint can, though it answered a moment ago
            return
        for hit in near:
            unknown[hit.subject].near((hit.explain or {})["vector"].value)

    def _words_about(self, number: int) -> set[str]:
        """The words of what is said of an entity: its texts, and the labels of what it points to."""
        rows = self._core.facts.quads_by("quads_of_entities", [number])
        terms = self._core.dictionary.terms(set(rows[:, 2].tolist()))
        texts = [term.value for term in terms.values() if isinstance(term, ox.Literal)]
        others = [other for other, term in terms.items() if other and not isinstance(term, ox.Literal)]
        texts += [text.whole for text in self._core.facts.labels(self._core.chunks.policy, others).values()]
        return set(words(" ".join(texts).casefold()))
