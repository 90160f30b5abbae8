"""The constraint components of SHACL Core (section 4), each over pairs of ids: focus nodes and their values.

What ids do not tell, lexical forms do: comparisons, patterns and well-formed values are asked of pyoxigraph and rdflib,
once for each distinct term.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import BLANK_NODE, IRI, LITERAL, Ids
from worlds.core.quads.rows import distinct as once
from worlds.errors import QueryError, ShapesError
from worlds.extras.shapes.nodes import RDF_TYPE
from worlds.extras.shapes.paths import NO_IDS, DataTriples, Pairs, ShapeTerms, distinct, less, matched, within, without
from worlds.extras.shapes.shapes import SUBCLASS_OF, Closed
from worlds.graph.lexical import STABLE
from worlds.graph.query.evaluation import run
from worlds.graph.query.exact import is_wide
from worlds.graph.query.query import Query
from worlds.graph.query.regular_expressions import translated
from worlds.graph.terms import format_term, to_rdflib

_KINDS = {"IRI": IRI, "BlankNode": BLANK_NODE, "Literal": LITERAL}
_BATCH = 500  # values of one VALUES block
_COMPARISONS = {"MinExclusive": ">", "MinInclusive": ">=", "MaxExclusive": "<", "MaxInclusive": "<="}


class ConstraintChecks:
    """Finds the violations of one constraint; each gives (focus, value) pairs, the value -1 where there is none."""

    def __init__(self, terms: ShapeTerms, triples: DataTriples) -> None:
        self._terms = terms
        self._triples = triples

    def run(self, component: str, value: Any, nodes: Ids, pairs: Pairs) -> Pairs:
        """The violations among `pairs` (node, value) of `nodes`, all ascending and distinct."""
        if component in _COMPARISONS:
            return self._bound(component, value, pairs)
        if component in ("LessThan", "LessThanOrEquals"):
            return self._ordered(value, nodes, pairs, "<" if component == "LessThan" else "<=")
        if component in ("MinLength", "MaxLength", "MinCount", "MaxCount"):
            least, most = (value, np.inf) if component.startswith("Min") else (0, value)
            if component.endswith("Length"):
                return self._length(pairs, least, most)
            return self.counted(nodes, pairs, least, most)
        return getattr(self, f"_{component}")(value, nodes, pairs)  # type: ignore[no-any-return]  # see below

    def _where(self, pairs: Pairs, bad: Ids) -> Pairs:
        """The pairs whose value is among `bad`."""
        if not len(bad):
            return NO_IDS, NO_IDS
        met = within(pairs[1], bad)
        return pairs[0][met], pairs[1][met]

    # -- of each value --------------------------------------------------------------------------------------------

    def _Class(self, iri: Any, nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802  # named as the components are
        values = once(pairs[1])
        classes = self._triples.below([iri], SUBCLASS_OF)
        of, kinds = self._triples.pairs(RDF_TYPE, values, inverse=False)
        return self._where(pairs, less(values, of[within(kinds, classes)]))

    def _Datatype(self, iri: Any, nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        values = once(pairs[1])
        kinds, datatypes, _ = self._terms.facts(values)
        good = (kinds == LITERAL) & (datatypes == self._terms.id(iri))
        bad = [values[~good]]
        if iri.value in STABLE:  # its forms can be wrong
            written, stable = self._terms.terms(values[good].tolist()).items(), STABLE[iri.value]
            odd = [number for number, term in written if not stable.fullmatch(term.value) and to_rdflib(term).ill_typed]
            bad.append(np.array(odd, dtype=np.int64))
        return self._where(pairs, np.concatenate(bad))

    def _NodeKind(self, allowed: frozenset[str], nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        values = once(pairs[1])
        kinds = self._terms.facts(values)[0]
        return self._where(pairs, values[~np.isin(kinds, [_KINDS[name] for name in allowed])])

    def _length(self, pairs: Pairs, least: int, most: float) -> Pairs:
        values = once(pairs[1])
        kinds, _, lengths = self._terms.facts(values)
        return self._where(pairs, values[(kinds == BLANK_NODE) | (lengths < least) | (lengths > most)])

    def _Pattern(self, given: tuple[str, str], nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        pattern = format_term(ox.Literal(translated(*given).text))
        values = self._decoded(pairs[1])
        good = self._filtered([(term,) for term in values.values()], f"REGEX(STR(?a), {pattern})")
        matching = [number for number, met in zip(values, good, strict=True) if met]  # no blank node is
        return self._where(pairs, less(once(pairs[1]), np.array(matching, dtype=np.int64)))

    def _LanguageIn(self, tags: tuple[str, ...], nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        ranges = [tag.lower() for tag in tags]

        def allowed(term: Any) -> bool:
            tag = (getattr(term, "language", None) or "").lower()
            return bool(tag) and any(tag == range_ or tag.startswith(range_ + "-") for range_ in ranges)

        bad = [number for number, term in self._decoded(pairs[1]).items() if not allowed(term)]
        return self._where(pairs, np.array(bad, dtype=np.int64))

    def _In(self, members: tuple[Any, ...], nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        return self._where(pairs, less(once(pairs[1]), np.array(self._terms.ids(list(members)), dtype=np.int64)))

    def _bound(self, component: str, bound: Any, pairs: Pairs) -> Pairs:
        values = self._decoded(pairs[1])
        good = self._filtered([(term, bound) for term in values.values()], f"?a {_COMPARISONS[component]} ?b")
        bad = [number for number, met in zip(values, good, strict=True) if not met]
        return self._where(pairs, np.array(bad, dtype=np.int64))

    # -- of all values of a node ----------------------------------------------------------------------------------

    def counted(self, nodes: Ids, pairs: Pairs, least: int, most: float) -> Pairs:
        """The nodes that have fewer values, or more."""
        count = np.searchsorted(pairs[0], nodes, "right") - np.searchsorted(pairs[0], nodes, "left")
        bad = nodes[(count < least) | (count > most)]
        return bad, np.full_like(bad, -1)

    def _HasValue(self, value: Any, nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        bad = less(nodes, pairs[0][pairs[1] == self._terms.id(value)])
        return bad, np.full_like(bad, -1)

    def _UniqueLang(self, asked: bool, nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        kinds = self._terms.facts(pairs[1])[0]
        tagged = self._decoded(pairs[1][kinds == LITERAL])
        seen: dict[tuple[int, str], int] = {}
        for node, value in zip(pairs[0].tolist(), pairs[1].tolist(), strict=True):
            tag = getattr(tagged.get(value), "language", None)
            if tag:
                seen[node, tag.lower()] = seen.get((node, tag.lower()), 0) + 1
        bad = np.array(sorted(node for (node, _), count in seen.items() if count > 1), dtype=np.int64)
        return bad, np.full_like(bad, -1)

    # -- of pairs of properties -----------------------------------------------------------------------------------

    def _Equals(self, iri: Any, nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        others = self._triples.pairs(iri, nodes, inverse=False)
        one, other = without(pairs, others), without(others, pairs)
        return distinct(np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]]))

    def _Disjoint(self, iri: Any, nodes: Ids, pairs: Pairs) -> Pairs:  # noqa: N802
        others = self._triples.pairs(iri, nodes, inverse=False)
        return without(pairs, without(pairs, others))

    def _ordered(self, iri: Any, nodes: Ids, pairs: Pairs, operator: str) -> Pairs:
        others = self._triples.pairs(iri, nodes, inverse=False)
        first, second = self._decoded(pairs[1]), self._decoded(others[1])
        rows, places = matched(pairs[0], others[0])
        both = zip(pairs[1][rows].tolist(), others[1][places].tolist(), strict=True)
        bad = rows[~np.array(self._filtered([(first[a], second[b]) for a, b in both], f"?a {operator} ?b"), dtype=bool)]
        return pairs[0][bad], pairs[1][bad]  # one for each pair of values

    def closed(self, closed: Closed, pairs: Pairs) -> tuple[Ids, Ids, Ids]:
        """(focus, predicate, value) that violate a closed shape, for pairs (focus, value node)."""
        allowed = self._terms.ids(list(closed.allowed))
        of, predicates, objects = self._triples.outgoing(once(pairs[1]))
        bad = ~within(predicates, np.array(allowed, dtype=np.int64))
        order = np.argsort(of[bad], kind="stable")
        subject, predicate, value = of[bad][order], predicates[bad][order], objects[bad][order]
        back = np.argsort(pairs[1], kind="stable")
        rows, places = matched(subject, pairs[1][back])
        return pairs[0][back][places], predicate[rows], value[rows]

    # -- terms ----------------------------------------------------------------------------------------------------

    def _decoded(self, ids: Ids) -> dict[int, Any]:
        return self._terms.terms(once(ids).tolist())

    def _filtered(self, rows: Sequence[tuple[Any, ...]], condition: str) -> list[bool]:
        """For which rows, (?a) or (?a, ?b), a SPARQL condition is true; not where it is an error."""
        met = [False] * len(rows)
        names = " ".join(f"?{name}" for name in "ab"[: len(rows[0]) if rows else 1])
        for start in range(0, len(rows), _BATCH):
            blocks = []
            for place, row in enumerate(rows[start : start + _BATCH], start):
                if not any(isinstance(term, ox.BlankNode | ox.Triple) for term in row):
                    blocks.append(f"({place} {' '.join(map(format_term, row))})")
            query = f"SELECT ?i WHERE {{ VALUES (?i {names}) {{ {' '.join(blocks)} }} FILTER({condition}) }}"
            try:
                wide = any(is_wide(term) for row in rows for term in row)
                for solution in run(ox.Store(), Query(query)) if wide else ox.Store().query(query):  # type: ignore[union-attr]  # a SELECT
                    met[int(solution[0].value)] = True
            except (QueryError, SyntaxError, ValueError, RuntimeError) as error:
                raise ShapesError(f"{condition} cannot be evaluated: {error}") from error
        return met


def union(ids: Iterable[Ids]) -> Ids:
    """The distinct ids of several arrays, ascending."""
    return once(np.concatenate([NO_IDS, *ids]))
