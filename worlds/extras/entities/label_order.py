"""The A–Z order of entities by their labels in the reader's language, in step with the file."""

from __future__ import annotations

import json
import unicodedata
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.core import Core
from worlds.core.quads.dictionary import Ids, batches, json_ids
from worlds.core.quads.rows import distinct, read_quads
from worlds.core.texts.entity_facts import clean, language_order
from worlds.core.texts.profiles import words_of
from worlds.extras.entities.disambiguation import told_apart
from worlds.graph.terms import shorten
from worlds.sql import statements
from worlds.sql.bound_values import integers

_QUERIES = statements("queries.sql")
_MOST = 20_000  # quads that were written since; beyond, all is read anew
_KEPT_ANSWERS = 24  # values of one state that are remembered, and sets of links

T = TypeVar("T")
_SQL = statements("browse.sql")
_KEPT = 16  # orders that are remembered
WORTH = 1000  # entities from which on an order is worth remembering
_MENDED = 100  # entities that are put in their places in such an order; if there are more, it is made anew
_BY_IRI = 10_000  # entities without a label, at most, that are in the order of their IRIs
_LONGEST = 200  # characters by which labels are ordered


class InStep:
    """A cache of the data that trees and lists are made from: some for one state of the world, links across states."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._state: object = None
        self._at: tuple[Any, ...] = ()  # the revision that was read last, and how it is recorded
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._links: OrderedDict[int, Ids] = OrderedDict()
        self.dirty: list[set[int] | None] = []
        """For each that watches, the subjects that changed since it looked; None for any."""

    def watch(self) -> int:
        """Record changed subjects in `dirty` from now on; returns its place."""
        self.dirty.append(None)
        return len(self.dirty) - 1

    def kept(self, key: Hashable, read: Callable[[], T]) -> T:
        """The value of `read`, or the one that it gave for the key in this state of the world."""
        self.follow()
        found: T = self._values.pop(key) if key in self._values else read()
        self._values[key] = found
        while len(self._values) > _KEPT_ANSWERS:
            self._values.popitem(last=False)
        return found

    def links(self, predicate: int) -> tuple[Ids, Ids]:
        """The distinct pairs of a subject and an entity that it has under a predicate, as two columns."""
        self.follow()
        codes = self._links.pop(predicate, None)
        if codes is None:
            subjects, objects = self._core.connection.columns(_SQL["links"], (predicate,))
            codes = distinct(subjects << 32 | objects)
        self._links[predicate] = codes
        while len(self._links) > _KEPT_ANSWERS:
            self._links.popitem(last=False)
        return codes >> 32, codes & 0xFFFFFFFF

    def follow(self) -> None:
        """Agree with the file, by the quads that were written since."""
        state = self._core.connection.state()
        if state is self._state:
            return
        self._values.clear()
        written = self._written()
        self._state, self._at = state, self._recorded(int(self._core.connection.value(_QUERIES["last_revision"])))
        if written is None:
            self._links.clear()
            self.dirty = [None] * len(self.dirty)
            return
        subjects = set(written[:, 0].tolist())
        self.dirty = [None if one is None or len(one) > _MOST else one | subjects for one in self.dirty]
        for predicate in set(written[:, 1].tolist()) & self._links.keys():
            mine = written[written[:, 1] == predicate]
            codes = distinct(mine[:, 0] << 32 | mine[:, 2])
            values = _SQL["links_now"].bind(predicate=predicate, pairs_json=json_ids(codes))
            now = self._core.connection.column(_SQL["links_now"], values)
            kept = self._links[predicate]
            self._links[predicate] = distinct(np.concatenate([kept[~np.isin(kept, codes)], now]))

    def _recorded(self, revision: int) -> tuple[Any, ...]:
        connection = self._core.connection
        told = connection.rows(_QUERIES["recorded_revision"], (revision,))
        return revision, told, connection.rollbacks, connection.meta("purges"), connection.in_transaction

    def _written(self) -> Ids | None:
        """The quads that were added or removed since, int64 [n, 4]; None where that cannot be told."""
        if not self._at or self._at[-1] or self._at != self._recorded(self._at[0]):
            return None
        since, found = self._at[0], [np.empty((0, 4), dtype=np.int64)]
        if since + 1 < int(self._core.connection.meta("history_from") or 0):
            return None
        first = self._core.connection.value(_QUERIES["first_quad_since"], (since,))
        for name, after in (("quads_removed_since", 0), ("quads_added_since", first - 1)):
            for block in read_quads(self._core.connection, name, after=after, revision=since):
                found.append(block)
                if sum(map(len, found)) > _MOST:
                    return None
        return np.concatenate(found)


@dataclass
class Order:
    """Entities from A to Z: first `initials`, one for each entity with a label, then the entities without one."""

    ids: Ids
    initials: NDArray[np.str_]

    @property
    def letters(self) -> dict[str, int]:
        """Initial → the place of the first entity that has it."""
        letters, places = np.unique(self.initials, return_index=True)
        return dict(sorted(zip(letters.tolist(), places.tolist(), strict=True), key=lambda one: one[1]))


class Ordering:
    """Orders the entities of one world, and keeps the last large orders in step with it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.instep = InStep(core)
        self._orders: OrderedDict[Hashable, tuple[Order, int]] = OrderedDict()

    def sorted(self, key: Hashable, ids: Ids, language: str | None) -> Order:
        """Distinct ids, ascending, from A to Z; `key` names the set."""
        if len(ids) < WORTH:
            return self._order(ids, language)
        return self.instep.kept(("order", key, language), lambda: self._kept(key, ids, language))

    def _kept(self, key: Hashable, ids: Ids, language: str | None) -> Order:
        """The order of before, mended, where there is one."""
        key = (key, language, tuple(self._core.chunks.policy.predicates("label")))
        known, place = self._orders.pop(key, (None, 0))
        dirty = self.instep.dirty[place] if known else None
        order = None if known is None or dirty is None else self._mended(known, ids, dirty, language)
        if order is None:
            order = self._order(ids, language)
        if known is None:
            place = self._place()
        self._orders[key] = order, place
        self.instep.dirty[place] = set()
        return order

    def _place(self) -> int:
        """A place to watch changes: of the order that was asked for least lately, where there are many."""
        return self._orders.popitem(last=False)[1][1] if len(self._orders) >= _KEPT else self.instep.watch()

    def _mended(self, order: Order, ids: Ids, dirty: set[int], language: str | None) -> Order | None:
        """An order with what changed put in its place; None where that is much, or has no label."""
        among = np.array(sorted(dirty), dtype=np.int64)
        changed = {*ids[~np.isin(ids, order.ids)].tolist(), *among[np.isin(among, ids)].tolist()}
        if len(changed) > _MENDED:
            return None
        names = self._names(np.array(sorted(changed), dtype=np.int64), language)
        if len(names) < len(changed):
            return None
        found, initials = order.ids, order.initials
        keep = np.isin(found, ids) & ~np.isin(found, list(changed))
        found, initials = found[keep], initials[keep[: len(initials)]]

        def name(at: int) -> str:
            number = int(found[at])
            return self._names(np.array([number]), language)[number]

        for number in sorted(changed, key=names.__getitem__):
            place = bisect_left(range(len(initials)), names[number], key=name)
            found = np.insert(found, place, number)
            initials = np.insert(initials, place, initial(names[number]))
        return Order(found, initials)

    def _order(self, ids: Ids, language: str | None) -> Order:
        names = self._names(ids, language)
        order = sorted(names, key=names.__getitem__)
        rest: list[int] = ids[~np.isin(ids, np.array(order, dtype=np.int64))].tolist() if len(order) < len(ids) else []
        if len(rest) <= _BY_IRI:
            terms = self._core.dictionary.terms(rest)
            rest.sort(key=lambda number: (folded(words_of(terms[number].value)), terms[number].value))
        return Order(
            np.array(order + rest, dtype=np.int64), np.array([initial(names[one]) for one in order], dtype="U1")
        )

    def _names(self, ids: Ids, language: str | None) -> dict[int, str]:
        """Entity → its label as it is ordered: folded, then as it is. It is that which `Facts.labels` chooses."""
        predicates = self._core.facts.numbers(self._core.chunks.policy.predicates("label"))
        place = {number: at * 8 for at, number in enumerate(predicates)}
        ranks: dict[tuple[int, str | None], int] = {}
        best: dict[int, str] = {}
        rank_of: dict[int, int] = {}
        for part in batches(ids):
            values = _SQL["names_of"].bind(ids_json=part, predicates_json=json_ids(predicates))
            entities, *others = self._core.connection.rows(_SQL["names_of"], values)[0]
            for entity, predicate, text, tag in zip(integers(entities).tolist(), *map(json.loads, others), strict=True):
                rank = ranks.get((predicate, tag))
                if rank is None:
                    rank = ranks[predicate, tag] = place[predicate] + language_order(tag, language)
                known = rank_of.get(entity)
                if known is not None and rank > known:
                    continue
                shown = text if text.isprintable() and "  " not in text else clean(text)
                if shown.strip() and (known is None or rank < known or shown < best[entity]):
                    best[entity], rank_of[entity] = shown, rank
        return {entity: f"{folded(text[:_LONGEST])}\0{text}" for entity, text in best.items()}

    def labels(self, ids: Iterable[int], language: str | None) -> dict[int, str]:
        """Entity → its label, for those that have one."""
        found = self._core.facts.labels(self._core.chunks.policy, ids, language=language)
        return {number: text.label for number, text in found.items()}

    def apart(self, labels: Mapping[int, str]) -> Mapping[int, str]:
        """Of entities with one label, a fact by which each differs, or else its IRI."""
        groups: dict[str, list[int]] = {}
        for number, label in labels.items():
            groups.setdefault(label, []).append(number)
        same = [group for group in groups.values() if len(group) > 1]
        core = self._core
        told = told_apart(core.connection, core.dictionary, core.chunks.policy, same) if same else {}
        rest = [number for group in same for number in group if number not in told]
        terms = core.dictionary.terms(rest)
        prefixes = core.namespaces.prefixes
        short = {
            one: shorten(terms[one].value, prefixes).strip("<>") for one in rest if isinstance(terms[one], ox.NamedNode)
        }
        return {**told, **short}


def folded(text: str) -> str:
    """A text as it is sorted: without regard to case, accents, and signs before it."""
    if text.isascii():
        plain = text.lower()
    else:
        wide = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
        plain = "".join(character for character in wide if not unicodedata.combining(character))
    return plain.lstrip("\"'([{¿¡«“‘ ") or plain


def initial(name: str) -> str:
    """The letter under which a folded name stands; "#" for digits and signs."""
    return name[0].upper() if name[:1].isalpha() else "#"
