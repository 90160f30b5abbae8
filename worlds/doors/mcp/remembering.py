"""The tools of the profile "memory": the names, arguments and answers of MCP's memory server, on a memory of the world.

An entity is a memory of its name, its observations are texts that searches find by words and by meaning, and a relation
is a triple between two of them, urn:worlds:relation:TYPE. So all of it can be recalled, described, undone and forgotten
as memories are. Writes of several processes lose nothing: each call is one revision.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Annotated, Any
from urllib.parse import quote, unquote

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field
from rdflib import Literal, URIRef

from worlds.doors.mcp.toolbox import Service
from worlds.doors.mcp.tools import CONTEXT
from worlds.records import Memory

TOOLS = (
    *("create_entities", "create_relations", "add_observations"),
    *("delete_entities", "delete_observations", "delete_relations"),
    *("read_graph", "search_nodes", "open_nodes"),
)
_RELATION = "urn:worlds:relation:"
_VALUE = URIRef("urn:worlds:memory#observations")
_JSON = URIRef("http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON")
_LABEL, _TEXT = "http://www.w3.org/2000/01/rdf-schema#label", "https://schema.org/text"
_NEAREST = 10  # entities that a search by meaning gives, where none has the words


class Entity(BaseModel):
    """A thing that is remembered."""

    name: str = Field(description="Its name, which is its own.")
    entityType: str = Field(description="What kind of thing it is.")  # noqa: N815  # the memory server's name
    observations: list[str] = Field(description="What was observed of it.")


class Relation(BaseModel):
    """A relation between two entities, in the active voice."""

    from_: str = Field(alias="from", description="The name of the entity that it starts from.")
    to: str = Field(description="The name of the entity that it leads to.")
    relationType: str = Field(description="The relation.")  # noqa: N815

    model_config = {"populate_by_name": True}


class Graph(BaseModel):
    """Entities, and the relations between them."""

    entities: list[Entity]
    relations: list[Relation]


class Created(BaseModel):
    """The entities that are new."""

    entities: list[Entity]


class NewRelations(BaseModel):
    """The relations that are new."""

    relations: list[Relation]


class Additions(BaseModel):
    """Observations of an entity."""

    entityName: str = Field(description="The name of the entity.")  # noqa: N815
    contents: list[str] = Field(description="What was observed.")


class Deletions(BaseModel):
    """Observations of an entity that are to go."""

    entityName: str = Field(description="The name of the entity.")  # noqa: N815
    observations: list[str] = Field(description="The observations that go.")


class Added(BaseModel):
    """The observations of an entity that are new."""

    entityName: str  # noqa: N815
    addedObservations: list[str]  # noqa: N815


class Observed(BaseModel):
    """The additions to each entity."""

    results: list[Added]


class Done(BaseModel):
    """Whether it is done."""

    success: bool
    message: str


class KnowledgeGraph:
    """Entities, observations and relations in a memory; public methods are tools, by signature and docstring."""

    def __init__(self, memory: Memory, author: str | None = None) -> None:
        self._memory = memory
        self._author = author

    def create_entities(self, entities: Annotated[list[Entity], Field(description="The entities.")]) -> Created:
        """Create entities in the memory; one whose name is known stays as it is."""
        (known, relations), new = self._all(), []
        last = max((number for number, _ in known.values()), default=0)
        for one in entities:
            if one.name not in known:
                last += 1
                known[one.name] = last, one
                new.append(one)
                self._put(last, one, relations)
        return Created(entities=new)

    def create_relations(
        self, relations: Annotated[list[Relation], Field(description="The relations.")]
    ) -> NewRelations:
        """Create relations between entities, in the active voice."""
        known = self._all()[1]
        new = []
        for one in relations:
            if one not in known:
                known.append(one)
                new.append(one)
        self._memory.world.add(map(self._triple, new), author=self._author) if new else None
        return NewRelations(relations=new)

    def add_observations(
        self, observations: Annotated[list[Additions], Field(description="What was observed, by entity.")]
    ) -> Observed:
        """Add observations to entities that there are."""
        (known, relations), results = self._all(), []
        for one in observations:
            if one.entityName not in known:
                raise ValueError(f"Entity with name {one.entityName} not found")
            number, entity = known[one.entityName]
            new = [text for text in one.contents if text not in entity.observations]
            entity.observations += new
            results.append(Added(entityName=one.entityName, addedObservations=new))
            if new:
                self._put(number, entity, relations)
        return Observed(results=results)

    def delete_entities(
        self,
        entityNames: Annotated[list[str], Field(description="The names of the entities.")],  # noqa: N803
    ) -> Done:
        """Delete entities, with their relations."""
        known, relations = self._all()
        gone = [self._triple(one) for one in relations if {one.from_, one.to} & set(entityNames)]
        if gone:
            self._memory.world.remove(gone, author=self._author)
        for name in dict.fromkeys(entityNames):
            if name in known:
                self._memory.forget(key=name, author=self._author)
        return Done(success=True, message="Entities deleted successfully")

    def delete_observations(
        self, deletions: Annotated[list[Deletions], Field(description="The observations, by entity.")]
    ) -> Done:
        """Delete observations of entities."""
        known, relations = self._all()
        for one in deletions:
            if one.entityName in known:
                number, entity = known[one.entityName]
                entity.observations = [text for text in entity.observations if text not in one.observations]
                self._put(number, entity, relations)
        return Done(success=True, message="Observations deleted successfully")

    def delete_relations(self, relations: Annotated[list[Relation], Field(description="The relations.")]) -> Done:
        """Delete relations between entities."""
        if relations:
            self._memory.world.remove(map(self._triple, relations), author=self._author)
        return Done(success=True, message="Relations deleted successfully")

    def read_graph(self) -> Graph:
        """Read the whole memory."""
        found, relations = self._all()
        return Graph(
            entities=[entity for _, entity in sorted(found.values(), key=lambda one: one[0])], relations=relations
        )

    def search_nodes(
        self, query: Annotated[str, Field(description="Words of a name, a type or an observation, or what is meant.")]
    ) -> Graph:
        """Find entities by words; where none has them, by meaning."""
        words = query.lower()

        def has(entity: Entity) -> bool:
            return any(words in text.lower() for text in (entity.name, entity.entityType, *entity.observations))

        whole = self.read_graph()
        names = [one.name for one in whole.entities if has(one)]
        if not names and query.strip():
            by_iri = {self._iri(one.name): one.name for one in whole.entities}
            for hit in self._memory.search(query, limit=_NEAREST * 5):
                found = (by_iri.get(str(quad[0])) for quad in hit.quads) if hit.score > 0 else ()
                names += [name for name in found if name is not None and name not in names]
            names = names[:_NEAREST]
        return _part(whole, names)

    def open_nodes(self, names: Annotated[list[str], Field(description="The names of the entities.")]) -> Graph:
        """Read entities by their names."""
        return _part(self.read_graph(), names)

    def _all(self) -> tuple[dict[str, tuple[int, Entity]], list[Relation]]:
        entities: dict[str, tuple[int, Entity]] = {}
        relations: list[Relation] = []
        begins = self._iri("")
        for subject, predicate, value, graph in self._memory.quads():
            if graph != self._memory.graph or not str(subject).startswith(begins):
                continue
            name = unquote(str(subject)[len(begins) :])
            if predicate == _VALUE:
                kept = json.loads(str(value))
                entity = Entity(name=name, entityType=kept["type"], observations=kept["observations"])
                entities[name] = kept["number"], entity
            elif str(predicate).startswith(_RELATION) and str(value).startswith(begins):
                kind = unquote(str(predicate).removeprefix(_RELATION))
                relations.append(
                    Relation.model_validate(
                        {"from": name, "to": unquote(str(value)[len(begins) :]), "relationType": kind}
                    )
                )
        return entities, sorted(relations, key=lambda one: (one.from_, one.relationType, one.to))

    def _put(self, number: int, entity: Entity, relations: Iterable[Relation]) -> None:
        kept = {"type": entity.entityType, "number": number, "observations": entity.observations}
        texts = [text for text in dict.fromkeys(entity.observations) if text.strip() and "\0" not in text]
        said: dict[str, list[object]] = {
            _LABEL: [Literal(entity.name)],
            str(_VALUE): [Literal(json.dumps(kept), datatype=_JSON)],
            _TEXT: [Literal(text) for text in texts],
        }
        for one in relations:
            if one.from_ == entity.name:
                said.setdefault(str(self._triple(one)[1]), []).append(self._triple(one)[2])
        self._memory.put(entity.name, said, kind="entity", author=self._author)

    def _iri(self, name: str) -> str:
        return f"{self._memory.graph}#key/{quote(name, safe='')}"

    def _triple(self, relation: Relation) -> tuple[Any, Any, Any, Any]:
        predicate = URIRef(_RELATION + quote(relation.relationType, safe=""))
        return URIRef(self._iri(relation.from_)), predicate, URIRef(self._iri(relation.to)), self._memory.graph


def _part(whole: Graph, names: Iterable[str]) -> Graph:
    """Some entities, and the relations from and to them."""
    wanted = set(names)
    entities = [one for one in whole.entities if one.name in wanted]
    chosen = {one.name for one in entities}
    return Graph(entities=entities, relations=[one for one in whole.relations if {one.from_, one.to} & chosen])


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the nine tools, and the resource."""

    memory = functools.partial(service.world.memory, scope=service.memory)

    def add(name: str, *, writes: bool) -> None:
        signature = inspect.signature(getattr(KnowledgeGraph, name), eval_str=True)
        _, *parameters = signature.parameters.values()

        async def run(context: Context[Any, Any], **given: Any) -> CallToolResult:
            if writes:
                service.require_memory(context)

            def work() -> BaseModel:
                with service.explained():
                    found, author = memory(), service.author(context) if writes else None
                    with found.transaction(author=author) if writes else nullcontext():
                        return getattr(KnowledgeGraph(found, author), name)(**given)  # type: ignore[no-any-return]

            found = await service.run(work, writes=writes)
            content: list[Any] = [TextContent(type="text", text=_json(found))]
            return CallToolResult(content=content, structured_content=found.model_dump(by_alias=True))

        answer: Any = Annotated[CallToolResult, signature.return_annotation]
        parameters.append(CONTEXT)
        run.__signature__ = signature.replace(parameters=parameters, return_annotation=answer)  # type: ignore[attr-defined]
        run.__annotations__ = {**{one.name: one.annotation for one in parameters}, "return": answer}
        server.add_tool(
            run,
            name=name,
            title=name.replace("_", " ").capitalize(),
            description=getattr(KnowledgeGraph, name).__doc__,
            annotations=ToolAnnotations(
                read_only_hint=not writes,
                destructive_hint=name.startswith("delete"),
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )

    for name in TOOLS:
        add(name, writes=name not in TOOLS[6:])

    @server.resource("memory://knowledge-graph", name="knowledge-graph", title="Memory", mime_type="application/json")
    async def knowledge_graph() -> str:
        """All entities and relations of the memory."""
        return _json(await service.run(lambda: KnowledgeGraph(memory()).read_graph()))


def _json(found: BaseModel) -> str:
    return json.dumps(found.model_dump(by_alias=True), ensure_ascii=False, indent=2)
