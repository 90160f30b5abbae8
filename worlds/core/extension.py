"""The part of an extra in the core's work: an extra registers itself, and the core knows none by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worlds.core.quads.delta import Follower
from worlds.core.quads.dictionary import Ids

TELL = "tell"
"""The guard of a revision that is only tried: its checks report violations, and refuse nothing."""


@dataclass(frozen=True)
class Inspected:
    """The records of an extra beside the quads: plural noun, number, and the quads with something `wrong`.

    `wrong` has quads, int64 [n, 4], by what is said of each; `remedy` puts it right.
    """

    kind: str
    count: int
    wrong: Mapping[str, Ids]
    remedy: str


class Extension(Follower):
    """An extra's part in writes and views. Each method does nothing unless the extra has its own."""

    def refuse(self, quads: Ids) -> None:
        """Raise where quads, int64 [n, 4], may not be written."""

    def follow(self, added: Ids, removed: Ids) -> tuple[Ids, Ids] | None:
        """Further quads that the revision adds and removes, after these were, int64 [n, 4] each; None for none.

        Those that a revision takes back with others are there already, or gone. Writes of a scope are not followed:
        they would change another graph.
        """
        return None

    def check(self, revision: int, first_quad: int, guard: Any) -> tuple[str, ...]:
        """Notes on a revision that is about to be kept, whose quads have ids from `first_quad` on.

        `guard` is the setting of this revision, None for the world's. ValidationError refuses the revision; Queued has
        it wait as a proposal.
        """
        return ()

    def first_due(self) -> int | None:
        """The time from which on revisions must be kept, in microseconds since 1970; None where none must."""
        return None

    def inspect(self) -> Inspected | None:
        """The comparison of what the extra keeps with what it should keep, for `World.check`; None without any."""
        return None

    def differs(self, time: int) -> tuple[Ids, Ids] | None:
        """Quads that held at a time and are not asserted, and asserted quads that did not hold, int64 [n, 4] each.

        `time` is in microseconds since 1970; None where the extra knows no times.
        """
        return None


class Queued(Exception):  # noqa: N818  # no error: the write becomes a proposal
    """A write that becomes a proposal: `brings` names its new violations, `violations` has a line for each."""

    def __init__(self, brings: str, violations: tuple[str, ...]) -> None:
        self.brings = brings
        self.violations = violations
