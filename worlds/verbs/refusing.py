"""Verbs and settings that a scope of some graphs, or the world of another time, refuses."""

from __future__ import annotations

from typing import NoReturn

from worlds.errors import ReadOnlyError

OUTSIDE = {
    *("bind", "shapes.set_guard", "sources", "sources.sync", "revisions.prune", "curation.link_texts"),
    *("file.compact", "file.build_vector_index", "file.drop_vector_index"),
}
"""Verbs of the whole world, which a scope refuses as it does all settings."""


def refuse(what: str) -> NoReturn:
    """Raise a ReadOnlyError for a verb that only who sees the whole world may use."""
    raise ReadOnlyError(f"{what} is for who sees the whole world, not for a scope of some graphs", kind="scope")


def refuse_past(what: str) -> NoReturn:
    """Raise a ReadOnlyError for a verb that would change the world of another time."""
    raise ReadOnlyError(f"{what} would change the world as it was, which cannot be changed")
