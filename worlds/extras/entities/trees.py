"""Trees of a world: concept schemes, classes, and any property that leads from a thing to a broader one.

A tree is read a level at a time. An entity may stand below several, below itself by a circle, or below nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray
from rdflib import URIRef

from worlds.core.core import Core
from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.rows import distinct
from worlds.errors import ArgumentError
from worlds.extras.entities.label_order import Ordering
from worlds.extras.entities.limits import check_limit
from worlds.graph.records import Count, Iri, Record, Spare
from worlds.graph.terms import RDF, local_name, to_rdflib
from worlds.sql import statements

_SQL = statements("browse.sql")
_QUERIES = statements("queries.sql")
_ENTITIES = statements("entities.sql")
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SUB_CLASS = RDFS + "subClassOf"
_INVERSE = {SKOS + "broader": SKOS + "narrower", SKOS + "broaderTransitive": SKOS + "narrowerTransitive"}
_LEADS = re.compile(
    r"broader|parent|(?:part|member|child|located|contained|sub\w+|is_a|within)_?(?:of|in|place)?$"
    r"|^P(?:279|361|131)$|BFO_0000050$",
    re.IGNORECASE,
)
_BACK = re.compile(r"^(?:has|narrow|contain)|Transitive$|^inverseOf$", re.IGNORECASE)
_OWN = (RDF, RDFS, OWL, "http://www.w3.org/ns/shacl#")
_DEEPEST = 100  # levels of a path
_NONE: Ids = np.empty(0, dtype=np.int64)
_MATCHES = 500  # passages that are looked through for words


TreeKind: TypeAlias = Literal["scheme", "classes", "property"]


@dataclass(frozen=True, slots=True)
class TreeNode(Record):
    """An entity in a tree: `children` directly below it, and of a class the `instances` that have it as their type.

    `apart` is a fact that tells it from others of its label. Of a tree itself, `kind` says what it is a tree of,
    `children` is the number of top concepts that a scheme declares, else unknown (0), and `instances` is its number of
    concepts, classes or quads. `path` leads to what was found by its words, from the top.
    """

    iri: Iri
    label: str | None
    children: Count
    instances: Annotated[Count | None, Spare] = None
    apart: Annotated[str | None, Spare] = None
    kind: Annotated[TreeKind | None, Spare] = None
    path: Annotated[tuple[TreeStep, ...], Spare] = ()


@dataclass(frozen=True, slots=True)
class TreeStep(Record):
    """An entity on the way to another."""

    iri: Iri
    label: str | None


@dataclass(frozen=True)
class Tree(Record):
    """One level of a tree, or the results of a search in it: a page of `nodes`, from A to Z, of `total`.

    `path` leads from the top to the parent, the parent included.
    """

    of: Iri | None
    label: str | None
    parent: Iri | None
    nodes: tuple[TreeNode, ...]
    total: Count
    offset: Count
    path: tuple[TreeStep, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes)


class TreeShape(NamedTuple):
    """The shape of a tree: the predicates that lead up and down, and the id of the concept scheme if it is one.

    A tree that is `named` has no blank nodes: a class is often below a restriction.
    """

    key: str
    name: str
    number: int
    up: list[int]
    down: list[int]
    named: int = 0
    scheme: int | None = None


class Trees:
    """Reads the trees of one world."""

    def __init__(self, core: Core, ordering: Ordering) -> None:
        self._core = core
        self.ordering = ordering

    # -- verbs ------------------------------------------------------------------------------------------------------

    def tree(
        self, of: str | None, parent: Any, matching: str | None, offset: int, limit: int, language: str | None
    ) -> Tree:
        """See `World.entities.tree`."""
        check_limit(limit)
        check_limit(offset, "offset", 0)
        if of is None and not (parent is None and matching is None):
            raise ArgumentError("parent and matching need a tree: give its scheme or property", kind="tree")
        with self._core.connection.snapshot():
            if of is None:
                trees = self.ordering.instep.kept(("trees", language), lambda: self._trees(language))
                return Tree(None, None, None, tuple(trees[offset : offset + limit]), len(trees), offset)
            shape, name = self.shape(of), self.iri(of)
            told = to_rdflib(name), self.ordering.labels(self._known(name), language).get(shape.number)
            above = [] if parent is None else self._known(parent)
            if parent is not None and not above:
                return Tree(*told, to_rdflib(parent), (), 0, offset)
            if matching and matching.strip():
                found, paths, notes = self._matching(shape, matching)
                order = np.array(found, dtype=np.int64)
            else:
                ids = self.below(shape, above)[1] if above else self.roots(shape)
                order, notes = self.ordering.sorted((shape.key, *above), distinct(ids), language).ids, ()
                paths = self.paths(shape, above)
            page = order[offset : offset + limit].tolist()
            steps = self._steps(paths, language)
            nodes = self._nodes(shape, page, steps if matching else {}, language)
            way = (*steps.get(above[0], ()), self._step(above[0], language)) if above else ()
            return Tree(*told, to_rdflib(parent) if above else None, tuple(nodes), len(order), offset, way, notes)

    # -- the shape of a tree ----------------------------------------------------------------------------------------

    def iri(self, of: str) -> Any:
        """The scheme or property that a tree is named by."""
        return self._core.namespaces.entity(str(of).removeprefix("^"))

    def shape(self, of: str) -> TreeShape:
        """The shape of the tree of a scheme or a property; a property with "^" before it points down."""
        name = self.iri(of)
        known, facts = self._known(name), self._core.facts
        if name.value in (SUB_CLASS, *_INVERSE) or str(of).startswith("^") or (known and self.used(known[0])):
            own, other = self._with_subs(known), self._inverses(name, known)
            up, down = (other, own) if str(of).startswith("^") else (own, other)
            return TreeShape(str(of), name.value, [*known, 0][0], up, down, int(name.value == SUB_CLASS))
        up, down = (self._with_subs(facts.numbers([SKOS + one])) for one in ("broader", "narrower"))
        number = known[0] if known else -1
        return TreeShape(str(of), name.value, number, up, down, scheme=number)

    def _with_subs(self, predicates: list[int]) -> list[int]:
        below = self._core.facts.numbers([RDFS + "subPropertyOf"])
        if not predicates or not below:
            return predicates
        values = _ENTITIES["sub_properties"].bind(predicates_json=json_ids(predicates), sub_property=below[0])
        return [*predicates, *(number for (number,) in self._core.connection.rows(_ENTITIES["sub_properties"], values))]

    def _inverses(self, name: Any, known: list[int]) -> list[int]:
        facts = self._core.facts
        declared = facts.numbers([OWL + "inverseOf"])
        said = [*self._column("objects_of", declared, known), *self._column("subjects_with", declared, known)]
        usual = facts.numbers([one for one, other in _INVERSE.items() if other == name.value])
        usual += facts.numbers([_INVERSE[name.value]] if name.value in _INVERSE else [])
        return self._with_subs(list(dict.fromkeys([*usual, *said])))

    def _column(self, statement: str, predicates: list[int], known: list[int]) -> list[int]:
        """The other ends of an entity's quads under predicates."""
        if not predicates or not known:
            return []
        values = _SQL[statement].bind(predicates_json=json_ids(predicates), node=known[0])
        return distinct(self._core.connection.column(_SQL[statement], values)).tolist()  # type: ignore[no-any-return]

    def _known(self, *entities: Any) -> list[int]:
        return [number for number in self._core.dictionary.find(entities) if number is not None]

    def used(self, predicate: int) -> bool:
        """Whether a predicate leads from one entity to another."""
        return bool(self._core.connection.value(_SQL["leads"], _SQL["leads"].bind(predicate=predicate)))

    def tops(self, scheme: int) -> tuple[list[int], list[int], list[int]]:
        """The top concepts that a scheme declares, and the predicates that do so: from the concept, and to it."""
        on, under = (self._core.facts.numbers([SKOS + one]) for one in ("topConceptOf", "hasTopConcept"))
        return [*self._column("subjects_with", on, [scheme]), *self._column("objects_of", under, [scheme])], on, under

    def within(self, schemes: Iterable[int] | None = None) -> tuple[Ids, Ids]:
        """Distinct pairs of a scheme, one of some or any, and a concept that is in it, as two columns.

        These are the concepts that say so, those that a scheme has at its top, and those below them that are in none.
        """
        said = [self._links(self._core.facts.numbers([SKOS + one])) for one in ("inScheme", "topConceptOf")]
        heads = self._links(self._core.facts.numbers([SKOS + "hasTopConcept"]))
        found = np.concatenate([*(scheme << 32 | concept for concept, scheme in said), heads[0] << 32 | heads[1]])
        if schemes is not None:
            found = found[np.isin(found >> 32, list(schemes))]
        pairs = self.with_below(distinct(found))
        return pairs >> 32, pairs & 0xFFFFFFFF

    def with_below(self, pairs: Ids) -> Ids:
        """Distinct pairs, scheme << 32 | concept, and with the scheme those of the concepts below that are in none."""
        placed = self._links(self._core.facts.numbers([SKOS + "inScheme"]))[0]
        child, parent = self._edges(self.shape(SKOS + "broader"))
        loose = np.flatnonzero(~np.isin(child, placed))
        loose = loose[np.argsort(parent[loose], kind="stable")]
        child, parent, fresh = child[loose], parent[loose], pairs
        while len(fresh):
            first, last = (np.searchsorted(parent, fresh & 0xFFFFFFFF, side) for side in ("left", "right"))
            sizes = last - first
            places = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
            found = distinct(np.repeat(fresh >> 32, sizes) << 32 | child[places])
            fresh = found[~np.isin(found, pairs)]
            pairs = distinct(np.concatenate([pairs, fresh]))
        return pairs

    # -- levels -------------------------------------------------------------------------------------------------------

    def below(self, shape: TreeShape, ids: Sequence[int]) -> tuple[Ids, Ids]:
        """Distinct pairs of entities and those directly below them, as two columns."""
        in_scheme = self._core.facts.numbers([SKOS + "inScheme"])
        values = _SQL["below"].bind(
            ids_json=json_ids(ids), up_json=json_ids(shape.up), down_json=json_ids(shape.down), named=shape.named,
            scheme=shape.scheme if in_scheme else None, in_scheme=[*in_scheme, 0][0],
        )  # fmt: skip
        return _pairs(*self._core.connection.columns(_SQL["below"], values))

    def roots(self, shape: TreeShape) -> Ids:
        """The entities at the top, ascending: top concepts, entities without a parent, and one of each circle.

        A circle counts where nothing else leads to it. Every entity of the tree is one of these, or below one.
        """
        return self.ordering.instep.kept(("roots", shape.key), lambda: self._roots(shape))

    def _roots(self, shape: TreeShape) -> Ids:
        child, parent = self._edges(shape)
        tops = np.array(self.tops(shape.scheme)[0] if shape.scheme is not None else [], dtype=np.int64)
        most = max(int(column.max(initial=0)) for column in (child, parent, tops))
        others, ends = self._others(shape), (child, parent) if shape.scheme is None else ()
        known = _mask(max(most, int(others.max(initial=0))), *ends, others)
        nodes = np.flatnonzero(known)
        place = np.cumsum(known) - 1
        keep = known[parent] & known[child]
        found: Ids = nodes[_tops(len(nodes), place[child[keep]], place[parent[keep]], place[tops])]
        if shape.name == SUB_CLASS:
            terms = self._core.dictionary.terms(found.tolist())
            found = np.array([one for one in found.tolist() if not terms[one].value.startswith(_OWN)], dtype=np.int64)
        return found

    def _links(self, predicates: list[int]) -> tuple[Ids, Ids]:
        """Pairs of a subject and an entity that it has under one of the predicates, as two columns."""
        columns = [self.ordering.instep.links(one) for one in predicates] or [(_NONE, _NONE)]
        first, second = (np.concatenate(side) for side in zip(*columns, strict=True))
        return first, second

    def _edges(self, shape: TreeShape) -> tuple[Ids, Ids]:
        """Pairs of an entity and one above it, as two columns, by the first."""
        child, parent = self._links(shape.up)
        if shape.down:
            above, under = self._links(shape.down)
            child, parent = _pairs(np.concatenate([child, under]), np.concatenate([parent, above]))
        elif len(shape.up) > 1:
            child, parent = _pairs(child, parent)
        keep = child != parent
        if shape.named:
            ends = json_ids(distinct(np.concatenate([child, parent])))
            blank = self._core.connection.column(_SQL["blank_among"], (ends,))
            hidden = [*blank.tolist(), *self._core.facts.numbers([OWL + "Thing", RDFS + "Resource"])]
            keep &= ~(np.isin(parent, hidden) | np.isin(child, blank))
        return child[keep], parent[keep]

    def _others(self, shape: TreeShape) -> Ids:
        """Further entities of a tree, which may have nothing above or below them: classes, or concepts."""
        if shape.scheme is not None:
            return self.within([shape.scheme])[1]
        if shape.name == SUB_CLASS:
            return self.classes()
        concepts = self._known(ox.NamedNode(SKOS + "Concept")) if shape.name == SKOS + "broader" else []
        return np.array(self._column("subjects_with", [self._core.facts.rdf_type], concepts), dtype=np.int64)

    def classes(self) -> Ids:
        """The classes, as far as they have a name: those that are declared, and those of any entity."""
        rdf_type = self._core.facts.rdf_type
        values = _QUERIES["classes_after"].bind(predicate=rdf_type, after=0, limit=-1)
        used = (
            [number for (number,) in self._core.connection.rows(_QUERIES["classes_after"], values)] if rdf_type else []
        )
        for kind in self._known(ox.NamedNode(OWL + "Class"), ox.NamedNode(RDFS + "Class")):
            used += self._column("subjects_with", [rdf_type], [kind])
        terms = self._core.dictionary.terms(used)
        named = [number for number in used if isinstance(terms[number], ox.NamedNode)]
        return np.array([number for number in named if not terms[number].value.startswith(_OWN)], dtype=np.int64)

    # -- what is shown ------------------------------------------------------------------------------------------------

    def _nodes(
        self, shape: TreeShape, ids: list[int], paths: dict[int, tuple[TreeStep, ...]], language: str | None
    ) -> Iterable[TreeNode]:
        parents, numbers = np.unique(self.below(shape, ids)[0], return_counts=True)
        counts = dict(zip(parents.tolist(), numbers.tolist(), strict=True))
        typed: dict[int, int] = {}
        if shape.name == SUB_CLASS:  # which may have many
            rdf_type = self._core.facts.rdf_type
            typed = self.ordering.instep.kept(("typed", *ids), lambda: self.counts(rdf_type, ids))
        terms, labels = self._core.dictionary.terms(ids), self.ordering.labels(ids, language)
        apart = self.ordering.apart(labels)
        for one in ids:
            yield TreeNode(
                to_rdflib(terms[one]), labels.get(one), counts.get(one, 0), typed.get(one), apart.get(one),
                path=paths.get(one, ()),
            )  # fmt: skip

    def counts(self, predicate: int, objects: Iterable[int]) -> dict[int, int]:
        """Object → how many subjects it has under a predicate."""
        values = _SQL["counts_of"].bind(predicate=predicate, ids_json=json_ids(objects))
        found, counts = self._core.connection.columns(_SQL["counts_of"], values)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    def paths(self, shape: TreeShape, ids: Sequence[int]) -> dict[int, list[int]]:
        """Entity → the shortest path to it from the top, itself left out; none for an entity outside the tree."""
        upwards = shape._replace(up=shape.down, down=shape.up)
        roots = self.roots(shape)
        above: dict[int, list[int]] = {}
        frontier = distinct(np.array(ids, dtype=np.int64))
        for _ in range(_DEEPEST):
            found = np.isin(frontier, roots)
            above |= {one: [] for one in frontier.tolist()}
            if not len(frontier := frontier[~found]):
                break
            ends, others = self._above(upwards, frontier, roots)
            for one, other in zip(ends.tolist(), others.tolist(), strict=True):
                above[one].append(other)
            frontier = distinct(others)
            frontier = frontier[~np.isin(frontier, np.fromiter(above, dtype=np.int64))]
        top = set(roots[np.isin(roots, np.fromiter(above, dtype=np.int64))].tolist())
        return {one: way for one in ids if (way := _way(one, above, top)) is not None}

    def _above(self, upwards: TreeShape, ids: Ids, roots: Ids) -> tuple[Ids, Ids]:
        """Pairs of entities and those directly above them; a top concept is above, whatever other scheme it is in."""
        ends, others = self.below(upwards, ids.tolist())
        if upwards.scheme is None:
            return ends, others
        lower, higher = self.below(upwards._replace(scheme=None), ids.tolist())
        at_top = np.isin(higher, roots)
        return _pairs(np.concatenate([ends, lower[at_top]]), np.concatenate([others, higher[at_top]]))

    def _steps(self, paths: dict[int, list[int]], language: str | None) -> dict[int, tuple[TreeStep, ...]]:
        steps = {one: self._step(one, language) for one in {one for way in paths.values() for one in way}}
        return {one: tuple(steps[step] for step in way) for one, way in paths.items()}

    def _step(self, number: int, language: str | None) -> TreeStep:
        label = self.ordering.labels([number], language).get(number)
        return TreeStep(to_rdflib(self._core.dictionary.terms([number])[number]), label)

    def _matching(self, shape: TreeShape, words: str) -> tuple[list[int], dict[int, list[int]], tuple[str, ...]]:
        """The entities in a tree that have words in a label or an alias, the best first, and the ways to them."""
        naming = self._core.facts.numbers(self._core.chunks.policy.predicates("label", "alias"))
        asked = words if re.search(r'["*]|\s$', words) else f"{words}*"
        passages = self._core.searches.passages(asked, mode="text", limit=_MATCHES)
        found = list(dict.fromkeys(s for one in passages for s, p, _, _ in one.quads if p in naming))
        paths = self.paths(shape, found)
        more = (f"only the best {_MATCHES} texts were looked through",) if len(passages) == _MATCHES else ()
        return [one for one in found if one in paths], paths, more

    # -- the trees ----------------------------------------------------------------------------------------------------

    def _trees(self, language: str | None) -> list[TreeNode]:
        schemes = self.schemes()
        order = self.ordering.sorted("schemes", np.array(schemes, dtype=np.int64), language).ids
        known, sizes = np.unique(self.within()[0], return_counts=True)
        counts = dict(zip(known.tolist(), sizes.tolist(), strict=True))
        found: list[tuple[int, TreeKind, int]] = [(one, "scheme", counts.get(one, 0)) for one in order.tolist()]
        if len(classes := self.classes()):
            (sub_class,) = self._known(ox.NamedNode(SUB_CLASS)) or (0,)
            found.append((sub_class, "classes", len(classes)))
        found += self._hierarchical(bool(schemes))
        numbers = [one for one, _, _ in found]
        terms, labels = self._core.dictionary.terms(numbers), self.ordering.labels(numbers, language)
        apart = self.ordering.apart(labels)
        return [
            TreeNode(
                to_rdflib(terms[one]) if one else URIRef(SUB_CLASS),
                labels.get(one),
                len(set(self.tops(one)[0])) if kind == "scheme" else 0,
                count,
                apart.get(one),
                kind,
            )
            for one, kind, count in found
        ]

    def _hierarchical(self, schemes: bool) -> list[tuple[int, TreeKind, int]]:
        """The predicates that lead to something broader, by their names or as they are declared transitive."""
        statement = _QUERIES["predicates_after"]
        predicates = [one for (one,) in self._core.connection.rows(statement, statement.bind(after=0, limit=-1))]
        terms, rdf_type = self._core.dictionary.terms(predicates), self._core.facts.rdf_type
        declared = self._column("subjects_with", [rdf_type], self._known(ox.NamedNode(OWL + "TransitiveProperty")))
        found: list[tuple[int, TreeKind, int]] = []
        for one in predicates:
            iri = terms[one].value
            name = local_name(iri)
            if iri == SUB_CLASS or _BACK.search(name) or (schemes and iri.startswith(SKOS)):
                continue
            if (_LEADS.search(name) or one in declared) and self.used(one):
                found.append((one, "property", int(self._core.connection.value(_SQL["count_under"], (one,)))))
        return sorted(found, key=lambda told: -told[2])

    def schemes(self) -> list[int]:
        """The concept schemes, those that are but named by their concepts among them, ascending."""
        facts, found = self._core.facts, set()
        kinds = self._known(ox.NamedNode(SKOS + "ConceptScheme"))
        found |= set(self._column("subjects_with", [facts.rdf_type], kinds))
        for predicate in facts.numbers([SKOS + "inScheme", SKOS + "topConceptOf"]):
            values = _QUERIES["classes_after"].bind(predicate=predicate, after=0, limit=-1)
            found |= {number for (number,) in self._core.connection.rows(_QUERIES["classes_after"], values)}
        for predicate in facts.numbers([SKOS + "hasTopConcept"]):
            found |= set(self._core.connection.column(_SQL["subjects_under"], (predicate,)).tolist())
        terms = self._core.dictionary.terms(found)
        return sorted(one for one in found if not isinstance(terms[one], ox.Literal))


