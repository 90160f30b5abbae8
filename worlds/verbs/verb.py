"""One verb of a world as facts, and the words for what a verb needs and does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from worlds.core.search.options import Option

Level: TypeAlias = Literal["read", "propose", "write", "admin"]
LEVELS: tuple[Level, ...] = ("read", "propose", "write", "admin")
"""The levels of a key; each includes those before it."""
Effect: TypeAlias = Literal["reads", "writes", "destroys"]
Door: TypeAlias = Literal["command", "http", "agents", "remote", "group"]
GROUPS: Mapping[str, str] = {"curation": "curate"}
"""The groups of commands that have another name than their room."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb of `World`, or of one of its rooms, as in "curation.merge".

    `level` is the level that a key needs, `help` one line; `options` are in Python's order.

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

    @property
    def method(self) -> str:
        """The name of its method."""
        return self.name.rpartition(".")[2]

    def called(self, door: Door) -> str:
        """Its name at a door; at the command line with its group, as in "curate link-texts"."""
        if door != "command":
            return self.names.get(door, self.method)
        room, _, method = self.name.rpartition(".")
        return self.names.get(door, f"{GROUPS.get(room, room)} {method}".strip().replace("_", "-"))

    def of(self, world: object) -> Callable[..., Any]:
        """Its method of a world."""
        return attrgetter(self.name)(world)  # type: ignore[no-any-return]

    def at(self, door: Door) -> list[Option]:
        """Its options at a door; none where it has no such verb."""
        return [] if door in self.absent else [one for one in self.options.values() if door not in one.absent]

    @property
    def retried(self) -> bool:
        """Whether a world on a server does it anew where another writer was faster."""
        return self.effect != "reads" and not self.composed and "remote" not in self.absent
