"""A world as a property graph store of LlamaIndex: nodes and relations written as RDF, and read from any RDF."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyoxigraph as ox
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, LabelledNode, PropertyGraphStore, Relation
from llama_index.core.prompts import PromptTemplate
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery

import worlds
from worlds.adapters.metadata import (
    METADATA,
    from_iri,
    keep_out_of_text,
    key_of,
    pattern,
    predicate_of,
    ranked_subjects,
    to_iri,
    to_literal,
    to_text,
    to_value,
)
from worlds.aio import awaited
from worlds.core.texts.policy import TEXT
from worlds.graph.terms import RDF, shorten, to_oxigraph, to_rdflib

NODES: Final = "urn:worlds:node:"
CLASSES: Final = "urn:worlds:class:"
RELATIONS: Final = "urn:worlds:relation:"
"""The starts of the IRIs of nodes, labels and relations whose names are no IRIs themselves."""

_FENCED = re.compile(r"\s*```\w*\n(.*?)```\s*", re.DOTALL)
_STATEMENTS = "urn:worlds:statement:"
_TYPE = ox.NamedNode(RDF + "type")
_REIFIES = ox.NamedNode(RDF + "reifies")
_TEXT = ox.NamedNode(TEXT)
_LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")

Edge: TypeAlias = tuple[Any, ox.NamedNode, Any]
Triplet: TypeAlias = tuple[LabelledNode, Relation, LabelledNode]

SPARQL_TEMPLATE: Final = PromptTemplate(
    """Task: write a SPARQL 1.1 query that answers a question about an RDF graph.
Use only the classes and predicates of the schema, by their prefixed names; prefixes need no declaration.
Labels and texts carry language tags: compare them by STR(?label).
Give the query alone, without an explanation and without a code fence.

Schema:
{schema}

