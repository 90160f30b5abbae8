"""The jobs of the JSON API: verbs of `World`.

Answers that can be large are JSON already: the server, which is one process, only passes them on.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.edits import Edits
from worlds.core.history.history import Entry
from worlds.core.search.hits import SearchResults
from worlds.core.search.options import gathered
from worlds.doors.server.problem_documents import HttpProblem, NotFound
from worlds.doors.server.workers.jobs import JOBS, job, together
from worlds.errors import ArgumentError, ReadOnlyError
from worlds.extras.curation.forms.form_builder import Form
from worlds.extras.entities.descriptions import Description
from worlds.graph.longtexts import parse_quads
from worlds.graph.records import As, Node, Quad, Record, Spare
from worlds.graph.terms import quad_to_rdflib
from worlds.verbs.table import AUTHOR, VERBS
from worlds.verbs.verb import Verb
from worlds.world import World

MOST_PROPOSED = 10_000
"""The quads that a proposed update may change."""
_COMPARED = 2000  # quads of a revision of which it is told whether it is undone


def encoded(document: object) -> bytes:
    """A JSON document; a lone surrogate becomes a question mark. Problem for infinite numbers."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise HttpProblem("a score is too large for a number of JSON: use smaller boosts and weights") from error
    return text.encode("utf-8", "replace")


@job("ping")
def ping(world: World) -> bool:
    """Answer."""
    return True


@job("search")
def search(
    world: World, *, facets: bool = False, own: str = "", beside: Mapping[str, Path] | None = None, **options: Any
) -> bytes:
    """`World.search`; or `Group.search` of a world, by its `own` name, and those `beside` it, by names and paths.

    The statement is told only where it was asked to explain.
    """
    if not beside:
        return _hits(world, world.search(**gathered(options)), facets=facets, options=options)
    with together(world, own, beside, world.embedder) as group:
        return _hits(world, group.search(**gathered(options)), facets=facets, options=options)


def _hits(world: World, found: SearchResults, *, facets: bool, options: Mapping[str, Any]) -> bytes:
    document = found.to_dict(sql=bool(options.get("explain")))
    if facets or options.get("facet"):
        document["facets"] = found.facets.to_dict(world.prefixes)
    return encoded(document)


@job("entities.similar")
def similar(world: World, *, iri: str, **options: Any) -> bytes:
    """`World.entities.similar`; NotFound for an unknown entity."""
    _require_known(iri, world.describe(iri, limit=1))
    return _hits(world, world.entities.similar(iri, **gathered(options)), facets=False, options=options)


@job("describe")
def describe(world: World, *, iri: str, **options: Any) -> bytes:
    """`World.describe`; NotFound for an unknown entity."""
    found = world.describe(iri, **options)
    _require_known(iri, found)
    return encoded(found.to_dict())


def _require_known(iri: str, found: Description) -> None:
    if not found:
        raise NotFound(f"the world has no quads about {iri!r}")


@job("validate_post")
def validate_post(world: World, *, shapes: str, subjects: Sequence[str] | None = None) -> bytes:
    """`World.shapes.validate` with shapes that are given as Turtle."""
    return encoded(world.shapes.validate(shapes=shapes.encode(), subjects=subjects).to_dict())


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
    """`World.policy` and `World.file.default_graph`."""
    return {**json.loads(world.policy.to_json()), "default_graph": world.file.default_graph}


