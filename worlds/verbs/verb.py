"""One verb of a world as facts, and the words for what a verb needs and does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from worlds.core.search.options import Option

Level: TypeAlias = Literal["read", "propose", "write", "admin"]
LEVELS: tuple[Level, ...] = ("read", "propose", "write", "admin")
"""The levels of a key; each includes those before it."""
Effect: TypeAlias = Literal["reads", "writes", "destroys"]
Door: TypeAlias = Literal["command", "http", "agents", "remote", "group"]


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb of `World`. `level` is the level that a key needs, `help` one line; `options` are in Python's order.

    `names` are those of the doors that call it otherwise, and `absent` maps doors without it to the reason. A verb that
    is `composed` calls other verbs, each a revision of its own.
    """

    name: str
    help: str
    options: Mapping[str, Option] = field(default_factory=dict)
    level: Level = "read"
    effect: Effect = "reads"
    names: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    composed: bool = False

    def at(self, door: Door) -> list[Option]:
        """Its options at a door; none where it has no such verb."""
        return [] if door in self.absent else [one for one in self.options.values() if door not in one.absent]

    @property
    def retried(self) -> bool:
        """Whether a world on a server does it anew where another writer was faster."""
        return self.effect != "reads" and not self.composed and "remote" not in self.absent
