"""The rules of a world, as one sets and asks them: sets, rules of one's own, and why a conclusion holds."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.namespaces import listed
from worlds.errors import ArgumentError, QueryError
from worlds.extras.conclusions.explaining import Explaining, Why
from worlds.extras.conclusions.following import Conclusions, RuleSettings
from worlds.extras.conclusions.rules import SETS, read
from worlds.graph.parsing import parsing
from worlds.graph.query.tokens import tokenize
from worlds.graph.rdf_sources import sources
from worlds.graph.records import Count, Record

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


@dataclass(frozen=True, slots=True)
class RulesInUse(Record):
    """The rules that a world goes by: the `sets`, and its `own` by their names, as CONSTRUCT queries.

    `graphs` are the only graphs that they read, "default" among them; None for all. `conclusions` is the number of
    quads that follow by them and are not written.
    """

    sets: tuple[str, ...]
    own: dict[str, str]
    graphs: tuple[str, ...] | None
    conclusions: Count

    @property
    def told(self) -> dict[str, Any]:
        """The names of sets and rules, and the number of conclusions, as `Schema` and `Stats` have them."""
        return {"rules": (*self.sets, *self.own), "conclusions": self.conclusions}


class Rules:
    """The rules of one world. Their conclusions are kept beside the quads, and are seen through `World.entailed`."""

    def __init__(
        self,
        core: Core,
        conclusions: Conclusions,
        explaining: Callable[[], Explaining],
        require: Callable[[str], None],
    ) -> None:
        """`require` refuses settings, where a view does not allow them."""
        self._connection = core.connection
        self._namespaces = core.namespaces
        self._conclusions = conclusions
        self._explaining = explaining
        self._require = require

    def use(self, sets: str | Iterable[str] = (), *, graphs: object = None) -> RulesInUse:
        """Go by rule sets: "rdfs", "rdfs+", "owl-rl", "skos"; by none without any. Rules of one's own stay.

        `graphs` are the only graphs that rules read ("default" is the default graph), all graphs of data without. The
        conclusions are made anew, and kept in step with every write from then on.
        """
        named = tuple(dict.fromkeys([sets] if isinstance(sets, str) else sets))
        if unknown := [name for name in named if name not in SETS]:
            raise ArgumentError(f"there is no rule set {unknown[0]!r}; there are {', '.join(SETS)}", kind="rules")
        chosen = None if graphs is None else tuple(map(self._graph, listed(graphs)))
        return self._put(replace(self._conclusions.settings, sets=named, graphs=chosen))

    def add(self, name: str, construct: str) -> RulesInUse:
        """Add a rule of one's own, a SPARQL CONSTRUCT, or put it in the place of the one of its name.

        Its pattern has triples, FILTERs, FILTER NOT EXISTS and MINUS alone, and it makes no new terms: so what follows
        has an end. QueryError for another, and where it would depend on its own absence. Prefixes of the world are
        known, and are kept with the rule.
        """
        if not name or not isinstance(name, str):
            raise ArgumentError(f"a rule has a name, not {name!r}", kind="rules")
        return self._add({name: construct})

    def load(self, source: object, *, format: str | None = None) -> RulesInUse:
        """Add the SPARQL rules of shapes (sh:rule with sh:SPARQLRule of SHACL-AF), given as `World.load` takes RDF.

        A rule is named after itself or its shape. It reads the instances of the shape's target, which are those that
        are written or concluded. sh:order has no effect: what follows does not depend on the order. QueryError for a
        rule that `add` would refuse, or that is no sh:SPARQLRule; ArgumentError where there is none.
        """
        with contextlib.ExitStack() as opened:
            quads = (quad for one in sources(source, format=format) for quad in opened.enter_context(parsing(one)))
            if not (found := rules_of(quads)):
                raise ArgumentError("the shapes have no rule: an sh:rule is expected", kind="rules")
        return self._add(found)

    def _add(self, constructs: Mapping[str, str]) -> RulesInUse:
        given = {}
        for name, construct in constructs.items():
            text = "".join(
                f"PREFIX {prefix}: <{iri}>\n"
                for prefix, iri in self._namespaces.prefixes.items()
                if f"{prefix}:" in construct
            )
            read(name, text + construct, {})
            given[name] = text + construct
        settings = self._conclusions.settings
        return self._put(replace(settings, own={**settings.own, **given}))

    def remove(self, name: str) -> RulesInUse:
        """Remove a rule of one's own; ArgumentError where there is none of this name."""
        settings = self._conclusions.settings
        if name not in settings.own:
            raise ArgumentError(f"the world has no rule {name!r} of its own", kind="rules")
        return self._put(replace(settings, own={one: text for one, text in settings.own.items() if one != name}))

    def list(self) -> RulesInUse:
        """The rules that the world goes by, and the number of its conclusions."""
        with self._connection.snapshot():
            settings = self._conclusions.settings
            graphs = None if settings.graphs is None else tuple(name or "default" for name in settings.graphs)
            return RulesInUse(settings.sets, dict(settings.own), graphs, self._conclusions.count())

    def why(self, quad: Iterable[Any]) -> Why:
        """Why a quad holds: the rule and its premises, and theirs, down to quads that are written.

        A triple is looked for in any graph; None, or "default", as the fourth is the default graph. The proof has at
        most two steps more than the shortest. ArgumentError for a quad that neither is written nor follows.
        """
        given = tuple(quad)
        if len(given) not in (3, 4):
            raise ArgumentError("a quad has a subject, a predicate, an object, and perhaps a graph", kind="quad")
        triple = self._namespaces.pattern(*given[:3])
        name = self._namespaces.graph(given[3]) if len(given) == 4 and given[3] is not None else None
        graph = None if isinstance(name, ox.DefaultGraph) else name
        return self._explaining().why(triple, graph, anywhere=len(given) == 3)

    def _graph(self, name: object) -> str:
        graph = self._namespaces.graph(name)
        return "" if isinstance(graph, ox.DefaultGraph) else str(graph.value)

    def _put(self, settings: RuleSettings) -> RulesInUse:
        self._require("setting rules")
        self._conclusions.put(settings)
        return self.list()

    def __repr__(self) -> str:
        told = self.list()
        return f"<Rules: {', '.join((*told.sets, *told.own)) or 'none'}; {told.conclusions:,} conclusions>"
