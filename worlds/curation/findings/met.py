"""What one check of a report found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from worlds.curation.columns.table import Table
from worlds.curation.findings.findings import Severity
from worlds.quads.dictionary import Ids


@dataclass(frozen=True, slots=True)
class Met:
    """What one check found, as ids; `rows` are of triples, where these are at fault rather than entities."""

    name: str
    level: Severity
    title: str
    ids: Ids
    query: str
    rows: Sequence[int] = ()
    groups: Sequence[Sequence[int]] = field(default=())  # entities that are at fault together
    count: int = -1

    @property
    def total(self) -> int:
        """How often it is met."""
        return self.count if self.count >= 0 else len(self.groups) or len(self.rows) or len(self.ids)

    def cases(self, table: Table) -> set[tuple[int, ...]]:
        """What is met, each case as ids: an entity, entities that are at fault together, or a triple."""
        if self.rows:
            columns = (column[list(self.rows)].tolist() for column in (table.subjects, table.predicates, table.objects))
            return set(zip(*columns, strict=True))
        return set(map(tuple, map(sorted, self.groups))) or {(number,) for number in self.ids.tolist()}
