"""Merges stay in force: a quad under an old name is written under the kept one.

A quad that names an entity that was merged into another is rewritten on its way in, as the merge rewrote those before
it. The table `merged_quads` remembers how it came: a removal under the old name finds it, and once the redirect is
gone, by a split, an undo or by hand, it is as it came. What stands because several quads came stays until all of them
are removed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.redirects import REDIRECTS, Redirects, ends, parts_of, substituted, triples_with
from worlds.core.quads.rows import NO_QUADS, difference, distinct, find_quads, in_storing_order, unique_quads
from worlds.core.texts.chunks import ChunkStore
from worlds.graph.terms import format_term, listed
from worlds.sql import statements
from worlds.sql.connection import Connection, Row

_NAMES_SQL = statements("curation.sql")
_USUAL = "http://www.w3.org/2004/02/skos/core#altLabel"
_SQL = statements("merged.sql")
_BATCH = 5000  # rows a statement
_TOLD = 3  # names
_FOLLOWED = (
    "quad about a merged entity was written under the kept name",
    "quads about merged entities were written under the kept names",
)
_KEPT = (
    "quad about a merged entity was written under its old name",
    "quads about merged entities were written under their old names",
)
_NOTHING = (0, -1, 0, 0)  # as which a quad stands that would link an entity with itself
Pairs: TypeAlias = Ids
"""Quads as they came, beside as what they stand; int64 [n, 8]."""
NO_PAIRS: Pairs = np.empty((0, 8), dtype=np.int64)
NO_IDS: Ids = np.empty(0, dtype=np.int64)


class OtherNames:
    """Makes labels other names."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks

    def known(self, role: str) -> list[int]:
        """The ids of the predicates with the role "label", or "alias" (other names), that the world has."""
        terms = list(map(ox.NamedNode, self._chunks.policy.predicates(role)))
        return [number for number in self._dictionary.find(terms) if number is not None]

    def rename(self, quads: Ids, found: Ids, rows: Sequence[int], held: Ids) -> None:
        """Turn added labels (`rows` of `found`) into other names if their subject already has one in that language.

        `found` are `quads` as they become, row by row, and `held` the labels that stay; int64 [n, 4] all.
        """
        terms = self._dictionary.terms(np.union1d(quads[list(rows), 2], held[:, 2]).tolist())
        staying: defaultdict[int, set[int]] = defaultdict(set)
        for subject, value in held[:, [0, 2]].tolist():
            staying[subject].add(value)
        alias = None
        for row in rows:
            subject, value = int(found[row, 0]), int(quads[row, 2])
            mine = staying[subject]
            if value in mine or not isinstance(terms[value], ox.Literal):
                continue
            languages = {getattr(terms[one], "language", None) for one in mine}
            language = getattr(terms[value], "language", None)
            if languages & {language, None} or (languages and language is None):
                alias = self._alias() if alias is None else alias
                found[row, 1] = alias
            else:
                mine.add(value)

    def _alias(self) -> int:
        """The predicate of other names that the world uses most; skos:altLabel where it uses none."""
        found = self._connection.value(_NAMES_SQL["commonest_of"], (json_ids(self.known("alias")),))
        if found is not None:
            return int(found)
        policy = self._chunks.policy
        name = ox.NamedNode(_USUAL if policy.role(_USUAL) == "alias" else policy.predicates("alias")[0])
        interner = Interner(self._connection, self._dictionary, rename_blank_nodes=False)
        return int(interner.resolve(np.array([interner.local(name)]))[0])


