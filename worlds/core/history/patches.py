"""Reads RDF Patches as changes of a world."""

from __future__ import annotations

import contextlib
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.history.diff import named
from worlds.core.history.threeway import ThreeWay, three_way
from worlds.core.history.undo import held_quads
from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.namespaces import Namespaces
from worlds.core.quads.patterns import Patterns
from worlds.core.quads.recognition import Recognition
from worlds.core.quads.rows import NO_QUADS, difference, unique_quads
from worlds.errors import ConflictError, ParseError
from worlds.graph.patches import PatchRow, read_patch
from worlds.graph.rdf_sources import sources
from worlds.sql.connection import Connection

_PENDING = 100_000  # terms that wait for their ids
_TEXT = re.compile(r"\s*(?:[AD]|T[XCA]|P[AD]|H)\s.*\.\s*")  # a patch of one row


class Patches:
    """Reads patches for one world. All runs inside the caller's transaction."""

    def __init__(self, connection: Connection, dictionary: Dictionary, namespaces: Namespaces) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._namespaces = namespaces
        self._rows = NO_QUADS, NO_QUADS  # what the patch that was read last adds, and removes

    def read(self, source: object, *, strict: bool, max_unpacked: int | None = None) -> tuple[Ids, Ids]:
        """(quads that a patch adds, quads that it removes), int64 [n, 4]; its prefixes are set.

        ConflictError, if `strict`, where it adds what is there or deletes what is not.
        """
        interner = Interner(self._connection, self._dictionary, rename_blank_nodes=False)
        numbers, adds = array("q"), array("b")
        aborted: list[tuple[int, int]] = []
        prefixes: list[PatchRow] = []
        begun, kept = 0, 0  # changes, and prefixes, at the last TX
        with interner.bulk(), _opened(source, max_unpacked) as (stream, name):
            for row in read_patch(stream, name):
                code, quad = row.code, row.quad
                if quad is not None:
                    for term in (quad.subject, quad.predicate, quad.object, quad.graph_name):
                        numbers.append(interner.local(term))  # type: ignore[arg-type]  # the default graph is known
                    adds.append(code == "A")
                    if len(interner.numbering.pending) > _PENDING:
                        interner.flush()
                elif code == "TX":
                    begun, kept = len(adds), len(prefixes)
                elif code == "TA":
                    aborted.append((begun, len(adds)))
                    del prefixes[kept:]
                elif code in ("PA", "PD"):
                    prefixes.append(row)
            ids = interner.resolve(np.array(numbers, dtype=np.int64).reshape(-1, 4))
        self._set_prefixes(prefixes)
        valid = np.ones(len(ids), dtype=np.bool_)
        for first, last in aborted:
            valid[first:last] = False
        ids, adding = ids[valid], np.array(adds, dtype=np.bool_)[valid]
        ids = self._recognised(ids, adding, interner.before)
        self._rows = unique_quads(ids[adding]), unique_quads(ids[~adding])
        return self._net(ids, adding, strict=strict)

    def _recognised(self, quads: Ids, adds: NDArray[np.bool_], before: int) -> Ids:
        """The rows of a patch with nodes of the world in the place of new ones that are wholly equal to them, as the
        rows tell these that delete. `before` is the last term from before the patch.
        """
        if not before or not (quads[~adds] > before).any():
            return quads
        _, first = np.unique(quads, axis=0, return_index=True)
        said = quads[np.sort(first[~adds[first]])]  # a quad that the patch added before is none of the world's
        recognition = Recognition(self._connection, self._dictionary, before)
        return recognition.settle(quads, recognition.equal(said))

    def merged(self, patterns: Patterns) -> ThreeWay:
        """Merge the patch that was read last with the changes of the world since it was made."""
        added, removed = self._rows
        removed, added = difference(removed, added), difference(added, removed)
        subjects = self._dictionary.terms(np.union1d(added[:, 0], removed[:, 0]).tolist())
        held = [patterns.matching((term, None, None), None) for number, term in subjects.items() if number]
        mine = unique_quads(np.concatenate([NO_QUADS, *held]))
        missing = difference(removed, mine)
        known = self._dictionary.terms(np.union1d(mine[:, 2], missing[:, 2]).tolist())

        def slot(row: list[int]) -> tuple[int, int, int, str | None]:
            return row[0], row[1], row[3], getattr(known[row[2]], "language", None)

        changed = {slot(row) for row in missing.tolist()}  # here the world has its own values
        own = np.array([slot(row) in changed for row in mine.tolist()], dtype=np.bool_)
        base = unique_quads(np.concatenate([mine[~own], removed]))
        theirs = unique_quads(np.concatenate([difference(base, removed), added]))
        return three_way(mine, theirs, base, self._dictionary)

    def _set_prefixes(self, rows: Sequence[PatchRow]) -> None:
        for row in rows:
            if row.code == "PD":
                self._namespaces.unbind(row.name)
            else:
                assert isinstance(row.value, ox.NamedNode)
                self._namespaces.bind(row.name, row.value.value)

    def _net(self, quads: Ids, adds: NDArray[np.bool_], *, strict: bool) -> tuple[Ids, Ids]:
        """The net effect of changes in sequence; `quads` int64 [n, 4], `adds` [n]."""
        if not len(quads):
            return NO_QUADS, NO_QUADS
        order = np.lexsort((quads[:, 3], quads[:, 2], quads[:, 1], quads[:, 0]))  # stable: equal ones keep their order
        ordered, adds = quads[order], adds[order]
        first = np.append(True, np.any(np.diff(ordered, axis=0) != 0, axis=1))
        distinct = ordered[first]
        there = np.zeros(len(distinct), dtype=np.bool_)
        there[held_quads(self._connection, distinct)[:, 0]] = True
        before = np.append(False, adds[:-1])
        before[first] = there
        idle = np.sort(order[adds == before])
        if strict and len(idle):
            self._refuse(quads[idle], added=bool(adds[np.flatnonzero(order == idle[0])[0]]))
        after = adds[np.append(first[1:], True)]
        return distinct[after & ~there], distinct[~after & there]

    def _refuse(self, idle: Ids, *, added: bool) -> None:
        what = "adds what is there already" if added else "deletes what is not there"
        more = f", and {len(idle) - 1:,} more such rows" if len(idle) > 1 else ""
        raise ConflictError(
            f"the patch does not fit this world: it {what}, {named(self._dictionary, idle[:1])}{more}; strict=False "
            "ignores them"
        )


@contextlib.contextmanager
def _opened(source: object, max_unpacked: int | None) -> Iterator[tuple[BinaryIO, str]]:
    """The bytes of a patch, and its name: a path, bytes, a file object, or the text itself."""
    if isinstance(source, str) and ("\n" in source or _TEXT.fullmatch(source)):
        source = source.encode("utf-8", "surrogatepass")  # a lone surrogate is the parser's to refuse
    found = iter(sources(source, format="nq", max_unpacked=max_unpacked))
    patch = next(found, None)
    if patch is None or next(found, None) is not None:
        raise ParseError(f"{source!r} is not one patch")
    with patch.open() as stream:
        yield stream, patch.name
