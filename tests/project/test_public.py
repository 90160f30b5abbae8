"""The public surface: its names, their documents, and what importing it costs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import worlds
import worlds.errors

ALL = [
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
    "Members",
    "Memory",
    "Mentions",
    "Merge",
    "Minted",
    "Move",
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
    "Ranking",
    "ReadOnlyError",
    "Recalled",
    "Receipt",
    "Remembered",
    "Resolution",
    "Retained",
    "Retention",
    "RulesInUse",
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
    "Tag",
    "TextPolicy",
    "Timeline",
    "ToldFact",
    "Tree",
    "Triples",
    "UncertainError",
    "ValidationError",
    "ValidationReport",
    "Verification",
    "Why",
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

VERBS = {
    "add": ["quads", "*author", "*message", "*embed", "*dry_run"],
    "add_document": [
        "iri",
        "content",
        "*format",
        "*title",
        "*source",
        "*date",
        "*language",
        "*predicate",
        "*type",
        "*graph",
        "*metadata",
        "*replace",
        "*author",
        "*message",
        "*embed",
        "*dry_run",
    ],
    "apply_patch": ["source", "*strict", "*three_way", "*max_unpacked", "*author", "*message", "*embed", "*dry_run"],
    "at": ["revision"],
    "backup": ["path"],
    "bind": ["prefix", "iri"],
    "check": [],
    "close": [],
    "compact": [],
    "build_vector_index": ["*progress"],
    "drop_vector_index": [],
    "brief": ["question", "*budget", "*graphs"],
    "context": [
        "question",
        "*budget",
        "*hops",
        "*types",
        "*language",
        "*graphs",
        "*where",
        "*predicates",
        "*exclude",
        "*rerank",
        "*ranking",
    ],
    "describe": ["iri", "*limit", "*language", "*graphs"],
    "merge": ["kept", "others", "*redirect", "*conflicts", "*author", "*message", "*dry_run"],
    "split": ["revision", "*author", "*message", "*dry_run"],
    "propose": [
        "*add",
        "*remove",
        "*update",
        "*merge",
        "*why",
        "*confidence",
        "*author",
        "*kind",
        "*relies_on",
        "*max_open",
        "*max_quads",
        "*again",
    ],
    "proposals": ["*status", "*author", "*entity", "*kind", "*minimum", "*limit", "*after"],
    "proposal": ["id"],
    "amend": ["id", "*add", "*remove", "*update", "*why", "*confidence", "*author", "*own", "*max_quads"],
    "accept": ["id", "*reviewer", "*why", "*version", "*force", "*dry_run"],
    "accept_all": ["ids", "*reviewer", "*why", "*force"],
    "reject": ["id", "why", "*reviewer"],
    "reject_all": ["ids", "why", "*reviewer"],
    "neighbourhood": ["iri", "*hops", "*limit", "*graphs"],
    "only": ["*graphs"],
    "paths": ["start", "end", "*hops", "*limit", "*graphs"],
    "diff": ["a", "b"],
    "embed": ["*rebuild", "*embedder", "*progress"],
    "explain": ["query", "*bindings", "*union", "*timeout", "*allow_network", "*counts", "*answer", "*progress"],
    "export": ["target", "*format", "*graph", "*table"],
    "publish": ["target", "*scheme", "*title", "*language"],
    "history": [
        "limit",
        "*entity",
        "*predicate",
        "*graph",
        "*author",
        "*message",
        "*since",
        "*until",
        "*before",
    ],
    "provenance": ["subject", "predicate", "object", "graph"],
    "interrupt": [],
    "load": [
        "source",
        "*format",
        "*graph",
        "*mode",
        "*base",
        "*author",
        "*message",
        "*embed",
        "*allow_network",
        "*max_unpacked",
        "*keep_edits",
        "*mapping",
        "*remove_rows",
        "*progress",
        "*dry_run",
    ],
    "patch": ["a", "b"],
    "prune": ["before"],
    "query": [
        "query",
        "*bindings",
        "*union",
        "*default_graphs",
        "*named_graphs",
        "*timeout",
        "*max_results",
        "*max_memory",
        "*allow_network",
        "*progress",
        "*repair",
    ],
    "remove": ["quads", "*author", "*message", "*dry_run"],
    "schema": ["*limit", "*graphs", "*matching"],
    "search": [
        "text",
        "*limit",
        "*mode",
        "*subjects",
        "*predicates",
        "*types",
        "*subclasses",
        "*graphs",
        "*sources",
        "*source_kinds",
        "*languages",
        "*where",
        "*exclude",
        "*syntax",
        "*vector",
        "*rerank",
        "*group_by",
        "*per_subject",
        "*cursor",
        "*facet",
        "*explain",
        "*ranking",
    ],
    "resolve": ["name", "*context", "*types", "*where", "*graphs", "*exclude", "*limit"],
    "resolve_all": ["names", "*types", "*where", "*graphs", "*limit"],
    "search_sql": ["text", "**options"],
    "set_guard": ["setting", "*partly"],
    "similar": ["iri", "*limit", "**options"],
    "stats": [],
    "transaction": ["*author", "*message", "*base", "*guard"],
    "undo": ["revision", "*force", "*author", "*message", "*dry_run"],
    "propose_all": ["findings", "*author", "*follow"],
    "distinct": ["a", "b", "*graph", "*author", "*message", "*dry_run"],
    "tell": ["facts", "*graph", "*context", "*vocabulary", "*author", "*message", "*embed", "*dry_run", "*scope"],
    "state": [
        "subject",
        "predicate",
        "object",
        "*graph",
        "*valid_from",
        "*valid_to",
        "*cites",
        "*confidence",
        "*supersede",
        "*author",
        "*message",
        "*embed",
        "*dry_run",
    ],
    "end": ["quad", "*at", "*reason", "*author", "*dry_run"],
    "reinstate": ["quad", "*author", "*message", "*embed", "*dry_run"],
    "timeline": ["iri"],
    "tree": ["of", "*parent", "*matching", "*offset", "*limit", "*language", "*graphs"],
    "members": ["of", "*where", "*subclasses", "*facet", "*offset", "*limit", "*language", "*graphs"],
    "moving": ["iri", "to", "*of", "*away"],
    "due": [],
    "carry_out": ["*author", "*message", "*embed", "*dry_run"],
    "as_of": ["time"],
    "duplicates": ["*types", "*where", "*graphs", "*between", "*score", "*limit", "*keep", "*again"],
    "decisions": [],
    "report": ["*after", "*points"],
    "chunk": ["id", "*around"],
    "mint": ["label", "*type", "*key"],
    "labels": ["iris", "*language"],
    "form": ["iri", "*types", "*language"],
    "edit": ["*add", "*remove", "*base", "*author", "*message", "*embed", "*dry_run"],
    "propose_mapping": ["tables", "*base"],
    "sync": ["name", "*again", "*author", "*message", "*embed", "*progress", "*dry_run"],
    "contradictions": ["*suggested", "*kinds", "*author", "*entity", "*graphs", "*after", "*limit"],
    "validate": ["*subjects", "*shapes", "*timeout"],
    "mentions": ["text", "*types", "*where", "*graphs"],
    "link_texts": ["*types", "*score", "*propose", "*author", "*message", "*embed", "*dry_run"],
    "suggest_links": ["*types", "*where", "*graphs", "*predicates", "*limit", "*score"],
    "verify": ["claim", "*extract", "*at", "*graphs"],
    "update": [
        "text",
        "*bindings",
        "*union",
        "*using_graphs",
        "*using_named_graphs",
        "*author",
        "*message",
        "*embed",
        "*timeout",
        "*max_quads",
        "*allow_network",
        "*allow_files",
        "*dry_run",
    ],
    "quads": ["subject", "predicate", "object", "graph"],
    "count": ["subject", "predicate", "object", "graph", "*triples"],
    "graphs": [],
    "to_rdflib": ["*triple_terms"],
    "refresh": [],
    "interruptible": [],
    "memory": ["*scope"],
}
PROPERTIES = {
    "default_graph",
    "driver",
    "embedder",
    "entailed",
    "guard",
    "path",
    "pattern_timeout",
    "policy",
    "prefixes",
    "questions",
    "rules",
    "replica",
    "retention",
    "revisions",
    "scope",
    "view",
    "shapes",
    "sources",
}

HEAVY = {
    "click",
    "huggingface_hub",
    "onnx",
    "onnxruntime",
    "pandas",
    "rdflib",
    "rich",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "tokenizers",
    "torch",
    "transformers",
    "typer",
}


# --- names ------------------------------------------------------------------------------------------------------------


def test_the_public_names_are_these() -> None:
    assert worlds.__all__ == ALL
    assert sorted(ALL) == ALL
    for name in ALL:
        assert hasattr(worlds, name)


def test_every_error_is_public_and_no_other() -> None:
    errors = {
        name
        for name, value in vars(worlds.errors).items()
        if isinstance(value, type) and issubclass(value, worlds.WorldsError) and not name.startswith("_")
    }
    assert errors == {name for name in ALL if name.endswith(("Error", "Timeout"))}
    tree = inspect.getdoc(worlds.errors) or ""
    assert all(name in tree for name in errors), "the tree at the top of errors.py has every error"


def test_the_verbs_of_a_world_are_these() -> None:
    found = {
        name: [shown(parameter) for parameter in list(inspect.signature(value).parameters.values())[1:]]
        for name, value in public_members(worlds.World)
        if inspect.isfunction(value)
    }
    assert found == VERBS


def shown(parameter: inspect.Parameter) -> str:
    kind = parameter.kind
    return ("*" if kind is kind.KEYWORD_ONLY else "**" if kind is kind.VAR_KEYWORD else "") + parameter.name


def test_the_properties_of_a_world_are_these() -> None:
    found = {name for name, value in public_members(worlds.World) if isinstance(value, property)}
    assert found == PROPERTIES
    with worlds.open(embedder=None) as world:
        assert all(name.startswith("_") for name in vars(world))


def test_options_of_open_are_keywords() -> None:
    assert [shown(parameter) for parameter in inspect.signature(worlds.open).parameters.values()] == [
        "path",
        "*embedder",
        "*read_only",
        "*create",
        "*vector_index",
        "*sparql_index",
        "*durability",
        "*timeout",
        "*encryption_key",
        "*driver",
        "*replica",
        "*token",
        "*max_staleness",
        "*search",
    ]


# --- documents --------------------------------------------------------------------------------------------------------


def public_members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class and its bases in this package define under public names."""
    for base in cls.__mro__:
        if base.__module__.startswith("worlds"):
            for name, value in vars(base).items():
                if not name.startswith("_"):
                    yield name, value


