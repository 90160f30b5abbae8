"""Which literals are text, how they are cut, what predicates mean, and which entities have a profile."""

from __future__ import annotations

import json
import re
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.core.texts.markdown import MARKDOWN
from worlds.graph.terms import to_oxigraph

TOKENIZERS = ("porter", "unicode", "trigram")
MEMORY_SEES = ("nothing", "vocabulary", "all")
ROLES = ("label", "alias", "description", "valid_from", "valid_to", "other")
_TAG = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_TOLD_ELSEWHERE = 0.3  # the default weight of a text that stands in its entity's profile, too

_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_SCHEMA = ("https://schema.org/", "http://schema.org/")
_TERMS = "http://purl.org/dc/terms/"
_ELEMENTS = "http://purl.org/dc/elements/1.1/"
_FOAF = "http://xmlns.com/foaf/0.1/"
_QUALIFIER = "http://www.wikidata.org/prop/qualifier/"

TEXT = "https://schema.org/text"
"""The predicate of a document's text, unless another is given."""
DOCUMENT = "https://schema.org/TextDigitalDocument"
"""The class of a document, unless another is given."""
LABELS = (
    _SKOS + "prefLabel",
    _RDFS + "label",
    *(space + "name" for space in _SCHEMA),
    _FOAF + "name",
    _TERMS + "title",
    _ELEMENTS + "title",
)
"""The predicates that name an entity, the best first."""

DEFAULT_ROLES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(LABELS, "label")
    | dict.fromkeys(
        (
            _SKOS + "altLabel",
            _SKOS + "hiddenLabel",
            *(space + "alternateName" for space in _SCHEMA),
            _FOAF + "nick",
            _TERMS + "alternative",
        ),
        "alias",
    )
    | dict.fromkeys(
        (
            _RDFS + "comment",
            _SKOS + "definition",
            _SKOS + "note",
            _SKOS + "scopeNote",
            *(space + "description" for space in _SCHEMA),
            _TERMS + "description",
            _TERMS + "abstract",
            _ELEMENTS + "description",
        ),
        "description",
    )
    | dict.fromkeys((*(space + "validFrom" for space in _SCHEMA), _QUALIFIER + "P580"), "valid_from")
    | dict.fromkeys((*(space + "validThrough" for space in _SCHEMA), _QUALIFIER + "P582"), "valid_to")
)
"""The roles of the predicates of well-known vocabularies; a policy's `roles` come before them."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How long a chunk may be, and how much it repeats of the one before it, both in characters; and where to cut.

    `format` "text" cuts between sentences, "markdown" between sections and blocks. None leaves it to the literal: one
    of the datatype text/markdown is Markdown, and so is a language-tagged one that looks like it.
    """

    max_chars: int = 1300
    overlap: int = 200
    format: Literal["text", "markdown"] | None = None

    def __post_init__(self) -> None:
        for name in ("max_chars", "overlap"):
            if type(getattr(self, name)) is not int:
                raise TypeError(f"{name} must be a whole number, not {getattr(self, name)!r}")
        if not 50 <= self.max_chars <= 100_000:
            raise ValueError(f"max_chars is {self.max_chars}; it must be between 50 and 100,000")
        if not 0 <= self.overlap < self.max_chars:
            raise ValueError(f"overlap is {self.overlap}; it must be at least 0 and less than max_chars")
        if self.format not in ("text", "markdown", None):
            raise ValueError(f"format must be 'text', 'markdown' or None, not {self.format!r}")


IRI_NAMES = ("slug", "type", "key", "hash", "uuid", "counter")
"""The names that a template of IRIs may have in braces."""


