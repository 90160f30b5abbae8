"""Links that are missing, and the rules that explain several: each is decided once, and the world keeps the rule."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pyoxigraph as ox
from rdflib import URIRef

from worlds.core.history.history import History
from worlds.core.history.provenance import Provenance
from worlds.core.history.scale import decided, learned
from worlds.core.quads.dataset import LINKS_GRAPH
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.rows import quads_of
from worlds.extras.curation.findings.findings import Finding
from worlds.extras.curation.linking.implied_links import Context, Way
from worlds.graph.longtexts import parse_all
from worlds.graph.records import Count, Iri, Plain, Record, Score
from worlds.graph.terms import format_term, quad_to_rdflib, to_oxigraph, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("linking.sql")
_COMMENT = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#comment")
_ADDED = "A "  # a row of an RDF Patch that adds a quad
LITERAL = "literal"
"""The first part of the context of a literal in the place of an entity; its predicate, and that of the link follow."""
MOST = 3  # examples of a rule, and exceptions


@dataclass(frozen=True, slots=True)
class Example(Record):
    """A link that a rule explains, or that is not there though the rule would have it, and the words that name it."""

    subject: Iri
    predicate: Iri
    object: Plain
    sentence: str


@dataclass(frozen=True, slots=True)
class Link(Finding):
    """A missing link, or all missing links that one rule explains, as a finding of the kind "link".

    `add` has the quads, `remove` the literals in their place. `score` orders the links, and is no probability: how
    surely the entity is meant, times how often a text that names such an entity so goes along with such a link. Of
    several links it is the mean. `text` is what names the entity of the surest, from character `start` up to `end` of
    the literal of `quads[0]`, and `sentence` the words around it.

    `probability` is how likely it is by what the world decided of other links; None where it decided too few.

    `rule` is the rule that explains the `count` links: of its `cases` the link exists in `support`. `examples` are the
    first of the links, `exceptions` the first cases without one. With several links `add` has the rule as well:
    accepting them lets the world follow it. `follows` says that it does already.
    """

    subject: Iri = None
    predicate: Iri = None
    object: Iri = None
    text: str = ""
    start: Count = 0
    end: Count = 0
    sentence: str = ""
    rule: Iri | None = None
    support: Count = 0
    cases: Count = 0
    count: Count = 1
    examples: tuple[Example, ...] = ()
    exceptions: tuple[Example, ...] = ()
    follows: bool = False
    probability: Score | None = None

    @property
    def links(self) -> tuple[tuple[Any, ...], ...]:
        """The quads of the links, without that of the rule."""
        return tuple(quad for quad in self.add if str(quad[3]) != LINKS_GRAPH.value)


@dataclass(frozen=True, slots=True)
class RawLink:
    """A link as ids: the quad with its text, the predicate and the entity, and whether these replace the literal."""

    quad: tuple[int, int, int, int]
    revision: int
    predicate: Any
    entity: Any
    score: float
    start: int
    end: int
    replaces: bool
    why: str
    told: str = ""  # what bears it
    contexts: tuple[Context, ...] = ()  # of the rules that explain it, the one that is told first
    inverse: bool = False  # from the entity to the subject
    around: tuple[int, int] = (0, 0)  # the characters of the sentence


class Case(NamedTuple):
    """A quad whose text names an entity that a predicate does not join it with; None for a literal that names none."""

    quad: tuple[int, int, int, int]
    predicate: int
    entity: Any = None
    inverse: bool = False
    around: tuple[int, int] = (0, 0)


@dataclass
class Borne:
    """The evidence for a rule: the cases in which its link exists, all cases, and the first without it."""

    support: int
    cases: int
    exceptions: list[Case] = field(default_factory=list)


class Explained(NamedTuple):
    """Links that one rule explains, the surest first."""

    links: list[RawLink]
    rule: str | None
    context: Context
    follows: bool

    @property
    def score(self) -> float:
        """The mean of the links' scores."""
        return sum(one.score for one in self.links) / len(self.links)


