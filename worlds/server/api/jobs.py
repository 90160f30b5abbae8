"""The jobs of the JSON API: verbs of `World`.

Answers that can be large are JSON already: the server, which is one process, only passes them on.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pyoxigraph as ox

from worlds.curation.forms.form import Form
from worlds.errors import ArgumentError
from worlds.graph.longtexts import parse_quads
from worlds.graph.records import As, Node, Quad, Record, Spare
from worlds.graph.terms import quad_to_rdflib
from worlds.revisions.diff import Diff
from worlds.revisions.edits import Edits
from worlds.revisions.gate import Change
from worlds.revisions.history import Entry
from worlds.search.hits import SearchResults
from worlds.server.errors import Problem
from worlds.server.workers.jobs import job, together
from worlds.world import World

_PROPOSED = 10_000  # quads that an update may change which is proposed
_COMPARED = 2000  # quads of a revision of which it is told whether it is undone


def encoded(document: object) -> bytes:
    """A JSON document; a lone surrogate becomes a question mark. Problem for infinite numbers."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise Problem("a score is too large for a number of JSON: use smaller boosts and weights") from error
    return text.encode("utf-8", "replace")


@job("ping")
def ping(world: World) -> bool:
    """Answer."""
    return True


@job("search")
def search(world: World, *, facets: bool = False, **options: Any) -> bytes:
    """`World.search`; the statement is told only where it was asked to explain."""
    return _hits(world, world.search(**options), facets=facets, options=options)


@job("search_together")
def search_together(
    world: World, *, own: str, beside: Mapping[str, Path], facets: bool = False, **options: Any
) -> bytes:
    """`Group.search` of a world, by its `own` name, and those `beside` it, by names and paths."""
    with together(world, own, beside, world.embedder) as group:
        return _hits(world, group.search(**options), facets=facets, options=options)


def _hits(world: World, found: SearchResults, *, facets: bool, options: Mapping[str, Any]) -> bytes:
    document = found.to_dict(sql=bool(options.get("explain")))
    if facets or options.get("facet"):
        document["facets"] = found.facets.to_dict(world.prefixes)
    return encoded(document)


@job("describe")
def describe(world: World, **options: Any) -> bytes | None:
    """`World.describe`; None for an unknown entity."""
    found = world.describe(**options)
    return encoded(found.to_dict()) if found else None


@job("similar")
def similar(world: World, *, iri: str, **options: Any) -> bytes | None:
    """`World.similar`; None for an unknown entity."""
    if not world.describe(iri, limit=1):
        return None
    return _hits(world, world.similar(iri, **options), facets=False, options=options)


@job("resolve")
def resolve(world: World, *, names: Sequence[tuple[str, str | None]], **options: Any) -> list[dict[str, Any]]:
    """`World.resolve` of each name, with its context."""
    return [world.resolve(name, context=context, **options).to_dict() for name, context in names]


def _reads(verb: str) -> Callable[..., bytes]:
    """What answers with what a verb gives."""

    def read(world: World, **options: Any) -> bytes:
        return encoded(getattr(world, verb)(**options).to_dict())

    return read


for _verb in [
    "brief",
    "chunk",
    "context",
    "contradictions",
    "form",
    "history",
    "mentions",
    "mint",
    "report",
    "schema",
    "suggest_links",
    "suggest_shapes",
    "timeline",
    "validate",
]:
    job(_verb)(_reads(_verb))


@job("labels")
def labels(world: World, *, iris: Sequence[str], language: str | None = None) -> bytes:
    """`World.labels`."""
    return encoded({"labels": world.labels(iris, language=language)})


@job("validate_post")
def validate_post(world: World, *, shapes: str, subjects: Sequence[str] | None = None) -> bytes:
    """`World.validate` with shapes that are given as Turtle."""
    return encoded(world.validate(shapes=shapes.encode(), subjects=subjects).to_dict())


