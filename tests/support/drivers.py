"""By which driver the tests open worlds: libSQL, unless `--driver` says another one."""

from __future__ import annotations

import os
from typing import Literal

import pytest

from worlds.sql.drivers import SQLITE, VARIABLE

NATIVE = os.environ.get(VARIABLE) != SQLITE
"""Whether worlds have libSQL's native vector index."""
PLANS: tuple[Literal["exact", "codes", "index"], ...] = ("exact", "codes", "index") if NATIVE else ("exact", "codes")
RECALL = {"codes": 1.0, "index": 1.0} if NATIVE else {"codes": 1.0}
"""What `World.check` tells of a sound world."""
native = pytest.mark.skipif(not NATIVE, reason="what only libSQL's driver has: the native vector index, or its plans")
