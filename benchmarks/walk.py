"""The modules that three ways through the engine walk: `python -m benchmarks.walk`.

A quad from `add` to disk, a search with `types` to its hits, a proposal to its acceptance: each is done once before, so
that what a first call makes is not counted, then once more. Counted are the modules of Worlds of which a function was
called, and their lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import worlds
from benchmarks.common import table

PACKAGE = Path(worlds.__file__).resolve().parent
ROOT = PACKAGE.parent


def walked(way: Callable[[], object]) -> dict[str, int]:
    """The modules that a call walks → their lines."""
    called: set[CodeType] = set()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name not in ("<module>", "<lambda>"):
            called.add(frame.f_code)

    sys.setprofile(seen)
    try:
        way()
    finally:
        sys.setprofile(None)
    files = {Path(code.co_filename).resolve() for code in called}
    own = [file for file in files if file.suffix == ".py" and ROOT in file.parents and file.parent.name != "benchmarks"]
    return {str(file.relative_to(ROOT)): len(file.read_text("utf-8").splitlines()) for file in sorted(own)}


def main() -> None:
    """Print the modules of each way, and how many there are."""
    rows = []
    with TemporaryDirectory() as folder, worlds.open(Path(folder) / "kb.db", embedder=None) as world:
        world.add([("urn:a", "rdf:type", "urn:C"), ("urn:a", "rdfs:label", '"a red kite"')])

        def add() -> None:
            world.add([(f"urn:{len(world)}", "rdfs:label", '"a kite"')])

        def search() -> None:
            assert world.search("red kite", types=["urn:C"])

        def accept() -> None:
            proposal = world.proposals.add(add=[("urn:a", "urn:p", len(world))])
            world.proposals.accept(proposal.id)

        ways = {"a quad from `add` to disk": add, "a search with `types`": search, "a proposal to accepted": accept}
        for told, way in ways.items():
            way()
            modules = walked(way)
            print(f"{told}:", *modules, sep="\n  ")
            rows.append((told, len(modules), sum(modules.values()), max(modules.values())))
    table("Modules on the way", ("the way", "modules", "their lines", "lines of the longest"), rows)


if __name__ == "__main__":
    main()
