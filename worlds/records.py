"""The records that verbs return, such as `Change`, and the values that settings take, such as `TextPolicy`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worlds.core.file.problems import CheckReport as CheckReport
    from worlds.core.file.stats import Stats as Stats
    from worlds.core.history.dataset_comparison import Comparison as Comparison
    from worlds.core.history.diff import Diff as Diff
    from worlds.core.history.edits import Edits as Edits
    from worlds.core.history.gate import Change as Change
    from worlds.core.history.history import Entries as Entries
    from worlds.core.history.history import Entry as Entry
    from worlds.core.history.provenance import Provenance as Provenance
    from worlds.core.history.retention import Retention as Retention
    from worlds.core.history.tags import Tag as Tag
    from worlds.core.search.hits import Explanation as Explanation
    from worlds.core.search.hits import Hit as Hit
    from worlds.core.search.hits import SearchResults as SearchResults
    from worlds.core.search.passages import Passage as Passage
    from worlds.core.texts.policy import ChunkSize as ChunkSize
    from worlds.core.texts.policy import TextPolicy as TextPolicy
    from worlds.extras.conclusions.explaining import Why as Why
    from worlds.extras.conclusions.ruling import RulesInUse as RulesInUse
    from worlds.extras.curation.changing.decisions import Decision as Decision
    from worlds.extras.curation.changing.entity_merge import Merge as Merge
    from worlds.extras.curation.changing.entity_merge import Split as Split
    from worlds.extras.curation.changing.proposals import Proposal as Proposal
    from worlds.extras.curation.claims.receipt import Receipt as Receipt
    from worlds.extras.curation.claims.receipt import ToldFact as ToldFact
    from worlds.extras.curation.claims.verification import Verification as Verification
    from worlds.extras.curation.duplicates.finder import Duplicate as Duplicate
    from worlds.extras.curation.findings.findings import Finding as Finding
    from worlds.extras.curation.findings.findings import Findings as Findings
    from worlds.extras.curation.findings.report import WorldReport as WorldReport
    from worlds.extras.curation.forms.form_builder import Form as Form
    from worlds.extras.curation.linking.link_rules import Link as Link
    from worlds.extras.curation.linking.links import Mentions as Mentions
    from worlds.extras.entities.context import Answer as Answer
    from worlds.extras.entities.context import Context as Context
    from worlds.extras.entities.context import KeptQuestion as KeptQuestion
    from worlds.extras.entities.context import NearQuestion as NearQuestion
    from worlds.extras.entities.descriptions import Description as Description
    from worlds.extras.entities.members import Members as Members
    from worlds.extras.entities.names import Resolution as Resolution
    from worlds.extras.entities.new_iris import Minted as Minted
    from worlds.extras.entities.schema import Schema as Schema
    from worlds.extras.entities.tree_moves import Move as Move
    from worlds.extras.entities.trees import Tree as Tree
    from worlds.extras.facts.timeline import DueFact as DueFact
    from worlds.extras.facts.timeline import Timeline as Timeline
    from worlds.extras.memory.erasure import Proof as Proof
    from worlds.extras.memory.erasure import prove as prove
    from worlds.extras.memory.memory import Memory as Memory
    from worlds.extras.memory.memory_records import Forgotten as Forgotten
    from worlds.extras.memory.memory_records import Keep as Keep
    from worlds.extras.memory.memory_records import Recalled as Recalled
    from worlds.extras.memory.memory_records import Remembered as Remembered
    from worlds.extras.memory.memory_records import Retained as Retained
    from worlds.extras.questions.brief import Brief as Brief
    from worlds.extras.questions.question_store import BrokenQuestion as BrokenQuestion
    from worlds.extras.questions.question_store import Questions as Questions
    from worlds.extras.shapes.report import ValidationReport as ValidationReport
    from worlds.extras.sources.registry import Sources as Sources
    from worlds.extras.sources.source_sync import Synced as Synced
    from worlds.extras.sources.store import FileProblem as FileProblem
    from worlds.extras.sources.store import WorldSource as WorldSource
    from worlds.graph.query.results import Solutions as Solutions
    from worlds.graph.query.results import Triples as Triples

_HOMES = {
    "worlds.core.file.check": "CheckReport",
    "worlds.core.file.stats": "Stats",
    "worlds.core.history.dataset_comparison": "Comparison",
    "worlds.core.history.diff": "Diff",
    "worlds.core.history.edits": "Edits",
    "worlds.core.history.gate": "Change",
    "worlds.core.history.history": "Entries Entry",
    "worlds.core.history.provenance": "Provenance",
    "worlds.core.history.retention": "Retention",
    "worlds.core.history.tags": "Tag",
    "worlds.core.search.hits": "Explanation Hit SearchResults",
    "worlds.core.search.passages": "Passage",
    "worlds.core.texts.policy": "ChunkSize TextPolicy",
    "worlds.extras.conclusions.explaining": "Why",
    "worlds.extras.conclusions.ruling": "RulesInUse",
    "worlds.extras.curation.changing.decisions": "Decision",
    "worlds.extras.curation.changing.entity_merge": "Merge Split",
    "worlds.extras.curation.changing.proposals": "Proposal",
    "worlds.extras.curation.claims.receipt": "Receipt ToldFact",
    "worlds.extras.curation.claims.verification": "Verification",
    "worlds.extras.curation.duplicates.finder": "Duplicate",
    "worlds.extras.curation.findings.findings": "Finding Findings",
    "worlds.extras.curation.findings.report": "WorldReport",
    "worlds.extras.curation.forms.form_builder": "Form",
    "worlds.extras.curation.linking.link_rules": "Link",
    "worlds.extras.curation.linking.links": "Mentions",
    "worlds.extras.entities.descriptions": "Description",
    "worlds.extras.entities.context": "Answer Context KeptQuestion NearQuestion",
    "worlds.extras.entities.members": "Members",
    "worlds.extras.entities.names": "Resolution",
    "worlds.extras.entities.new_iris": "Minted",
    "worlds.extras.entities.schema": "Schema",
    "worlds.extras.entities.tree_moves": "Move",
    "worlds.extras.entities.trees": "Tree",
    "worlds.extras.facts.timeline": "DueFact Timeline",
    "worlds.extras.memory.erasure": "Proof prove",
    "worlds.extras.memory.memory": "Memory",
    "worlds.extras.memory.memory_records": "Forgotten Keep Recalled Remembered Retained",
    "worlds.extras.questions.brief": "Brief",
    "worlds.extras.questions.question_store": "BrokenQuestion Questions",
    "worlds.extras.shapes.report": "ValidationReport",
    "worlds.extras.sources.registry": "Sources",
    "worlds.extras.sources.source_sync": "Synced",
    "worlds.extras.sources.store": "FileProblem WorldSource",
    "worlds.graph.query.results": "Solutions Triples",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME)

if not TYPE_CHECKING:  # for a type checker there are no other names than those above

    def __getattr__(name: str) -> Any:
        """A record, imported when it is first asked for."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
