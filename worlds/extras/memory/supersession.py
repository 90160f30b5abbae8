"""Which memories took the place of others: the newer of those that say nearly the same of the same thing.

A memory that cites another one certainly does. Else it is likely where the newer text says that something changed, or
has another value in the same sentence, and the two texts are near each other. Likelihood orders, and forgets nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worlds.extras.memory.memory_records import Remembered

_NEAR, _NEARER = 0.5, 0.6  # cosines, of texts of which the newer tells a change, and of others
_SHARED = 0.5  # of the words of the shorter text, where there are no vectors
_CHANGES = re.compile(
    r"\b(?:chang\w+|mov(?:ed|ing)|switch\w+|replac\w+|renam\w+|resched\w+|postpon\w+|sold|quit|left|stopp\w+|now|"
    r"no longer|not any ?more|anymore|instead|actually|these days|from now on|new|correction|updat\w+|cancel\w+|"
    r"turn(?:ed)? out|became|gave up|used to|dropped|expired|raised|went up|increased|delayed|extended|upgraded|"
    r"jetzt|nicht mehr|statt\w*|ge(?:ändert|wechselt)|umgezogen|neue[rsn]?|désormais|maintenant|"
    r"ne \w+ plus|nouve\w+|ahora|ya no|nuev[oa]s?|cambi\w+)\b",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"\b(?:also|too|another|as well|besides|second|both|still|same|confirm\w*|unchanged|never|haven't|hasn't|didn't|"
    r"(?:have|has|had|did) not|auch|noch|aussi|encore|también|todavía)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"\b(?:is|are|was|were|costs?|ist|sind|kostet|est|sont|es|son|está)\b", re.IGNORECASE)
_WORD = re.compile(r"\w[\w'’.,:-]*\w|\w")
_SMALL = frozenset(
    """
    a an the my our your his her their its i we you he she they it is are was were be to of in on at by for from with
    and or as that this der die das ein eine ist und zu le la les un une est et el los una es y
    """.split()  # noqa: SIM905  # a line of words
)


def newest_first(found: Sequence[Remembered], vectors: Mapping[Any, NDArray[np.float32]]) -> list[Remembered]:
    """The memories in their order, but each after the ones that superseded it, and with the last of these.

    `vectors` are those of the memories that have one, by IRI, of length 1.
    """
    told = [_Told(one, vectors.get(one.iri)) for one in found]
    later = [
        sorted(
            (at for at, newer in enumerate(told) if newer.time > older.time and newer.supersedes(older)),
            key=lambda one: -told[one].time,
        )
        for older in told
    ]
    ordered: dict[int, None] = {}

    def put(place: int) -> None:
        if place not in ordered:
            for newer in later[place]:
                put(newer)
            ordered[place] = None

    for place in range(len(found)):
        put(place)
    return [
        replace(found[place], superseded_by=found[later[place][0]].iri) if later[place] else found[place]
        for place in ordered
    ]


class _Told:
    """A memory, read for the comparison with others."""

    def __init__(self, one: Remembered, vector: NDArray[np.float32] | None) -> None:
        self.one = one
        self.text = one.text.removeprefix(f"{one.role}: ")
        self.time = one.at.timestamp() if one.at is not None else 0.0
        self.vector = vector

    def supersedes(self, older: _Told) -> bool:
        """Whether it, the newer, certainly or likely took the place of another one."""
        one, other = self.one, older.one
        if one.scope != other.scope or one.kind is None or other.kind is None:
            return False
        if other.iri in one.cites:
            return True
        nearness = None if self.vector is None or older.vector is None else float(self.vector @ older.vector)
        if one.role != other.role or (nearness is not None and nearness < _NEAR) or self._stays:
            return False
        if not self._changes and not self._differs_in_value(older):
            return False
        if nearness is None:
            return len(self._words & older._words) >= _SHARED * max(min(len(self._words), len(older._words)), 1)
        return self._changes or nearness >= _NEARER

    @cached_property
    def _stays(self) -> bool:
        return _STAYS.search(self.text) is not None

    @cached_property
    def _changes(self) -> bool:
        return _CHANGES.search(self.text) is not None

    @cached_property
    def _words(self) -> set[str]:
        return _words(self.text)

    @cached_property
    def _subject(self) -> set[str]:
        """The words before a verb such as "is"."""
        found = _IS.search(self.text)
        return set() if found is None else _words(self.text[: found.start()])

    def _differs_in_value(self, older: _Told) -> bool:
        """Whether two texts differ only in the value after a verb such as "is", or only in numbers."""
        if self._words == older._words:
            return False
        if self._subject and self._subject == older._subject:
            return True
        apart = self._words ^ older._words
        both = self._words - older._words and older._words - self._words
        return bool(both) and all(any(map(str.isdigit, word)) for word in apart)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - _SMALL
