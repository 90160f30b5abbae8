"""Metadata of other frameworks as RDF: names as IRIs, JSON values as literals, filters as SPARQL patterns.

A key is the predicate `urn:worlds:metadata:KEY`, percent-encoded. A value keeps its type: a str is an xsd:string, a
bool an xsd:boolean, an int an xsd:integer, a float an xsd:double, a date an xsd:date, a datetime an xsd:dateTime; None,
lists and dicts are JSON, of the datatype rdf:JSON.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import pyoxigraph as ox

from worlds.core.search.options import spread
from worlds.graph.terms import RDF, XSD, to_object

if TYPE_CHECKING:
    from worlds.core.search.hits import Hit
    from worlds.world import World

METADATA: Final = "urn:worlds:metadata:"
"""The start of the predicate of a metadata key."""

_JSON = RDF + "JSON"
_SCHEMES = ("http://", "https://", "urn:")

_READERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        XSD + "boolean": lambda text: text in ("true", "1"),
        XSD + "integer": int,
        XSD + "double": lambda text: float(text.replace("INF", "inf")),
        XSD + "date": datetime.date.fromisoformat,
        XSD + "dateTime": datetime.datetime.fromisoformat,
        _JSON: json.loads,
    }
)

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def predicate_of(key: str) -> ox.NamedNode:
    """The predicate of a metadata key."""
    return ox.NamedNode(METADATA + _quoted("a metadata key", key))


def key_of(predicate: str) -> str:
    """The metadata key of a predicate that begins with `METADATA`."""
    return unquote(predicate.removeprefix(METADATA))


def to_iri(space: str, name: str) -> ox.NamedNode:
    """The IRI of a name: the name itself where it is an absolute IRI of another space, else `space` and the name."""
    quoted = _quoted("an id", name)
    if name.startswith(_SCHEMES) and not name.startswith(space):
        try:
            return ox.NamedNode(name)
        except ValueError:
            pass  # it only looks like one
    return ox.NamedNode(space + quoted)


def _quoted(what: str, name: object) -> str:
    """A name for an IRI; TypeError unless it is a str, ValueError for lone surrogates, both naming it."""
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a str, not {name!r:.80}")
    try:
        return quote(name, safe="")
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} is not a text that UTF-8 can hold: {name!r:.80}") from error


def from_iri(space: str, iri: str) -> str:
    """The name that `to_iri` made the IRI of."""
    return unquote(iri.removeprefix(space)) if iri.startswith(space) else str(iri)


def to_text(what: str, text: str) -> ox.Literal:
    """A text as an xsd:string; ValueError, with `what` as its name, if it has lone surrogates."""
    try:
        return ox.Literal(str(text))
    except ValueError as error:
        raise ValueError(f"{what} is not a text that UTF-8 can hold: {text!r:.80}") from error


def to_literal(key: str, value: object) -> ox.Literal:
    """A value as a literal; TypeError, naming the key, for a value of another type."""
    if isinstance(value, str):
        return to_text(f"the metadata {key!r}", value)
    if isinstance(value, bool | int | float | datetime.date):
        literal = to_object(value)
        assert isinstance(literal, ox.Literal)
        return literal
    try:
        written = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise TypeError(f"the metadata {key!r} is not a JSON value, number or date: {value!r:.80}: {error}") from error
    return ox.Literal(written, datatype=ox.NamedNode(_JSON))


def to_value(term: Any) -> Any:
    """The value of an rdflib term: its text, unless it is a literal of one of the datatypes above."""
    reader = _READERS.get(str(getattr(term, "datatype", None)), str)
    try:
        return reader(str(term))
    except ValueError:
        return str(term)


# --- filters ----------------------------------------------------------------------------------------------------------


def pattern(conditions: Mapping[str, Any], base: str) -> str:
    """A SPARQL group pattern for a filter over metadata; `base` binds ?subject to the subjects that are filtered.

    Keys map to values they equal, or to operators: `$eq $ne $gt $gte $lt $lte $in $nin $contains $exists`. `$and` and
    `$or` take lists of filters, `$not` one. All conditions of a mapping must hold. ValueError for an unknown operator.
    """
    if not isinstance(conditions, Mapping):
        raise TypeError(f"a filter must map metadata keys to values or operators, not {conditions!r}")
    parts = [base]
    for key, wanted in conditions.items():
        if key == "$not":
            parts.append(_unless(pattern(wanted, base)))
        elif key in ("$and", "$or"):
            groups = [f"{{ {pattern(each, base)} }}" for each in _several(key, wanted)]
            parts.append((" UNION " if key == "$or" else " ").join(groups))
        elif key.startswith("$"):
            raise ValueError(f"a filter has no operator {key!r}; it has $and, $or and $not")
        else:
            operators = _operators(wanted)
            parts += [_condition(key, operator, value) for operator, value in operators.items()]
    return " ".join(parts)


def _operators(wanted: object) -> Mapping[str, Any]:
    """The operators of a condition; a mapping without any is a value itself."""
    if isinstance(wanted, Mapping) and wanted and all(str(name).startswith("$") for name in wanted):
        return wanted
    return {"$eq": wanted}


def _condition(key: str, operator: str, value: Any) -> str:
    predicate = predicate_of(key)
    if operator == "$exists":
        exists = f"?subject {predicate} []"
        return f"FILTER EXISTS {{ {exists} }}" if value else _unless(exists)
    if operator in ("$ne", "$nin"):
        return _unless(_held(predicate, _equal(key, [value] if operator == "$ne" else _several(operator, value))))
    if operator in ("$eq", "$in"):
        return _wanted(predicate, _equal(key, [value] if operator == "$eq" else _several(operator, value)))
    if operator == "$contains":
        return _wanted(predicate, f"CONTAINS(STR(?value), {to_text(f'what {key!r} contains', value)})")
    if operator not in _COMPARISONS:
        known = ", ".join(("$eq", "$ne", *_COMPARISONS, "$in", "$nin", "$contains", "$exists"))
        raise ValueError(f"the filter of {key!r} has no operator {operator!r}; it has {known}")
    return _wanted(predicate, f"?value {_COMPARISONS[operator]} {to_literal(key, value)}")


def _equal(key: str, values: Iterable[object]) -> str:
    """Numbers are equal by value, all else as terms: SPARQL's = fails where two datatypes cannot be compared."""
    tests = []
    for value in values:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        tests.append(f"?value = {to_literal(key, value)}" if number else f"sameTerm(?value, {to_literal(key, value)})")
    return " || ".join(tests) or "false"


