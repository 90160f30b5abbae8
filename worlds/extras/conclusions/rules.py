"""Rules: what follows from triples, as SPARQL CONSTRUCT queries; the rule sets that every world knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.evaluation import syntax_error
from worlds.graph.query.guard import check
from worlds.graph.query.tokens import Token, closing, tokenize
from worlds.graph.terms import WELL_KNOWN_PREFIXES, Term
from worlds.graph.update.templates import MARKER

Item: TypeAlias = "int | str"
"""A term's id, or the name of a variable."""


class Atom(NamedTuple):
    """A triple pattern of ids and variables."""

    subject: Item
    predicate: Item
    object: Item


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule on ids: where all of the `body` holds, and none of `absent` is found, all of the `head` does.

    `absent` are rules without a head: patterns that share variables with the body. `tests` are conditions over the
    variables `tested`, each with the prefixes that it is read by. `chain` are the places of the two atoms that a
    transitive rule joins; None for other rules. `hot` says which patterns are of a vocabulary: few quads match these,
    and every write asks for them.
    """

    name: str
    body: tuple[Atom, ...]
    head: tuple[Atom, ...]
    tests: tuple[tuple[str, str], ...] = ()
    tested: tuple[str, ...] = ()
    chain: tuple[int, int] | None = None
    hot: tuple[bool, ...] = ()
    absent: tuple[Rule, ...] = ()

    @property
    def checks(self) -> list[tuple[bool, bool]]:
        """Of each atom of the head, whether its subject may be a literal, and its predicate no IRI."""
        subjects = {item for atom in self.body for item in atom[:2]}
        predicates = {atom[1] for atom in self.body}
        return [
            (isinstance(one[0], str) and one[0] not in subjects, isinstance(one[1], str) and one[1] not in predicates)
            for one in self.head
        ]


@dataclass(frozen=True, slots=True)
class Construct:
    """A rule as it is written, read: the terms of its patterns, variables as their names."""

    name: str
    body: tuple[tuple[Term | str, ...], ...]
    head: tuple[tuple[Term | str, ...], ...]
    tests: tuple[tuple[str, str], ...]
    tested: tuple[str, ...]
    absent: tuple[Construct, ...] = ()

    @property
    def terms(self) -> Iterator[Term]:
        """The terms that it names."""
        yield from self._own
        for one in self.absent:
            yield from one.terms

    @property
    def variables(self) -> set[str]:
        """The variables of its body."""
        return {item for atom in self.body for item in atom if isinstance(item, str)}

    @property
    def _own(self) -> Iterator[Term]:
        return (item for atom in (*self.body, *self.head) for item in atom if not isinstance(item, str))

    def on(self, ids: Mapping[Term, int | None]) -> Rule | None:
        """The rule on ids; None where the world does not have one of its terms, but for those of negated patterns."""
        if any(ids[term] is None for term in self._own):
            return None

        def atoms(given: Sequence[tuple[Term | str, ...]]) -> tuple[Atom, ...]:
            return tuple(Atom(*[item if isinstance(item, str) else ids[item] for item in one]) for one in given)  # type: ignore[arg-type]  # none is None

        written = sorted(self.body, key=_is_hot, reverse=True)
        body, head = atoms(written), atoms(self.head)
        chain = None if self.tests or self.absent else _chain(body, head)
        absent = tuple(rule for one in self.absent if (rule := one.on(ids)) is not None)
        return Rule(self.name, body, head, self.tests, self.tested, chain, tuple(map(_is_hot, written)), absent)


def _is_hot(atom: Sequence[Term | str]) -> bool:
    """Whether a pattern is of RDF Schema, OWL or lists: by its predicate, or by the class that it asks for."""
    named = atom[2] if atom[1] == TYPE else atom[1]
    return isinstance(named, ox.NamedNode) and named.value.startswith(_VOCABULARIES)


def _chain(body: tuple[Atom, ...], head: tuple[Atom, ...]) -> tuple[int, int] | None:
    """The places of the two atoms of a transitive rule."""
    for first, one in enumerate(body):
        for second, other in enumerate(body):
            middle = one.object
            joined = middle == other.subject and one.predicate == other.predicate and one.subject != other.object
            if joined and isinstance(middle, str) and head == (Atom(one.subject, one.predicate, other.object),):
                alone = sum(middle in atom for atom in body) == 2 and middle != one.predicate
                return (first, second) if alone else None
    return None


_PREFIXES = {name: WELL_KNOWN_PREFIXES[name] for name in ("rdf", "rdfs", "owl", "xsd", "skos")}
_MOST, _TRIPLES = 10_000, 32  # characters of a rule, and triples of its pattern
TYPE = ox.NamedNode(_PREFIXES["rdf"] + "type")
_VOCABULARIES = (_PREFIXES["rdfs"], _PREFIXES["owl"], _PREFIXES["rdf"] + "first", _PREFIXES["rdf"] + "rest")
_ALLOWED = "the pattern of a rule has triples, FILTERs, FILTER NOT EXISTS and MINUS alone"
_REFUSED = (
    *("OPTIONAL", "UNION", "GRAPH", "BIND", "VALUES", "SERVICE"),
    *("SELECT", "GROUP", "ORDER", "LIMIT", "OFFSET", "HAVING"),
)


def read(name: str, text: str, prefixes: Mapping[str, str]) -> Construct:
    """The rule that a CONSTRUCT query states; QueryError for a query that is no rule, or too long for one.

    Its pattern has triples, FILTERs, FILTER NOT EXISTS and MINUS alone, and its template has no variable or blank node
    that the triples have not: so a rule makes no new terms, and what follows has an end.
    """
    prefixes = {**_PREFIXES, **prefixes}
    head = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in prefixes.items())
    if len(text) > _MOST:
        raise QueryError(f"the rule {name} has {len(text):,} characters; a rule has at most {_MOST:,}")
    check(text)
    try:
        ox.Store().query(text, prefixes=prefixes)
    except SyntaxError as error:
        told = syntax_error(error, text, prefixes)
        raise QueryError(f"the rule {name} is no SPARQL query: {told}") from error
    tokens = tokenize(text)
    refused = next((token.text.upper() for at, token in enumerate(tokens) if _is_refused(tokens, at)), None)
    start = next((at for at, token in enumerate(tokens) if token.is_word("CONSTRUCT")), None)
    if start is None:
        raise QueryError(f"the rule {name} is no CONSTRUCT query")
    if refused is not None:
        raise QueryError(f"the rule {name} has {refused}: {_ALLOWED}")
    if any(token.is_word("FROM") for token in tokens):
        raise QueryError(f"the rule {name} names graphs: rules read the graphs that `rules.use` names")
    prologue = head + text[: tokens[start].start]
    first = next(at for at, token in enumerate(tokens) if token.text == "{" and at > start)
    end = closing(tokens, first, "{", "}")
    template = tokens[first : end + 1]
    short = first != start + 1  # CONSTRUCT WHERE { … }
    whole = _pattern(name, prologue, text, template if short else tokens[end + 1 :])
    read_head, known = _atoms(name, prologue, text, template), whole.variables
    if any(one.absent for one in whole.absent):
        raise QueryError(f"the rule {name} has a negation within another")
    for one in whole.absent:
        if one.name == "MINUS" and known.isdisjoint(one.variables):
            raise QueryError(f"MINUS of the rule {name} shares no variable with its triples: it would have no effect")
        if unknown := set(one.tested) - one.variables - (known if one.name != "MINUS" else set()):
            raise QueryError(f"a FILTER of the rule {name} has {_shown(unknown)}, which its triples have not")
    if unknown := {item for atom in read_head for item in atom if isinstance(item, str)} - known:
        raise QueryError(f"the template of the rule {name} has {_shown(unknown)}, which its pattern has not")
    if unknown := set(whole.tested) - known:
        raise QueryError(f"a FILTER of the rule {name} has {_shown(unknown)}, which its triples have not")
    return replace(whole, name=name, head=read_head)


def _shown(names: set[str]) -> str:
    return ", ".join("a blank node" if name.startswith("_:") else f"?{name}" for name in sorted(names))


def _is_refused(tokens: Sequence[Token], at: int) -> bool:
    """Whether a token is a word of SPARQL that no rule has; EXISTS is one but in FILTER NOT EXISTS."""
    negates = at > 1 and tokens[at - 2].is_word("FILTER") and tokens[at - 1].is_word("NOT")
    return tokens[at].is_word(*_REFUSED) or (tokens[at].is_word("EXISTS") and not negates)


def _pattern(name: str, prologue: str, text: str, tokens: Sequence[Token], kind: str = "") -> Construct:
    """The first group of tokens as a rule without a head; a negated pattern is named by its kind."""
    opened = next(at for at, token in enumerate(tokens) if token.text == "{")
    tests, negated, left = _parts(text, tokens[opened : closing(tokens, opened, "{", "}") + 1])
    if sum(token.text == "{" for token in left) > 1:
        raise QueryError(f"the rule {name} has a group within its pattern: a rule has one pattern")
    body = _atoms(name, prologue, text, left)
    if not 0 < len(body) <= _TRIPLES:
        raise QueryError(f"the rule {name} has {len(body)} triples in a pattern; it must have 1 to {_TRIPLES}")
    tested = {token.text[1:] for test in tests for token in tokenize(test) if token.kind == "variable"}
    absent = tuple(_pattern(name, prologue, text, group, group[0].text.upper()) for group in negated)
    return Construct(kind, body, (), tuple((prologue, test) for test in tests), tuple(sorted(tested)), absent)


def _parts(text: str, tokens: Sequence[Token]) -> tuple[list[str], list[Sequence[Token]], list[Token]]:
    """The conditions of a pattern's FILTERs, the tokens of its negated patterns, and its tokens without both."""
    tests: list[str] = []
    negated: list[Sequence[Token]] = []
    left: list[Token] = []
    at = 0
    while at < len(tokens):
        if tokens[at].is_word("FILTER", "MINUS"):
            opening = next(place for place in range(at, len(tokens)) if tokens[place].text in ("(", "{"))
            if tokens[opening].text == "{":
                end = closing(tokens, opening, "{", "}")
                negated.append(tokens[at : end + 1])
            else:
                end = closing(tokens, opening)
                tests.append(text[tokens[at + 1].start : tokens[end].end])
            at = end + 1
            if at < len(tokens) and tokens[at].text == ".":
                at += 1
            if left and left[-1].text not in ("{", "."):
                left.append(Token(*{**tokens[end]._asdict(), "text": "."}.values()))
        else:
            left.append(tokens[at])
            at += 1
    return tests, negated, left


