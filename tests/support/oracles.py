"""Two worlds that differ in what a client may not read alone, and requests that name it, whose answers are the same."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import worlds
from worlds import World
from worlds.doors.server.api.operation import Operation
from worlds.doors.server.api.operations import operations
from worlds.doors.server.api.parameters import Parameter
from worlds.extras.memory.memory_records import seen_through

E = "https://e/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
MEMORY = "urn:worlds:memory:user/"
OPEN = f"{E}open"
DATA = f"""
    PREFIX e: <{E}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX owl: <http://www.w3.org/2002/07/owl#>
    e:Planet a rdfs:Class ; rdfs:label "planet" . e:likes a owl:FunctionalProperty ; rdfs:label "likes" .
    e:mars a e:Planet ; rdfs:label "Mars" ; e:likes e:venus ; e:suffers "dust" ; rdfs:comment "Mars is red." .
    e:venus a e:Planet ; rdfs:label "Venus" ; rdfs:comment "Venus is hot." .
    e:mars2 a e:Planet ; rdfs:label "Mars" ; rdfs:comment "Mars is red, too." ."""


def secrets(names: tuple[str, str, str, str]) -> list[tuple[str, str, str]]:
    """What stands where it may not be read: an entity, a predicate, a word, and a name near one of the open data."""
    entity, predicate, word, near = (f"{E}{names[0]}", f"{E}{names[1]}", names[2], f"{E}{names[3]}")
    return [
        (entity, predicate, f'"{word}"'), (entity, LABEL, f'"{word} the great"'), (entity, near, f"{E}mars"),
        (f"{E}venus", near, f'"{word}"'), (entity, "rdf:type", f"{E}{names[1]}-class"),
    ]  # fmt: skip


ONE, OTHER = ("hidden", "hates", "asthma", "sufferz"), ("covert", "fears", "measles", "likez")


def pair(scoped: bool) -> list[World]:
    """The two worlds: what differs stands in a memory, or in another graph than that of the scope."""
    made = []
    for names, who in ((ONE, "bob"), (OTHER, "cid")):
        w = worlds.open(embedder=None)
        graph = OPEN if scoped else None
        w.load(DATA.encode(), format="turtle", graph=graph)
        hidden, beside = (f"{E}shut", f"{E}{who}") if scoped else (f"{MEMORY}ann", f"{MEMORY}{who}")
        quads = [(*one, hidden) for one in secrets(names)]
        inside, other = (seen_through(w, [one]) for one in (hidden, beside))
        inside.add(quads if names is ONE else [*quads, (f"{E}x", f"{E}y", '"more of them"', hidden)], author="ann")
        other.add([(f"{E}zoe", f"{E}likes", '"a quad"', beside)], author="ann")
        inside.facts.state(
            f"{E}{names[0]}", f"{E}likes", f"{E}{names[1]}", valid_from="2020", graph=hidden, author="ann"
        )
        inside.facts.end((f"{E}{names[0]}", f"{E}likes", f"{E}{names[1]}", hidden), author="ann")
        inside.proposals.add(
            add=[(f"{E}{names[0]}", f"{E}likes", '"tea"', hidden)], why=f"{names[2]} is why", author="ann"
        )
        w.add([(f"{E}mars", f"{E}moons", 2, *([OPEN] if scoped else []))], author="ann")
        w.proposals.add(add=[(f"{E}mars", f"{E}moons", 3, *([OPEN] if scoped else []))], author="bot")
        made.append(w)
    return made


_IRIS = [f"{E}hidden", f"{E}hates", f"{E}hates-class", f"{MEMORY}ann", f"{E}shut", f"{E}bob", f"{E}nothing"]
_PREDICATES = [f"{E}hates", f"{E}sufferz", f"{E}sufferx", f"{E}likez", f"{E}likex", f"{E}nothing"]
_GRAPHS = [f"{MEMORY}ann", f"{MEMORY}bob", f"{MEMORY}nobody", f"{E}shut", f"{E}bob", f"{E}nothing"]
_WORDS = ["asthma", "asthms", "asthma the great", "hidden", "hates", "mars asthma"]
_TRIPLES = [
    f'<{E}hidden> <{E}hates> "asthma"', f'<{E}hidden> <{E}hates> "tea"', f"<{E}hidden> <{E}sufferz> <{E}mars>",
    f'<{E}venus> <{E}sufferz> "asthma"', f'<{E}mars> <{E}sufferz> "asthma"', f"<{E}mars> <{E}likes> <{E}hidden>",
    f"<{E}hidden> <{E}likes> <{E}hates>", f'<{E}mars> <{E}likes> "asthma"',
]  # fmt: skip
_QUADS = [f"{one}{graph} ." for one in _TRIPLES for graph in ("", *(f" <{name}>" for name in _GRAPHS))]
_PATTERNS = [
    f"?s ?p <{E}hidden>", f"<{E}hidden> ?p ?o", f"?s <{E}hates> ?o", '?s ?p "asthma"',
    *(f"GRAPH <{name}> {{ ?s ?p ?o }}" for name in _GRAPHS), "GRAPH ?g { ?s ?p ?o }", f"?s <{E}sufferx> ?o",
]  # fmt: skip
_UPDATES = [
    *(f"{verb} DATA {{ GRAPH <{name}> {{ {_TRIPLES[0]} }} }}" for verb in ("INSERT", "DELETE") for name in _GRAPHS),
    *(f"{verb} GRAPH <{name}>" for verb in ("CLEAR", "DROP", "CREATE", "CLEAR SILENT") for name in _GRAPHS),
    *(f"DELETE WHERE {{ {pattern} }}" for pattern in _PATTERNS),
    *(f"INSERT {{ <{E}a> <{E}b> ?s }} WHERE {{ {pattern} }}" for pattern in _PATTERNS),
    *(f"{verb} GRAPH <{name}> TO DEFAULT" for verb in ("COPY", "MOVE", "ADD") for name in _GRAPHS),
]
_SHAPES = [
    f"PREFIX sh: <http://www.w3.org/ns/shacl#> <urn:s> a sh:NodeShape ; {target} ; sh:property "
    f"[ sh:path {path} ; sh:maxCount 0 ] ."
    for target in (f"sh:targetNode <{E}hidden>", f"sh:targetSubjectsOf <{E}hates>", f"sh:targetClass <{E}hates-class>")
    for path in (f"<{E}hates>", f"[ sh:inversePath <{E}sufferz> ]")
]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _each(names: str, values: list[Any]) -> dict[str, list[Any]]:
    return dict.fromkeys(names.split(), values)


_TIMES = re.compile(
    r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?|"etag":"[^,]*|"(milli)?seconds":({[^}]*}|[\d.e-]+)'
)
BASE: Mapping[str, Any] = {
    "q": "mars", "iri": f"{E}mars", "id": 1, "iris": [f"{E}mars"], "kept": f"{E}mars", "others": [f"{E}venus"],
    "a": f"{E}mars", "b": f"{E}venus", "subject": f"{E}mars", "predicate": f"{E}size", "object": '"1"',
    "facts": [["Mars", "likes", "Venus"]], "quad": [f"{E}mars", f"{E}suffers", '"dust"'], "revision": 1,
    "text": "Mars is red.", "claim": "Mars likes Venus", "names": ["Mars"], "shapes": _SHAPES[0], "prefix": "x",
    "question": "Which?", "query": "SELECT * { ?s ?p ?o }", "changes": {"profiles": True}, "name": "Mars",
    "label": "Mars", "kind": "entity", "of": f"{E}likes",
    "path": f"{E}nothing", "content": _encoded(_QUADS[0]), "namespace": f"{E}new/",
}  # fmt: skip
"""What a request has at least, by the names of parameters."""
VALUES: Mapping[str, list[Any]] = {
    **_each("iri kept a b entity form type to away parent", _IRIS), "of": [*_IRIS, *_PREDICATES],
    "subject": [*_IRIS, f"{E}mars"],
    **_each("object cites", [*_IRIS, '"asthma"']), "predicate": _PREDICATES,
    **_each("subjects iris others types", [[one] for one in _IRIS]),
    "merge": [pair for one in _IRIS for pair in ([f"{E}mars", one], [one, f"{E}mars"])],
    **_each("predicates facet", [[one] for one in _PREDICATES]), **_each("graph path", _GRAPHS),
    "graphs": [[one] for one in _GRAPHS], "between": [[OPEN, one] for one in _GRAPHS],
    **_each("q name context text label near matching key", _WORDS), "names": [[one] for one in _WORDS],
    "author": ["ann"], "message": ["asthma"], "where": _PATTERNS,
    "boost": [{"where": one, "factor": 2} for one in _PATTERNS[:4]],
    "exclude": [{"graphs": [one]} for one in _GRAPHS] + [{"types": [one]} for one in _IRIS],
    **_each("add remove relies_on", [[one] for one in _QUADS]),
    "quad": [re.findall(r'"[^"]*"|[^<> ]+', one[:-2]) for one in _QUADS],
    "claim": [*_WORDS, ["Mars", "hates", "asthma"], [f"{E}hidden", f"{E}hates", '"asthma"']],
    "facts": [
        [["asthma the great", "likes", "Venus"]], [["Mars", "hates", "Venus"]], [["Mars", "likes", f"{E}hidden"]],
        [["Mars", f"{E}sufferx", '"asthma"']], [[f"{E}hidden", f"{E}hates", '"asthma"']],
    ],
    "update": _UPDATES, "shapes": _SHAPES, "id": [*range(1, 9)], "revision": [*range(1, 9), 99], "as_of": ["2021"],
    "content": list(map(_encoded, _QUADS)),
    "supersede": ["functional"], "question": _WORDS[:2], "scope": [["user", "ann"], ["user", "nobody"]],
    "query": [f"{form} {{ {one} }}" for one in _PATTERNS for form in ("SELECT *", "ASK")], "base": [1, 4, 5],
    "undo": [*range(1, 9), 99], "before": [*range(1, 9)], "after": [*range(8)], "at": [*range(1, 9)],
}  # fmt: skip
"""What may name something that is not for everybody, by the names of parameters."""


def _least(place: Parameter) -> Any:
    return str(BASE[place.name]) if place.kind == "text" else BASE[place.name]


def requests() -> Iterator[tuple[Operation, dict[str, Any]]]:
    """Each operation of a world, with each such value in each place."""
    for operation in operations():
        if operation.level is None or not operation.of_world:
            continue
        places = [*operation.parameters, *(operation.fields or ())]
        least = {one.name: _least(one) for one in places if one.required}
        if operation.name in ("propose", "rehearsal", "quads"):
            least["add"] = ["<urn:x> <urn:y> <urn:z> ."]
        elif operation.name in ("try_file", "load_file"):
            least["name"] = "a.nq"
        elif operation.name == "provenance":
            least["subject"] = f"{E}mars"
        yield operation, least
        for place in places:
            values = VALUES.get(place.name, [])
            if place.kind == "text":
                values = [str(one[0] if isinstance(one, list) else one) for one in values]
            for value in values:
                chosen = {**least, place.name: value}
                if place.name == "update" or (operation.name == "rehearsal" and place.name in ("merge", "undo")):
                    chosen.pop("add", None)
                yield operation, chosen


def plain(answer: object) -> str:
    """An answer without its times."""
    text = answer.decode() if isinstance(answer, bytes) else json.dumps(answer, default=str)
    return _TIMES.sub("TIME", text)
