"""The verbs of browsing: tree, members, moving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worlds.core.quads.namespaces import listed
from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts, part

if TYPE_CHECKING:
    from worlds.extras.entities.label_order import Ordering
    from worlds.extras.entities.members import Listing, Members
    from worlds.extras.entities.tree_moves import Move, Moving
    from worlds.extras.entities.trees import Tree, Trees


class Browsing(Parts):
    """The verbs of browsing: tree, members, moving."""

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
        above = None if parent is None else self._followed(parent)
        return self._trees.tree(None if of is None else str(of), above, matching, offset, limit, language)

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
        return self._listing.members(
            self._followed(of), facet=predicates, where=where, subclasses=subclasses, offset=offset, limit=limit,
            language=language,
        )  # fmt: skip

    @verb
    def moving(self, iri: object, to: object = None, *, of: object, away: object = None) -> Move:
        """The quads to add and remove that move an entity below another in a tree, or to its top; nothing is written.

        `edit` and `propose` take them. `of` names the tree as `tree` does. `away` is the entity below which it stands,
        or the scheme where it stands at its top; without it, it leaves all its places. A place is said as it was: in
        the same graph, by the same property, from the same side. ArgumentError where the move closes a circle, changes
        nothing, or names an entity that the world does not know.
        """
        named = (None if one is None else self._followed(one) for one in (iri, to, away))
        entity, target, left = named
        return self._moving.move(entity, target, str(of), left)

    def _followed(self, value: object) -> Any:
        """The entity that a caller named, or the one that it was merged into."""
        return self._core.redirects.follow([self._core.namespaces.entity(value)])[0]

    _ordering: Ordering = part("entities.label_order:Ordering")
    _trees: Trees = part("entities.trees:Trees", "_ordering")
    _listing: Listing = part("entities.members:Listing", "_ordering", "_trees")
    _moving: Moving = part("entities.tree_moves:Moving", "_trees")