def _atoms(name: str, prologue: str, text: str, tokens: Sequence[Token]) -> tuple[tuple[Term | str, ...], ...]:
    """The triples of a group, with the names of variables; a blank node is a variable."""
    words = [f"<{MARKER}{token.text[1:]}>" if token.kind == "variable" else token.text for token in tokens]
    store = ox.Store()
    try:
        store.update(f"{prologue}\nINSERT DATA {' '.join(words)}")
    except SyntaxError as error:
        raise QueryError(f"the rule {name} has a path, or what is no triple, in its pattern: {error}") from error

    def item(term: Term) -> Term | str:
        if isinstance(term, ox.BlankNode):
            return f"_:{term.value}"
        if isinstance(term, ox.NamedNode) and term.value.startswith(MARKER):
            return term.value.removeprefix(MARKER)
        return term

    return tuple(sorted((tuple(map(item, (one.subject, one.predicate, one.object))) for one in store), key=str))


RDFS = {
    "rdfs2": "CONSTRUCT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y }",
    "rdfs3": "CONSTRUCT { ?y a ?c } WHERE { ?p rdfs:range ?c . ?x ?p ?y }",
    "rdfs5": "CONSTRUCT { ?p rdfs:subPropertyOf ?r } WHERE { ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r }",
    "rdfs7": "CONSTRUCT { ?x ?q ?y } WHERE { ?p rdfs:subPropertyOf ?q . ?x ?p ?y }",
    "rdfs9": "CONSTRUCT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }",
    "rdfs11": "CONSTRUCT { ?c rdfs:subClassOf ?e } WHERE { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e }",
}
"""The rules of RDF Schema that say something of the data, by the names of its specification."""

