"""Prefixes, policy, the default graph, the embedder: what a world is set to."""

from __future__ import annotations

import os

from worlds.core.embedders import Embedder
from worlds.core.history.writer import Progress
from worlds.core.quads.namespaces import OWN_PREFIX
from worlds.core.search.options import kept
from worlds.core.texts.policy import TextPolicy
from worlds.errors import WorldsError
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.permissions import consent, home_of
from worlds.verbs.invocation import setting, verb
from worlds.verbs.parts import Parts


class SettingVerbs(Parts):
    """Prefixes, policy, the default graph, the embedder: the settings of a world."""

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix → IRI: the well-known ones, overridden by prefixes of loaded files and of `bind`."""
        return self._core.namespaces.prefixes

    @verb
    def bind(self, prefix: str, iri: str) -> None:
        """Set a prefix, for queries, filters and exports; it is stored in the file.

        ValueError for a prefix that SPARQL does not allow, for `w`, the search's own there, and for an IRI that is not
        absolute.
        """
        if prefix == "w" and iri != NAMESPACE:
            raise ValueError(OWN_PREFIX.format(f"<{iri}>"))
        self._core.namespaces.bind(prefix, iri)

    @property
    def policy(self) -> TextPolicy:
        """Which literals are text. Setting it cuts the literals that it concerns anew, in one transaction."""
        return self._core.chunks.policy

    @policy.setter
    @setting
    def policy(self, policy: TextPolicy) -> None:
        if not isinstance(policy, TextPolicy):
            raise TypeError(f"a policy must be a TextPolicy, not {policy!r}")
        policy = policy.with_(search=kept(policy.search))
        model, before = (one.search.get("rerank") for one in (policy, self.policy))
        with self._core.connection.transaction():
            self._core.embeddings.retired.retire(self._core.chunks.adopt(policy).orphans)
        if isinstance(model, str) and model != before:  # else the file's, which somebody else may have named
            consent(home_of(self._core.connection), {"rerank": model})

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of new texts and questions; None for a world that has only words."""
        return self._core.embedder.embedder

    @embedder.setter
    @setting
    def embedder(self, embedder: Embedder | None) -> None:
        self._core.embedder.embedder = embedder

    @verb
    def embed(
        self,
        *,
        rebuild: bool = False,
        embedder: str | os.PathLike[str] | Embedder | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Give every pending chunk its vector; gives the number of texts that the embedder read.

        Each batch is kept as soon as it is done, so an interrupted call goes on where it stopped. `rebuild=True` makes
        all vectors anew, by the world's embedder or by `embedder`, which then becomes the world's. The old vectors
        answer until the new ones take their place, all at once; texts that are new since, or that the embedder does
        not read whole, are embedded after that. EmbedderError without an embedder, or with one that does not fit, or
        that fails; ConflictError if another process embeds the world anew by yet another one.
        """
        if self._core.writer.writing:
            raise WorldsError("embed() cannot run inside a transaction: new texts are embedded when it ends")
        return self._core.embedder.embed(rebuild=rebuild, embedder=embedder, progress=progress)
