"""The room of shapes: validation and the guard."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from worlds.extras.curation.changing.shapes_graph import Shapes
from worlds.extras.shapes.guard import GuardSetting
from worlds.rooms.room import Room
from worlds.verbs.invocation import setting, verb_of

if TYPE_CHECKING:
    from worlds.extras.shapes.report import ValidationReport
    from worlds.verbs.parts import Parts

verb = verb_of("shapes")


class ShapesRoom(Room, Shapes):
    """The world's own SHACL shapes: `load`, `add` and `remove` write them, `validate` and `guard` check data by them.

    They are the graph <urn:worlds:shapes> of the world."""

    _name = "shapes"
    __repr__ = Shapes.__repr__

    def __init__(self, world: Parts) -> None:
        Room.__init__(self, world)
        Shapes.__init__(self, world._core, world._shape_checker)

    @verb
    def validate(
        self, *, subjects: Iterable[object] | None = None, shapes: object = None, timeout: float | None = None
    ) -> ValidationReport:
        """Validate the data against SHACL shapes: a `ValidationReport` of every violation, by shape and focus node.

        `shapes` is an rdflib graph or what `load` takes (a file, bytes, …); None takes the world's own, in its graph
        <urn:worlds:shapes>. What is validated is the union of all graphs of data. `subjects` are the only focus
        nodes then, of those that the shapes target. SHACL Core and SHACL-SPARQL are checked
        (https://www.w3.org/TR/shacl/), over sets of nodes. Shapes that are not well formed, refer to themselves, or ask
        for what is not checked are left out, and the report's `left_out` says why; ShapesError if none with a
        target are left, or given. It takes `timeout` seconds at most, 60 if none is given (QueryTimeout).
        """
        given = None if subjects is None else [self._core.namespaces.term(subject) for subject in subjects]
        return self._world._shape_checker.validate(given, shapes, timeout)

    @property
    def guard(self) -> GuardSetting:
        """The treatment of a write that brings violations of the world's shapes; "off" in a new world.

        "warn" keeps it and says so in the change's `.notes`; "queue" changes nothing and proposes it (an empty change,
        whose note names the proposal); "reject" raises ValidationError, and nothing is changed. A write, or the whole
        of a transaction, is validated before it is kept, on the focus nodes that it can touch; what was violated before
        counts for nothing. Results of other severities than sh:Violation are notes. The setting is stored in the file;
        `transaction(guard=…)` comes before it.
        """
        return self._world._guard.setting

    @guard.setter
    @setting
    def guard(self, setting: GuardSetting) -> None:
        self._world._guard.put(setting)

    @verb
    def set_guard(self, setting: GuardSetting, *, partly: bool = False) -> None:
        """Set `guard`, which is refused (ShapesError) where some of the world's shapes cannot be checked.

        With `partly` it goes by the others, which `shapes.left_out` are not, now and later.
        """
        self._world._guard.put(setting, partly=partly)
