"""Gives back the space that a world no longer needs."""

from __future__ import annotations

from worlds.core.texts.chunks import ChunkStore
from worlds.core.vectors.embedding import Embeddings
from worlds.errors import ReadOnlyError, WorldsError
from worlds.sql import statements
from worlds.sql.connection import Connection

_QUERIES = statements("queries.sql")
_SQL = statements("maintenance.sql")


def compact(connection: Connection, embeddings: Embeddings, chunks: ChunkStore) -> None:
    """Free unused space, and rebuild the derived indexes; see `World.file.compact`.

    Every step is kept as soon as it is done, and a second call does what is left after a crash. Between the last two
    steps the native vector index is missing; after a crash there, the next opening for writing builds it. Other
    processes may read all the time; their writes wait while the file is rebuilt, and while the vector index is.
    """
    if connection.read_only:
        raise ReadOnlyError(f"{connection.path} was opened read-only")
    with connection.lock:  # waits for another thread's transaction
        if connection.in_transaction:
            raise WorldsError("compact() cannot run inside a transaction")
    forget_unused(connection)
    while chunks.words.outdated:
        with connection.transaction():
            chunks.words.read_some()
    with connection.transaction():
        chunks.index_texts()
        connection.run(_SQL["merge_texts"])
    embeddings.index.drop()  # rebuilding the file would build it too, and wrongly
    connection.vacuum()
    with connection.transaction():
        embeddings.index.drop()  # another process may have built one before the file was rebuilt
        embeddings.index.mend()
    connection.run("PRAGMA wal_checkpoint(TRUNCATE)")


def forget_unused(connection: Connection) -> None:
    """Delete the terms that nothing has any longer, and the vectors of texts that are gone."""
    with connection.transaction():
        connection.run(_SQL["forget_retired_texts"])
        connection.run(_SQL["forget_all_retired"])
        # Other processes remember ids. One that no term has any longer is never given again, and that terms
        # were removed is counted, for those who remember which id a term has.
        last = connection.value(_QUERIES["last_term"])
        connection.run(_SQL["delete_unused_terms"])
        if connection.value(_SQL["deleted"]):
            connection.run(_QUERIES["set_meta"], ("last_term", last))
            connection.run(_QUERIES["add_to_meta"], ("term_removals", 1))
