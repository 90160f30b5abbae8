"""The core by itself, in a process where neither extras nor doors nor the face can be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ABSENT = ("worlds.extras", "worlds.doors", "worlds.adapters", "worlds.verbs", "worlds.world")
UNWANTED = ("typer", "rich", "yaml", "starlette", "torch")
PROGRAM = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(ABSENT):
            raise ImportError(f"{name} is absent")

sys.meta_path.insert(0, Absent())
from worlds.core.core import open
from worlds.graph.query.query import Query

TURTLE = b'''
PREFIX : <urn:x:>
:a :label "a red kite" ; :knows :b .
GRAPH :g { :b :label "a blue boat" }
'''
core = open(PATH)
core.loader.load(TURTLE, format="trig", author="ann")
hits = core.searches.run("kite", noted=True)
again = core.loader.load(b"<urn:x:c> <urn:x:label> 'a green lake' .", format="turtle", message="more")
asked = core.queries.answer(Query("SELECT ?s { ?s <urn:x:label> ?o }", prefixes={}))
found = {
    "revision": again.revision,
    "hit": str(hits[0].subject),
    "rows": sorted(str(row[0]) for row in asked),
    "history": [(entry.revision, entry.author, entry.message) for entry in core.history.entries(limit=10)],
    "quads": core.patterns.count((None, None, None), None, triples=False),
}
core.close()
core = open(PATH, create=False, read_only=True)
found["reopened"] = core.patterns.count((None, None, None), None, triples=False)
core.close()
found["modules"] = sorted(sys.modules)
print(json.dumps(found))
"""


def test_the_core_loads_searches_queries_and_remembers_without_any_extra(tmp_path: Path) -> None:
    program = PROGRAM.replace("ABSENT", repr(ABSENT)).replace("PATH", repr(str(tmp_path / "kb.db")))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["revision"] == 2
    assert found["hit"] == "urn:x:a"
    assert found["rows"] == ["urn:x:a", "urn:x:c"]
    assert sorted(found["history"]) == [[1, "ann", None], [2, None, "more"]]
    assert found["quads"] == found["reopened"] == 4
    modules = set(found["modules"])
    assert not {name for name in modules if name.startswith(ABSENT) or name.partition(".")[0] in UNWANTED}
