"""The room of entities: names, neighbours, trees, forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from worlds.core.quads.namespaces import listed
from worlds.core.search.hits import SearchResults
from worlds.errors import ArgumentError
from worlds.rooms.room import Room
from worlds.verbs.invocation import verb_of

if TYPE_CHECKING:
    from worlds.extras.curation.forms.form_builder import Form
    from worlds.extras.curation.linking.links import Mentions
    from worlds.extras.entities.members import Members
    from worlds.extras.entities.names import Resolution
    from worlds.extras.entities.neighbours import Neighbourhood, Path
    from worlds.extras.entities.new_iris import Minted
    from worlds.extras.entities.tree_moves import Move
    from worlds.extras.entities.trees import Tree

verb = verb_of("entities")


class EntitiesRoom(Room):
    """The entities of a world: find those that are like one, name, mint, walk, list and edit them."""

    _name = "entities"

    @verb
    def similar(self, iri: object, *, limit: int = 10, **options: Any) -> SearchResults:
        """Find entities like this one: one hit for each, the likest first, without the entity itself.

        They are compared by the means of the vectors of their texts: a score is their cosine. First come the 100 that
        have the nearest texts, ordered by it, then the next 100, and so on. Where the entity has no vectors, or with
        mode="text", they are compared by the words that they share. `options` are those of `search`, all filters and
        `cursor` among them; with stages after fusion or `min_similarity`, entities are ranked by their nearest text, as
        these ask.
        """
        return self._world._similar.find(self._entity(iri), limit=limit, **options)

    @verb
    def resolve_all(
        self,
        names: Iterable[str | tuple[str, str | None]],
        *,
        types: object = None,
        where: object = None,
        graphs: object = None,
        limit: int = 5,
    ) -> list[Resolution]:
        """Resolve many names, each given alone or as (name, context); one `Resolution` for each, in their order."""
        if isinstance(names, str):
            raise TypeError(f"resolve_all takes many names, such as [{names!r}], not a str; resolve takes one")
        asked = [(item, None) if isinstance(item, str) else item for item in names]
        for item in asked:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise TypeError(f"a name must be a str, or a pair of a name and its context, not {item!r}")
        return self._world._resolver.resolve_all(asked, types=types, where=where, graphs=graphs, limit=limit)

    @verb
    def mint(self, label: str | None = None, *, type: object = None, key: str | None = None) -> Minted:
        """An IRI for an entity, by `policy.iris`: that of the one that is there, or a new one that nothing has.

        What the `label` means is resolved first, among entities of the `type`: a match is given, and what it may be is
        told in the notes. A new IRI that another entity has already gets a number behind it; one of a {key} is that of
        the entity with this key. Nothing is written: the IRI is taken once a quad has it. ArgumentError where the
        policy has no namespace, or its template asks for what is not given.
        """
        iris = self._core.chunks.policy.iris
        if not iris:
            told = "https://example.org/id/"
            raise ArgumentError(f"the policy has no namespace for new IRIs, such as iris={{'namespace': {told!r}}}")
        kind = None if type is None else self._core.namespaces.iri("type", type)
        return self._world._minting.mint(iris, label=label, type=kind, key=key)

    @verb
    def neighbourhood(self, iri: object, *, hops: int = 2, limit: int = 100, graphs: object = None) -> Neighbourhood:
        """The quads around an entity, in both directions, and the entities in them with their labels.

        The nearest come first; where there are more than `limit` quads, each predicate has its turn. A hop never goes
        through a class to all its instances. The neighbourhood of an unknown entity is empty, and false. `graphs` are
        those that are looked at, as if there were no others.
        """
        return self._world._neighbours.neighbourhood(self._entity(iri), hops=hops, limit=limit)

    @verb
    def paths(self, start: object, end: object, *, hops: int = 4, limit: int = 10, graphs: object = None) -> list[Path]:
        """The shortest ways between two entities, of `hops` steps at most, over quads in either direction.

        All have the same length; at most `limit` are given. A way never goes through rdf:type. `graphs` are those that
        are looked at, as if there were no others.
        """
        return self._world._neighbours.paths(self._entity(start), self._entity(end), hops=hops, limit=limit)

    @verb
    def mentions(self, text: object, *, types: object = None, where: object = None, graphs: object = None) -> Mentions:
        """Which entities a text names, by a label or an alias: where, and how surely, in the order of the text.

        Names are compared without regard to case, accents and punctuation. Of names that overlap the longest counts,
        whatever its type. Of its namesakes (of `types` and those that match the pattern `where`, if given) that one is
        meant of which most of the words around are said; `confidence` is that of `resolve`, by words. Instead of a text
        it takes a document, by its IRI or prefixed name: then the texts of its quads are read, without mentions of
        itself. Linear in the text; the names are read once, until the world changes. `graphs` are those that names are
        looked for in, as if there were no others.
        """
        among = self._core.searches.among(where)
        return self._world._linker.mentions(text, types, among).noting(self._core.searches.unknown(types=types))

    @verb
    def form(self, iri: object = None, *, types: object = None, language: str | None = None) -> Form:
        """Give the fields in which an entity is edited, or a new one is made: a `Form`.

        First come the fields that the world's shapes declare for the entity or its `types`, with cardinality, datatype,
        classes, choices, bounds, and the words of sh:name and sh:description; then what 300 other entities of these
        classes usually have, with the share that has it; then whatever else the entity has. Each field has its values,
        with the graphs and revisions that say them, and what the shapes find wrong with them. Labels in `language` come
        first. The form's `revision` is the `base` of a change (see `transaction`). ArgumentError without an entity and
        without a type.
        """
        kinds = [] if types is None else [self._core.namespaces.iri("types", one) for one in listed(types)]
        if iri is None and not kinds:
            raise ArgumentError("a form needs an entity, or the types of a new entity")
        entity = None if iri is None else self._core.redirects.follow([self._core.namespaces.entity(iri)])[0]
        return self._world._forms.form(entity, kinds, language)

    @verb
    def tree(
        self,
        of: object = None,
        *,
        parent: object = None,
        matching: str | None = None,
        offset: int = 0,
        limit: int = 100,
        language: str | None = None,
        graphs: object = None,
    ) -> Tree:
        """A level of a tree: the entities directly below `parent`, or at the top, from A to Z by labels in `language`.

        `of` is a concept scheme (skos:broader and skos:narrower), or a property that leads from an entity to a broader
        one: rdfs:subClassOf, ex:partOf; "^ex:hasPart" leads the other way. Without it, the trees of the world are
        given. At the top of a scheme stand its top concepts and its concepts that nothing in it is above; where a
        circle has no way in, one of its entities stands at the top. A concept that is only in other schemes is left
        out. `matching` finds the entities of the tree that have words in a label or an alias, the best first, each
        with its path. `graphs` are those that are read, as if there were no others.
        """
        above = None if parent is None else self._entity(parent)
        return self._world._trees.tree(None if of is None else str(of), above, matching, offset, limit, language)

    @verb
    def members(
        self,
        of: object,
        *,
        where: str | None = None,
        subclasses: bool = False,
        facet: object = None,
        offset: int = 0,
        limit: int = 100,
        language: str | None = None,
        graphs: object = None,
    ) -> Members:
        """A page of the instances of a class, the concepts of a scheme, or the subjects of a property, from A to Z.

        `where` is a SPARQL group pattern over ?subject that they have to match. With `subclasses`, those of the classes
        below count, too. `facet` are predicates whose values are counted over all members, not those of the page. A
        list of 100,000 members takes a third of a second when it is first read, and again after a write.
        """
        predicates = [] if facet is None else [self._core.namespaces.iri("facet", one) for one in listed(facet)]
        return self._world._listing.members(
            self._entity(of), facet=predicates, where=where, subclasses=subclasses, offset=offset, limit=limit,
            language=language,
        )  # fmt: skip

    @verb
    def moving(self, iri: object, to: object = None, *, of: object, away: object = None) -> Move:
        """The quads to add and remove that move an entity below another in a tree, or to its top; nothing is written.

        `edit` and `proposals.add` take them. `of` names the tree as `tree` does. `away` is the entity below which it
        stands, or the scheme where it stands at its top; without it, it leaves all its places. A place is said as it
        was: in the same graph, by the same property, from the same side. ArgumentError where the move closes a circle,
        changes nothing, or names an entity that the world does not know.
        """
        named = (None if one is None else self._entity(one) for one in (iri, to, away))
        entity, target, left = named
        return self._world._moving.move(entity, target, str(of), left)