RDFS_PLUS = {
    **RDFS,
    "prp-inv": "CONSTRUCT { ?y ?q ?x } WHERE { ?p owl:inverseOf ?q . ?x ?p ?y }",
    "prp-inv2": "CONSTRUCT { ?y ?p ?x } WHERE { ?p owl:inverseOf ?q . ?x ?q ?y }",
    "prp-symp": "CONSTRUCT { ?y ?p ?x } WHERE { ?p a owl:SymmetricProperty . ?x ?p ?y }",
    "prp-trp": "CONSTRUCT { ?x ?p ?z } WHERE { ?p a owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z }",
    "scm-eqc": "CONSTRUCT { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c } WHERE { ?c owl:equivalentClass ?d }",
    "scm-eqp": "CONSTRUCT { ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p } "
    "WHERE { ?p owl:equivalentProperty ?q }",
}
"""RDF Schema with inverse, symmetric and transitive properties and equivalence, by the names of OWL 2 RL."""

_INVERSE = [("broader", "narrower"), ("broaderTransitive", "narrowerTransitive"), ("topConceptOf", "hasTopConcept"),
            ("broadMatch", "narrowMatch")]  # fmt: skip
_SYMMETRIC = ["related", "closeMatch", "relatedMatch", "exactMatch"]
_TRANSITIVE = ["broaderTransitive", "narrowerTransitive", "exactMatch"]
_ABOVE = [
    *[("broader", "broaderTransitive"), ("narrower", "narrowerTransitive"), ("topConceptOf", "inScheme")],
    *[("broaderTransitive", "semanticRelation"), ("narrowerTransitive", "semanticRelation")],
    *[("related", "semanticRelation"), ("mappingRelation", "semanticRelation"), ("broadMatch", "broader")],
    *[("narrowMatch", "narrower"), ("relatedMatch", "related"), ("exactMatch", "closeMatch")],
    *[(name, "mappingRelation") for name in ("broadMatch", "narrowMatch", "relatedMatch", "closeMatch")],
]


