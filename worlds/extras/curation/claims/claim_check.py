"""Whether a claim holds: what speaks for it and against it in a world after a revision, and what was looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.history import Moment
from worlds.core.quads.redirects import REDIRECTS
from worlds.extras.curation.claims.counter_evidence import Claim, Contradicting, Supporting, score
from worlds.extras.curation.claims.declarations import Declarations, Row, Rows, State
from worlds.extras.curation.claims.triples import ClaimReader, Reading
from worlds.extras.curation.claims.verification import Evidence, FoundPassage, Ground, Outcome, Verification
from worlds.extras.curation.columns.axioms import OWL, RDFS, TYPE
from worlds.graph.terms import RDF, format_term, listed, to_oxigraph, to_rdflib
from worlds.sql import statements

_HISTORY = statements("history.sql")
_VISITED = 1000  # quads that are named of those that were read and not cited
_STATED = 3  # values that the world has instead, which are told
_GROUNDS = 20  # pieces of evidence on either side of a triple
_IDENTITY = (OWL + "sameAs", OWL + "differentFrom", "http://purl.org/dc/terms/isReplacedBy")
_PATHS = 5
_BRANCHES = 200  # quads of an entity, and entities of a step, that paths go over
_PASSAGES = 5
_CITED = 5  # quads of a passage
# Over these no path goes: they join what has nothing to do with each other.
_IDLE = tuple(RDF + name for name in ("type", "subject", "predicate", "object", "reifies", "first", "rest"))
_SH = "http://www.w3.org/ns/shacl#"
_NAMED = 3  # values that are told
_KINDS = {"IRI": ox.NamedNode, "Literal": ox.Literal, "BlankNode": ox.BlankNode}


class Shaped:
    """Reads the shapes of one state: `shapes` is the state of their graph, `state` that of the data."""

    def __init__(self, shapes: State, state: State, declarations: Declarations) -> None:
        self._shapes = shapes
        self._state = state
        self._declarations = declarations
        self._lists = Declarations(shapes)

    def find(self, claim: Claim) -> Iterator[Ground]:
        """sh:maxCount, sh:in, sh:datatype and sh:nodeKind of the shapes whose target the subject is."""
        shapes = self._shapes
        for shape, path in shapes.subjects(_SH + "path", claim.predicate).items():
            owners: dict[int, Rows] = {shape: (path,)}
            owners |= {owner: (row, path) for owner, row in shapes.subjects(_SH + "property", shape).items()}
            for owner, rows in owners.items():
                target = self._target(owner, claim)
                if target is not None and self._counts(shape) and self._counts(owner):
                    yield from self._against(shape, claim, (*target, *rows))

    def _counts(self, shape: int) -> bool:
        """Whether the shape is active, and its results have the severity of a violation."""
        shapes = self._shapes
        inactive = [shapes.term(one).value for one in shapes.objects(shape, _SH + "deactivated")]
        severities = [shapes.term(one) for one in shapes.objects(shape, _SH + "severity")]
        return "true" not in inactive and severities in ([], [ox.NamedNode(_SH + "Violation")])

    def _target(self, shape: int, claim: Claim) -> Rows | None:
        """The quads that make the subject a focus node of a shape; None if nothing does."""
        shapes = self._shapes
        for node, row in shapes.objects(shape, _SH + "targetNode").items():
            if node == claim.subject:
                return (row,)
        for predicate, row in shapes.objects(shape, _SH + "targetSubjectsOf").items():
            if predicate == claim.predicate or self._state.quads(claim.subject, predicate):
                return (row,)
        wanted = {kind: (row,) for kind, row in shapes.objects(shape, _SH + "targetClass").items()}
        for iri in (OWL + "Class", RDFS + "Class"):
            for row in shapes.quads(shape, shapes.id(TYPE), shapes.id(iri)):
                wanted[shape] = (row,)
        for said in self._state.quads(claim.subject, self._state.id(TYPE)):
            for kind, premises in self._declarations.classes_above(said[2]).items():
                if kind in wanted:
                    return (said, *premises, *wanted[kind])
        return None

    def _against(self, shape: int, claim: Claim, premises: Rows) -> Iterator[Ground]:
        shapes, value = self._shapes, claim.terms[2]
        for limit, row in shapes.objects(shape, _SH + "maxCount").items():
            text = getattr(shapes.term(limit), "value", "")
            others = [
                held for held in self._state.objects(claim.subject, claim.predicate).items() if held[0] != claim.object
            ]
            if text.isdecimal() and len(others) >= int(text):
                rows = (*(row for _, row in others), *premises, row)
                held = listed([other for other, _ in others], _NAMED, lambda one: format_term(self._state.term(one)))
                path = format_term(claim.terms[1])
                told = f"{path} has the value {held} already, and a shape allows {text} in all"
                yield Ground("shape", told, rows, score(rows))
        for head, row in shapes.objects(shape, _SH + "in").items():
            items = self._lists.items(head)
            if claim.object not in [item for item, _ in items]:
                rows = (*premises, row)
                yield Ground(
                    "shape", f"{format_term(value)} is none of the values that a shape allows", rows, score(rows)
                )
        for wanted, row in shapes.objects(shape, _SH + "datatype").items():
            name = shapes.term(wanted)
            if not isinstance(value, ox.Literal) or value.datatype != name:
                told = f"{format_term(value)} is no {format_term(name)}, which a shape asks for"
                yield Ground("shape", told, (*premises, row), score((*premises, row)))
        for wanted, row in shapes.objects(shape, _SH + "nodeKind").items():
            name = shapes.term(wanted).value.removeprefix(_SH)
            if not isinstance(value, tuple(kind for part, kind in _KINDS.items() if part in name.split("Or"))):
                told = f"{format_term(value)} is no {name}, which a shape asks for"
                yield Ground("shape", told, (*premises, row), score((*premises, row)))


class Verifier:
    """Verifies claims against one world."""

    def __init__(self, core: Core, reader: ClaimReader) -> None:
        self._core = core
        self._reader = reader

    def verify(
        self, claim: object, extract: Callable[[str], Iterable[object]] | None, at: Moment | None
    ) -> Verification:
        """See `World.curation.verify`."""
        if isinstance(claim, str):
            read = self._reader.read(claim, () if extract is None else extract(claim))
        else:
            read = self._reader.read("", [claim])
        with self._core.connection.snapshot():
            now = self._core.history.last + (1 if self._core.connection.in_transaction else 0)
            revision = now if at is None else self._core.history.check(at)
            state = State(self._core.connection, self._core.dictionary, self._core.history, revision)
            shapes = State(self._core.connection, self._core.dictionary, self._core.history, revision, shapes=True)
            return self._decided(read, state, shapes, isinstance(claim, str))

    def _decided(self, read: Reading, state: State, shapes: State, in_words: bool) -> Verification:
        case = _Case(state, shapes)
        for place, terms in enumerate(read.triples):
            claim = Claim(terms, *map(state.claimed, terms))
            case.decide(place, claim)
            case.retracted(claim, self._gone(claim, state.revision))
        outcome: Outcome = "unknown"
        if "contradicted" in case.outcomes:
            outcome = "contradicted"
        elif case.outcomes and not read.unread and all(one == "supported" for one in case.outcomes):
            outcome = "supported"
        if not read.triples:
            case.undecided["no triple could be read from it" if read.unread else "words need extract="] = None
        if state.cut or shapes.cut:
            case.undecided["only the first quads of some patterns were read"] = None
        visited = [row for row in dict.fromkeys((*state.read, *shapes.read)) if row not in case.cited]
        return Verification(
            claim=read.words,
            revision=state.revision,
            outcome=outcome,
            triples=tuple((to_rdflib(s), to_rdflib(p), to_rdflib(o)) for s, p, o in read.triples),
            outcomes=tuple(case.outcomes),
            readings=tuple(sorted(read.readings)),
            unread=tuple(sorted(read.unread)),
            supporting=tuple(case.supporting),
            contradicting=tuple(case.contradicting),
            paths=tuple(case.paths),
            undecided=tuple(case.undecided),
            visited=state.cited(sorted(visited)[:_VISITED]),
            left_out=max(0, len(visited) - _VISITED),
            passages=tuple(self._passages(read.words, state)) if in_words else (),
        )

    def _gone(self, claim: Claim, revision: int) -> list[tuple[int, ...]]:
        """When a triple was added and removed: rows of quads with both revisions."""
        if min(claim.ids) < 0:
            return []
        statement = _HISTORY["removed_matching"]
        values = dict(zip(("subject", "predicate", "object"), claim.ids, strict=True))
        rows = self._core.connection.table(statement, statement.bind(**values, graph=-1)).tolist()
        return sorted(tuple(row) for row in rows if row[5] <= revision)

    def _passages(self, words: str, state: State) -> Iterator[FoundPassage]:
        """The passages that a search finds for words, with quads that held then."""
        if not words.strip():
            return
        for hit in self._core.searches.run(words, limit=_PASSAGES):
            held = tuple(quad for quad in hit.quads if self._held(quad, state))[:_CITED]
            if held:
                yield FoundPassage(hit.text, hit.score, held)

    def _held(self, quad: Sequence[Any], state: State) -> bool:
        s, p, o = (state.id(to_oxigraph(term)) for term in quad[:3])
        graph = 0 if quad[3] is None else state.id(to_oxigraph(quad[3]))
        return any(row[3] == graph for row in state.quads(s, p, o))


class _Case:
    """The evidence on the triples of one claim."""

    def __init__(self, state: State, shapes: State) -> None:
        self._state = state
        declarations = Declarations(state)
        self._supporting = Supporting(state, declarations)
        self._contradicting = Contradicting(state, declarations, self._supporting)
        self._shaped = Shaped(shapes, state, declarations)
        self.outcomes: list[Outcome] = []
        self.supporting: list[Evidence] = []
        self.contradicting: list[Evidence] = []
        self.paths: list[tuple[Any, ...]] = []
        self.undecided: dict[str, None] = {}
        self.cited: set[Row] = set()

    def decide(self, place: int, claim: Claim) -> None:
        """Collect the evidence for and against one triple."""
        claim, redirects = self._led(claim)
        good = _strongest(_resting(self._supporting.find(claim), redirects))
        against = [*self._contradicting.find(claim), *self._shaped.find(claim)]
        bad = _strongest(_resting(against, redirects))
        self.supporting += [self._evidence(place, ground) for ground in good]
        self.contradicting += [self._evidence(place, ground) for ground in bad]
        self.undecided |= self._contradicting.unsure
        if good and bad:
            self.outcomes.append("unknown")
            self.undecided["there is evidence for and against it"] = None
        elif good or bad:
            self.outcomes.append("supported" if good else "contradicted")
        else:
            self.outcomes.append("unknown")
            self._explain(claim)

    def _led(self, claim: Claim) -> tuple[Claim, Rows]:
        """The claim with merged entities replaced by the kept ones, and the redirects used, without circular ones."""
        if claim.terms[1].value in _IDENTITY:
            return claim, ()
        graph = self._state.id(REDIRECTS)
        ids, redirects = list(claim.ids), list[Row]()
        for place in (0, 2):
            at, passed = ids[place], dict[int, Row]()
            while at not in passed:
                row = next((row for row in self._state.quads(at) if row[3] == graph), None)
                if row is None:
                    ids[place] = at
                    redirects += passed.values()
                    break
                passed[at] = row
                at = row[2]
        s, p, o = ids
        return Claim((self._state.term(s), claim.terms[1], self._state.term(o)), s, p, o), tuple(redirects)

    def retracted(self, claim: Claim, gone: Sequence[tuple[int, ...]]) -> None:
        """Record that a triple was removed, with its revisions."""
        if gone and not self._state.quads(*claim.ids):
            *_, added, removed = gone[-1]
            self.undecided[f"it was added in revision {added} and removed in revision {removed}"] = None

    def _explain(self, claim: Claim) -> None:
        """Why there is no evidence, and how subject and object are joined all the same."""
        known = True
        for term, number in zip(claim.terms, claim.ids, strict=True):
            if not isinstance(term, ox.Literal) and not self._state.known(number):
                self.undecided[f"the world does not know {format_term(term)}"] = None
                known = False
        both = min(claim.subject, claim.predicate) >= 0
        if stated := self._state.quads(claim.subject, claim.predicate, most=_STATED + 1) if both else ():
            terms = [format_term(self._state.term(row[2])) for row in stated[:_STATED]]
            more = ", …" if len(stated) > _STATED else ""
            self.undecided[f"the world has other values of this subject and predicate: {', '.join(terms)}{more}"] = None
        if known:
            self.undecided["no quad states it, and no rule of the world excludes it"] = None
            if not isinstance(claim.terms[2], ox.Literal):
                for path in self._between(claim.subject, claim.object):
                    self.cited.update(path)
                    self.paths.append(self._state.cited(path))

    def _evidence(self, place: int, ground: Ground) -> Evidence:
        self.cited.update(ground.rows)
        return Evidence(place, ground.rule, ground.score, ground.message, self._state.cited(ground.rows))

    # -- paths ------------------------------------------------------------------------------------------------------

    def _between(self, start: int, end: int) -> list[Rows]:
        """The shortest ways between two nodes, of three quads at most."""
        if start == end:
            return []
        here: dict[int, list[Rows]] = {start: [()]}
        there: dict[int, list[Rows]] = {end: [()]}
        for side in (here, there, here):
            self._step(side)
            found = [
                (*one, *reversed(other))
                for node in sorted(here.keys() & there.keys())
                for one in here[node]
                for other in there[node]
            ]
            if found:
                return sorted(found, key=lambda path: (len(path), path))[:_PATHS]
        return []

    def _step(self, reached: dict[int, list[Rows]]) -> None:
        """Add the quads that are one step further than the last ones."""
        state = self._state
        longest = max(len(path) for paths in reached.values() for path in paths)
        front = [node for node, paths in reached.items() if len(paths[0]) == longest][:_BRANCHES]
        idle = {state.id(iri) for iri in _IDLE}
        further: dict[int, list[Rows]] = {}
        for node in front:
            around = (*state.quads(node, most=_BRANCHES), *state.quads(None, None, node, most=_BRANCHES))
            rows = [row for row in around if row[1] not in idle]
            terms = state.terms(row[2] for row in rows)
            for row in rows:
                other = row[2] if row[0] == node else row[0]
                if other not in reached and not isinstance(terms[row[2]], ox.Literal):
                    further.setdefault(other, []).extend((*path, row) for path in reached[node][:_PATHS])
        reached |= {node: paths[:_PATHS] for node, paths in further.items()}


def _resting(grounds: Iterable[Ground], redirects: Rows) -> Iterator[Ground]:
    """The evidence, which rests on redirects, too."""
    for ground in grounds:
        rows = (*ground.rows, *redirects)
        yield ground._replace(rows=rows, score=score(rows)) if redirects else ground


def _strongest(grounds: Iterable[Ground]) -> list[Ground]:
    """The evidence, the strongest first; one piece for each rule and set of quads."""
    found: dict[tuple[str, frozenset[Row]], Ground] = {}
    for ground in grounds:
        found.setdefault((ground.rule, frozenset(ground.rows)), ground)
    return sorted(found.values(), key=lambda ground: (-ground.score, ground.rule, ground.rows))[:_GROUNDS]
