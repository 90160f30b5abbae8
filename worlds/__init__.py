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
    from worlds.aio import AsyncWorld as AsyncWorld, aopen as aopen
    from worlds.comparison import compare as compare
    from worlds.core.embedders import (
        Embedder as Embedder,
        FallbackEmbedder as FallbackEmbedder,
        OnnxEmbedder as OnnxEmbedder,
        OpenAIEmbedder as OpenAIEmbedder,
        SentenceTransformerEmbedder as SentenceTransformerEmbedder,
    )
    from worlds.core.file.problems import CheckReport as CheckReport
    from worlds.core.file.restore import restore as restore
    from worlds.core.file.stats import Stats as Stats
    from worlds.core.history.dataset_comparison import Comparison as Comparison
    from worlds.core.history.diff import Diff as Diff
    from worlds.core.history.edits import Edits as Edits
    from worlds.core.history.gate import Change as Change
    from worlds.core.history.history import Entries as Entries, Entry as Entry
    from worlds.core.history.provenance import Provenance as Provenance
    from worlds.core.history.retention import Retention as Retention
    from worlds.core.history.tags import Tag as Tag
    from worlds.core.search.hits import Explanation as Explanation, Hit as Hit, SearchResults as SearchResults
    from worlds.core.search.options import Ranking as Ranking
    from worlds.core.search.passages import Passage as Passage
    from worlds.core.texts.policy import ChunkSize as ChunkSize, TextPolicy as TextPolicy
    from worlds.errors import (
        ConflictError as ConflictError,
        EmbedderError as EmbedderError,
        FilterError as FilterError,
        IntegrityError as IntegrityError,
        OpenError as OpenError,
        ParseError as ParseError,
        QueryError as QueryError,
        QueryTimeout as QueryTimeout,
        ReadOnlyError as ReadOnlyError,
        SchemaError as SchemaError,
        ShapesError as ShapesError,
        UncertainError as UncertainError,
        ValidationError as ValidationError,
        WorldsError as WorldsError,
    )
    from worlds.extras.conclusions.explaining import Why as Why
    from worlds.extras.conclusions.ruling import RulesInUse as RulesInUse
    from worlds.extras.curation.changing.decisions import Decision as Decision
    from worlds.extras.curation.changing.entity_merge import Merge as Merge, Split as Split
    from worlds.extras.curation.changing.proposal import Proposal as Proposal
    from worlds.extras.curation.claims.receipt import Receipt as Receipt, ToldFact as ToldFact
    from worlds.extras.curation.claims.verification import Verification as Verification
    from worlds.extras.curation.duplicates.finder import Duplicate as Duplicate
    from worlds.extras.curation.findings.findings import Finding as Finding, Findings as Findings
    from worlds.extras.curation.findings.report import WorldReport as WorldReport
    from worlds.extras.curation.forms.form import Form as Form
    from worlds.extras.curation.linking.link import Link as Link
    from worlds.extras.curation.linking.links import Mentions as Mentions
    from worlds.extras.entities.kept_questions import (
        Answer as Answer,
        KeptQuestion as KeptQuestion,
        NearQuestion as NearQuestion,
    )
    from worlds.extras.entities.context import Context as Context
    from worlds.extras.entities.descriptions import Description as Description
    from worlds.extras.entities.members import Members as Members
    from worlds.extras.entities.new_iris import Minted as Minted
    from worlds.extras.entities.tree_moves import Move as Move
    from worlds.extras.entities.names import Resolution as Resolution
    from worlds.extras.entities.schema import Schema as Schema
    from worlds.extras.entities.trees import Tree as Tree
    from worlds.extras.facts.timeline import DueFact as DueFact, Timeline as Timeline
    from worlds.extras.memory.memory import Memory as Memory
    from worlds.extras.memory.byte_search import Proof as Proof, prove as prove
    from worlds.extras.memory.records import (
        Forgotten as Forgotten,
        Keep as Keep,
        Recalled as Recalled,
        Remembered as Remembered,
        Retained as Retained,
    )
    from worlds.extras.questions.brief import Brief as Brief
    from worlds.extras.questions.question_store import BrokenQuestion as BrokenQuestion, Questions as Questions
    from worlds.extras.shapes.report import ValidationReport as ValidationReport
    from worlds.extras.sources.registry import Sources as Sources
    from worlds.extras.sources.store import FileProblem as FileProblem, WorldSource as WorldSource
    from worlds.extras.sources.source_sync import Synced as Synced
    from worlds.graph.query.results import Solutions as Solutions, Triples as Triples
    from worlds.groups.group import Group as Group, group as group
    from worlds.world import World as World, open as open

