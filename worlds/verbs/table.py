"""The verbs of a world as facts: what each takes, what it does, and at which doors it is.

The signatures of `World` are written out for editors and type checkers, and a test holds them to this table. From it
come the options of the command line, of HTTP and of agents, the verbs that a world on a server does anew, and the pages
of docs/ on every verb. A door words its answers, and its own defaults, by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from worlds.core.search.options import OPTIONS, REQUIRED, Option
from worlds.verbs.verb import Verb

_NUMBERS = 2**31 - 1  # of revisions and proposals
_FUNCTION = "a Python function"
_VALUE = "a Python object"
_QUERY = "a SPARQL query gives it"
_OF_FILE = "it is of a file, which the server keeps"
_OWNER = "it is the owner's, at the command line"
_LOCAL = "it reads what is on the server's own disk and network"
_GROUP = "a group searches and answers queries; each of its worlds has the other verbs"


def _at(doors: str, reason: str) -> Mapping[str, str]:
    return MappingProxyType(dict.fromkeys(doors.split(), reason))


_EVERYWHERE = "command http agents"
_PYTHON = _at(_EVERYWHERE, _FUNCTION)
_NOT_REMOTE = _at("http agents", _LOCAL)


def _number(name: str, help: str, default: Any = None, least: float = 1, most: float = 10_000, **more: Any) -> Option:
    return Option(name, "integer", help, default, least=least, most=most, **more)


def _text(name: str, help: str, default: Any = None, most: int = 10_000, **more: Any) -> Option:
    return Option(name, "text", help, default, most=most, **more)


def _limit(what: str, default: Any, most: float = 10_000, **more: Any) -> Option:
    return _number("limit", f"The number of {what} at most.", default, most=most, **more)


def _graph(help: str, default: Any = None, **more: Any) -> Option:
    return _text("graph", help, default, **more)


AUTHOR = _text("author", "The author of the change, for the history.", absent=_at("http agents", "the key has a name"))
MESSAGE = _text("message", "The reason for the change, for the history.")
DRY_RUN = Option(
    "dry_run",
    "boolean",
    "Write nothing, and show the difference that the change would make.",
    False,
    absent={"http": "`rehearsal` shows it", "agents": "a proposal shows it"},
)
EMBED = Option(
    "embed",
    "boolean",
    "Compute the vectors of new texts at once; otherwise `embed` does it later.",
    True,
    absent=_at("http agents", "the server embeds new texts by itself"),
)
BASE = _number(
    "base",
    "The last revision that was read: a change is refused if its subject has changed since.",
    least=0,
    most=_NUMBERS,
)
_PROGRESS = Option("progress", "json", "A function that receives the progress of the verb.", None, absent=_PYTHON)
_IRI = _text("iri", "The entity: an IRI, or a prefixed name.", REQUIRED, example="ex:Paris")
_TYPES = Option("types", "texts", "Only entities of these types.", example="ex:City")
_GRAPHS = Option("graphs", "texts", 'Read only these graphs; "default" is the default graph.')
WITHIN = Option("graphs", "texts", "Answer as if there were only these graphs.")
"""The option of verbs that are asked of a scope of the world where it is given."""
_MEMORY = Option(
    "scope", "texts", "The scope of the agent memory for the facts, its widest part first.", example="user"
)
_LANGUAGE = _text(
    "language", "The reader's language: labels and descriptions in it come first.", most=100, example="de"
)
_CONFIDENCE = Option("confidence", "number", "The confidence of the proposal, from 0 to 1.", least=0, most=1)
_WHY = _text("why", "The reason, for the reviewer.")
_REVISION = Option("revision", "revision", "A revision: its number, a tag, or a time.", REQUIRED, example=1)
_ID = _number("id", "The number of a proposal.", REQUIRED, most=_NUMBERS, example=1)
_REVIEWER = _text("reviewer", "The person who decides.", absent=_at("http agents", "the key has a name"))
_UPDATE = _text("update", "A SPARQL Update that makes the change.", most=1_000_000)
_MAX_QUADS = _number(
    "max_quads",
    "The number of quads that the update changes at most.",
    absent=_at(_EVERYWHERE, "a limit for strangers' updates"),
)
_ALLOW_NETWORK = Option(
    "allow_network", "texts", "Hosts that may be read from, or true for any.", False, absent=_NOT_REMOTE
)
_BINDINGS = Option("bindings", "json", "Values of variables in the query, by their names.")
_UNION = Option("union", "boolean", "The default graph of the query is the union of all graphs.")
_TIMEOUT = Option(
    "timeout", "number", "The time that the evaluation may take.", least=0, unit="seconds",
    absent=_at("http", "a setting of the server"),
)  # fmt: skip
_OFFSET = _number("offset", "The number of entities before the first one.", 0, least=0, most=_NUMBERS)
_FORCE = Option("force", "boolean", "Skip the quads that a later revision changed, and undo the rest.", False)


def _quads(name: str, help: str, default: Any = (), **more: Any) -> Option:
    return Option(name, "json", help, default, **more)


_FACT = Option(
    "quad",
    "texts",
    "The fact: subject, predicate, object, and the named graph if there is one.",
    REQUIRED,
    example=["ex:Ann", "ex:worksAt", "ex:Acme"],
)
_ADD = _quads("add", "The quads to add.")
_REMOVE = _quads("remove", "The quads to remove.")
_RELIES_ON = _quads("relies_on", "Quads that must hold: the proposal is marked if any of them is removed.")
_SUBJECT = _text("subject", "Only quads with this subject.")
_PREDICATE = _text("predicate", "Only quads with this predicate.")
_OBJECT = _text("object", "Only quads with this object.")
_MATCHED = (_SUBJECT, _PREDICATE, _OBJECT, _graph('Only quads in this graph; "default" is the default graph.'))
_FROM = Option("a", "revision", "A revision: its number, a tag, or a time; 0 is the empty world.", REQUIRED)
_TO = Option("b", "revision", "A later revision; now if it is not given.")
_SEARCH = {**OPTIONS}
_SEARCH_TEXT = _text(
    "text",
    "The words that are sought, in any script; '\"a phrase\"', '-without', 'prefix*'.",
    REQUIRED,
    most=100_000,
    example="solar cells",
    names={"http": "q", "agents": "query", "command": "words"},
)
AS_OF = _text("as_of", "A time: answer from the facts that held then.", example="2016-05")
"""The option by which a door answers as of a time."""
ENTAILED = Option("entailed", "boolean", "Include conclusions; else by the policy.", None)
"""The option by which a door answers with what follows by the world's rules."""
_ASKED = (
    _text("question", "The question, in a person's words.", REQUIRED, example="solar cells", names={"http": "q"}),
    _number("budget", "Tokens of the answer, about.", 2000, least=50, most=100_000, names={"agents": "token_budget"}),
)
_NARROWING = ("where", "predicates", "exclude", "related", "rerank")
_CONTEXT = {
    "exclude": _at("command agents", "`where` says it: FILTER NOT EXISTS { … }"),
    "predicates": _at("agents", "`search` takes it"),
    "related": _at("agents", "`search` takes it"),
    "where": _at("agents", "`search` takes it"),
    "rerank": {**_SEARCH["rerank"].absent, **_at("command agents", "`search` takes it")},
}
_WHERE = replace(_SEARCH["where"], absent=_at("agents", "`search` takes it"))
_ANSWERED = _at("http", "the answer is the document, in the format that Accept names")
_BODY = _at("http", "the body is the update")
_CURATOR = _at("agents", "a person decides, at another door")