class LinkGrouping:
    """Puts links of one world together by the rules that explain them."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, history: History, found: Sequence[RawLink]
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history
        self._rules = LinkRules(connection, dictionary)
        self._found = found
        parts = {number for one in found for context in one.contexts for number in numbers(context)}
        self._terms = dictionary.terms(parts)
        self._rule = cache(lambda context: rule_of(context, self._terms))

    def undecided(self) -> Iterator[tuple[RawLink, tuple[int, int, int]]]:
        """The links that no rule concludes, and that nobody decided, alone or by their rule; each as ids, too."""
        terms = dict.fromkeys(term for one in self._found for term in (one.predicate, to_oxigraph(one.entity)))
        ids = dict(zip(terms, self._dictionary.find(list(terms)), strict=True))
        links = []
        for one in self._found:
            ends = one.quad[0], ids[to_oxigraph(one.entity)] or 0
            subject, entity = reversed(ends) if one.inverse else ends
            links.append((subject, ids[one.predicate] or 0, entity))
        concluded = self._connection.rows(_SQL["concluded"], (json.dumps(links),))
        known = self._rules.links | {links[place] for (place,) in concluded}
        for one, link in zip(self._found, links, strict=True):
            if link not in known and self._rules.refused.isdisjoint(map(self._rule, one.contexts)):
                yield one, link

    def grouped(self, found: Iterable[RawLink]) -> list[Explained]:
        """The links grouped by their explanation, the surest first: a rule that the world follows, if possible."""
        groups: dict[object, Explained] = {}
        for one in found:
            rules = {self._rule(context): context for context in reversed(one.contexts)}
            known = self._rules.accepted & rules.keys()
            rule = min(known) if known else self._rule(one.contexts[0]) if one.contexts else None
            context = () if rule is None else rules[rule]
            group = groups.setdefault(rule or len(groups), Explained([], rule, context, bool(known)))
            group.links.append(one)
        return sorted(groups.values(), key=lambda group: (-group.score, group.links[0].quad, group.links[0].start))

    def shown(self, explained: Sequence[Explained], borne: Mapping[Context, Borne]) -> list[Link]:
        """The links as findings."""
        links = [one for group in explained for one in group.links]
        cases = [case for group in explained if group.context in borne for case in borne[group.context].exceptions]
        quads = [*(one.quad for one in links), *(case.quad for case in cases)]
        ids = {number for quad in quads for number in quad} | {case.predicate for case in cases}
        terms = self._dictionary.terms(ids).items()
        shown: dict[int, Any] = {number: to_rdflib(term) if number else None for number, term in terms}
        entries = self._history.numbered({one.revision for one in links})

        def example(one: RawLink | Case) -> Example:
            s, _, o, _ = (shown[number] for number in one.quad)
            predicate = shown[one.predicate] if isinstance(one, Case) else to_rdflib(one.predicate)
            entity = o if one.entity is None else one.entity
            first, last = (entity, s) if one.inverse else (s, entity)
            return Example(first, predicate, last, " ".join(str(o)[slice(*one.around)].split()) or str(o))

        def finding(group: Explained) -> Link:
            one = group.links[0]
            quads: list[Any] = [tuple(shown[number] for number in link.quad) for link in group.links]
            examples = [example(link) for link in group.links]
            told = borne.get(group.context, Borne(0, 0))
            exceptions = tuple(map(example, told.exceptions))
            add = [
                (link.subject, link.predicate, link.object, quad[3]) for link, quad in zip(examples, quads, strict=True)
            ]
            message = f"{one.why}; {one.told}"
            if len(quads) > 1:
                sentence = sentence_of(group.context, self._terms)
                message = f"{len(quads):,} links: {sentence}; {one.told}"
                for case in exceptions[:1]:
                    ends = " and ".join(format_term(to_oxigraph(end)) for end in (case.subject, case.object))
                    message += f", but not between {ends}"
                if not group.follows:
                    add.append(quad_to_rdflib(quad_of(str(group.rule), sentence)))
            said = [
                Provenance(quad, entries.get(link.revision), None)
                for quad, link in list(zip(quads, group.links, strict=True))[:MOST]
            ]
            removed = [quad for quad, link in zip(quads, group.links, strict=True) if link.replaces]
            subjects = dict.fromkeys(end for link in examples[:MOST] for end in (link.subject, link.object))
            return Link(
                "link", "info", group.score, message, tuple(subjects), tuple(said),
                add=tuple(add), remove=tuple(removed), subject=examples[0].subject, predicate=examples[0].predicate,
                object=examples[0].object, text=str(quads[0][2])[one.start : one.end], start=one.start, end=one.end,
                sentence=examples[0].sentence, rule=None if group.rule is None else URIRef(group.rule),
                support=told.support, cases=told.cases, count=len(quads), examples=tuple(examples[:MOST]),
                exceptions=exceptions, follows=group.follows,
                probability=None if scale is None else float(scale(np.array(group.score))),
            )  # fmt: skip

        scale = learned(*decided(self._connection, "link"))
        return [finding(group) for group in explained]


class LinkRules:
    """The decisions on the links of one world, and on the rules that explain them.

    A rule is a context in which links exist, as an IRI made of the context's terms. A world follows the rules of its
    graph <urn:worlds:links>, where accepting a proposal puts them.
    """

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    @cached_property
    def accepted(self) -> set[str]:
        """The rules that the world follows."""
        graph = self._dictionary.find([LINKS_GRAPH])[0]
        held = quads_of(self._connection, self._dictionary, graph)
        return _named(held)

    @cached_property
    def _decided(self) -> list[ox.Quad]:
        """The quads of decided proposals of links, including quads that a reviewer took out of one."""
        lines: list[str] = []
        for quads, discussion in self._connection.rows(_SQL["decided_links"]):
            patches = [replaced or "" for *_, replaced in json.loads(discussion)]
            lines += [quads or "", *(row[2:] for text in patches for row in text.split("\n") if row[:2] == _ADDED)]
        return list(parse_all("\n".join(lines), ox.RdfFormat.N_QUADS))

    @cached_property
    def links(self) -> set[tuple[int, ...]]:
        """The links that were decided, one by one or by a rule, as ids: they are not found again."""
        terms = [term for quad in self._decided for term in (quad.subject, quad.predicate, quad.object)]
        ids = iter([number or 0 for number in self._dictionary.find(terms)])
        return set(zip(ids, ids, ids, strict=True))

    @cached_property
    def refused(self) -> set[str]:
        """The rules that were decided, and that the world does not follow."""
        return _named(self._decided) - self.accepted


def _named(quads: Iterable[ox.Quad]) -> set[str]:
    """The rules among the subjects of quads."""
    kept = (quad.subject for quad in quads if quad.graph_name == LINKS_GRAPH)
    return {rule.value for rule in kept if isinstance(rule, ox.NamedNode)}


def numbers(context: Context) -> set[int]:
    """The ids of terms in a context."""
    found: set[int] = set()
    for part in context:
        if isinstance(part, tuple):
            found |= numbers(part)
        elif isinstance(part, int) and not isinstance(part, bool):
            found.add(part)
    return found


def rule_of(context: Context, terms: Mapping[int, Any]) -> str:
    """The IRI of the rule of a context: the same in every world with these terms."""

    def named(part: Any) -> Any:
        if isinstance(part, tuple):
            return [named(one) for one in part]
        return str(terms[part]) if isinstance(part, int) and not isinstance(part, bool) else part

    digest = hashlib.blake2b(json.dumps(named(context)).encode(), digest_size=12)
    return f"urn:worlds:links:{digest.hexdigest()}"


def sentence_of(context: Context, terms: Mapping[int, Any]) -> str:
    """A rule in words."""

    def shown(number: int) -> str:
        return format_term(terms[number])

    def kinds(of: Sequence[int]) -> str:
        return "a " + " and ".join(map(shown, of)) if of else "an entity without a class"

    if context[0] == LITERAL:
        _, under, target = context
        return f"a literal under {shown(under)} that is the name of an entity stands for {shown(target)} of that entity"
    way: Way = context[0]
    leads = f"{shown(way[0])} leads {'from' if way[1] else 'to'}"
    if len(context) == 3:
        _, about, entity = context
        return f"{leads} {shown(entity)} where a text about {kinds(about)} names it"
    _, under, about, of, *words = context
    cue, *beside = words or [""]
    after = f" after {cue!r}" if cue else ""
    between = f" between {beside[0]!r} and {beside[1]!r}" if beside else ""
    return f"{leads} {kinds(of)} that a text under {shown(under)} of {kinds(about)} names{after}{between}"


def quad_of(rule: str, sentence: str) -> ox.Quad:
    """The quad by which a world keeps a rule."""
    return ox.Quad(ox.NamedNode(rule), _COMMENT, ox.Literal(sentence), LINKS_GRAPH)