def _held(predicate: ox.NamedNode, test: str) -> str:
    return f"?subject {predicate} ?value . FILTER({test})"


def _wanted(predicate: ox.NamedNode, test: str) -> str:
    return f"FILTER EXISTS {{ {_held(predicate, test)} }}"


def _unless(group: str) -> str:
    return f"FILTER NOT EXISTS {{ {group} }}"


def _several(operator: str, values: object) -> Sequence[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence) or not values:
        raise ValueError(f"{operator} takes a list of at least one value, not {values!r}")
    return values


# --- hits -------------------------------------------------------------------------------------------------------------


def hit_id(hit: Hit) -> str:
    """The id of a passage of a subject, as long as the text stays in the world."""
    return f"{hit.subject}#chunk-{hit.chunk}"


def hit_metadata(hit: Hit, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The parts of a hit beside its text: its subject and label, its place, its score, and its quads to cite.

    The quads are lists of four terms as in N-Triples, the fourth None for the default graph. `explain` and `steps` are
    there if the search was asked to explain, `notes` if there are any.
    """
    told = hit.to_dict() | ({"notes": list(notes)} if notes else {})
    del told["text"], told["snippet"]
    return {name: value for name, value in told.items() if name not in ("explain", "steps") or value is not None}


# --- worlds -----------------------------------------------------------------------------------------------------------


def keep_out_of_text(world: World, predicates: Iterable[str]) -> None:
    """Exclude these predicates from text in the world's policy: their values are neither cut nor embedded."""
    policy = world.policy
    if new := frozenset(predicates) - policy.exclude - policy.include:
        world.policy = policy.with_(exclude=policy.exclude | new)


def ranked_subjects(world: World, text: str, options: Mapping[str, Any]) -> Iterator[tuple[Any, float]]:
    """The subjects of all search results, page by page, the best first; repeated for each of their results.

    Where the search asks for diversity, the subjects that share a text do not come together: of each passage of a page
    the first, then of each the second, and so on. With each comes its score: the cosine similarity of the passage for
    mode "vector", as long as no later stage gives scores of its own, else the score of `World.search`.
    """
    by_cosine = has_cosines(options)
    following: dict[str, Any] = {}
    while True:
        found = world.search(text, **{**options, **following, "explain": True})
        subjects = [list(dict.fromkeys(quad[0] for quad in hit.quads)) for hit in found]
        ranked = [(few, score_of(hit, by_cosine=by_cosine)) for few, hit in zip(subjects, found, strict=True)]
        if spread(options).get("diversity") is None:
            yield from ((subject, score) for few, score in ranked for subject in few)
        else:
            for turn in range(max(map(len, subjects), default=0)):
                yield from ((few[turn], score) for few, score in ranked if turn < len(few))
        if found.cursor is None:
            return
        following["cursor"] = found.cursor


def score_of(hit: Hit, *, by_cosine: bool) -> float:
    """The score of a hit, or where `by_cosine`, its cosine similarity; for that it has to be explained."""
    leg = (hit.explain or {}).get("vector") if by_cosine else None
    return hit.score if leg is None else leg.value


def has_cosines(options: Mapping[str, Any]) -> bool:
    """Whether the scores of `ranked_subjects` are cosines."""
    given = spread(options)
    return given.get("mode") == "vector" and not any(map(given.get, ("rerank", "boost", "decay", "group_by")))
