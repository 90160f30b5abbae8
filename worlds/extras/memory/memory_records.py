"""Records that a memory returns, and its times to live."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from worlds.errors import ArgumentError
from worlds.extras.memory.names import KINDS
from worlds.graph.records import Count, Iri, Record, Spare

Kind: TypeAlias = Literal["episode", "fact", "preference", "entity"]
_MOST_DAYS = 1_000_000


def days_of(name: str, given: Any) -> float | None:
    """A number of days above 0, or None; ArgumentError."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < _MOST_DAYS:
        raise ArgumentError(f"{name} must be a number of days above 0 and below a million, or None, not {given!r}")
    return float(given)


@dataclass(frozen=True)
class Keep:
    """How long a memory keeps its content. Expired memories are never found, and are deleted by the next write.

    `days` is the age that nothing outlives, `count` the number of the newest that are kept. `kinds` maps kinds to days
    of their own; None is for ever, whatever `days` and `count` say. With `half_life`, in days, the score of what is
    recalled halves with its age. With `history=False`, what is replaced, forgotten or outlived leaves nothing behind:
    such revisions cannot be undone.
    """

    days: float | None = None
    count: int | None = None
    kinds: Mapping[str, float | None] = field(default_factory=dict)
    half_life: float | None = None
    history: bool = True

    def __post_init__(self) -> None:
        days_of("days", self.days)
        days_of("half_life", self.half_life)
        if self.count is not None and (type(self.count) is not int or self.count < 1):
            raise ArgumentError(f"count must be a whole number from 1 on, or None, not {self.count!r}")
        if not isinstance(self.kinds, Mapping) or not set(self.kinds) <= set(KINDS):
            raise ArgumentError(f"kinds maps some of {', '.join(KINDS)} to days, not {self.kinds!r}")
        for name, days in self.kinds.items():
            days_of(f"kinds[{name!r}]", days)
        if not isinstance(self.history, bool):
            raise ArgumentError(f"history must be True or False, not {self.history!r}")

    @property
    def evergreen(self) -> list[str]:
        """The kinds that are kept for ever, and whose score does not halve."""
        return [kind for kind, days in self.kinds.items() if days is None]

    @property
    def limited(self) -> bool:
        """Whether anything is outlived."""
        return self.days is not None or self.count is not None or any(self.kinds.values())

    def days_for(self, kind: str) -> float | None:
        """The age that a kind does not outlive; None for ever."""
        return self.kinds.get(kind, self.days)

    def to_dict(self) -> dict[str, Any]:
        """The setting in its stored form."""
        return {**asdict(self), "kinds": dict(self.kinds)}


@dataclass(frozen=True, slots=True)
class Remembered(Record):
    """A memory that was recalled: `text` is the passage of it that was found, and `quads` cite it.

    `scope` is that in which it was told, `at` when. `score` is higher for a better one; memories that were not
    searched for, but listed, have 0. `similarity` is the cosine of the passage and the question, whatever else was
    found: near 0 where nothing fits; None without vectors. `superseded_by` is a newer memory that says otherwise:
    certainly if it cites this one, else likely. `kind` is None for other texts of the scope, such as labels of its
    facts.
    """

    iri: Iri
    text: str
    score: float
    kind: Kind | None
    at: datetime.datetime | None
    scope: tuple[str, ...]
    session: Annotated[str | None, Spare] = None
    role: Annotated[str | None, Spare] = None
    key: Annotated[str | None, Spare] = None
    cites: Annotated[tuple[Iri, ...], Spare] = ()
    about: Annotated[tuple[Iri, ...], Spare] = ()
    graph: Iri | None = None
    similarity: Annotated[float | None, Spare] = None
    superseded_by: Annotated[Iri | None, Spare] = None


class Recalled(Sequence[Remembered]):
    """The memories that were recalled, the best first; `notes` report parts of the request that were not possible."""

    def __init__(self, found: Sequence[Remembered], notes: Sequence[str] = ()) -> None:
        self._found = tuple(found)
        self.notes = tuple(notes)

    def __getitem__(self, place: Any) -> Any:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return "\n".join(f"{one.score:.3f} {one.text[:100]}" for one in self._found) or "nothing is remembered"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"memories": [one.to_dict() for one in self._found], "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class Retained(Record):
    """The outcome of `retain`: the IRIs of the memories, in their order, and the revision.

    `proposals` are links to entities that wait for a decision. `facts` is the receipt of the facts.
    """

    memories: tuple[Iri, ...]
    revision: int | None
    outlived: Count = 0
    proposals: Annotated[tuple[int, ...], Spare] = ()
    facts: Any = None
    notes: Annotated[tuple[str, ...], Spare] = ()


@dataclass(frozen=True, slots=True)
class Forgotten(Record):
    """The outcome of `forget`: how many memories and quads, in which revision; `purged` is true if nothing is left.

    `elsewhere` says what other files may still hold, which only who keeps them can purge.
    """

    memories: Count
    quads: Count
    revision: int | None
    purged: bool = False
    elsewhere: Annotated[tuple[str, ...], Spare] = ()
    notes: Annotated[tuple[str, ...], Spare] = ()