Question:
{question}"""
)
"""The prompt by which a language model writes a query; its variables are `schema` and `question`."""


@awaited("world")
class WorldsPropertyGraphStore(PropertyGraphStore):
    """A world, or one graph of it, as a property graph, written as RDF and read from any RDF.

    `world` is an open World, which stays the caller's to close, or the path of one to open or make, or the address of
    one on a server; `close` closes that. `graph` is the named graph that is written and read, None the default graph.
    `author` signs the revisions: each call that writes is one. `timeout` (seconds) stops a
    structured query, which a language model may have written.

    A node is an IRI: its id, where that is an IRI or a name with one of the world's prefixes, else
    `urn:worlds:node:ID`. Its label is its class, its name rdfs:label, its text (of a chunk) schema:text, and its
    properties are literals under `urn:worlds:metadata:KEY`, or under the predicate that the key names. A relation is
    a triple; its properties belong to a reifier of it (RDF 1.2). docs/llamaindex.md says what does not fit.
    """

    supports_structured_queries = True
    supports_vector_queries = True
    text_to_cypher_template = SPARQL_TEMPLATE

    def __init__(
        self,
        world: worlds.World | str | os.PathLike[str],
        *,
        graph: str | None = None,
        author: str | None = None,
        timeout: float | None = 30.0,
    ) -> None:
        self._owned = not isinstance(world, worlds.World)
        self.world = world if isinstance(world, worlds.World) else worlds.open(world)
        self._graph = graph
        self._in_graph = graph or "default"
        self._author = author
        self._timeout = timeout
        self.notes: tuple[str, ...] = ()  # what there is to say of the last query

    def close(self) -> None:
        """Close the world, if it was opened here."""
        if self._owned:
            self.world.close()

    @property
    def client(self) -> worlds.World:
        """The world."""
        return self.world

    # -- names ----------------------------------------------------------------------------------------------------

    def _term(self, space: str, name: str) -> ox.NamedNode | ox.BlankNode:
        """The term of a name: an IRI, a prefixed name, a blank node, else a name of ours."""
        prefix, colon, local = name.partition(":")
        if colon and (prefix == "_" or prefix in self._prefixes) and not local.startswith("//"):
            try:
                term = to_oxigraph(name, prefixes=self._prefixes)
            except ValueError:
                return to_iri(space, name)
            if isinstance(term, ox.NamedNode | ox.BlankNode):
                return term
        return to_iri(space, name)

    def _name(self, space: str, term: Any) -> str:
        if isinstance(term, ox.BlankNode):
            return str(term)
        if term.value.startswith(space):
            return from_iri(space, term.value)
        short = shorten(term.value, self._prefixes)
        return term.value if short.startswith("<") else short

    @property
    def _prefixes(self) -> Mapping[str, str]:
        return self.world.prefixes

    def _predicate(self, key: str) -> ox.NamedNode:
        """The predicate of a property: the IRI that the key names, or one made from the key."""
        term = self._term(METADATA, key)
        return term if isinstance(term, ox.NamedNode) and not term.value.startswith(METADATA) else predicate_of(key)

    def _node(self, id_: str) -> Any:
        return self._term(NODES, id_)

    def _called(self, name: str) -> Any:
        """The node of an id, or the one that bears a name that is no id."""
        term = self._node(name)
        if self._read(term) is None:
            best = self.world.resolve(name, graphs=self._in_graph).best
            if best is not None and best.kind in ("exact", "alias"):
                return to_oxigraph(best.iri)
        return term

    def _relation(self, label: str) -> ox.NamedNode:
        term = self._term(RELATIONS, label)
        return term if isinstance(term, ox.NamedNode) else to_iri(RELATIONS, label)

    # -- reads ----------------------------------------------------------------------------------------------------

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """The nodes of these ids that have one of these properties; without either, all nodes.

        What is no id may be a label, as LLMSynonymRetriever gives them: then it is the node that bears it.
        """
        terms: Iterable[Any]
        if ids:
            terms = dict.fromkeys(map(self._called, ids))
        elif properties:
            terms = sorted(self._with_properties(properties), key=str)
        else:
            terms = dict.fromkeys(term for quad in self._quads() for term in _ends(quad))
        found = [self._read(term) for term in terms if not _is_statement(term)]
        return [
            node
            for node in found
            if node is not None and (not properties or any(node.properties.get(k) == v for k, v in properties.items()))
        ]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """The triplets of which all hold: an end is of `entity_names`, an end is of `ids`, the relation is of
        `relation_names`, and one of the three has one of the `properties`. Without any, none.
        """
        criteria: list[set[Edge]] = []
        for names in filter(None, (entity_names, ids)):
            criteria.append({edge for name in names for edge in self._edges_at(self._node(name))})
        if relation_names:
            predicates = [self._relation(name) for name in relation_names]
            criteria.append({edge for each in predicates for edge in self._edges(self._quads(predicate=each))})
        if properties:
            criteria.append(self._edges_with(properties))
        edges = set.intersection(*criteria) if criteria else set()
        return self._triplets(sorted(edges, key=lambda edge: [str(term) for term in edge]))

    def get_rel_map(
        self, graph_nodes: list[LabelledNode], depth: int = 2, limit: int = 30, ignore_rels: list[str] | None = None
    ) -> list[Triplet]:
        """The triplets around nodes, at most `depth` steps away and at most `limit`, the nearest first."""
        ignored = {self._relation(name) for name in ignore_rels or ()}
        front = [self._node(node.id) for node in graph_nodes]
        seen: set[Any] = set(front)
        edges: dict[Edge, None] = {}
        for _ in range(depth):
            reached: list[Any] = []
            for term in front:
                for edge in sorted(self._edges_at(term), key=lambda edge: [str(each) for each in edge]):
                    if edge[1] not in ignored:
                        edges[edge] = None
                        reached += [end for end in (edge[0], edge[2]) if end not in seen]
                        seen.update((edge[0], edge[2]))
                if len(edges) >= limit:
                    return self._triplets(list(edges)[:limit])
            front = reached
        return self._triplets(edges)

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:
        """Answer a SPARQL query, also one in a fence of Markdown; `param_map` gives variables their terms.

        What there is to say of the query is in `notes`, such as why it found nothing. SELECT gives a list of dicts of
        Python values, ASK a bool, CONSTRUCT and DESCRIBE a list of triples, their terms as in N-Triples. The query is
        over the world, of which the default graph is the default graph: name another by GRAPH. Errors as of
        `World.query`; nothing can be written.
        """
        if fenced := _FENCED.fullmatch(query):
            query = fenced[1]
        found = self.world.query(query, bindings=param_map or None, timeout=self._timeout)
        self.notes = () if isinstance(found, bool) else found.notes
        if isinstance(found, bool):
            return found
        if isinstance(found, worlds.records.Solutions):
            return found.to_dicts()
        return [tuple(str(to_oxigraph(term)) for term in triple) for triple in found]

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """The nodes whose names or texts are nearest to the query's embedding, or its words, and their cosines.

        `kwargs` are options of `World.search`. EmbedderError where the embedding is of another dimension than the
        world's vectors, or there is none and the world has no embedder.
        """
        options: dict[str, Any] = {"mode": "vector", "graphs": self._in_graph, "limit": query.similarity_top_k}
        if query.query_embedding is not None:
            options["vector"] = query.query_embedding
        chosen = [self._node(id_) for id_ in [*(query.node_ids or ()), *(query.doc_ids or ())]]
        if chosen:
            options["subjects"] = chosen
        if query.filters is not None and query.filters.filters:
            options["where"] = pattern(_conditions(query.filters), "?subject a [] .")
        found: dict[str, tuple[LabelledNode, float]] = {}
        for subject, score in ranked_subjects(self.world, query.query_str or "", {**options, **kwargs}):
            node = self._read(to_oxigraph(subject))
            if node is not None and node.id not in found:
                found[node.id] = (node, score)
                if len(found) == query.similarity_top_k:
                    break
        return [node for node, _ in found.values()], [score for _, score in found.values()]

    def get_schema(self, refresh: bool = False) -> dict[str, Any]:
        """The current classes, predicates and prefixes of the graph, in the form of `World.schema`."""
        return self.world.schema(graphs=self._in_graph).to_dict()

    def get_schema_str(self, refresh: bool = False) -> str:
        """The schema as text for a prompt: prefixes, classes, and predicates with the classes of their objects."""
        schema = self.get_schema(refresh)
        short = {iri: self._short(iri) for iri in (each["iri"] for each in schema["classes"] + schema["predicates"])}
        lines = [f"PREFIX {prefix}: <{iri}>" for prefix, iri in sorted(schema["prefixes"].items())]
        lines += [f"class {short[each['iri']]} ({each['instances']} instances)" for each in schema["classes"]]
        for each in schema["predicates"]:
            ends = (each["subject_classes"], each["object_classes"])
            classes = [", ".join(self._short(iri) for iri in some) or "anything" for some in ends]
            if not each["object_classes"]:
                classes[1] = ", ".join(dict.fromkeys(kind["kind"] for kind in each["kinds"]))
            lines.append(f"predicate {short[each['iri']]}: from {classes[0]} to {classes[1]} ({each['quads']} triples)")
        return "\n".join(lines)

    def _short(self, iri: str) -> str:
        return shorten(iri, self._prefixes)

    # -- writes ---------------------------------------------------------------------------------------------------

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Write nodes; they replace the quads that the store wrote of them before, and other quads stay.

        Their own embeddings are not kept: the world embeds names and texts itself.
        """
        with self.world.transaction(author=self._author, message=f"{len(nodes)} nodes"):
            for node in nodes:
                self._write(self._node(node.id), self._described(node), node.properties)

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Write relations; ends that are not there become entities."""
        with self.world.transaction(author=self._author, message=f"{len(relations)} relations"):
            for relation in relations:
                for id_ in (relation.source_id, relation.target_id):
                    term = self._node(id_)
                    if next(iter(self._quads(subject=term)), None) is None:
                        self._write(term, self._described(EntityNode(name=id_)), {})
                ends = self._node(relation.source_id), self._node(relation.target_id)
                edge = (ends[0], self._relation(relation.label), ends[1])
                self._add([edge])
                reifier = _reifier(edge)
                statement = [(_REIFIES, ox.Triple(*edge))] if relation.properties else []
                self._write(reifier, statement, relation.properties)

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete the nodes of these names or ids, those with one of these properties, and the relations of these names.

        A node goes with all triples of the graph that it is the subject or the object of.
        """
        nodes = {self._node(name) for name in [*(entity_names or ()), *(ids or ())]}
        nodes |= self._with_properties(properties or {})
        with self.world.transaction(author=self._author, message="nodes and relations deleted"):
            edges = {edge for term in nodes for edge in self._edges_at(term)}
            for name in relation_names or ():
                edges |= set(self._edges(self._quads(predicate=self._relation(name))))
            gone = [*edges]
            for subject in [*nodes, *map(_reifier, edges)]:
                gone += [quad[:3] for quad in self._quads(subject=subject)]
            self._remove(gone)

    def _described(self, node: LabelledNode) -> list[tuple[ox.NamedNode, Any]]:
        """The quads of a node beside its properties."""
        kind = (_TYPE, self._term(CLASSES, node.label))
        if isinstance(node, ChunkNode):
            return [kind, (_TEXT, to_text(f"the chunk {node.id!r}", node.text))]
        named = str(self._node(node.id)).startswith(f"<{NODES}")
        return [kind, (_LABEL, to_text("a name", getattr(node, "name", node.id)))] if named else [kind]

    def _write(self, subject: Any, said: list[tuple[ox.NamedNode, Any]], properties: Mapping[str, Any]) -> None:
        """Replace the stored properties of a subject by new ones; unchanged quads stay."""
        known = self._properties(subject)
        changed = {key: value for key, value in properties.items() if key not in known or known[key] != value}
        predicates = {self._predicate(key): value for key, value in changed.items()}
        keep_out_of_text(self.world, (each.value for each in predicates if each.value.startswith(METADATA)))
        ours = {_TEXT, _LABEL, _REIFIES} & {predicate for predicate, _ in said}
        old, new = [], [(subject, predicate, value) for predicate, value in said]
        for quad in self._quads(subject=subject):
            mine = quad[1].value.startswith(METADATA) and key_of(quad[1].value) not in properties
            own_class = quad[1] == _TYPE and isinstance(quad[2], ox.NamedNode) and quad[2].value.startswith(CLASSES)
            if mine or own_class or quad[1] in ours or quad[1] in predicates:
                old.append(quad[:3])
        for predicate, value in predicates.items():
            several = value if isinstance(value, list) and not predicate.value.startswith(METADATA) else [value]
            new += [(subject, predicate, to_literal(predicate.value, each)) for each in several]
        self._remove([quad for quad in old if quad not in new])
        self._add([quad for quad in new if quad not in old])

    def _add(self, triples: Iterable[tuple[Any, ...]]) -> None:
        self.world.add([(*triple, self._graph and ox.NamedNode(self._graph)) for triple in triples])

    def _remove(self, triples: Iterable[tuple[Any, ...]]) -> None:
        self.world.remove([(*triple, self._graph and ox.NamedNode(self._graph)) for triple in triples])

    # -- quads ----------------------------------------------------------------------------------------------------

    def _quads(self, **wanted: Any) -> Iterator[tuple[Any, Any, Any]]:
        """The matching triples of the graph, in pyoxigraph's terms."""
        for quad in self.world.quads(**wanted, graph=self._in_graph):
            yield tuple(map(to_oxigraph, quad[:3]))  # type: ignore[misc]  # three of them

    def _edges(self, quads: Iterable[tuple[Any, Any, Any]]) -> Iterator[Edge]:
        return (quad for quad in quads if quad[1] != _TYPE and not isinstance(quad[2], ox.Literal | ox.Triple))

    def _edges_at(self, term: Any) -> set[Edge]:
        return {*self._edges(self._quads(subject=term)), *self._edges(self._quads(object=term))}

    def _with_properties(self, properties: Mapping[str, Any]) -> set[Any]:
        """The subjects that have one of these properties."""
        found = set()
        for key, value in properties.items():
            for subject, _, term in self._quads(predicate=self._predicate(key)):
                if to_value(to_rdflib(term)) == value:
                    found.add(subject)
        return {term for term in found if not _is_statement(term)}

    def _edges_with(self, properties: Mapping[str, Any]) -> set[Edge]:
        """The edges with one of these properties, or with an end that has one."""
        edges = {edge for term in self._with_properties(properties) for edge in self._edges_at(term)}
        for _, _, statement in self._quads(predicate=_REIFIES):
            edge = (statement.subject, statement.predicate, statement.object)
            said = self._properties(_reifier(edge))
            if any(said.get(key) == value for key, value in properties.items()):
                edges.add(edge)
        return edges

    def _triplets(self, edges: Iterable[Edge]) -> list[Triplet]:
        nodes: dict[Any, LabelledNode] = {}
        triplets = []
        for subject, predicate, object_ in edges:
            for term in (subject, object_):
                if term not in nodes:
                    nodes[term] = self._read(term) or EntityNode(name=self._name(NODES, term))
            relation = Relation(
                label=self._name(RELATIONS, predicate),
                source_id=nodes[subject].id,
                target_id=nodes[object_].id,
                properties=self._properties(_reifier((subject, predicate, object_))),
            )
            triplets.append((nodes[subject], relation, nodes[object_]))
        return triplets

    def _properties(self, subject: Any) -> dict[str, Any]:
        """The literals of a subject by the names of their predicates; of several, a list."""
        values: dict[str, list[Any]] = {}
        for _, predicate, term in sorted(self._quads(subject=subject), key=str):
            if isinstance(term, ox.Literal):
                ours = predicate.value.startswith(METADATA)
                key = key_of(predicate.value) if ours else self._name(METADATA, predicate)
                values.setdefault(key, []).append(to_value(to_rdflib(term)))
        return {key: found[0] if len(found) == 1 else found for key, found in values.items()}

    def _read(self, term: Any) -> LabelledNode | None:
        """The node of a term; None where the graph says nothing of it."""
        said = list(self._quads(subject=term))
        if not said and next(iter(self._quads(object=term)), None) is None:
            return None
        id_ = self._name(NODES, term)
        classes = sorted(self._name(CLASSES, kind) for _, each, kind in said if each == _TYPE)
        ours = sorted(
            self._name(CLASSES, kind) for _, each, kind in said if each == _TYPE and str(kind).startswith(f"<{CLASSES}")
        )
        properties = self._properties(term)
        texts = sorted(value.value for _, each, value in said if each == _TEXT and isinstance(value, ox.Literal))
        if texts:
            properties.pop(self._name(METADATA, _TEXT), None)
            return ChunkNode(
                id_=id_, text=texts[0], label=(ours or classes or ["text_chunk"])[0], properties=properties
            )
        name = properties.get(self._name(METADATA, _LABEL))
        if not isinstance(name, str) or name.replace('"', " ") != id_:  # as EntityNode makes an id of a name
            name = id_
        elif str(term).startswith(f"<{NODES}"):
            del properties[self._name(METADATA, _LABEL)]
        return EntityNode(name=name, label=(ours or classes or ["entity"])[0], properties=properties)