def _of_similar(one: Option) -> Option:
    """An option of a search, of `entities.similar`."""
    if one.name in ("vector", "group_by", "per_subject", "related"):
        return replace(one, absent=_at(_EVERYWHERE, "each hit is another entity"))
    if one.name == "exclude":
        return replace(one, absent=_at("command", "`where` says it: FILTER NOT EXISTS { … }"))
    if one.name == "mode" or one.group in ("filter", "page"):
        return one
    return replace(one, absent={**_at("command agents", "entities are ranked by their vectors"), **one.absent})


def _verb(name: str, help: str, *options: Option, absent: Mapping[str, str] | None = None, **more: Any) -> Verb:
    told = {**(absent or {}), **({} if name in ("search", "query", "close") else {"group": _GROUP})}
    return Verb(name, help, {option.name: option for option in options}, absent=told, **more)


# fmt: off
# ruff: noqa: E501
VERBS: Mapping[str, Verb] = {
    verb.name: verb
    for verb in (
        # -- written
        _verb("add", "Add triples or quads as one revision; quads that are there already change nothing.",
              _quads("quads", "The triples or quads to add.", REQUIRED, names={"http": "add"}), *(AUTHOR, MESSAGE, EMBED, DRY_RUN),
              level="write", effect="writes", names={"http": "quads"},
              absent={"command": "`load` reads quads from standard input, `update` takes INSERT DATA"}),
        _verb("remove", "Remove triples or quads as one revision.",
              _quads("quads", "The triples or quads to remove.", REQUIRED, names={"http": "remove"}), *(AUTHOR, MESSAGE, DRY_RUN),
              level="write", effect="destroys", names={"http": "quads"},
              absent=_at("command agents", "`update` takes DELETE DATA")),
        _verb("edit", "Remove quads and add others, as one revision.", *(_ADD, _REMOVE, BASE, AUTHOR, MESSAGE, EMBED, DRY_RUN),
              level="write", effect="destroys", names={"http": "quads"},
              absent={"command": "`update` takes DELETE DATA and INSERT DATA", "agents": "`propose` takes both"}),
        _verb("update", "Run a SPARQL 1.1 Update as one revision, which `undo` can take back.",
              _text("text", "The SPARQL Update.", REQUIRED, most=1_000_000, names={"agents": "update", "command": "request"}, absent=_BODY),
              replace(_BINDINGS, absent=_at("http agents", "the protocol has none")), _UNION,
              Option("using_graphs", "texts", "The graphs of the WHERE clauses.", absent=_at("command agents", "USING says it"), names={"http": "using-graph-uri"}),
              Option("using_named_graphs", "texts", "The named graphs of the WHERE clauses.", absent=_at("command agents", "USING NAMED says it"), names={"http": "using-named-graph-uri"}),
              *(AUTHOR, replace(MESSAGE, absent=_at("http", "the protocol has none")), EMBED, replace(_TIMEOUT, absent=_at("http agents", "a setting of the server")), _MAX_QUADS, _ALLOW_NETWORK),
              Option("allow_files", "boolean", "LOAD may read files.", False, absent=_NOT_REMOTE), DRY_RUN,
              level="write", effect="destroys", names={"http": "sparql_post"}),
        _verb("undo", "Undo a revision by a new revision; undo the new revision to restore the change.",
              *(_REVISION, _FORCE, AUTHOR, MESSAGE, DRY_RUN), level="write", effect="destroys"),
        _verb("bind", "Declare a prefix, for queries, filters and exports.",
              _text("prefix", "The prefix, without its colon.", REQUIRED, most=1000, example="ex", names={"command": "name"}),
              _text("iri", "The IRI that the prefix stands for.", REQUIRED, example="https://example.org/"),
              level="write", effect="writes", names={"command": "prefix"},
              absent={"agents": "prefixes are the owner's"}),
        # -- searched and known
        _verb("search", "Find the texts that best answer a question, best first.", _SEARCH_TEXT, *_SEARCH.values()),
        _verb("context", "Collect the facts and passages that bear on a question, with numbers that cite quads.",
              *_ASKED, _number("hops", "The distance of facts from an entity that the question names, at most.", 2, least=0, most=2),
              _TYPES, _LANGUAGE, WITHIN, *(replace(_SEARCH[name], absent=_CONTEXT.get(name, {})) for name in _NARROWING)),
        _verb("resolve", "Find the entity that a name means, and how sure that is.",
              _text("name", "The name.", REQUIRED, example="Paris", names={"agents": "names", "command": "names"}),
              _text("context", "The text around the name.", most=100_000), _TYPES, _WHERE, _GRAPHS,
              Option("exclude", "texts", "Entities that are no candidates."), _limit("candidates of a name", 5, most=100)),
        _verb("questions.brief", "Collect the terms for the query of a question: entities, classes, predicates, and its kept query.", *_ASKED, WITHIN),
        _verb("sources.chunk", "Show a passage by its number, with its neighbours.",
              _text("id", "The number of the passage, or urn:worlds:chunk:NUMBER.", REQUIRED, most=100, example="1"),
              _number("around", "The number of neighbours on either side.", 1, least=0, most=100),
              absent=_at("command agents", "`search` shows passages")),
        _verb("entities.mint", "Return the IRI of an entity: its present IRI, or a new IRI by the world's policy.",
              _text("label", "The name of the entity."), _text("type", "The class of the entity."), _text("key", "A value that identifies the entity."),
              absent=_at("agents", "an agent proposes quads with IRIs of its own")),
        _verb("entities.similar", "Find the entities that are most like an entity.", *(_IRI, _limit("entities", 10)),
              *(_of_similar(one) for name, one in _SEARCH.items() if name != "limit")),
        _verb("describe", "Describe an entity: label, types, its triples, and the triples that point to it.",
              *(_IRI, _limit("values of a predicate", 20), _LANGUAGE, WITHIN), names={"http": "entity"}),
        _verb("labels", "Return the labels of entities.", Option("iris", "texts", "The entities.", REQUIRED, example=["ex:Paris"]), _LANGUAGE,
              absent=_at("command agents", "`describe` tells the label of an entity, `search` those of its hits")),
        _verb("schema", "Summarise the data: classes, predicates, graphs, languages and prefixes, with counts.",
              *(_limit("classes, and of predicates and graphs,", 50), _GRAPHS),
              _text("matching", "Only classes and predicates with these words in their names, or near them in meaning.", most=200)),
        _verb("entities.tree", "List the trees of the world, or a level of one: concepts of a scheme, classes, parts.",
              _text("of", 'The scheme, or the property that leads to the broader entity ("^" before it: to the narrower).', example="ex:Scheme"),
              _text("parent", "The entity whose level it is; otherwise the top.", example="ex:Concept"),
              _text("matching", "Only entities of the tree with these words in a name, each with its path.", most=200),
              _OFFSET, *(_limit("entities", 100), _LANGUAGE, WITHIN), absent=_at("agents", _QUERY)),
        _verb("entities.members", "List the instances of a class, the concepts of a scheme or the subjects of a property, from A to Z.",
              replace(_IRI, name="of", help="The class, the scheme or the property."), _WHERE,
              Option("subclasses", "boolean", "Include the instances of classes below.", False),
              Option("facet", "texts", "Count the values of these predicates over all members.", example="ex:country"),
              _OFFSET, *(_limit("members", 100), _LANGUAGE, WITHIN), absent=_at("agents", "`search` lists them, with facets")),
        _verb("entities.moving", "Work out the quads to add and remove that move an entity in a tree.", _IRI,
              _text("to", "The entity that it is to stand below; otherwise it is to stand at the top.", example="ex:Concept"),
              _text("of", "The tree: a scheme, or a property.", REQUIRED, example="ex:Scheme"),
              _text("away", "The place that it leaves: the entity above, or the scheme; otherwise all."),
              absent=_at("command agents", "`update` and `propose` take the quads")),
        _verb("stats", "Count the contents of the world: quads, texts, sizes, the embedder.", absent=_at("agents", "`schema` tells an agent")),
        # -- remembered
        _verb("history", "List the revisions, newest first, with author and message.", _limit("revisions", None),
              _text("entity", "Only revisions that added or removed a quad with this subject or object."),
              _text("predicate", "Only revisions that added or removed a quad with this predicate."),
              _graph("Only revisions that added or removed a quad in this graph."),
              _text("author", "Only revisions of this author."),
              _text("message", "Only revisions whose message contains this text."),
              _text("since", "Only revisions from this time on.", example="2026-05-01T12:00:00Z"),
              _text("until", "Only revisions up to this time.", example="2026-05-01T12:00:00Z"),
              _number("before", "Only revisions before this revision.", most=_NUMBERS), names={"command": "log"}),
        _verb("revisions.provenance", "Show the origin of quads: each match with the revisions that added and removed it.",
              replace(_SUBJECT, names={"command": "entity"}), *_MATCHED[1:]),
        # -- curated
        _verb("entities.mentions", "Find the entities that a text names, and where.",
              _text("text", "The text, or the IRI of a document.", REQUIRED, most=1_000_000, example="in Paris"),
              _TYPES, _WHERE, WITHIN),
        _verb("curation.links", "Find literals that should be entities, and entities that a text names without a link.",
              _TYPES, _WHERE, _GRAPHS, Option("predicates", "texts", "Only literals under these predicates."),
              _limit("links", 100),
              Option("score", "number", "The lowest score of a link, which is not a probability.", 0.5, least=0, most=1),
              names={"http": "suggest_links"}, absent=_at("agents", "`propose_all` proposes them")),
        _verb("curation.link_texts", "Link all texts to the entities that they name, in a graph of its own that search and context walk.",
              replace(_TYPES, help="Link only entities of these types, else of the types in the policy."),
              Option("score", "number", "The lowest confidence of a mention that is linked.", 0.5, least=0, most=1),
              Option("propose", "boolean", "Propose the links as one change.", False), *(AUTHOR, MESSAGE, EMBED, DRY_RUN),
              level="write", effect="destroys", absent=_CURATOR),
        _verb("curation.verify", "Check whether a claim is supported, contradicted or unknown, with the quads for and against it.",
              Option("claim", "json", "A triple of subject, predicate and object, as prefixed names, terms or names of entities; or words.", REQUIRED, most=100_000),
              Option("extract", "json", "A function that turns words into triples.", absent=_PYTHON),
              Option("at", "revision", "The revision whose state is verified; now if it is not given."), WITHIN),
        _verb("shapes.validate", "Validate the data against the world's SHACL shapes.",
              Option("subjects", "texts", "Only these focus nodes, of the targets of the shapes."),
              Option("shapes", "json", "Other shapes than the world's.", absent=_NOT_REMOTE), _TIMEOUT),
        _verb("shapes.set_guard", "Set the guard: the treatment of a write that violates the shapes.",
              Option("setting", "text", "The treatment: nothing (off), a note (warn), a proposal (queue), or a refusal (reject).", REQUIRED, choices=("off", "warn", "queue", "reject")),
              Option("partly", "boolean", "Check by the supported shapes alone, where others are left out.", False),
              level="admin", effect="writes", names={"command": "shapes guard"}, absent=_at("http agents", _OWNER)),
        _verb("entities.form", "Build the form of an entity: its fields by its shapes, and by the usual properties of its classes.",
              replace(_IRI, default=None, help="The entity; without it the form is of a new entity."),
              Option("types", "texts", "Classes that the entity has, or gets.", example="ex:City"), _LANGUAGE),
        _verb("curation.contradictions", "Find contradictions in the data, with the authors of their quads.",
              Option("suggested", "boolean", "Include contradictions of usual patterns in the data, not only of declarations.", True),
              Option("kinds", "texts", "Only findings of these kinds.", example="functional"),
              _text("author", "Only findings with a quad that this author wrote.", names={"command": "by"}),
              _text("entity", "Only findings about this entity."),
              Option("graphs", "texts", "Only findings with a quad in one of these graphs."),
              _number("after", "Only findings with a quad that was added after this revision.", most=10**9),
              _limit("findings of each kind", 1000)),
        _verb("curation.duplicates", "Find pairs of entities that may be the same, with the evidence for and against it.", _TYPES,
              _WHERE, _GRAPHS,
              Option("between", "texts", "Two graphs: compare entities of the first with entities of the second."),
              Option("score", "number", "The lowest score of a pair, which is not a probability.", 0.5, least=0, most=1),
              _limit("pairs", 1000),
              _text("keep", "The entity to keep: links (most linked), older, or of a graph or scheme; by default the first of between, else links."),
              Option("again", "boolean", "Include pairs that were decided to differ.", False)),
        _verb("curation.decisions", "List the decisions of people on pairs of entities: that they are the same, or differ.",
              absent=_at("agents", "`proposals` tells an agent")),
        _verb("curation.report", "Report the health of the world on one page: gaps, contradictions and duplicates.",
              _number("after", "Count cases that came after this revision as new.", most=10**9),
              Option("points", "integer", "The number of earlier revisions whose counts are shown.", 0, least=0, most=100,
                     absent=_at("agents", "a picture shows them"))),
        _verb("curation.merge", "Replace entities by another, in all graphs and positions; the old names redirect to it.",
              _text("kept", "The entity that stays: an IRI, or a prefixed name.", REQUIRED),
              Option("others", "texts", "The entities that it replaces.", REQUIRED),
              Option("redirect", "text", "The predicate by which the old names lead to the entity.", "owl:sameAs", choices=("owl:sameAs", "dcterms:isReplacedBy")),
              Option("conflicts", "text", "A functional property with several values: keep all (report), a single value (kept, newest), or change nothing (refuse).", None, choices=("report", "kept", "newest", "refuse")),
              *(AUTHOR, MESSAGE, DRY_RUN), level="write", effect="destroys", absent=_CURATOR),
        _verb("curation.split", "Undo a merge, whatever has changed since.",
              replace(_REVISION, help="The revision of the merge."), *(AUTHOR, MESSAGE, DRY_RUN), level="write",
              effect="destroys", absent=_CURATOR),
        _verb("curation.distinct", "Record that two entities differ: `duplicates` leaves them out from then on.",
              _text("a", "An entity.", REQUIRED), _text("b", "Another entity.", REQUIRED),
              _graph("The graph in which the decision is kept.", "default"), *(AUTHOR, MESSAGE, DRY_RUN),
              level="write", effect="writes", absent=_CURATOR),
        _verb("proposals.add", "Propose a change, which takes effect when a person accepts it.",
              *(_ADD, _REMOVE, replace(_UPDATE, absent=_at("agents", "quads say it: an update may be endless"))),
              Option("merge", "texts", "Entities to merge, instead of a change of quads; the entity to keep comes first.", ()),
              *(_WHY, _CONFIDENCE, AUTHOR),
              _text("kind", "A word to find the proposal by; edit or merge if it is not given.", most=100),
              _RELIES_ON,
              _number("max_open", "The number of open proposals that the author may have.", absent=_at(_EVERYWHERE, "a setting of the server")), _MAX_QUADS,
              Option("again", "boolean", "Propose a merge even of entities that were decided to differ.", False),
              level="propose", effect="writes", names={"http": "propose", "agents": "propose"}),
        _verb("proposals.amend", "Comment on an open proposal, or revise its change.", _ID,
              *(replace(_ADD, default=None), replace(_REMOVE, default=None), replace(_UPDATE, absent=_at("agents", "quads say it: an update may be endless")), _WHY, _CONFIDENCE, AUTHOR),
              Option("own", "boolean", "Only the author of the proposal may change it.", False, absent=_at(_EVERYWHERE, "the key's level says it")), _MAX_QUADS,
              level="propose", effect="writes"),
        _verb("proposals.list", "List proposals, the oldest first.",
              Option("status", "text", "Only proposals with this status.", "open", choices=("open", "accepted", "rejected", "any")),
              _text("author", "Only proposals of this author."),
              _text("entity", "Only proposals about this entity."),
              _text("kind", "Only proposals of this kind.", most=100),
              Option("minimum", "number", "The lowest confidence of a proposal; of duplicates and links, the lowest probability.", least=0, most=1), _limit("proposals", None),
              _number("after", "Only proposals after this number."),
              names={"http": "proposals", "agents": "proposals"}),
        _verb("proposals.get", "Show a proposal, and whether the quads that it relies on have changed.", replace(_ID, absent=_at("agents", "`proposals` shows each in full")),
              names={"http": "proposal", "agents": "proposals"}),
        _verb("proposals.accept", "Make the change of a proposal, as one revision.", *(replace(_ID, names={"command": "numbers"}), _REVIEWER, _WHY),
              _number("version", "The version that was reviewed; every amendment makes a new version.", most=10**9),
              Option("force", "boolean", "Accept even if quads that the proposal relies on have changed, or a merge is in conflict.", False), DRY_RUN,
              level="write", effect="destroys", absent=_CURATOR),
        _verb("proposals.reject", "Close a proposal without making its change.", *(replace(_ID, names={"command": "numbers"}), _WHY, _REVIEWER), level="write",
              effect="writes", absent=_CURATOR),
        # -- written in bulk
        _verb("load", "Load RDF as one revision: files, folders, archives, URLs.",
              Option("source", "texts", "Files, folders, globs or URLs; - is standard input.", REQUIRED, names={"command": "sources"}),
              _text("format", "The format of the source, where its name does not show it."),
              _graph("The graph that the triples are loaded into."),
              Option("mode", "text", "Add to the source's graphs (merge), replace them (replace), or apply the edited cells of an exported table (edit).", "merge", choices=("merge", "replace", "edit")),
              _text("base", "The base IRI, for relative IRIs."), *(AUTHOR, MESSAGE, EMBED, _ALLOW_NETWORK),
              _number("max_unpacked", "The bytes of an archive, unpacked, at most.", absent=_at(_EVERYWHERE, "a safeguard")),
              Option("keep_edits", "boolean", "Keep the edits made since the last load; conflicts become proposals.", False),
              Option("mapping", "json", "Read tables by this file of CSVW metadata.", names={"command": "map"}),
              Option("remove_rows", "boolean", "Remove the entities whose rows are gone from an edited table.", False),
              *(_PROGRESS, DRY_RUN), level="write", effect="destroys",
              absent={"http": "`/files` takes a file, the Graph Store Protocol a document", "agents": _LOCAL}),
        _verb("sources.add_document", "Add a document: its text, title, source, date and metadata.",
              _text("iri", "The IRI of the document.", REQUIRED),
              Option("content", "text", "The text, or the path of a file.", REQUIRED, names={"command": "files"}),
              Option("format", "text", "The format of the text.", choices=("markdown", "text", "html")),
              _text("title", "The title; by default the first heading."),
              _text("source", "The IRI or address that the document was read from."),
              _text("date", "The date of the document."), _text("language", "The language of the text.", most=100),
              _text("predicate", "The predicate of the text.", "https://schema.org/text"),
              _text("type", "The class of the document.", "https://schema.org/TextDigitalDocument"),
              _graph("The graph of the document's quads."),
              Option("metadata", "json", "Further predicates and their values.", absent=_at("command", "the front matter of a file has them")),
              Option("replace", "boolean", "Replace the document if it is there already.", True),
              *(AUTHOR, MESSAGE, EMBED, DRY_RUN), level="write", effect="destroys", absent=_NOT_REMOTE),
        _verb("sources.mappings", "Propose a mapping from tables to triples, as CSVW metadata to edit.",
              Option("tables", "texts", "The tables.", REQUIRED, names={"command": "sources"}), _text("base", "The start of new IRIs."),
              names={"command": "load"}, absent={"http": "`/files/trial` proposes it", "agents": _LOCAL}),
        _verb("sources.sync", "Update the world from its sources: folders, files and addresses that it follows.",
              _text("name", "Only this source.", most=100, names={"command": "place"}),
              Option("again", "boolean", "Read all files, even unchanged files.", False),
              *(AUTHOR, MESSAGE, EMBED, _PROGRESS, DRY_RUN), level="write", composed=True, effect="destroys"),
        _verb("revisions.apply", "Apply an RDF Patch as one revision.",
              Option("source", "text", "The path of the patch; - is standard input.", REQUIRED),
              Option("strict", "boolean", "Refuse a patch that removes absent quads, or adds present quads.", True),
              Option("three_way", "boolean", "Apply the changes without a conflict with the world's own, and propose the rest.", False),
              _number("max_unpacked", "The bytes of the patch, unpacked, at most.", absent=_at(_EVERYWHERE, "a safeguard")),
              *(AUTHOR, MESSAGE, EMBED, DRY_RUN), level="write", effect="destroys",
              absent=_NOT_REMOTE),
        _verb("facts.state", "State a fact, with the time of its beginning or end.",
              _text("subject", "The entity that the fact is about.", REQUIRED, example="ex:Ann"),
              _text("predicate", "The predicate.", REQUIRED, example="ex:worksAt"),
              _text("object", "The value: an IRI, a prefixed name, or a literal as in N-Triples.", REQUIRED, example="ex:Acme"),
              _graph("The graph of the fact; otherwise the default graph."),
              _text("valid_from", "The time at which the fact began to hold: a year, a month, a day or a moment.", example="2019-05"),
              _text("valid_to", "The time at which the fact ended; a day, a month or a year is included."),
              Option("cites", "texts", "The sources of the fact: IRIs, or texts in quotes."),
              Option("confidence", "number", "The confidence of the fact, from 0 to 1.", least=0, most=1),
              Option("supersede", "text", "End the other value of a functional predicate.", choices=("functional",)),
              *(AUTHOR, MESSAGE, EMBED, DRY_RUN), level="write", effect="destroys", absent=_CURATOR),
        _verb("facts.tell", "State facts by the names of entities and predicates; uncertain facts are proposed.",
              _quads("facts", "The facts: lists of subject, predicate, object in words, and perhaps an object with from, to, cites, confidence.", REQUIRED, example=[["Ann", "works at", "Acme", {"from": "2026-05"}]], names={"command": "fact"}),
              _graph("The graph of the facts; otherwise the default graph."), _text("context", "The text around the facts.", most=100_000, absent=_at("agents", "`resolve` takes it")),
              Option("vocabulary", "text", "Whether predicates may be new.", "known", choices=("known", "open")), AUTHOR, MESSAGE, EMBED,
              Option("dry_run", "boolean", "Write and propose nothing, and show the outcome of each fact.", False),
              _MEMORY, level="write", effect="writes", composed=True),
        _verb("facts.end", "End a fact that holds: remove its assertion, and put the time on its reifier.",
              _FACT, _text("at", "The time at which the fact ended; by default now.", example="2019-05"),
              _text("reason", "The reason, for the history."), *(AUTHOR, DRY_RUN), level="write", effect="destroys",
              absent=_CURATOR),
        _verb("facts.reinstate", "Restore a fact that was ended, as if it had never ended.",
              _FACT, *(AUTHOR, MESSAGE, EMBED, DRY_RUN), level="write", effect="destroys", absent=_CURATOR),
        _verb("facts.timeline", "Show the facts of an entity over time, with gaps and overlaps.", _IRI,
              absent=_at("agents", "`describe` tells when a value held, by its annotations")),
        _verb("facts.due", "List the facts whose beginning or end has come, and is not carried out yet.", absent=_CURATOR),
        _verb("facts.carry_out", "Carry out due facts as one revision: assert facts that have begun, end facts that have ended.",
              *(AUTHOR, MESSAGE, EMBED, DRY_RUN), level="write", effect="destroys", absent=_CURATOR),
        _verb("as_of", "Return the facts that held at a time, to query and search.",
              _text("time", "A date, a time or \"now\"; a year is its beginning.", REQUIRED), absent=_at(_EVERYWHERE, _VALUE)),
        _verb("revisions.prune", "Forget old revisions, with the quads that they removed.",
              Option("before", "revision", "A revision or a time; the revisions before it are forgotten.", REQUIRED),
              level="admin", effect="destroys", absent=_at("http agents", _OWNER)),
        _verb("embed", "Compute the vectors of all pending texts.",
              Option("rebuild", "boolean", "Compute all vectors anew; until then the old vectors answer.", False),
              Option("embedder", "text", "The new embedding model, by name or folder, for rebuild."), _PROGRESS, level="write",
              effect="writes", absent=_at("http agents", "the server embeds new texts by itself")),
        # -- asked
        _verb("query", "Answer a SPARQL query.", _text("query", "The query.", REQUIRED, most=1_000_000),
              *(replace(_BINDINGS, absent=_at("http agents", "the protocol has none")), _UNION),
              Option("default_graphs", "texts", "The graphs of the default graph.", absent=_at("command agents", "FROM says it"), names={"http": "default-graph-uri"}),
              Option("named_graphs", "texts", "The named graphs.", absent=_at("command agents", "FROM NAMED says it"), names={"http": "named-graph-uri"}),
              _TIMEOUT,
              _number("max_results", "The rows or triples at most.", absent=_at(_EVERYWHERE, "a setting of the server")),
              _number("max_memory", "The bytes of memory at most.", absent=_at(_EVERYWHERE, "a setting of the server")),
              *(_ALLOW_NETWORK, _PROGRESS), Option("repair", "boolean", "Look for the intended query where a query fails or finds nothing, and show it.", False,
                                                   absent=_at("http agents", "the protocol has none, and an agent's `sparql` does it")), names={"command": "sparql", "agents": "sparql"}),
        _verb("explain", "Answer a SPARQL query, and show how it was evaluated.",
              _text("query", "The query.", REQUIRED, most=1_000_000), *(_BINDINGS, _UNION, _TIMEOUT, _ALLOW_NETWORK),
              Option("counts", "boolean", "Count the matches of every pattern.", True),
              Option("answer", "boolean", "Evaluate the query; by default if a time limit is given."), _PROGRESS,
              names={"command": "sparql"},
              absent=_at("http agents", "an explanation can take longer than its query")),
        # -- in bulk, or by Python alone
        _verb("entities.resolve_all", "Resolve many names.",
              _quads("names", "Names, alone or with their contexts.", REQUIRED),
              *(_TYPES, _WHERE, _GRAPHS, _limit("candidates of a name", 5, most=100)),
              names={"command": "resolve", "http": "resolve_post", "agents": "resolve"}),
        _verb("proposals.accept_all", "Accept several proposals, a revision each.", _quads("ids", "The numbers.", REQUIRED, names={"command": "numbers"}),
              *(_REVIEWER, _WHY, Option("force", "boolean", "Accept even if quads that a proposal relies on have changed.", False)),
              level="write", composed=True, effect="destroys", names={"command": "proposals accept"},
              absent={"http": "each is accepted by itself", **_CURATOR}),
        _verb("proposals.reject_all", "Reject several proposals.", _quads("ids", "The numbers.", REQUIRED, names={"command": "numbers"}), _WHY, _REVIEWER,
              level="write", effect="writes", names={"command": "proposals reject"},
              absent={"http": "each is rejected by itself", **_CURATOR}),
        _verb("proposals.add_all", "Propose the remedies of findings, each by itself.",
              _quads("findings", "The findings.", REQUIRED, absent=_at("http agents", "the server finds them itself")), AUTHOR,
              Option("follow", "boolean", "Accept at once the proposals that a rule of the world explains.", True, absent=_at(_EVERYWHERE, "so for who may write")), level="propose", composed=True, effect="writes",
              names={"command": "curate contradictions", "http": "propose_contradictions", "agents": "propose_all"}),
        _verb("quads", "Return the quads that match.", *_MATCHED, absent=_at(_EVERYWHERE, _QUERY)),
        _verb("count", "Count the quads that match.", *_MATCHED,
              Option("triples", "boolean", "Count triples, each once however many graphs have it.", False), absent=_at(_EVERYWHERE, _QUERY)),
        _verb("graphs", "List the named graphs.", absent=_at(_EVERYWHERE, _QUERY)),
        _verb("to_rdflib", "Copy the world into memory, as an rdflib Dataset.",
              Option("triple_terms", "text", "The treatment of triple terms, which rdflib lacks.", "skip",
                     choices=("skip", "reify", "error")),
              absent=_at(_EVERYWHERE, _VALUE)),
        _verb("export", "Write the quads to a file or a stream.",
              Option("target", "text", "The path of the file; - is standard output.", REQUIRED, absent=_ANSWERED),
              _text("format", "The format of the file, where its name does not show it.", absent=_ANSWERED),
              _graph("Export only this graph."),
              _text("table", "Write the instances of this class as a table, CSV or TSV, with its mapping beside it.",
                    absent=_at("http", _OWNER)),
              names={"http": "get_graph"}, absent={"agents": _LOCAL}),
        _verb("file.publish", "Write a vocabulary as a static web site: a page for each concept, its tree, and a search.",
              Option("target", "text", "The folder of the site.", REQUIRED),
              _text("scheme", "Only the concepts of this scheme; else all concepts, classes and properties.", example="ex:Scheme"),
              _text("title", "The title of the site; else that of the scheme.", most=1000),
              replace(_LANGUAGE, help="The language in which the site is read at first."), absent=_NOT_REMOTE),
        _verb("check", "Verify that quads, texts, full-text index and vectors agree.", absent=_at("http agents", _OWNER)),
        _verb("file.backup", "Write a complete copy of the world to a new file.", Option("path", "text", "The path of the new file.", REQUIRED), absent=_NOT_REMOTE),
        _verb("file.compact", "Return unused space to the file system.", level="admin", effect="writes", absent={**_at("http agents", _OWNER), "remote": _OF_FILE}),
        _verb("file.build_vector_index", "Build the native vector index anew, and keep it.", _PROGRESS, level="admin",
              effect="writes", names={"command": "file vector-index"}, absent={**_at("http agents", _OWNER), "remote": _OF_FILE}),
        _verb("file.drop_vector_index", "Drop the native vector index, and keep none.", level="admin", effect="writes",
              names={"command": "file vector-index"}, absent={**_at("http agents", _OWNER), "remote": _OF_FILE}),
        _verb("diff", "Show the quads that were added and removed between two revisions.", _FROM, _TO, absent=_at("http agents", "`history` shows what one revision did")),
        _verb("revisions.patch", "Return the difference between two revisions as an RDF Patch.", _FROM, _TO, absent=_at("http agents", "`history` shows what a revision did")),
        _verb("at", "Return the world as it was, to query and export.", Option("revision", "revision", "A revision or a time.", REQUIRED), absent=_at(_EVERYWHERE, _VALUE)),
        _verb("only", "Return the world through some of its graphs, as if it held nothing else.",
              Option("graphs", "texts", 'The graphs; "default" is the default graph.', REQUIRED), absent=_at(_EVERYWHERE, _VALUE)),
        _verb("memory", "Return the agent memory of a scope: to retain, recall and forget.", Option("scope", "texts", "The scope, from the widest part to the narrowest.", REQUIRED, example="user"), absent=_at(_EVERYWHERE, _VALUE)),
        _verb("entities.neighbourhood", "Return the quads around an entity.", _IRI,
              _number("hops", "The distance from the entity at most.", 2, least=0), _limit("quads", 100), WITHIN,
              absent=_at(_EVERYWHERE, "`describe` and `context` show them")),
        _verb("entities.paths", "Find the shortest paths between two entities.", _text("start", "An entity.", REQUIRED),
              _text("end", "Another entity.", REQUIRED), _number("hops", "The length of a path at most.", 4),
              _limit("paths", 10), WITHIN, absent=_at(_EVERYWHERE, _QUERY)),
        _verb("search_sql", "Return the SQL statements of a search.", _SEARCH_TEXT, *_SEARCH.values(),
              names={"command": "search"}, absent=_at("http agents", "`search` gives it: `explain`, for agents `sql`")),
        _verb("transaction", "Make the writes of a block one revision.", AUTHOR, MESSAGE, BASE,
              Option("guard", "text", "The treatment of a write that violates the shapes."), absent=_at(_EVERYWHERE, _VALUE)),
        *(_verb(name, told, absent=_at(_EVERYWHERE, _VALUE)) for name, told in {
            "interrupt": "Stop the query of another thread.",
            "refresh": "Wait until the replica has the server's state.", "close": "Close the file."}.items()),
    )
}
# fmt: on
ROOMS: frozenset[str] = frozenset(
    {"rules", *(verb.name.partition(".")[0] for verb in VERBS.values() if "." in verb.name)}
)
"""The attributes of a world that are rooms."""
