"""Prefixes that are proposed for the namespaces of instances: answers that write them out would be a sixth longer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from worlds.graph.terms import is_prefix

_LEAST = 50  # IRIs of a namespace, of those that are looked at
_SHARE = 0.1  # of them that it has at least
_MOST = 3  # prefixes
_LONGEST = 12  # characters of one
_namespace = re.compile(r"(https?://[^/?#]+/(?:[^?#]*[/#])?|https?://[^?#]+#)[^/?#]+").fullmatch
_words = re.compile(r"[A-Za-z][A-Za-z0-9]*").findall
_COMMON = frozenset({"www", "http", "https", "com", "org", "net", "id", "rdf", "ns", "ontology", "html", "owl"})


def prefixes_for(iris: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Prefix → namespace, of the commonest namespaces of IRIs that no known prefix shortens."""
    namespaces = tuple(known.values())
    counted = Counter(match[1] for iri in iris if (match := _namespace(iri)) and not iri.startswith(namespaces))
    found: dict[str, str] = {}
    for namespace, count in counted.most_common(_MOST):
        if count >= _LEAST and count >= _SHARE * counted.total():
            found[_name(namespace, {*known, *found})] = namespace
    return found


def _name(namespace: str, taken: set[str]) -> str:
    """A prefix after the last word of a namespace that says something."""
    words = [word.lower() for word in _words(namespace.partition("://")[2]) if word.lower() not in _COMMON]
    name = next((word[:_LONGEST] for word in reversed(words) if len(word) > 1 and is_prefix(word)), "i")
    numbered = (f"{name}{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)
