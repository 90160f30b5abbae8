"""Measures what the order of joins is worth: `python -m benchmarks.joins [--products 5000] [--rounds 5]`.

The data have the shape of the Berlin SPARQL Benchmark's (products in a tree of types, features, producers, offers of
vendors, reviews), and the queries that of its explore mix; six more join a frequent class with a rare property. Each
query is asked of one store in turn: as it is written, and as Worlds asks it. Times are of the CPU; counting the
matches of patterns, which the first question pays, stands apart.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

import pyoxigraph as ox

from benchmarks.common import environment, median, table
from worlds.graph.query.default_graph import MergedStores
from worlds.graph.query.query import Query

EX = "http://example.org/"
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
P = f"PREFIX ex: <{EX}> "
QUERIES = {
    "explore 1": "SELECT DISTINCT ?p ?l { ?p ex:label ?l ; a ex:type3 ; ex:feature ex:feature5 , ex:feature11 ; "
    "ex:number1 ?n FILTER(?n > 500) } ORDER BY ?l LIMIT 10",
    "explore 2": "SELECT ?l ?c ?r ?f { ex:product7 ex:label ?l ; ex:comment ?c ; ex:producer ?m ; ex:feature ?g . "
    "?m ex:label ?r . ?g ex:label ?f }",
    "explore 3": "SELECT ?p ?l { ?p ex:label ?l ; a ex:type5 ; ex:feature ex:feature2 ; ex:number1 ?n ; ex:number2 ?m "
    "FILTER(?n > 200 && ?m < 800) OPTIONAL { ?p ex:feature ex:feature9 ; ex:label ?has } FILTER(!BOUND(?has)) } "
    "ORDER BY ?l LIMIT 10",
    "explore 4": "SELECT DISTINCT ?p ?l { { ?p ex:label ?l ; a ex:type3 ; ex:feature ex:feature2 , ex:feature3 } "
    "UNION { ?p ex:label ?l ; a ex:type3 ; ex:feature ex:feature2 , ex:feature8 } } ORDER BY ?l LIMIT 10",
    "explore 5": "SELECT DISTINCT ?o ?l { ?o ex:label ?l . FILTER(ex:product9 != ?o) ex:product9 ex:feature ?f . "
    "?o ex:feature ?f . ex:product9 ex:number1 ?n . ?o ex:number1 ?m FILTER(?m < ?n + 120 && ?m > ?n - 120) } "
    "ORDER BY ?l LIMIT 5",
    "explore 7": "SELECT ?l ?o ?v { ex:product3 ex:label ?l OPTIONAL { ?o ex:product ex:product3 ; ex:price ?e ; "
    "ex:vendor ?v . ?v ex:country ex:country1 } OPTIONAL { ?r ex:reviewFor ex:product3 ; ex:rating ?x } }",
    "explore 8": "SELECT ?t ?n { ?r ex:reviewFor ex:product5 ; ex:title ?t ; ex:reviewer ?w . "
    "?w ex:label ?n } LIMIT 20",
    "explore 10": "SELECT DISTINCT ?o ?e { ?o ex:product ex:product5 ; ex:vendor ?v ; ex:price ?e . "
    "?v ex:country ex:country1 } ORDER BY ?e LIMIT 10",
    "explore 12": "CONSTRUCT { ?o ex:of ?l } { ?o ex:product ?p ; ex:vendor ?v . ?p ex:label ?l "
    "FILTER(?o = ex:offer9) }",
    "a class and a rare property": "SELECT ?p ?v { ?p a ex:Product ; ex:recalled ?v }",
    "the rare one last": "SELECT ?l ?v { ?p ex:label ?l ; ex:comment ?c ; ex:recalled ?v }",
    "reviews of what was recalled": "SELECT ?r ?t { ?r a ex:Review ; ex:title ?t ; ex:reviewFor ?p . ?p a ex:Product ; "
    "ex:recalled ?v }",
    "two classes": "SELECT ?o ?p { ?o a ex:Offer ; ex:product ?p ; ex:vendor ?v . ?v a ex:Closed }",
    "in a country": "SELECT ?o ?e { ?o a ex:Offer ; ex:price ?e ; ex:vendor ?v . ?v ex:country ex:country19 }",
    "counted": "SELECT ?m (COUNT(*) AS ?n) { ?p a ex:Product ; ex:producer ?m ; ex:recalled ?v } GROUP BY ?m",
}  # fmt: skip


def quads(products: int, seed: int) -> Iterator[ox.Quad]:
    """About 110 quads a product, with its offers and reviews."""
    rng = random.Random(seed)

    def quad(subject: str, predicate: str, value: object) -> ox.Quad:
        term = ox.Literal(value) if isinstance(value, int) else ox.NamedNode(EX + str(value))
        return ox.Quad(ox.NamedNode(EX + subject), TYPE if predicate == "a" else ox.NamedNode(EX + predicate), term)

    def words(subject: str, *predicates: str) -> Iterator[ox.Quad]:
        for predicate in predicates:
            text = ox.Literal(f"{subject} {rng.randrange(10**6)}")
            yield ox.Quad(ox.NamedNode(EX + subject), ox.NamedNode(EX + predicate), text)

    vendors, producers, persons = products // 25, products // 40, products // 2
    for kind, count in (("feature", 200), ("vendor", vendors), ("producer", producers), ("person", persons)):
        for number in range(count):
            yield from words(f"{kind}{number}", "label")
            yield quad(f"{kind}{number}", "a", kind.capitalize())
            yield quad(f"{kind}{number}", "country", f"country{rng.randrange(20)}")
    for number in range(3):
        yield quad(f"vendor{number}", "a", "Closed")
    for number in range(products):
        name = f"product{number}"
        yield from words(name, "label", "comment")
        yield from (quad(name, *of) for of in (("a", "Product"), ("a", f"type{rng.randrange(40)}")))
        yield from (quad(name, "feature", f"feature{int(200 * rng.random() ** 2)}") for _ in range(12))
        yield quad(name, "producer", f"producer{rng.randrange(producers)}")
        yield from (quad(name, f"number{one}", rng.randrange(1000)) for one in (1, 2))
        if number % 500 == 3:
            yield quad(name, "recalled", 2000 + number % 20)
        for part in range(8):
            offer, review = f"offer{number * 8 + part}", f"review{number * 8 + part}"
            for predicate, value in (("a", "Offer"), ("product", name), ("vendor", f"vendor{rng.randrange(vendors)}")):
                yield quad(offer, predicate, value)
            yield quad(offer, "price", rng.randrange(10_000))
            for predicate, value in (
                ("a", "Review"),
                ("reviewFor", name),
                ("reviewer", f"person{rng.randrange(persons)}"),
            ):
                yield quad(review, predicate, value)
            yield quad(review, "rating", rng.randrange(10))
            yield from words(review, "title")


def seconds(store: ox.Store, text: str) -> tuple[float, int]:
    """CPU seconds of a query, and its results."""
    began = time.process_time()
    count = sum(1 for _ in store.query(text))  # type: ignore[call-overload]  # no ASK
    return time.process_time() - began, count


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure the order of joins.")
    parser.add_argument("--products", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    environment()
    store = ox.Store()
    store.bulk_extend(quads(options.products, 7))
    rows = []
    for name, query in QUERIES.items():
        began = time.process_time()
        asked = MergedStores().reordered(store, Query(P + query)).text
        counting = time.process_time() - began
        both = [[seconds(store, text) for text in (P + query, asked)] for _ in range(options.rounds)]
        assert len({pair[0][1] for pair in both} | {pair[1][1] for pair in both}) == 1
        plain, ordered = (median([pair[at][0] for pair in both]) * 1e3 for at in (0, 1))
        rows.append(
            [name, both[0][0][1], plain, ordered, plain / ordered if asked != P + query else 1.0, counting * 1e3]
        )
    table(
        f"{len(store):,} quads", ["query", "results", "as written, ms", "as asked, ms", "times", "counting, ms"], rows
    )


if __name__ == "__main__":
    main()
