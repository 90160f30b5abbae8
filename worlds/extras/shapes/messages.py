"""Sentences on faulty values, for shapes that have no message of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox

from worlds.extras.shapes.shapes import Constraint, Shape
from worlds.graph.terms import format_term, listed

_KINDS = {"IRI": "an IRI", "BlankNode": "a blank node", "Literal": "a literal"}
_LISTED = 5  # members that a sentence names
_SAYS = {
    "Class": "is not an instance of {}",
    "Datatype": "is not a well-formed {}",
    "MinLength": "has fewer than {} characters",
    "MaxLength": "has more than {} characters",
    "MinExclusive": "is not more than {}",
    "MinInclusive": "is not {} or more",
    "MaxExclusive": "is not less than {}",
    "MaxInclusive": "is not {} or less",
    "HasValue": "the value {} is missing",
    "Equals": "is a value of this path or of {}, but not of both",
    "Disjoint": "is a value of {}, too, which it must not be",
    "LessThan": "is not less than every value of {}",
    "LessThanOrEquals": "is more than a value of {}, or cannot be compared with it",
    "UniqueLang": "several values are in the same language",
    "And": "does not conform to every shape of sh:and",
    "Or": "conforms to no shape of sh:or",
    "Xone": "does not conform to exactly one shape of sh:xone",
}


def sentence(constraint: Constraint, value: Any, predicate: Any, prefixes: Mapping[str, str]) -> str:
    """The message of a result: on the value, if it is wrong, and on the predicate that a closed shape forbids."""
    name, asked = constraint.component, constraint.value

    def short(term: Any) -> str:
        return format_term(term, prefixes)

    def shape(one: Shape) -> str:
        return short(one.term) if isinstance(one.term, ox.NamedNode) else "the shape inside"

    if name == "MinCount":
        return "a value is missing" if asked == 1 else f"fewer than {asked} values"
    if name in ("MaxCount", "QualifiedMaxCount", "QualifiedMinCount"):
        return _count(name, asked, shape)
    if name == "SPARQL":
        return f"the query of {short(asked.term) if isinstance(asked.term, ox.NamedNode) else 'the shape'} finds it"
    said = {
        "Closed": lambda: f"{short(predicate)} is not allowed here, but has this value: the shape is closed",
        "Node": lambda: f"does not conform to {shape(asked)}",
        "Not": lambda: f"conforms to {shape(asked)}, which it must not",
        "NodeKind": lambda: "is not " + " or ".join(_KINDS[kind] for kind in sorted(asked)),
        "Pattern": lambda: f"does not match {asked[0]!r}" + (f" (flags {asked[1]})" if asked[1] else ""),
        "LanguageIn": lambda: f"is in none of the languages {', '.join(asked)}",
        "In": lambda: f"is none of the values allowed: {listed(asked, _LISTED, short)}",
    }
    if name in said:
        told = said[name]()
    elif name in _SAYS:
        told = _SAYS[name].format(short(asked) if not isinstance(asked, int | tuple) else asked)
    else:
        told = f"violates {short(constraint.iri)}"
    return told if value is None or name == "Closed" else f"{short(value)} {told}"


def _count(name: str, asked: Any, shape: Any) -> str:
    if name == "MaxCount":
        return "no value is allowed" if asked == 0 else "more than one value" if asked == 1 else f"over {asked} values"
    inner, least, most, _ = asked
    if name == "QualifiedMinCount":
        return f"fewer than {least} {'value conforms' if least == 1 else 'values conform'} to {shape(inner)}"
    return f"more than {most} {'value conforms' if most == 1 else 'values conform'} to {shape(inner)}"
