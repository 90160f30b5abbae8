"""Who asks, and what a key may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from worlds.verbs.verb import LEVELS, Level


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. `name`, the name of the key, is the author of revisions; None is anonymous."""

    name: str | None
    key: str | None = None  # the key's id
    levels: Mapping[str, Level] = field(default_factory=dict)  # world, or "*" for all, → level
    graphs: tuple[str, ...] | None = None  # that it sees; None for all
    remembered: bool = False  # by the browser, which sends the key for pages of others, too (Basic authentication)

    def may(self, level: Level, world: str | None) -> bool:
        """Whether it may, in a world; None stands for all worlds."""
        held = [self.levels[name] for name in ("*", world) if name is not None and name in self.levels]
        return any(LEVELS.index(each) >= LEVELS.index(level) for each in held)
