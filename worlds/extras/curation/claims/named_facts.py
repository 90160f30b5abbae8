"""Facts by the names of things: which terms they mean, how sure that is, and what becomes of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dataset import of_data
from worlds.core.quads.dictionary import Ids
from worlds.core.texts.policy import TextPolicy
from worlds.errors import ArgumentError
from worlds.extras.curation.claims.receipt import Fact, Unsure
from worlds.extras.curation.claims.triples import PredicateNames, as_of, well_formed
from worlds.extras.curation.columns.values import ALL, LITERALS, is_of
from worlds.extras.entities.names import Resolution, bounds, likeness, normal
from worlds.extras.entities.new_iris import Minted
from worlds.extras.entities.schema import PredicateSummary
from worlds.extras.questions.question_terms import QuestionVocabulary, tokens
from worlds.graph.terms import RDF, to_oxigraph, to_rdflib

ALIKE = 0.75
"""How alike a name is written at most, from 0 to 1, to all that is there, if it is that of a new entity for sure."""
_NEAR = 5  # candidates that are told
_LONGEST = 300  # characters of a name
_BELOW = 200  # classes below those of a predicate, beyond which they are not looked at
_CLASSES = 5  # at an end of a predicate, beyond which they say nothing
_BESIDE = 20_000  # quads of a predicate whose ends are compared with a new name
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_TYPE = ox.NamedNode(RDF + "type")
_DOMAIN, _RANGE = _RDFS + "domain", _RDFS + "range"
_OF_TYPES = frozenset(("is a", "is an", "a", "an", "type", "rdf:type", "instance of", "is"))
_TIMES = {"from": "valid_from", "to": "valid_to", "until": "valid_to", "cites": "cites", "confidence": "confidence"}
_unwritable = re.compile("[\0\ud800-\udfff]")
_prefixed = re.compile(r"([A-Za-z][\w.-]*:)[^\s/]\S*")

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class Teller:
    """Reads facts by the names of one world.

    Of a part of a world, `_wider` is the teller of the whole, whose predicates and entities are known, too. New
    entities are in the `_namespace`, or named as the policy says.
    """

    _core: Core
    resolve: Callable[..., Resolution]
    mint: Callable[..., Minted]
    vocabulary: Callable[[], QuestionVocabulary]
    _wider: Teller | None = None
    _namespace: str | None = None

    def __post_init__(self) -> None:
        core = self._core
        self._names = PredicateNames(core.connection, core.dictionary, core.chunks)
        self.to_pattern = core.namespaces.pattern

    def predicates(self, name: str) -> list[ox.NamedNode]:
        """The predicates with a name: in this part of the world, or else in the whole."""
        return self._names.of(name) or ([] if self._wider is None else self._wider.predicates(name))

    @property
    def policy(self) -> TextPolicy:
        """The world's policy."""
        return self._core.chunks.policy

    @property
    def iris(self) -> Mapping[str, str]:
        """The policy's templates for IRIs of new entities."""
        return {"namespace": self._namespace} if self._namespace else self.policy.iris

    def read(self, facts: Iterable[object], *, context: str | None, open_: bool) -> list[Fact]:
        """The facts as read. With `open_`, predicates may be new; ArgumentError for malformed facts."""
        found = [self._fact(one) for one in facts]
        with self._core.connection.snapshot():
            reading = _ClaimReading(self, context, open_=open_)
            types = [one for one in found if normal(one.given[1]) in _OF_TYPES or one.given[1] == _TYPE.value]
            for one in types:  # first, so that a new entity has its class
                reading.type_of(one)
            for one in found:
                if one not in types:
                    reading.read(one)
        return found

    def _fact(self, given: object) -> Fact:
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) not in (3, 4):
            raise ArgumentError(
                f"a fact is (subject, predicate, object), and maybe a mapping of times, not {given!r:.200}"
            )
        times = given[3] if len(given) == 4 else {}
        if not isinstance(times, Mapping) or not times.keys() <= _TIMES.keys():
            raise ArgumentError(f"a fact may have {', '.join(map(repr, _TIMES))} in a mapping, not {times!r:.200}")
        if any(one is None or (isinstance(one, str) and not one.strip()) for one in given[:3]):
            raise ArgumentError(f"a fact has a subject, a predicate and an object, not {given!r:.200}")
        if any(isinstance(one, list | tuple | dict | set | bytes) for one in given[:3]):
            raise ArgumentError(f"a part of a fact is a text, a number, true, false, a date or a term: {given!r:.200}")
        if any(_unwritable.search(one) for one in given[:3] if isinstance(one, str)):
            raise ArgumentError(f"a fact holds no U+0000 and no lone surrogate: {given!r:.200}")
        fact = Fact((str(given[0]), str(given[1]), str(given[2])), {_TIMES[name]: one for name, one in times.items()})
        fact.parts = list(given[:3])
        return fact

    def called(self, name: str) -> list[Any]:
        """The entities with a label or another name that is written so, in small letters or with capitals."""
        text = " ".join(name.split())
        forms = dict.fromkeys((text, text.lower(), text.title(), text.capitalize(), text.upper()))
        naming = self._core.facts.numbers(self._core.chunks.policy.predicates("label", "alias"))
        found: set[int] = set()
        for literal in (one for form in forms for one in self._core.dictionary.literals(form)):
            rows = self._quads(None, None, literal)
            found.update(rows[np.isin(rows[:, 1], naming), 0].tolist())
        terms = self._core.dictionary.terms(found)  # and the default graph
        return [terms[number] for number in found] or ([] if self._wider is None else self._wider.called(name))

    def fits(self, entity: Any, classes: Sequence[str] | None) -> bool:
        """Whether an entity is of one of some classes, or of none; any is, where there are none."""
        types = self._core.dictionary.terms(self._quads(entity, _TYPE)[:, 2].tolist())
        names = {one.value for one in types.values() if isinstance(one, ox.NamedNode)}
        if not names and self._wider is not None:
            return self._wider.fits(entity, classes)
        return not (classes and names) or not names.isdisjoint(classes)

    def beside(self, predicate: ox.NamedNode, part: str, classes: Sequence[str]) -> list[tuple[str, str, Any]]:
        """The entities at an end of a predicate, or of its classes there, that have a label.

        Each as the label's normal form, the label, and the entity; they are those of the first quads.
        """
        found = [self._quads(None, predicate)[:_BESIDE, 0 if part == "subject" else 2]]
        for kind in classes:
            rows = self._quads(None, _TYPE, ox.NamedNode(kind))
            found.append(rows[: max(_BESIDE - sum(map(len, found)), 0), 0])
        numbers = np.unique(np.concatenate(found))
        terms = self._core.dictionary.terms(numbers.tolist())
        labels = self._core.facts.labels(self._core.chunks.policy, numbers.tolist())
        return [
            (normal(labels[number].label), labels[number].label, terms[number])
            for number in labels
            if isinstance(terms[number], ox.NamedNode) and normal(labels[number].label)
        ]

    def _quads(self, subject: Any, predicate: Any, value: Any = None) -> Ids:
        return of_data(self._core.dictionary, self._core.patterns.matching((subject, predicate, value), None))

    def below(self, classes: Sequence[Any]) -> list[str] | None:
        """Classes, and those below them by rdfs:subClassOf; None for none, and for very many."""
        if not classes:
            return None
        if self._wider is not None:
            return self._wider.below(classes)
        rows = self._quads(None, ox.NamedNode(_RDFS + "subClassOf"))
        children: dict[int, list[int]] = {}
        for child, parent in rows[:, [0, 2]].tolist():
            children.setdefault(parent, []).append(child)
        found = dict.fromkeys(number for number in self._core.dictionary.find(list(classes)) if number is not None)
        waiting = list(found)
        while waiting and len(found) <= _BELOW:
            new = [child for child in children.get(waiting.pop(), ()) if child not in found]
            found |= dict.fromkeys(new)
            waiting += new
        terms = self._core.dictionary.terms(found) if len(found) <= _BELOW else {}
        return [one.value for one in terms.values() if isinstance(one, ox.NamedNode)] or None

    def declared(self, predicate: ox.NamedNode, end: str) -> list[Any]:
        """The classes or datatypes that a predicate is declared to have at an end."""
        if self._wider is not None:
            return self._wider.declared(predicate, end)
        found = self._quads(predicate, ox.NamedNode(end))[:, 2].tolist()
        return [one for one in self._core.dictionary.terms(found).values() if isinstance(one, ox.NamedNode)]


