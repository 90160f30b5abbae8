"""RDF 1.2 for rdflib, which has the terms of RDF 1.1: the rest is left out, told in its words, or an error."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias, get_args

import pyoxigraph as ox

from worlds.errors import ArgumentError
from worlds.graph.terms import RDF, to_rdflib

TripleTerms: TypeAlias = Literal["skip", "reify", "error"]
"""The treatment of triple terms and of texts with a base direction where rdflib has no term for them.

"skip" leaves them out, and the log "worlds" counts them. "reify" makes statements of triple terms (RDF 1.1's
reification, RDF Semantics D.1), and i18n datatypes of directions (JSON-LD 1.1, section 10.5). "error" is a ValueError.
"""

Row: TypeAlias = tuple[Any, ...]
"""Subject, predicate and object as rdflib terms, or pyoxigraph's where rdflib has none; and what stands behind them."""

_I18N = "https://www.w3.org/ns/i18n#"
_log = logging.getLogger("worlds")


def expect_triple_terms(value: object, names: tuple[str, ...] = get_args(TripleTerms)) -> None:
    """ArgumentError for an unknown treatment of triple terms."""
    if value not in names:
        raise ArgumentError(f"triple_terms must be {', '.join(names[:-1])} or {names[-1]}, not {value!r}")


def is_plain(term: object) -> bool:
    """Whether rdflib has the term, which is rdflib's own then."""
    return not isinstance(term, (ox.Triple, ox.Literal))


def plain(rows: Iterable[Row], triple_terms: TripleTerms) -> Iterator[Row]:
    """Triples, or quads, in rdflib's terms; rows whose object rdflib has are given as they are."""
    expect_triple_terms(triple_terms)
    left_out = 0
    stated: dict[Any, ox.Triple] = {}
    for row in rows:
        subject, predicate, value, *rest = row
        if is_plain(value):
            yield row
        elif triple_terms == "error":
            raise ValueError(
                f"rdflib has no term for {value}; triple_terms='skip' leaves it out, 'reify' has statements"
            )
        elif triple_terms == "skip":
            left_out += 1
        elif isinstance(value, ox.Literal):
            yield subject, predicate, _directed(value), *rest
        elif str(predicate) == f"{RDF}reifies" and stated.setdefault(subject, value) == value:
            yield from _statement(subject, value, rest)
        else:  # of a reifier of several triples, each is a statement of its own
            node = _node(value)
            yield subject, predicate, node, *rest
            yield from _statement(node, value, rest)
    if left_out:
        _log.warning("%s are left out, of which rdflib has no terms: triple_terms='reify' has them", told(left_out))


def told(count: int) -> str:
    """So many triples, in words."""
    return f"{count:,} triples with triple terms or base directions"


def _directed(value: ox.Literal) -> Any:
    datatype = f"{_I18N}{value.language}_{'rtl' if value.direction == ox.BaseDirection.RTL else 'ltr'}"
    return to_rdflib(ox.Literal(value.value, datatype=ox.NamedNode(datatype)))


def _node(triple: ox.Triple) -> Any:
    """The blank node that stands for a triple term: the same one wherever it occurs."""
    return to_rdflib(ox.BlankNode(f"t{hashlib.sha256(str(triple).encode()).hexdigest()[:32]}"))


def _statement(node: Any, triple: ox.Triple, rest: list[Any]) -> Iterator[Row]:
    """The statement of a triple by RDF 1.1, which does not assert it."""
    value: Any = triple.object
    if isinstance(value, ox.Triple):
        inner = _node(value)
        yield from _statement(inner, value, rest)
        value = inner
    elif isinstance(value, ox.Literal) and value.direction is not None:
        value = _directed(value)
    else:
        value = to_rdflib(value)
    parts = (("type", to_rdflib(ox.NamedNode(f"{RDF}Statement"))), ("subject", to_rdflib(triple.subject)),
             ("predicate", to_rdflib(triple.predicate)), ("object", value))  # fmt: skip
    for name, part in parts:
        yield node, to_rdflib(ox.NamedNode(RDF + name)), part, *rest
