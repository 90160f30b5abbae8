"""Puts the answer of a query into words, for a context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from worlds.core.texts.entity_facts import clean
from worlds.extras.entities.context import NOTHING, UNNAMED, Context, Contexts
from worlds.extras.entities.context_text import tokens
from worlds.extras.entities.kept_questions import Answer, NearQuestion
from worlds.extras.entities.limits import check_limit
from worlds.extras.questions.brief import Briefs, alike
from worlds.extras.questions.nearest import Nearest

_LONGEST = 120  # characters of a value


def answered(
    question: str, nearest: Nearest, contexts: Contexts, briefs: Briefs, options: Mapping[str, Any]
) -> Context:
    """The context of a question, beginning with the kept answer to it or the nearest; see `World.context`."""
    check_limit(options["budget"], "budget")
    answer, near = nearest.answer(question)
    most = options["budget"] // 2
    head = "" if answer is None else told(answer, most, partial(briefs.called, language=options["language"]))
    sure = answer is not None and answer.told
    if near and not sure:
        head = "\n".join(filter(None, (head, kept(near[0], most // 2))))
    left = options["budget"] - (tokens(head) if head else 0)
    found = contexts.compose(question, **{**options, "budget": left})
    notes = tuple(note for note in found.notes if not (sure and note in (UNNAMED, NOTHING)))
    text = "\n".join(filter(None, (head, found.text)))
    return replace(found, text=text, answer=answer, near=near, notes=notes)


def kept(near: NearQuestion, budget: int) -> str:
    """A kept question with its query and its differences, in at most `budget` tokens; "" without the room."""
    head = "A kept question like this one: "
    told = alike(near, budget - tokens(head))
    return head + told if told else ""


def told(answer: Answer, budget: int, labels: Callable[[Iterable[Any]], Mapping[Any, str]]) -> str:
    """The results of a query, or else the query alone, in at most `budget` tokens; "" without the room.

    `labels` gives the names of entities.
    """
    if not answer.told:
        text = f"The query that is kept for this question finds nothing here, or not in time:\n{answer.query}"
        return text if tokens(text) <= budget else ""
    by = "Answer by the query of a kept question"
    if answer.value is not None:
        return _cut(f"{by}: {'yes' if answer.value else 'no, as far as this world says'}", answer, budget)
    head = f"{by}: " if answer.count == 1 else f"{by}, {answer.count:,} in all: "
    names = labels({term for row in answer.rows for term in row if term is not None})
    rows = [" ".join(_shown(term, names) for term in row if term is not None) for row in answer.rows]
    text = head
    for number, row in enumerate(rows):
        rest = f"; and {answer.count - number:,} more"
        if tokens(text + row + rest) > budget and number:
            text += rest
            break
        text += f"; {row}" if number else row
    return _cut(text, answer, budget)


def _shown(term: Any, names: Mapping[Any, str]) -> str:
    text = clean(names.get(term) or str(term))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _cut(text: str, answer: Answer, budget: int) -> str:
    """With the query, if there is room."""
    whole = f"{text}\nBy: {answer.query}"
    return whole if tokens(whole) <= budget else text if tokens(text) <= budget else ""