def _mask(most: int, *columns: Ids) -> NDArray[np.bool_]:
    """Which ids up to the last one are in some column."""
    found = np.zeros(most + 1, dtype=bool)
    for column in columns:
        found[column] = True
    return found


def _pairs(first: Ids, second: Ids) -> tuple[Ids, Ids]:
    """The distinct pairs of two columns, ascending."""
    codes = distinct(first << 32 | second)
    return codes >> 32, codes & 0xFFFFFFFF


def _way(one: int, above: dict[int, list[int]], top: set[int]) -> list[int] | None:
    """The shortest way down to an entity, itself left out; None where none leads from the top."""
    came: dict[int, int | None] = {one: None}
    queue = [one]
    for at in queue:  # grows
        if at in top:
            way: list[int] = []
            step = came[at]
            while step is not None:
                way.append(at)
                at, step = step, came[step]
            return way
        for other in sorted(above.get(at, ())):
            if other not in came:
                came[other] = at
                queue.append(other)
    return None


def _tops(count: int, child: Ids, parent: Ids, declared: Ids) -> Ids:
    """The places of `count` nodes at the top, given the edges from child to parent, sorted by child.

    By pointer doubling: each node follows its first parent, so many steps at once, to a top or into a circle.
    """
    up = np.arange(count)
    first = np.append(True, child[1:] != child[:-1]) if len(child) else np.empty(0, dtype=bool)
    up[child[first]] = parent[first]
    up[declared] = declared
    top = up == np.arange(count)
    while True:
        ends, lowest = up.copy(), np.minimum(np.arange(count), up)
        for _ in range(math.ceil(math.log2(count + 1)) + 1):
            lowest = np.minimum(lowest, lowest[ends])
            ends = ends[ends]
        lost = ~top[ends]
        other = lost[child] & ~lost[parent]
        if not other.any():
            break
        up[child[other]] = parent[other]
    top[lowest[ends[lost]]] = True
    return np.flatnonzero(top)
