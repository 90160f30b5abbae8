# ruff: noqa: E501
# A question and its answer stand in one line each.
"""A generated world of companies, people, cities and products, with questions in words and their right answers.

Three vocabularies say the same in other words and directions. The questions were worded once for all of them, so some
speak of a predicate by another word than the vocabulary does: an engine that is not sure must not answer these.
"""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

EX = "https://company.example/"
_FIRST = [
    "Anna",
    "Bela",
    "Carlos",
    "Dana",
    "Emil",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Liam",
    "Mona",
    "Nils",
    "Olga",
    "Pavel",
    "Rosa",
    "Sven",
    "Tara",
    "Umar",
    "Vera",
    "Willem",
    "Yara",
    "Zeno",
]
_LAST = [
    "Abel",
    "Brandt",
    "Costa",
    "Dupont",
    "Ekholm",
    "Fischer",
    "Garcia",
    "Hansen",
    "Ivanov",
    "Jansen",
    "Kovacs",
    "Lindqvist",
    "Moreau",
    "Novak",
    "Okafor",
    "Petrov",
    "Quist",
    "Rossi",
    "Silva",
    "Tanaka",
]
_CITIES = ["Lisbon", "Porto", "Oslo", "Bergen", "Turin", "Milan", "Ghent", "Lyon", "Krakow", "Graz", "Basel", "Malmo"]
_COUNTRIES = {
    "Portugal": 2,
    "Norway": 2,
    "Italy": 2,
    "Belgium": 1,
    "France": 1,
    "Poland": 1,
    "Austria": 1,
    "Switzerland": 1,
    "Sweden": 1,
}
_STEMS = [
    "Nordlys",
    "Altura",
    "Brivio",
    "Castell",
    "Dovrex",
    "Elmira",
    "Fontana",
    "Gravix",
    "Helios",
    "Intera",
    "Jovian",
    "Kestra",
    "Lumina",
    "Mirador",
    "Nexora",
    "Orbita",
    "Pradex",
    "Quanta",
]
_ENDS = ["Systems", "Foods", "Energy", "Labs", "Logistics", "Robotics"]
_THINGS = [
    "Kettle",
    "Lamp",
    "Drone",
    "Sensor",
    "Router",
    "Blender",
    "Scooter",
    "Printer",
    "Heater",
    "Camera",
    "Speaker",
    "Tablet",
]

Terms = dict[str, Any]


@dataclass(frozen=True)
class Style:
    """How a vocabulary names classes and predicates; a "^" before a name says that it leads the other way."""

    name: str
    classes: dict[str, str]
    predicates: dict[str, str]
    labels: dict[str, str]


