"""Random values with an oracle for what no test of the suite draws at random; each takes a seed and asserts."""

from __future__ import annotations

import random
import shutil
import string
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import worlds
from tests.support.oracles import BASE, VALUES, requests
from worlds.graph.terms import XSD

_WIDE = (1, 7, 255, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 + 3, 10**18, 10**19 + 1, 10**40)


def _drawn(chance: random.Random) -> tuple[str, Fraction]:
    """A number as SPARQL has it, and its value."""
    whole = chance.choice(_WIDE) + chance.choice((-1, 0, 0, 1))
    text = f"{chance.choice(('', '-'))}{whole}"
    if chance.random() < 0.4:
        text += f".{chance.choice(('0', '5', '25', '000000000000000001', '1234567890123456789012345'))}"
        return f'"{text}"^^<{XSD}decimal>', Fraction(text)
    return f'"{text}"^^<{XSD}integer>', Fraction(text)


def count_exactly(seed: int) -> None:
    """Sums, products, comparisons, aggregates and the order of numbers of any width are those of fractions."""
    chance = random.Random(seed)
    names = chance.sample("abcdefghijklmnopqtuwxyz", 3)
    numbers = [_drawn(chance) for _ in names]

    def expression(depth: int) -> tuple[str, Fraction]:
        if not depth or chance.random() < 0.2:
            at = chance.randrange(len(names))
            return f"?{names[at]}", numbers[at][1]
        (one, left), (other, right) = expression(depth - 1), expression(depth - 1)
        sign = chance.choice("+-*")
        value = {"+": left + right, "-": left - right, "*": left * right}[sign]
        return f"({one} {sign} {other})", value

    (one, left), (other, right) = expression(2), expression(2)
    sign = chance.choice(("=", "!=", "<", ">", "<=", ">="))
    test = {"=": left == right, "!=": left != right, "<": left < right, ">": left > right, "<=": left <= right,
            ">=": left >= right}[sign]  # fmt: skip
    values = [value for _, value in numbers]
    lines = "".join(f"<urn:{name}> <urn:v> {text} .\n" for name, (text, _) in zip(names, numbers, strict=True))
    triples = " ".join(f"<urn:{name}> <urn:v> ?{name} ." for name in names)
    listed = f"VALUES ({' '.join(f'?{name}' for name in names)}) {{ ({' '.join(text for text, _ in numbers)}) }}"
    with worlds.open(embedder=None) as world:
        world.load(lines.encode(), format="turtle")
        for where in (triples, listed):
            wanted: list[tuple[str, Any]] = [
                (f"SELECT ?r {{ {where} BIND({one} AS ?r) }}", [left]),
                (f"SELECT ?r {{ {where} BIND(IF({one} {sign} {other}, 1, 0) AS ?r) }}", [Fraction(test)]),
                (f"SELECT (1 AS ?r) {{ {where} FILTER({one} {sign} {other}) }}", [Fraction(1)] * test),
            ]
            if where is triples:
                wanted += [
                    ("SELECT ?r { ?s <urn:v> ?r } ORDER BY ?r", sorted(values)),
                    ("SELECT (SUM(?v) AS ?r) { ?s <urn:v> ?v }", [sum(values)]),
                    ("SELECT (MAX(?v) AS ?r) { ?s <urn:v> ?v }", [max(values)]),
                    ("SELECT (MIN(?v) AS ?r) { ?s <urn:v> ?v }", [min(values)]),
                ]
            for query, want in wanted:
                found: Any = world.query(query)
                assert [Fraction(str(row.r)) if row.r is not None else None for row in found] == want, (query, lines)


def name_variables(seed: int) -> None:
    """The tables of operators and functions hold with variables of any names."""
    from tests.sparql.test_expressions import test_the_tables_hold_whatever_the_variables_are_called as held

    held("".join(random.Random(seed).sample(string.ascii_letters + "_", 4)))


