"""Which entities texts name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.namespaces import listed
from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.chunks import ChunkStore
from worlds.core.texts.entity_facts import Text
from worlds.core.texts.policy import TextPolicy
from worlds.core.texts.segmentation import fold
from worlds.extras.entities.gazetteer import Gazetteer, Name, Span, Word, ends_sentence, words
from worlds.extras.entities.names import Candidate, Named, normal, ranked
from worlds.extras.entities.neighbours import CitedQuad, Neighbours
from worlds.graph.records import Count, Iri, Record, Score
from worlds.graph.tabular import Tabular
from worlds.graph.terms import XSD, to_rdflib
from worlds.sql import statements

_T = TypeVar("_T")
_OF_VOCABULARIES = (
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
)
_VOCABULARY = ("Property", "Class", "Ontology", "Datatype")  # endings of classes whose instances no text means
_SQL = statements("linking.sql")
_NAMESAKES = 50  # entities with one name, beyond which it names none of them
_AROUND = 25  # words on either side of a name that tell its namesakes apart
_LONGEST_IRI = 2000  # characters of a document's name
_NOBODY = "It names no entity by a label or an alias: `search` finds texts by meaning."
_FEW, _COMMON = 20, 0.01  # texts that have a word of the language: more than this, and than this share
_SHOWN = 5  # candidates of a mention


@dataclass(frozen=True, slots=True)
class EntityMention(Record):
    """A part of a text that names an entity: `text` is the part from character `start` up to `end`.

    `candidates` are those that may be meant, the likeliest first, at most five; `iri`, `label`, `types` and
    `confidence` are the first one's. `quad` is the one whose literal the text is, None for a text that was given.
    """

    _also = ("iri", "label", "types", "confidence")

    text: str
    start: Count
    end: Count
    candidates: tuple[Candidate, ...]
    quad: CitedQuad | None = None

    @property
    def iri(self) -> Iri:
        """The entity."""
        return self.candidates[0].iri

    @property
    def label(self) -> str | None:
        """The label of the entity."""
        return self.candidates[0].label

    @property
    def types(self) -> tuple[Iri, ...]:
        """The entity's classes."""
        return self.candidates[0].types

    @property
    def confidence(self) -> Score:
        """The chance that the entity is meant, from 0 to 1; see `World.resolve`."""
        return self.candidates[0].confidence