class _ClaimReading:
    """The reader of one call's facts: a new entity of one fact is known to the next."""

    def __init__(self, teller: Teller, context: str | None, *, open_: bool) -> None:
        self._teller = teller
        self._context = context
        self._open = open_
        self._new: dict[str, tuple[Any, list[Any]]] = {}  # by name: its IRI and what is said of it
        self._new_predicates: dict[str, tuple[Any, list[Any]]] = {}
        self._classes: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._memory: dict[tuple[object, ...], Any] = {}

    # -- facts --------------------------------------------------------------------------------------------------------

    def type_of(self, fact: Fact) -> None:
        """Read a fact that says the class of something."""
        subject, _, kind = fact.parts
        fact.parts[1] = _TYPE
        fact.parts[2] = found = self._term(kind) or self._class(fact, str(kind))
        if found is not None and isinstance(subject, str):
            self._classes[normal(subject)] = found
        fact.parts[0] = self._subject(fact, subject, [])

    def read(self, fact: Fact) -> None:
        """Read another fact."""
        subject, predicate, value = fact.parts
        fact.parts[1] = of = self._term(predicate) or self._predicate(fact, str(predicate))
        summary = None if of is None else self._summary(of)
        domain = self._ends(of, summary, _DOMAIN)
        fact.parts[0] = self._subject(fact, subject, domain)
        fact.parts[2] = None if of is None else self._value(fact, of, summary, value)

    # -- terms --------------------------------------------------------------------------------------------------------

    def _term(self, part: object) -> Any:
        """The term of a part that is written as a term; None for a name."""
        try:
            return self._teller.to_pattern(part)[0]
        except ValueError:
            if type(part) is not str:
                raise
            return None

    def _subject(self, fact: Fact, part: object, classes: Sequence[Any]) -> Any:
        term = self._term(part)
        if term is None or isinstance(term, ox.NamedNode | ox.BlankNode):
            return term or self._entity(fact, "subject", str(part), classes)
        fact.why.append("the subject must not be a literal")
        return None

    def _class(self, fact: Fact, name: str) -> Any:
        if self._long(fact, name):
            return None
        words = [one.word for one in tokens(name)]
        named = self._teller.vocabulary().class_of(words) if words else []
        best = [one for one in named if one[1] == 1.0]
        if len(best) == 1:
            return ox.NamedNode(str(best[0][0].iri))
        resolved = self._resolve(name, None)
        if resolved.best is not None and resolved.best.kind in ("exact", "alias"):
            return to_oxigraph(resolved.best.iri)
        candidates = resolved.candidates
        fact.unsure.append(Unsure("object", name, candidates, tuple(one.iri for one, _ in named[:_NEAR])))
        fact.why.append(f"{name!r} is {'several classes' if best else 'no class'} of this world")
        return None

    def _long(self, fact: Fact, name: str) -> bool:
        """Whether a name is too long for one, with the reason."""
        if len(name) > _LONGEST:
            fact.why.append(f"{name[:40]!r}… is not a name: it has more than {_LONGEST} characters")
        return len(name) > _LONGEST

    def _prefixed(self, fact: Fact, name: str) -> bool:
        """Whether an unresolved name is written with a prefix that the world lacks; adds the reason."""
        if (found := _prefixed.fullmatch(name)) is None:
            return False
        fact.why.append(f"no entity is named {name!r}, and the prefix {found[1]!r} is not declared")
        return True

    def _predicate(self, fact: Fact, name: str) -> Any:
        if self._long(fact, name) or self._prefixed(fact, name):
            return None
        if (known := self._new_predicates.get(normal(name))) is not None:
            fact.about += known[1]
            fact.new.append(known[0])
            return known[0]
        exact = self._teller.predicates(name)
        used = [one for one in exact if self._summary(one) is not None]
        if len(exact) == 1 or len(used) == 1:
            return (used or exact)[0]
        words = [one.word for one in tokens(name)]
        near = self._teller.vocabulary().predicate_of(words) if words and not exact else []
        best = [one for one in near if one[1] == 1.0]  # other words for it may turn it round: "employer", "employs"
        if len(best) == 1:
            return ox.NamedNode(str(best[0][0].iri))
        if self._open and not exact and not near:
            return self._made(fact, "predicate", name, ox.NamedNode(RDF + "Property"))
        candidates = [one.value for one in exact] or [str(one.iri) for one, _ in near]
        fact.unsure.append(Unsure("predicate", name, (), tuple(candidates[:_NEAR])))
        fact.why.append(f"{name!r} is {'several predicates' if exact or best else 'no predicate'} of this world")
        if len(near) == 1 or (near and near[0][1] > near[1][1]):
            return ox.NamedNode(str(near[0][0].iri))  # which is proposed
        return None

    def _summary(self, predicate: ox.NamedNode) -> PredicateSummary | None:
        found = (one for one in self._teller.vocabulary().schema.predicates if str(one.iri) == predicate.value)
        return next(found, None)

    def _ends(self, predicate: Any, summary: PredicateSummary | None, end: str) -> list[Any]:
        """The classes at an end of a predicate: as declared, or else as the data have them; none if they are many."""
        declared = [] if predicate is None else self._declared(predicate, end)
        if declared or summary is None:
            return declared
        classes = summary.subject_classes if end == _DOMAIN else summary.object_classes
        count = summary.subject_class_count if end == _DOMAIN else summary.object_class_count
        return [ox.NamedNode(str(one)) for one in classes] if count <= _CLASSES else []

    def _entity(self, fact: Fact, part: Literal["subject", "object"], name: str, classes: Sequence[Any]) -> Any:
        """Whom a name means: an entity that is there, or a new one."""
        if self._long(fact, name):
            return None
        known = self._new.get(normal(name))
        if known is not None:
            fact.about += known[1]
            fact.new.append(known[0])
            return known[0]
        told = self._kept(("below", *classes), lambda: self._teller.below(classes))
        named = self._teller.called(name)
        if len(named) == 1 and isinstance(named[0], ox.NamedNode) and self._teller.fits(named[0], told):
            return named[0]
        if not named and self._prefixed(fact, name):
            return None
        found = self._resolve(name, told)
        if told and found.outcome == "no match":
            other = self._resolve(name, None)
            if other.outcome != "no match":  # of another class than the predicate has
                return self._likeliest(fact, part, other)
        if found.outcome == "no match" and all(one.score < ALIKE for one in found.candidates):
            if (near := self._alike(fact.parts[1], part, name, told or [])) is not None:
                fact.unsure.append(Unsure(part, name, (), (to_rdflib(near[1]),)))
                fact.why.append(f"no entity is named {name!r}, but {near[0]!r} is similar")
                return near[1]
            kind = self._classes.get(normal(name)) or (classes[0] if len(classes) == 1 else None)
            return self._made(fact, part, name, kind)
        if found.best is not None and found.best.kind != "semantic":
            return to_oxigraph(found.best.iri)
        return self._likeliest(fact, part, found)

    def _alike(self, predicate: Any, part: str, name: str, classes: Sequence[str]) -> tuple[str, Any] | None:
        """The entity at that end of the predicate with a similar spelling, which no index of words finds."""
        if predicate is None:
            return None
        others = self._kept((part, predicate), lambda: self._teller.beside(predicate, part, classes))
        sought = normal(name)
        if not others or not sought:
            return None
        most = bounds(sought, [one for one, _, _ in others])
        near = [(likeness(sought, others[at][0]), *others[at][1:]) for at in np.flatnonzero(most >= ALIKE).tolist()]
        best = max(near, key=lambda one: one[0], default=None)
        return None if best is None or best[0] < ALIKE else best[1:]

    def _resolve(self, name: str, types: list[str] | None) -> Resolution:
        def resolved() -> Resolution:
            return self._teller.resolve(name, types=types, context=self._context, limit=_NEAR)

        return self._kept((name, *(types or ())), resolved)

    def _declared(self, predicate: ox.NamedNode, end: str) -> list[Any]:
        return self._kept((predicate, end), lambda: self._teller.declared(predicate, end))

    def _kept(self, key: tuple[object, ...], find: Callable[[], T]) -> T:
        """The cached value of a key in this call, or that of `find`."""
        if key not in self._memory:
            self._memory[key] = find()
        found: T = self._memory[key]
        return found

    def _likeliest(self, fact: Fact, part: Literal["subject", "object"], found: Resolution) -> Any:
        """The best of several unsure candidates, which is proposed."""
        fact.unsure.append(Unsure(part, found.name, found.candidates))
        near = ", ".join(f"{one.label or one.matched} ({one.confidence:.2f})" for one in found.candidates[:2])
        fact.why.append(f"{found.name!r} may mean {near}")
        return to_oxigraph(found.candidates[0].iri) if found.candidates else None

    def _made(self, fact: Fact, part: str, name: str, kind: Any = None) -> Any:
        """A new entity, by the world's policy for IRIs; None, with the reason, where it has none."""
        iris = self._teller.iris
        if not iris:
            fact.why.append(f"no entity is named {name!r}: to make new ones, `worlds policy WORLD iris=NAMESPACE`")
            return None
        try:
            minted = self._teller.mint(iris, label=name, type=kind, key=None, taken=self._taken)
        except ArgumentError as error:
            fact.why.append(f"no entity is named {name!r}: {error}")
            return None
        iri = ox.NamedNode(str(minted.iri))
        labels = self._teller.policy.predicates("label")
        label = _RDFS + "label" if _RDFS + "label" in labels else labels[0]
        said = [(iri, ox.NamedNode(label), ox.Literal(" ".join(name.split())))]
        if kind is not None and kind != _TYPE:
            said.append((iri, _TYPE, kind))
        self._taken.add(iri.value)
        (self._new_predicates if part == "predicate" else self._new)[normal(name)] = iri, said
        fact.about += said
        fact.new.append(iri)
        return iri

    # -- values -------------------------------------------------------------------------------------------------------

    def _value(self, fact: Fact, predicate: ox.NamedNode, summary: PredicateSummary | None, value: object) -> Any:
        """The object of a fact: a literal as the predicate has them, or an entity."""
        term = self._term(value)
        literals, entities = self._kinds(predicate, summary)
        is_node = term is not None and not isinstance(term, ox.Literal)
        if is_node and (entities or not literals or not isinstance(value, str)):
            return term
        given = term if isinstance(term, ox.Literal) else ox.Literal(str(value).strip())
        if not literals and not entities and well_formed(given):
            return given  # under a predicate of which nothing is known
        name = str(value)
        if term is None and entities and (not literals or (len(name) <= _LONGEST and self._resolve(name, None).best)):
            return self._entity(fact, "object", name, self._ends(predicate, summary, _RANGE))
        literal = next((one for kind in literals if (one := as_of(given, [kind])) is not None), None)
        if literal is not None:
            return literal
        kind = literals[0][0] if literals else "#entity" if entities else given.datatype.value
        fact.unsure.append(Unsure("object", name))
        fact.why.append(f"{name!r} is no {kind.rpartition('#')[2]}")
        return given

    def _kinds(
        self, predicate: ox.NamedNode, summary: PredicateSummary | None
    ) -> tuple[list[tuple[str, str | None]], bool]:
        """The (datatype, language) of the literals under a predicate, the commonest first; whether it has entities.

        Of declared datatypes those that stand there come first.
        """
        declared = [one.value for one in self._declared(predicate, _RANGE)]
        of = [one for one in declared if one in LITERALS]
        if summary is None:
            return [(one, None) for one in of], len(of) < len(declared)
        literal = [one for one in summary.kinds if one.kind == "literal"]
        kinds = [(str(one.datatype or RDF + "langString"), one.language) for one in literal]
        if of:
            kinds = [kind for kind in kinds if any(is_of(kind[0], wanted) for wanted in of)]
            kinds += [(one, None) for one in of if not kinds or one not in ALL]
        return kinds, any(one.kind != "literal" for one in summary.kinds)
