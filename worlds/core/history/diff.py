"""The differences between two revisions, as quads that are decoded when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Protocol, TypeAlias, overload

import numpy as np
import pyoxigraph as ox

from worlds.core.history.edits import READ, Around, Edits, InQuads, edits_of
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import NO_QUADS, decoded
from worlds.graph.patches import write_patch
from worlds.graph.terms import format_term, quad_to_rdflib, to_oxigraph, to_rdflib

Quad: TypeAlias = tuple[Any, Any, Any, Any]

_BLOCK = 20_000  # quads whose terms are decoded together
_SHOWN = 3  # quads that a message names


class TermLookup(Protocol):
    """Knows terms by their ids: a `Dictionary` does."""

    def terms(self, ids: Iterable[int]) -> Mapping[int, Any]:
        """Id → term."""


class Quads(Sequence[Quad]):
    """Quads as tuples of rdflib terms, subject, predicate, object and graph (None for the default graph).

    They are decoded when they are read; their number costs nothing.
    """

    def __init__(self, dictionary: TermLookup, ids: Ids) -> None:
        self._dictionary = dictionary
        self._ids = ids
        self._read: list[ox.Quad] | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Quad]:
        return map(quad_to_rdflib, self.terms())

    def read(self) -> None:
        """Decode all of them at once."""
        self._read = list(self.terms())

    def terms(self) -> Iterator[ox.Quad]:
        """The quads as pyoxigraph has them."""
        return decoded_quads(self._dictionary, self._ids) if self._read is None else iter(self._read)

    @overload
    def __getitem__(self, index: int) -> Quad: ...
    @overload
    def __getitem__(self, index: slice) -> Quads: ...
    def __getitem__(self, index: int | slice) -> Quad | Quads:
        whole = isinstance(index, slice)
        part = Quads(self._dictionary, self._ids[index] if whole else self._ids[index][np.newaxis])
        if self._read is not None:
            part._read = self._read[index] if isinstance(index, slice) else [self._read[index]]
        return part if whole else next(iter(part))

    def __repr__(self) -> str:
        return f"<Quads: {len(self)}>"


class Diff:
    """The changes from the state after revision `a` to the state after revision `b`.

    `added` and `removed` are quads; `created` and `dropped` are the named graphs that came to exist, or ceased to,
    apart from their quads. `notes` are what a write that was only tried has to say, `violations` what a guard has;
    `concluded` are the quads that would follow from it by the world's rules, `retracted` those that no longer would.
    `edits` is the same for people to read: by entity, with the old value of each beside the new one.
    """

    def __init__(
        self, dictionary: TermLookup, a: int, b: int, added: Ids, removed: Ids, headers: Mapping[str, ox.NamedNode]
    ) -> None:
        self.a = a
        self.b = b
        self.added = Quads(dictionary, ordered(added[added[:, 0] != 0]))
        self.removed = Quads(dictionary, ordered(removed[removed[:, 0] != 0]))
        self.created = _graphs(dictionary, added)
        self.dropped = _graphs(dictionary, removed)
        self.concluded, self.retracted = (Quads(dictionary, NO_QUADS) for _ in range(2))
        self.notes: tuple[str, ...] = ()
        self.violations: tuple[str, ...] = ()
        self.around: Around = InQuads(())
        self._dictionary = dictionary
        self._headers = dict(headers)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.created or self.dropped)

    def __repr__(self) -> str:
        return f"<Diff from {self.a} to {self.b}: {len(self.added)} added, {len(self.removed)} removed>"

    def conclude(self, concluded: Ids, retracted: Ids) -> None:
        """Add the conclusions that would begin and cease to follow, int64 [n, 4] each; they are decoded at once."""
        self.concluded, self.retracted = (Quads(self._dictionary, ordered(one)) for one in (concluded, retracted))
        for quads, ids, words in ((self.concluded, concluded, ""), (self.retracted, retracted, " no longer")):
            quads.read()
            if len(quads):
                told = f"{len(quads):,} quad{'s' * (len(quads) > 1)} would{words} follow by the rules"
                self.notes += (f"{told}: {named(self._dictionary, ordered(ids))}",)

    @cached_property
    def edits(self) -> Edits:
        """The difference by entity, of at most 20,000 quads of each kind."""
        went, came = (list(islice(quads.terms(), READ)) for quads in (self.removed, self.added))
        counts = (len(self.added), len(self.removed))
        return edits_of(went, came, self.around, counts=counts, created=self.created, dropped=self.dropped)

    def to_dict(self, limit: int | None = None) -> dict[str, Any]:
        """The difference as JSON-ready values, terms as Turtle has them; of each list the first `limit`."""

        def shown(term: object) -> str | None:
            return None if term is None else format_term(to_oxigraph(term))

        edits = self.edits.to_dict()
        told = {"concluded": self.concluded, "retracted": self.retracted}
        listed = {"added": self.added, "removed": self.removed, **{name: one for name, one in told.items() if len(one)}}
        return {
            "from": self.a,
            "to": self.b,
            "counts": {name: len(quads) for name, quads in listed.items()},
            **{name: [list(map(shown, quad)) for quad in islice(quads, limit)] for name, quads in listed.items()},
            "created": list(map(shown, self.created)),
            "dropped": list(map(shown, self.dropped)),
            "entities": edits["entities"][:limit],
            "summary": edits["summary"],
        }

    def pieces(self) -> Iterator[str]:
        """The text of `patch`, some thousand rows at a time."""
        return write_patch(self.removed.terms(), self.added.terms(), self._headers)

    def patch(self) -> str:
        """The difference as an RDF Patch, for `World.revisions.apply`. Graphs without a quad have no row."""
        return "".join(self.pieces())


def ordered(ids: Ids) -> Ids:
    """Graph by graph, and subject by subject."""
    return ids[np.lexsort((ids[:, 2], ids[:, 1], ids[:, 0], ids[:, 3]))]


def decoded_quads(dictionary: TermLookup, ids: Ids) -> Iterator[ox.Quad]:
    """The quads among rows of ids, without markers."""
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        yield from decoded(block, dictionary.terms(np.unique(block).tolist()))


def sorted_terms(dictionary: TermLookup, ids: Ids) -> list[Any]:
    """The terms of ids, in the order of the ids."""
    terms = dictionary.terms(ids.tolist())
    return [terms[number] for number in np.sort(ids).tolist()]


def _graphs(dictionary: TermLookup, quads: Ids) -> tuple[Any, ...]:
    """The graphs of the markers among quads."""
    return tuple(map(to_rdflib, sorted_terms(dictionary, quads[quads[:, 0] == 0, 3])))


def named(dictionary: TermLookup, quads: Ids) -> str:
    """Some of the quads, for a person."""
    terms = dictionary.terms(np.unique(quads[:_SHOWN]).tolist())
    shown = [
        " ".join(format_term(terms[part]) for part in quad if part) if quad[0] else f"graph {terms[quad[3]]}"
        for quad in quads[:_SHOWN].tolist()
    ]
    return "; ".join(shown) + ("; …" if len(quads) > _SHOWN else "")
