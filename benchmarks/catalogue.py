"""A made-up catalogue of things that look alike and are no duplicates: what tells siblings apart, to fit on."""

from __future__ import annotations

import random

import pyoxigraph as ox

from worlds.graph.terms import RDF

LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
SKOS = "http://www.w3.org/2004/02/skos/core#"
BASE = "http://catalogue.example/"
NOUNS = ["valve", "bolt", "filter", "pump", "cable", "resin", "clay", "soil", "lamp", "panel", "motor", "gauge",
         "hinge", "seal", "drill", "paint", "glue", "mortar", "tile"]  # fmt: skip
STUFF = ["steel", "brass", "copper", "oak", "nylon", "rubber", "marble", "glass", "carbon", "ceramic", "cotton",
         "linen", "cork", "tin", "zinc", "slate"]  # fmt: skip
KINDS = ["cohesive", "organic", "elastic", "stable", "porous", "active", "soluble", "linear", "thermal", "metallic",
         "regular", "polar", "sonic", "cellular"]  # fmt: skip
PREFIXES = ["", "in", "non", "micro", "macro", "sub", "super", "un", "pre", "post", "anti"]
RADICALS = ["methyl", "ethyl", "propyl", "butyl", "acetyl", "phenyl", "benzyl", "vinyl"]
QUALIFIERS = ["", "old ", "upper ", "lower ", "minor ", "left ", "new "]
SUFFIXES = ["Ltd", "Inc.", "AG", "Group"]
FIRMS = [f"{a.title()}{b} {c}" for a, b, c in zip(STUFF * 3, NOUNS * 3, SUFFIXES * 12, strict=False)]
ROLES = [
    ("{} legal address", "{} headquarters address", "{} billing address"),
    ("{} module", "metadata about the {}"),
    ("{}", "{} scheme", "{} identifier"),
    ("{} registry", "{} registry entry"),
    ("{}", "other {}"),
    ("{} up", "{} down"),
    ("{} subject to tax", "{} that is not subject to tax"),
    ("{} A", "{} B", "{} C"),
]


def letters(size: int, chance: random.Random) -> str:
    return "".join(chance.choice("ABCDEFGHKLMNOPRSTUVX") for _ in range(size))


def family(chance: random.Random) -> tuple[list[str], bool]:
    """The names of siblings, and whether all is said of each alike."""
    a, b, c = chance.choice(STUFF), chance.choice(NOUNS), chance.choice(KINDS)
    way = chance.randrange(13)
    names: list[str] = []
    if way == 0:
        unit, size = chance.choice(("mm", "cm", "kg", "V", "bar")), chance.choice((1, 10, 100))
        names = [f"{a} {b} {chance.randrange(10, 400) / size:g} {unit}" for _ in range(chance.randrange(3, 9))]
    elif way == 1:
        code = letters(chance.randrange(3, 7), chance)
        at = chance.randrange(len(code))
        names = [f"{code[:at]}{x}{code[at + 1 :]} {c} {b} class" for x in letters(chance.randrange(2, 7), chance)]
    elif way == 2:
        names = [f"{prefix}{c} {b}" for prefix in chance.sample(PREFIXES, 4)]
    elif way == 3:
        before = chance.random() < 0.5
        names = [f"{radical} {a}ate" if before else f"{a}thion {radical}" for radical in chance.sample(RADICALS, 4)]
    elif way == 4:
        names = [f"{c} {b} {number}" for number in range(1, chance.randrange(3, 8))]
    elif way == 5:
        first = chance.randrange(1980, 2020)
        names = [f"{a} {b} survey {year}" for year in range(first, first + chance.randrange(2, 7))]
    elif way == 6:
        names = [f"{qualifier}{a} {b}" for qualifier in chance.sample(QUALIFIERS, 4)]
    elif way == 7:
        topics = chance.sample([f"{x} {y}" for x in KINDS for y in NOUNS], chance.randrange(4, 30))
        names = [f"{a.title()} project handbook, {topic} {chance.choice(('module', 'part'))}" for topic in topics]
    elif way == 8:
        names = [f"{c} {b}", f"{c} {b}s", f"{c}ly {b}"]
    else:
        of = (chance.choice(FIRMS), f"{c} {a} {b}", f"{a} {b} {letters(3, chance)}", f"{c} {b} market")
        name = chance.choice(of)
        names = [role.format(name) for role in chance.choice(ROLES)]
    return list(dict.fromkeys(names)), way == 7 or way > 8


def value(chance: random.Random) -> str:
    return f"{chance.choice(KINDS)} {chance.choice(NOUNS)} {chance.randrange(90)}"


def catalogue(families: int = 600) -> list[ox.Triple]:
    """Families of siblings under one parent: sizes, codes, prefixes, radicals, numbers, years, qualifiers, plurals,
    roles of one thing with the same values, and files that share all that is said of a project."""
    chance = random.Random("catalogue")
    triples: list[ox.Triple] = []
    number = 0
    for group in range(families):
        names, alike = family(chance)
        parent = ox.NamedNode(f"{BASE}group{group}")
        triples.append(ox.Triple(parent, LABEL, ox.Literal(f"{names[0].split()[0]} family {group}")))
        said = [(ox.NamedNode(f"{BASE}p{n}"), value(chance)) for n in range(chance.randrange(3, 14) if alike else 3)]
        for name in names:
            number += 1
            iri = ox.NamedNode(f"{BASE}{number}")
            triples += [
                ox.Triple(iri, ox.NamedNode(RDF + "type"), ox.NamedNode(f"{BASE}Class{group % 40}")),
                ox.Triple(iri, LABEL, ox.Literal(name)),
                ox.Triple(iri, ox.NamedNode(SKOS + "broader"), parent),
            ]
            if chance.random() < 0.7:
                triples.append(ox.Triple(iri, ox.NamedNode(SKOS + "notation"), ox.Literal(f"{group:03}.{number:05}")))
            for predicate, common in said:
                if alike or chance.random() < 0.6:
                    own = alike or chance.random() < 0.4
                    triples.append(ox.Triple(iri, predicate, ox.Literal(common if own else value(chance))))
    return triples