class Leading:
    """Replaces old names by kept ones in the writes of one world. All of it runs in a transaction."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._redirects = Redirects(connection, dictionary)
        self.names = OtherNames(connection, dictionary, chunks)

    @property
    def graph(self) -> int | None:
        """The graph of redirects; None where nothing was ever merged."""
        return self._dictionary.find([REDIRECTS])[0]

    # -- what comes in --------------------------------------------------------------------------------------------

    def led(self, quads: Ids, instead: Ids = NO_QUADS, leads: dict[int, int] | None = None) -> tuple[Ids, Pairs]:
        """(the quads as they stand, those of them that came otherwise); int64 [n, 4] of distinct rows, and [n, 8].

        They come in the place of quads `instead`, whose labels do not count. `leads` is where old names lead, if that
        is not what the world has.
        """
        if not len(quads) or not self._chunks.policy.follow_merges:
            return quads, NO_PAIRS
        images = self.images(quads, leads)
        moved = (images != quads).any(axis=1)
        if not moved.any():
            return quads, NO_PAIRS
        self._rename(quads, images, moved, instead)
        lost = moved & loops(quads, images)
        own = quads[~moved]
        found = in_storing_order(np.concatenate([own, images[moved & ~lost]]))
        also = difference(own, difference(own, unique_quads(images[moved])))  # what came as it stands, too
        images[lost] = _NOTHING
        return found, np.concatenate([np.hstack([quads[moved], images[moved]]), np.hstack([also, also])])

    def given(self, quads: Ids, subjects: Ids = NO_IDS, graphs: Collection[int] = ()) -> Ids:
        """How quads came that stand now, int64 [n, 4]; those that came with one of some subjects; and those that came
        into some graphs and stand nowhere."""
        rows = self._rows("by_kept", shared := self._shared(quads))
        others = np.delete(shared, sorted({place for place, *_ in rows}), axis=0)
        came = [row[2:6] for row in rows] + self._connection.rows(_SQL["of_subjects"], (json_ids(subjects),))
        came += self._connection.rows(_SQL["lost_of_graphs"], (json_ids(graphs),))
        return unique_quads(np.concatenate([difference(quads, shared), others, _table(came, 4)]))

    def images(self, quads: Ids, leads: dict[int, int] | None = None) -> Ids:
        """The quads, row by row, with kept names instead of merged ones; redirects stay."""
        graph = self.graph
        if leads is None:
            ids = distinct(quads.ravel())
            parts = parts_of(self._connection, distinct(quads[:, 2]))
            leads = self._redirects.of([*ids.tolist(), *(part for some in parts.values() for part in some)])
        if not leads:
            return quads
        found = substituted(self._connection, self._dictionary, quads, leads)
        redirect = quads[:, 3] == graph
        found[redirect] = quads[redirect]
        return found

    def _rename(self, quads: Ids, images: Ids, moved: Ids, instead: Ids) -> None:
        """Make labels other names where the kept entity has one, as a merge does."""
        labels = self.names.known("label")
        sought = moved & np.isin(quads[:, 1], labels) & (images[:, 0] != quads[:, 0])
        rows = np.flatnonzero(sought)
        if len(rows):
            own = quads[~moved & np.isin(quads[:, 1], labels) & np.isin(quads[:, 0], images[rows, 0])]
            held = difference(self._labels(images[rows, 0], labels), unique_quads(instead))
            held = np.concatenate([held, own])
            stored = {place for place, _, _ in find_quads(self._connection, images[rows])}
            first = sorted(range(len(rows)), key=lambda place: place not in stored)
            self.names.rename(quads, images, rows[first].tolist(), held)

    def _labels(self, subjects: Ids, labels: list[int]) -> Ids:
        statement = _SQL["labels_of"]
        given = statement.bind(ids_json=json_ids(distinct(subjects)), labels_json=json_ids(labels))
        return unique_quads(_table(self._connection.rows(statement, given), 4))

    def follow(
        self, added: Ids, removed: Ids, number: int, undoes: int | None, *, as_given: bool = False
    ) -> tuple[Ids, Ids, tuple[str, ...]]:
        """(quads to add, quads to remove, notes) of a write; distinct rows, none in both.

        With `as_given` the quads to remove are ones as they came: of what stands for several, the others stay.
        """
        graph = self.graph
        if graph is None:
            return added, removed, ()
        known = self._redirects.predicates
        told, taken = (
            quads[(quads[:, 3] == graph) & (quads[:, 0] > 0) & np.isin(quads[:, 1], known)]
            for quads in (added, removed)
        )
        turn = Turn(self._connection, graph, known, told, taken) if len(told) or len(taken) else None
        leads = None if turn is None else turn.after
        if turn is not None and len(taken) and undoes is not None:
            # What they had moved comes back by itself, and what somebody gave since stays.
            added = added[(self.images(added, turn.before) == added).all(axis=1)]
            since = [at for at, _, since in find_quads(self._connection, removed) if since > undoes]
            removed = np.delete(removed, [at for at in since if removed[at, 3] != graph], axis=0)
        back = NO_PAIRS
        if undoes is not None:
            added, back = self._brought_back(added, undoes, turn)
        given = added
        stood = _table([row[2:] for row in self._rows("by_given", removed)], 4)
        added, pairs = self.led(added, np.concatenate([removed, stood]), leads)
        notes = self._notes(given, pairs, leads)
        stands = unique_quads(np.concatenate([some[some[:, 5] >= 0, 4:] for some in (pairs, back)]))
        own = self._own(stands, removed if turn is not None else NO_QUADS)
        plain = difference(added, stands) if turn is None else NO_QUADS  # else a merge may make them
        freed = _table(self._connection.rows(_SQL["removed_by"], (number,)), 8)[:, 4:]  # by the same write
        also = np.concatenate([self._parted(self._shared(plain))[0], plain[_among(plain, freed)]])
        gone = removed
        said = _table(self._connection.rows(_SQL["came_with"], (undoes,)), 8)
        if turn is not None:
            plus, minus, moved = self._turned(turn, added, removed, number, undoes)
            added, removed = (unique_quads(np.concatenate(both)) for both in ((added, plus), (removed, minus)))
            gone = difference(gone, moved)
        self._remember(own[:, [0, 1, 2, 3, 0, 1, 2, 3, 4]])
        more, stays = self._unsaid(gone, pairs, said, leads, number, undoes, as_given=as_given)
        self._remember(np.concatenate([pairs, np.hstack([also, also])]), number)
        self._remember(np.hstack([back, np.full((len(back), 1), number)]))
        added = unique_quads(np.concatenate([added, back[back[:, 5] >= 0, 4:]]))
        removed = difference(unique_quads(np.concatenate([removed, more])), stays)
        return added, difference(removed, unique_quads(added)), notes

    def _brought_back(self, added: Ids, undoes: int, turn: Turn | None) -> tuple[Ids, Pairs]:
        """(quads that an undo adds: as they came, where a split since leads them elsewhere; what leads as it did)."""
        rows = _table(self._connection.rows(_SQL["removed_by"], (undoes,)), 8)
        came, stood = rows[:, :4], rows[:, 4:]
        if turn is not None:
            return added, rows[(stood[:, 1] < 0) | _among(stood, added)]
        images = self.images(came)
        apart = images != stood
        apart[:, 1] &= ~np.isin(stood[:, 1], self.names.known("alias"))
        otherwise = apart.any(axis=1) & ((stood[:, 1] >= 0) | ~loops(came, images))
        added = difference(added, difference(unique_quads(stood[otherwise]), unique_quads(stood[~otherwise])))
        return unique_quads(np.concatenate([added, came[otherwise]])), rows[~otherwise]

    def _unsaid(
        self, removed: Ids, pairs: Pairs, said: Pairs, leads: dict[int, int] | None, number: int, undoes: int | None,
        *, as_given: bool,
    ) -> tuple[Ids, Ids]:  # fmt: skip
        """Forget how quads came that are removed: (what stands for nothing any more, what still stands for others).

        `said` came with the revision that is undone.
        """
        images = self.images(removed, leads)
        moved = (images != removed).any(axis=1)
        kept: list[tuple[int, ...]] = []
        dead: list[int] = []
        for _, one, *stands in self._rows("by_given", unique_quads(np.concatenate([removed[moved], said[:, :4]]))):
            dead.append(one)
            kept.append(tuple(stands))
        plain, exact = self._shared(removed[~moved]), as_given or undoes is not None
        coming = set(map(tuple, pairs[:, :4].tolist()))
        other = unique_quads(np.concatenate([said[:, 4:], self.images(said[:, :4])]))
        other = difference(other, unique_quads(said[:, :4]))  # what stood for what came otherwise
        led = set(map(tuple, (other if leads is None or undoes is None else removed).tolist()))
        for place, one, *given, _ in self._rows("by_kept", plain):
            own = given == plain[place].tolist()
            if (own and tuple(given) not in led) or not (exact or tuple(given) in coming):
                dead.append(one)
        later = difference(removed, difference(removed, other)) if leads is None else NO_QUADS
        later = self._parted(later)[1]  # what came by itself since
        self._run("forget", dead, revision=number)
        left = self._parted(unique_quads(_table(kept, 4)))[1]
        stays = self._parted(plain)[0] if exact else NO_QUADS
        return left[left[:, 1] >= 0], unique_quads(np.concatenate([stays, later]))

    def _shared(self, quads: Ids) -> Ids:
        """The quads that may stand for others."""
        if not len(quads) or not self._connection.value(_SQL["any"]):
            return quads[:0]
        kept = self._connection.column(_SQL["kept_subjects"], (json_ids(distinct(quads[:, 0])),))
        return quads[np.isin(quads[:, 0], kept)]

    def _parted(self, quads: Ids) -> tuple[Ids, Ids]:
        """(the quads that stand for original quads of a merge, the other quads)."""
        places = sorted({place for place, *_ in self._rows("by_kept", quads)})
        return quads[places], np.delete(quads, places, axis=0)

    def _own(self, quads: Ids, removed: Ids) -> Ids:
        """The quads that were written under their present names and remain, with their revisions; int64 [n, 5]."""
        quads = self._parted(difference(quads, unique_quads(removed)))[1]
        found = find_quads(self._connection, quads)
        return _table([[*quads[at].tolist(), since] for at, _, since in found], 5)

    # -- redirects that come and go -------------------------------------------------------------------------------

    def _turned(self, turn: Turn, added: Ids, removed: Ids, number: int, undoes: int | None) -> tuple[Ids, Ids, Ids]:
        """(quads that come, that go, that the write itself removes and that stand otherwise now)."""
        rows = self._touched(turn)
        given, stood = rows[:, 1:5], rows[:, 5:]
        images = self.images(given, turn.after)
        moving, since, becomes = self._moving(turn, removed)
        there = self._there(np.concatenate([images, becomes]), added, removed)
        gone = set(map(tuple, removed.tolist())) if len(turn.told) else set()
        lost = (0, -1, number, 0)
        now = stood.copy()
        earlier = self.images(given, turn.before)
        columns = (part.tolist() for part in (given, stood, earlier, images))
        for row, (came, was, before, image) in enumerate(zip(*columns, strict=True)):
            if _is_loop(came, image) and undoes is None:
                now[row] = lost
            elif tuple(was) in gone and (undoes is None or tuple(image) in there):  # the write says what becomes of it
                now[row] = there.get(tuple(image), lost)
            else:
                now[row] = _led(came, was, before, image, whole=bool(len(turn.told)) and undoes is None) or lost
        shared = {place for place, *_ in self._rows("by_kept", moving)}
        alone = [row for row in range(len(moving)) if row not in shared]
        made = [there.get(tuple(image), lost) for image in becomes[alone].tolist()]
        same = (becomes[alone] == moving[alone]).all(axis=1) | loops(
            moving[alone], becomes[alone]
        )  # the merge let it go
        stands = np.where(same[:, None], lost, _table(made, 4))
        changed = (now != stood).any(axis=1)
        come = unique_quads(now[changed & (now[:, 1] >= 0)])
        own = self._own(unique_quads(np.concatenate([come, stands[stands[:, 1] >= 0]])), removed)
        self._write("stand", np.hstack([rows[changed, :1], now[changed]]))
        self._remember(np.hstack([moving[alone], stands, since[alone, None]]))
        self._remember(own[:, [0, 1, 2, 3, 0, 1, 2, 3, 4]])
        self._forget_plain(rows[changed, 0], given[changed], now[changed])
        left = self._parted(unique_quads(stood[changed & (stood[:, 1] >= 0)]))[1]
        return come, left, unique_quads(moving)

    def _touched(self, turn: Turn) -> Ids:
        """The quads that may change their form now: id, form as given, form as stored; int64 [n, 9]."""
        ids = np.concatenate([turn.names, triples_with(self._connection, turn.names)])
        lost_by = [since for _, _, since in find_quads(self._connection, turn.taken)]
        given = _SQL["touching"].bind(ids_json=json_ids(ids), revisions_json=json_ids(lost_by))
        return _table(self._connection.rows(_SQL["touching"], given), 9)

    def _moving(self, turn: Turn, removed: Ids) -> tuple[Ids, Ids, Ids]:
        """The quads that a merge moves or removes, the revisions that added them, and their forms after the merge."""
        stored = find_quads(self._connection, removed) if len(turn.told) else ()
        held = _table([(at, since) for at, _, since in stored], 2)
        moving, since = removed[held[:, 0]], held[:, 1]
        new = {old: turn.after[old] for old in turn.told[:, 0].tolist() if old in turn.after and old not in turn.before}
        becomes = self.images(moving, new)
        touched = (becomes != moving).any(axis=1)
        touched |= np.isin(moving[:, 0], turn.told[:, 2]) & (moving[:, 3] != self.graph)
        return moving[touched], since[touched], becomes[touched]

    def _there(self, images: Ids, added: Ids, removed: Ids) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Quad → itself, or it as another name of its subject, where that is added or stays."""
        aliases = self.names.known("alias")
        forms = np.repeat(images[:, None], len(aliases) + 1, axis=1)
        forms[:, 1:, 1] = aliases
        flat = unique_quads(forms.reshape(-1, 4))
        held = flat[[place for place, _, _ in find_quads(self._connection, flat)]]
        there = set(map(tuple, added.tolist())) | set(map(tuple, difference(held, unique_quads(removed)).tolist()))
        labels = set(self.names.known("label"))
        found: dict[Any, Any] = {}
        for some in forms.tolist():
            some = some if some[0][1] in labels else some[:1]
            found |= {tuple(some[0]): tuple(one) for one in reversed(some) if tuple(one) in there}
        return found

    def _forget_plain(self, ids: Ids, given: Ids, now: Ids) -> None:
        """Forget what stands as it came, and for which nothing else does, but the revision that it came with."""
        same = np.flatnonzero((given == now).all(axis=1))
        counts = Counter(place for place, *_ in self._rows("by_kept", given[same]))
        self._run("forget", [int(ids[same[place]]) for place, count in counts.items() if count == 1], revision=0)

    # -- what is remembered ---------------------------------------------------------------------------------------

    def _remember(self, pairs: Ids, number: int | None = None) -> None:
        """Store the original forms of quads, int64 [n, 8] and the revisions, or [n, 8] with one, if not stored yet."""
        if number is not None:
            pairs = np.hstack([pairs, np.full((len(pairs), 1), number)])
            pairs[pairs[:, 5] < 0, 6] = number
        self._write("remember", pairs)

    def _rows(self, name: str, quads: Ids) -> list[Row]:
        """The rows of a statement on quads, whose first column is the place among them."""
        found: list[Row] = []
        for start in range(0, len(quads), _BATCH):
            given = (str(quads[start : start + _BATCH].tolist()),)
            found += [(start + int(place), *rest) for place, *rest in self._connection.rows(_SQL[name], given)]
        return found

    def unnumbered(self, number: int) -> None:
        """Delete the stored forms of a write that changes no quad, and so gets no revision."""
        for name in ("unnumber", "delete_removed"):
            self._connection.run(_SQL[name], (number,))

    def _run(self, name: str, ids: list[int], **given: int) -> None:
        """Run a statement on rows, by their ids."""
        if ids:
            self._connection.run(_SQL[name], _SQL[name].bind(ids_json=json_ids(ids), **given))

    def _write(self, name: str, rows: Ids) -> None:
        for start in range(0, len(rows), _BATCH):
            self._connection.run(_SQL[name], (str(rows[start : start + _BATCH].tolist()),))

    # -- what is told ---------------------------------------------------------------------------------------------

    def _notes(self, given: Ids, pairs: Pairs, leads: dict[int, int] | None) -> tuple[str, ...]:
        """Notes on quads that name merged entities."""
        moved = pairs[(pairs[:, :4] != pairs[:, 4:]).any(axis=1)]
        if not self._chunks.policy.follow_merges and len(given):
            images = self.images(given, leads)
            moved = np.hstack([given, images])[(images != given).any(axis=1)]
        if not len(moved):
            return ()
        names: Counter[tuple[int, int]] = Counter()
        for column in (0, 2, 3):
            sides = moved[moved[:, 5] >= 0][:, [column, column + 4]]
            names.update(map(tuple, sides[sides[:, 0] != sides[:, 1]].tolist()))
        terms = self._dictionary.terms({number for pair in names for number in pair})
        pairs_told = [" is ".join(format_term(terms[part]) for part in pair) for pair, _ in names.most_common()]
        which = f": {listed(pairs_told, _TOLD)}" if names else ""
        lost = int((moved[:, 5] < 0).sum())
        left = f"; {lost:,} would link an entity with itself, and were dropped" if lost else ""
        words = _FOLLOWED if self._chunks.policy.follow_merges else _KEPT
        return (f"{len(moved):,} {words[len(moved) > 1]}{which}{left}",)


