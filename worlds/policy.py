"""Which literals are text, and how they are cut into chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pyoxigraph as ox


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How long a chunk may be, and how much it repeats of the one before it; both in characters."""

    max_chars: int = 1000
    overlap: int = 200

    def __post_init__(self) -> None:
        for name in ("max_chars", "overlap"):
            if type(getattr(self, name)) is not int:
                raise TypeError(f"{name} is a whole number, not {getattr(self, name)!r}")
        if not 50 <= self.max_chars <= 100_000:
            raise ValueError(f"max_chars is {self.max_chars}; it must be between 50 and 100,000")
        if not 0 <= self.overlap < self.max_chars:
            raise ValueError(f"overlap is {self.overlap}; it must be at least 0 and less than max_chars")


@dataclass(frozen=True)
class TextPolicy:
    """Which literals of a world are text, and the size of their chunks.

    A literal is text when a quad holds it under a predicate that is not in `exclude`, and it is an xsd:string, a
    language-tagged string, of a datatype in `datatypes`, or under a predicate in `include`; blank texts never are.
    IRIs are absolute. A literal under several predicates of different sizes takes the smallest.
    """

    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    datatypes: frozenset[str] = frozenset()
    size: ChunkSize = ChunkSize()
    sizes: Mapping[str, ChunkSize] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("include", "exclude", "datatypes"):
            given = getattr(self, name)
            if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
                raise TypeError(f"{name} takes IRIs, as a list or set, not {given!r}")
            iris = frozenset(given)
            for iri in iris:
                _check_iri(name, iri)
            object.__setattr__(self, name, iris)
        if not isinstance(self.size, ChunkSize):
            raise TypeError(f"size is a ChunkSize, not {self.size!r}")
        if not isinstance(self.sizes, Mapping):
            raise TypeError(f"sizes maps IRIs to ChunkSizes, it is not {self.sizes!r}")
        for iri, size in self.sizes.items():
            _check_iri("sizes", iri)
            if not isinstance(size, ChunkSize):
                raise TypeError(f"sizes maps {iri} to a ChunkSize, not to {size!r}")
        object.__setattr__(self, "sizes", MappingProxyType(dict(self.sizes)))
        both = self.include & self.exclude
        if both:
            raise ValueError(f"{min(both)} is both included and excluded")

    def with_(self, **changes: Any) -> TextPolicy:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def to_json(self) -> str:
        """The policy as it is stored."""
        return json.dumps(
            {
                "include": sorted(self.include),
                "exclude": sorted(self.exclude),
                "datatypes": sorted(self.datatypes),
                "size": asdict(self.size),
                "sizes": {iri: asdict(size) for iri, size in sorted(self.sizes.items())},
            }
        )

    def __reduce__(self) -> tuple[Any, ...]:  # a mappingproxy cannot be copied
        return TextPolicy.from_json, (self.to_json(),)

    @classmethod
    def from_json(cls, text: str) -> TextPolicy:
        """The policy that `to_json` wrote."""
        stored = json.loads(text)
        return cls(
            include=frozenset(stored["include"]),
            exclude=frozenset(stored["exclude"]),
            datatypes=frozenset(stored["datatypes"]),
            size=ChunkSize(**stored["size"]),
            sizes={iri: ChunkSize(**size) for iri, size in stored["sizes"].items()},
        )


def _check_iri(name: str, iri: object) -> None:
    try:
        ox.NamedNode(iri)  # type: ignore[arg-type]  # what is no str is a TypeError
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} takes absolute IRIs, not {iri!r}: {error}") from error
