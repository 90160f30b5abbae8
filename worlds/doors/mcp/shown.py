"""How a record of the world becomes a part of an agent's answer: each field as its annotation says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel

from worlds.doors.mcp.rendering import TermRenderer, clip


@dataclass(frozen=True)
class By:
    """The source of a field in a record: the value of the same name, of another `name`, or the whole record."""

    make: Callable[[Any, TermRenderer], Any]
    name: str | None = None
    whole: bool = False


class Shown(BaseModel):
    """An answer or a part of one; each field has the record's value of its name, in the form of its annotation."""

    @classmethod
    def made_of(cls, record: object, terms: TermRenderer, **own: Any) -> Self:
        """A record as agents see it; `own` are fields that it has not."""
        for name, field in cls.model_fields.items():
            if name not in own:
                by = next((one for one in field.metadata if isinstance(one, By)), _AS_IT_IS)
                own[name] = by.make(record if by.whole else getattr(record, by.name or name), terms)
        return cls(**own)


def cut(most: int) -> By:
    """A text in one line, cut after `most` characters."""
    return By(lambda text, _: None if text is None else clip(text, most))


def rounded(digits: int) -> By:
    """A number rounded to `digits` digits."""
    return By(lambda number, _: round(number, digits))


def terms_of(most: int | None = None, length: int = 200) -> By:
    """The first terms of a list, or the terms of records that have one."""
    return By(lambda found, terms: [terms.show(getattr(one, "term", one), length) for one in found[:most]])


def each(kind: type[Shown]) -> By:
    """Records, each shown by its class."""
    return By(lambda found, terms: [kind.made_of(one, terms) for one in found])


_AS_IT_IS = By(lambda value, _: list(value) if isinstance(value, tuple) else value)
COUNTED = By(lambda found, _: len(found))
TERM = By(lambda term, terms: None if term is None else terms.show(term))
Term = Annotated[str, TERM]
Label = Annotated[str, cut(80)]
Name = Annotated[str | None, cut(120)]
Types = Annotated[list[str], terms_of(5)]
