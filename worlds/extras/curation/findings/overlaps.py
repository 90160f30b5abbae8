"""Values of a functional predicate that held at one time, by what reifiers say, though not both are asserted now."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from worlds.extras.curation.columns.vocabularies import OWL
from worlds.extras.curation.findings.declared import Declared
from worlds.extras.curation.findings.findings import RawFinding
from worlds.extras.facts.spans import REIFIES, Spans


def overlaps(declared: Declared, spans: Spans) -> Iterator[RawFinding]:
    """Contradictions in time; a value of which nothing says when it held contradicts none."""
    table = declared.table
    functional = declared.axioms.typed(OWL + "FunctionalProperty")
    reifies = table.id(REIFIES.value)
    chosen = spans.of(np.isin(spans.quads[:, 1], functional))
    columns = np.column_stack([chosen.quads[:, [0, 1, 3, 2]], chosen.since, chosen.until, chosen.reifiers])
    for (subject, predicate, _), rows in groupby(sorted(map(tuple, columns.tolist())), key=lambda row: row[:3]):
        held = sorted(rows, key=lambda row: row[4])
        for place, (*_, value, _, until, reifier) in enumerate(held):
            for *_, other, since, _, second in held[place + 1 :]:
                if since >= until:
                    break
                if other == value or all(len(table.quads_of(subject, predicate, one)) for one in (value, other)):
                    continue
                yield RawFinding(
                    "overlap",
                    declared.grave([value, other]),
                    1.0,
                    (subject,),
                    tuple(sorted({*table.values_of(reifier, reifies), *table.values_of(second, reifies)})),
                    "{0} had two values of {1} at one time, which may have at most one: {2} and {3}",
                    (subject, predicate, value, other),
                )