class Turn:
    """The redirects that a write adds and removes, and the targets of merged names before and after it."""

    def __init__(self, connection: Connection, graph: int, predicates: list[int], told: Ids, taken: Ids) -> None:
        self.told = told
        self.taken = taken
        rows = connection.table(
            _SQL["steps"], _SQL["steps"].bind(graph=graph, predicates_json=json_ids(predicates))
        ).tolist()
        gone = {(old, kept) for old, _, kept, _ in taken.tolist()}
        self.before = ends(dict(rows))
        self.after = ends(dict([*(row for row in rows if tuple(row) not in gone), *told[:, [0, 2]].tolist()]))
        olds = self.before.keys() | self.after.keys()
        changed = sorted(old for old in olds if self.before.get(old) != self.after.get(old))
        self.names: Ids = np.array(changed, dtype=np.int64)


def _table(rows: Sequence[Sequence[int]], width: int) -> Ids:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def loops(quads: Ids, images: Ids) -> NDArray[np.bool_]:
    """The quads that would become links of an entity with itself."""
    found: NDArray[np.bool_] = (images[:, 0] == images[:, 2]) & (quads[:, 0] != quads[:, 2])
    return found


def _among(quads: Ids, others: Ids) -> NDArray[np.bool_]:
    """A mask of the quads that are among others."""
    known = set(map(tuple, others.tolist()))
    return np.array([tuple(quad) in known for quad in quads.tolist()], dtype=bool)


def _led(came: list[int], was: list[int], before: list[int], image: list[int], *, whole: bool) -> list[int] | None:
    """As what a quad stands now that came so, and stood otherwise; None for nothing. What did not lead stays.

    `before` and `image` are what it was led to before, and is now.
    """
    if was[1] < 0:
        back = _is_loop(came, before) or image == came
        return image if back and not _is_loop(came, image) else None
    now = image if whole else [new if old != at else old for old, at, new in zip(came, was, image, strict=True)]
    if was[1] != before[1] and now != came:  # it is another name
        now = [now[0], was[1], *now[2:]]
    return None if _is_loop(came, now) else now


def _is_loop(quad: list[int], image: list[int]) -> bool:
    return image[0] == image[2] and quad[0] != quad[2]
