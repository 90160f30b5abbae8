"""A chain of embedders of one model: when one fails, the next answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders.base import Embedder, checked_documents, checked_query, count_tokens, failing_as, fingerprint
from worlds.errors import EmbedderError

_T = TypeVar("_T")
_OF_THE_TEXTS: Final = "input"  # the kind of failure that says nothing of the next texts


class FallbackEmbedder:
    """Asks the first embedder that has not failed.

    One that fails is not asked again until `reset()`; `failures` says why. Texts that it does not take ("input") are
    no reason to give it up: the next one gets them, and it gets the texts after them. All must give vectors of one
    model: the same dimension and the same fingerprint. An OpenAIEmbedder takes `fingerprint=` to say so. May be
    shared by threads.

    ValueError for an empty chain, and for members that do not fit one another; for a member that cannot be reached
    when the chain is made, when it is first asked. EmbedderError when all have failed; its `.kind` is that of the last.
    """

    def __init__(self, embedders: Iterable[Embedder]) -> None:
        self.embedders = tuple(embedders)
        if not self.embedders:
            raise ValueError("a FallbackEmbedder needs at least one embedder")
        self._lock = threading.Lock()
        self._failures: dict[int, EmbedderError] = {}
        self._fitting: set[int] = set()
        self._family: tuple[str, int, str] | None = None
        for place in range(len(self.embedders)):
            try:
                self._check(place)
            except EmbedderError as error:
                self._failures[place] = error
        self.reset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.embedders)!r})"

    @property
    def name(self) -> str:
        """The first member's."""
        return self.embedders[0].name

    @property
    def dimension(self) -> int:
        """Components of a vector."""
        return self._known()[1]

    @property
    def fingerprint(self) -> str:
        """The members'."""
        return self._known()[2]

    @property
    def max_tokens(self) -> int:
        """The length of a text that every member reads."""
        return min(int(embedder.max_tokens) for embedder in self.embedders)

    @property
    def failures(self) -> dict[str, EmbedderError]:
        """The members that are not asked any more, and why: by place and name, as "2. all-minilm"."""
        with self._lock:
            failed = sorted(self._failures.items())
        return {f"{place + 1}. {self.embedders[place].name}": error for place, error in failed}

    def reset(self) -> None:
        """Forget all failures: the first member is asked again."""
        with self._lock:
            self._failures.clear()

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, uncut: the most that a member counts."""
        return max(count_tokens(embedder, text) for embedder in self.embedders)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension], rows L2-normalised, or zeros without a direction."""
        return self._first(lambda embedder: checked_documents(embedder, texts)[0])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension], L2-normalised."""
        return self._first(lambda embedder: checked_query(embedder, text))

    def _first(self, ask: Callable[[Any], _T]) -> _T:
        """The answer of the first member that succeeds."""
        said: list[EmbedderError] = []
        for place, embedder in enumerate(self.embedders):
            with self._lock:
                failure = self._failures.get(place)
            if failure is None:
                try:
                    self._check(place)
                    return ask(embedder)
                except EmbedderError as error:
                    failure = error
                    if error.kind != _OF_THE_TEXTS:
                        with self._lock:
                            self._failures.setdefault(place, error)
            said.append(failure)
        reasons = "; ".join(f"{number}. ({error.kind}) {error}" for number, error in enumerate(said, 1))
        raise EmbedderError(
            f"none of {len(said)} embedders answers; reset() tries them again: {reasons}", kind=said[-1].kind
        )

    def _known(self) -> tuple[str, int, str]:
        """Name, dimension and fingerprint of the first member that knows them."""
        if self._family is None:
            self._first(lambda embedder: embedder.dimension)
        assert self._family is not None
        return self._family

    def _check(self, place: int) -> None:
        """Prove that a member gives the vectors of the others; ValueError if not, EmbedderError if it cannot yet."""
        if place in self._fitting:
            return
        embedder = self.embedders[place]
        with failing_as(f"embedder {embedder.name!r} failed"):
            about = embedder.name, int(embedder.dimension), fingerprint(embedder)
        with self._lock:
            first = self._family = self._family or about
            if about[1:] != first[1:]:
                raise ValueError(
                    f"the embedders of a chain give vectors of one model; {about[0]} has {about[1]} dimensions and "
                    f"fingerprint {about[2][:12]}…, {first[0]} has {first[1]} and {first[2][:12]}…"
                )
            self._fitting.add(place)
