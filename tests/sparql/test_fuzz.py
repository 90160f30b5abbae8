"""Random and mutated SPARQL never crashes, hangs or corrupts, and its errors are this package's.

The texts run in a child process, which writes each to a file first: where the child dies, that is the text to look at.
By hand: `python -m tests.sparql.test_fuzz SEED SECONDS LOG`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.oracle import problems
from tests.support.readback import as_sparql_has_them, exported, queried
from tests.support.w3c import NotHereError, files
from worlds import QueryError, World, WorldsError
from worlds.graph.query.tokens import tokenize

ROOT = Path(__file__).resolve().parents[2]
HEAD = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
LONGEST = 4000  # characters

DATA = """
@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :p 1 , 01 , 1.0 , "kite" , "kite"@en , "2020-02-30"^^xsd:date , _:b ; :q :b ; a :C .
:b :p "river", "2020-01-01T00:00:00Z"^^xsd:dateTime , "P1Y2M"^^xsd:duration ; :q :c .
:c :q :a ; :list ( 1 :a "x" ) .
_:b :p -0.0e0 , "INF"^^xsd:double , true .
:g { :a :p 9223372036854775807 . << :a :q :b >> :since 2001 . }
:h { :a :says <<( :b :q :c )>> . }
"""

QUERIES = [
    "SELECT * { ?s ?p ?o }",
    "SELECT DISTINCT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s HAVING (COUNT(*) > 1) ORDER BY DESC(?n) LIMIT 3",
    "SELECT REDUCED ?o { ?s :p ?o . FILTER(?o >= 1 && !isBlank(?o) || regex(str(?o), '^k.*', 'i')) } OFFSET 1",
    "SELECT ?s ?x { ?s :q ?o . OPTIONAL { ?o :p ?x . FILTER(?x > 0) } FILTER NOT EXISTS { ?s a :C } }",
    "SELECT * { { ?s :p ?o } UNION { GRAPH ?g { ?s ?p ?o } } MINUS { ?s a :C } }",
    "SELECT ?a ?b { ?a (:q|^:q)*/:p? ?b . ?a !(:p|^:q) ?c . ?c :q+ ?d }",
    "SELECT * { VALUES (?s ?o) { (:a 1) (UNDEF 'x'@en) (:b UNDEF) } ?s :p ?o }",
    "SELECT (SUM(?o) AS ?x) (AVG(?o) AS ?y) (GROUP_CONCAT(DISTINCT ?o; SEPARATOR=', ') AS ?g) { ?s :p ?o }",
    "SELECT ?s { { SELECT ?s (MAX(?o) AS ?m) { ?s :p ?o } GROUP BY ?s } FILTER(BOUND(?m)) } VALUES ?s { :a :b }",
    "SELECT ?x { BIND(IF(1 IN (1, 2), COALESCE(?u, 'a'), 1/0) AS ?x) BIND(?x + 1 AS ?y) }",
    "SELECT (CONCAT('a', STR(?o)) AS ?c) (SUBSTR('ab', 2) AS ?s2) (REPLACE('abc', '(b)', '[$1]') AS ?r) { ?s :p ?o }",
    "SELECT (YEAR(?o) AS ?y) (?o + 'P1D'^^xsd:dayTimeDuration AS ?z) (NOW() - ?o AS ?d) (TZ(?o) AS ?t) { ?s :p ?o }",
    "SELECT (STRDT('1', xsd:byte) AS ?a) (STRLANG('x', 'y') AS ?b) (IRI('x') AS ?c) (BNODE() AS ?d) (UUID() AS ?e) {}",
    "SELECT (xsd:integer('7') AS ?a) (xsd:dateTime('x') AS ?b) (ABS(-1.5) AS ?c) (ROUND(2.5) AS ?d) (RAND() AS ?e) {}",
    "SELECT (MD5('x') AS ?a) (SHA512('x') AS ?b) (ENCODE_FOR_URI('a b') AS ?c) (LANGMATCHES('en-GB', '*') AS ?d) {}",
    "SELECT (SUBJECT(?t) AS ?s) (isTRIPLE(?t) AS ?i) { GRAPH :h { ?a :says ?t } BIND(<<( :a :q ?s2 )>> AS ?u) }",
    "SELECT * { GRAPH :g { << ?a ?b ?c ~ ?r >> ?d ?e . :a :p ?n {| :since ?y |} } }",
    "SELECT * { [] :p [ :q ?x ; :p ( 1 ?y ) ] . ?s :list ( ?a ?b ?c ) }",
    "SELECT * FROM :g FROM NAMED :h { ?s ?p ?o . GRAPH ?g { ?x ?y ?z } }",
    "SELECT * { ?s :p ?o . LATERAL { SELECT ?t { ?s :q ?t } LIMIT 1 } }",
    "SELECT * { SERVICE w:search { ?hit w:query 'kite' ; w:subject ?s ; w:score ?score } ?s :q ?o }",
    "SELECT ?s { ?s <http://jena.apache.org/text#query> (:p 'river' 5) }",
    "SELECT * { SERVICE SILENT <http://localhost:9/> { ?s ?p ?o } }",
    "ASK { ?s :p 01 , 1.0 , '''x''' , \"\"\"y\\n\\u00e9\"\"\" ; :q :a }",
    "ASK FROM :g { FILTER EXISTS { ?s :p ?o . FILTER(?o != 3e0) } }",
    "CONSTRUCT { ?s :r ?o . [] :p ( ?s ) } WHERE { ?s :p ?o } LIMIT 5",
    "CONSTRUCT WHERE { ?s :p ?o ; :q ?t }",
    "DESCRIBE :a ?x { ?x :q :a }",
    "BASE <http://example.org/> PREFIX e: <x#> SELECT * { <a> e:y 'z'^^e:t , -1, +2.50, .5e-3 } # the end",
]
UPDATES = [
    "INSERT DATA { :n :p 'new', 2 ; :q [ :p ( 1 2 ) ] . GRAPH :g { :n :p _:x } }",
    "DELETE DATA { :a :p 1 . GRAPH :h { :a :says <<( :b :q :c )>> } }",
    "DELETE { ?s :p ?o } INSERT { ?s :r ?o } WHERE { ?s :p ?o . FILTER(isNumeric(?o)) }",
    "WITH :g DELETE { ?s ?p ?o } INSERT { GRAPH :k { ?o ?p [] } } USING :g USING NAMED :h WHERE { ?s ?p ?o }",
    "DELETE WHERE { ?s :q ?o . GRAPH ?g { ?s ?p ?x } }",
    "INSERT { ?s :n ?n } WHERE { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s }",
    "CLEAR SILENT GRAPH :none ; DROP ALL ; CREATE GRAPH :x ; CREATE SILENT GRAPH :x",
    "COPY DEFAULT TO :x ; MOVE :x TO :y ; ADD :y TO DEFAULT ; CLEAR NAMED",
    "LOAD <http://localhost:9/x> INTO GRAPH :g",
    "LOAD SILENT <file:///etc/hostname> ; INSERT DATA { :a :p 'after' }",
    "INSERT DATA { :a :p 1 } ; PREFIX e: <urn:e:> INSERT DATA { e:a e:b e:c } ;",
    "INSERT { ?s :says <<( ?s :p ?o )>> } WHERE { ?s :p ?o . OPTIONAL { ?o :p ?z } }",
]
ODD = [
    "\ufeff",
    "\0",
    "\ud800",
    "\\u0041",
    "\u2028",
    "中",
    "<",
    ">",
    "'",
    '"',
    "'''",
    "#",
    "\\",
    "?",
    "$",
    "_:",
    "@",
    "^^",
]
WORDS = (
    "{ } ( ) [ ] << >> <<( )>> {| |} . ; , * / | ^ ! + - = != < <= && || ? ?s ?o ?x :a :p :q a true 1 01 1.5 -2e400 "
    "'x' 'x'@en 99999999999999999999 'P1Y'^^xsd:duration '-0001-01-01'^^xsd:date SELECT ASK CONSTRUCT DESCRIBE WHERE "
    "FROM NAMED GRAPH OPTIONAL UNION MINUS FILTER EXISTS NOT BIND AS VALUES UNDEF SERVICE SILENT LATERAL DISTINCT "
    "GROUP BY ORDER HAVING LIMIT OFFSET COUNT(*) INSERT DELETE DATA WITH USING CLEAR DROP CREATE COPY MOVE ADD TO ALL "
    "DEFAULT LOAD INTO PREFIX BASE w:search w:query IN UUID() STR( IF( REGEX("
)
DATATYPES = "integer decimal double boolean date dateTime duration dayTimeDuration time"
FUNCTIONS = (
    "STR LANG DATATYPE ABS CEIL FLOOR ROUND STRLEN UCASE YEAR SECONDS TIMEZONE isIRI isNumeric MD5 IRI BNODE SUBJECT "
    "isTRIPLE ENCODE_FOR_URI xsd:integer xsd:decimal xsd:double xsd:dateTime xsd:boolean xsd:duration"
)
PAIR_FUNCTIONS = "CONTAINS STRBEFORE STRDT STRLANG SUBSTR REGEX sameTerm LANGMATCHES CONCAT"
OPERATORS = "+ - * / = != < >= && ||"


# --- texts ------------------------------------------------------------------------------------------------------------


class Grammar:
    """Makes SPARQL that mostly parses."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def query(self) -> str:
        pick = self._chance.choice
        modifiers = pick(["", "", " LIMIT 5", f" ORDER BY {self.expression(1)}", " OFFSET 2", " GROUP BY ?s"])
        group = self.group(3)
        form = pick(["SELECT *", "SELECT ?s ?o", f"SELECT ({self.expression(2)} AS ?e)", "SELECT DISTINCT *", "ASK"])
        if self._chance.random() < 0.15:
            form = f"CONSTRUCT {{ {self.triples()} }} WHERE"
        return f"{form} {group}{modifiers}"

    def update(self) -> str:
        makers: list[Callable[[], str]] = [
            lambda: f"INSERT {{ {self.triples()} }} WHERE {self.group(2)}",
            lambda: f"DELETE {{ {self.triples()} }} WHERE {self.group(2)}",
            lambda: f"DELETE WHERE {{ {self.triples()} }}",
            lambda: f"INSERT DATA {{ :s{self._chance.randrange(9)} :p {self.constant()} , {self.constant()} }}",
            lambda: f"DELETE DATA {{ :a :p {self.constant()} }}",
            lambda: f"{self.update()} ; {self.update()}",
        ]
        return self._chance.choice(makers)()

    def group(self, depth: int) -> str:
        return "{ " + " ".join(self.element(depth - 1) for _ in range(self._chance.randint(0, 2))) + " }"

    def element(self, depth: int) -> str:
        if depth <= 0 or self._chance.random() < 0.4:
            return self.triples() + " ."
        makers: list[Callable[[], str]] = [
            lambda: f"OPTIONAL {self.group(depth)}",
            lambda: f"{self.group(depth)} UNION {self.group(depth)}",
            lambda: f"MINUS {self.group(depth)}",
            lambda: f"GRAPH {self._chance.choice(['?g', ':g'])} {self.group(depth)}",
            lambda: f"FILTER({self.expression(depth)})",
            lambda: f"FILTER NOT EXISTS {self.group(depth)}",
            lambda: f"BIND({self.expression(depth)} AS ?b{self._chance.randrange(99)})",
            lambda: f"VALUES ?o {{ {self.constant()} {self.constant()} }}",
            lambda: f"{{ SELECT ?s {self.group(depth)} LIMIT 3 }}",
            lambda: self.group(depth),
        ]
        return self._chance.choice(makers)()

    def triples(self) -> str:
        path = self._chance.choice([":p", ":q", "?p", "a", ":q*", "^:q", ":q/:p", "(:p|:q)+", "!:p", ":q?"])
        path = path if self._chance.random() < 0.3 else self._chance.choice([":p", ":q", "?p"])
        return f"{self._chance.choice(['?s', '?o', ':a', '?x', '[]'])} {path} {self.term()}"

    def term(self) -> str:
        return self._chance.choice(["?o", "?x", "?y", self.constant()])

    def constant(self) -> str:
        number = self._chance.choice(["0", "1", "-1", "1.5", "1e400", "9" * 30, "0.000000000000000001"])
        kind = self._chance.choice(DATATYPES.split())
        text = self._chance.choice(["", "kite", number, "P9999999999Y", "-99999-12-31", "24:00:00", "\\u00e9", "a\\n"])
        return self._chance.choice([number, f"'{text}'", f"'{text}'@en", f"'{text}'^^xsd:{kind}", ":a", "true"])

    def expression(self, depth: int) -> str:
        if depth <= 0:
            return self.term()
        one, two = self.expression(depth - 1), self.expression(depth - 1)
        function = self._chance.choice(FUNCTIONS.split())
        pair = self._chance.choice(PAIR_FUNCTIONS.split())
        operator = self._chance.choice(OPERATORS.split())
        return self._chance.choice(
            [f"({one} {operator} {two})", f"{function}({one})", f"{pair}({one}, {two})", f"IF({one}, {two}, 1)",
             f"COALESCE({one}, {two})", f"({one} IN ({two}, 1))", f"(!{one})", f"(-{one})",
             f"REPLACE({one}, 'a*', {two})"]
        )  # fmt: skip


