"""Kept questions as RDF and as files: SHACL's executables, as the SIB writes examples, and grlc's queries.

See https://doi.org/10.1093/gigascience/giaf045 (the SIB's examples) and https://github.com/CLARIAH/grlc (`.rq` files).
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import pyoxigraph as ox
import yaml
from rdflib import URIRef

from worlds.errors import OpenError, QueryError
from worlds.extras.entities.context import KeptQuestion
from worlds.extras.entities.names import spelt
from worlds.graph.query.query import Query
from worlds.graph.rdf_sources import is_rdf
from worlds.graph.terms import RDF

_SH = "http://www.w3.org/ns/shacl#"
_SCHEMA = "https://schema.org/"
_EXAMPLES = "https://purl.expasy.org/sparql-examples/ontology#"
_TYPE = ox.NamedNode(RDF + "type")
_EXECUTABLE = ox.NamedNode(_SH + "SPARQLExecutable")
_QUESTION = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#comment")
_DESCRIPTION = ox.NamedNode(_SCHEMA + "description")
_KEYWORDS = ox.NamedNode(_SCHEMA + "keywords")
_WORDING = ox.NamedNode(_SCHEMA + "alternateName")
_PREFIX, _NAMESPACE, _DECLARE = (ox.NamedNode(_SH + name) for name in ("prefix", "namespace", "declare"))
_FORMS = {  # of a query → its class and the predicate of its text
    form: (ox.NamedNode(space + kind), ox.NamedNode(space + form.lower()))
    for form, space, kind in (
        ("SELECT", _SH, "SPARQLSelectExecutable"),
        ("ASK", _SH, "SPARQLAskExecutable"),
        ("CONSTRUCT", _SH, "SPARQLConstructExecutable"),
        ("DESCRIBE", _EXAMPLES, "SPARQLDescribeExecutable"),
    )
}
_TEXTS = frozenset(predicate for _, predicate in _FORMS.values())
_owner = re.compile(r"'s(?!\w)")
_dropped = re.compile("'")
_idle = re.compile(r"""[?!;"()\[\]{}…¿¡«»“”„]|(?<!\d)[.,:]|[.,:](?!\d)|(?<=[^\W\d])-(?=[^\W\d])""")
_TAG = re.compile(r"<[^<>]{1,1000}>")
_MOST = 1_000_000  # bytes of a file


def form_of(query: Query) -> str:
    """SELECT, ASK, CONSTRUCT or DESCRIBE; QueryError for a text that is no query."""
    for token in query.scan():
        if token.is_word(*_FORMS):
            return token.text.upper()
        if token.is_word("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"):
            break
    raise QueryError("the query of a kept question must be SELECT, ASK, CONSTRUCT or DESCRIBE, not an update")


def plain(question: str) -> str:
    """A question in normal form, without case, accents, spacing and punctuation: questions of one form are the same.

    Signs that say something stay: those within numbers, and such as <, %, + and #.
    """
    text = _idle.sub(" ", _dropped.sub("", _owner.sub(" s", spelt(question))))
    return " ".join(text.split()) or question


def same(one: str, other: str) -> bool:
    """Whether two questions are one."""
    return plain(one) == plain(other)


def iri_of(question: str) -> URIRef:
    """The IRI of a question that has none of its own."""
    return URIRef(f"urn:worlds:question:{blake2b(plain(question).encode(), digest_size=8).hexdigest()}")


def as_quads(kept: KeptQuestion, form: str, graph: ox.NamedNode) -> list[ox.Quad]:
    """The quads of a kept question."""
    kind, text = _FORMS[form]
    said: list[tuple[ox.NamedNode, ox.NamedNode | ox.Literal]] = [(_TYPE, _EXECUTABLE), (_TYPE, kind)]
    said += [(_QUESTION, ox.Literal(kept.question)), (text, ox.Literal(kept.query))]
    said += [(_WORDING, ox.Literal(words)) for words in kept.wordings]
    said += [(_DESCRIPTION, ox.Literal(kept.description))] if kept.description else []
    said += [(_KEYWORDS, ox.Literal(word)) for word in kept.keywords]
    return [ox.Quad(ox.NamedNode(kept.iri), predicate, value, graph) for predicate, value in said]


