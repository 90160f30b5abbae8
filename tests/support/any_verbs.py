"""Steps that write a world by every verb that writes, each the same for the same seed and the same world."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import worlds
from worlds import World, WorldsError
from worlds.records import Retention, TextPolicy

EX = "http://example.org/"
_WORDS = ["red", "blue", "grey", "kite", "heron", "owl", "mill", "river", "stone", "glass", "early", "late"]
_DATES = ("2001", "2010-05", "2015-06-01", "2020")

Step = Callable[[World, random.Random, Path], object]


def _thing(chance: random.Random) -> str:
    return EX + chance.choice("abcdefgh")


def _text(chance: random.Random) -> str:
    return f'"{" ".join(chance.choices(_WORDS, k=chance.randint(1, 6)))}"'


def _quads(chance: random.Random) -> list[Any]:
    quads: list[Any] = []
    for _ in range(chance.randint(1, 6)):
        last = chance.choice([_text, _thing])(chance)
        predicate = chance.choice(["rdfs:label", EX + "p", "rdf:type"]) if last[0] == '"' else EX + "knows"
        quads.append((_thing(chance), predicate if predicate != "rdf:type" else EX + "q", last))
    return [(*quad, EX + "g") if chance.random() < 0.3 else quad for quad in quads]


def _held(world: World, chance: random.Random, most: int = 4) -> list[Any]:
    held = sorted(world.quads(), key=str)
    return chance.sample(held, min(len(held), most))


def _revision(world: World, chance: random.Random) -> int:
    numbers = sorted(entry.revision for entry in world.history())
    return chance.choice(numbers or [1])


def _proposal(world: World, chance: random.Random) -> int:
    """One that is open; there is one."""
    world.proposals.add(add=_quads(chance), remove=_held(world, chance, 1), why="heard", confidence=0.5)
    return chance.choice(sorted(one.id for one in world.proposals.list()))


def _load(world: World, chance: random.Random, folder: Path) -> object:
    lines = "".join(f"<{_thing(chance)}> <{EX}p> {_text(chance)} .\n" for _ in range(chance.randint(1, 40)))
    return world.load(lines.encode(), format="nt", graph=EX + "loaded", mode=chance.choice(["merge", "replace"]))


def _document(world: World, chance: random.Random, folder: Path) -> object:
    content = "".join(f"# {_text(chance)}\n\n{_text(chance)}\n\n" for _ in range(chance.randint(1, 4)))
    return world.sources.add_document(EX + "doc", content, format="markdown")


def _sync(world: World, chance: random.Random, folder: Path) -> object:
    source = folder / "notes.nt"
    source.write_text("".join(f"<{_thing(chance)}> <{EX}note> {_text(chance)} .\n" for _ in range(5)))
    if not len(world.sources):
        world.sources.add(str(source), "notes")
    return world.sources.sync("notes")


def _patch(world: World, chance: random.Random, folder: Path) -> object:
    return world.revisions.apply(world.revisions.patch(_revision(world, chance)), strict=False)


def _split(world: World, chance: random.Random, folder: Path) -> object:
    merged = world.curation.merge(_thing(chance), _thing(chance), conflicts="kept")
    assert merged.revision is not None
    return world.curation.split(merged.revision)


def _reinstate(world: World, chance: random.Random, folder: Path) -> object:
    (quad,) = _held(world, chance, 1)
    world.facts.end(quad, at="2021")
    return world.facts.reinstate(quad)


def _compact(world: World, chance: random.Random, folder: Path) -> None:
    if chance.random() < 0.3:
        world.file.compact()
    else:
        world.embed(rebuild=True)


def _index(world: World, chance: random.Random, folder: Path) -> None:
    if chance.random() < 0.5 and world.driver == "libsql":
        world.file.build_vector_index()
    else:
        world.file.drop_vector_index()


def _prune(world: World, chance: random.Random, folder: Path) -> object:
    world.revisions.retention = Retention(revisions=chance.randint(3, 30))
    return world.revisions.prune(_revision(world, chance))


def _policy(world: World, chance: random.Random, folder: Path) -> object:
    world.policy = chance.choice([TextPolicy(), TextPolicy(exclude=frozenset([EX + "q"]))])
    return world.embed()


def _memory(world: World, chance: random.Random, folder: Path) -> object:
    return world.memory(scope=("user", "ann")).retain(_text(chance).strip('"'))


STEPS: dict[str, Step] = {
    "add": lambda w, c, f: w.add(_quads(c)),
    "remove": lambda w, c, f: w.remove(_held(w, c)),
    "edit": lambda w, c, f: w.edit(add=_quads(c), remove=_held(w, c, 2)),
    "update": lambda w, c, f: w.update(
        f"DELETE {{ ?s <{EX}p> ?o }} INSERT {{ ?s <{EX}q> ?o }} WHERE {{ ?s <{EX}p> ?o FILTER(?s = <{_thing(c)}>) }}"
    ),
    "undo": lambda w, c, f: w.undo(_revision(w, c)),
    "bind": lambda w, c, f: w.bind(c.choice("xyz") + "1", f"{EX}{c.choice('xyz')}/"),
    "curation.link_texts": lambda w, c, f: w.curation.link_texts(propose=c.random() < 0.3),
    "curation.merge": lambda w, c, f: w.curation.merge(_thing(c), _thing(c), conflicts="kept"),
    "curation.split": _split,
    "curation.distinct": lambda w, c, f: w.curation.distinct(_thing(c), _thing(c)),
    "proposals.add": lambda w, c, f: w.proposals.add(add=_quads(c), remove=_held(w, c, 1), why="heard", confidence=0.5),
    "proposals.amend": lambda w, c, f: w.proposals.amend(_proposal(w, c), add=_quads(c)),
    "proposals.accept": lambda w, c, f: w.proposals.accept(_proposal(w, c)),
    "proposals.reject": lambda w, c, f: w.proposals.reject(_proposal(w, c), "no"),
    "load": _load,
    "sources.add_document": _document,
    "sources.sync": _sync,
    "revisions.apply": _patch,
    "facts.state": lambda w, c, f: w.facts.state(
        _thing(c), EX + "base", _thing(c), valid_from=c.choice(_DATES), cites=[EX + "source"], confidence=0.5
    ),
    "facts.tell": lambda w, c, f: w.facts.tell([[c.choice(_WORDS), "knows", c.choice(_WORDS)]]),
    "facts.end": lambda w, c, f: w.facts.end(*_held(w, c, 1), at="2021"),
    "facts.reinstate": _reinstate,
    "facts.carry_out": lambda w, c, f: w.facts.carry_out(),
    "revisions.prune": _prune,
    "embed": _policy,
    "proposals.accept_all": lambda w, c, f: w.proposals.accept_all([_proposal(w, c)]),
    "proposals.reject_all": lambda w, c, f: w.proposals.reject_all([_proposal(w, c)], "no"),
    "proposals.add_all": lambda w, c, f: w.proposals.add_all(w.curation.duplicates()),
    "shapes.set_guard": lambda w, c, f: w.shapes.set_guard("warn"),
    "file.compact": _compact,
    "file.build_vector_index": _index,
    "file.drop_vector_index": _index,
    "memory": _memory,
}


def do(path: Path, name: str, seed: int, **options: Any) -> str:
    """Do one step in a world that is opened for it; what came of it, with the error that it may be."""
    from tests.support.embedder import HashingEmbedder

    chance = random.Random(seed)
    with worlds.open(path, embedder=HashingEmbedder(), **options) as world:
        try:
            STEPS[name](world, chance, path.parent)
        except (WorldsError, ValueError, TypeError, AssertionError) as error:
            return type(error).__name__
        return "done"


def told(path: Path) -> dict[str, Any]:
    """What a world has and answers, but for the times at which it was written."""
    from tests.support.embedder import HashingEmbedder

    with contextlib.ExitStack() as stack:
        world = stack.enter_context(worlds.open(path, embedder=HashingEmbedder(), read_only=True))
        report = world.check()
        assert report.ok, str(report)
        modes: tuple[Literal["text", "vector", "hybrid"], ...] = ("text", "vector", "hybrid")
        asked = [(mode, words) for mode in modes for words in ("red kite", "early stone mill", "owl")]
        found = {f"{mode}: {words}": world.search(words, mode=mode) for mode, words in asked}
        hits = {name: [(hit.text, str(hit.subject), round(hit.score, 5)) for hit in of] for name, of in found.items()}
        return {
            "quads": sorted(map(str, world.quads())),
            "history": [(e.revision, e.added, e.removed, e.message) for e in world.history()],
            "proposals": [(p.id, p.status, sorted(map(str, p.added))) for p in world.proposals.list(status="any")],
            "stats": [world.stats().vectors, world.stats().chunks, world.stats().texts, world.prefixes],
            "hits": hits,
        }