def mutated(chance: random.Random, text: str, others: list[str]) -> str:
    """The text with some of its tokens or characters changed."""
    for _ in range(chance.choice([1, 1, 2, 3, 8])):
        try:
            tokens = [token.text for token in tokenize(text)]
        except QueryError:
            tokens = text.split()
        at = chance.randrange(len(tokens) + 1)
        kind = chance.randrange(9)
        if kind == 0:
            del tokens[at : at + chance.choice([1, 1, 2, 5])]
        elif kind == 1:
            tokens.insert(at, chance.choice(WORDS.split()))
        elif kind == 2:
            tokens[at : at + 1] = [chance.choice(WORDS.split())]
        elif kind == 3:
            tokens[at:at] = tokens[at : at + chance.randint(1, 6)]
        elif kind == 4:
            tokens[at : at + 1] *= chance.choice([2, 3, 40, 300])
        elif kind == 5:
            other = chance.choice(others).split()
            tokens[at:] = other[chance.randrange(len(other)) :]
        elif kind == 6:
            opening, closing = chance.choice([("{", "}"), ("(", ")"), ("[", "]"), ("<<(", ")>>"), ("!(", ")")])
            count = chance.choice([1, 2, 30, 300])
            tokens[at : at + 1] = [opening] * count + tokens[at : at + 1] + [closing] * count
        elif kind == 7:
            tokens.insert(at, chance.choice(ODD))
        text = " ".join(tokens)
        if kind == 8 and text:
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice([*ODD, "", " ", chance.choice("{}()[].;,?:'\"")]) + text[place + 1 :]
    return text


