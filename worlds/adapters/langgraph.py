"""LangGraph's long-term memory on a world: a `BaseStore` whose namespaces are scopes of `World.memory`.

An item is a memory with the item's key. Its value is kept as JSON; the texts of its fields are found by words and by
meaning. What is deleted, replaced or expired is forgotten as memories are. Written against langgraph-checkpoint 4.
"""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)
from rdflib import Literal, URIRef

from worlds import World
from worlds.aio import in_thread

_JSON = URIRef("http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON")
_SPACE = "urn:worlds:store#"
_VALUE, _TTL, _UPDATED, _CREATED = (URIRef(_SPACE + name) for name in ("value", "minutes", "updated", "created"))
_TEXT = URIRef("https://schema.org/text")
_TIME = URIRef("http://www.w3.org/2001/XMLSchema#dateTime")
_MEMORY = "urn:worlds:memory:"
_MINUTES = 1440  # a day
_MOST = 10_000  # hits


class WorldsStore(BaseStore):
    """A store in the memory of a world: the items of ("user", "ann") are memories of `scope`, "user", "ann".

    `fields` are the paths of the texts that queries search, unless a `put` names its own: "$", the whole value, by
    default. `ttl` is LangGraph's configuration: "default_ttl" in minutes, "refresh_on_read". Values are JSON: tuples
    come back as lists, and TypeError for what JSON has not. A batch is one revision of each scope's file.

    A search with a query ranks by words and vectors together; a score is higher for a better item, and None for one
    that has no text. Filters compare as InMemoryStore's do, nested and with $eq, $ne, $gt, $gte, $lt, $lte; a value
    that cannot be compared does not match. Items without a query come as they were first put.
    """

    supports_ttl = True

    def __init__(
        self,
        world: World,
        *,
        scope: str | Sequence[str] = "store",
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        author: str | None = None,
    ) -> None:
        self._world = world
        self._scope = (scope,) if isinstance(scope, str) else tuple(scope)
        self._fields = list(fields)
        self.ttl_config = ttl
        self._author = author
        world.memory(scope=self._scope)  # ArgumentError, or ReadOnlyError for what is outside of a scope

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as a batch: all reads before all writes; of one key the last write counts."""
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        touched: dict[tuple[tuple[str, ...], str], float] = {}
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, GetOp):
                found = self._get(op, touched)
                results.append(found)
            elif isinstance(op, SearchOp):
                results.append(self._search(op, touched))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
                results.append(None)
            else:
                raise ValueError(f"an operation must be a GetOp, SearchOp, PutOp or ListNamespacesOp, not {op!r}")
        if puts or touched:
            with contextlib.ExitStack() as stack:
                for namespace, _ in (*puts, *touched):
                    stack.enter_context(self._memory(namespace).transaction(author=self._author))
                for (namespace, key), op in puts.items():
                    self._put(namespace, key, op)
                for (namespace, key), minutes in touched.items():
                    if (namespace, key) not in puts:
                        self._refresh(namespace, key, minutes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a thread."""
        given = list(ops)
        return await in_thread(self._world, lambda: self.batch(given))

    def sweep_ttl(self) -> int:
        """Remove the expired items of all namespaces, which nobody sees any more; return their number."""
        scopes = self._world.memory(scope=self._scope).scopes
        return sum(self._world.memory(scope=scope).sweep().memories for scope in scopes)

    # -- items ----------------------------------------------------------------------------------------------------

    def _memory(self, namespace: Sequence[str]) -> Any:
        return self._world.memory(scope=(*self._scope, *namespace))

    def _known(self) -> list[tuple[str, ...]]:
        """The namespaces that have items."""
        return sorted({self._namespace(str(quad[3])) for quad in self._memory(()).quads(None, _VALUE)})

    def _namespace(self, graph: str) -> tuple[str, ...]:
        parts = graph.removeprefix(_MEMORY).split("/")[len(self._scope) :]
        return tuple(unquote(part) for part in parts)

    def _items(self, namespace: tuple[str, ...]) -> dict[str, tuple[SearchItem, float | None]]:
        """The items at and below a namespace, by IRI, in the order in which they were put first; with their minutes."""
        scope = self._memory(namespace)
        said: dict[str, dict[Any, Any]] = {}
        graphs: dict[str, str] = {}
        for predicate in (_VALUE, _TTL, _UPDATED, _CREATED):
            for subject, _, value, graph in scope.quads(None, predicate):
                said.setdefault(str(subject), {})[predicate] = value
                graphs[str(subject)] = str(graph)
        found = {iri: self._item(iri, graphs[iri], about) for iri, about in said.items() if _VALUE in about}
        return dict(sorted(found.items(), key=lambda pair: (pair[1][0].created_at, pair[0])))

    def _item(self, iri: str, graph: str, about: Mapping[Any, Any]) -> tuple[SearchItem, float | None]:
        item = SearchItem(
            namespace=self._namespace(graph),
            key=json.loads(unquote(iri.partition("#key/")[2])),
            value=json.loads(str(about[_VALUE])),
            created_at=datetime.datetime.fromisoformat(str(about[_CREATED])),
            updated_at=datetime.datetime.fromisoformat(str(about[_UPDATED])),
        )
        return item, float(about[_TTL]) if _TTL in about else None

    def _get(self, op: GetOp, touched: dict[tuple[tuple[str, ...], str], float]) -> Item | None:
        iri, graph, about = self._said(op.namespace, op.key)
        if _VALUE not in about:
            return None
        found, minutes = self._item(iri, graph, {name: values[0] for name, values in about.items()})
        if minutes is not None and op.refresh_ttl:
            touched[op.namespace, op.key] = minutes
        return Item(
            value=found.value,
            key=found.key,
            namespace=found.namespace,
            created_at=found.created_at,
            updated_at=found.updated_at,
        )

    def _said(self, namespace: tuple[str, ...], key: str) -> tuple[str, str, dict[Any, list[Any]]]:
        """The IRI and graph of an item, and the values of its predicates; no values if it has expired."""
        graph = _MEMORY + "/".join(quote(part, safe="") for part in (*self._scope, *namespace))
        iri = f"{graph}#key/{quote(_named(key), safe='')}"
        about: dict[Any, list[Any]] = {}
        for _, predicate, value, _ in self._memory(namespace).quads(URIRef(iri)):
            about.setdefault(predicate, []).append(value)
        return iri, graph, about

    def _put(self, namespace: tuple[str, ...], key: str, op: PutOp) -> None:
        memory = self._memory(namespace)
        if op.value is None:
            memory.forget(key=_named(key))
            return
        written = json.dumps(op.value, ensure_ascii=False, sort_keys=False)  # TypeError
        paths = [] if op.index is False else self._fields if op.index is None else list(op.index)
        texts = [
            text for path in paths for text in get_text_at_path(op.value, path if path == "$" else tokenize_path(path))
        ]
        texts = [text for text in dict.fromkeys(texts) if text.strip() and "\0" not in text]
        now = datetime.datetime.now(datetime.UTC).isoformat()
        before = self._said(namespace, key)[2].get(_CREATED)
        minutes = op.ttl if op.ttl is not None else (self.ttl_config or {}).get("default_ttl")
        said: dict[str, object] = {
            str(_VALUE): Literal(written, datatype=_JSON),
            str(_UPDATED): Literal(now, datatype=_TIME),
            str(_CREATED): before or Literal(now, datatype=_TIME),
            str(_TEXT): [Literal(text) for text in texts],
        }
        if minutes is not None:
            said[str(_TTL)] = Literal(float(minutes))
        memory.put(_named(key), said, days=None if minutes is None else minutes / _MINUTES)

    def _refresh(self, namespace: tuple[str, ...], key: str, minutes: float) -> None:
        """Restart the time to live of an item."""
        about = self._said(namespace, key)[2]
        said = {str(name): about[name] for name in (_VALUE, _UPDATED, _CREATED, _TEXT, _TTL) if name in about}
        if said:
            self._memory(namespace).put(_named(key), said, days=minutes / _MINUTES)

    # -- searches -------------------------------------------------------------------------------------------------

    def _search(self, op: SearchOp, touched: dict[tuple[tuple[str, ...], str], float]) -> list[SearchItem]:
        items = self._items(op.namespace_prefix)
        chosen = {iri: one for iri, one in items.items() if _matches(one[0].value, op.filter)}
        scores: dict[str, float] = {}
        if op.query and chosen:
            scores = self._scored(op, chosen)
        ordered = [*scores, *(iri for iri in chosen if iri not in scores)]
        page = ordered[op.offset : op.offset + op.limit]
        for iri in page:
            item, minutes = chosen[iri]
            item.score = scores.get(iri)
            if minutes is not None and op.refresh_ttl:
                touched[item.namespace, item.key] = minutes
        return [chosen[iri][0] for iri in page]

    def _scored(self, op: SearchOp, chosen: Mapping[str, Any]) -> dict[str, float]:
        """The scores of the items that a query finds, as many as are asked for, the best first."""
        memory, asked = self._memory(op.namespace_prefix), op.offset + op.limit
        while True:  # several hits may be of one item, or of none that the filter lets through
            scores: dict[str, float] = {}
            hits = memory.search(op.query, predicates=str(_TEXT), limit=min(asked, _MOST))
            for hit in hits:
                for quad in hit.quads:
                    if (iri := str(quad[0])) in chosen:
                        scores.setdefault(iri, hit.score)
            if len(scores) >= op.offset + op.limit or len(hits) < asked or asked >= _MOST:
                return scores
            asked *= 4

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = [one for one in self._known() if all(_has(one, condition) for condition in op.match_conditions or ())]
        if op.max_depth is not None:
            found = sorted({one[: op.max_depth] for one in found})
        return found[op.offset : op.offset + op.limit]


def _named(key: str) -> str:
    """The key of a memory: JSON, so that the empty key, too, is a name."""
    return json.dumps(key)


def _has(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, with a path, in which "*" is any label."""
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"a namespace is matched by its prefix or suffix, not by {condition.match_type!r}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def _matches(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether the fields of a value are what a filter asks for."""
    return all(_compares(value.get(key), wanted) for key, wanted in (filter or {}).items())


def _compares(held: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_operates(held, operator, one) for operator, one in wanted.items())
        return isinstance(held, Mapping) and all(_compares(held.get(key), one) for key, one in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(held, list | tuple) and len(held) == len(wanted)
        return same and all(_compares(one, other) for one, other in zip(held, wanted, strict=True))
    return bool(held == wanted)


def _operates(held: Any, operator: str, wanted: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool((held == wanted) == (operator == "$eq"))
    if operator not in _ORDERS:
        raise ValueError(f"a filter has $eq, $ne, $gt, $gte, $lt and $lte, not {operator!r}")
    try:
        return bool(_ORDERS[operator](float(held), float(wanted)))
    except (TypeError, ValueError):
        return False


_ORDERS = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}