@job("broken_questions")
def broken_questions(world: World) -> dict[str, Any]:
    """`World.questions.check`."""
    return {"questions": [one.to_dict() for one in world.questions.check()]}


@job("duplicates")
def duplicates(world: World, *, between: Sequence[str] | None = None, **options: Any) -> bytes:
    """`World.duplicates`."""
    if between is not None and len(between) != 2:
        raise ArgumentError(f"between is given twice, for two graphs, not {len(between)} times")
    found = world.duplicates(between=None if between is None else (between[0], between[1]), **options)
    return encoded(found.to_dict())


@job("decisions")
def decisions(world: World) -> bytes:
    """`World.decisions`."""
    return encoded({"decisions": [one.to_dict() for one in world.decisions()]})


@job("verify")
def verify(world: World, *, claim: str | list[Any], **options: Any) -> bytes:
    """`World.verify`, without an `extract`; the trail too."""
    found = world.verify(claim if isinstance(claim, str) else tuple(claim), **options)
    return encoded({**found.to_dict(), "trail": found.rdf()})


@job("stats")
def stats(world: World) -> dict[str, Any]:
    """`World.stats`, but for the path, which is the server's business."""
    found = world.stats().to_dict()
    del found["path"]
    return found


@job("prefixes")
def prefixes(world: World) -> dict[str, str]:
    """`World.prefixes`."""
    return world.prefixes


@job("bind", write=True)
def bind(world: World, *, author: str | None, prefix: str, iri: str) -> dict[str, str]:
    """`World.bind`; gives all prefixes."""
    world.bind(prefix, iri)
    return world.prefixes


@job("policy")
def policy(world: World) -> dict[str, Any]:
    """`World.policy` and `World.default_graph`."""
    return {**json.loads(world.policy.to_json()), "default_graph": world.default_graph}