def w3c_texts() -> tuple[list[str], list[str]]:
    """The queries and the updates of the W3C's test suites, none where they are not on this machine."""
    try:
        found = files()
    except NotHereError:
        return [], []
    texts = {kind: [data.decode("utf-8", "replace") for path, data in sorted(found.items()) if path.endswith(kind)]
             for kind in (".rq", ".ru")}  # fmt: skip
    return texts[".rq"], texts[".ru"]


# --- the child --------------------------------------------------------------------------------------------------------


def fresh() -> World:
    world = worlds.open(embedder=None)
    world.load(DATA.encode(), format="trig")
    return world


def ask(world: World, text: str, **limits: Any) -> None:
    try:
        found = world.query(text, max_results=2000, **limits)
        if not isinstance(found, bool):
            for row in found:
                str(row)
            repr(found)
    except QueryError as error:
        complain(error)


def change(world: World, text: str) -> None:
    before = len(world)
    try:
        world.update(text, timeout=2, embed=False)
    except WorldsError as error:
        complain(error)
        if len(world) != before:
            raise AssertionError("a failed update changed the world") from error


def complain(error: WorldsError) -> None:
    """Raise what hides a crash."""
    if "died of signal" in str(error) or "pyoxigraph failed" in str(error):
        raise AssertionError(str(error)) from error


