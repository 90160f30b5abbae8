"""The room of questions: kept queries, and briefs for those who write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlds.extras.questions.question_store import Questions
from worlds.rooms.room import Room
from worlds.verbs.invocation import verb_of

if TYPE_CHECKING:
    from worlds.extras.questions.brief import Brief
    from worlds.verbs.parts import Parts

verb = verb_of("questions")


class QuestionsRoom(Room, Questions):
    """The kept questions of a world, with the queries that answer them: `add`, `load` and `remove` write them.

    They are the graph <urn:worlds:questions>. `context` and `brief` show those that are near to what is asked, and
    answer by the query of the same question; `near` finds them, and `check` asks all anew."""

    _name = "questions"
    __repr__ = Questions.__repr__

    def __init__(self, world: Parts) -> None:
        Room.__init__(self, world)
        Questions.__init__(self, world._core, world.query, lambda: world._nearest)

    @verb
    def brief(self, question: str, *, budget: int = 2000, graphs: object = None) -> Brief:
        """The brief for a model that writes the query of a question, in at most `budget` tokens of 3.5 bytes.

        These are the entities that the question names, with their classes; the classes and predicates that bear on it,
        by their names, by their meaning where there are vectors, and by the entities, with their ends, counts and
        examples; the prefixes of all these; and the query that is kept for it, or for those that are near. `graphs` are
        those that it tells of, as if there were no others.
        """
        return self._world._briefs.brief(question, budget)