class Mentions(list[EntityMention], Record, Tabular):
    """Mentions in the order of the text, a list and a table; `notes` name unknown types, or why it is empty."""

    notes: tuple[str, ...] = ()
    _also = ("mentions", "notes")

    @property
    def mentions(self) -> tuple[EntityMention, ...]:
        """All mentions."""
        return tuple(self)

    def noting(self, notes: tuple[str, ...]) -> Mentions:
        """These mentions, with the notes."""
        self.notes = notes or (() if self else (_NOBODY,))
        return self

    @property
    def _columns(self) -> Sequence[str]:
        return ("text", "start", "end", "iri", "label", "confidence")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a mention."""
        return [{name: told[name] for name in self._columns} for told in map(EntityMention.to_dict, self)]


class Linker:
    """Finds the entities of one world that texts name."""

    def __init__(self, core: Core, neighbours: Neighbours) -> None:
        self._connection = core.connection
        self._dictionary = core.dictionary
        self._chunks = core.chunks
        self._to_term = core.namespaces.term
        self._neighbours = neighbours
        self.gazetteer = Gazetteer(core.connection, core.dictionary, lambda: core.chunks.policy)

    def mentions(self, text: object, types: object, among: Ids | None = None) -> Mentions:
        """See `World.entities.mentions`."""
        wanted = None if types is None else [self._to_term(kind) for kind in listed(types)]
        document = self._document(text)
        with self._connection.snapshot():
            own = None if document is None else self._dictionary.find([document])[0]
            if own is not None and len(self._neighbours.around([own], 1)[0]):
                return Mentions(
                    self._found([(str(quad.object), quad) for quad in self._texts(own)], own, wanted, among)
                )
        if not isinstance(text, str):
            return Mentions()
        with self._connection.snapshot():
            return Mentions(self._found([(str(text), None)], None, wanted, among))

    def _document(self, text: object) -> Any:
        """The entity that was given instead of a text; None for a text."""
        if type(text) is str and (len(text) > _LONGEST_IRI or any(map(str.isspace, text))):
            return None
        try:
            term = self._to_term(text)
        except ValueError:
            if isinstance(text, str):
                return None
            raise
        if isinstance(term, ox.NamedNode | ox.BlankNode):
            return term
        if not isinstance(text, str):
            raise TypeError(f"mentions takes a text or a document, not {text!r}")
        return None

    def _texts(self, entity: int) -> Iterator[CitedQuad]:
        """The quads of an entity that have a text, each text once."""
        policy = self._chunks.policy
        rows, _ = self._neighbours.around([entity])
        terms = self._dictionary.terms(rows[:, 1:5].ravel().tolist())
        shown = {number: to_rdflib(term) for number, term in terms.items() if number}
        seen: set[int] = set()
        for quad, (_, _, predicate, value, _, _) in zip(
            self._neighbours.cited(rows, shown), rows.tolist(), strict=True
        ):
            if value not in seen and is_text(policy, terms[predicate].value, terms[value]):
                seen.add(value)
                yield quad

    def _found(
        self,
        texts: Iterable[tuple[str, CitedQuad | None]],
        own: int | None,
        types: Sequence[Any] | None,
        within: Ids | None,
    ) -> list[EntityMention]:
        """The mentions of texts; of a document's, without those of itself."""
        choice = Disambiguation(self._dictionary, self._chunks, self._neighbours, types, within)
        return [
            EntityMention(text[span.start : span.end], span.start, span.end, candidates, quad)
            for text, quad, span, candidates in self._chosen([(text, quad, own) for text, quad in texts], choice, {})
        ]

    def _chosen(
        self, texts: Iterable[tuple[str, _T, int | None]], choice: Disambiguation, common: dict[str, bool]
    ) -> Iterator[tuple[str, _T, Span, tuple[Candidate, ...]]]:
        """The parts of texts that name entities, and the candidates; each text with what it is given with.

        The names of its own entity, the third, do not count. `common` keeps which words are words of the language.
        """
        read: list[tuple[str, _T, list[Word], list[Span]]] = []
        for text, given, own in texts:
            among = words(text)
            read.append((text, given, among, self.gazetteer.spans(text, among, own)))
        choice.learn({name for *_, spans in read for span in spans for name in span.named})
        borne = [{name.entity for name in span.named} for *_, spans in read for span in spans]
        choice.words_about({one for entities in borne if 1 < len(entities) <= _NAMESAKES for one in entities})
        for text, given, among, spans in read:
            for span in spans:
                candidates = choice.of(text, span, among)
                if candidates and not self._is_word(text, span, among, choice, candidates[0], common):
                    yield text, given, span, candidates

    def named(
        self, blocks: Iterable[Iterable[tuple[int, str]]], types: object, score: float
    ) -> Iterator[tuple[int, int]]:
        """(subject, entity) for each entity but classes and properties that a subject's text names surely enough."""
        wanted = None if types is None else [self._to_term(kind) for kind in listed(types)]
        choice = Disambiguation(self._dictionary, self._chunks, self._neighbours, wanted)
        common: dict[str, bool] = {}
        for block in blocks:
            texts = [(text, subject, subject) for subject, text in block]
            for _, subject, _, (best, *_) in self._chosen(texts, choice, common):
                if best.confidence >= score and not any(map(is_vocabulary, best.types)):
                    yield subject, choice.number(best.iri)

    def _is_word(
        self,
        text: str,
        span: Span,
        among: Sequence[Word],
        choice: Disambiguation,
        best: Candidate,
        common: dict[str, bool],
    ) -> bool:
        """Whether a name is but a word of the language: in small letters, in many texts, and nothing around speaks for
        the entity."""
        word = among[span.first]
        if span.last - span.first > 1 or not text[word.start].islower():
            return False
        if word.folded not in common:
            statement = _SQL["texts_with_word"]
            values = statement.bind(word=f'"{fold(word.folded)}"', few=_FEW, share=_COMMON)
            common[word.folded] = bool(self._connection.value(statement, values))
        if not common[word.folded]:
            return False
        number = choice.number(best.iri)
        around = {other.folded for other in sentence(text, span, among)} - STOP_WORDS - {word.folded}
        return not around & choice.words_about({number})[number]


