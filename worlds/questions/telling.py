"""Puts the answer of a query into words, for a context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rdflib import URIRef

from worlds.entities.answers import Answer, NearQuestion
from worlds.entities.context import NOTHING, UNNAMED, Context, Contexts
from worlds.entities.limits import check_limit
from worlds.entities.passages import tokens
from worlds.questions.brief import Briefs, alike
from worlds.questions.nearest import Nearest
from worlds.texts.facts import clean

_LONGEST = 120  # characters of a value


def answered(
    question: str, nearest: Nearest, contexts: Contexts, briefs: Briefs, options: Mapping[str, Any]
) -> Context:
    """The context of a question, which begins with the query that answers it; see `World.context`.

    Where that is not sure, all instances of a small class follow that are asked about, else the names for a query; then
    the nearest kept question.
    """
    check_limit(options["budget"], "budget")
    reading, answer, near = nearest.answer(question)
    if reading.kind == "lookup" and answer is None and not near:
        return contexts.compose(question, **options)
    known = partial(briefs.called, language=options["language"])
    most = options["budget"] // 2
    heads = [] if answer is None else [told(answer, most, known)]
    if reading.kind not in ("yes or no", "lookup") and not (answer is not None and answer.told):
        if (table := nearest.answers.table(reading)) is not None:
            heads.append(listed(table, "All that there are: ", most // 2, known))
        else:
            heads.append(briefs.parts(reading, most // 2))
    if near and not (answer is not None and answer.told):
        heads.append(kept(near[0], most // 2))
    head = "\n".join(part for part in heads if part)
    left = options["budget"] - (tokens(head) if head else 0)
    found = contexts.compose(question, **{**options, "budget": left})
    sure = answer is not None and answer.told
    notes = tuple(note for note in found.notes if not (sure and note in (UNNAMED, NOTHING)))
    text = "\n".join(part for part in (head, found.text) if part)
    return replace(found, text=text, kind=reading.kind, answer=answer, near=near, notes=notes)


def kept(near: NearQuestion, budget: int) -> str:
    """A kept question with its query and what differs, in at most `budget` tokens; "" without the room."""
    head = "A kept question like this one: "
    told = alike(near, budget - tokens(head))
    return head + told if told else ""


def told(answer: Answer, budget: int, labels: Callable[[Iterable[Any]], Mapping[Any, str]]) -> str:
    """What a query found, or, where it is not sure, the query alone, in at most `budget` tokens; "" without the room.

    `labels` gives the names of entities.
    """
    if not answer.told:
        unread = [f"“{clean(part.words)}”" for part in answer.parts if part.iri is None and not part.score]
        about = f"not sure of {', '.join(unread)}" if unread else "not sure"
        text = f"This query may answer the question ({about}):\n{answer.query}"
        return text if tokens(text) <= budget else ""
    unnamed = [part.iri for part in answer.parts if not part.words and part.iri is not None]
    kind = "a query" if answer.kept is None else "the query of a kept question"
    by = f"Answer by {kind}{_taking([*dict.fromkeys(unnamed)], labels)}"
    if answer.value is not None:
        return _cut(f"{by}: {'yes' if answer.value else 'no, as far as this world says'}", answer, budget)
    head = f"{by}: " if answer.count == 1 else f"{by}, {answer.count:,} in all: "
    return listed(answer, head, budget, labels)


def listed(answer: Answer, head: str, budget: int, labels: Callable[[Iterable[Any]], Mapping[Any, str]]) -> str:
    """The rows of a query in words, as many as there is room for, and the query."""
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


def _taking(unnamed: Sequence[Any], labels: Callable[[Iterable[Any]], Mapping[Any, str]]) -> str:
    """What joins two things though no word says so, as the only predicate that does."""
    if not unnamed:
        return ""
    names = labels(map(URIRef, unnamed))
    return f" (taking it that “{'”, “'.join(clean(names.get(URIRef(iri)) or iri) for iri in unnamed)}” is meant)"


def _shown(term: Any, names: Mapping[Any, str]) -> str:
    text = clean(names.get(term) or str(term))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _cut(text: str, answer: Answer, budget: int) -> str:
    """With the query, if there is room."""
    whole = f"{text}\nBy: {answer.query}"
    return whole if tokens(whole) <= budget else text if tokens(text) <= budget else ""
