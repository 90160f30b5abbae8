"""Labels of entities that become one: which of them are other names then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.quads.interner import Interner
from worlds.core.texts.chunks import ChunkStore
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("curation.sql")
_USUAL = "http://www.w3.org/2004/02/skos/core#altLabel"


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
        found = self._connection.value(_SQL["commonest_of"], (json_ids(self.known("alias")),))
        if found is not None:
            return int(found)
        policy = self._chunks.policy
        name = ox.NamedNode(_USUAL if policy.role(_USUAL) == "alias" else policy.predicates("alias")[0])
        interner = Interner(self._connection, self._dictionary, rename_blank_nodes=False)
        return int(interner.resolve(np.array([interner.local(name)]))[0])