def _skos() -> Iterator[tuple[str, str]]:
    for p, q in (*_INVERSE, *[(q, p) for p, q in _INVERSE], *[(p, p) for p in _SYMMETRIC]):
        yield f"skos-{p}-inverse", f"CONSTRUCT {{ ?y skos:{q} ?x }} WHERE {{ ?x skos:{p} ?y }}"
    for p, q in _ABOVE:
        yield f"skos-{p}-{q}", f"CONSTRUCT {{ ?x skos:{q} ?y }} WHERE {{ ?x skos:{p} ?y }}"
    for p in _TRANSITIVE:
        yield f"skos-{p}", f"CONSTRUCT {{ ?x skos:{p} ?z }} WHERE {{ ?x skos:{p} ?y . ?y skos:{p} ?z }}"


SKOS = dict(_skos())
"""The rules of SKOS's own relations: inverse, symmetric and transitive relations, and the kind of each."""

_MEMBERS, _TOGETHER = 8, 4  # of a list whose members are named one by one, and all at once
_OF_RESTRICTIONS = {
    "scm-eqc2": ("?c owl:equivalentClass ?d", "?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c"),
    "scm-eqp2": ("?p owl:equivalentProperty ?q", "?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p"),
    "scm-dom1": ("?p rdfs:domain ?d", "?p rdfs:domain ?c . ?c rdfs:subClassOf ?d"),
    "scm-dom2": ("?p rdfs:domain ?c", "?q rdfs:domain ?c . ?p rdfs:subPropertyOf ?q"),
    "scm-rng1": ("?p rdfs:range ?d", "?p rdfs:range ?c . ?c rdfs:subClassOf ?d"),
    "scm-rng2": ("?p rdfs:range ?c", "?q rdfs:range ?c . ?p rdfs:subPropertyOf ?q"),
    "cls-svf1": ("?u a ?c", "?c owl:someValuesFrom ?d ; owl:onProperty ?p . ?u ?p ?v . ?v a ?d"),
    "cls-svf2": ("?u a ?c", "?c owl:someValuesFrom owl:Thing ; owl:onProperty ?p . ?u ?p ?v"),
    "cls-avf": ("?v a ?d", "?c owl:allValuesFrom ?d ; owl:onProperty ?p . ?u a ?c ; ?p ?v"),
    "cls-hv1": ("?u ?p ?v", "?c owl:hasValue ?v ; owl:onProperty ?p . ?u a ?c"),
    "cls-hv2": ("?u a ?c", "?c owl:hasValue ?v ; owl:onProperty ?p . ?u ?p ?v"),
    **{
        f"scm-{name}1": (
            "?c rdfs:subClassOf ?d",
            f"?c owl:{values} ?e ; owl:onProperty ?p . ?d owl:{values} ?f ; owl:onProperty ?p . ?e rdfs:subClassOf ?f",
        )
        for name, values in (("svf", "someValuesFrom"), ("avf", "allValuesFrom"))
    },
    **{
        f"scm-{name}": (
            f"?{below} rdfs:subClassOf ?{above}",
            f"?c owl:{values} ?e ; owl:onProperty ?p . ?d owl:{values} ?e ; owl:onProperty ?q . "
            "?p rdfs:subPropertyOf ?q",
        )
        for name, values, below, above in (
            *(("hv", "hasValue", "c", "d"), ("svf2", "someValuesFrom", "c", "d")),
            ("avf2", "allValuesFrom", "d", "c"),
        )
    },
}


