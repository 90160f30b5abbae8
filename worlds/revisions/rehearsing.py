"""What a verb gives that can be tried: with `dry_run=True` a `Diff`, else its change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, cast, overload

from worlds.quads.dictionary import Ids
from worlds.revisions.diff import Diff

P = ParamSpec("P")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
S = TypeVar("S")


@dataclass(frozen=True)
class Trial:
    """A change to propose: quads, int64 [n, 4], to add and to remove; the reason, and the chance that it is right."""

    added: Ids
    removed: Ids
    why: str = "another version changed this in another way"
    kind: str = "conflict"
    confidence: float | None = None


class Written(Protocol[P, C_co]):
    """A verb of a world, as type-checkers see it."""

    @overload
    def __call__(self, *args: Any, dry_run: Literal[True], **options: Any) -> Diff: ...
    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> C_co: ...


class Verb(Protocol[P, C_co]):
    """The verb as an attribute of the class."""

    def __get__(self, world: object, kind: type | None = None, /) -> Written[P, C_co]: ...


class Decorator(Protocol[C]):
    """What `rehearsable` gives."""

    def __call__(self, method: Callable[Concatenate[S, P], C | Diff], /) -> Verb[P, C]:
        """The method as it is."""


def rehearsable(kind: type[C]) -> Decorator[C]:
    """Tell type-checkers that a method gives a `kind`, and with `dry_run=True` a `Diff`; it stays what it is."""
    return cast("Decorator[C]", lambda method: method)
