"""IRIs for new entities, by the world's policy: never two things under one, and none for what is there already."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary
from worlds.errors import ArgumentError
from worlds.extras.entities.names import Resolution
from worlds.graph.records import Iri, Record
from worlds.graph.terms import local_name, to_rdflib

_LONGEST = 60  # characters of a slug
_HASH = 12  # hexadecimal digits
_NEAR = 3  # candidates that are named
_name = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Minted(Record):
    """An IRI for an entity: a new one, or, where `new` is false, that of the entity that is there.

    `resolution` is what the label means in the world, None without a label; `notes` say what is unsure.
    """

    iri: Iri
    new: bool
    resolution: Resolution | None = None
    notes: tuple[str, ...] = ()


def slug(text: str) -> str:
    """A text as the last part of an IRI: letters and digits of any script, in lower case, with hyphens between."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one)).casefold()
    return re.sub(r"[\W_]+", "-", plain).strip("-")[:_LONGEST].strip("-")


class Minting:
    """Makes the IRIs of one world's new entities."""

    def __init__(self, dictionary: Dictionary, resolve: Callable[..., Resolution]) -> None:
        self._dictionary = dictionary
        self._resolve = resolve

    def mint(
        self,
        iris: Mapping[str, str],
        *,
        label: str | None,
        type: ox.NamedNode | None,
        key: str | None,
        taken: Collection[str] | None = None,
    ) -> Minted:
        """See `World.entities.mint`; with IRIs that are `taken`, the label means a new entity, and is not resolved."""
        template = iris.get("template", "{slug}")
        wanted = set(_name.findall(template))
        if label is None and wanted & {"slug", "hash"}:
            raise ArgumentError(f"IRIs of this world need a label ({template}): give one")
        if key is None and "key" in wanted:
            raise ArgumentError(f"IRIs of this world need a key ({template}): give one")
        if type is None and "type" in wanted:
            raise ArgumentError(f"IRIs of this world need a type ({template}): give one")
        found = None
        notes: list[str] = []
        if label is not None and taken is None:
            found = self._resolve(label, types=None if type is None else [type])
            if found.best is not None:
                return Minted(found.best.iri, False, found)
            if found.outcome == "ambiguous":
                near = ", ".join(str(one.iri) for one in found.candidates[:_NEAR])
                notes.append(f"{label!r} may mean an existing entity: {near}")
        values = {
            "slug": slug(label or "") or "unnamed",
            "hash": hashlib.sha256(f"{label}\0{type}".encode("utf-8", "replace")).hexdigest()[:_HASH],
            "key": quote(key or "", safe=""),
            "type": slug(local_name(type)) if type is not None else "",
        }
        space, parts = iris["namespace"], _name.split(template)
        number = 0
        while True:
            number += 1
            drawn = {**values, "uuid": str(uuid.uuid4()), "counter": str(number)}
            made = space + "".join(drawn.get(part, part) if at % 2 else part for at, part in enumerate(parts))
            if number > 1 and not wanted & {"uuid", "counter"}:
                made += f"-{number}"
            iri = ox.NamedNode(made)
            if self._dictionary.find([iri])[0] is None and made not in (taken or ()):
                return Minted(to_rdflib(iri), True, found, tuple(notes))
            if "key" in wanted:
                return Minted(to_rdflib(iri), False, found, tuple(notes))
            if number == 1 and not wanted & {"uuid", "counter"}:
                notes.append(f"{made} is taken, so a number is appended")
