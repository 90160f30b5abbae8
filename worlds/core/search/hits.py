"""The results of a search: hits that cite their quads and explain their scores."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, overload

from worlds.core.quads.dictionary import Dictionary
from worlds.graph.records import As, Count, Iri, Quad, Record, Spare, TermsOf, Triple
from worlds.graph.tabular import Tabular

if TYPE_CHECKING:
    from worlds.core.search.facets import Facets

ResultType: TypeAlias = Literal["document", "entity", "statement", "literal"]
_MARKS = ("\x02", "\x03")
_SNIPPET = 240  # characters
_PARAMETER = 200  # characters, or bytes, of one that JSON has


def _thousandths(number: float) -> float:
    return round(number, 3)


def _shortened(parameters: Sequence[object]) -> list[object]:
    """Parameters for JSON: bytes as {"base64": …}, the long ones by their beginning."""
    shown: list[object] = []
    for value in parameters:
        cut = value[:_PARAMETER] if isinstance(value, str | bytes) else value
        shown.append({"base64": base64.b64encode(cut).decode()} if isinstance(cut, bytes) else cut)
        if isinstance(value, str | bytes) and len(value) > _PARAMETER:
            shown[-1] = {"beginning": shown[-1], "length": len(value)}
    return shown


@dataclass(frozen=True, slots=True)
class Leg:
    """One list's part in a fused score: `contribution` is `weight` times its fused value.

    `factors` are what `weight` is the product of: "weight" is that which the search gave the list. The others stand
    there if they are not 1: "role", the policy's weight of the predicate; "coverage", what words count beside vectors
    where the best text does not hold all of them; "pending", what makes up for a vector that is not there yet.
    """

    rank: int | None  # from 1; None where the chunk is not in this list, and its value was worked out nonetheless
    value: float  # cosine similarity, higher is better; or BM25 as SQLite gives it, lower is better
    weight: float
    contribution: float
    factors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one stage after fusion on a hit; `detail` says why, by names of its own."""

    stage: str  # related, rerank, boost, decay, diversity or group
    rank_before: int | None  # from 1, among all candidates
    rank: int | None
    score_before: float
    score: float
    detail: Mapping[str, object]


class RanStatement(NamedTuple):
    """An SQL statement as it ran, with its parameters."""

    step: str  # of the search, as in `milliseconds`; "statement" finds and fuses
    sql: str
    parameters: Annotated[tuple[object, ...], As(_shortened, {"type": "array", "items": {}})]


@dataclass(frozen=True)
class Explanation(Record):
    """The explanation of a search: lists, stages, plan and times."""

    _also = ("sql",)

    query: str
    mode: str  # what was done: hybrid, vector or text
    plan: str | None  # exact, codes or index; None without a vector leg
    reason: str  # why that plan
    eligible: int | None  # passages that the filter lets through; None without a filter
    compared: int | None  # vectors whose exact cosine was computed; None where the index chose them
    match: str | None  # the FTS5 expression; None without a text leg
    words: str | None  # how that leg's list was made: scan, lists or eligible; None without one
    languages: tuple[str, ...]  # that the words are read in; none where that is English alone
    fusion: str  # rrf, or relative with its normalisation
    depth: int  # how long each list could be
    candidates: int = 0  # what fusion handed to the stages
    stages: tuple[str, ...] = ()  # that were done, in their order
    notes: tuple[str, ...] = ()  # what could not be done, and what was done instead
    milliseconds: dict[str, Annotated[float, As(_thousandths)]] = field(default_factory=dict)  # by step
    defaults: Annotated[Mapping[str, str], Spare] = field(default_factory=dict)  # the world's own, from open or policy
    statements: Annotated[tuple[RanStatement, ...], Spare] = ()  # all that ran, in their order

    @property
    def sql(self) -> Annotated[str, Spare]:
        """The statement that fused, the last one where lists had to be longer."""
        return self._fused.sql

    @property
    def parameters(self) -> tuple[object, ...]:
        """Its parameters."""
        return self._fused.parameters

    @property
    def _fused(self) -> RanStatement:
        fused = [one for one in self.statements if one.step == "statement"]
        return fused[-1] if fused else RanStatement("statement", "", ())


class Clock:
    """The times of the steps of a search, in milliseconds, and the statements that they ran."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self._ran: list[RanStatement] = []
        self._step = "filter"
        self._began = time.perf_counter()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time inside the block to a step; a step may have several blocks."""
        began, self._step = time.perf_counter(), name
        try:
            yield
        finally:
            taken = (time.perf_counter() - began) * 1e3
            self.milliseconds[name] = self.milliseconds.get(name, 0.0) + taken

    def ran(self, sql: str, parameters: Sequence[object]) -> None:
        """Record a statement of the present step."""
        self._ran.append(RanStatement(self._step, sql, tuple(parameters)))

    @property
    def statements(self) -> tuple[RanStatement, ...]:
        """The statements that have run up to now."""
        return tuple(self._ran)

    def stop(self) -> None:
        """Count all since the beginning."""
        self.milliseconds["all"] = (time.perf_counter() - self._began) * 1e3


