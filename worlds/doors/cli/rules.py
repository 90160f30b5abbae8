"""The commands of shapes, of rules, and of kept questions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import AUTHOR, EMBEDDER, ENTAILED, FORMAT, MESSAGE, announced, from_stdin, given, mode
from worlds.doors.cli.show import print_table
from worlds.doors.cli.terminal import note, print_text, waiting, write_json

if TYPE_CHECKING:
    from worlds.world import World

_SHOWN = 20  # results of a validation, for people
_CONCLUDES: dict[str, Any] = {"writes": True, "waiting": "concluding"}


@command(
    "shapes.validate",
    given("[SHAPES]", "A file of SHACL shapes; else the world's own, see `worlds shapes load`.", show_default=True),
    given("--limit -n N", f"The most results; by default {_SHOWN}, and all with --json or --turtle.", int, min=1),
    ENTAILED,
    given("--turtle", "Print the report as a SHACL graph in Turtle."),
)
def validate(world: World, shapes: str | None, *, limit: int | None, turtle: bool, json: bool, **given: Any) -> None:
    """The exit code is 1 if they do not conform, or a shape cannot be checked.

    $ worlds shapes validate kb.db shapes.ttl
    $ worlds shapes validate kb.db --turtle
    """
    with waiting("validating"):
        found = world.shapes.validate(shapes=shapes, **given)
    if json:
        write_json(found.to_dict())
    elif turtle:
        typer.echo(found.triples.serialize("turtle"))
    elif found.conforms:
        print_text("the data conform")
    else:
        columns = ("severity", "focus node", "path", "value", "message", "revision")
        rows = found.rows()
        print_table(columns, rows[: limit or _SHOWN])
        if len(rows) > (limit or _SHOWN):
            note(f"and {len(rows) - (limit or _SHOWN):,} more: --limit shows more, --json all")
    for one in () if json else (*found.left_out, *found.notes):
        note(str(one))
    if not found:
        raise typer.Exit(NO)


@command("shapes.show", FORMAT)
def shown(world: World, *, format: str | None, json: bool) -> Any:
    """Print the shapes of a world as Turtle, or in another format.

    They are the graph <urn:worlds:shapes>, which is no text and in no union.

    $ worlds shapes show kb.db
    """
    kept = world.shapes
    text = kept.serialize(format or "turtle")
    if json:
        return {"triples": len(kept), "shapes": text, "left_out": kept.left_out}
    sys.stdout.write(text)
    for one in kept.left_out:
        note(str(one))
    return None


@command(
    "shapes.load",
    given("SHAPES...", "Files, folders, globs or - of SHACL shapes.", name="source", callback=announced),
    given("--replace", "Replace the present shapes.", name="mode", callback=mode),
    *(FORMAT, AUTHOR, MESSAGE),
    writes=True,
    waiting="loading",
)
def load_shapes() -> None:
    """Load SHACL shapes, which `shapes validate` and `shapes guard` then go by.

    Shapes that cannot be checked are left out, and named with the reason; if there are no others, they are refused.

    $ worlds shapes load kb.db shapes.ttl
    $ worlds shapes load kb.db new.ttl --replace
    """


@command(
    "shapes.set_guard",
    given("[SETTING]", "off, warn, queue or reject; without it the guard is shown."),
    writes="setting",
)
def guard(world: World, setting: str | None, **given: Any) -> dict[str, str]:
    """Without a setting, the present one is shown.

    "warn" keeps it and says so, "queue" makes it a proposal, "reject" refuses it. What was violated before counts for
    nothing. It is refused where a shape cannot be checked, unless it goes by the others (--partly).

    $ worlds shapes guard kb.db reject
    $ worlds shapes guard kb.db
    """
    if setting is not None:
        world.shapes.set_guard(setting, **given)  # type: ignore[arg-type]  # it complains
    return {"guard": world.shapes.guard}


# -- rules -----------


@command(
    "rules.use",
    given("[SET]…", "rdfs, rdfs+, owl-rl or skos; none without any.", name="sets"),
    given("--graph -g IRI...", "Read only this graph; may be repeated.", name="graphs"),
    **_CONCLUDES,
)
def use() -> None:
    """Set the rule sets; their conclusions are kept in step with every write, beside the quads.

    The rules of the world's own stay. `--entailed` answers with what follows, `worlds rules why` explains it.

    $ worlds rules use kb.db rdfs+
    $ worlds rules use kb.db
    """


@command(
    "rules.add",
    given("NAME", "The name of the rule."),
    given("CONSTRUCT", "A SPARQL CONSTRUCT; - is standard input.", callback=from_stdin),
    **_CONCLUDES,
)
def add() -> None:
    """Add a rule of the world's own, or put it in the place of the one of its name.

    Its pattern has triples, FILTERs, FILTER NOT EXISTS and MINUS alone, and it makes no new terms.

    $ worlds rules add kb.db uncle 'CONSTRUCT { ?x ex:uncle ?z } WHERE { ?x ex:parent ?y . ?y ex:brother ?z }'
    """


@command("rules.load", given("FILE", "A file of shapes.", name="source"), **_CONCLUDES)
def load() -> None:
    """Add the SPARQL rules of a file of SHACL shapes: sh:rule with sh:SPARQLRule.

    A rule is named after itself or its shape; its conditions are the same as those of `worlds rules add`.

    $ worlds rules load kb.db shapes.ttl
    """


@command("rules.remove", given("NAME", "The name of the rule."), **_CONCLUDES)
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
    given("SUBJECT", "The subject: an IRI, or a prefixed name."),
    given("PREDICATE", "The predicate."),
    given("OBJECT", "The object: an IRI, a prefixed name, or a literal as in N-Triples."),
    given("--graph -g IRI", 'In this graph; "default" is the default graph.'),
)
def why(world: World, subject: str, predicate: str, object: str, *, graph: str | None) -> Any:
    """Show why a quad holds: the rule and its premises, down to quads that are written, with their authors.

    $ worlds rules why kb.db ex:Ann rdf:type ex:Person
    """
    return world.rules.why((subject, predicate, object, *(() if graph is None else (graph,))))


@command(
    "questions.list", FORMAT, empty="no questions are kept: `worlds questions add WORLD QUESTION SPARQL` keeps one"
)
def questions(world: World, *, format: str | None, json: bool) -> Any:
    """List the questions that are kept with their queries, or print them as RDF.

    `context` and `questions brief` answer by the query of the same question, and show those that are near. The
    questions are the graph <urn:worlds:questions>, which is no text and in no union.

    $ worlds questions list kb.db
    $ worlds questions list kb.db --format turtle
    """
    if json or not format:
        return world.questions.kept
    sys.stdout.write(world.questions.serialize(format))
    return None


@command(
    "questions.load",
    given("FILE...", "Files and folders of questions: .rq files, and RDF.", name="source", callback=announced),
    given("--replace", "Replace all kept questions.", name="mode", callback=mode),
    *(FORMAT, AUTHOR, MESSAGE),
    writes=True,
    waiting="loading",
)
def load_questions() -> None:
    """Keep the questions of files: grlc's .rq files, and SPARQL examples as the SIB has them.

    $ worlds questions load kb.db examples/
    """


@command(
    "questions.add",
    given("QUESTION", "The question."),
    given("SPARQL", "Its query; - is standard input.", name="query", callback=from_stdin),
    given("--description TEXT", "A description of the question."),
    *(AUTHOR, MESSAGE),
    writes=True,
)
def add_question() -> None:
    """Keep a question with its query.

    $ worlds questions add kb.db 'Who works at Acme?' 'SELECT ?p { ?p ex:worksAt ex:acme }'
    """


@command("questions.remove", given("QUESTION", "The question, by its text or its IRI."), AUTHOR, MESSAGE, writes=True)
def remove_question() -> None:
    """Remove a kept question.

    $ worlds questions remove kb.db 'Who works at Acme?'
    """


@command("questions.near", given("QUESTION", "A question."), EMBEDDER, empty="no questions are kept")
def near() -> None:
    """Show the kept questions nearest to a question.

    $ worlds questions near kb.db 'staff of Acme'
    """


@command("questions.check", waiting="asking", empty="none is broken", fails=bool)
def check() -> None:
    """Run the queries of all kept questions, and list the broken ones. The exit code is 1 if there are any.

    $ worlds questions check kb.db
    """
