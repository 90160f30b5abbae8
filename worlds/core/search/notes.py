"""Notes on a search: names in its filters that the world does not know, and the reason why it found nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH, Dictionary, json_ids
from worlds.core.quads.namespaces import Namespaces
from worlds.core.quads.used_names import TimeBudget, Vocabulary
from worlds.core.search.candidates import Candidates
from worlds.core.search.conditions import Conditions
from worlds.core.search.filters import Eligible
from worlds.core.search.request import BLANK, SearchRequest
from worlds.core.texts.languages import VERSION
from worlds.graph.terms import RDF, shorten
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_FILTERS = statements("filters.sql")
SECONDS = 0.04  # for all notes of one search
_MOST_NAMES = 20  # of one filter that are looked at
_MOST_MET = 100  # conditions that are remembered
_MOST_GRAPHS = 1000  # whose names one is compared with
_SHOWN = 3
_PROFILE = "urn:worlds:profile"
_NO_TEXT = "The world has no text to search: nothing is loaded, or nothing of it is text."
_NONE_PASSES = "No text passes the filters: leave one out."
_NO_MATCH = "Nothing matches these words: use others, fewer, or prefix*; `schema` shows the classes and predicates."
_OUTDATED = "The texts were read by an older release, so that some words may not be found: compact() reads them anew."
_THINGS = {"types": "class with instances", "predicates": "predicate", "graphs": "graph", "subjects": "entity"}
_RDF_TYPE = ox.NamedNode(RDF + "type")
_UNHINTED = re.compile(r"(?:: did you mean .*\?|\.)$")
_SUBCLASS_OF = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")


@dataclass(eq=False, repr=False)
class SearchNotes:
    """Notes on searches in one world."""

    _connection: Connection
    _dictionary: Dictionary
    _vocabulary: Vocabulary
    _namespaces: Namespaces
    _strangers: Callable[[str, Mapping[str, str]], Iterable[str]]  # the unknown names in a pattern with these prefixes
    _met: set[tuple[Conditions, bool]] = field(default_factory=set)  # conditions of which there is nothing to say
    _state: object = None  # of the file then

    @property
    def outdated(self) -> tuple[str, ...]:
        """A note where an older release read the texts; else nothing."""
        return (_OUTDATED,) if self._connection.meta("stems") not in (VERSION, None) else ()

    def unknown(self, request: SearchRequest) -> tuple[dict[str, str], dict[str, str]]:
        """Notes on the unknown names of the filter, and on unknown names of the other options.

        Each note ends with the nearest names that exist; its key is the note without them.
        """
        budget = TimeBudget(SECONDS)
        filter_, stages = request.filter, request.stages
        beside = [("exclude", filter_.exclude)]
        for boost in stages.boosts:
            named = Conditions(predicates=boost.predicate and (boost.predicate,), where=boost.where)
            beside.append(("boost", named))
        if stages.decay is not None:
            decay = stages.decay
            named = Conditions(
                predicates=(decay.predicate, *decay.evergreen_predicates, *decay.evergreen_flags),
                types=decay.evergreen_types,
            )
            beside.append(("decay", named))
        return (
            dict(self._unknown(filter_.include, budget, subclasses=filter_.subclasses)),
            {
                f"{where}: {note}": f"{where}: {told}"
                for where, conditions in beside
                for note, told in self._unknown(conditions, budget, subclasses=filter_.subclasses)
            },
        )

    def _unknown(
        self, conditions: Conditions, budget: TimeBudget, *, subclasses: bool = False
    ) -> list[tuple[str, str]]:
        if not conditions.any:
            return []
        state = self._connection.state()
        if state is not self._state or len(self._met) > _MOST_MET:
            self._met.clear()
            self._state = state
        told = [] if (conditions, subclasses) in self._met else list(self._told(conditions, budget, subclasses))
        if not told:
            self._met.add((conditions, subclasses))
        return told

    def _told(self, conditions: Conditions, budget: TimeBudget, subclasses: bool) -> Iterator[tuple[str, str]]:
        for what in ("types", "predicates", "subjects", "graphs"):
            names: Sequence[Any] = getattr(conditions, what) or ()
            for name in names[:_MOST_NAMES]:
                if name == DEFAULT_GRAPH or not isinstance(name, ox.NamedNode) or self._occurs(what, name):
                    continue
                note = f"{self.short(name)} is no {_THINGS[what]} of this world."
                if what == "types" and (below := self._below(name)):
                    if not subclasses:
                        yield note, below
                    continue
                nearest = self._nearest(what, name, budget)
                yield note, f"{note} Did you mean {_either(nearest)}?" if nearest else note
        if conditions.where is not None:
            for note in self._strangers(conditions.where, self._namespaces.prefixes):
                yield _UNHINTED.sub("", note), note

    def _occurs(self, what: str, name: ox.NamedNode) -> bool:
        rdf_type, number = self._dictionary.find([_RDF_TYPE, name])
        if what == "predicates" and name.value == _PROFILE:
            return True
        statement = _SQL["occurs"]
        return bool(
            number and self._connection.value(statement, statement.bind(what=what, id=number, rdf_type=rdf_type))
        )

    def _nearest(self, what: str, name: ox.NamedNode, budget: TimeBudget) -> list[str]:
        if what == "subjects":
            return []
        if what == "graphs":
            statement = _SQL["some_graphs"]
            numbers = [number for (number,) in self._connection.rows(statement, statement.bind(limit=_MOST_GRAPHS))]
            terms = self._dictionary.terms(numbers)
            graphs = [str(terms[number].value) for number in numbers]
            nearest = get_close_matches(name.value, graphs, n=_SHOWN)
        else:
            nearest = self._vocabulary.nearest(name.value, budget, among="classes" if what == "types" else what)
        return [shorten(iri, self._namespaces.prefixes) for iri in nearest]

    def _below(self, name: ox.NamedNode) -> str | None:
        """A note on a class without instances whose subclasses have some; None where they have none either."""
        rdf_type, subclass_of, number = self._dictionary.find([_RDF_TYPE, _SUBCLASS_OF, name])
        if number is None or subclass_of is None:
            return None
        statement = _FILTERS["subclasses"]
        values = statement.bind(classes_json=json_ids([number]), subclass_of=subclass_of, graphs_json=None)
        below = [one for (one,) in self._connection.rows(statement, values) if one != number]
        counted = _SQL["instances_of"]
        rows = self._connection.rows(counted, counted.bind(classes_json=json_ids(below), rdf_type=rdf_type))
        used = [one for one, _ in sorted(rows, key=lambda row: -row[1])]
        if not used:
            return None
        terms = self._dictionary.terms(used[:_SHOWN])
        shown = ", ".join(self.short(terms[one]) for one in used[:_SHOWN])
        return (
            f"{self.short(name)} has no instances of its own, but its subclasses have ({shown}"
            f"{', …' if len(used) > _SHOWN else ''}): `search` takes subclasses=true, SPARQL is "
            f"?x a/rdfs:subClassOf* {self.short(name)}."
        )

    def why_nothing(self, request: SearchRequest, eligible: Eligible | None) -> list[str]:
        """Why a search that names nothing unknown has found nothing."""
        if not self._connection.value(_SQL["any_chunk"]):
            return [_NO_TEXT]
        if not request.text.strip() and request.mode != "vector":
            return [] if BLANK in request.notes else [BLANK]
        if eligible is None or len(eligible.chunks):
            if request.cursor is not None:
                return []
            return [_NO_MATCH]
        told = [_NONE_PASSES]
        if request.filter.include.languages:
            languages = sorted(language or "''" for (language,) in self._connection.rows(_FILTERS["languages"]))
            told.append(f"The languages of this world's texts: {', '.join(languages)}.")
        return told

    def short(self, name: Any) -> str:
        """A term as notes name it."""
        return shorten(name.value, self._namespaces.prefixes) if isinstance(name, ox.NamedNode) else str(name)


def noted(asked: Sequence[tuple[SearchNotes, SearchRequest, Eligible | None]], found: Candidates) -> tuple[str, ...]:
    """Notes on a search and its results; none where nothing is odd.

    Of several worlds, what holds of each of them. Where nothing is found, the world says why that came nearest to it.
    """
    told = [notes.unknown(request) for notes, request, _ in asked]
    unknown, beside = _shared([of_filter for of_filter, _ in told]), _shared([others for _, others in told])
    outdated = dict.fromkeys(note for notes, _, _ in asked for note in notes.outdated)
    if len(found):
        return (*unknown, *beside, *no_word(asked[0][1], found), *outdated)
    if not unknown:
        ranks = {_NO_TEXT: 0, _NONE_PASSES: 1}
        why = [notes.why_nothing(request, eligible) for notes, request, eligible in asked]
        unknown = max(why, key=lambda reasons: ranks.get(reasons[0], 2) if reasons else -1)
    return (*unknown, *beside, *outdated)


def _shared(told: Sequence[Mapping[str, str]]) -> list[str]:
    """The notes that all worlds share, each in the wording with the most hints."""
    return [max((one[note] for one in told), key=len) for note in told[0] if all(note in one for one in told)]


def no_word(request: SearchRequest, found: Candidates) -> list[str]:
    """A note where no hit has a word of the query."""
    if request.mode != "hybrid" or request.vector is None or any(row.bm25 is not None for row in found.rows):
        return []
    best = max((row.similarity for row in found.rows if row.similarity is not None), default=None)
    if best is None or not re.search(r"\w", request.text) or re.search(r"(^|\s)-\w", request.text):  # none is wanted
        return []
    return [
        "None of these texts has a word of the query: they are only the nearest by meaning, and may have nothing to do "
        f"with it. The highest cosine is {best:.2f}; `min_similarity` sets the least."
    ]


def _either(names: Sequence[str]) -> str:
    """The names as a choice: `a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