def documented(value: Any) -> bool:
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif not (inspect.isfunction(value) or isinstance(value, type)):
        value = getattr(value, "func", None)  # a cached_property
        if value is None:
            return True  # data
    text = value.__doc__ or ""
    # A dataclass without a docstring gets its signature as one.
    return bool(text.strip()) and not text.startswith(f"{value.__name__}(")


@pytest.mark.parametrize("name", ALL)
def test_every_public_class_function_and_method_has_a_docstring(name: str) -> None:
    value = getattr(worlds, name)
    assert documented(value)
    if isinstance(value, type):
        missing = [member for member, defined in public_members(value) if not documented(defined)]
        assert not missing


def test_a_missing_docstring_is_seen() -> None:
    def bare() -> None:
        pass

    class Bare:
        kept = property(lambda self: 1)

    assert not documented(bare)
    assert not documented(Bare)
    assert not documented(vars(Bare)["kept"])


def all_modules() -> list[types.ModuleType]:
    names = [found.name for found in pkgutil.walk_packages(worlds.__path__, "worlds.")]
    return [worlds, *(importlib.import_module(name) for name in names if name != "worlds.__main__")]


def test_the_examples_in_docstrings_run() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    attempted = {}
    for module in all_modules():
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        for test in finder.find(module, module.__name__):
            if test.examples:
                test.globs["worlds"] = worlds
                runner.run(test)
        assert runner.failures == 0, module.__name__
        attempted[module.__name__] = runner.tries
    assert len(attempted) > 20, "all modules were looked at"
    assert attempted["worlds"] > 0


