"""The verbs of sources: what a world follows, and keeping in step with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlds.revisions.writer import Progress
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.sources.registry import Sources
    from worlds.sources.syncing import Synced


class Following(Parts):
    """The verbs of sources."""

    @property
    def sources(self) -> Sources:
        """What the world follows: `add`, `set` and `remove` sources; by name, or one after the other."""
        return self._sources

    def sync(
        self,
        name: str | None = None,
        *,
        again: bool = False,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> list[Synced]:
        """Read a source, or all, and write what is new, changed, moved and gone, as one revision each: `Synced`.

        A file with the size and time of the last run is not read, and one with the same digest (SHA-256) changes
        nothing; `again` reads all. A file that cannot be read is told in `errors`, at every run until it can; what was
        read of it before is kept, and the others go in. Documents that a guard rejects are left out and told; with
        "queue" the run is one proposal, which the next run of other files replaces. With `dry_run` nothing is written,
        and each has its `diff`.

        A source of RDF or of tables is read whole where one of its files has changed, blank nodes recognised as by
        `load`. ArgumentError for a source that there is not, OpenError for a place that is away: nothing is deleted
        then.
        """
        chosen = [self._sources[name]] if name is not None else list(self._sources)
        return [
            self._syncing.sync(
                one, again=again, author=author, message=message, embed=embed, dry_run=dry_run, progress=progress
            )
            for one in chosen
        ]
