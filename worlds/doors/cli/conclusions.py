"""The commands of conclusions: rules use, add, load, remove, list, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worlds.doors.cli.ask import read_stdin
from worlds.doors.cli.command import command
from worlds.doors.cli.options import given

if TYPE_CHECKING:
    from worlds.extras.conclusions.ruling import RulesInUse
    from worlds.world import World

_WRITES: dict[str, Any] = {"writes": True, "waiting": "concluding"}
_NAME = given("NAME", "The name of the rule.", name="rule")


@command(
    "rules.use",
    given("[SET]…", "rdfs, rdfs+, owl-rl or skos; none without any.", name="sets"),
    given("--graph -g IRI...", "Read only this graph; may be repeated.", name="graphs"),
    **_WRITES,
)
def use(world: World, sets: list[str] | None, *, graphs: list[str] | None) -> RulesInUse:
    """Set the rule sets; their conclusions are kept in step with every write, beside the quads.

    The rules of the world's own stay. `--entailed` answers with what follows, `worlds rules why` explains it.

    $ worlds rules use kb.db rdfs+
    $ worlds rules use kb.db
    """
    return world.rules.use(sets or (), graphs=graphs)


@command(
    "rules.add", _NAME, given("CONSTRUCT", "A SPARQL CONSTRUCT; - is standard input.", name="construct"), **_WRITES
)
def add(world: World, rule: str, construct: str) -> RulesInUse:
    """Add a rule of the world's own, or put it in the place of the one of its name.

    Its pattern has triples, FILTERs, FILTER NOT EXISTS and MINUS alone, and it makes no new terms.

    $ worlds rules add kb.db uncle 'CONSTRUCT { ?x ex:uncle ?z } WHERE { ?x ex:parent ?y . ?y ex:brother ?z }'
    """
    return world.rules.add(rule, read_stdin() if construct == "-" else construct)


@command("rules.load", given("FILE", "A file of shapes.", name="source"), **_WRITES)
def load() -> None:
    """Add the SPARQL rules of a file of SHACL shapes: sh:rule with sh:SPARQLRule.

    A rule is named after itself or its shape; its conditions are the same as those of `worlds rules add`.

    $ worlds rules load kb.db shapes.ttl
    """


@command("rules.remove", given("NAME", "The name of the rule.", name="name"), **_WRITES)
def remove() -> None:
    """Remove a rule of the world's own.

    $ worlds rules remove kb.db uncle
    """


@command("rules.list")
def listed() -> None:
    """Show the rules that the world goes by, and the number of its conclusions.

    $ worlds rules list kb.db
    """


@command(
    "rules.why",
    given("SUBJECT", "The subject: an IRI, or a prefixed name.", name="subject"),
    given("PREDICATE", "The predicate.", name="predicate"),
    given("OBJECT", "The object: an IRI, a prefixed name, or a literal as in N-Triples.", name="object"),
    given("--graph -g IRI", 'In this graph; "default" is the default graph.'),
)
def why(world: World, subject: str, predicate: str, object: str, *, graph: str | None) -> Any:
    """Show why a quad holds: the rule and its premises, down to quads that are written, with their authors.

    $ worlds rules why kb.db ex:Ann rdf:type ex:Person
    """
    return world.rules.why((subject, predicate, object, *(() if graph is None else (graph,))))