def read(quads: Iterable[ox.Quad], prefixes: Mapping[str, str]) -> list[KeptQuestion]:
    """The kept questions in quads, ordered by IRI; each query declares the prefixes that it has a name of.

    These are the graph's own, by sh:declare, wherever it declares them, and `prefixes`.
    """
    said: dict[ox.NamedNode | ox.BlankNode, dict[ox.NamedNode, list[ox.NamedNode | ox.Literal]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for quad in quads:
        if not isinstance(quad.subject, ox.Triple) and isinstance(quad.object, ox.Literal | ox.NamedNode):
            said[quad.subject][quad.predicate].append(quad.object)
    own = {of[_PREFIX][0].value: of[_NAMESPACE][0].value for of in said.values() if of[_PREFIX] and of[_NAMESPACE]}
    found = []
    for subject, of in said.items():
        texts = [one.value for predicate in _TEXTS for one in of[predicate] if isinstance(one, ox.Literal)]
        asked = sorted(
            (one for one in of[_QUESTION] if isinstance(one, ox.Literal)),
            key=lambda one: ((one.language or "en").partition("-")[0] != "en", one.value),
        )
        if not texts or not asked or not isinstance(subject, ox.NamedNode):
            continue
        others = sorted(one.value for one in of[_WORDING] if isinstance(one, ox.Literal))
        questions = [*map(_plain, asked), *others]
        told = [_plain(one) for one in of[_DESCRIPTION] if isinstance(one, ox.Literal)]
        words = sorted(one.value for one in of[_KEYWORDS])
        query = declared(texts[0], {**prefixes, **own})
        found.append(
            KeptQuestion(
                URIRef(subject.value), questions[0], query, next(iter(told), None), tuple(questions[1:]), tuple(words)
            )
        )
    return sorted(found, key=lambda one: str(one.iri))


def _plain(text: ox.Literal) -> str:
    """A text without the tags of rdf:HTML."""
    if text.datatype.value != RDF + "HTML":
        return text.value
    return " ".join(html.unescape(_TAG.sub(" ", text.value)).split())


def declared(text: str, prefixes: Mapping[str, str]) -> str:
    """A query with the prefixes that it needs and does not declare."""
    query = Query(text)
    try:
        names = {token.text.partition(":")[0] for token in query.tokens if token.kind == "name"}
    except QueryError:  # which is told when it is asked
        return text
    known = {
        prefix.text[:-1]
        for word, prefix in zip(query.tokens, query.tokens[1:], strict=False)
        if word.is_word("PREFIX") and prefix.kind == "name"
    }
    lines = [f"PREFIX {one}: <{prefixes[one]}>\n" for one in sorted(names - known) if one in prefixes]
    return "".join(lines) + text


# -- grlc's files -----------------------------------------------------------------------------------------------------


def of_file(path: Path) -> KeptQuestion:
    """The question of a `.rq` file: its summary, or else its title, or its name in words.

    Lines that begin with `#+` are YAML, as grlc has them. OpenError where they are none, or the file is no text.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MOST + 1).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise OpenError(f"{path} cannot be read: {why}") from error
    if len(text) > _MOST:
        raise OpenError(f"{path} is too long for a query")
    lines = text.splitlines()
    try:
        told = yaml.safe_load("\n".join(line[2:] for line in lines if line.startswith("#+")).expandtabs(2)) or {}
    except (yaml.YAMLError, RecursionError) as error:
        raise OpenError(f"{path}: the lines that begin with #+ are no YAML: {error}") from error
    told = told if isinstance(told, dict) else {}
    question = _text(told, "summary") or _text(told, "title") or path.stem.replace("-", " ").replace("_", " ")
    tags = told.get("tags")
    words = tuple(sorted(str(tag) for tag in tags)) if isinstance(tags, list) else ()
    query = "\n".join(line for line in lines if not line.startswith("#+")).strip()
    return KeptQuestion(iri_of(question), question, query, _text(told, "description"), keywords=words)


def _text(told: Mapping[str, object], name: str) -> str | None:
    found = told.get(name)
    return " ".join(found.split()) if isinstance(found, str) and found.strip() else None


def files_of(source: object) -> tuple[list[Path], list[object]]:
    """The `.rq` files among sources, and in folders among them, and the other sources."""
    sources: Sequence[object] = list(source) if isinstance(source, list | tuple) else [source]
    files: list[Path] = []
    others: list[object] = []
    for one in sources:
        path = Path(one) if isinstance(one, str | Path) and "\n" not in str(one) else None
        if path is not None and path.suffix == ".rq":
            files.append(path)
        elif path is not None and path.is_dir() and (found := sorted(path.rglob("*.rq"))):
            files += found
            others += [one] if any(is_rdf(each) for each in path.rglob("*") if each.is_file()) else []
        else:
            others.append(one)
    return files, others
