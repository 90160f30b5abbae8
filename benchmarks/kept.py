"""Whether a reworded question finds the question that is kept for it, among 200: python -m benchmarks.kept

Of 40 there is one each; 20 are asked of six companies or ten cities, so neither the name nor the rest is enough.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from itertools import product
from pathlib import Path

import worlds

PLAIN = [
    ("Which companies were founded before 1990?", "What firms are older than 1990?"),
    ("How many employees does each company have?", "Headcount by firm"),
    ("Which company has the highest revenue?", "Who earns the most money of all companies?"),
    ("List all products that cost more than 500 euros.", "Show everything we sell that is priced above 500"),
    ("Which people have no manager?", "Who reports to nobody?"),
    ("How many cities are in each country?", "Number of towns per nation"),
    ("Which products have no price?", "Articles whose price is missing"),
    ("What is the average salary of engineers?", "How much do engineers earn on average?"),
    ("Which employees joined in 2020?", "People hired during 2020"),
    ("Which suppliers deliver to more than three companies?", "Vendors with over three customers"),
    ("Which two companies share a board member?", "Firms that have a director in common"),
    ("What languages are spoken in more than one country?", "Tongues used across several nations"),
    ("Which rivers flow through two countries?", "Streams that cross a border"),
    ("What is the longest river?", "Which river has the greatest length?"),
    ("Which mountains are higher than 4000 metres?", "Peaks above 4000 m"),
    ("List the capital of each country.", "Seat of government for every nation"),
    ("Which patients were given two drugs that interact?", "Persons treated with a dangerous combination of medicines"),
    ("Which proteins are located in the cell membrane?", "Membrane proteins"),
    ("Which genes are associated with more than one disease?", "Genes linked to several illnesses"),
    ("How many papers were published each year?", "Publications by year"),
    ("Which authors have written together most often?", "Who are the most frequent coauthors?"),
    ("Which articles cite a retracted paper?", "Papers that rely on withdrawn work"),
    ("Which books are overdue?", "What has not been returned to the library in time?"),
    ("Which members have borrowed nothing this year?", "Readers without a loan this year"),
    ("Which paintings are not on display?", "Art that is kept in storage"),
    ("Which artists were born and died in the same city?", "Painters whose place of birth is their place of death"),
    ("What are the five largest museums by visitors?", "Top five museums by attendance"),
    ("Which trains are late by more than ten minutes?", "Delayed railway services, over ten minutes"),
    ("Which stations have no lift?", "Stops that are not accessible by elevator"),
    ("What is the shortest connection between two stations?", "Quickest route from one stop to another"),
    ("Which invoices are unpaid?", "Open bills"),
    ("Which customers have ordered nothing since January?", "Clients that are inactive since January"),
    ("What is the total turnover by region?", "Sales summed up for every area"),
    ("Which machines need maintenance this month?", "Equipment due for service in this month"),
    ("Which spare parts are out of stock?", "Components of which none is left"),
    ("Which servers run an outdated operating system?", "Hosts with old system software"),
    ("Which vulnerabilities are not mitigated?", "Weaknesses without a countermeasure"),
    ("Which attacks use a stolen password?", "Techniques that rely on compromised credentials"),
    ("Which species are endangered?", "Animals threatened with extinction"),
    ("What do owls eat?", "Prey of owls"),
]
NAMED = [
    ("Who works for {}?", "Staff of {}"),
    ("Where is {} based?", "In which city does {} have its headquarters?"),
    ("When was {} founded?", "Year of establishment of {}"),
    ("Which products does {} make?", "What is manufactured by {}?"),
    ("Who leads {}?", "Name the chief executive of {}"),
    ("Which companies does {} own?", "Subsidiaries of {}"),
    ("How much revenue did {} have last year?", "Annual turnover of {}"),
    ("Which patents are held by {}?", "Inventions that {} has protected"),
    ("Which companies compete with {}?", "Rivals of {}"),
    ("Who are the largest customers of {}?", "Clients that buy most from {}"),
]
THINGS = ["Nordlys Energy", "Altura Foods", "Kestrel Labs", "Velora Steel", "Ostrava Glass", "Bright Harbour"]
PLACES = ["Oslo", "Turin", "Ghent", "Krakow", "Porto", "Graz", "Basel", "Malmo", "Lyon", "Bergen"]
OF_PLACES = [
    ("How many people live in {}?", "Population of {}"),
    ("Which companies are located in {}?", "Firms with an office at {}"),
    ("Who is the mayor of {}?", "Head of the town council of {}"),
    ("Which museums are there in {}?", "Places to see art in {}"),
    ("What is the weather station nearest to {}?", "Closest meteorological site to {}"),
    ("Which universities are in {}?", "Where can one study in {}?"),
    ("Which train lines stop in {}?", "Railway routes that serve {}"),
    ("What is the highest building in {}?", "Tallest tower of {}"),
    ("Which rivers flow through {}?", "Water courses of {}"),
    ("Which festivals take place in {}?", "Annual events held at {}"),
]


def questions() -> list[tuple[str, str, str | None]]:
    """The questions as they are kept, in other words, and the thing that they name."""
    found: list[tuple[str, str, str | None]] = [(*pair, None) for pair in PLAIN]
    for pairs, things in ((NAMED, THINGS), (OF_PLACES, PLACES)):
        found += [(one.format(thing), other.format(thing), thing) for (one, other), thing in product(pairs, things)]
    return found


def _iri(thing: str) -> str:
    return f"<https://kept.example/{thing.replace(' ', '')}>"


def ranks(world: worlds.World) -> tuple[list[int | None], list[float]]:
    """The rank, from 1, of the right question for each in other words, None where it is beyond 10; and seconds."""
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    world.update(
        "INSERT DATA { "
        + " ".join(f'{_iri(one)} a <https://kept.example/Thing> ; {label} "{one}" .' for one in (*THINGS, *PLACES))
        + " }"
    )
    lines = ["@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix sh: <http://www.w3.org/ns/shacl#> ."]
    for at, (kept, _, thing) in enumerate(questions()):
        query = f"SELECT ?x {{ {'?y' if thing is None else _iri(thing)} <https://kept.example/p{at}> ?x }}"
        lines.append(f'<https://kept.example/q{at}> rdfs:comment "{kept}" ; sh:select "{query}" .')
    world.questions.load("\n".join(lines).encode(), format="turtle")
    found, seconds = [], []
    for kept, other, _ in questions():
        began = time.perf_counter()
        near = [one.question for one in world.questions.near(other, limit=10)]
        seconds.append(time.perf_counter() - began)
        found.append(near.index(kept) + 1 if kept in near else None)
    return found, seconds


def main() -> None:
    """Print how often the right question is the first, and among the first three, with vectors and without."""
    with tempfile.TemporaryDirectory() as folder:
        for name, embedder in (("words and meaning", "auto"), ("words alone", None)):
            with worlds.open(Path(folder) / f"{name}.db", embedder=embedder) as world:
                found, seconds = ranks(world)
                one, three = (sum(rank is not None and rank <= most for rank in found) / len(found) for most in (1, 3))
                print(f"{name}: {len(found)} questions; first {one:.3f}, among three {three:.3f}; "
                      f"{statistics.median(seconds) * 1000:.1f} ms")  # fmt: skip
                for rank, (kept, other, _) in zip(found, questions(), strict=True):
                    if rank is None or rank > 3:
                        print(f"  {other!r} for {kept!r}: {rank}")


if __name__ == "__main__":
    main()