_HOMES = {
    "worlds.extras.shapes.report": "ValidationReport",
    "worlds.core.file.stats": "Stats",
    "worlds.core.file.check": "CheckReport",
    "worlds.extras.entities.new_iris": "Minted",
    "worlds.extras.entities.names": "Resolution",
    "worlds.extras.entities.descriptions": "Description",
    "worlds.extras.entities.kept_questions": "Answer KeptQuestion NearQuestion",
    "worlds.extras.entities.context": "Context",
    "worlds.extras.curation.linking.link": "Link",
    "worlds.extras.curation.linking.links": "Mentions",
    "worlds.extras.curation.findings.report": "WorldReport",
    "worlds.extras.curation.findings.findings": "Finding Findings",
    "worlds.extras.curation.duplicates.finder": "Duplicate",
    "worlds.extras.curation.claims.receipt": "Receipt ToldFact",
    "worlds.extras.conclusions.explaining": "Why",
    "worlds.extras.conclusions.ruling": "RulesInUse",
    "worlds.extras.curation.claims.verification": "Verification",
    "worlds.core.embedders": "Embedder FallbackEmbedder OnnxEmbedder OpenAIEmbedder SentenceTransformerEmbedder",
    "worlds.errors": "ConflictError EmbedderError FilterError IntegrityError OpenError ParseError QueryError "
    "QueryTimeout ReadOnlyError SchemaError ShapesError UncertainError ValidationError WorldsError",
    "worlds.extras.curation.changing.decisions": "Decision",
    "worlds.extras.curation.changing.entity_merge": "Merge Split",
    "worlds.extras.curation.changing.proposals": "Proposal",
    "worlds.extras.sources.registry": "Sources",
    "worlds.extras.sources.store": "FileProblem WorldSource",
    "worlds.extras.sources.source_sync": "Synced",
    "worlds.core.history.gate": "Change",
    "worlds.graph.query.results": "Solutions Triples",
    "worlds.core.history.diff": "Diff",
    "worlds.core.history.edits": "Edits",
    "worlds.core.history.history": "Entries Entry",
    "worlds.core.history.provenance": "Provenance",
    "worlds.core.history.retention": "Retention",
    "worlds.core.history.tags": "Tag",
    "worlds.core.search.passages": "Passage",
    "worlds.core.search.hits": "Explanation Hit SearchResults",
    "worlds.core.search.options": "Ranking",
    "worlds.core.texts.policy": "ChunkSize TextPolicy",
    "worlds.extras.curation.forms.form": "Form",
    "worlds.extras.entities.schema": "Schema",
    "worlds.extras.entities.trees": "Tree",
    "worlds.extras.entities.members": "Members",
    "worlds.extras.entities.tree_moves": "Move",
    "worlds.extras.memory.memory": "Memory",
    "worlds.extras.memory.byte_search": "Proof prove",
    "worlds.extras.memory.records": "Forgotten Keep Recalled Remembered Retained",
    "worlds.extras.questions.brief": "Brief",
    "worlds.extras.questions.question_store": "BrokenQuestion Questions",
    "worlds.extras.facts.timeline": "DueFact Timeline",
    "worlds.groups.group": "Group group",
    "worlds.core.file.restore": "restore",
    "worlds.aio": "AsyncWorld aopen",
    "worlds.comparison": "compare",
    "worlds.world": "World open",
    "worlds.core.history.dataset_comparison": "Comparison",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME)

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
