"""Results of verbs that take `dry_run`: a `Diff` with it, else the change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, cast, overload

from worlds.core.history.diff import Diff

P = ParamSpec("P")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
S = TypeVar("S")


@dataclass(frozen=True)
class Trial:
    """A change to propose: quads, int64 [n, 4], to add and to remove; the reason, and the chance that it is right."""

    added: Any  # Ids, or quads where `Writer.propose` stores their terms
    removed: Any
    why: str = "another version changed this in another way"
    kind: str = "conflict"
    confidence: float | None = None


class TypedVerb(Protocol[P, C_co]):
    """A verb of a world, as type-checkers see it."""

    @overload
    def __call__(self, *args: Any, dry_run: Literal[True], **options: Any) -> Diff: ...
    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> C_co: ...


class RehearsedVerb(Protocol[P, C_co]):
    """The verb as an attribute of the class."""

    def __get__(self, world: object, kind: type | None = None, /) -> TypedVerb[P, C_co]: ...


class Decorator(Protocol[C]):
    """The decorator that `rehearsable` returns."""

    def __call__(self, method: Callable[Concatenate[S, P], C | Diff], /) -> RehearsedVerb[P, C]:
        """The method as it is."""


def rehearsable(kind: type[C]) -> Decorator[C]:
    """Declare to type checkers that a method returns a `kind`, and with `dry_run=True` a `Diff`."""
    return cast("Decorator[C]", lambda method: method)