@job("change_policy", write=True)
def change_policy(world: World, *, author: str | None, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes some of it; gives all."""
    setting = changes.pop("default_graph", world.default_graph)
    if changes:
        world.policy = world.policy.changed(changes, world.prefixes)
    world.default_graph = setting
    return policy(world)


# --- history --------------------------------------------------------------------------------------------------------


@job("provenance")
def provenance(world: World, **of: Any) -> bytes:
    """`World.provenance`."""
    return encoded({"quads": [one.to_dict() for one in world.provenance(**of)]})


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionDetails(Entry):
    """A revision, and what it did."""

    quads_added: Sequence[Quad]
    quads_removed: Sequence[Quad]
    graphs_created: Sequence[Node]
    graphs_dropped: Sequence[Node]
    edits: Edits
    truncated: Annotated[bool, As(schema={"description": "Whether there are more quads than are listed."})]
    undone: Annotated[bool, As(schema={"description": "Whether nothing of what it did holds any more."})]


@job("revision")
def revision(world: World, *, revision: int, limit: int = 1000) -> bytes | None:
    """A revision and its diff, of each list the first `limit`; None for an unknown one."""
    entry = _find(world, revision)
    if entry is None:
        return None
    diff: Diff = world.diff(revision - 1, revision)
    told = RevisionDetails(
        **{field.name: getattr(entry, field.name) for field in fields(entry)},
        quads_added=[quad_to_rdflib(quad) for quad in islice(diff.added.terms(), limit)],
        quads_removed=[quad_to_rdflib(quad) for quad in islice(diff.removed.terms(), limit)],
        graphs_created=diff.created,
        graphs_dropped=diff.dropped,
        edits=replace(diff.edits, entities=diff.edits.entities[:limit]),
        truncated=max(len(diff.added), len(diff.removed)) > limit,
        undone=entry.undone_by is not None or _is_undone(world, diff),
    )
    return encoded(told.to_dict())


def _is_undone(world: World, diff: Diff) -> bool:
    """Whether nothing of what a revision did holds any more; of a large one it is not looked at."""
    if not 0 < len(diff.added) + len(diff.removed) <= _COMPARED:
        return False
    return not any(_holds(world, quad) for quad in diff.added.terms()) and all(
        _holds(world, quad) for quad in diff.removed.terms()
    )


def _holds(world: World, quad: ox.Quad) -> bool:
    graph = "default" if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name
    return next(world.quads(quad.subject, quad.predicate, quad.object, graph), None) is not None


def _find(world: World, revision: int) -> Entry | None:
    """The revision of this number, None if it is unknown or was forgotten."""
    found = world.history(1, before=revision + 1)
    return found[0] if found and found[0].revision == revision else None


# --- writes ---------------------------------------------------------------------------------------------------------


@job("undo", write=True)
def undo(
    world: World, *, author: str | None, revision: int, force: bool = False, message: str | None = None
) -> dict[str, Any] | None:
    """`World.undo`; None for an unknown revision."""
    if _find(world, revision) is None:
        return None
    return world.undo(revision, force=force, author=author, message=message).to_dict()


@dataclass(frozen=True)
class Rehearsal(Record):
    """What a change would do, which was tried and taken back: as `edits` by entity, and as quads, the first of each.

    `notes` say what the guard would do, and `form` is that of an entity as it would be, where one is asked for.
    """

    quads_added: tuple[Quad, ...]
    quads_removed: tuple[Quad, ...]
    edits: Edits
    truncated: Annotated[bool, As(schema={"description": "Whether there are more quads than are listed."})]
    notes: tuple[str, ...] = ()
    form: Annotated[Form | None, Spare] = None


class _TakenBackError(Exception):
    pass


@job("rehearsal", write=True)
def rehearsal(
    world: World,
    *,
    author: str | None,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    merge: Sequence[str] = (),
    undo: int | None = None,
    form: str | None = None,
    language: str | None = None,
    limit: int = 1000,
) -> bytes:
    """What the verbs say with `dry_run`: of quads, of a merge, or of taking a revision back."""
    if sum(map(bool, (add or remove, merge, undo))) != 1:
        raise ArgumentError("give quads or an update, entities to merge, or a revision to undo: one of them")
    change: dict[str, Any] = {}
    if merge:
        found = world.merge(*merge, dry_run=True)
    elif undo:
        found = world.undo(undo, dry_run=True)
    else:
        change = {"add": parse_quads(add), "remove": parse_quads(remove)}
        found = world.edit(**change, dry_run=True)
    filled = None
    if form is not None and change:
        with contextlib.suppress(_TakenBackError), world.transaction():
            world.edit(**change)
            filled = world.form(form, language=language)
            raise _TakenBackError
    return encoded(
        Rehearsal(
            tuple(quad_to_rdflib(quad) for quad in islice(found.added.terms(), limit)),
            tuple(quad_to_rdflib(quad) for quad in islice(found.removed.terms(), limit)),
            replace(found.edits, entities=found.edits.entities[:limit]),
            max(len(found.added), len(found.removed)) > limit,
            found.notes,
            filled,
        ).to_dict()
    )


@job("quads", write=True)
def quads(
    world: World, *, author: str | None, add: Sequence[str] = (), remove: Sequence[str] = (), **options: Any
) -> Any:
    """`World.edit` by N-Quads. ParseError for anything else."""
    given = {"add": parse_quads(add), "remove": parse_quads(remove), **options}
    return world.edit(author=author, embed=False, **given).to_dict()


@job("merge", write=True)
def merge(world: World, *, author: str | None, kept: str, others: Sequence[str], **options: Any) -> Any:
    """`World.merge`."""
    return world.merge(kept, *others, author=author, **options).to_dict()


OWNERS = ("place", "user", "password_variable", "hosts", "mapping")
"""The fields of a source that are the owner's."""


@job("sources")
def sources(world: World) -> dict[str, Any]:
    """`World.sources`, without what they are read by."""
    told = [one.to_dict() for one in world.sources]
    return {"sources": [{key: value for key, value in one.items() if key not in OWNERS} for one in told]}


@job("questions")
def questions(world: World, *, near: str | None = None, limit: int = 100) -> dict[str, Any]:
    """The kept questions of `World.questions`."""
    kept = world.questions
    found = kept.kept[:limit] if near is None else kept.near(near, limit=limit)
    return {"questions": [one.to_dict() for one in found], "count": len(kept)}


@job("keep_question", write=True)
def keep_question(world: World, *, author: str | None, question: str, query: str, **options: Any) -> dict[str, Any]:
    """`World.questions.add`."""
    change: Change = world.questions.add(question, query, author=author, **options)
    return change.to_dict()


@job("forget_question", write=True)
def forget_question(world: World, *, author: str | None, question: str) -> dict[str, Any]:
    """`World.questions.remove`."""
    change: Change = world.questions.remove(question, author=author)
    return change.to_dict()


@job("sync", write=True)
def sync(world: World, *, author: str | None, **options: Any) -> dict[str, Any]:
    """`World.sync`."""
    return {"runs": [one.to_dict() for one in world.sync(author=author, **options)]}


def _changes(verb: str) -> Callable[..., Any]:
    """A job that is a verb of `World` which writes, under the key's name."""

    def change(world: World, *, author: str | None, **options: Any) -> Any:
        return getattr(world, verb)(author=author, **options).to_dict()

    return change


for _verb in ("distinct", "end", "reinstate", "split", "state", "tell"):
    job(_verb, write=True)(_changes(_verb))


@job("propose", write=True)
def propose(world: World, *, author: str | None, **options: Any) -> dict[str, Any]:
    """`World.propose` of N-Quads, or of entities to merge."""
    options |= {name: parse_quads(options[name]) for name in ("add", "remove", "relies_on") if name in options}
    return world.propose(author=author, **options).to_dict()


@job("rehearse")
def rehearse(world: World, *, update: str) -> dict[str, list[str]]:
    """`World.rehearse`, as N-Quads."""
    added, removed = world.rehearse(update, max_quads=_PROPOSED).quads
    return {"add": [f"{quad} ." for quad in added], "remove": [f"{quad} ." for quad in removed]}


@job("proposals")
def proposals(world: World, *, status: Any = "open", **options: Any) -> bytes:
    """`World.proposals`."""
    found = world.proposals(status=None if status == "any" else status, **options)
    return encoded({"proposals": [one.to_dict() for one in found]})


@job("proposal")
def proposal(world: World, *, id: int) -> dict[str, Any]:
    """`World.proposal`."""
    return world.proposal(id).to_dict()


@job("accept", write=True)
def accept(world: World, *, author: str | None, id: int, **options: Any) -> Any:
    """`World.accept`; the key's name is the reviewer's."""
    return world.accept(id, reviewer=author, **options).to_dict()


@job("reject", write=True)
def reject(world: World, *, author: str | None, id: int, why: str | None = None) -> dict[str, Any]:
    """`World.reject`."""
    return world.reject(id, why, reviewer=author).to_dict()


@job("amend", write=True)
def amend(world: World, *, author: str | None, id: int, **options: Any) -> dict[str, Any]:
    """`World.amend`, by N-Quads."""
    options |= {name: parse_quads(options[name]) for name in ("add", "remove") if name in options}
    return world.amend(id, author=author, **options).to_dict()


@job("found")
def found(world: World, *, of: str, **options: Any) -> list[Any]:
    """The findings of a verb, for `propose_all`."""
    return list(getattr(world, of)(**options))


@job("propose_all", write=True)
def propose_all(world: World, *, author: str | None, findings: Sequence[Any]) -> dict[str, Any]:
    """`World.propose_all`."""
    return {"proposals": [one.to_dict() for one in world.propose_all(findings, author=author)]}
