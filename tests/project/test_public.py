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
import worlds.records
from worlds.verbs.table import ROOMS

ALL = [
    "AsyncWorld",
    "ConflictError",
    "Embedder",
    "EmbedderError",
    "FallbackEmbedder",
    "FilterError",
    "Group",
    "IntegrityError",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "OpenError",
    "ParseError",
    "QueryError",
    "QueryTimeout",
    "Ranking",
    "ReadOnlyError",
    "SchemaError",
    "SentenceTransformerEmbedder",
    "ShapesError",
    "UncertainError",
    "ValidationError",
    "World",
    "WorldsError",
    "aopen",
    "compare",
    "group",
    "open",
    "restore",
]
RECORDS = [
    "Answer",
    "Brief",
    "BrokenQuestion",
    "Change",
    "CheckReport",
    "ChunkSize",
    "Comparison",
    "Context",
    "Decision",
    "Description",
    "Diff",
    "DueFact",
    "Duplicate",
    "Edits",
    "Entries",
    "Entry",
    "Explanation",
    "FileProblem",
    "Finding",
    "Findings",
    "Forgotten",
    "Form",
    "Hit",
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
    "Passage",
    "Proof",
    "Proposal",
    "Provenance",
    "Questions",
    "Recalled",
    "Receipt",
    "Remembered",
    "Resolution",
    "Retained",
    "Retention",
    "RulesInUse",
    "Schema",
    "SearchResults",
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
    "ValidationReport",
    "Verification",
    "Why",
    "WorldReport",
    "WorldSource",
    "prove",
]

VERBS = {
    "add": ["quads", "*author", "*message", "*embed", "*dry_run"],
    "sources.add_document": [
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
    "revisions.apply": [
        "source",
        "*strict",
        "*three_way",
        "*max_unpacked",
        "*author",
        "*message",
        "*embed",
        "*dry_run",
    ],
    "at": ["revision"],
    "file.backup": ["path"],
    "bind": ["prefix", "iri"],
    "check": [],
    "close": [],
    "file.compact": [],
    "file.build_vector_index": ["*progress"],
    "file.drop_vector_index": [],
    "questions.brief": ["question", "*budget", "*graphs"],
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
    "curation.merge": ["kept", "others", "*redirect", "*conflicts", "*author", "*message", "*dry_run"],
    "curation.split": ["revision", "*author", "*message", "*dry_run"],
    "proposals.add": [
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
    "proposals.list": ["*status", "*author", "*entity", "*kind", "*minimum", "*limit", "*after"],
    "proposals.get": ["id"],
    "proposals.amend": ["id", "*add", "*remove", "*update", "*why", "*confidence", "*author", "*own", "*max_quads"],
    "proposals.accept": ["id", "*reviewer", "*why", "*version", "*force", "*dry_run"],
    "proposals.accept_all": ["ids", "*reviewer", "*why", "*force"],
    "proposals.reject": ["id", "why", "*reviewer"],
    "proposals.reject_all": ["ids", "why", "*reviewer"],
    "entities.neighbourhood": ["iri", "*hops", "*limit", "*graphs"],
    "only": ["*graphs"],
    "entities.paths": ["start", "end", "*hops", "*limit", "*graphs"],
    "diff": ["a", "b"],
    "embed": ["*rebuild", "*embedder", "*progress"],
    "explain": ["query", "*bindings", "*union", "*timeout", "*allow_network", "*counts", "*answer", "*progress"],
    "export": ["target", "*format", "*graph", "*table"],
    "file.publish": ["target", "*scheme", "*title", "*language"],
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
    "revisions.provenance": ["subject", "predicate", "object", "graph"],
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
    "revisions.patch": ["a", "b"],
    "revisions.prune": ["before"],
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
    "entities.resolve_all": ["names", "*types", "*where", "*graphs", "*limit"],
    "search_sql": ["text", "**options"],
    "shapes.set_guard": ["setting", "*partly"],
    "entities.similar": ["iri", "*limit", "**options"],
    "stats": [],
    "transaction": ["*author", "*message", "*base", "*guard"],
    "undo": ["revision", "*force", "*author", "*message", "*dry_run"],
    "proposals.add_all": ["findings", "*author", "*follow"],
    "curation.distinct": ["a", "b", "*graph", "*author", "*message", "*dry_run"],
    "facts.tell": ["facts", "*graph", "*context", "*vocabulary", "*author", "*message", "*embed", "*dry_run", "*scope"],
    "facts.state": [
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
    "facts.end": ["quad", "*at", "*reason", "*author", "*dry_run"],
    "facts.reinstate": ["quad", "*author", "*message", "*embed", "*dry_run"],
    "facts.timeline": ["iri"],
    "entities.tree": ["of", "*parent", "*matching", "*offset", "*limit", "*language", "*graphs"],
    "entities.members": ["of", "*where", "*subclasses", "*facet", "*offset", "*limit", "*language", "*graphs"],
    "entities.moving": ["iri", "to", "*of", "*away"],
    "facts.due": [],
    "facts.carry_out": ["*author", "*message", "*embed", "*dry_run"],
    "as_of": ["time"],
    "curation.duplicates": ["*types", "*where", "*graphs", "*between", "*score", "*limit", "*keep", "*again"],
    "curation.decisions": [],
    "curation.report": ["*after", "*points"],
    "sources.chunk": ["id", "*around"],
    "entities.mint": ["label", "*type", "*key"],
    "labels": ["iris", "*language"],
    "entities.form": ["iri", "*types", "*language"],
    "edit": ["*add", "*remove", "*base", "*author", "*message", "*embed", "*dry_run"],
    "sources.mappings": ["tables", "*base"],
    "sources.sync": ["name", "*again", "*author", "*message", "*embed", "*progress", "*dry_run"],
    "curation.contradictions": ["*suggested", "*kinds", "*author", "*entity", "*graphs", "*after", "*limit"],
    "shapes.validate": ["*subjects", "*shapes", "*timeout"],
    "entities.mentions": ["text", "*types", "*where", "*graphs"],
    "curation.link_texts": ["*types", "*score", "*propose", "*author", "*message", "*embed", "*dry_run"],
    "curation.links": ["*types", "*where", "*graphs", "*predicates", "*limit", "*score"],
    "curation.verify": ["claim", "*extract", "*at", "*graphs"],
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
    "memory": ["*scope"],
}
PROPERTIES = {
    *("driver", "embedder", "entailed", "path", "policy", "prefixes", "replica"),
    *("curation", "entities", "facts", "file", "proposals", "questions", "revisions", "rules", "shapes", "sources"),
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
    assert worlds.records.__all__ == RECORDS
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
        for name, value in verbs_of_a_world()
    }
    assert found == VERBS


def test_a_world_has_at_most_40_names_beside_its_rooms() -> None:
    names = {name for name, _ in public_members(worlds.World)}
    assert len(names - ROOMS - {"memory"}) <= 40


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


def verbs_of_a_world() -> Iterator[tuple[str, Any]]:
    """The methods of `World`, and those of its rooms as "room.method"."""
    yield from ((name, value) for name, value in public_members(worlds.World) if inspect.isfunction(value))
    with worlds.open(embedder=None) as world:
        for room in sorted(ROOMS - {"rules"}):
            for name, value in vars(type(getattr(world, room))).items():
                if inspect.isfunction(value) and not name.startswith("_"):
                    yield f"{room}.{name}", value


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


@pytest.mark.parametrize("name", [*ALL, *RECORDS])
def test_every_public_class_function_and_method_has_a_docstring(name: str) -> None:
    value = getattr(worlds if name in ALL else worlds.records, name)
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
