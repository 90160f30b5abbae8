"""No text crashes the process or reaches the network, and limits stop a query."""

from __future__ import annotations

import contextlib
import gc
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from tests.support.processes import family
from worlds import QueryError, QueryTimeout
from worlds.graph.query.evaluation import evaluate, parse
from worlds.graph.query.guard import DEEPEST, MOST_TOKENS, check
from worlds.graph.query.query import Query
from worlds.graph.query.results import Solutions, Triples

ROOT = Path(__file__).resolve().parents[2]
EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory limits need Linux")


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


@pytest.fixture(scope="module")
def store() -> ox.Store:
    found = ox.Store()
    found.extend([ox.Quad(iri(f"s{number}"), iri("p"), ox.Literal(number)) for number in range(2000)])
    return found


def ask(store: ox.Store, query: str, **options: Any) -> Any:
    return evaluate(store, Query(query, {"": EX, "xsd": XSD}, **options).started())


# --- texts that would overflow the stack ------------------------------------------------------------------------------

NESTED = {
    "groups": ("SELECT * { ", "{ ", "}", " }"),
    "parentheses": ("ASK { FILTER", "(", ")", " }"),
    "optionals": ("SELECT * { ", "OPTIONAL { ?s ?p ?o ", "}", " }"),
    "exists": ("ASK { ", "FILTER EXISTS { ?s ?p ?o ", "}", " }"),
    "conditions": ("ASK { FILTER(", "IF(true, ", ", 1)", ") }"),
    "functions": ("ASK { FILTER(", "STR(", ")", ") }"),
    "lists": ("ASK { ", "(", " 1)", " :p 1 }"),
    "blank nodes": ("ASK { ?s :p ", "[ :p ", "]", " }"),
    "triple terms": ("ASK { ?s :p ", "<<( ?a :p ", " )>>", " }"),
    "reified triples": ("ASK { ?s :p ", "<< ?a :p ", " >>", " }"),
    "annotations": ("ASK { ?s :p 1 ", "{| :p 1 ", "|}", " }"),
    "paths": ("ASK { ?s ", "^(", ")", " ?o }"),
    "sub-selects": ("SELECT * ", "{ SELECT * ", "}", ""),
}
FILLED = {
    "triple terms": "1",
    "reified triples": "1",
    "paths": ":p",
    "blank nodes": "1",
    "functions": "1",
    "parentheses": "1",
}
FILLED |= {"conditions": "1", "sub-selects": "{ }"}
CHAINED: dict[str, Callable[[int], str]] = {
    "or": lambda n: f"ASK {{ FILTER({' || '.join(['?x'] * n)}) }}",
    "and": lambda n: f"ASK {{ FILTER({' && '.join(['?x'] * n)}) }}",
    "plus": lambda n: f"ASK {{ FILTER({'+'.join(['1'] * n)}) }}",
    "minus": lambda n: f"ASK {{ FILTER({' - '.join(['?x'] * n)}) }}",
    "not": lambda n: f"ASK {{ FILTER({'!' * n}true) }}",
    "union": lambda n: f"SELECT * {{ {' UNION '.join(['{}'] * n)} }}",
    "optional": lambda n: f"SELECT * {{ {'OPTIONAL { ?s ?p 1 }' * n} }}",
    "filter": lambda n: f"ASK {{ {'FILTER(1)' * n} }}",
    "bind": lambda n: f"ASK {{ {' '.join(f'BIND(1 AS ?x{i})' for i in range(n))} }}",
    "path of alternatives": lambda n: f"ASK {{ ?s ({'|'.join([':p'] * n)})* 1 }}",
    "path of steps": lambda n: f"ASK {{ ?s ({'/'.join([':p'] * n)})* 1 }}",
    "aggregates": lambda n: f"SELECT {' '.join(f'(COUNT(*) AS ?x{i})' for i in range(n))} {{ }}",
    "having": lambda n: f"SELECT (1 AS ?x) {{ }} HAVING {'(1)' * n}",
    "described": lambda n: f"DESCRIBE {':s ' * n}",
    "values": lambda n: f"ASK {{ {' '.join(f'VALUES ?x{i} {{ 1 }}' for i in range(n))} }}",
}
TEXTS = """
import json, sys, threading
import pyoxigraph as ox
from worlds import QueryError
from worlds.graph.query.evaluation import evaluate, parse
from worlds.graph.query.query import Query

def run():
    for line in sys.stdin:
        name, text = json.loads(line)
        print(name, end=" ", flush=True)
        try:
            found = evaluate(ox.Store(), Query(text, {"": "http://example.org/"}))
            print("answered", flush=True)
        except QueryError as error:
            print("refused:", error, flush=True)

threading.stack_size(int(sys.argv[1]))
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def outcomes(texts: dict[str, str], stack: int) -> dict[str, str]:
    """What became of each text in a child process, in a thread with so many bytes of stack."""
    lines = "".join(json.dumps([name.replace(" ", "-"), text]) + "\n" for name, text in texts.items())
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", TEXTS, str(stack)],
        input=lines,
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, f"crashed ({done.returncode}) at {done.stdout.splitlines()[-1:]}\n{done.stderr}"
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    return {name: found[name.replace(" ", "-")] for name in texts}


def nested(kind: str, depth: int) -> str:
    head, opening, closing, tail = NESTED[kind]
    return head + opening * depth + FILLED.get(kind, "") + closing * depth + tail


def test_what_is_nested_as_deep_as_may_be_needs_no_stack_of_the_caller() -> None:
    slow = {"lists", "blank nodes", "reified triples", "annotations"}  # their many triples are put in order
    texts = {kind: nested(kind, 40 if kind in slow else 120) for kind in NESTED}
    texts |= {f"deepest {kind}": nested(kind, 250) for kind in ("exists", "conditions", "groups", "optionals")}
    assert set(outcomes(texts, 256 << 10).values()) == {"answered"}


def test_what_is_nested_deeper_is_refused() -> None:
    depth = 50_000
    texts = {kind: nested(kind, depth) for kind in NESTED}
    texts |= {f"open {kind}": nested(kind, depth)[: -depth // 2] for kind in NESTED}
    for name, outcome in outcomes(texts, 8 << 20).items():
        assert f"nested deeper than {DEEPEST}" in outcome, name


def test_long_chains_need_no_stack_of_the_caller() -> None:
    outcome = outcomes({kind: chain(250) for kind, chain in CHAINED.items()}, 256 << 10)
    assert set(outcome.values()) == {"answered"}
    longer = {kind: CHAINED[kind](3000) for kind in ("union", "bind", "filter", "minus", "path of steps")}
    longer["not"] = CHAINED["not"](15_000)
    assert set(outcomes(longer, 8 << 20).values()) == {"answered"}


@pytest.mark.parametrize("call", ["", "STR", "<urn:f>"])
def test_negations_of_one_another_are_counted(call: str) -> None:
    def text(depth: int, inner: str) -> str:
        return f"ASK {{ FILTER({f'!{call}(' * depth}{inner}{')' * depth} && !(1) && !(1)) }}"

    began = time.process_time()
    for inner in ("1", "*"):
        for depth in (11, 30, 250):
            with pytest.raises(QueryError, match="more than 10 nested negations"):
                ask(ox.Store(), text(depth, inner))
            with worlds.open(embedder=None) as world, pytest.raises(QueryError, match="more than 10 nested negations"):
                world.update(f"INSERT {{ ?s ?p 1 }} WHERE {{ ?s ?p ?o {text(depth, inner).partition('{')[2]}")
    with contextlib.suppress(QueryError):
        ask(ox.Store(), text(10, "*"))
    assert time.process_time() - began < 10


def test_longer_chains_are_refused() -> None:
    texts = {kind: chain(100_000) for kind, chain in CHAINED.items()}
    for name, outcome in outcomes(texts, 8 << 20).items():
        assert f"longer than {MOST_TOKENS} tokens" in outcome, name


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * {{ VALUES ?x {{ {'1 ' * 50_000} }} }}",
        f"ASK {{ FILTER(1 IN ({', '.join(map(str, range(50_000)))})) }}",
        f"ASK {{ ?s ?p '{'x' * 1_000_000}' }}",
        f"ASK {{ ?s ?p <{EX}{'x' * 1_000_000}> }}",
        "ASK { #" + "(" * 1_000_000 + "\n }",
        f"CONSTRUCT {{ {'?s ?p ?o . ' * 30_000} }} {{ ?s ?p ?o }}",
    ],
    ids=["values", "in", "string", "iri", "comment", "template"],
)
def test_data_may_be_as_long_as_it_is(text: str) -> None:
    ask(ox.Store(), text)


def test_operations_of_an_update_are_counted_one_by_one() -> None:
    operation = f"INSERT DATA {{ {':s :p 1 . ' * 9000} }}; DELETE {{ ?s :p 1 }} WHERE {{ ?s :p 1 }}"
    check(" ;\n".join([operation] * 5))
    with pytest.raises(QueryError, match=f"longer than {MOST_TOKENS} tokens"):
        check(f"DELETE WHERE {{ {':s :p 1 . ' * 9000} }}")


# --- texts that have something to hide --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://localhost/> { ?s ?p ?o } }",
        "SELECT * { service SILENT ?where { ?s ?p ?o } }",
        "PREFIX e: <http://localhost/> SELECT * { SERVICE e:x { ?s ?p ?o } }",
        "SELECT * { FILTER(1<2&&'>'!='')SERVICE<http://localhost/>{ ?s ?p ?o }BIND('' AS ?x) }",
        "SELECT * { BIND(<http://localhost/> AS ?x) FILTER(1<2)SERVICE?x#>\n{ ?s ?p ?o } }",
        "SELECT * { ( '''a' ) :p 1 . SERVICE <http://localhost/> {} #\\q'''\n }",
        "SELECT * { ( '''a' ) :p 1 . SERVICE <http://localhost/> {} #\\uD800'''\n }",
        "INSERT { ?s ?p ?o } WHERE { SERVICE <http://localhost/> { ?s ?p ?o } }",
    ],
)
def test_no_service_gets_past(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        check(text)
    assert (caught.value.line, caught.value.column) != (None, None)


def test_no_nesting_gets_past() -> None:
    with pytest.raises(QueryError, match="an IRI is not allowed here"):
        check("ASK { FILTER(1<" + "(" * 10_000 + "2>1" + ")" * 10_000 + ") }")


def test_service_is_allowed_by_host() -> None:
    service = "SELECT * { SERVICE <http://User@Example.org:8080/a?b#c> { ?s ?p ?o } }"
    check(service, allow_network=True)
    check(service, allow_network=["EXAMPLE.org"])
    check(service, allow_network="example.org")
    for hosts in ([], ["org"], ["user"], ["example.org:8080"], False):
        with pytest.raises(QueryError, match="allow_network=\\['example.org'\\] allows this host"):
            check(service, allow_network=hosts)
    check("SELECT * { SERVICE ?x { } }", allow_network=True)
    for endpoint in ("?x", "e:x", "<file:///etc/passwd>", "<relative>", "<http://example.org\\u0040x/>"):
        with pytest.raises(QueryError, match="SERVICE is not allowed"):
            check(f"SELECT * {{ SERVICE {endpoint} {{ }} }}", allow_network=["example.org"])
    for text in ("SELECT * { ?service ?p 'SERVICE' } # SERVICE", "SELECT * { :SERVICE <SERVICE> '''SERVICE <x>''' }"):
        check(text)


class _Endpoint(http.server.BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer()

    def answer(self) -> None:
        self.asked.append(self.path)
        body = b'{"head":{"vars":["o"]},"results":{"bindings":[{"o":{"type":"literal","value":"from afar"}}]}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[str]]]:
    """An endpoint's IRI, and the paths that it was asked for."""
    handler = type("Endpoint", (_Endpoint,), {"asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", handler.asked  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


def test_only_what_is_allowed_reaches_the_network(endpoint: tuple[str, list[str]]) -> None:
    url, asked = endpoint
    with worlds.open(embedder=None) as world:
        world.add([(iri("s"), iri("p"), iri("o"))])
        for query in (
            f"SELECT * FROM <{url}> {{ ?s ?p ?o }}",
            f"SELECT * FROM NAMED <{url}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
            f"DESCRIBE <{url}>",
        ):
            assert len(world.query(query)) == 0  # type: ignore[arg-type]  # no ASK
        service = f"SELECT ?o {{ SERVICE <{url}> {{ ?s ?p ?o }} }}"
        for hosts in (False, ["localhost"]):
            with pytest.raises(QueryError, match="SERVICE is not allowed"):
                world.query(service, allow_network=hosts)
        assert asked == []
        for more in ("", "FROM <urn:g> FROM <urn:h>"):
            query = service.replace("?o {", f"?o {more} {{", 1)
            assert world.query(query, allow_network=["127.0.0.1"], timeout=20).to_dicts() == [{"o": "from afar"}]  # type: ignore[union-attr]
            assert asked == ["/"], "once"
            asked.clear()


def test_what_is_only_read_reaches_no_network(endpoint: tuple[str, list[str]]) -> None:
    url, asked = endpoint
    service = f"SERVICE <{url}> {{ $this ?p ?o FILTER(<urn:f>(?o)) }}"
    for form in ("SELECT $this", "ASK"):
        parse(Query(f"{form} {{ {service} }}"))
    with worlds.open(embedder=None) as world:
        for query in (f"ASK {{ {service} BIND(1 AS ?o) }}", f"SELECT * {{ {service} BIND(1 AS ?o) }}"):
            with pytest.raises(QueryError, match=r"\?o has a value already"):
                world.query(query, allow_network=True)
        constraint = f'<urn:S> sh:targetNode <urn:a> ; sh:sparql [ sh:select "SELECT $this {{ {service} }}" ] .'
        with pytest.raises(worlds.ShapesError, match="SERVICE, which pre-binding does not allow"):
            world.shapes.validate(shapes=f"@prefix sh: <http://www.w3.org/ns/shacl#> . {constraint}".encode())
        with worlds.group({"one": world}) as group, pytest.raises(QueryError, match="SERVICE"):
            group.query(f"SELECT * {{ {service} }}")
    assert asked == []


# --- limits -----------------------------------------------------------------------------------------------------------

ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


@pytest.fixture
def no_child_left() -> Iterator[None]:
    before = set(family(os.getpid()))  # zombies too, such as the followers of replicas that other tests have ended
    yield
    until = time.monotonic() + 5  # on a busy machine one that was killed takes a moment to end
    while set(family(os.getpid())) - before:
        assert time.monotonic() < until, "a child is left"
        time.sleep(0.05)


@forks
@pytest.mark.usefixtures("no_child_left")
class TestLimits:
    def test_a_query_is_stopped_in_time(self, store: ox.Store) -> None:
        for query in (ENDLESS, ENDLESS.replace("(COUNT(*) AS ?n)", "*"), ENDLESS + " " * 2000):
            began = time.monotonic()
            with pytest.raises(QueryTimeout, match="stopped at its time limit"):
                ask(store, query, timeout=0.3)
            assert time.monotonic() - began < 3

    def test_a_world_goes_on_after_a_query_was_stopped(self) -> None:
        with worlds.open(embedder=None) as world:
            world.add([(iri(f"s{number}"), iri("p"), number) for number in range(2000)])
            with pytest.raises(QueryTimeout):
                world.query(ENDLESS, timeout=0.3)
            world.add([(iri("new"), iri("p"), 1)])
            assert len(world.query("SELECT ?s { ?s ?p 1 }", timeout=30)) == 2  # type: ignore[arg-type]  # no ASK

    @pytest.mark.parametrize("timeout", [float("inf"), 2**70])
    def test_a_limit_may_be_longer_than_anything_lasts(self, timeout: float) -> None:
        with worlds.open(embedder=None) as world:
            world.add([(iri("s"), iri("p"), 1)])
            assert world.update("INSERT { ?s ?p 2 } WHERE { ?s ?p 1 }", timeout=timeout).added == 1
            assert world.query("SELECT ?o { ?s ?p ?o FILTER(?o > 1) }", timeout=timeout).to_dicts() == [{"o": 2}]  # type: ignore[union-attr]
            assert world.explain("SELECT * { ?s ?p ?o }", timeout=timeout).results == 2
            world.file.pattern_timeout = timeout
            assert len(world.search("a", where="?subject ?p 1")) == 0

    @linux
    def test_a_limit_of_memory_may_be_more_than_there_is(self, store: ox.Store) -> None:
        assert len(ask(store, "SELECT * { ?s ?p ?o }", max_memory=10**30)) == 2000

    @linux
    @pytest.mark.parametrize("timeout", [None, 30])
    def test_a_query_that_needs_too_much_memory_is_stopped(self, store: ox.Store, timeout: float | None) -> None:
        doubling = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(60))
        for query in (
            "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i",
            f"SELECT ?x60 {{ BIND('{'x' * 1000}' AS ?x0) {doubling} }}",
        ):
            with pytest.raises(QueryError, match="needs more than 50,000,000 bytes of memory, its limit"):
                ask(store, query, max_memory=50_000_000, timeout=timeout)
        assert len(ask(store, "SELECT * { ?s ?p ?o }", max_memory=50_000_000, timeout=timeout)) == 2000

    @pytest.mark.parametrize("timeout", [None, 30])
    def test_results_are_counted(self, store: ox.Store, timeout: float | None) -> None:
        everything = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
        with pytest.raises(QueryError, match="more than 1,000 results, its limit"):
            ask(store, everything, max_results=1000, timeout=timeout)
        assert len(ask(store, everything + " LIMIT 1000", max_results=1000, timeout=timeout)) == 1000
        construct = "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o } LIMIT 11"
        with pytest.raises(QueryError, match="more than 10 results"):
            ask(store, construct, max_results=10, timeout=timeout)
        assert len(ask(store, construct, max_results=11, timeout=timeout)) == 11
        assert len(ask(store, "CONSTRUCT { :s :p :o } { ?s ?p ?o }", max_results=1, timeout=timeout)) == 1

    @pytest.mark.parametrize("padding", ["", " " * 5000], ids=["short", "padded"])
    def test_the_errors_are_the_same(self, store: ox.Store, padding: str) -> None:
        for query in ("SELECT * {", "SELECT * { ?s nope:x ?o }", "SELECT * { FILTER(:f(1)) }", "ASK { '\ud800' }"):
            with pytest.raises(QueryError) as here:
                ask(store, query + padding)
            with pytest.raises(QueryError) as there:
                ask(store, query + padding, timeout=30)
            assert str(here.value) == str(there.value)

    @pytest.mark.parametrize("padding", ["", " " * 5000], ids=["short", "padded"])
    @pytest.mark.parametrize("timeout", [None, 30])
    def test_functions_are_called_where_the_query_is_asked(
        self, store: ox.Store, padding: str, timeout: float | None
    ) -> None:
        lock = threading.RLock()
        called: set[tuple[int, int]] = set()

        def shout(term: ox.Literal) -> ox.Literal:
            with lock:
                called.add((os.getpid(), threading.get_ident()))
            return ox.Literal(term.value.upper() * (10_000 if term.value == "long" else 1))

        def fail(term: ox.Literal) -> ox.Literal:
            raise KeyError(term)

        functions = {iri("shout"): shout, iri("fail"): fail}
        query = "SELECT (:shout('kite') AS ?a) (:fail('kite') AS ?b) (STRLEN(:shout('long')) AS ?c) { }"
        with lock:
            found = ask(store, query + padding, functions=functions, timeout=timeout)
        assert found.to_dicts() == [{"a": "KITE", "b": None, "c": 40_000}]
        assert called == {(os.getpid(), threading.get_ident())}

    def test_an_interrupt_ends_the_child(self, store: ox.Store) -> None:
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            ask(store, ENDLESS, timeout=60)

    def test_a_store_on_disk(self, tmp_path: Path) -> None:
        store = ox.Store(tmp_path)
        store.extend([ox.Quad(iri(f"s{number}"), iri("p"), ox.Literal(number)) for number in range(500)])
        for count in range(500, 504):
            assert len(ask(store, "SELECT * { ?s ?p ?o }", timeout=30)) == count
            with pytest.raises(QueryTimeout):
                ask(store, ENDLESS, timeout=0.05)
            store.add(ox.Quad(iri("new"), iri("p"), ox.Literal(-count)))

    def test_threads_that_work_meanwhile(self) -> None:
        def work(results: list[int]) -> None:
            with worlds.open(embedder=None) as world:
                for number in range(4):
                    world.add([(iri(f"s{number}"), iri("p"), number)])
                    results.append(len(world.query("SELECT * { ?s ?p ?o }", timeout=60)))  # type: ignore[arg-type]

        found: list[list[int]] = [[] for _ in range(3)]
        threads = [threading.Thread(target=work, args=(results,)) for results in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [list(range(1, 5))] * 3

    @pytest.mark.parametrize(
        ("form", "timeout"),
        [
            ("SELECT * { ?s ?p ?o BIND(:fail(?o) AS ?x) } LIMIT 50", 60),
            ("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o BIND(:fail(?o) AS ?x) } LIMIT 50", None),
        ],
    )
    def test_an_error_can_be_dropped_in_any_thread(
        self, store: ox.Store, monkeypatch: pytest.MonkeyPatch, form: str, timeout: float | None
    ) -> None:
        """pyoxigraph's results cannot, and a traceback keeps what was read from."""
        complaints: list[object] = []
        monkeypatch.setattr(sys, "unraisablehook", complaints.append)
        kept: list[Exception] = []

        def fail(term: ox.Literal) -> ox.Literal:
            kept.append(KeyError(term))
            raise kept[-1]

        for options in ({"max_results": 1}, {"functions": {iri("fail"): fail}}):
            for padding in ("", " " * 100_000):  # with which it runs in a thread of its own
                try:
                    ask(store, form + padding, timeout=timeout, **options)
                except QueryError as error:
                    kept.append(error)
                assert kept
                thread = threading.Thread(target=kept.clear)
                thread.start()
                thread.join()
                gc.collect()
                assert complaints == []

    @forks
    @pytest.mark.parametrize("verb", ["query", "update"])
    def test_another_thread_interrupts(self, verb: str) -> None:
        with worlds.open(embedder=None) as world:
            world.load("\n".join(f"<urn:s{n}> <urn:p> {n} ." for n in range(200)).encode(), format="turtle")
            revisions = len(world.history())
            world.interrupt()  # nothing runs
            raised: list[BaseException] = []

            def work() -> None:
                try:
                    if verb == "query":
                        world.query(ENDLESS, timeout=60)
                    else:
                        where = ENDLESS[ENDLESS.index("{") :]
                        world.update(
                            f"INSERT DATA {{ <urn:a> <urn:b> 1 }}; INSERT {{ ?a ?e ?i }} WHERE {where}", timeout=60
                        )
                except BaseException as error:
                    raised.append(error)

            began = time.monotonic()
            thread = threading.Thread(target=work)
            thread.start()
            while thread.is_alive():
                thread.join(0.2)
                world.interrupt()
            assert time.monotonic() - began < 20
            assert [type(error) for error in raised] == [QueryError]
            assert "interrupted" in str(raised[0])
            assert len(world.history()) == revisions
            assert len(world) == 200
            assert world.query("ASK { ?s ?p 1 }", timeout=60) is True  # the next is not

    def test_what_is_no_limit(self, store: ox.Store) -> None:
        for options in (
            {"timeout": 0}, {"timeout": -1}, {"timeout": "1"}, {"timeout": True}, {"timeout": float("nan")},
            {"max_results": 0}, {"max_results": 1.5}, {"max_memory": 0}, {"max_memory": True},
        ):  # fmt: skip
            with pytest.raises(ValueError, match="above 0, not"):
                ask(store, "ASK { }", **options)


# --- the same results -------------------------------------------------------------------------------------------------

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_label = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
_number = st.one_of(
    st.integers(), st.floats(), st.decimals(allow_nan=False, allow_infinity=False, places=3), st.booleans()
)
_literal = st.one_of(
    _text.map(ox.Literal),
    st.tuples(_text, st.sampled_from(["en", "en-GB", "zh-Hant"])).map(
        lambda pair: ox.Literal(pair[0], language=pair[1])
    ),
    _text.map(lambda text: ox.Literal(text, language="ar", direction=ox.BaseDirection.RTL)),
    st.tuples(
        _text | _number.map(str), st.sampled_from(["integer", "decimal", "double", "boolean", "date", "odd"])
    ).map(lambda pair: ox.Literal(pair[0], datatype=ox.NamedNode(XSD + pair[1]))),
)
_node = st.one_of(_label.map(iri), _label.map(ox.BlankNode))
_term = st.recursive(
    st.one_of(_node, _literal),
    lambda inner: st.tuples(_node, _label.map(iri), inner).map(lambda parts: ox.Triple(*parts)),
    max_leaves=3,
)


def terms(found: Any) -> Any:
    if isinstance(found, Solutions):
        return found.variables, [tuple(row) for row in found]
    assert isinstance(found, Triples)
    return list(found)


@forks
@settings(max_examples=2)
@given(st.lists(st.tuples(_node, _label.map(iri), _term), max_size=8))
def test_a_child_gives_the_same(triples: list[tuple[Any, Any, Any]]) -> None:
    store = ox.Store()
    store.extend([ox.Quad(*triple) for triple in triples])
    for query in (
        "SELECT * { ?s ?p ?o . OPTIONAL { ?o ?q ?x } }",
        "SELECT ?x ?o { ?s ?p ?o }",
        "SELECT ?o ?x (?o + 1 AS ?y) (STR(?o) AS ?z) { ?s ?p ?o } ORDER BY ?o ?s ?p",
        "SELECT * { }",
        "CONSTRUCT { ?s ?p ?o . ?s :also ?o } { ?s ?p ?o }",
    ):
        assert terms(ask(store, query)) == terms(ask(store, query, timeout=60))
    assert ask(store, "ASK { ?s ?p ?o }") == ask(store, "ASK { ?s ?p ?o }", timeout=60) == bool(triples)


LONG = "a\tb\n\r\"'\\\\n\b\f\x00\x01\x7f\u2028é中\U0001f600 " * 8000


@forks
def test_long_values_come_from_a_child_as_they_are() -> None:
    store = ox.Store()
    values: list[Any] = [
        *(ox.Literal(LONG + "x" * length) for length in range(3)),
        ox.Literal(LONG, language="en-GB"),
        ox.Literal(LONG, language="ar", direction=ox.BaseDirection.RTL),
        ox.Literal(LONG, datatype=iri("odd")),
        ox.NamedNode("http://example.org/" + "long" * 20_000),
        ox.Triple(ox.BlankNode("b"), iri("p"), ox.Triple(iri("s"), iri("p"), ox.Literal(LONG))),
        *(ox.Literal(f"short {number}") for number in range(50)),
        ox.BlankNode("b"),
    ]
    store.extend([ox.Quad(iri(f"s{number}"), iri("p"), value) for number, value in enumerate(values)])
    for query in ("SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?x } } ORDER BY ?s", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"):
        assert terms(ask(store, query)) == terms(ask(store, query, timeout=60))


@forks
def test_a_long_value_takes_time_by_its_length_only() -> None:
    store = ox.Store()
    store.add(ox.Quad(iri("s"), iri("p"), ox.Literal("long " * 4_000_000)))
    for query in ("SELECT ?o { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }"):
        began = time.process_time()
        assert len(next(iter(ask(store, query, timeout=60)))[-1]) == 20_000_000
        assert time.process_time() - began < 10


def test_a_world_answers_the_same_with_limits() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(iri("s"), iri("p"), ox.Literal("01", datatype=ox.NamedNode(XSD + "integer")))])
        query = "SELECT * { ?s ?p ?o }"
        found = world.query(query, timeout=60, max_results=1)
        assert list(world.query(query)) == list(found)  # type: ignore[arg-type]  # no ASK