def _of_lists() -> Iterator[tuple[str, str, str]]:
    """(name, template, pattern) of the rules about lists: one for each place, or for each length."""
    for at in range(_MEMBERS):
        before = "".join(f" . ?l{one} rdf:rest ?l{one + 1}" for one in range(at))
        for name, list_of, said in (
            *(("scm-int", "intersectionOf", "?c rdfs:subClassOf ?m"), ("scm-uni", "unionOf", "?m rdfs:subClassOf ?c")),
            ("cls-oo", "oneOf", "?m a ?c"),
        ):
            yield f"{name} {at + 1}", said, f"?c owl:{list_of} ?l0{before} . ?l{at} rdf:first ?m"
    for count in range(1, _TOGETHER + 1):
        parts = [f"?l{at} rdf:first ?m{at} ; rdf:rest {f'?l{at + 1}'}" for at in range(count - 1)]
        whole = " . ".join([*parts, f"?l{count - 1} rdf:first ?m{count - 1} ; rdf:rest rdf:nil"])
        kinds, links = (
            " . ".join(one.format(at, at + 1) for at in range(count)) for one in ("?x a ?m{0}", "?x{0} ?m{0} ?x{1}")
        )
        yield f"cls-int1 {count}", "?x a ?c", f"?c owl:intersectionOf ?l0 . {whole} . {kinds}"
        yield f"prp-spo2 {count}", f"?x0 ?c ?x{count}", f"?c owl:propertyChainAxiom ?l0 . {whole} . {links}"


OWL_RL = {
    **RDFS_PLUS,
    **{name: f"CONSTRUCT {{ {head} }} WHERE {{ {body} }}" for name, (head, body) in _OF_RESTRICTIONS.items()},
    **{name: f"CONSTRUCT {{ {head} }} WHERE {{ {body} }}" for name, head, body in _of_lists()},
}
"""The rules of OWL 2 RL that conclude something of the data and make nothing the same, by its names."""

SETS: Mapping[str, Mapping[str, str]] = {"rdfs": RDFS, "rdfs+": RDFS_PLUS, "owl-rl": OWL_RL, "skos": SKOS}
"""The rule sets by their names."""


@cache
def known(name: str) -> tuple[Construct, ...]:
    """The rules of a set."""
    return tuple(read(rule, text, {}) for rule, text in SETS[name].items())
