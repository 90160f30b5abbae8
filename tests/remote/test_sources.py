"""Sources of a world on a server: the files of one machine are in step for all replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.primaries import Served, until
from worlds import World
from worlds.errors import ReadOnlyError


def test_a_replica_keeps_the_world_in_step_with_its_own_files(served: Served, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A heron\n")
    with served.open() as world, served.open("other") as other:

        def there() -> World:
            other.refresh()
            return other

        graph = str(world.sources.add(str(folder)).graph)
        (run,) = world.sources.sync()
        assert run.new == ("a.md",)
        until(lambda: there().search("heron", mode="text"))
        hit = other.search("heron", mode="text")[0]
        assert (hit.source, hit.uri, str(hit.graph)) == ("notes", "a.md", graph)
        assert [one.name for one in other.sources] == ["notes"]
        with pytest.raises(ReadOnlyError, match="source 'notes'"):
            other.add([("http://e/a", "http://e/p", 1, graph)])
        assert world.sources.sync()[0].revision is None
        (folder / "a.md").unlink()
        (run,) = world.sources.sync()
        assert run.deleted == ("a.md",)
        until(lambda: not there().search("heron", mode="text"))
        world.sources.remove("notes")
        until(lambda: not list(there().sources))