@dataclass(frozen=True)
class TextPolicy:
    """Which literals of a world are text, and the size of their chunks.

    A literal is text when a quad holds it under a predicate that is not in `exclude`, and it is an xsd:string, a
    language-tagged string, of the datatype text/markdown or one in `datatypes`, or under a predicate in `include`;
    blank texts never are. IRIs are absolute. A literal under several predicates of different sizes takes the smallest.

    `roles` says what predicates mean, over the `DEFAULT_ROLES`: "label", "alias", "description", "valid_from" and
    "valid_to" (of a reifier: when its triple began to hold, and when it ended), or "other".
    `weights` maps roles to numbers: what a hit's score is multiplied by. Where nothing is said, that is 1, but 0.3 for
    labels and aliases where entities have profiles, which hold them, too; a name that stands in the question has 1.
    `profiles` gives entities a text of their own, made of their labels and their triples in words: True for all
    entities, or the classes (rdf:type) whose instances have one. `profile_predicates` are the predicates that go into
    it, None for all; of an entity with more than `profile_values` triples that point to it, those are left out.
    `statements` puts each quad between two entities into words of its own, "Ann works for Acme": True for all but
    types and owl:sameAs, or the predicates whose quads are.
    `mentions` links texts to the entities that they name, as they are written (see `World.curation.link_texts`): True
    for all entities, or the classes whose instances are linked.
    `tokenizer` is "porter" (words by their stem), "unicode" (words as they are) or "trigram" (any three characters in
    a row: parts of words, and scripts without spaces). A stem is that of the text's language: of its tag, or without a
    tag of `language` ("de"), English if that is None; loading sets it where the first texts tell it.

    `iris` is what new IRIs are made from: a "namespace", and a "template" of what follows it, with {slug} (of a label;
    the default), {type}, {key}, {hash} (of label and type), {uuid} or {counter} in it. See `World.entities.mint`.
    `time_zone` is that of dates and times of facts that name none: "UTC", or a name such as "Europe/Berlin".
    `follow_merges` has what comes in under the name of an entity that was merged stand under the one that was kept.
    `memory_depth` is how many parts of a memory's scope, from 1 to 3, name its file; narrower scopes are graphs in it.
    `memory_sees` is what a memory sees of this world: "nothing", "vocabulary" (classes, predicates, labels, shapes and
    redirects) or "all".
    `search` are options of `World.search` that hold in this world unless a call gives others.
    `entailed` has the doors answer with the world's conclusions, but for exports, unless a call says otherwise.
    """

    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    datatypes: frozenset[str] = frozenset()
    size: ChunkSize = ChunkSize()
    sizes: Mapping[str, ChunkSize] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    profiles: bool | frozenset[str] = False
    profile_predicates: frozenset[str] | None = None
    profile_values: int = 10_000
    statements: bool | frozenset[str] = False
    mentions: bool | frozenset[str] = False
    tokenizer: str = "porter"
    language: str | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    iris: Mapping[str, str] = field(default_factory=dict)
    time_zone: str = "UTC"
    follow_merges: bool = True
    memory_depth: int = 2
    memory_sees: Literal["nothing", "vocabulary", "all"] = "vocabulary"
    entailed: bool = False

    def __post_init__(self) -> None:
        for name in ("include", "exclude", "datatypes"):
            object.__setattr__(self, name, _iris(name, getattr(self, name)))
        if not isinstance(self.size, ChunkSize):
            raise TypeError(f"size must be a ChunkSize, not {self.size!r}")
        if not isinstance(self.sizes, Mapping):
            raise TypeError(f"sizes must map IRIs to ChunkSizes, not {self.sizes!r}")
        for iri, size in self.sizes.items():
            _check_iri("sizes", iri)
            if not isinstance(size, ChunkSize):
                raise TypeError(f"sizes maps {iri} to a ChunkSize, not to {size!r}")
        object.__setattr__(self, "sizes", MappingProxyType(dict(self.sizes)))
        both = self.include & self.exclude
        if both:
            raise ValueError(f"{min(both)} is both included and excluded")
        self._check_fields()

    def _check_fields(self) -> None:
        for name in ("roles", "weights", "search", "iris"):
            if not isinstance(getattr(self, name), Mapping):
                raise TypeError(f"{name} must be a mapping, not {getattr(self, name)!r}")
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        try:
            json.dumps(dict(self.search))
        except (TypeError, ValueError) as error:
            raise ValueError(f"search must hold JSON values, not {dict(self.search)!r}") from error
        _check_iris(self.iris)
        for iri, role in self.roles.items():
            _check_iri("roles", iri)
            _check_role("roles", role)
        for role, weight in self.weights.items():
            _check_role("weights", role)
            if not _is_weight(weight):
                raise ValueError(f"weights maps {role} to a number from 0 on, not to {weight!r}")
        for name in ("profiles", "statements", "mentions"):
            if not isinstance(given := getattr(self, name), bool):
                object.__setattr__(self, name, _iris(name, given) or False)
        if self.profile_predicates is not None:
            object.__setattr__(self, "profile_predicates", _iris("profile_predicates", self.profile_predicates))
        for name in ("follow_merges", "entailed"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {getattr(self, name)!r}")
        if type(self.profile_values) is not int:
            raise TypeError(f"profile_values must be a whole number, not {self.profile_values!r}")
        if not 0 <= self.profile_values <= 1_000_000:
            raise ValueError(f"profile_values is {self.profile_values}; it must be between 0 and 1,000,000")
        if type(self.memory_depth) is not int or not 1 <= self.memory_depth <= 3:
            raise ValueError(f"memory_depth must be 1, 2 or 3, not {self.memory_depth!r}")
        if self.memory_sees not in MEMORY_SEES:
            raise ValueError(f"memory_sees must be one of {', '.join(MEMORY_SEES)}, not {self.memory_sees!r}")
        if self.tokenizer not in TOKENIZERS:
            raise ValueError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, not {self.tokenizer!r}")
        if self.language is not None and not (isinstance(self.language, str) and _TAG.fullmatch(self.language)):
            raise ValueError(f"language must be a language tag such as 'de', not {self.language!r}")
        try:
            if self.time_zone != "UTC":  # which needs no data of zones
                zoneinfo.ZoneInfo(self.time_zone)
        except (ValueError, TypeError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
            raise ValueError(f"time_zone must be a name such as 'Europe/Berlin', not {self.time_zone!r}") from error

    def role(self, predicate: str) -> str:
        """The role of a predicate: one of `ROLES`."""
        return self.roles.get(predicate) or DEFAULT_ROLES.get(predicate, "other")

    def weight(self, role: str) -> float:
        """The factor of the score of a text of this role."""
        told_elsewhere = bool(self.profiles) and role in ("label", "alias")
        return float(self.weights.get(role, _TOLD_ELSEWHERE if told_elsewhere else 1.0))

    def predicates(self, *roles: str) -> list[str]:
        """The predicates with these roles: first the policy's, in their order, then the well-known ones."""
        known = {**self.roles, **{iri: role for iri, role in DEFAULT_ROLES.items() if iri not in self.roles}}
        return [iri for iri, role in known.items() if role in roles]

    @property
    def text_datatypes(self) -> frozenset[str]:
        """The datatypes, besides string types, whose literals are text."""
        return self.datatypes | {MARKDOWN}

    def with_(self, **changes: Any) -> TextPolicy:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def changed(self, changes: Mapping[str, Any], prefixes: Mapping[str, str]) -> TextPolicy:
        """A copy with some fields changed, given as JSON has them; IRIs may be prefixed names, and lists a text.

        ValueError for a field that there is not, and for a value that it cannot have.
        """
        given: dict[str, Any] = {}
        for name, value in changes.items():
            if name not in _READ:
                raise ValueError(f"a policy has no {name!r}; it has {', '.join(_READ)}")
            try:
                given[name] = _READ[name](value, lambda text: _absolute(text, prefixes))
            except (AttributeError, TypeError) as error:
                raise ValueError(f"{name} cannot be {value!r}") from error
        if "size" in given:
            given["size"] = replace(self.size, **given["size"])
        return self.with_(**given)

    def to_json(self) -> str:
        """The policy as it is stored."""
        stored = {one.name: _written(getattr(self, one.name)) for one in fields(self)}
        stored["weights"] = {role: float(weight) for role, weight in self.weights.items()}
        return json.dumps(stored | {"sizes": dict(sorted(stored["sizes"].items()))})

    def __reduce__(self) -> tuple[Any, ...]:  # a mappingproxy cannot be copied
        return TextPolicy.from_json, (self.to_json(),)

    @classmethod
    def from_json(cls, text: str) -> TextPolicy:
        """The policy that `to_json` wrote, of this release or an older one."""
        stored = json.loads(text)
        plain = {one.name for one in fields(cls)} - {"include", "exclude", "datatypes", "size", "sizes"}
        return cls(
            include=frozenset(stored["include"]),
            exclude=frozenset(stored["exclude"]),
            datatypes=frozenset(stored["datatypes"]),
            size=ChunkSize(**stored["size"]),
            sizes={iri: ChunkSize(**size) for iri, size in stored["sizes"].items()},
            **{name: value for name, value in stored.items() if name in plain},
        )


def _written(value: Any) -> Any:
    """A value of a policy for JSON."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return {key: _written(one) for key, one in value.items()}
    return asdict(value) if isinstance(value, ChunkSize) else value


def _check_iris(given: Mapping[str, str]) -> None:
    """ValueError unless it is a policy of IRIs: a namespace, and a template of `IRI_NAMES`."""
    if not given:
        return
    if strange := sorted(given.keys() - {"namespace", "template"}):
        raise ValueError(f"iris has namespace and template, not {strange[0]!r}")
    space, template = given.get("namespace"), given.get("template", "{slug}")
    if not isinstance(space, str) or not isinstance(template, str):
        raise ValueError("iris has a namespace, such as https://example.org/id/, and maybe a template")
    names = re.findall(r"\{([^{}]*)\}", template)
    if strange := [name for name in names if name not in IRI_NAMES]:
        raise ValueError(f"a template of iris has no {{{strange[0]}}}; it has {', '.join(IRI_NAMES)}")
    if not names:
        raise ValueError(f"a template of iris has one of {', '.join(IRI_NAMES)} in braces, {template!r} has none")
    _check_iri("iris", space)
    _check_iri("iris", space + re.sub(r"\{[^{}]*\}", "x", template))


Read: TypeAlias = Callable[[Any, Callable[[str], str]], Any]


def _absolute(text: str, prefixes: Mapping[str, str]) -> str:
    term = to_oxigraph(text, prefixes=prefixes)
    if not isinstance(term, ox.NamedNode):
        raise ValueError(f"{text!r} is not an IRI")
    return term.value


def _terms(value: Any, iri: Callable[[str], str]) -> frozenset[str]:
    items = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    return frozenset(map(iri, items))


_READ: Mapping[str, Read] = {
    **dict.fromkeys(("include", "exclude", "datatypes"), _terms),
    "size": lambda value, iri: dict(value),
    "sizes": lambda value, iri: {iri(key): ChunkSize(**size) for key, size in value.items()},
    "roles": lambda value, iri: {iri(key): role for key, role in value.items()},
    "weights": lambda value, iri: value,
    **dict.fromkeys(
        ("profiles", "statements", "mentions"),
        lambda value, iri: value if isinstance(value, bool) else _terms(value, iri),
    ),
    "profile_predicates": lambda value, iri: None if value is None else _terms(value, iri),
    "profile_values": lambda value, iri: value,
    "tokenizer": lambda value, iri: value,
    "language": lambda value, iri: value or None,
    "search": lambda value, iri: dict(value),
    "time_zone": lambda value, iri: value or "UTC",
    "follow_merges": lambda value, iri: value,
    "memory_depth": lambda value, iri: int(value),
    "memory_sees": lambda value, iri: value,
    "entailed": lambda value, iri: value,
    "iris": lambda value, iri: {"namespace": value} if isinstance(value, str) and value else dict(value or {}),
}
"""How each field is read from JSON."""


def _iris(name: str, given: object) -> frozenset[str]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{name} takes IRIs, as a list or set, not {given!r}")
    iris = frozenset(given)
    for iri in iris:
        _check_iri(name, iri)
    return iris


def _is_weight(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < float("inf")


def _check_role(name: str, role: object) -> None:
    if role not in ROLES:
        raise ValueError(f"{name}: a role must be one of {', '.join(ROLES)}, not {role!r}")


def _check_iri(name: str, iri: object) -> None:
    try:
        ox.NamedNode(iri)  # type: ignore[arg-type]  # what is no str is a TypeError
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} takes absolute IRIs, not {iri!r}: {error}") from error
