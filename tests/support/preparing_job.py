"""The job that prepares a world, slowly; apart from the others, for a process has one job of a name."""

from __future__ import annotations

import time
from pathlib import Path

from worlds import World
from worlds.doors.server.workers.jobs import job


@job("prepare")
def prepare(world: World) -> None:
    marks = Path(world.path + ".prepared")
    marks.write_text((marks.read_text() if marks.exists() else "") + "x")
    time.sleep(0.5)