def whole(world: World) -> None:
    found = [*problems(world), *as_sparql_has_them(queried(world)) ^ as_sparql_has_them(exported(world))]
    if found:
        raise AssertionError(f"the world is damaged: {found}")


def fuzz(seed: int, seconds: float, log: Path) -> None:
    """Run texts for so many seconds of CPU time."""
    chance = random.Random(seed)
    grammar = Grammar(chance)
    more_queries, more_updates = w3c_texts()
    queries = [HEAD + text for text in QUERIES] + more_queries
    updates = [HEAD + text for text in UPDATES] + more_updates
    world = fresh()
    count = 0
    with log.open("w", encoding="utf-8", errors="backslashreplace") as out:
        while sum(os.times()[:4]) < seconds:
            count += 1
            updating = chance.random() < 0.35
            if chance.random() < 0.3:
                text = HEAD + (grammar.update() if updating else grammar.query())
            else:
                corpus = updates if updating else queries
                text = mutated(chance, chance.choice(corpus), corpus)
            text = text[:LONGEST]
            out.seek(0)
            out.truncate()
            out.write(text)
            out.flush()
            if updating:
                change(world, text)
            else:
                began = time.monotonic()
                ask(world, text, timeout=2, max_memory=500_000_000)
                if time.monotonic() - began < 0.3:
                    ask(world, text)
            if count % 100 == 0:
                whole(world)
            if len(world) > 150 or count % 100 == 0:
                world.close()
                world = fresh()
    print(count)


# --- the tests --------------------------------------------------------------------------------------------------------


def run(seed: int, seconds: float, folder: Path) -> None:
    log = folder / "text"
    command = [sys.executable, "-m", "tests.sparql.test_fuzz", str(seed), str(seconds), str(log)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=8 * seconds + 60, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"it hangs (seed {seed}):\n{log.read_text('utf-8')}")
    assert done.returncode == 0, f"exit code {done.returncode} (seed {seed}):\n{log.read_text('utf-8')}\n{done.stderr}"
    assert int(done.stdout) > 10 * seconds


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="without a fork nothing stops an endless query")
def test_random_sparql(tmp_path: Path) -> None:
    run(1, 1.5, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="without a fork nothing stops an endless query")
def test_random_sparql_for_long(tmp_path: Path) -> None:
    run(random.SystemRandom().randrange(2**32), 600, tmp_path)


if __name__ == "__main__":
    fuzz(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