@dataclass(frozen=True, init=False)
class Hit(Record):
    """One passage of text that was found. Terms are rdflib terms; `graph` is None for the default graph.

    `subject`, `predicate`, `literal` and `graph` are those of the first of its quads; `chunk` is one of this passage.
    `start` and `end` count characters in the literal. `explain` maps "vector" and "text" to what each
    contributed, and `steps` has what each later stage did; both are None unless the search was asked to explain.
    `quads` and `snippet` are read from the world when they are first asked for, or the hit is copied or pickled, and
    kept; after the world was closed, that is an OpenError. `path` has the quads that lead to its subject from an entity
    of the first hits, where `related` found it so. `annotates` has the triples that its subject reifies, of which the
    passage is said; they need not hold. `result_type` is "document", whose IRI is `document`, "entity" for a
    profile, "statement", or "literal". `source` and `source_kind` name the source of its graph, and `uri` is
    the path of its document from the source's place, percent-encoded. A search of several worlds names the `world` that
    it cites, and has the same text of the `others`, each with its own citations.
    """

    _also = ("snippet", "language", "quads", "concluded", "document", "place")
    _untold = ("literal",)

    score: float  # higher is better
    text: str
    subject: Iri
    predicate: Iri
    graph: Iri | None
    literal: Any
    start: Count
    end: Count
    label: str | None
    types: tuple[Iri, ...]
    explain: dict[str, Leg] | None
    steps: tuple[Step, ...] | None
    chunk: int
    _quads: list[tuple[int, int, int, int]] = field(repr=False, compare=False)
    _dictionary: Dictionary = field(repr=False, compare=False)
    _snippets: Callable[[], dict[int, str]] = field(repr=False, compare=False)
    _made_from: Callable[[], list[tuple[int, int, int, int]]] | None = field(default=None, repr=False, compare=False)
    path: Annotated[tuple[Quad, ...], Spare] = ()
    annotates: Annotated[tuple[Triple, ...], Spare] = ()
    result_type: ResultType = "literal"
    source: Annotated[str | None, Spare] = None
    source_kind: Annotated[str | None, Spare] = None
    uri: Annotated[str | None, Spare] = None
    _place: Callable[[], dict[str, Any] | None] | None = field(default=None, repr=False, compare=False)
    _follow: Callable[[list[tuple[int, int, int, int]]], list[bool]] | None = field(
        default=None, repr=False, compare=False
    )
    world: Annotated[str | None, Spare] = None
    others: Annotated[tuple[Hit, ...], Spare] = ()

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)  # a tenth of the time of setting each

    def replaced(self, **values: Any) -> Hit:
        """This hit with other values; no term is made rdflib's for it."""
        return Hit(**{**vars(self), **values})

    @property
    def language(self) -> str | None:
        """The language of the literal."""
        return getattr(vars(self)["literal"], "language", None)

    @TermsOf
    def document(self) -> Annotated[Iri | None, Spare]:
        """The document of the passage, or None."""
        return vars(self)["subject"] if self.result_type == "document" else None

    @cached_property
    def place(self) -> Annotated[dict[str, Any] | None, Spare]:
        """Where the passage of a document's text stands in the file of its source; None for all else.

        Of Markdown and text, `start` and `end` are characters of the decoded file, its line ends being one character
        each; of a PDF, `page`, from 1, and `offset` in its text; of a DOCX, the number of the `paragraph` in which it
        begins; of HTML and EPUB, the `item` of the book, the `headings` above it, and its first `words`.
        """
        return self._place() if self._place is not None else None

    @TermsOf
    def quads(self) -> list[Quad]:
        """The quads (subject, predicate, object, graph) that hold the passage and pass the filter.

        Those of `literal` stand first, then those of literals that differ from it in language, datatype, or in what
        is around the passage; the quads of each with the oldest first.
        Of a profile or a statement, those that this passage of it was made from.
        """
        found = self._quads if self._made_from is None else self._made_from()
        terms = self._dictionary.terms({number for row in found for number in row}) | {0: None}
        return [(terms[s], terms[p], terms[o], terms[g]) for s, p, o, g in found]

    @cached_property
    def concluded(self) -> Annotated[list[Quad], Spare]:
        """The quads of these that follow by the world's rules, and are not written; see `World.entailed`."""
        if self._follow is None:
            return []
        found = self._quads if self._made_from is None else self._made_from()
        return [quad for quad, follows in zip(self.quads, self._follow(found), strict=True) if follows]

    @property
    def composed(self) -> bool:
        """Whether the text is put together from quads, a profile or a statement; False for a literal's."""
        return self._made_from is not None

    @cached_property
    def snippet(self) -> str:
        """The part of the text, some 240 characters, where most of the query's words are, each as **word**."""
        return make_snippet(self._snippets().get(self.chunk, self.text))

    def __getstate__(self) -> dict[str, Any]:
        # All that is read later is read now: a copy knows no world.
        later = dict.fromkeys(("_dictionary", "_snippets", "_made_from", "_place", "_follow"))
        now = {"quads": self.quads, "concluded": self.concluded, "place": self.place, "snippet": self.snippet}
        return {**vars(self), **now, **later}


