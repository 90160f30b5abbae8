"""SPARQL rules of shapes as rules of one's own: sh:rule with sh:SPARQLRule (SHACL Advanced Features, section 8.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.tokens import tokenize

_SH = "http://www.w3.org/ns/shacl#"
_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_CLASSES = (
    ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#Class"),
    ox.NamedNode("http://www.w3.org/2002/07/owl#Class"),
)
_TRUE = ox.Literal(True)
_TARGETS = {
    "targetClass": "$this a {} .",
    "targetSubjectsOf": "$this {} ?target .",
    "targetObjectsOf": "?target {} $this .",
}
_REFUSED = ("targetNode", "target")


def rules_of(quads: Iterable[ox.Quad]) -> dict[str, str]:
    """Names → CONSTRUCT queries of the rules of shapes, one for each target; deactivated rules are left out.

    The name is that of the rule, or of its shape, with a number where there are several. QueryError for a rule that is
    not an sh:SPARQLRule, has an sh:condition, or is of a shape whose targets are not classes or properties.
    """
    store = ox.Store()
    store.extend(ox.Quad(one.subject, one.predicate, one.object) for one in quads)

    def values(subject: Any, name: str) -> list[Any]:
        if isinstance(subject, ox.Literal | ox.Triple):
            return []
        return [one.object for one in store.quads_for_pattern(subject, ox.NamedNode(_SH + name), None)]

    def patterns(shape: Any) -> Iterator[str]:
        for name, pattern in _TARGETS.items():
            yield from (pattern.format(value) for value in values(shape, name))
        if any(ox.Quad(shape, _TYPE, one) in store for one in _CLASSES):
            yield _TARGETS["targetClass"].format(shape)

    def prefixes(rule: Any) -> Iterator[str]:
        for ontology in values(rule, "prefixes"):
            for one in values(ontology, "declare"):
                for prefix, namespace in zip(values(one, "prefix"), values(one, "namespace"), strict=False):
                    yield f"PREFIX {prefix.value}: <{namespace.value}>\n"

    found: dict[str, str] = {}
    for quad in sorted(store.quads_for_pattern(None, ox.NamedNode(_SH + "rule"), None), key=str):
        shape, rule = quad.subject, quad.object
        iri = next((one.value for one in (rule, shape) if isinstance(one, ox.NamedNode)), "rule")
        name = re.split("[/#:]", iri.rstrip("/#:"))[-1] or iri
        if len(texts := values(rule, "construct")) != 1:
            raise QueryError(f"the rule {name} of the shapes is not an sh:SPARQLRule with one sh:construct")
        if _TRUE in (*values(shape, "deactivated"), *values(rule, "deactivated")):
            continue
        targets = list(patterns(shape))
        if values(rule, "condition") or any(values(shape, one) for one in _REFUSED) or not targets:
            raise QueryError(
                f"the rule {name} of the shapes must have no sh:condition, and its shape sh:targetClass, "
                "sh:targetSubjectsOf or sh:targetObjectsOf alone: write other conditions into its pattern"
            )
        text = str(getattr(texts[0], "value", ""))
        opened = [token for token in tokenize(text) if token.text == "{"]
        if len(opened) < 2:
            raise QueryError(f"the rule {name} of the shapes must be a CONSTRUCT with a template and one pattern")
        for target in targets:
            key = next(one for one in _numbered(name) if one not in found)
            found[key] = "".join(prefixes(rule)) + f"{text[: opened[1].end]} {target} {text[opened[1].end :]}"
    return found


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1
