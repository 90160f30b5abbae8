"""Writes a vocabulary as a static web site, which needs no server, no network and no code of others."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.edits import Edits
from worlds.core.texts.entity_facts import language_order
from worlds.errors import ConflictError, OpenError, WorldsError
from worlds.extras.entities.trees import SKOS, Trees
from worlds.extras.publishing.vocabulary import (
    Concept,
    Labels,
    PublishedVocabulary,
    ShownTerm,
    Vocabularies,
    name_in_words,
    text_of,
)
from worlds.graph.records import Count, Record
from worlds.graph.terms import RDF, to_oxigraph
from worlds.permissions import believe

MANIFEST = "worlds-site.json"
_TEMPLATES = Path(__file__).parent / "templates"
_OWN = re.compile(r"(index|changes)\.html|a/[a-z]+-[0-9a-f]{10}\.(js|css)|c/[a-z0-9-]{0,60}-[0-9a-f]{10}\.html")
_STATIC = 500  # concepts at the top that the page lists without a script
_EDITED = 2000  # entities of a difference that are shown
_OF_MEMBERS = {RDF + "type", SKOS + "inScheme", SKOS + "topConceptOf"}


@dataclass(frozen=True, slots=True)
class Published(Record):
    """The outcome of `World.file.publish`: files written, left as they were, and removed.

    `concepts` is the number of pages of concepts, `languages` are those of the labels. `notes` name files of an earlier
    run that are gone from the site but were edited since, and stay.
    """

    target: str
    concepts: Count
    languages: tuple[str, ...]
    written: Count
    unchanged: Count
    removed: Count
    notes: tuple[str, ...] = ()


class Publishing:
    """Publishes the vocabularies of one world."""

    def __init__(self, core: Core, trees: Trees) -> None:
        self._core = core
        self._trees = trees

    def publish(self, target: Path, scheme: object, title: str | None, language: str | None) -> Published:
        """See `World.file.publish`."""
        core = self._core
        with core.connection.snapshot():
            vocabularies = Vocabularies(core, self._trees)
            vocabulary = vocabularies.read(None if scheme is None else vocabularies.named(scheme))
            tags = {told["revision"]: name for name, told in sorted(core.history.tags.items())}
            last = core.history.last
            known = [
                (name, number) for number, name in sorted(tags.items()) if core.history.first - 1 <= number <= last
            ]
            if known:
                vocabularies.releases(vocabulary.concepts, known, last)
            changes = _Changes(core.history.diff, known, core.history.first - 1, last) if known else None
        files = dict(_Site(vocabulary, language, title).pages(changes))  # while others write
        notes, counts = _write(target, files)
        return Published(str(target), len(vocabulary.concepts), tuple(vocabulary.languages), *counts, notes)


# -- pages -------------------------------------------------------------------------------------------------------------


class _Changes:
    """The difference to the last release; of a world that is one, the difference from the release before."""

    def __init__(self, diff: Any, tags: Sequence[tuple[str, int]], first: int, last: int) -> None:
        """`first`, the first revision whose state is known, is compared with where no release is before."""
        before = [(name, number) for name, number in tags if number < last]
        self.after = next((name for name, number in tags if number == last), "")
        self.before, start = before[-1] if before else ("", first)
        self.edits: Edits = diff(start, last).edits


class _Site:
    """The files of a site."""

    def __init__(self, vocabulary: PublishedVocabulary, language: str | None, title: str | None) -> None:
        try:
            import jinja2
        except ImportError as error:
            raise WorldsError("publishing needs Jinja2: pip install 'worlds-kg[publish]'") from error
        self._vocabulary = vocabulary
        spoken = sorted(vocabulary.languages, key=language_order)
        self._language = language or (spoken[0] if spoken else "en")
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        environment.filters["web"] = lambda iri: iri if re.match(r"https?://[^\s]+$", iri, re.IGNORECASE) else ""
        environment.filters["spoken"] = self._spoken
        environment.filters["data"] = lambda labels: json.dumps(labels, ensure_ascii=False, sort_keys=True)
        self._static = {kind: (_TEMPLATES / name).read_bytes() for kind, name in _FILES.items()}
        name = (
            title
            or self._label(vocabulary.titles)
            or (name_in_words(vocabulary.iri) if vocabulary.iri else "Vocabulary")
        )
        environment.globals |= {
            "title": name, "titles": {} if title else vocabulary.titles, "languages": vocabulary.languages,
            "vocabulary": vocabulary, "language": self._language, "concepts": vocabulary.concepts, "site": self,
            "style": _named("style", "css", self._static["css"]), "script": _named("site", "js", self._static["js"]),
        }  # fmt: skip
        self._template = environment.get_template

    def _spoken(self, labels: Labels) -> str:
        """The language of the label that is shown where no script chooses another."""
        return min(labels, key=lambda tag: (language_order(tag or None, self._language), tag), default="")

    def _label(self, labels: Labels) -> str:
        return labels.get(self._spoken(labels), "")

    def label(self, one: Concept) -> str:
        """The label of a concept where no script chooses another."""
        return self._label(one.labels) or name_in_words(one.iri)

    def ordered(self, numbers: Any) -> list[Concept]:
        """Concepts by their labels."""
        found = [self._vocabulary.concepts[number] for number in numbers]
        return sorted(found, key=lambda one: (self.label(one).casefold(), one.iri))

    @cached_property
    def twins(self) -> set[int]:
        """Concepts with a label that another one has, too."""
        said = {
            one.number: {text.casefold() for text in one.labels.values()} for one in self._vocabulary.concepts.values()
        }
        count = Counter(text for labels in said.values() for text in labels)
        return {number for number, labels in said.items() if any(count[text] > 1 for text in labels)}

    def hint(self, one: Concept) -> str:
        """The end of the IRI of a concept that shares its label, and whether it is deprecated."""
        end = re.split("[/#]", one.iri.rstrip("/#"))[-1] if one.number in self.twins else ""
        return ", ".join(filter(None, (end, "deprecated" if one.deprecated else "")))

    def file(self, one: Concept) -> str:
        """The name of the page of a concept: it depends on the IRI alone, so links to it last."""
        slug = re.sub(r"[^a-z0-9]+", "-", name_in_words(one.iri).lower()).strip("-")[:60]
        return f"{slug}-{_digest(one.iri.encode('utf-8', 'replace'))}.html"

    def pages(self, changes: _Changes | None) -> Iterator[tuple[str, bytes]]:
        """(name, content) of each file."""
        index = self._index()
        name = _named("index", "js", index)
        yield name, index
        for kind, content in self._static.items():
            yield _named("style" if kind == "css" else "site", kind, content), content
        vocabulary, page = self._vocabulary, self._template("concept.html")
        top = self.ordered(vocabulary.roots)
        shared = {"changed": changes is not None}
        yield (
            "index.html",
            _bytes(self._template("index.html").render(index=name, top=top[:_STATIC], root="", **shared)),
        )
        if changes is not None:
            edits, most = self._edits(changes), {"unread": changes.edits.unread, "root": ""}
            yield (
                "changes.html",
                _bytes(
                    self._template("changes.html").render(
                        edits=edits[:_EDITED], more=max(len(edits) - _EDITED, 0), changes=changes, **most, **shared
                    )
                ),
            )
        for one in vocabulary.concepts.values():
            yield f"c/{self.file(one)}", _bytes(page.render(one=one, root="../", **shared))

    def _index(self) -> bytes:
        """The labels and the tree for the search in the browser, as a classic script."""
        concepts = self.ordered(self._vocabulary.concepts)
        places = {one.number: place for place, one in enumerate(concepts)}
        rows = []
        for one in concepts:
            others = sorted({text for said in one.others.values() for text in said})
            parents = sorted(places[number] for number in one.broader)
            rows.append([self.file(one), one.labels or {"": name_in_words(one.iri)}, others, parents, self.hint(one)])
        roots = sorted(places[number] for number in self._vocabulary.roots)
        text = json.dumps({"concepts": rows, "roots": roots}, separators=(",", ":"))
        return _bytes(f"window.WORLDS = {text.replace('<', chr(92) + 'u003c')};\n")

    def _edits(self, changes: _Changes) -> list[dict[str, Any]]:
        """The changes of the difference that are of the vocabulary, for the page of changes."""
        known = {one.iri: one for one in self._vocabulary.concepts.values()}
        found = []
        for entity in changes.edits.entities:
            iri = str(entity.entity)
            gone = any(edit.new is None and str(edit.path[-1]) in _OF_MEMBERS for edit in entity.edits)
            if iri in known or gone:
                rows = [
                    (name_in_words(str(edit.path[-1])), *(self._value(known, term) for term in (edit.old, edit.new)))
                    for edit in entity.edits
                ]
                found.append(
                    {"concept": known.get(iri), "label": entity.label or name_in_words(iri), "iri": iri, "rows": rows}
                )
        return sorted(found, key=lambda one: (one["label"].casefold(), one["iri"]))

    def _value(self, known: Mapping[str, Concept], term: Any) -> ShownTerm | None:
        given = None if term is None else to_oxigraph(term)
        if isinstance(given, ox.NamedNode):
            one = known.get(given.value)
            shown = self.label(one) if one else name_in_words(given.value)
            return ShownTerm(shown, "", given.value, one.number if one else 0)
        return (
            None
            if given is None
            else ShownTerm(text_of(given), given.language or "")
            if isinstance(given, ox.Literal)
            else ShownTerm(str(given))
        )


_FILES = {"css": "style.css", "js": "site.js"}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:10]


def _named(name: str, kind: str, content: bytes) -> str:
    return f"a/{name}-{_digest(content)}.{kind}"


def _bytes(text: str) -> bytes:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace")


# -- files -------------------------------------------------------------------------------------------------------------


def _write(target: Path, files: Mapping[str, bytes]) -> tuple[tuple[str, ...], tuple[int, int, int]]:
    """Write the changed files, and remove earlier ones; returns notes, and the files written, left and removed.

    The list of files is written before the first and after the last of them, so a run that was interrupted knows its
    own files.
    """
    manifest, digests = (
        target / MANIFEST,
        {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    )
    try:
        for folder in (target, target / "a", target / "c"):
            folder.mkdir(parents=True, exist_ok=True)
            believe(folder, folder.parent)
        known = _read(manifest)
        if foreign := [name for name in files if name not in known and os.path.lexists(target / name)]:
            raise ConflictError(
                f"{target / foreign[0]} is not of a site that was published here: choose an empty folder"
            )
        _replace(manifest, _manifest({**known, **digests}))
        written = [name for name, content in files.items() if _differs(target / name, content)]
        for name in written:
            _replace(target / name, files[name])
        notes, removed = [], 0
        for name in sorted(known.keys() - files.keys()):
            if (gone := target / name).is_file():
                if hashlib.sha256(gone.read_bytes()).hexdigest() == known[name]:
                    gone.unlink()
                    removed += 1
                else:
                    notes.append(f"{name} is no longer part of the site, and stays: it was edited since")
        _replace(manifest, _manifest(digests))
    except OSError as error:
        raise OpenError(f"{error.filename or target} cannot be written: {error.strerror or error}") from error
    return tuple(notes), (len(written), len(files) - len(written), removed)


def _read(manifest: Path) -> dict[str, str]:
    """The files of the last run with their digests; ConflictError for a list that this did not write."""
    if not os.path.lexists(manifest):
        return {}
    try:
        believe(manifest, manifest.parent)
        found = dict(json.loads(manifest.read_bytes())["files"])
        if all(_OWN.fullmatch(name) and isinstance(digest, str) for name, digest in found.items()):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    raise ConflictError(f"{manifest} is not the list of a published site: choose an empty folder")


def _manifest(digests: Mapping[str, str]) -> bytes:
    return json.dumps({"files": digests}, indent=0, sort_keys=True).encode()


def _differs(path: Path, content: bytes) -> bool:
    return not path.is_file() or path.stat().st_size != len(content) or path.read_bytes() != content


def _replace(path: Path, content: bytes) -> None:
    """Put a file in place as a whole; a link is replaced, not followed."""
    draft = path.with_name(f".{path.name}.part")
    draft.unlink(missing_ok=True)
    with draft.open("xb") as out:
        out.write(content)
    draft.replace(path)
