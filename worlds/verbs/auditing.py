"""The verbs that find what is wrong, or may be."""

from __future__ import annotations

from worlds.curation.findings import Findings
from worlds.verbs.parts import Parts


class Auditing(Parts):
    """The verbs that find what is wrong, or may be."""

    def contradictions(self, *, suggested: bool = True, limit: int | None = 1000) -> Findings:
        """What contradicts itself: `Findings`, the gravest first, each with its quads and who said them.

        By what OWL, RDF Schema and SKOS declare (functional properties, disjoint classes, cardinalities, domains,
        ranges, datatypes, circles, …), with what follows from the hierarchies; by the world's own shapes; and, with
        `suggested`, by what the data themselves suggest: a second value where nearly all subjects have one, numbers and
        dates far from all others, values of another kind, class or form, dates in an impossible order. Nothing is
        found in what is only missing. At most `limit` findings of a kind are given, None for all; `.counts` has how
        many there are. All quads are read, in any graph but that of the shapes.
        """
        return self._contradictions.find(suggested=suggested, limit=limit, prefixes=self._namespaces.prefixes)
