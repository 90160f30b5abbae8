# ruff: noqa: E501
# A question and the SPARQL query of its answer stand in one line each.
"""A generated world of a firm's staff: departments, offices, skills, projects and clients, with questions in words.

Much of what is asked is a plain text there (a job title, a status, an industry). The questions were worded after the
rules for the other generated world were written, and before those for texts were.
"""

from __future__ import annotations

import random

HR = "https://hr.example/"
PREFIXES = f"""PREFIX hr: <{HR}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
_DEPARTMENTS = ("Engineering", "Marketing", "Human Resources", "Finance", "Legal")
_OFFICES = ("Berlin", "Madrid", "Toronto", "Osaka")
_TITLES = ("Software Engineer", "Accountant", "Recruiter", "Sales Manager", "Lawyer", "Data Analyst")
_SKILLS = ("Python", "Negotiation", "Welding", "Statistics", "Spanish")
_CLIENTS = ("Brightwater", "Calder Bank", "Delphine", "Evergreen Power", "Fulton Stores", "Granite Health")
_PROJECTS = [
    "Atlas",
    "Borealis",
    "Cobalt",
    "Dune",
    "Ember",
    "Falcon",
    "Glacier",
    "Horizon",
    "Indigo",
    "Jasper",
    "Krypton",
    "Lotus",
]
_FIRST = [
    "Aisha",
    "Bruno",
    "Chen",
    "Delia",
    "Edgar",
    "Fumiko",
    "Goran",
    "Helga",
    "Ivo",
    "Julia",
    "Kwame",
    "Lena",
    "Marco",
    "Nadia",
    "Oscar",
    "Petra",
    "Quinn",
    "Rafael",
    "Sofia",
    "Tomas",
]
_LAST = ["Albrecht", "Bianchi", "Chowdhury", "Dvorak", "Eriksen", "Fontaine", "Gruber", "Hughes", "Ito", "Jensen"]


def staff(seed: int) -> tuple[bytes, list[tuple[str, str | None]]]:
    """A document in Turtle, and questions with the SPARQL of their answers; None for what the world does not say."""
    draw = random.Random(seed)
    people = draw.sample([f"{first} {last}" for first in _FIRST for last in _LAST], 90)
    lines = [PREFIXES]
    for at, name in enumerate(_DEPARTMENTS):
        lines.append(
            f'hr:d{at} a hr:Department ; rdfs:label "{name}" ; hr:budget {draw.randrange(100, 900) * 1000} ; hr:floor {draw.randrange(1, 9)} .'
        )
    for at, name in enumerate(_OFFICES):
        lines.append(f'hr:o{at} a hr:Office ; rdfs:label "{name}" ; hr:capacity {draw.randrange(20, 200)} .')
    lines += [f'hr:s{at} a hr:Skill ; rdfs:label "{name}" .' for at, name in enumerate(_SKILLS)]
    for at, name in enumerate(_CLIENTS):
        lines.append(
            f'hr:c{at} a hr:Client ; rdfs:label "{name}" ; hr:industry "{draw.choice(["banking", "retail", "energy", "healthcare"])}" ; hr:country "{draw.choice(["Germany", "Japan", "Canada"])}" ; hr:annualRevenue {draw.randrange(1, 90)}000000 .'
        )
    for at, name in enumerate(people):
        date = f"{draw.randrange(2005, 2025)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"
        lines.append(
            f'hr:e{at} a hr:Employee ; rdfs:label "{name}" ; hr:jobTitle "{draw.choice(_TITLES)}" ; hr:department hr:d{draw.randrange(5)} ; hr:office hr:o{draw.randrange(4)} ; '
            f'hr:manager hr:e{draw.randrange(90)} ; hr:salary {draw.randrange(30_000, 160_000)} ; hr:hireDate "{date}"^^xsd:date ; hr:age {draw.randrange(21, 66)} .'
        )
        lines += [f"hr:e{at} hr:hasSkill hr:s{skill} ." for skill in draw.sample(range(5), draw.randrange(1, 4))]
    for at, name in enumerate(_PROJECTS):
        lines.append(
            f'hr:p{at} a hr:Project ; rdfs:label "{name}" ; hr:status "{draw.choice(["active", "completed", "on hold"])}" ; hr:budget {draw.randrange(10, 800) * 1000} ; '
            f'hr:startDate "{draw.randrange(2015, 2025)}-05-01"^^xsd:date ; hr:lead hr:e{draw.randrange(90)} ; hr:client hr:c{draw.randrange(6)} .'
        )
        lines += [f"hr:p{at} hr:member hr:e{one} ." for one in draw.sample(range(90), draw.randrange(3, 12))]
    names = {"ANN": people[3], "BOB": people[8], "PROJECT": _PROJECTS[4]}

    def filled(text: str) -> str:
        for place, name in names.items():
            text = text.replace(place, name)
        return text

    asked = [(filled(question), None if query is None else PREFIXES + filled(query)) for question, query in QUESTIONS]
    return "\n".join(lines).encode(), asked


QUESTIONS: list[tuple[str, str | None]] = [
    (
        "How many employees work in Engineering?",
        'SELECT (COUNT(DISTINCT ?e) AS ?n){?d rdfs:label "Engineering" . ?e hr:department ?d}',
    ),
    (
        "How many people are in the Human Resources department?",
        'SELECT (COUNT(DISTINCT ?e) AS ?n){?d rdfs:label "Human Resources" . ?e hr:department ?d}',
    ),
    (
        "How many employees does the Finance department have?",
        'SELECT (COUNT(DISTINCT ?e) AS ?n){?d rdfs:label "Finance" . ?e hr:department ?d}',
    ),
    (
        "How many employees are based in the Berlin office?",
        'SELECT (COUNT(DISTINCT ?e) AS ?n){?d rdfs:label "Berlin" . ?e hr:office ?d}',
    ),
    ("How many software engineers are there?", 'SELECT (COUNT(DISTINCT ?e) AS ?n){?e hr:jobTitle "Software Engineer"}'),
    ("How many employees are Accountants?", 'SELECT (COUNT(DISTINCT ?e) AS ?n){?e hr:jobTitle "Accountant"}'),
    (
        "How many employees have the job title Data Analyst?",
        'SELECT (COUNT(DISTINCT ?e) AS ?n){?e hr:jobTitle "Data Analyst"}',
    ),
    ("Which projects are active?", 'SELECT ?p {?p hr:status "active"}'),
    ("How many projects are completed?", 'SELECT (COUNT(*) AS ?n) {?p hr:status "completed"}'),
    ("List the projects with status on hold", 'SELECT ?p {?p hr:status "on hold"}'),
    ("How many active projects are there?", 'SELECT (COUNT(*) AS ?n) {?p hr:status "active"}'),
    ("Which clients are in the banking industry?", 'SELECT ?p {?p hr:industry "banking"}'),
    ("Which clients are from Germany?", 'SELECT ?p {?p hr:country "Germany"}'),
    ("How many clients are in Japan?", 'SELECT (COUNT(*) AS ?n) {?p hr:country "Japan"}'),
    ("Who is the highest paid employee?", "SELECT ?e {?e hr:salary ?s} ORDER BY DESC(?s) LIMIT 1"),
    ("Which employee has the highest salary?", "SELECT ?e {?e hr:salary ?s} ORDER BY DESC(?s) LIMIT 1"),
    ("Who earns the most?", "SELECT ?e {?e hr:salary ?s} ORDER BY DESC(?s) LIMIT 1"),
    (
        "Who earns the lowest salary in Marketing?",
        'SELECT ?e {?d rdfs:label "Marketing" . ?e hr:department ?d ; hr:salary ?s} ORDER BY ?s LIMIT 1',
    ),
    ("Who is the oldest employee?", "SELECT ?e {?e hr:age ?s} ORDER BY DESC(?s) LIMIT 1"),
    ("Which employee is the youngest?", "SELECT ?e {?e hr:age ?s} ORDER BY ?s LIMIT 1"),
    ("Who was hired most recently?", "SELECT ?e {?e hr:hireDate ?s} ORDER BY DESC(?s) LIMIT 1"),
    ("Which employee was hired first?", "SELECT ?e {?e hr:hireDate ?s} ORDER BY ?s LIMIT 1"),
    ("Which project has the largest budget?", "SELECT ?e {?e a hr:Project ; hr:budget ?s} ORDER BY DESC(?s) LIMIT 1"),
    ("What is the project with the smallest budget?", "SELECT ?e {?e a hr:Project ; hr:budget ?s} ORDER BY ?s LIMIT 1"),
    (
        "Which department has the biggest budget?",
        "SELECT ?e {?e a hr:Department ; hr:budget ?s} ORDER BY DESC(?s) LIMIT 1",
    ),
    (
        "Which department has the most employees?",
        "SELECT ?d {?e hr:department ?d} GROUP BY ?d ORDER BY DESC(COUNT(?e)) LIMIT 1",
    ),
    ("Which office has the fewest employees?", "SELECT ?d {?e hr:office ?d} GROUP BY ?d ORDER BY COUNT(?e) LIMIT 1"),
    ("Which project has the most members?", "SELECT ?p {?p hr:member ?e} GROUP BY ?p ORDER BY DESC(COUNT(?e)) LIMIT 1"),
    ("Which employees earn more than 150000?", "SELECT ?e {?e hr:salary ?s FILTER(?s>150000)}"),
    ("Which employees have a salary above 140,000?", "SELECT ?e {?e hr:salary ?s FILTER(?s>140000)}"),
    ("How many employees make less than 50k?", "SELECT (COUNT(*) AS ?n) {?e hr:salary ?s FILTER(?s<50000)}"),
    ("Who was hired after 2020?", 'SELECT ?e {?e hr:hireDate ?s FILTER(STR(?s)>"2021")}'),
    (
        "How many employees were hired in 2015?",
        'SELECT (COUNT(*) AS ?n) {?e hr:hireDate ?s FILTER(STRSTARTS(STR(?s),"2015"))}',
    ),
    (
        "Which employees were hired between 2010 and 2012?",
        'SELECT ?e {?e hr:hireDate ?s FILTER(STR(?s)>"2010" && STR(?s)<"2013")}',
    ),
    ("How many employees are older than 60?", "SELECT (COUNT(*) AS ?n) {?e hr:age ?s FILTER(?s>60)}"),
    ("Which employees are younger than 25?", "SELECT ?e {?e hr:age ?s FILTER(?s<25)}"),
    ("Which projects have a budget over 500000?", "SELECT ?e {?e a hr:Project ; hr:budget ?s FILTER(?s>500000)}"),
    ("Which projects started before 2018?", 'SELECT ?e {?e hr:startDate ?s FILTER(STR(?s)<"2018")}'),
    ("Which employees know Python?", 'SELECT ?e {?e hr:hasSkill/rdfs:label "Python"}'),
    (
        "How many employees have the skill Statistics?",
        'SELECT (COUNT(*) AS ?n) {?e hr:hasSkill/rdfs:label "Statistics"}',
    ),
    ("How many employees speak Spanish?", 'SELECT (COUNT(*) AS ?n) {?e hr:hasSkill/rdfs:label "Spanish"}'),
    ("How many members does project PROJECT have?", 'SELECT (COUNT(*) AS ?n) {?p rdfs:label "PROJECT" ; hr:member ?m}'),
    ("How many people work on PROJECT?", 'SELECT (COUNT(*) AS ?n) {?p rdfs:label "PROJECT" ; hr:member ?m}'),
    ("Who are the members of PROJECT?", 'SELECT ?m {?p rdfs:label "PROJECT" ; hr:member ?m}'),
    ("Which projects does ANN lead?", 'SELECT ?p {?p hr:lead/rdfs:label "ANN"}'),
    ("How many people does ANN manage?", 'SELECT (COUNT(*) AS ?n) {?e hr:manager/rdfs:label "ANN"}'),
    ("What is the average salary?", "SELECT (AVG(?s) AS ?v){?e hr:salary ?s}"),
    (
        "What is the average salary in Legal?",
        'SELECT (AVG(?s) AS ?v){?e hr:salary ?s ; hr:department/rdfs:label "Legal"}',
    ),
    ("What is the total budget of all projects?", "SELECT (SUM(?s) AS ?v){?e a hr:Project ; hr:budget ?s}"),
    (
        "What is the average age of employees in Toronto?",
        'SELECT (AVG(?s) AS ?v){?e hr:age ?s ; hr:office/rdfs:label "Toronto"}',
    ),
    ("Is ANN older than BOB?", 'ASK {?a rdfs:label "ANN" ; hr:age ?x . ?b rdfs:label "BOB" ; hr:age ?y FILTER(?x>?y)}'),
    (
        "Who earns more, ANN or BOB?",
        'SELECT ?a {VALUES ?l {"ANN" "BOB"} ?a rdfs:label ?l ; hr:salary ?s} ORDER BY DESC(?s) LIMIT 1',
    ),
    ("Does ANN work in Marketing?", 'ASK {?a rdfs:label "ANN" ; hr:department/rdfs:label "Marketing"}'),
    ("Which client has the highest revenue?", "SELECT ?e {?e hr:annualRevenue ?s} ORDER BY DESC(?s) LIMIT 1"),
    ("How many projects are there for Calder Bank?", 'SELECT (COUNT(*) AS ?n) {?p hr:client/rdfs:label "Calder Bank"}'),
    ("Which client has the most projects?", "SELECT ?c {?p hr:client ?c} GROUP BY ?c ORDER BY DESC(COUNT(?p)) LIMIT 1"),
    ("Which office has a capacity of at least 100?", "SELECT ?e {?e hr:capacity ?s FILTER(?s>=100)}"),
    (
        "How many recruiters work in Osaka?",
        'SELECT (COUNT(*) AS ?n) {?e hr:jobTitle "Recruiter" ; hr:office/rdfs:label "Osaka"}',
    ),
    (
        "Which software engineer has the highest salary?",
        'SELECT ?e {?e hr:jobTitle "Software Engineer" ; hr:salary ?s} ORDER BY DESC(?s) LIMIT 1',
    ),
    (
        "How many employees in Berlin earn more than 100000?",
        'SELECT (COUNT(*) AS ?n) {?e hr:office/rdfs:label "Berlin" ; hr:salary ?s FILTER(?s>100000)}',
    ),
    (
        "Which active project has the largest budget?",
        'SELECT ?e {?e hr:status "active" ; hr:budget ?s} ORDER BY DESC(?s) LIMIT 1',
    ),
    (
        "Which departments have more than 20 employees?",
        "SELECT ?d {?e hr:department ?d} GROUP BY ?d HAVING(COUNT(?e)>20)",
    ),
    ("Which employees have no skills?", None),
    ("How many employees were fired in 2019?", None),
    ("Who is the happiest employee?", None),
    ("How many employees resigned from Engineering?", None),
    ("Which department spends the most on travel?", None),
    ("Which employees work remotely?", None),
    ("How many projects were cancelled?", None),
    ("What is the minimum wage in Germany?", None),
    ("Which employee has the second highest salary?", None),
    ("How many employees left in 2020?", None),
    ("Which clients are not in banking?", None),
]
