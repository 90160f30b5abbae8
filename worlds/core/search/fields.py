"""Weights of a text by its predicate, and the bonus of a label that equals the question."""

from __future__ import annotations

import json
import re

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, json_ids
from worlds.core.search.filters import Filters
from worlds.core.search.request import SearchRequest
from worlds.core.texts.policy import ROLES, TextPolicy
from worlds.sql.connection import Connection

_marks = re.compile(r"[?!,;:\"“”„()\[\]\s]+|[.](?=\s|$)|['’]s?(?=\s|$)").sub
_LONGEST = 300  # characters of a query that may be a label


class Fields:
    """Knows the roles and weights of one world's predicates."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters

    def values(self, request: SearchRequest) -> dict[str, object]:
        """The parameters of the search's statement that predicates give."""
        weights, weights_json, labels, named = self._connection.remembered("fields", self._settled)
        bonus = request.label_bonus and request.mode == "hybrid" and request.fusion == "relative"
        asked = spellings(request.text) if bonus and request.syntax == "words" and labels else []
        return {
            "weights_json": weights_json,
            "other_weight": weights["other"],
            "asked": asked_words(request.text) if named else None,
            "spellings_json": json.dumps(asked),
            "label_bytes": max((len(way.encode()) for way in asked), default=-1),
            "labels_json": json_ids(labels),
            # Twice what the lists can give, so that an entity's other texts cannot outweigh it in a group either.
            "label_score": 2 * sum(request.weights.values()) * max(weights.values()),
        }

    def _settled(self) -> tuple[dict[str, float], str | None, list[int], bool]:
        """The weights of the roles, those of the predicates as JSON if there are any, and the labels' predicates.

        And whether a name that stands in the question has all of its weight, though a profile holds it, too.
        """
        policy = self._filters.policy
        weights = {role: policy.weight(role) for role in ROLES}
        weighed = any(weight != 1 for weight in weights.values())
        labels = self._ids(policy.predicates("label"))
        return (
            weights,
            json.dumps(self._weights(policy, weights)) if weighed else None,
            labels,
            bool(policy.profiles) and not policy.weights,
        )

    def _ids(self, iris: list[str]) -> list[int]:
        found = self._dictionary.find([ox.NamedNode(iri) for iri in iris])
        return [number for number in found if number is not None]

    def _weights(self, policy: TextPolicy, weights: dict[str, float]) -> list[tuple[int, float]]:
        """(predicate, weight) for predicates with another role than "other"."""
        roles = [role for role in ROLES if role != "other"]
        return [(number, weights[role]) for role in roles for number in self._ids(policy.predicates(role))]


def asked_words(text: str) -> str:
    """A question that names are looked for in: in lower case, as it stands and without its marks, between spaces."""
    plain = _lower(text.replace("\0", " ").encode("utf-8", "replace").decode())
    return f" {' '.join(plain.split())} {_marks(' ', plain)} "


def spellings(text: str) -> list[str]:
    """The ways to write a query that may be a label, as SQLite's lower() leaves them: it knows ASCII only."""
    asked = text.strip()
    if not asked or len(asked) > _LONGEST or "\0" in asked:
        return []
    asked = asked.encode("utf-8", "replace").decode()
    ways = (asked, asked.lower(), asked.upper(), asked.title(), asked.capitalize(), asked.casefold())
    return sorted({_lower(way) for way in ways})


def _lower(text: str) -> str:
    return "".join(character.lower() if character.isascii() else character for character in text)
