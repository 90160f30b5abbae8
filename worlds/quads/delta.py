"""The delta of a write, and its followers: texts, vectors and the SPARQL index are brought in step inside the write."""

from __future__ import annotations

from dataclasses import dataclass, field

from worlds.quads.dictionary import Ids


@dataclass
class Delta:
    """What a write does to the quads, int64 [n, 4] each, and what its followers leave for those that come after."""

    added: Ids
    removed: Ids
    touched: Ids  # ids, int64 [n], of the rows that were deleted, and of those that stand for them
    chunks: int = 0  # made of texts
    orphans: set[int] = field(default_factory=set)  # vectors that a chunk had that is gone
    notes: list[str] = field(default_factory=list)  # what there is to say of it


class Follower:
    """Someone who derives something from the quads. An error in `begin` or `apply` undoes the write."""

    def begin(self) -> None:
        """A write begins: agree with what is stored now."""

    def apply(self, delta: Delta) -> None:
        """The quads of a delta were removed and added, in the open transaction."""

    def revert(self) -> None:
        """Take the last delta of the open transaction back, which is about to be undone, perhaps half followed."""

    def committed(self, revision: int) -> None:
        """The applied quads are stored now, as this revision."""

    def end(self) -> None:
        """The write is over, kept or not."""

    def drop(self) -> None:
        """What is derived may be wrong: derive it anew when it is needed."""


class Followers(Follower):
    """Several followers as one: each is told in its order, and of what is taken back in the opposite one."""

    def __init__(self, *followers: Follower) -> None:
        self._followers = followers
        self._told: list[int] = []  # how many were told of each delta of the open transaction

    def begin(self) -> None:
        """Begin each."""
        for follower in self._followers:
            follower.begin()

    def apply(self, delta: Delta) -> None:
        """Let each follow the delta."""
        self._told.append(0)
        for follower in self._followers:
            self._told[-1] += 1
            follower.apply(delta)

    def revert(self) -> None:
        """Let those who were told of the last delta take it back."""
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
        """Let each forget."""
        for follower in self._followers:
            follower.drop()