@job("change_policy", write=True)
def change_policy(world: World, *, author: str | None, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes some of it; gives all."""
    setting = changes.pop("default_graph", world.file.default_graph)
    if changes:
        world.policy = world.policy.changed(changes, world.prefixes)
    world.file.default_graph = setting
    return policy(world)


# --- history --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionDetails(Entry):
    """A revision, with its quads."""

    quads_added: Sequence[Quad]
    quads_removed: Sequence[Quad]
    graphs_created: Sequence[Node]
    graphs_dropped: Sequence[Node]
    edits: Edits
    truncated: Annotated[bool, As(schema={"description": "Whether there are more quads than are listed."})]
    undone: Annotated[bool, As(schema={"description": "Whether nothing of what it did holds any more."})]


@job("revision")
def revision(world: World, *, revision: int | str, limit: int = 1000) -> bytes:
    """A revision and its diff, of each list the first `limit`; ArgumentError for one that is unknown or forgotten."""
    number = world.revisions.number(revision)
    entry = next(iter(world.history(1, before=number + 1)), None)
    if entry is None or entry.revision != number:
        raise ArgumentError(f"there is no revision {revision}, or it was forgotten", kind="revision")
    diff: Diff = world.diff(entry.revision - 1, entry.revision)
    told = RevisionDetails(
        **{field.name: getattr(entry, field.name) for field in fields(entry)},
        **first_quads(diff, limit),
        graphs_created=diff.created,
        graphs_dropped=diff.dropped,
        undone=entry.undone_by is not None or _is_undone(world, diff),
    )
    return encoded(told.to_dict())


def first_quads(diff: Diff, limit: int) -> dict[str, Any]:
    """The first `limit` added quads of a diff, and the first `limit` removed ones."""
    return {
        "quads_added": [quad_to_rdflib(quad) for quad in islice(diff.added.terms(), limit)],
        "quads_removed": [quad_to_rdflib(quad) for quad in islice(diff.removed.terms(), limit)],
        "edits": replace(diff.edits, entities=diff.edits.entities[:limit]),
        "truncated": max(len(diff.added), len(diff.removed)) > limit,
    }


def _is_undone(world: World, diff: Diff) -> bool:
    """Whether all changes of a revision have been undone; not checked for a large revision."""
    if not 0 < len(diff.added) + len(diff.removed) <= _COMPARED:
        return False
    return not any(_holds(world, quad) for quad in diff.added.terms()) and all(
        _holds(world, quad) for quad in diff.removed.terms()
    )


def _holds(world: World, quad: ox.Quad) -> bool:
    graph = "default" if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name
    return next(world.quads(quad.subject, quad.predicate, quad.object, graph), None) is not None


# --- writes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rehearsal(Record):
    """The outcome of a change that was tried and taken back: as `edits` by entity, and as quads, the first of each.

    `notes` say what the guard would do, and `form` is that of an entity as it would be, where one is asked for.
    """

    quads_added: tuple[Quad, ...]
    quads_removed: tuple[Quad, ...]
    edits: Edits
    truncated: Annotated[bool, As(schema={"description": "Whether there are more quads than are listed."})]
    notes: tuple[str, ...] = ()
    form: Annotated[Form | None, Spare] = None


class TakenBackError(Exception):
    """Raised to roll a dry run back."""


@job("rehearsal", write=True, unlimited=False)
def rehearsal(
    world: World,
    *,
    author: str | None,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    update: str | None = None,
    merge: Sequence[str] = (),
    undo: int | None = None,
    form: str | None = None,
    language: str | None = None,
    limit: int = 1000,
) -> bytes:
    """Try a change with `dry_run`: quads, an update, a merge, or taking a revision back."""
    if sum(map(bool, (add or remove, update, merge, undo))) != 1:
        raise ArgumentError("give quads or an update, entities to merge, or a revision to undo: one of them")
    change: dict[str, Any] = {}
    if merge:
        found = world.curation.merge(*merge, dry_run=True)
    elif undo:
        found = world.undo(undo, dry_run=True)
    elif update:
        found = world.update(update, max_quads=MOST_PROPOSED, dry_run=True)
    else:
        change = {"add": parse_quads(add), "remove": parse_quads(remove)}
        found = world.edit(**change, dry_run=True)
    filled = None
    if form is not None and change:
        with contextlib.suppress(TakenBackError), world.transaction():
            world.edit(**change)
            filled = world.entities.form(form, language=language)
            raise TakenBackError
    return encoded(Rehearsal(**first_quads(found, limit), notes=found.notes, form=filled).to_dict())


@job("curation.merge", write=True)
def merge(world: World, *, author: str | None, kept: str, others: Sequence[str], **options: Any) -> Any:
    """`World.curation.merge`."""
    return world.curation.merge(kept, *others, author=author, **options).to_dict()


OWNERS = ("place", "user", "password_variable", "hosts", "mapping")
"""The fields of a source that are the owner's."""


@job("why")
def why(world: World, *, subject: str, predicate: str, object: str, graph: str | None = None) -> bytes:
    """`World.rules.why`."""
    quad = (subject, predicate, object, *(() if graph is None else (graph,)))
    return encoded(world.rules.why(quad).to_dict())


@job("sources")
def sources(world: World) -> dict[str, Any]:
    """The sources of the world, without the fields that are the owner's."""
    told = [one.to_dict() for one in world.sources]
    return {"sources": [{key: value for key, value in one.items() if key not in OWNERS} for one in told]}


@job("questions")
def questions(world: World, *, near: str | None = None, limit: int = 100) -> dict[str, Any]:
    """The kept questions of `World.questions`."""
    kept = world.questions
    found = kept.kept[:limit] if near is None else kept.near(near, limit=limit)
    return {"questions": [one.to_dict() for one in found], "count": len(kept)}


@job("proposals.get")
def proposal(world: World, *, id: int) -> dict[str, Any]:
    """`World.proposals.get`, with the version that the answer's tag names."""
    return world.proposals.get(id).to_dict()


@job("found")
def found(world: World, *, of: str, **options: Any) -> list[Any]:
    """The findings of a verb, for `propose_all`."""
    return list(VERBS[of].of(world)(**options))


@job("proposals.add_all", write=True, unlimited=False)
def propose_all(world: World, *, author: str | None, findings: Sequence[Any], follow: bool) -> dict[str, Any]:
    """`World.proposals.add_all`."""
    made = [one.to_dict() for one in world.proposals.add_all(findings, author=author, follow=follow)]
    return {"proposals": made, "total": len(made), "notes": []}


# --- the other verbs ------------------------------------------------------------------------------------------------

_OTHERWISE = ("add", "remove", "query", "update", "export")
"""Verbs that other operations and the protocols answer."""
_LISTS = {
    "decisions": "decisions",
    "due": "facts",
    "labels": "labels",
    "provenance": "quads",
    "sync": "runs",
    "list": "tags",
    "check": "questions",
}
"""The member of an answer that holds a list or a dict of Python, by the method."""


def _job_of(name: str, verb: Verb) -> None:
    """Register the job of a verb: N-Quads are read, and the key's name is the author's or the reviewer's."""
    signed = next((one for one in ("author", "reviewer") if one in verb.options), "")

    def told(world: World, options: Mapping[str, Any]) -> Any:
        quads = {name: parse_quads(options[name]) for name in ("add", "remove", "relies_on") if name in options}
        if options.get("scope") and world.file.view.graphs is None:  # there or not
            raise ReadOnlyError("a memory is for who has a scope that names it", kind="scope")
        found = verb.of(world)(**gathered({**options, **quads}))
        if hasattr(found, "to_dict"):
            return found.to_dict()
        listed = found if isinstance(found, dict) else [one.to_dict() for one in found]
        return {_LISTS[verb.method]: listed} if verb.method in _LISTS else listed

    def read(world: World, **options: Any) -> bytes:
        return encoded(told(world, options))

    def write(world: World, *, author: str | None, **options: Any) -> Any:
        return told(world, {**options, signed: author} if signed else options)

    writes = verb.effect != "reads"
    job(name, write=writes, unlimited=writes and verb.level != "propose")(write if writes else read)


for _verb in VERBS.values():
    if "http" not in _verb.absent and _verb.name not in (*JOBS, *_OTHERWISE):
        _job_of(_verb.name, _verb)
for _name, _verb in {
    "tags": Verb("revisions.list", ""),
    "tag": Verb("revisions.tag", "", {"author": AUTHOR}, effect="writes"),
    "untag": Verb("revisions.remove", "", effect="writes"),
    "rules": Verb("rules.list", ""),
    "broken_questions": Verb("questions.check", ""),
    "keep_question": Verb("questions.add", "", {"author": AUTHOR}, effect="writes"),
    "forget_question": Verb("questions.remove", "", {"author": AUTHOR}, effect="writes"),
}.items():  # methods that are no verbs
    _job_of(_name, _verb)
