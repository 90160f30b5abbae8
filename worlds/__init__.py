"""Worlds: an embedded RDF knowledge-graph engine with hybrid retrieval.

One world is one libSQL database file: RDF quads, the text chunks of their literals, a full-text index and a vector
index. Quads, chunks and full-text change in one transaction; a vector that is still missing is a visible state.

    >>> import worlds
    >>> with worlds.open(":memory:", embedder=None) as w:
    ...     change = w.load(b'<http://ex/1> <http://www.w3.org/2000/01/rdf-schema#label> "red kite" .', format="nt")
    ...     w.search("kite")[0].text
    'red kite'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worlds import records as records
    from worlds.aio import AsyncWorld as AsyncWorld, aopen as aopen
    from worlds.comparison import compare as compare
    from worlds.core.embedders import (
        Embedder as Embedder,
        FallbackEmbedder as FallbackEmbedder,
        OnnxEmbedder as OnnxEmbedder,
        OpenAIEmbedder as OpenAIEmbedder,
        SentenceTransformerEmbedder as SentenceTransformerEmbedder,
    )
    from worlds.core.file.restore import restore as restore
    from worlds.core.search.options import Ranking as Ranking
    from worlds.errors import (
        ConflictError as ConflictError,
        EmbedderError as EmbedderError,
        FilterError as FilterError,
        IntegrityError as IntegrityError,
        OpenError as OpenError,
        ParseError as ParseError,
        QueryError as QueryError,
        QueryTimeout as QueryTimeout,
        ReadOnlyError as ReadOnlyError,
        SchemaError as SchemaError,
        ShapesError as ShapesError,
        UncertainError as UncertainError,
        ValidationError as ValidationError,
        WorldsError as WorldsError,
    )
    from worlds.groups.group import Group as Group, group as group
    from worlds.world import World as World, open as open

_HOMES = {
    "worlds.core.search.options": "Ranking",
    "worlds.aio": "AsyncWorld aopen",
    "worlds.comparison": "compare",
    "worlds.core.embedders": "Embedder FallbackEmbedder OnnxEmbedder OpenAIEmbedder SentenceTransformerEmbedder",
    "worlds.core.file.restore": "restore",
    "worlds.errors": "ConflictError EmbedderError FilterError IntegrityError OpenError ParseError QueryError "
    "QueryTimeout ReadOnlyError SchemaError ShapesError UncertainError ValidationError WorldsError",
    "worlds.groups.group": "Group group",
    "worlds.world": "World open",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME)

if not TYPE_CHECKING:  # for a type checker there are no other names than those above

    def __getattr__(name: str) -> Any:
        """A public name, or a module of this package, imported when it is first asked for."""
        if name in _HOME:
            value = getattr(importlib.import_module(_HOME[name]), name)
            globals()[name] = value
            return value
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"{__name__}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{__name__}.{name}":
                    raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