def _ends(quad: tuple[Any, Any, Any]) -> list[Any]:
    """The nodes of a triple."""
    is_edge = quad[1] != _TYPE and not isinstance(quad[2], ox.Literal | ox.Triple)
    return [quad[0], quad[2]] if is_edge else [quad[0]]


def _reifier(edge: Edge) -> ox.NamedNode:
    """The IRI that has the properties of a relation."""
    written = " ".join(str(term) for term in edge)
    return ox.NamedNode(_STATEMENTS + hashlib.blake2b(written.encode(), digest_size=16).hexdigest())


def _is_statement(term: Any) -> bool:
    return isinstance(term, ox.NamedNode) and term.value.startswith(_STATEMENTS)


_OPERATORS: Mapping[str, str] = {
    "==": "$eq",
    "!=": "$ne",
    ">": "$gt",
    ">=": "$gte",
    "<": "$lt",
    "<=": "$lte",
    "in": "$in",
    "nin": "$nin",
}


def _conditions(filters: MetadataFilters) -> dict[str, Any]:
    """A filter of LlamaIndex as one of `worlds.adapters.metadata.pattern`; ValueError for an operator that it lacks."""
    parts: list[dict[str, Any]] = []
    for each in filters.filters:
        if isinstance(each, MetadataFilters):
            parts.append(_conditions(each))
        elif each.operator.value == "is_empty":
            parts.append({"$or": [{each.key: {"$exists": False}}, {each.key: {"$in": [None, [], ""]}}]})
        elif each.operator.value in _OPERATORS:
            parts.append({each.key: {_OPERATORS[each.operator.value]: each.value}})
        else:
            raise ValueError(
                f"a filter of a world has no operator {each.operator.value!r}; it has {', '.join(_OPERATORS)}, is_empty"
            )
    condition = "and" if filters.condition is None else filters.condition.value
    return {"$not": {"$or": parts}} if condition == "not" else {f"${condition}": parts}
