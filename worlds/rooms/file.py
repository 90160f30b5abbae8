"""The room of the file: backups, space, the vector index, settings that are kept in it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from worlds.core.file.backup import backup
from worlds.core.history.writer import Progress
from worlds.core.quads.dataset import DefaultGraphSetting, default_graph, set_default_graph
from worlds.errors import WorldsError
from worlds.graph.query.query_limits import deadline_of
from worlds.graph.targets import file_name
from worlds.rooms.room import Room
from worlds.verbs.invocation import setting, verb_of

if TYPE_CHECKING:
    from worlds.core.views.view import View
    from worlds.extras.publishing.site import Published

verb = verb_of("file")


class FileRoom(Room):
    """The file of a world: copies, space, the native vector index, a static site, and how queries read it."""

    _name = "file"

    @property
    def view(self) -> View:
        """How the world is looked at: the graphs, the revision and the time that are seen."""
        return self._look.view

    @verb
    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a complete copy of the world to a new file, as of now; other processes may go on.

        The files of its memories are copied into a folder beside it, each as of now.

        OpenError if there is something at `path` already, or it cannot be written.
        """
        self._look.require_whole("backup")
        backup(self._core.connection, file_name(path))
        self._world._memories.backup(file_name(path))

    @verb
    def compact(self) -> None:
        """Give unused space back: drop cached embeddings of texts that are gone and unused terms, and rebuild the file.

        The native vector index is built anew, which takes about a millisecond a vector.
        """
        from worlds.core.file.compaction import compact

        compact(self._core.connection, self._core.embeddings, self._core.chunks)
        self._core.dictionary.forget()
        self._core.sparql.drop()

    @verb
    def publish(
        self,
        target: str | os.PathLike[str],
        *,
        scheme: object = None,
        title: str | None = None,
        language: str | None = None,
    ) -> Published:
        """Write a vocabulary as a static web site into the folder `target`, which opens from the disk, too.

        Each concept has a page with its labels in all languages, notes, links and the releases that changed it. The
        first page has the tree and a search; one of changes shows the difference to the last tag of `revisions`.
        `scheme` is a skos:ConceptScheme, by its IRI or its label; without it all concepts, classes and properties are
        published. `title` comes before the labels of the scheme, `language` is the one in which a page is read at
        first.

        A further run writes the files that differ, and removes those of earlier runs that are no longer part of the
        site and were not edited. ConflictError where a file stands in the way that no run wrote; ArgumentError for a
        scheme without concepts; OpenError where a file cannot be written. `w.at(…).publish(…)` publishes a revision.
        """
        from worlds.extras.publishing.site import Publishing

        return Publishing(self._core, self._world._trees).publish(Path(file_name(target)), scheme, title, language)

    @verb
    def build_vector_index(self, *, progress: Progress | None = None) -> int:
        """Build the native vector index anew, and keep it from now on; gives the number of vectors in it.

        It is for `plan="index"` and for other programs that ask this file by `vector_top_k`: the other plans of a
        search need none. Each vector costs a millisecond or two, then and whenever one is added, and some 5 KB. The
        world is read meanwhile, and writes wait until the index is whole; an interruption leaves the world as it was.
        """
        if self._core.writer.writing:
            raise WorldsError("the vector index cannot be built inside a transaction")
        return self._core.embeddings.index.build(None if progress is None else partial(progress, "vector index"))

    @verb
    def drop_vector_index(self) -> None:
        """Drop the native vector index, and keep none from now on. Searches find the same without it."""
        self._core.embeddings.index.want(False)

    @property
    def default_graph(self) -> DefaultGraphSetting:
        """The graphs of a query that names none: "strict" is the default graph alone, "union" all graphs together.

        A new world has "strict"; the setting is stored in the file. The `union` of `query`, `explain` and `update`
        comes before it.
        """
        return default_graph(self._core.connection)

    @default_graph.setter
    @setting
    def default_graph(self, setting: DefaultGraphSetting) -> None:
        set_default_graph(self._core.connection, setting)

    @property
    def pattern_timeout(self) -> float | None:
        """Seconds that a pattern of `where`, `exclude` or `boost` may take in a search; None, at first, is no limit.

        A pattern that takes longer is stopped, wherever it is, and the search is a QueryTimeout. With a limit, patterns
        run in processes of their own, as queries with a `timeout` do. It is this object's, and not kept in the file.
        """
        return self._core.subject_patterns.timeout

    @pattern_timeout.setter
    def pattern_timeout(self, seconds: float | None) -> None:
        deadline_of(seconds)  # complains
        self._core.subject_patterns.timeout = seconds
