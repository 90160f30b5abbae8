"""The verbs of a scope that its world does, where they touch nothing but the scope's graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts
from worlds.verbs.refusing import refuse

if TYPE_CHECKING:
    from worlds.core.history.writer import Progress
    from worlds.core.views.slice import Slice
    from worlds.rooms.curation import CurationRoom
    from worlds.rooms.file import FileRoom
    from worlds.rooms.proposals import ProposalsRoom
    from worlds.rooms.sources import SourcesRoom


class Forwarding(Parts):
    """The verbs of a scope that write no quads: proposals, decisions, vectors."""

    _world: Any
    _slice: Slice
    _listed: Callable[[Any], int]

    @property
    def _whole(self) -> Parts:
        return self._world  # type: ignore[no-any-return]

    def _inside(self, verb: Callable[..., Any], *given: object, **options: Any) -> Any:
        """Call a verb of the world, which may change the scope's graphs alone."""
        with self._core.connection.lock, self._world._core.gate.within(self._slice.require):
            return verb(*given, **options)

    @verb
    def embed(self, *, rebuild: bool = False, embedder: Any = None, progress: Progress | None = None) -> int:
        """Give the world's pending chunks their vectors; see `World.embed`."""
        if rebuild:
            refuse("embed(rebuild=True)")
        return self._world.embed(  # type: ignore[no-any-return]
            embedder=embedder, progress=progress
        )

    @verb
    def undo(self, revision: Any, **options: Any) -> Any:
        """See `World.undo`."""
        return self._inside(self._world.undo, self._listed(revision), **options)

    @property
    def curation(self) -> CurationRoom:
        """See `World.curation`."""
        from worlds.rooms.scoped import ScopedCuration

        return ScopedCuration(self)

    @property
    def proposals(self) -> ProposalsRoom:
        """See `World.proposals`."""
        from worlds.rooms.scoped import ScopedProposals

        return ScopedProposals(self)

    @property
    def sources(self) -> SourcesRoom:
        """See `World.sources`."""
        from worlds.rooms.scoped import ScopedSources

        return ScopedSources(self)

    @property
    def file(self) -> FileRoom:
        """See `World.file`."""
        from worlds.rooms.scoped import ScopedFile

        return ScopedFile(self)