class Disambiguation:
    """Which of its namesakes a part of a text names, by the regression of `World.resolve` on words."""

    def __init__(
        self,
        dictionary: Dictionary,
        chunks: ChunkStore,
        neighbours: Neighbours,
        types: Sequence[Any] | None,
        among: Ids | None = None,
    ) -> None:
        """`types` and `among` narrow the entities."""
        self._dictionary = dictionary
        self._chunks = chunks
        self._neighbours = neighbours
        self._wanted = None if types is None else set(dictionary.find(types)) - {None}
        self._among = None if among is None else set(among.tolist())
        self._named: dict[tuple[tuple[Name, ...], str], list[tuple[int, Named]]] = {}
        self._alone: dict[tuple[tuple[Name, ...], str], tuple[Candidate, ...]] = {}
        self._said: dict[int, set[str]] = {}
        self._labels: dict[int, Text] = {}
        self._kinds: dict[int, list[int]] = {}
        self._terms: dict[int, Any] = {}
        self._numbers: dict[Any, int] = {}

    def learn(self, names: set[Name]) -> None:
        """Read the descriptions of the entities that have the names."""
        entities = {name.entity for name in names} - self._terms.keys()
        labels, kinds = self._neighbours.facts.labels_and_types(self._chunks.policy, entities)
        self._labels |= labels
        self._kinds |= kinds
        self._terms |= self._dictionary.terms(entities | {kind for of in kinds.values() for kind in of})

    def of(self, text: str, span: Span, among: Sequence[Word]) -> tuple[Candidate, ...]:
        """The entities that a part of a text may mean, the likeliest first."""
        own = {word.folded for word in among[span.first : span.last]}
        near = (sentence(text, span, among), among[max(0, span.first - _AROUND) : span.last + _AROUND])
        around = ({word.folded for word in part} - STOP_WORDS - own for part in near)
        return self.named(text[span.start : span.end], span.named, around)

    def named(self, name: str, names: tuple[Name, ...], around: Iterable[set[str]]) -> tuple[Candidate, ...]:
        """The entities that have a name, the likeliest first; `around` are the words near it, which tell them apart."""
        sought = normal(name)
        key = (names, sought)
        known = self._alone.get(key)
        if known is not None:
            return known
        named = self._named.get(key)
        if named is None:
            named = self._named[key] = self._compared(names, sought)
        if len(named) > _NAMESAKES:
            named = []
        if len(named) < 2:
            self._alone[key] = tuple(one for _, one in ranked(sought, [one for _, one in named]))
            return self._alone[key]
        for wanted in around:
            for number, one in named:
                one.context = len(wanted & self._said[number]) / len(wanted) if wanted else 0.0
            if len({one.context for _, one in named}) > 1:
                break
        return tuple(one for _, one in ranked(sought, [one for _, one in named]))[:_SHOWN]

    def of_kinds(self, names: Iterable[Name], kinds: set[int]) -> tuple[Name, ...]:
        """The names whose entity is an instance of one of the classes; all names without classes."""
        return tuple(one for one in names if not kinds or not kinds.isdisjoint(self._kinds.get(one.entity, ())))

    def number(self, iri: Any) -> int:
        """The id of an entity that was given as a candidate."""
        return self._numbers[iri]

    def words_about(self, entities: Iterable[int]) -> dict[int, set[str]]:
        """The words in the descriptions of entities."""
        wanted = set(entities)
        self._learn_words(sorted(wanted - self._said.keys()))
        return {entity: self._said[entity] for entity in wanted}

    def _compared(self, names: Sequence[Name], sought: str) -> list[tuple[int, Named]]:
        """The entities of the wanted types that have the names, and how well these fit."""
        found: dict[int, Named] = {}
        for name in names:
            kinds = self._kinds.get(name.entity, [])
            if self._wanted is not None and self._wanted.isdisjoint(kinds):
                continue
            if self._among is not None and name.entity not in self._among:
                continue
            one = found.get(name.entity)
            if one is None:
                label = self._labels.get(name.entity)
                types = tuple(to_rdflib(self._terms[kind]) for kind in kinds)
                shown = None if label is None else label.label
                one = found[name.entity] = Named(to_rdflib(self._terms[name.entity]), shown, types, worded=True)
                self._numbers[one.subject] = name.entity
            one.names.add((name.text, name.role))
        for one in found.values():
            one.compare(sought)
        if 1 < len(found) <= _NAMESAKES:
            self._learn_words(sorted(found.keys() - self._said.keys()))
        return list(found.items())

    def _learn_words(self, entities: list[int]) -> None:
        """Learn the words in the descriptions of entities: their texts, and the labels of their objects."""
        if not entities:
            return
        rows = self._neighbours.facts.quads_by("quads_of_entities", entities)
        terms = self._dictionary.terms(set(rows[:, 2].tolist()))
        others = [number for number, term in terms.items() if number and not isinstance(term, ox.Literal)]
        labels = self._neighbours.facts.labels(self._chunks.policy, others)
        texts = {number: term.value for number, term in terms.items() if isinstance(term, ox.Literal)}
        texts |= {number: label.whole for number, label in labels.items()}
        self._said |= {entity: set() for entity in entities}
        for subject, _, value, _ in rows.tolist():
            if value in texts:
                self._said[subject].update(word.folded for word in words(texts[value]))


def sentence(text: str, span: Span, among: Sequence[Word]) -> Sequence[Word]:
    """The words around a span in its sentence."""
    first, last = span.first, span.last
    while first > max(0, span.first - _AROUND) and not ends_sentence(text, among[first - 1], among[first]):
        first -= 1
    while last < min(len(among), span.last + _AROUND) and not ends_sentence(text, among[last - 1], among[last]):
        last += 1
    return among[first:last]


def is_text(policy: TextPolicy, predicate: str, term: object) -> bool:
    """Whether the policy takes a quad's object for a text."""
    if not isinstance(term, ox.Literal) or predicate in policy.exclude:
        return False
    typed = term.language is None and term.datatype.value not in (XSD + "string", *policy.text_datatypes)
    return predicate in policy.include or not typed


def is_vocabulary(kind: object) -> bool:
    """Whether a class is one whose instances are classes or properties."""
    iri = kind.value if isinstance(kind, ox.NamedNode) else str(kind)
    return iri.startswith(_OF_VOCABULARIES) and iri.endswith(_VOCABULARY)