STYLES = [
    Style(
        "plain",
        {"company": "Company", "person": "Person", "city": "City", "country": "Country", "product": "Product"},
        {"works": "worksFor", "seat": "headquarters", "founded": "founded", "staff": "employees", "revenue": "revenue",
         "makes": "makes", "inhabitants": "population", "land": "country", "born": "birthDate", "pay": "salary",
         "home": "livesIn", "price": "price", "released": "releaseDate", "founder": "founder"},
        {"works": "works for", "staff": "number of employees", "born": "date of birth", "home": "lives in",
         "released": "release date"},
    ),
    Style(
        "schema.org",
        {"company": "Organization", "person": "Person", "city": "City", "country": "Country", "product": "Product"},
        {"works": "worksFor", "seat": "location", "founded": "foundingDate", "staff": "numberOfEmployees",
         "revenue": "annualRevenue", "makes": "^manufacturer", "inhabitants": "population", "land": "containedInPlace",
         "born": "birthDate", "pay": "baseSalary", "home": "homeLocation", "price": "price",
         "released": "releaseDate", "founder": "founder"},
        {},
    ),
    Style(
        "inverse",
        {"company": "Firm", "person": "Human", "city": "Town", "country": "State", "product": "Good"},
        {"works": "^employs", "seat": "basedIn", "founded": "inception", "staff": "headcount", "revenue": "turnover",
         "makes": "^producedBy", "inhabitants": "inhabitants", "land": "inState", "born": "bornOn", "pay": "wage",
         "home": "residence", "price": "cost", "released": "launched", "founder": "^founderOf"},
        {"company": "company", "person": "person", "city": "city", "country": "country", "product": "product"},
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A question, its kind, and its right answer: names, a number or a bool."""

    question: str
    kind: str
    answer: Any


@dataclass
class Company:
    """One generated world."""

    style: Style
    document: bytes
    questions: list[Asked]


def company(seed: int, style: Style) -> Company:
    """Make a world and its questions."""
    draw = random.Random(seed)
    names: dict[str, list[str]] = {
        "city": _CITIES,
        "country": list(_COUNTRIES),
        "company": draw.sample([f"{stem} {end}" for stem in _STEMS for end in _ENDS], 40),
        "person": draw.sample([f"{first} {last}" for first in _FIRST for last in _LAST], 200),
        "product": draw.sample([f"{stem} {thing}" for stem in _STEMS for thing in _THINGS], 80),
    }
    facts: dict[str, dict[str, Any]] = defaultdict(dict)
    land = iter([country for country, count in _COUNTRIES.items() for _ in range(count)])
    for city in names["city"]:
        facts[city] = {
            "kind": "city",
            "inhabitants": draw.randrange(20, 900) * 1000 + draw.randrange(1000),
            "land": next(land),
        }
    for country in names["country"]:
        facts[country] = {"kind": "country"}
    for one in names["company"]:
        facts[one] = {"kind": "company", "seat": draw.choice(_CITIES), "founded": draw.randrange(1900, 2022),
                      "staff": draw.randrange(10, 9000), "revenue": draw.randrange(1, 5000) * 100_000}  # fmt: skip
    for one in names["person"]:
        facts[one] = {"kind": "person", "works": draw.choice(names["company"]), "home": draw.choice(_CITIES),
                      "born": f"{draw.randrange(1950, 2004)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
                      "pay": draw.randrange(25, 180) * 1000 + draw.randrange(1000)}  # fmt: skip
    for one in names["company"]:
        facts[one]["founder"] = draw.choice(names["person"])
    for one in names["product"]:
        facts[one] = {"kind": "product", "made": draw.choice(names["company"]), "price": draw.randrange(5, 2000),
                      "released": f"{draw.randrange(1995, 2026)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"}  # fmt: skip
    return Company(style, _turtle(style, facts, draw).encode(), list(_questions(draw, names, facts)))


def _turtle(style: Style, facts: dict[str, dict[str, Any]], draw: random.Random) -> str:
    numbers = {name: f"ex:n{at}" for at, name in enumerate(facts)}
    lines = [
        f"@prefix ex: <{EX}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    ]
    for group in (style.classes, style.predicates):
        lines += [
            f'ex:{name.lstrip("^")} rdfs:label "{style.labels[key]}" .'
            for key, name in group.items()
            if key in style.labels
        ]
    for name, said in facts.items():
        lines.append(f'{numbers[name]} a ex:{style.classes[said["kind"]]} ; rdfs:label "{name}" .')
        for key, value in said.items():
            if key == "kind":
                continue
            predicate = style.predicates["makes" if key == "made" else key]
            subject: str | None = numbers[name]
            other = numbers.get(value) if isinstance(value, str) else None
            if key == "made":
                subject, other = other, subject
            if other is not None:
                subject, other = (other, subject) if predicate.startswith("^") else (subject, other)
                lines.append(f"{subject} ex:{predicate.lstrip('^')} {other} .")
                continue
            literal = f'"{value}"^^xsd:date' if isinstance(value, str) else str(value)
            if key == "founded":
                literal = (
                    f'"{value}"^^xsd:gYear'
                    if style.name == "plain"
                    else f'"{value}-03-01"^^xsd:date'
                    if style.name == "schema.org"
                    else str(value)
                )
            lines.append(f"{subject} ex:{predicate} {literal} .")
    draw.shuffle(lines[1:])
    return "\n".join(lines)


def _questions(draw: random.Random, names: dict[str, list[str]], facts: dict[str, dict[str, Any]]) -> Iterator[Asked]:
    def those(kind: str, test: Callable[[Terms], bool] = lambda one: True) -> list[str]:
        return [name for name in names[kind] if test(facts[name])]

    def extreme(
        kind: str, key: Callable[[str], Any], most: bool, test: Callable[[Terms], bool] = lambda one: True
    ) -> list[str]:
        some = those(kind, test)
        best = (max if most else min)(map(key, some))
        return [one for one in some if key(one) == best]

    city, land = draw.choice(_CITIES), draw.choice(names["country"])
    one, two = draw.sample(names["company"], 2)
    person, other = draw.sample(names["person"], 2)
    product = draw.choice(names["product"])
    year = draw.randrange(1930, 2000)
    people, least_pay, most_price = draw.randrange(500, 6000), draw.randrange(40, 150) * 1000, draw.randrange(50, 1500)
    here = those("company", lambda c: c["seat"] == city)
    staffed = {c: sum(facts[p]["works"] == c for p in names["person"]) for c in names["company"]}
    made = {c: sum(facts[p]["made"] == c for p in names["product"]) for c in names["company"]}

    def pick(*ways: str) -> str:
        return draw.choice(ways)

    def day(iso: str) -> str:
        date = datetime.date.fromisoformat(iso)
        return pick(f"{date.day} {date:%B} {date.year}", f"{date:%B} {date.day}, {date.year}", iso)

    yield Asked(
        pick(
            "How many companies are there?",
            "how many companies do we have",
            "What is the number of companies?",
            "Count all companies",
        ),
        "count",
        40,
    )
    yield Asked(pick("How many products are there in total?", "Number of products?"), "count", 80)
    if here:
        yield Asked(
            pick(
                f"How many companies are based in {city}?",
                f"How many companies are in {city}?",
                f"how many companies have their seat in {city}",
                f"What is the number of companies headquartered in {city}?",
            ),
            "count",
            len(here),
        )
        yield Asked(
            pick(
                f"Which companies are located in {city}?",
                f"List all companies in {city}.",
                f"Show me the companies from {city}",
            ),
            "list",
            here,
        )
    yield Asked(
        pick(
            f"How many people work for {one}?",
            f"How many people are employed by {one}?",
            f"How many persons work at {one}?",
        ),
        "count",
        staffed[one],
    )
    yield Asked(
        pick(f"Which people work for {one}?", f"List the people who work at {one}"),
        "list",
        those("person", lambda p: p["works"] == one),
    )
    yield Asked(
        pick(
            f"How many products does {one} make?",
            f"How many products are made by {one}?",
            f"How many products does {one} have?",
        ),
        "count",
        made[one],
    )
    yield Asked(
        pick(f"Which products does {two} make?", f"What products are made by {two}?", f"List the products of {two}"),
        "list",
        those("product", lambda p: p["made"] == two),
    )
    yield Asked(
        pick(f"How many employees does {one} have?", f"What is the number of employees of {one}?"),
        "count",
        facts[one]["staff"],
    )
    yield Asked(
        pick(f"How many people live in {city}?", f"How many persons have their home in {city}?"),
        "count",
        len(those("person", lambda p: p["home"] == city)),
    )
    yield Asked(
        pick(
            "Which company has the highest revenue?",
            "What is the company with the highest revenue?",
            "Which company has the largest revenue?",
        ),
        "superlative",
        extreme("company", lambda c: facts[c]["revenue"], True),
    )
    yield Asked(
        pick("Which company has the lowest revenue?", "Name the company with the least revenue"),
        "superlative",
        extreme("company", lambda c: facts[c]["revenue"], False),
    )
    yield Asked(
        pick("What is the oldest company?", "Which company was founded first?", "Which is the oldest company?"),
        "superlative",
        extreme("company", lambda c: facts[c]["founded"], False),
    )
    yield Asked(
        pick(
            "Which company is the youngest?", "Which company was founded most recently?", "What is the newest company?"
        ),
        "superlative",
        extreme("company", lambda c: facts[c]["founded"], True),
    )
    yield Asked(
        pick("Who is the oldest person?", "Which person is the oldest?"),
        "superlative",
        extreme("person", lambda p: facts[p]["born"], False),
    )
    ranked: list[tuple[int, str, str, Callable[[str], Any], tuple[str, ...]]] = [
        (3, "three", "company", lambda c: -facts[c]["revenue"],
         ("Which {} companies have the highest revenue?", "What are the {} largest companies by revenue?",
          "top {} companies by revenue")),
        (5, "five", "product", lambda p: -facts[p]["price"],
         ("List the {} most expensive products.", "What are the top {} products by price?")),
        (4, "four", "company", lambda c: facts[c]["founded"],
         ("Which are the {} oldest companies?", "the {} companies that were founded first")),
        (2, "two", "company", lambda c: -made[c],
         ("Which {} companies make the most products?", "the {} companies with the most products")),
    ]  # fmt: skip
    for few, word, kind, by, ways in ranked:
        last = sorted(map(by, names[kind]))[few - 1]
        best = [one for one in names[kind] if by(one) <= last]
        yield Asked(pick(*ways).format(pick(str(few), word)), "superlative", best)
    yield Asked(
        pick(
            f"Which people were born on {day(facts[person]['born'])}?",
            f"Who was born on {facts[person]['born']}?",
            f"Who has their birthday on {day(facts[person]['born'])}?",
        ),
        "filter",
        those("person", lambda p: p["born"] == facts[person]["born"]),
    )
    yield Asked(
        pick(f"How many people were born before {day(facts[other]['born'])}?"),
        "filter",
        len(those("person", lambda p: p["born"] < facts[other]["born"])),
    )
    yield Asked(
        pick(
            "Which person has the highest salary?",
            "Who is the best paid person?",
            "Which person earns the highest salary?",
        ),
        "superlative",
        extreme("person", lambda p: facts[p]["pay"], True),
    )
    yield Asked(
        pick(
            "What is the most expensive product?",
            "Which product has the highest price?",
            "Which product is the most expensive?",
        ),
        "superlative",
        extreme("product", lambda p: facts[p]["price"], True),
    )
    yield Asked(
        pick("What is the cheapest product?", "Which product has the lowest price?"),
        "superlative",
        extreme("product", lambda p: facts[p]["price"], False),
    )
    yield Asked(
        pick("Which product was released last?", "What is the newest product?", "Which is the latest product?"),
        "superlative",
        extreme("product", lambda p: facts[p]["released"], True),
    )
    yield Asked(
        pick(
            "Which city has the largest population?",
            "What is the largest city?",
            "Which city has the most inhabitants?",
            "What is the most populous city?",
        ),
        "superlative",
        extreme("city", lambda c: facts[c]["inhabitants"], True),
    )
    yield Asked(
        pick("Which company makes the most products?", "Which company has the most products?"),
        "superlative",
        extreme("company", lambda c: made[c], True),
    )
    if here:
        yield Asked(
            pick(f"What is the oldest company in {city}?", f"Which company in {city} is the oldest?"),
            "superlative",
            extreme("company", lambda c: facts[c]["founded"], False, lambda c: c["seat"] == city),
        )
        yield Asked(
            pick(
                f"Which company in {city} has the highest revenue?",
                f"What company based in {city} has the greatest revenue?",
            ),
            "superlative",
            extreme("company", lambda c: facts[c]["revenue"], True, lambda c: c["seat"] == city),
        )
    yield Asked(
        pick(
            f"Which companies were founded before {year}?",
            f"List all companies founded before {year}",
            f"What companies were founded earlier than {year}?",
        ),
        "filter",
        those("company", lambda c: c["founded"] < year),
    )
    yield Asked(
        pick(f"Which companies were founded after {year}?", f"companies founded after {year}"),
        "filter",
        those("company", lambda c: c["founded"] > year),
    )
    yield Asked(
        pick(
            f"Which companies were founded between {year} and {year + 20}?",
        ),
        "filter",
        those("company", lambda c: year <= c["founded"] <= year + 20),
    )
    yield Asked(
        pick(f"How many companies were founded since {year}?", f"How many companies were founded in or after {year}?"),
        "count",
        len(those("company", lambda c: c["founded"] >= year)),
    )
    yield Asked(
        pick(
            f"Which companies have more than {people:,} employees?",
            f"List companies with over {people} employees",
            f"What companies have more than {people} employees?",
        ),
        "filter",
        those("company", lambda c: c["staff"] > people),
    )
    yield Asked(
        pick(
            f"How many companies have fewer than {people} employees?",
            f"How many companies have less than {people:,} employees?",
        ),
        "count",
        len(those("company", lambda c: c["staff"] < people)),
    )
    yield Asked(
        pick("Which companies have a revenue over 200 million?", "companies with more than 200 million in revenue"),
        "filter",
        those("company", lambda c: c["revenue"] > 200_000_000),
    )
    yield Asked(
        pick(
            f"Which people earn a salary of more than {least_pay}?", f"Which people have a salary above {least_pay:,}?"
        ),
        "filter",
        those("person", lambda p: p["pay"] > least_pay),
    )
    yield Asked(
        pick(
            f"Which products cost less than {most_price}?",
            f"List products with a price below {most_price}",
            f"Which products are cheaper than {most_price}?",
        ),
        "filter",
        those("product", lambda p: p["price"] < most_price),
    )
    yield Asked(
        pick(
            "Which products were released after 2015?",
            "What products were launched after 2015?",
            "Products with a release date after 2015",
        ),
        "filter",
        those("product", lambda p: p["released"][:4] > "2015"),
    )
    yield Asked(
        pick("Which people were born before 1960?", "List all people born before 1960"),
        "filter",
        those("person", lambda p: p["born"] < "1960"),
    )
    yield Asked(
        pick("Which cities have at least 500,000 inhabitants?", "cities with a population of at least 500000"),
        "filter",
        those("city", lambda c: c["inhabitants"] >= 500_000),
    )
    yield Asked(
        pick(
            f"Which is older, {one} or {two}?",
            f"Which company is older, {one} or {two}?",
            f"Which company was founded first, {one} or {two}?",
        ),
        "comparison",
        extreme("company", lambda c: facts[c]["founded"], False, lambda c: c in (facts[one], facts[two])),
    )
    yield Asked(
        pick(f"Who is younger, {person} or {other}?", f"Which person is younger, {person} or {other}?"),
        "comparison",
        extreme("person", lambda p: facts[p]["born"], True, lambda p: p in (facts[person], facts[other])),
    )
    yield Asked(
        pick(f"Which has the higher revenue, {one} or {two}?", f"Which company has a higher revenue, {one} or {two}?"),
        "comparison",
        extreme("company", lambda c: facts[c]["revenue"], True, lambda c: c in (facts[one], facts[two])),
    )
    yield Asked(
        pick(f"Is {one} older than {two}?", f"Was {one} founded earlier than {two}?"),
        "comparison",
        facts[one]["founded"] < facts[two]["founded"],
    )
    yield Asked(
        pick(
            f"Does {person} work for {facts[person]['works']}?",
        ),
        "yes or no",
        True,
    )
    yield Asked(
        pick(f"Does {person} work for {two}?", f"Is {person} employed by {two}?"),
        "yes or no",
        facts[person]["works"] == two,
    )
    yield Asked(
        pick(f"Is {product} made by {one}?", f"Does {one} make {product}?"), "yes or no", facts[product]["made"] == one
    )
    yield Asked(
        pick(f"Is {one} based in {city}?", f"Is {one} located in {city}?"), "yes or no", facts[one]["seat"] == city
    )
    yield Asked(
        pick(
            f"Does {one} have more than {people} employees?",
        ),
        "yes or no",
        facts[one]["staff"] > people,
    )
    yield Asked(
        pick("What is the average salary?", "What is the average salary of people?"),
        "count",
        sum(facts[p]["pay"] for p in names["person"]) / 200,
    )
    if staffed[one]:
        yield Asked(
            pick(
                f"What is the average salary of people at {one}?",
                f"What is the average salary of people who work for {one}?",
            ),
            "count",
            sum(facts[p]["pay"] for p in those("person", lambda p: p["works"] == one)) / staffed[one],
        )
    yield Asked(
        pick("What is the total revenue of all companies?", "total revenue of the companies"),
        "count",
        sum(facts[c]["revenue"] for c in names["company"]),
    )
    inland = those("company", lambda c: facts[c["seat"]]["land"] == land)
    yield Asked(
        pick(f"How many companies are in {land}?", f"How many companies have their headquarters in {land}?"),
        "count",
        len(inland),
    )
    yield Asked(
        pick(
            f"How many people work for companies in {city}?",
        ),
        "count",
        len(those("person", lambda p: facts[p["works"]]["seat"] == city)),
    )
    yield Asked(f"How many cities are in {land}?", "count", len(those("city", lambda c: c["land"] == land)))
    # what the world does not say
    yield Asked(
        pick(
            f"How many companies left {city}?",
            f"Which companies do not work in {city}?",
            f"Which companies closed their office in {city}?",
        ),
        "unanswerable",
        None,
    )
    yield Asked(
        pick(
            "Which company has the most patents?",
            "What is the greenest company?",
            "Which company is the most profitable?",
        ),
        "unanswerable",
        None,
    )
    yield Asked(
        pick(
            f"How many people were fired by {one}?",
            f"How many people love {city}?",
            f"Which people used to work for {one}?",
        ),
        "unanswerable",
        None,
    )
    yield Asked(
        pick(
            "Which products have more than 20 colours?",
            "Which companies have fewer than 5 lawsuits?",
            "Which people are younger than 30?",
        ),
        "unanswerable",
        None,
    )
