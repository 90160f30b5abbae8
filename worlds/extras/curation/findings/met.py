"""The result of one check of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from worlds.core.quads.dictionary import Ids
from worlds.extras.curation.columns.quad_columns import QuadTable
from worlds.extras.curation.findings.findings import Severity


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check, as ids; `rows` are of triples, where these are at fault rather than entities."""

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
        """The number of cases."""
        return self.count if self.count >= 0 else len(self.groups) or len(self.rows) or len(self.ids)

    def cases(self, table: QuadTable) -> set[tuple[int, ...]]:
        """The cases as ids: each is an entity, entities that are at fault together, or a triple."""
        if self.rows:
            columns = (column[list(self.rows)].tolist() for column in (table.subjects, table.predicates, table.objects))
            return set(zip(*columns, strict=True))
        return set(map(tuple, map(sorted, self.groups))) or {(number,) for number in self.ids.tolist()}
