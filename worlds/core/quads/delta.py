"""The delta of a write, and its followers: texts, vectors and the SPARQL index are brought in step inside the write."""

from __future__ import annotations

from dataclasses import dataclass, field

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import NO_QUADS


@dataclass
class Delta:
    """The quads that a write adds and removes, int64 [n, 4] each, and the results of its followers."""

    added: Ids
    removed: Ids
    touched: Ids  # ids, int64 [n], of the rows that were deleted, and of those that stand for them
    chunks: int = 0  # made of texts
    orphans: set[int] = field(default_factory=set)  # vectors that a chunk had that is gone
    notes: list[str] = field(default_factory=list)  # what there is to say of it
    concluded: Ids = field(default_factory=lambda: NO_QUADS)  # came to follow from the quads, perhaps not for long
    retracted: Ids = field(default_factory=lambda: NO_QUADS)  # no longer followed, likewise


class Follower:
    """A component kept in step with the quads. An error in `begin` or `apply` undoes the write."""

    def begin(self) -> None:
        """Begin a write: bring the derived data in step with the stored quads."""

    def apply(self, delta: Delta) -> None:
        """The quads of a delta were removed and added, in the open transaction."""

    def revert(self) -> None:
        """Revert the last delta of the open transaction, which is about to be rolled back, perhaps half applied."""

    def committed(self, revision: int) -> None:
        """The applied quads are stored now, as this revision."""

    def end(self) -> None:
        """The write is over, kept or not."""

    def drop(self) -> None:
        """Forget derived data, which may be wrong; derive it anew when it is needed."""


class Followers(Follower):
    """Several followers as one, called in their order, and for a rollback in the opposite order."""

    def __init__(self, *followers: Follower) -> None:
        self._followers = list(followers)
        self._told: list[int] = []  # how many were told of each delta of the open transaction

    def register(self, follower: Follower) -> None:
        """Add a follower, after all others."""
        self._followers.append(follower)

    def begin(self) -> None:
        """Call `begin` of each follower."""
        for follower in self._followers:
            follower.begin()

    def apply(self, delta: Delta) -> None:
        """Call `apply` of each follower."""
        self._told.append(0)
        for follower in self._followers:
            self._told[-1] += 1
            follower.apply(delta)

    def revert(self) -> None:
        """Revert the last delta in the followers that have applied it."""
        for follower in reversed(self._followers[: self._told.pop()]):
            follower.revert()

    def committed(self, revision: int) -> None:
        """Tell each."""
        for follower in self._followers:
            follower.committed(revision)

    def end(self) -> None:
        """Tell each."""
        self._told.clear()
        for follower in self._followers:
            follower.end()

    def drop(self) -> None:
        """Call `drop` of each follower."""
        for follower in self._followers:
            follower.drop()
