"""Reads the texts of one world as words, each by its language, and reads them anew where that changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Literal

from worlds.core.texts.languages import ENGLISH, VERSION, guess, indexed, primary, stemmed
from worlds.core.texts.policy import TextPolicy
from worlds.core.texts.segmentation import segment
from worlds.sql import statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection
from worlds.sql.index_rebuild import without

_SQL = statements("queries.sql")
_BATCH = 5000
_SAMPLE = 200  # texts whose stop-words tell the world's language
_LEAST_UNTAGGED = 5


Format = Literal["text", "markdown"]
Text = tuple[int, str | bytes, Format | None, str | None]  # term id, lexical form, format, language tag


def reads(policy: TextPolicy) -> tuple[str, str]:
    """The parts of a policy that decide how texts are read as words."""
    return policy.tokenizer, primary(policy.language) or ENGLISH


class Reader:
    """Reads texts as the full-text index has them, and notes the languages whose words have stems of their own."""

    def __init__(self, policy: TextPolicy) -> None:
        self._tokenizer = policy.tokenizer
        self._untagged = primary(policy.language) or ENGLISH
        self.languages: set[str] = set()
        self._readings: dict[str | None, Callable[[str], str | None]] = {}

    def reading(self, tag: str | None) -> Callable[[str], str | None]:
        """A function that gives the indexed form of texts with a language tag, None where that is the text."""
        found = self._readings.get(tag)
        if found is None:
            found = self._readings[tag] = self._reading(tag)
        return found

    def _reading(self, tag: str | None) -> Callable[[str], str | None]:
        language = primary(tag) or self._untagged
        if self._tokenizer != "porter" or not stemmed(language):
            return partial(segment, apart=self._tokenizer != "trigram")
        self.languages.add(language)
        return partial(indexed, language=language)


class Words:
    """The texts of one world as words. Every method that writes runs inside the caller's transaction."""

    def __init__(self, connection: Connection, policy: Callable[[], TextPolicy]) -> None:
        self._connection = connection
        self._policy = policy
        self.told: list[str] = []  # what there is to say of the write

    @property
    def languages(self) -> frozenset[str]:
        """The languages by whose stems texts were read so far."""
        return frozenset(self._connection.setting("languages", json.loads) or ())

    def reader(self) -> Reader:
        """A reader of texts by the policy."""
        return Reader(self._policy())

    @property
    def outdated(self) -> bool:
        """Whether texts may have been read by an older release, or by another Snowball; `file.compact` mends it."""
        return bool(self._connection.meta("stems") != VERSION)

    def read_some(self) -> bool:
        """Read some more texts anew, whose words were read otherwise before; whether there were any. Resumable."""
        if not self.outdated:
            return False
        after = int(self._connection.meta("stems_read") or 0)
        last = self._read_chunks(after, _BATCH, indexed_too=True)
        if last is None:
            self._connection.run(_SQL["set_meta"], ("stems", VERSION))
            self._connection.run(_SQL["delete_meta"], ("stems_read",))
            return False
        self._connection.run(_SQL["set_meta"], ("stems_read", last))
        return True

    def read_anew(self) -> bool:
        """Give all chunks the form that the policy asks for, but not the full-text index; whether any has changed."""
        changed, after = False, 0
        while (found := self._read_chunks(after, _BATCH, indexed_too=False)) is not None:
            changed |= found != after
            after = found
        return changed

    def _read_chunks(self, after: int, count: int, *, indexed_too: bool) -> int | None:
        """Read as many chunks after one anew; gives the last of them, None if there was none."""
        rows = self._connection.rows(_SQL["chunks_to_read"], (after, count))
        reader = self.reader()
        new = [
            (chunk, form)
            for chunk, text, segmented, tag in rows
            if (form := reader.reading(tag)(as_text(text))) != segmented
        ]
        if new:
            given = (json.dumps(new),)
            with without(self._connection, "trigger", "chunks"):
                if indexed_too:
                    self._connection.run(_SQL["unindex_chunks"], given)
                self._connection.run(_SQL["rewrite_chunks"], given)
                if indexed_too:
                    self._connection.run(_SQL["index_chunks_again"], given)
            self._connection.run(_SQL["add_to_meta"], ("readings", 1))
        self.remember(reader)
        return rows[-1][0] if rows else None

    def begin(self) -> None:
        """Texts are read: where none was before, all are read by today's stems."""
        if self._connection.meta("stems") is None and self._connection.row(_SQL["some_chunks"], (1,)) is None:
            self._connection.run(_SQL["set_meta"], ("stems", VERSION))

    def remember(self, reader: Reader) -> None:
        """Store the languages in which texts were read."""
        if not reader.languages <= self.languages:
            told = json.dumps(sorted(reader.languages | self.languages))
            self._connection.run(_SQL["set_meta"], ("languages", told))

    def settle_language(self, texts: list[Text]) -> None:
        """Choose the language of texts without a tag, where the policy has none and the first of them tell it."""
        policy = self._policy()
        if policy.language is not None or policy.tokenizer != "porter":
            return
        untagged = [as_text(stored) for _, stored, _, tag in texts[:_SAMPLE] if tag is None]
        if len(untagged) < _LEAST_UNTAGGED or self._connection.row(_SQL["more_chunks"], (_SAMPLE - 1,)) is not None:
            return
        language = guess(untagged)
        if language in (None, ENGLISH):
            return
        self._connection.run(_SQL["set_meta"], ("policy", policy.with_(language=language).to_json()))
        self._read_chunks(0, _SAMPLE, indexed_too=self._connection.row(_SQL["texts_are_indexed"]) is not None)
        self.told.append(
            f"texts without a language tag are read as {language!r}, as the first {len(untagged)} of them look so; "
            f"the policy's `language` can say otherwise"
        )
