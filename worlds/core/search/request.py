"""The request of a search: the options of World.search, checked."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.embedders import Embedder, checked_query
from worlds.core.quads.namespaces import listed
from worlds.core.search.conditions import Filter, ToGraphs, ToTerm, check_pattern, make_filter
from worlds.core.search.options import DEFAULT_CANDIDATES, DEFAULTS, KEPT, at_least_zero, check, spread
from worlds.core.search.sequences import Sequence as InSequence
from worlds.core.search.stages import Boost, Cursor, Decay, Rerank, Stages, read_date, sent_cursor
from worlds.core.search.words import MAX_BEGINNINGS, MAX_CHARS, beginnings
from worlds.core.vectors.embedding import Embeddings
from worlds.errors import EmbedderError, FilterError
from worlds.graph.query.query_limits import Limits
from worlds.permissions import consents, home_of

BLANK = "the query is blank"
_CHARS_A_TOKEN = 16  # more than an embedder reads of a query on average

Vector = NDArray[np.float32]


class SearchIdentity:
    """The parts that make two searches the same but for their page, so that a cursor of one fits the other."""

    def __init__(self, *parts: object) -> None:
        self._parts = parts

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits."""
        return hashlib.blake2b(repr(self._parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


@dataclass(frozen=True)
class SearchRequest:
    """One search, checked."""

    text: str
    mode: str
    limit: int
    fusion: str
    normalise: str  # of fusion "relative"
    k: float  # of fusion "rrf"
    label_bonus: bool  # of fusion "relative"
    weights: Mapping[str, float]  # "vector", "text"
    candidates: int  # the depth of each leg's list
    plan: str
    syntax: str
    filter: Filter
    vector: Vector | None  # float32 [d], unit length; None leaves the vector leg out
    min_similarity: float | None
    stages: Stages
    cursor: Cursor | None
    identity: SearchIdentity = field(repr=False, compare=False)
    limits: Limits | None  # of patterns, where the search stands in a query
    facet: tuple[ox.NamedNode, ...] = ()  # predicates whose values are counted
    listing: bool = False  # a blank question, to which all that the filter lets through is the answer
    defaults: Mapping[str, str] = field(default_factory=dict)  # of the world's own, and where they come from
    notes: tuple[str, ...] = ()
    query_language: str | None = None  # None to find out
    languages: frozenset[str] | None = None  # that words are read in, where it was found out before
    asking: Callable[[str], SearchRequest] | None = field(default=None, repr=False, compare=False)
    """Gives the same request for another text."""
    rest: SearchRequest | None = None  # of what the first hits leave open
    sequence: InSequence | None = None  # of texts that lean on the one before

    @property
    def patterns(self) -> list[str]:
        """The patterns over ?subject in its filters and boosts."""
        filters = (self.filter.include.where, self.filter.exclude.where)
        boosts = (boost.where for boost in self.stages.boosts)
        return [pattern for pattern in (*filters, *boosts) if pattern is not None]


class Requests:
    """Makes the requests of one world."""

    def __init__(
        self,
        embeddings: Embeddings,
        to_term: ToTerm,
        embedder: Callable[[], Embedder],
        defaults: Callable[[], Sequence[tuple[str, Mapping[str, Any]]]] = tuple,
        to_graphs: ToGraphs | None = None,
    ) -> None:
        """`defaults` returns the world's own settings by their source, in order of precedence."""
        self._embeddings = embeddings
        self._to_term = to_term
        self._embedder = embedder  # raises EmbedderError where there is none
        self._defaults = defaults
        self._to_graphs = () if to_graphs is None else (to_graphs,)

    def of_its_own(self, options: Mapping[str, Any], others: Sequence[Requests]) -> dict[str, Any]:
        """The options of a search of several worlds as this one takes them: with the sources that it has.

        A source that none of the `others` has either stays, and is an error.
        """

        def known(given: Mapping[str, Any]) -> dict[str, Any]:
            if given.get("sources") is None:
                return dict(given)
            names = listed(given["sources"])
            missing = [name for name in names if not any(one._has(name) for one in others)]
            return {**given, "sources": missing or [name for name in names if self._has(name)]}

        found = known(options)
        if isinstance(excluded := found.get("exclude"), Mapping):
            found["exclude"] = known(excluded)
        return found

    def _has(self, source: object) -> bool:
        try:
            return all(to_graphs("sources", [source]) for to_graphs in self._to_graphs)
        except FilterError:
            return False

    @property
    def model(self) -> tuple[object, ...] | None:
        """The fingerprint and dimension of the model that embedded the world; None where nothing is embedded."""
        stored = self._embeddings.stored
        return None if stored is None else (stored["fingerprint"], stored["dimension"])

    def own(self, text: str, *, limits: Limits | None = None, **options: Any) -> SearchRequest:
        """The request that options of World.search ask for, by the world's own defaults where it has some."""
        found: dict[str, tuple[str, Any]] = {}
        for source, defaults in self._defaults():
            for name, value in defaults.items():
                found.setdefault(name, (source, value))
        options = spread(options)
        rerank = options.get("rerank")
        notes = self._without_strange(found) if rerank is None or rerank is True else ()
        if rerank is True and isinstance(found.get("rerank", ("", None))[1], str):
            options["rerank"] = None  # the one that the world has a name for
        taken = {name: value for name, (_, value) in found.items() if options.get(name) is None}
        chosen = {**options, **taken}
        if chosen.get("group_by") == "none" and "per_subject" in taken:
            del chosen["per_subject"], taken["per_subject"]
        told = {name: found[name][0] for name in taken}
        made = self._made(text, limits, chosen)
        made = replace(made, defaults=told, notes=(*made.notes, *notes)) if told or notes else made
        if text.strip() or made.syntax != "words" or made.vector is not None or not made.filter.any:
            return made
        notes = (f"{BLANK}: all that the filters let through is listed, in a fixed order", *made.notes[1:])
        return replace(made, listing=True, fusion="relative", notes=notes)

    def _without_strange(self, found: dict[str, tuple[str, Any]]) -> tuple[str, ...]:
        """Remove a reranker that only the file names, as a stranger may have set it; returns notes."""
        source, model = found.get("rerank", ("", None))
        if source != "policy" or not isinstance(model, str):
            return ()
        if consents(home_of(self._embeddings.connection), {"rerank": model}):
            return ()
        del found["rerank"]
        return (f"the reranker {model!r} of the file was not chosen on this machine: give rerank to use it",)

    def make(self, text: str, *, limits: Limits | None = None, **options: Any) -> SearchRequest:
        """The request of the given options; errors are the ones of World.search. `limits` bound its patterns."""
        return self._made(text, limits, spread(options))

    def _made(self, text: str, limits: Limits | None, options: dict[str, Any]) -> SearchRequest:
        if not isinstance(text, str):
            raise TypeError(f"a search takes a str, not {type(text).__name__}")
        text = str(text)  # an rdflib.Literal's lexical form
        sequence = options.pop("sequence", None)
        filters = {name: value for name, value in options.items() if name not in DEFAULTS and name != "facet"}
        given = {name: value for name, value in options.items() if value is not None or name not in KEPT}
        chosen = {name: given.get(name, default) for name, default in DEFAULTS.items()}
        check(chosen)
        filter_ = make_filter(self._to_term, *self._to_graphs, **filters)
        stages = self._stages(chosen)
        weights = {
            "vector": 1.0,
            "text": 1.0,
            **{name: float(each) for name, each in (chosen["weights"] or {}).items()},
        }
        candidates = DEFAULT_CANDIDATES if chosen["candidates"] is None else int(chosen["candidates"])
        floor = chosen["min_similarity"]
        how = (
            *(chosen[name] for name in ("mode", "syntax", "query_language", "fusion", "normalise", "label_bonus")),
            float(chosen["k"]),
        )
        found, notes = self._query_vector(text, chosen["mode"], chosen["vector"])
        if chosen["syntax"] == "words" and chosen["mode"] != "vector" and (count := beginnings(text)) > MAX_BEGINNINGS:
            told = f"{count} words end with *: {MAX_BEGINNINGS} are sought as beginnings, the others as whole words"
            notes = (*notes, told)
        vector = None if chosen["vector"] is None or found is None else found.tobytes()
        identity = SearchIdentity(text, how, sorted(weights.items()), candidates, floor, vector, filter_, stages)
        cursor = None if chosen["cursor"] is None else sent_cursor(chosen["cursor"], identity.digest)
        relative = chosen["fusion"] != "rrf" and chosen["normalise"] != "theoretical"
        if relative and cursor is not None and (deep := len(cursor.keys) + int(chosen["limit"])) > candidates:
            notes = (
                *notes,
                f"this page is beyond the {candidates} candidates: its scores are shares of longer lists than those of "
                f"the pages before; candidates={deep}, or more, on every page makes them comparable",
            )

        def asking(other: str) -> SearchRequest:
            vector = found if chosen["vector"] is not None else self._query_vector(other, chosen["mode"], None)[0]
            return replace(made, text=other, vector=vector)

        made = SearchRequest(
            text=text,
            mode=chosen["mode"],
            limit=int(chosen["limit"]),
            fusion=chosen["fusion"],
            normalise=chosen["normalise"],
            k=float(chosen["k"]),
            label_bonus=chosen["label_bonus"],
            weights=weights,
            candidates=candidates,
            plan=chosen["plan"],
            syntax=chosen["syntax"],
            filter=filter_,
            vector=found,
            min_similarity=None if floor is None else float(floor),
            stages=stages,
            cursor=cursor,
            identity=identity,
            limits=limits,
            notes=notes,
            query_language=chosen["query_language"],
            facet=self._iris("facet", options.get("facet")),
            asking=asking,
            sequence=sequence,
        )
        return made

    def _query_vector(
        self, text: str, mode: str, given: Sequence[float] | NDArray[Any] | None
    ) -> tuple[Vector | None, tuple[str, ...]]:
        """The query vector, None to leave the vector leg out, and notes."""
        if mode == "text":
            return None, ()
        stored = self._embeddings.stored
        if given is not None and stored is not None:
            return _unit(given, stored), ()
        try:
            embedder = self._embedder() if given is None else None
            if embedder is not None:
                self._embeddings.require(embedder)
            if embedder is None or stored is None:
                return None, ("keyword search only: no text is embedded yet",)
            if not text.strip():
                return None, (BLANK,)
            readable = text[: max(MAX_CHARS, _CHARS_A_TOKEN * embedder.max_tokens)]
            return checked_query(embedder, readable.encode("utf-8", "replace").decode()), ()  # no lone surrogates
        except EmbedderError as error:
            if mode == "vector":
                raise
            return None, (f"keyword search only: {error}",)

    # -- stages ---------------------------------------------------------------------------------------------------

    def _stages(self, chosen: Mapping[str, Any]) -> Stages:
        rerank, diversity = chosen["rerank"], chosen["diversity"]
        timeout = chosen["rerank_timeout"]
        given = chosen["boost"]
        boosts = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
        return Stages(
            related=chosen["related"],
            rerank=Rerank(rerank, int(chosen["rerank_top"]), None if timeout is None else float(timeout))
            if rerank is not None and rerank is not False
            else None,
            boosts=tuple(map(self._boost, boosts)),
            decay=None if chosen["decay"] is None else self._decay(chosen["decay"]),
            diversity=None if diversity is None else float(diversity),
            per_subject=None if chosen["group_by"] in (None, "none") else int(chosen["per_subject"]),
        )

    def _boost(self, given: object) -> Boost:
        if isinstance(given, str):
            number, _, rest = given.strip().partition(" ")
            name = "where" if "?subject" in rest or "$subject" in rest else "predicate"
            try:
                given = {"factor" if name == "where" else "weight": float(number), name: rest.strip()}
            except ValueError as error:
                raise ValueError(f"boost takes a number, then a pattern or a predicate, not {given!r}") from error
        if not isinstance(given, Mapping) or given.keys() not in ({"where", "factor"}, {"predicate", "weight"}):
            raise ValueError(f"boost takes {{'where', 'factor'}} or {{'predicate', 'weight'}}, or these, not {given!r}")
        number_name = "factor" if "where" in given else "weight"
        if not at_least_zero(given[number_name]):
            raise ValueError(f"boost: {number_name} must be a number from 0 on, not {given[number_name]!r}")
        if "where" in given:
            return Boost(float(given["factor"]), where=check_pattern(given["where"]))
        return Boost(float(given["weight"]), predicate=self._iri("boost", given["predicate"]))

    def _decay(self, given: object) -> Decay:
        evergreen = ("evergreen_types", "evergreen_predicates", "evergreen_flags")
        known = {"predicate", "half_life", "now", *evergreen}
        if not isinstance(given, Mapping) or not {"predicate", "half_life"} <= given.keys() <= known:
            raise ValueError(
                f"decay takes a mapping with 'predicate' and 'half_life', and maybe 'now', "
                f"{', '.join(map(repr, evergreen))}; not {given!r}"
            )
        days = given["half_life"]
        if not at_least_zero(days) or not days:
            raise ValueError(f"decay: half_life must be a number of days above 0, not {days!r}")
        now = given.get("now")
        return Decay(
            predicate=self._iri("decay", given["predicate"]),
            half_life=float(days),
            now=None if now is None else _moment(now),
            **{name: self._iris("decay", given.get(name)) for name in evergreen},
        )

    def _iri(self, option: str, value: object) -> ox.NamedNode:
        try:
            term = self._to_term(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{option}: {error}") from error
        if not isinstance(term, ox.NamedNode):
            raise ValueError(f"{option} takes IRIs, not {value!r}")
        return term

    def _iris(self, option: str, values: object) -> tuple[ox.NamedNode, ...]:
        if values is None:
            return ()
        listed = values if isinstance(values, list | tuple | set | frozenset) else [values]
        return tuple(self._iri(option, value) for value in listed)


def _unit(vector: Sequence[float] | NDArray[Any], stored: Mapping[str, object]) -> Any:
    """A caller's vector, float32 [d] of unit length; EmbedderError if it does not fit the world's."""
    try:
        given = np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"vector takes numbers, not {vector!r:.80}: {error}") from error
    if given.shape != (stored["dimension"],):
        raise EmbedderError(
            f"the world's vectors have {stored['dimension']} dimensions; this one has shape {given.shape}"
        )
    length = float(np.linalg.norm(given))
    if not 0 < length < float("inf"):
        raise ValueError("the vector is zero or not finite")
    return given / np.float32(length)


def _moment(value: object) -> float:
    """Days since 1970 of a date, a datetime, or the text of one."""
    written = value.isoformat() if isinstance(value, datetime.date) else str(value)
    days = read_date(written)
    if days is None:
        raise ValueError(f"decay: now must be a date such as '2026-01-31', not {value!r}")
    return days
