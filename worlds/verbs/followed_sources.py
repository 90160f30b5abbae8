"""The verbs of sources: what a world follows, and keeping in step with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worlds.core.history.writer import Progress
from worlds.errors import OpenError
from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.extras.sources.registry import Sources
    from worlds.extras.sources.source_sync import Synced


class SourceVerbs(Parts):
    """The verbs of sources."""

    @property
    def sources(self) -> Sources:
        """The sources that the world follows: `add`, `set` and `remove` sources; by name, or one after the other."""
        self._require("sources")
        return self._sources

    @verb
    def propose_mapping(self, *tables: str | os.PathLike[str], base: str | None = None) -> list[dict[str, Any]]:
        """A mapping for each of some tables that belong together, as CSVW metadata for `load(mapping=…)`, to be edited.

        The key column makes the IRIs, below `base` (the namespace of `policy.iris`, or https://example.org/); columns
        become predicates of the world whose names or labels they have, else new ones; their values tell datatypes,
        languages (`name_de`), units (`mass (kg)`), lists, and links: IRIs that the world has, keys of another of the
        tables, names that mean one entity of the world for sure, as `resolve` judges. See
        https://www.w3.org/TR/tabular-metadata/. ParseError for a table that cannot be read.
        """
        space = self._core.chunks.policy.iris.get("namespace")
        return self._tables.proposed([Path(table) for table in tables], space if base is None else base)

    @verb
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
        """Read a source, or all, and write its new, changed, moved and removed files, a revision each: `Synced`.

        A file with the size and time of the last run is not read, and one with the same digest (SHA-256) changes
        nothing; `again` reads all. A file that cannot be read is told in `errors`, at every run until it can; what was
        read of it before is kept, and the others go in. Documents that a guard rejects are left out and told; with
        "queue" the run is one proposal, which the next run of other files replaces. With `dry_run` nothing is written,
        and each has its `diff`.

        A source of RDF or of tables is read whole where one of its files has changed, blank nodes recognised as by
        `load`. ArgumentError for a source that there is not, OpenError for a place that is away: nothing is deleted
        then, or one that came with the file and is not trusted here (`sources.trust`). Where all are read, that is told
        in `errors`, and the others are read.
        """
        chosen = [self._sources[name]] if name is not None else list(self._sources)
        runs: list[Synced] = []
        for one in chosen:
            try:
                run = self._syncing.sync(
                    one, again=again, author=author, message=message, embed=embed, dry_run=dry_run, progress=progress
                )
            except OpenError as error:
                run = self._syncing.failed(one, error, dry_run=dry_run)
                if name is not None:
                    raise
            runs.append(run)
        return runs