def write_forms(seed: int) -> None:
    """A literal is shown, and passed on by an update, in the one form that stands in a quad now."""
    chance = random.Random(seed)
    forms = [("integer", text) for text in ("1", "01", "+1", "001", "-0", "0")]
    forms += [("decimal", text) for text in ("1.50", "1.5", "+1.5", "01.500")] + [("boolean", "1"), ("boolean", "true")]
    forms += [("dateTime", f"2020-01-01T00:00:00{more}") for more in ("Z", "+00:00", ".000Z")]
    value = {text: chance.random() for _, text in forms}
    for same in (("1", "01", "+1", "001"), ("-0", "0"), ("1.50", "1.5", "+1.5", "01.500")):
        value |= dict.fromkeys(same, value[same[0]])
    value |= dict.fromkeys([text for _, text in forms if "T" in text], 2.0)
    key = {one: (one[0], 3.0 if one[0] == "boolean" else value[one[1]]) for one in forms}
    held: set[tuple[str, tuple[str, str]]] = set()
    with tempfile.TemporaryDirectory() as folder:
        world = worlds.open(path := Path(folder) / "w.db", embedder=None)
        try:
            for _ in range(12):
                what, subject, one = (
                    chance.choice(["add"] * 4 + ["remove"] * 4 + ["undo", "compact", "open"]),
                    "",
                    ("", ""),
                )
                if what == "remove" and held:
                    subject, one = chance.choice(sorted(held))
                elif what == "add":
                    subject, one = f"urn:{chance.choice('abc')}", chance.choice(forms)
                if one[1]:
                    change = getattr(world, what)([(subject, "urn:p", f'"{one[1]}"^^<{XSD}{one[0]}>')])
                    before = set(held)
                    held = held | {(subject, one)} if what == "add" else held - {(subject, one)}
                    if change.revision is not None and chance.random() < 0.2:
                        world.undo(change.revision)
                        held = before
                elif what == "compact":
                    world.file.compact()
                elif what == "open":
                    world.close()
                    world = worlds.open(path, embedder=None)
                by_value: dict[Any, set[str]] = {}
                for _, form in held:
                    by_value.setdefault(key[form], set()).add(form[1])
                with world.transaction():
                    world.update("INSERT { ?s <urn:q> ?n } WHERE { ?s <urn:p> ?n }")
                    passed = {(str(s), str(o)) for s, _, o, _ in world.quads(None, "urn:q")}
                    world.update("DELETE WHERE { ?s <urn:q> ?n }")
                found: Any = world.query("SELECT ?s ?n { ?s <urn:p> ?n }")
                shown = {(str(row.s), str(row.n)) for row in found}
                for subject, form in held:
                    if len(by_value[key[form]]) == 1:
                        assert (subject, form[1]) in shown & passed, (form, held, shown, passed)
        finally:
            world.close()


def mutate_shapes(seed: int) -> None:
    """Whatever shapes hold, a validation gives a report or an error of worlds', in time."""
    from tests.shapes.test_fuzzed_shapes import DATA, run
    from tests.shapes.test_validate import PREFIXES

    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + DATA).encode(), format="turtle")
        for more in range(2):
            run(world, seed + more)


def ask_what_is_hidden(seed: int) -> None:
    """Requests that name what a key may not read, in several places at once, are answered as of what is nowhere."""
    from tests.server.test_oracles import ELSEWHERE, asked, told, worlds_of

    chance = random.Random(seed)
    seen = worlds_of(chance.random() < 0.5)
    least = {operation.name: (operation, given) for operation, given in reversed(list(requests()))}
    for _ in range(20):
        operation, given = chance.choice(list(least.values()))
        if operation.name in ELSEWHERE:
            continue
        given = dict(given)
        places = [one for one in (*operation.parameters, *(operation.fields or ())) if one.name in VALUES]
        for place in chance.sample(places, min(len(places), chance.randint(1, 4))):
            value = chance.choice([*VALUES[place.name], *([BASE[place.name]] if place.name in BASE else [])])
            given[place.name] = str(value[0] if isinstance(value, list) else value) if place.kind == "text" else value
        if operation.name == "query" and "query" not in given:
            continue
        name, options = asked(operation, given)
        one, other = (told(world, name, options) for world in seen)
        assert one == other, (name, given, one, other)


def open_a_gift(seed: int) -> None:
    """A stranger's file, however its sources and values were changed, makes whoever opens it read nothing."""
    from tests.sources import test_trust

    chance = random.Random(seed)
    port = chance.randrange(20_000, 30_000)
    with tempfile.TemporaryDirectory() as folder:
        made, bait, path = Path(folder) / "made.db", Path(folder) / "bait", Path(folder) / "gift.db"
        test_trust.gift(made, port, bait)
        shutil.copy(made, path)
        for _ in range(chance.randrange(4)):
            column, key = (
                chance.choice(("options", "state")),
                chance.choice(
                    (
                        "trusted",
                        "trust",
                        "hosts",
                        "edits",
                        "patterns",
                        "embedder",
                        "password_variable",
                        "mapping",
                        "shapes",
                    )
                ),
            )
            value = chance.choice(
                ("true", '["*"]', '["127.0.0.1"]', f'"{bait}/a.md"', f'"http://127.0.0.1:{port}/"', "{}")
            )
            test_trust.changed(path, f"{column} = json_set({column}, '$.{key}', json('{value}'))")
        if chance.random() < 0.5:
            kind, place = (
                chance.choice(("documents", "rdf", "tables", "web", "graph")),
                chance.choice(
                    (
                        str(bait),
                        f"{bait}/a.md",
                        f"file://{bait}/a.md",
                        f"http://127.0.0.1:{port}/v.csv",
                        f"//127.0.0.1:{port}/x",
                    )
                ),
            )
            test_trust.changed(path, f"kind = '{kind}', place = '{place}' || CASE name WHEN 'v' THEN '' ELSE '#' END")
        test_trust.reached = []
        test_trust.used(path)
        reached = [one for one in test_trust.reached if str(bait) in one or str(port) in one]
        test_trust.reached = None
        assert not reached, reached


def purge_memories(seed: int) -> None:
    """After a random history of memories, nothing of what was purged stands anywhere."""
    from tests.memory.test_histories import run

    with tempfile.TemporaryDirectory() as folder:
        run(seed, Path(folder), 20)