# --- importing --------------------------------------------------------------------------------------------------------

MEASURE = """
import json, sys, time
before = time.process_time()
import {module}
print(json.dumps([time.process_time() - before, sorted({{name.partition(".")[0] for name in sys.modules}})]))
"""


def measured(module: str) -> tuple[float, set[str]]:
    """Seconds of CPU that importing a module takes in a process of its own, and the packages that it brings."""
    script = MEASURE.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    seconds, packages = json.loads(done.stdout)
    return seconds, set(packages)


def test_importing_the_engine_is_quick_and_brings_nothing_heavy() -> None:
    seconds, packages = min(measured("worlds.world") for _ in range(3))
    assert packages >= {"numpy", "pyoxigraph"}
    assert not packages & HEAVY
    assert seconds < 1.0, "it takes a quarter of that on an idle machine"


def test_importing_the_command_line_brings_neither_rdflib_nor_torch() -> None:
    _, packages = measured("worlds.doors.cli.commands")
    assert not packages & (HEAVY - {"click", "rich", "typer"})


def test_a_world_without_rdflib_terms_does_not_import_rdflib() -> None:
    script = """
import sys, worlds
with worlds.open(embedder=None) as world:
    world.add([("urn:s", "urn:p", 1)])
    world.query("ASK { ?s ?p 1 }")
    world.stats(), world.check()
print("rdflib" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "False\n"
