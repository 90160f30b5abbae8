"""Wrong queries of the kinds that people and language models write, each with the one that was meant.

They ask of examples/space.ttl, and were collected before the hints were written that are to lead from the one to the
other; those of rules, which the parser looks at after it read what breaks them, came with their hints. A row is
the kind, the wrong query, the words that a hint has to have for somebody to mend the query by it, and
the query as mended.
"""

# a query and what becomes of it are read side by side

from __future__ import annotations

from typing import NamedTuple


class Wrong(NamedTuple):
    """A wrong query."""

    kind: str
    wrong: str
    hint: str  # a part of the note, or of the error
    right: str


def _rows(kind: str, *rows: tuple[str, str, str]) -> list[Wrong]:
    return [Wrong(kind, *row) for row in rows]


# fmt: off
WRONG = [
    *_rows(
        "syntax",
        (
            "SELECT ?t (COUNT(?s) AS ?n) { ?s a ?t }",
            "GROUP BY ?t",
            "SELECT ?t (COUNT(?s) AS ?n) { ?s a ?t } GROUP BY ?t",
        ),
        ("SELECT ?s { ?s s:agency ex:NASA", "the { is not closed", "SELECT ?s { ?s s:agency ex:NASA }"),
        (
            "SELECT ?s { ?s s:massKg ?m FILTER(xsd:decimal(?m > 100) }",
            "the ( is not closed",
            "SELECT ?s { ?s s:massKg ?m FILTER(xsd:decimal(?m) > 100) }",
        ),
        (
            "SELECT COUNT(?s) AS ?n { ?s s:agency ex:NASA }",
            "(COUNT(?s) AS ?n)",
            "SELECT (COUNT(?s) AS ?n) { ?s s:agency ex:NASA }",
        ),
        ("SELECT ?s, ?d { ?s s:launched ?d }", "no commas", "SELECT ?s ?d { ?s s:launched ?d }"),
        ("SELECT ?s { ?s s:massKg ?m FILTER ?m > 100 }", "FILTER (", "SELECT ?s { ?s s:massKg ?m FILTER (?m > 100) }"),
        (
            "SELECT ?s { ?s s:launched ?d } ORDER BY ?d DESC",
            "DESC(?d)",
            "SELECT ?s { ?s s:launched ?d } ORDER BY DESC(?d)",
        ),
        (
            "SELECT ?s { ?s s:agency ex:NASA OPTIONAL ?s s:massKg ?m }",
            "OPTIONAL {",
            "SELECT ?s { ?s s:agency ex:NASA OPTIONAL { ?s s:massKg ?m } }",
        ),
        (
            "SELECT ?s { ?s rdfs:label ?l FILTER(LENGTH(?l) > 20) }",
            "STRLEN",
            "SELECT ?s { ?s rdfs:label ?l FILTER(STRLEN(?l) > 20) }",
        ),
        (
            "SELECT ?s { ?s rdfs:label ?l FILTER(LOWER(?l) = 'apollo 11') }",
            "LCASE",
            "SELECT ?s { ?s rdfs:label ?l FILTER(LCASE(STR(?l)) = 'apollo 11') }",
        ),
        (
            "SELECT ?s { ?s s:massKg ?m FILTER(?m > 100 AND ?m < 900) }",
            "&&",
            "SELECT ?s { ?s s:massKg ?m FILTER(?m > 100 && ?m < 900) }",
        ),
        (
            "SELECT ?s { ?s s:massKg ?m FILTER(?m == 1025) }",
            "a single =",
            "SELECT ?s { ?s s:massKg ?m FILTER(?m = 1025) }",
        ),
        ("SELECT ?s { ?s s:massKg ?m FILTER(?m <> 1025) }", "!=", "SELECT ?s { ?s s:massKg ?m FILTER(?m != 1025) }"),
        (
            "SELECT ?s { ?s a s:Rover } LIMIT 5 ORDER BY ?s",
            "ORDER BY stands before LIMIT",
            "SELECT ?s { ?s a s:Rover } ORDER BY ?s LIMIT 5",
        ),
    ),
    *_rows(
        "rules",
        (
            "SELECT ?s ?m { ?s s:massKg ?m BIND(2 * ?m AS ?m) }",
            "column 46: ?m has a value already",
            "SELECT ?s ?n { ?s s:massKg ?m BIND(2 * ?m AS ?n) }",
        ),
        (
            "SELECT ?s { ?s s:massKg ?m BIND(2 AS ?m) ?s a ?t } LIMIT 9",
            "column 38: ?m has a value already",
            "SELECT ?s { ?s s:massKg ?m BIND(2 AS ?n) ?s a ?t } LIMIT 9",
        ),
        ("SELECT (1 AS ?x) (2 AS ?x) {}", "column 24: ?x has a value already", "SELECT (1 AS ?x) (2 AS ?y) {}"),
        (
            "SELECT ?l { { SELECT (?s AS ?x) (?y AS ?s) { ?s s:agency ?y } } ?s rdfs:label ?l }",
            "column 40: ?s has a value already",
            "SELECT ?l { { SELECT (?s AS ?x) (?y AS ?z) { ?s s:agency ?y } } ?s rdfs:label ?l }",
        ),
        (
            "SELECT ?s { ?s s:agency ?a } GROUP BY ?a",
            "column 1: what is selected of groups stands in GROUP BY or in an aggregate",
            "SELECT (SAMPLE(?s) AS ?one) { ?s s:agency ?a } GROUP BY ?a",
        ),
        (
            "SELECT ?s { ?s s:agency ?a } GROUP BY ?a LIMIT 3",
            "column 1: what is selected of groups",
            "SELECT ?a { ?s s:agency ?a } GROUP BY ?a LIMIT 3",
        ),
        (
            "SELECT ?a { ?s s:agency ?a } ORDER BY DESC(COUNT(?s))",
            "stands in GROUP BY",
            "SELECT ?a { ?s s:agency ?a } GROUP BY ?a ORDER BY DESC(COUNT(?s))",
        ),
        (
            "SELECT * { ?s s:agency ?a } GROUP BY ?a",
            "with GROUP BY, SELECT names its variables",
            "SELECT ?a { ?s s:agency ?a } GROUP BY ?a",
        ),
        (
            "SELECT ?a ?n { ?s s:agency ?a BIND(COUNT(?s) AS ?n) } GROUP BY ?a ?n",
            "column 36: an aggregate stands in SELECT, HAVING or ORDER BY, and not in BIND",
            "SELECT ?a (COUNT(?s) AS ?n) { ?s s:agency ?a } GROUP BY ?a",
        ),
        (
            "SELECT ?a { ?s s:agency ?a FILTER(1 < COUNT(?s)) } GROUP BY ?a",
            "and not in FILTER",
            "SELECT ?a { ?s s:agency ?a } GROUP BY ?a HAVING (COUNT(?s) > 1)",
        ),
        (
            "SELECT ?s { ?s a s:Rover } LIMIT 99999999999999999999",
            "column 34: LIMIT must be a whole number of 19 digits at most",
            "SELECT ?s { ?s a s:Rover } LIMIT 9999999999999999999",
        ),
        (
            "SELECT ?s { ?s a s:Rover } OFFSET 00000000000000000000000099999999999999999999 LIMIT 2",
            "OFFSET must be a whole number of 19 digits at most",
            "SELECT ?s { ?s a s:Rover } OFFSET 0 LIMIT 2",
        ),
        (
            "SELECT ?s { VALUES (?t ?l) { (s:Rover UNDEF) (s:Probe) } ?s a ?t }",
            "column 46: a row of VALUES has a term for each variable, here 2, not 1; UNDEF",
            "SELECT ?s { VALUES (?t ?l) { (s:Rover UNDEF) (s:Probe UNDEF) } ?s a ?t }",
        ),
        (
            'SELECT ?s { ?s a ?t } VALUES (?t ?l) { (s:Rover "1"^^xsd:int -1) }',
            "column 40: a row of VALUES has a term for each variable, here 2, not 3",
            'SELECT ?s { ?s a ?t } VALUES (?t ?l) { (s:Rover "1"^^xsd:int) (s:Rover "a"@en) }',
        ),
        ("SELECT ?s ?s { ?s a s:Rover }", "stands twice in SELECT", "SELECT ?s { ?s a s:Rover }"),
        (
            "SELECT (COUNT(?s) AS ?n) { ?s s:massKg ?m BIND(SUM(?m) AS ?x) }",
            "column 48: an aggregate stands in",
            "SELECT (COUNT(?s) AS ?n) (SUM(?m) AS ?x) { ?s s:massKg ?m }",
        ),
        (
            "SELECT (SUM(MAX(?m)) AS ?x) { ?s s:massKg ?m }",
            "and not in another aggregate",
            "SELECT (MAX(?m) AS ?x) { ?s s:massKg ?m }",
        ),
        ("CONSTRUCT { ?s a s:Rover }", "after CONSTRUCT { … } comes WHERE", "CONSTRUCT WHERE { ?s a s:Rover }"),
        (
            "SELECT ?s { ?s a <Rover> }",
            "column 18: <Rover> is relative",
            "BASE <https://worlds.example/space/schema> SELECT ?s { ?s a <#Rover> }",
        ),
        ("ASK { <> ?p ?o }", "column 7: <> is relative", "SELECT ?o { ex:NASA ?p ?o }"),
        ("ASK { ?s ?p ?o FILTER(<f>(?o)) }", "<f> is relative", "SELECT ?o { ?s s:massKg ?o FILTER(xsd:int(?o)) }"),
        (
            'SELECT ?y { VALUES ?y { "01"^^<integer> } }',
            "column 31: <integer> is relative",
            'SELECT ?y { VALUES ?y { "01"^^xsd:integer } }',
        ),
        ("BASE <x> ASK { ?s ?p ?o }", "column 6: <x> is relative", "SELECT ?o { ?s s:massKg ?o }"),
    ),
    *_rows(
        "names",
        ("SELECT ?s { ?s a s:Rovers }", "s:Rover", "SELECT ?s { ?s a s:Rover }"),
        ("SELECT ?s { ?s s:launchDate ?d }", "s:launched", "SELECT ?s { ?s s:launched ?d }"),
        ("SELECT ?s { ?s s:massKG ?m }", "s:massKg", "SELECT ?s { ?s s:massKg ?m }"),
        ("SELECT ?s { ?s s:Agency ?a }", "s:agency", "SELECT ?s { ?s s:agency ?a }"),
        ("SELECT ?d { ex:Apollo_11 s:launched ?d }", "ex:Apollo11", "SELECT ?d { ex:Apollo11 s:launched ?d }"),
        ("SELECT ?s { ?s s:agency ex:Nasa }", "ex:NASA", "SELECT ?s { ?s s:agency ex:NASA }"),
        ("SELECT ?s { ?s s:crewMember ex:NeilArmstrong }", "s:crew", "SELECT ?s { ?s s:crew ex:NeilArmstrong }"),
        ("SELECT ?s { ?s a s:Spacemission }", "s:Mission", "SELECT ?s { ?s a/rdfs:subClassOf* s:Mission }"),
        ("SELECT ?s { ?s a s:Mission }", "rdfs:subClassOf* s:Mission", "SELECT ?s { ?s a/rdfs:subClassOf* s:Mission }"),
        ("SELECT ?s { ?s s:altLabel ?l }", "skos:altLabel", "SELECT ?s { ?s skos:altLabel ?l }"),
    ),
    *_rows(
        "direction",
        ("SELECT ?m { ex:NASA s:agency ?m }", "{ ?m s:agency ex:NASA . }", "SELECT ?m { ?m s:agency ex:NASA }"),
        (
            "SELECT ?m { ex:NeilArmstrong s:crew ?m }",
            "{ ?m s:crew ex:NeilArmstrong . }",
            "SELECT ?m { ?m s:crew ex:NeilArmstrong }",
        ),
        ("SELECT ?p { ?p s:orbits ex:Io }", "{ ex:Io s:orbits ?p . }", "SELECT ?p { ex:Io s:orbits ?p }"),
        (
            "SELECT ?x { ex:SaturnV s:launchVehicle ?x }",
            "{ ?x s:launchVehicle ex:SaturnV . }",
            "SELECT ?x { ?x s:launchVehicle ex:SaturnV }",
        ),
        (
            "SELECT ?x { ex:ApolloProgram s:partOf ?x }",
            "{ ?x s:partOf ex:ApolloProgram . }",
            "SELECT ?x { ?x s:partOf ex:ApolloProgram }",
        ),
        ("SELECT ?c { s:Rover ^rdfs:subClassOf ?c }", "rdfs:subClassOf", "SELECT ?c { s:Rover rdfs:subClassOf ?c }"),
        (
            "SELECT ?x { ex:UnitedStates s:country ?x }",
            "{ ?x s:country ex:UnitedStates . }",
            "SELECT ?x { ?x s:country ex:UnitedStates }",
        ),
        (
            "SELECT ?l { ?x s:launchSite ex:Apollo11 ; rdfs:label ?l }",
            "{ ex:Apollo11 s:launchSite ?x . }",
            "SELECT ?l { ex:Apollo11 s:launchSite ?x . ?x rdfs:label ?l }",
        ),
        (
            "SELECT ?x { ?x s:spacecraft ex:ArtemisI }",
            "{ ex:ArtemisI s:spacecraft ?x . }",
            "SELECT ?x { ex:ArtemisI s:spacecraft ?x }",
        ),
        (
            "SELECT ?d { ex:GravitationalWaveDetection ^s:discoveredBy ?d }",
            "s:discoveredBy",
            "SELECT ?d { ex:GravitationalWaveDetection s:discoveredBy ?d }",
        ),
    ),
    *_rows(
        "datatypes",
        (
            "SELECT ?s { ?s s:launched '1969-07-16' }",
            '"1969-07-16"^^xsd:date',
            'SELECT ?s { ?s s:launched "1969-07-16"^^xsd:date }',
        ),
        (
            "SELECT ?s { ?s s:launched ?d FILTER(?d > '2020-01-01') }",
            "^^xsd:date",
            "SELECT ?s { ?s s:launched ?d FILTER(?d > '2020-01-01'^^xsd:date) }",
        ),
        (
            "SELECT ?s { ?s s:launched ?d FILTER(?d > 2020) }",
            "YEAR(?d)",
            "SELECT ?s { ?s s:launched ?d FILTER(YEAR(?d) > 2020) }",
        ),
        ("SELECT ?s { ?s s:radiusKm '1163' }", "1163", "SELECT ?s { ?s s:radiusKm 1163 }"),
        ("SELECT ?s { ?s s:agency 'NASA' }", "ex:NASA", "SELECT ?s { ?s s:agency ex:NASA }"),
        ("SELECT ?s { ?s s:orbits 'Mars' }", "ex:Mars", "SELECT ?s { ?s s:orbits ex:Mars }"),
        (
            "SELECT ?s { ?s s:agency ?a FILTER(?a = 'NASA') }",
            "ex:NASA",
            "SELECT ?s { ?s s:agency ?a FILTER(?a = ex:NASA) }",
        ),
        (
            "SELECT (SUM(?l) AS ?x) { ?s rdfs:label ?l }",
            "?l holds no numbers",
            "SELECT (SUM(STRLEN(?l)) AS ?x) { ?s rdfs:label ?l }",
        ),
        (
            "SELECT (AVG(?d) AS ?x) { ?s s:launched ?d }",
            "?d holds no numbers",
            "SELECT (AVG(YEAR(?d)) AS ?x) { ?s s:launched ?d }",
        ),
        (
            "SELECT ?s { ?s s:discoveryYear 1964 }",
            '"1964"^^xsd:gYear',
            'SELECT ?s { ?s s:discoveryYear "1964"^^xsd:gYear }',
        ),
        (
            "SELECT ?s { ?s s:agency ?a FILTER(REGEX(?a, 'NASA')) }",
            "STR(?a)",
            "SELECT ?s { ?s s:agency ?a FILTER(REGEX(STR(?a), 'NASA')) }",
        ),
        ("SELECT ?s { ?s s:massKg ?m FILTER(?m > '100') }", "100", "SELECT ?s { ?s s:massKg ?m FILTER(?m > 100) }"),
        (
            "SELECT ?s { ?s s:radiusKm ?r FILTER(?r > 1000000) }",
            "from 235.8 to 695700",
            "SELECT ?s { ?s s:radiusKm ?r FILTER(?r > 100000) }",
        ),
    ),
    *_rows(
        "languages",
        ("SELECT ?s { ?s rdfs:label 'Apollo 11' }", '"Apollo 11"@en', 'SELECT ?s { ?s rdfs:label "Apollo 11"@en }'),
        (
            "SELECT ?s { ?s rdfs:label ?l FILTER(?l = 'Apollo 11') }",
            '"Apollo 11"@en',
            'SELECT ?s { ?s rdfs:label ?l FILTER(?l = "Apollo 11"@en) }',
        ),
        ("SELECT ?s { ?s rdfs:label 'apollo 11'@en }", '"Apollo 11"@en', 'SELECT ?s { ?s rdfs:label "Apollo 11"@en }'),
        (
            "SELECT ?s { ?s rdfs:label 'Olympus Mons'@de-AT }",
            '"Olympus Mons"@',
            'SELECT ?s { ?s rdfs:label "Olympus Mons"@de }',
        ),
        (
            "SELECT ?l { ex:Apollo11 rdfs:label ?l FILTER(LANG(?l) = 'eng') }",
            '"en"',
            "SELECT ?l { ex:Apollo11 rdfs:label ?l FILTER(LANG(?l) = 'en') }",
        ),
        (
            "SELECT ?l { ex:Apollo11 rdfs:label ?l FILTER(LANG(?l) = 'english') }",
            '"en"',
            "SELECT ?l { ex:Apollo11 rdfs:label ?l FILTER(LANG(?l) = 'en') }",
        ),
        (
            "SELECT ?l { ex:SaturnV rdfs:label ?l FILTER(LANG(?l) = '') }",
            '"en"',
            "SELECT ?l { ex:SaturnV rdfs:label ?l FILTER(LANG(?l) = 'en') }",
        ),
        (
            "SELECT ?l { ex:Apollo11 rdfs:label ?l FILTER(LANGMATCHES(LANG(?l), 'fr-CA')) }",
            '"en"',
            "SELECT ?l { ex:Apollo11 rdfs:label ?l FILTER(LANGMATCHES(LANG(?l), 'en')) }",
        ),
        (
            "SELECT ?s { ?s rdfs:label ?l FILTER(REGEX(?l, 'apollo 11')) }",
            '"i"',
            "SELECT ?s { ?s rdfs:label ?l FILTER(REGEX(?l, 'apollo 11', 'i')) }",
        ),
        (
            "SELECT ?s { ?s rdfs:label ?l FILTER(CONTAINS(?l, 'apollo 11')) }",
            "LCASE(",
            "SELECT ?s { ?s rdfs:label ?l FILTER(CONTAINS(LCASE(?l), 'apollo 11')) }",
        ),
        (
            "SELECT ?s { ?s rdfs:label ?l FILTER(STRSTARTS(?l, 'hubble')) }",
            "LCASE(",
            "SELECT ?s { ?s rdfs:label ?l FILTER(STRSTARTS(LCASE(?l), 'hubble')) }",
        ),
        (
            "SELECT ?s { ?s rdfs:label 'Olympus Mon'@en }",
            '"Olympus Mons"@en',
            "SELECT ?s { ?s rdfs:label 'Olympus Mons'@en }",
        ),
    ),
    *_rows(
        "losses",
        (
            "SELECT ?m ?k { ?m s:agency ex:NASA ; s:massKg ?k }",
            "OPTIONAL { ?m s:massKg ?k }",
            "SELECT ?m ?k { ?m s:agency ex:NASA OPTIONAL { ?m s:massKg ?k } }",
        ),
        (
            "SELECT ?m ?e { ?m a s:Orbiter ; s:ended ?e }",
            "OPTIONAL { ?m s:ended ?e }",
            "SELECT ?m ?e { ?m a s:Orbiter OPTIONAL { ?m s:ended ?e } }",
        ),
        (
            "SELECT ?m ?l { ?m s:target ex:Mars ; skos:altLabel ?l }",
            "OPTIONAL { ?m skos:altLabel ?l }",
            "SELECT ?m ?l { ?m s:target ex:Mars OPTIONAL { ?m skos:altLabel ?l } }",
        ),
        (
            "SELECT ?p ?d { ?p s:born ?b ; s:died ?d }",
            "OPTIONAL { ?p s:died ?d }",
            "SELECT ?p ?d { ?p s:born ?b OPTIONAL { ?p s:died ?d } }",
        ),
    ),
]
# fmt: on
