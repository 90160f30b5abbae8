"""Links from texts to the entities that they name, in a graph of their own, kept in step with writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.extension import Extension
from worlds.core.history.diff import Diff
from worlds.core.history.gate import Change
from worlds.core.quads.dataset import of_data
from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.rows import NO_QUADS, difference, distinct
from worlds.sql import statements

if TYPE_CHECKING:
    from worlds.extras.curation.linking.links import Linker

MENTIONS_GRAPH = ox.NamedNode("urn:worlds:mentions")
"""The graph of links from texts to entities."""
_MENTIONS = ox.NamedNode("https://schema.org/mentions")
_SQL = statements("linking.sql")
_BATCH = 500  # subjects whose texts are read together
_NAMES = 500  # new names that are looked up in older texts; beyond them all texts are read anew
_TEXTS = 1000  # older texts that a new name links
_LONGEST = 200  # characters of a name that is looked up
SURE = 0.5
"""The confidence from which on a mention is a link."""


class PassageLinks(Extension):
    """The links of one world's texts. Writes are followed where the policy's `mentions` says so."""

    def __init__(self, core: Core, linker: Callable[[], Linker]) -> None:
        self._core = core
        self._linker = linker

    def link(self, *, types: object, score: float, propose: bool, **how: Any) -> Change | Diff:
        """See `World.curation.link_texts`."""
        core = self._core
        with core.writer.revision(**({**how, "dry_run": True, "embed": False} if propose else how)) as writing:
            wanted = self._wanted(self._subjects(), self._kinds(types), score)
            kept = core.patterns.matching((None, _MENTIONS, None), MENTIONS_GRAPH)
            writing.apply(difference(wanted, kept), difference(kept, wanted))
        change = writing.change
        if not propose or how["dry_run"] or not change:
            return change if not propose or how["dry_run"] else Change(None, 0, 0)
        number = core.writer.waiting.propose(change, author=how["author"], why=how["message"], kind="mentions")
        return Change(None, 0, 0, proposal=number)

    def follow(self, added: Ids, removed: Ids) -> tuple[Ids, Ids] | None:
        """The links that come and go with quads that were written; None where none do."""
        mentions = self._core.chunks.policy.mentions
        if not mentions:
            return None
        touched = self._touched(added, removed)
        if touched is not None and not len(touched):
            return None
        subjects = self._subjects() if touched is None else touched
        wanted = self._wanted(subjects, self._kinds(None), SURE)
        predicate, graph = self._core.dictionary.find([_MENTIONS, MENTIONS_GRAPH])
        kept = NO_QUADS
        if predicate is not None:
            kept = self._core.facts.quads_by("quads_under", subjects.tolist(), predicates_json=json_ids([predicate]))
            kept = kept[kept[:, 3] == (-1 if graph is None else graph)]
        return difference(wanted, kept), difference(kept, wanted)

    def _kinds(self, types: Any) -> Any:
        """The classes whose instances are linked: those given, else the policy's; None for all."""
        own = self._core.chunks.policy.mentions
        return types if types is not None or isinstance(own, bool) else [ox.NamedNode(iri) for iri in sorted(own)]

    def _subjects(self) -> Ids:
        return distinct(self._core.connection.columns(_SQL["subjects_of_texts"], (self._names(),))[0])

    def _names(self) -> str:
        """The predicates of labels and aliases, which are no texts that name others."""
        return json_ids(self._core.facts.numbers(self._core.chunks.policy.predicates("label", "alias")))

    def _touched(self, added: Ids, removed: Ids) -> Ids | None:
        """The subjects whose texts, or the names in them, a write changed; None for all."""
        core, found = self._core, [NO_QUADS[:, 0]]
        changed = of_data(core.dictionary, np.concatenate([added, removed]))
        changed = changed[changed[:, 0] > 0]
        literals = core.connection.columns(_SQL["literals_among"], (json_ids(distinct(changed[:, 2])),))[0]
        texts = changed[np.isin(changed[:, 2], literals)]
        names = self._core.facts.numbers(core.chunks.policy.predicates("label", "alias"))
        of_name = np.isin(texts[:, 1], names)
        typed = self._core.facts.quads_by("quads_under", self._typed(changed), predicates_json=json_ids(names))
        named = np.concatenate([texts[of_name], typed])
        if len(named) > _NAMES:
            return None
        if len(named):
            found += [self._linked(distinct(named[:, 0])), self._holding(distinct(named[:, 2]))]
        return distinct(np.concatenate([texts[~of_name, 0], *found]))

    def _typed(self, changed: Ids) -> list[int]:
        """The entities that get or lose a class whose instances are linked, or are not."""
        from worlds.extras.curation.linking.links import is_vocabulary  # which a world without mentions does not need

        types = changed[changed[:, 1] == self._core.facts.rdf_type]
        kinds, terms = self._kinds(None), self._core.dictionary.terms(distinct(types[:, 2]).tolist())
        telling = [number for number, term in terms.items() if term in (kinds or ()) or is_vocabulary(term)]
        return [*distinct(types[np.isin(types[:, 2], telling), 0]).tolist()]

    def _linked(self, entities: Ids) -> Ids:
        """The subjects whose texts are linked to entities."""
        predicate, graph = self._core.dictionary.find([_MENTIONS, MENTIONS_GRAPH])
        values = _SQL["linked_to"].bind(ids_json=json_ids(entities), predicate=predicate or 0, graph=graph or 0)
        return self._core.connection.column(_SQL["linked_to"], values)

    def _holding(self, names: Ids) -> Ids:
        """The subjects of texts that hold the words of names, of each name the best thousand."""
        from worlds.extras.entities.names import forms

        terms = [
            term.value for term in self._core.dictionary.terms(names.tolist()).values() if isinstance(term, ox.Literal)
        ]
        phrases = sorted({f'"{form}"' for name in terms if len(name) <= _LONGEST for form in forms(name)})
        best = self._core.searches.best_texts(phrases, limit=_TEXTS)
        return self._core.searches.quads_of_texts({chunk for some in best for chunk in some})[:, 1]

    def _wanted(self, subjects: Ids, types: object, score: float) -> Ids:
        """The links that the texts of subjects should have, int64 [n, 4]."""
        core = self._core
        pairs = [*self._linker().named(self._texts(subjects), types, score)]
        if not pairs:
            return NO_QUADS
        interner = Interner(core.connection, core.dictionary, rename_blank_nodes=False)
        known = interner.resolve(np.array([interner.local(term) for term in (_MENTIONS, MENTIONS_GRAPH)]))
        links = np.unique(np.array(pairs, dtype=np.int64), axis=0)
        rows = np.empty((len(links), 4), dtype=np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = links[:, 0], known[0], links[:, 1], known[1]
        return rows

    def _texts(self, subjects: Ids) -> Iterator[list[tuple[int, str]]]:
        """(subject, text) of subjects, some hundred at a time; names are no texts."""
        names = self._names()
        for start in range(0, len(subjects), _BATCH):
            ids = json_ids(subjects[start : start + _BATCH])
            rows = self._core.connection.rows(_SQL["texts_of_subjects"], (ids, names))
            terms = self._core.dictionary.terms({literal for _, literal in rows})
            yield [(subject, terms[literal].value) for subject, literal in rows]
