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
    from worlds.aio import AsyncWorld, aopen
    from worlds.comparison import compare
    from worlds.curation.changing.decisions import Decision
    from worlds.curation.changing.merging import Merge, Split
    from worlds.curation.changing.proposal import Proposal
    from worlds.curation.claims.receipt import Receipt, ToldFact
    from worlds.curation.claims.verification import Verification
    from worlds.curation.duplicates.finder import Duplicate
    from worlds.curation.findings.findings import Finding, Findings
    from worlds.curation.findings.report import WorldReport
    from worlds.curation.forms.form import Form
    from worlds.curation.linking.links import Mentions
    from worlds.curation.linking.suggesting import Link
    from worlds.embedders import Embedder, FallbackEmbedder, OnnxEmbedder, OpenAIEmbedder, SentenceTransformerEmbedder
    from worlds.entities.answers import Answer, KeptQuestion, NearQuestion
    from worlds.entities.context import Context
    from worlds.entities.describing import Description
    from worlds.entities.minting import Minted
    from worlds.entities.names import Resolution
    from worlds.entities.schema import Schema
    from worlds.errors import (
        ConflictError,
        EmbedderError,
        FilterError,
        IntegrityError,
        OpenError,
        ParseError,
        QueryError,
        QueryTimeout,
        ReadOnlyError,
        SchemaError,
        ShapesError,
        UncertainError,
        ValidationError,
        WorldsError,
    )
    from worlds.file.problems import CheckReport
    from worlds.file.restoring import restore
    from worlds.file.stats import Stats
    from worlds.graph.query.results import Solutions, Triples
    from worlds.groups.group import Group, group
    from worlds.memory.memory import Memory
    from worlds.memory.proving import Proof, prove
    from worlds.memory.records import Forgotten, Keep, Recalled, Remembered, Retained
    from worlds.questions.brief import Brief
    from worlds.questions.keeping import BrokenQuestion, Questions
    from worlds.revisions.comparing import Comparison
    from worlds.revisions.diff import Diff
    from worlds.revisions.edits import Edits
    from worlds.revisions.gate import Change
    from worlds.revisions.history import Entries, Entry
    from worlds.revisions.provenance import Provenance
    from worlds.revisions.retention import Retention
    from worlds.rules.report import ValidationReport
    from worlds.search.hits import Explanation, Hit, SearchResults
    from worlds.search.passages import Passage
    from worlds.sources.registry import Sources
    from worlds.sources.store import FileProblem, WorldSource
    from worlds.sources.syncing import Synced
    from worlds.texts.policy import ChunkSize, TextPolicy
    from worlds.validity.timeline import DueFact, Timeline
    from worlds.world import World, open

__all__ = [
    "Answer",
    "AsyncWorld",
    "Brief",
    "BrokenQuestion",
    "Change",
    "CheckReport",
    "ChunkSize",
    "Comparison",
    "ConflictError",
    "Context",
    "Decision",
    "Description",
    "Diff",
    "DueFact",
    "Duplicate",
    "Edits",
    "Embedder",
    "EmbedderError",
    "Entries",
    "Entry",
    "Explanation",
    "FallbackEmbedder",
    "FileProblem",
    "FilterError",
    "Finding",
    "Findings",
    "Forgotten",
    "Form",
    "Group",
    "Hit",
    "IntegrityError",
    "Keep",
    "KeptQuestion",
    "Link",
    "Memory",
    "Mentions",
    "Merge",
    "Minted",
    "NearQuestion",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "OpenError",
    "ParseError",
    "Passage",
    "Proof",
    "Proposal",
    "Provenance",
    "QueryError",
    "QueryTimeout",
    "Questions",
    "ReadOnlyError",
    "Recalled",
    "Receipt",
    "Remembered",
    "Resolution",
    "Retained",
    "Retention",
    "Schema",
    "SchemaError",
    "SearchResults",
    "SentenceTransformerEmbedder",
    "ShapesError",
    "Solutions",
    "Sources",
    "Split",
    "Stats",
    "Synced",
    "TextPolicy",
    "Timeline",
    "ToldFact",
    "Triples",
    "UncertainError",
    "ValidationError",
    "ValidationReport",
    "Verification",
    "World",
    "WorldReport",
    "WorldSource",
    "WorldsError",
    "aopen",
    "compare",
    "group",
    "open",
    "prove",
    "restore",
]

_HOMES = {
    "worlds.rules.report": "ValidationReport",
    "worlds.file.stats": "Stats",
    "worlds.file.check": "CheckReport",
    "worlds.entities.minting": "Minted",
    "worlds.entities.names": "Resolution",
    "worlds.entities.describing": "Description",
    "worlds.entities.answers": "Answer KeptQuestion NearQuestion",
    "worlds.entities.context": "Context",
    "worlds.curation.linking.suggesting": "Link",
    "worlds.curation.linking.links": "Mentions",
    "worlds.curation.findings.report": "WorldReport",
    "worlds.curation.findings.findings": "Finding Findings",
    "worlds.curation.duplicates.finder": "Duplicate",
    "worlds.curation.claims.receipt": "Receipt ToldFact",
    "worlds.curation.claims.verification": "Verification",
    "worlds.embedders": "Embedder FallbackEmbedder OnnxEmbedder OpenAIEmbedder SentenceTransformerEmbedder",
    "worlds.errors": "ConflictError EmbedderError FilterError IntegrityError OpenError ParseError QueryError "
    "QueryTimeout ReadOnlyError SchemaError ShapesError UncertainError ValidationError WorldsError",
    "worlds.curation.changing.decisions": "Decision",
    "worlds.curation.changing.merging": "Merge Split",
    "worlds.curation.changing.proposals": "Proposal",
    "worlds.sources.registry": "Sources",
    "worlds.sources.store": "FileProblem WorldSource",
    "worlds.sources.syncing": "Synced",
    "worlds.revisions.gate": "Change",
    "worlds.graph.query.results": "Solutions Triples",
    "worlds.revisions.diff": "Diff",
    "worlds.revisions.edits": "Edits",
    "worlds.revisions.history": "Entries Entry",
    "worlds.revisions.provenance": "Provenance",
    "worlds.revisions.retention": "Retention",
    "worlds.search.passages": "Passage",
    "worlds.search.hits": "Explanation Hit SearchResults",
    "worlds.texts.policy": "ChunkSize TextPolicy",
    "worlds.curation.forms.form": "Form",
    "worlds.entities.schema": "Schema",
    "worlds.memory.memory": "Memory",
    "worlds.memory.proving": "Proof prove",
    "worlds.memory.records": "Forgotten Keep Recalled Remembered Retained",
    "worlds.questions.brief": "Brief",
    "worlds.questions.keeping": "BrokenQuestion Questions",
    "worlds.validity.timeline": "DueFact Timeline",
    "worlds.groups.group": "Group group",
    "worlds.file.restoring": "restore",
    "worlds.aio": "AsyncWorld aopen",
    "worlds.comparison": "compare",
    "worlds.world": "World open",
    "worlds.revisions.comparing": "Comparison",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

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
