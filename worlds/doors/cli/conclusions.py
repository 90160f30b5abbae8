"""The commands of conclusions: rules use, rules add, rules load, rules remove, rules list, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from worlds.doors.cli.ask import read_stdin
from worlds.doors.cli.command import command
from worlds.doors.cli.options import given
from worlds.doors.cli.terminal import waiting

if TYPE_CHECKING:
    from worlds.extras.conclusions.ruling import RulesInUse
    from worlds.world import World


@command(
    None,
    given("[SET]…", "rdfs, rdfs+, owl-rl or skos; none without any.", name="sets"),
    given("--graph -g IRI...", "Read only this graph; may be repeated.", name="graphs"),
    name="rules use",
    writes=True,
    examples=("worlds rules use kb.db rdfs+", "worlds rules use kb.db"),
)
def use(world: World, sets: list[str] | None, *, graphs: list[str] | None) -> RulesInUse:
    """Set the rule sets; their conclusions are kept in step with every write, beside the quads.

    The rules of the world's own stay. `--entailed` answers with what follows, `worlds why` explains it.
    """
    with waiting("concluding"):
        return world.rules.use(sets or (), graphs=graphs)


@command(
    None,
    given("NAME", "The name of the rule.", name="rule"),
    given("CONSTRUCT", "A SPARQL CONSTRUCT; - is standard input.", name="construct"),
    name="rules add",
    writes=True,
    examples=(
        "worlds rules add kb.db uncle 'CONSTRUCT { ?x ex:uncle ?z } WHERE { ?x ex:parent ?y . ?y ex:brother ?z }'",
    ),
)
def add(world: World, rule: str, construct: str) -> RulesInUse:
    """Add a rule of the world's own, or put it in the place of the one of its name.

    Its pattern has triples, FILTERs, FILTER NOT EXISTS and MINUS alone, and it makes no new terms.
    """
    with waiting("concluding"):
        return world.rules.add(rule, read_stdin() if construct == "-" else construct)


@command(
    None,
    given("FILE", "A file of shapes.", name="file"),
    name="rules load",
    writes=True,
    examples=("worlds rules load kb.db shapes.ttl",),
)
def load(world: World, file: str) -> RulesInUse:
    """Add the SPARQL rules of a file of SHACL shapes: sh:rule with sh:SPARQLRule.

    A rule is named after itself or its shape; its conditions are the same as those of `worlds rules add`.
    """
    with waiting("concluding"):
        return world.rules.load(file)


@command(
    None,
    given("NAME", "The name of the rule.", name="rule"),
    name="rules remove",
    writes=True,
    examples=("worlds rules remove kb.db uncle",),
)
def remove(world: World, rule: str) -> RulesInUse:
    """Remove a rule of the world's own."""
    with waiting("concluding"):
        return world.rules.remove(rule)


@command(None, name="rules list", examples=("worlds rules list kb.db",))
def listed(world: World) -> RulesInUse:
    """Show the rules that the world goes by, and the number of its conclusions."""
    return world.rules.list()


@command(
    None,
    given("SUBJECT", "The subject: an IRI, or a prefixed name.", name="subject"),
    given("PREDICATE", "The predicate.", name="predicate"),
    given("OBJECT", "The object: an IRI, a prefixed name, or a literal as in N-Triples.", name="object"),
    given("--graph -g IRI", 'In this graph; "default" is the default graph.'),
    examples=("worlds why kb.db ex:Ann rdf:type ex:Person",),
)
def why(world: World, subject: str, predicate: str, object: str, *, graph: str | None, json: bool) -> Any:
    """Show why a quad holds: the rule and its premises, down to quads that are written, with their authors."""
    proof = world.rules.why((subject, predicate, object, *(() if graph is None else (graph,))))
    if json:
        return proof
    typer.echo(str(proof))
    return None