for _name in ("subject", "predicate", "graph", "literal", "types", "path", "annotates"):
    _terms: TermsOf[Any] = TermsOf()
    _terms.__set_name__(Hit, _name)
    setattr(Hit, _name, _terms)

_COLUMNS = ("rank", "score", "subject", "label", "predicate", "graph", "snippet")


class SearchResults(Sequence[Hit], Tabular):
    """The hits of one search, best first, with `explain`, the way it was answered, and `notes`."""

    def __init__(
        self,
        hits: list[Hit],
        explain: Explanation,
        facets: Callable[[], Facets],
        following: Callable[[int], str],
        *,
        more: bool,
    ) -> None:
        self._hits = hits
        self.explain = explain
        self._facets = facets
        self._following = following
        self._more = more

    @cached_property
    def cursor(self) -> str | None:
        """The value of `cursor=` for the next hits; None after the last."""
        return self._following(len(self._hits)) if self._more else None

    def cursor_after(self, count: int) -> str:
        """The value of `cursor=` for the hits after the first `count` of these."""
        return self._following(count)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "cursor": self.cursor, "facets": self.facets, "_following": None, "_facets": None}

    @cached_property
    def facets(self) -> Facets:
        """The numbers of all matching texts by type, predicate, graph and language, whatever the limit.

        They are counted when this is first asked for, as of then; after the world was closed, that is an OpenError.
        """
        return self._facets()

    def noting(self, notes: tuple[str, ...]) -> SearchResults:
        """These results, with further notes before their own."""
        if not notes:
            return self
        explain = replace(self.explain, notes=(*notes, *self.explain.notes))
        return SearchResults(self._hits, explain, self._facets, self._following, more=self._more)

    @property
    def notes(self) -> tuple[str, ...]:
        """Parts of the request that were not possible, each with its substitute; empty when all went as asked."""
        return self.explain.notes

    @property
    def _columns(self) -> Sequence[str]:
        return _COLUMNS

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a hit: its rank, score, subject, label, predicate, graph, and the part of its text that matches."""
        told = ({"rank": rank, **hit.to_dict()} for rank, hit in enumerate(self, 1))
        return [{name: hit[name] for name in _COLUMNS} for hit in told]

    def to_dict(self, *, sql: bool = True) -> dict[str, Any]:
        """The hits, how they were found, and the cursor, as JSON-ready values; without the statements if not `sql`."""
        hits = [{"rank": rank, **hit.to_dict()} for rank, hit in enumerate(self, 1)]
        explain = self.explain.to_dict()
        if not sql:
            for name in ("sql", "statements"):
                explain.pop(name, None)
        return {"hits": hits, "cursor": self.cursor, "notes": list(self.notes), "explain": explain}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as a JSON document."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __repr__(self) -> str:
        number = f"{len(self)} {'hit' if len(self) == 1 else 'hits'}"
        return f"<SearchResults: {number}, {self.explain.mode}, plan {self.explain.plan}>"


def make_snippet(marked: str) -> str:
    """Some 240 characters of an FTS5-highlighted text, around its densest part; matches become **match**."""
    plain: list[str] = []
    spans: list[tuple[int, int]] = []
    length = 0
    begin: int | None = None
    for character in marked:
        if character == _MARKS[0]:
            begin = length
        elif character == _MARKS[1]:
            if begin is not None:  # a text may hold these characters itself
                spans.append((begin, length))
            begin = None
        else:
            plain.append(character)
            length += 1
    content = "".join(plain)
    start, end = _window(content, spans)
    pieces: list[str] = ["…"] if start else []
    at = start
    for left, right in spans:
        if start <= left and right <= end:
            pieces += [content[at:left], "**", content[left:right], "**"]
            at = right
    pieces.append(content[at:end])
    if end < length:
        pieces.append("…")
    return " ".join("".join(pieces).split())


def _window(content: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    if len(content) <= _SNIPPET:
        return 0, len(content)
    best, most, right = 0, 0, 0
    for left, (start, _) in enumerate(spans):
        while right < len(spans) and spans[right][1] <= start + _SNIPPET:
            right += 1
        if right - left > most:
            best, most = start, right - left
    start = max(0, best - _SNIPPET // 6)
    if start:
        space = content.find(" ", start, best)
        start = space + 1 if space >= 0 else start
    end = min(len(content), start + _SNIPPET)
    if end < len(content):
        space = content.rfind(" ", start + _SNIPPET // 2, end)
        end = space if space >= 0 else end
    return start, end
