"""Facts that hold one after the other, each for a moment, and readers that look whether they see the right one."""

from __future__ import annotations

import datetime
import random
import time
from typing import Any

from rdflib import Literal

HOLDS = 0.15  # seconds
SUBJECT, SAYS = "urn:s", "urn:says"


def plan(world: Any, begin: float, count: int) -> None:
    """State that the words w0, w1, … hold in turn, the first from a time on, in seconds since 1970."""
    with world.transaction():
        for number in range(count):
            edges = [begin + HOLDS * (number + one) for one in (0, 1)]
            since, until = (datetime.datetime.fromtimestamp(edge, datetime.UTC) for edge in edges)
            world.state(SUBJECT, SAYS, Literal(f"word w{number} holds"), valid_from=since, valid_to=until)


def told(world: Any, way: str) -> set[int]:
    """The words that a reader is told, by one of several ways."""
    if way == "search":
        texts = [hit.text for hit in world.search("word holds", mode="text", limit=50)]
    elif way == "query":
        texts = [str(text) for (text,) in world.query(f"SELECT ?o {{ <{SUBJECT}> <{SAYS}> ?o }}")]
    elif way == "combined":
        search = 'SERVICE w:search { ?hit w:query "word holds" ; w:mode "text" ; w:text ?o ; w:limit 50 }'
        found = world.query(f"SELECT ?o {{ {search} <{SUBJECT}> <{SAYS}> ?o }}")
        texts = [str(text) for (text,) in found]
    elif way == "context":
        texts = world.context("What does it say, which word holds?", budget=300).text.splitlines()
    elif way == "scope":
        texts = [str(quad[2]) for quad in world.only(graphs="default").quads(SUBJECT, SAYS)]
    else:
        texts = [str(quad[2]) for quad in world.quads(SUBJECT, SAYS)]
    return {int(word[1:]) for text in texts for word in text.split() if word[:1] == "w" and word[1:].isdigit()}


WAYS = ("search", "query", "combined", "context", "scope", "quads")


def watch(world: Any, begin: float, count: int, asks: int, seed: int) -> int:
    """Ask in random ways until all words are over, at least so often; AssertionError for what is told out of time.

    Gives the number of questions. A word is told if it held all the time that the question took, and may be told only
    if it held at some moment of it.
    """
    draw = random.Random(seed)
    done = 0
    while done < asks or time.time() < begin + HOLDS * count:
        way = draw.choice(WAYS)
        asked = time.time()
        found = told(world, way)
        answered = time.time()
        first, last = ((moment - begin) / HOLDS for moment in (asked - 0.002, answered + 0.002))
        may = {number for number in range(count) if number + 1 > first and number < last}
        assert found <= may, (way, sorted(found), sorted(may), first, last)
        must = {number for number in may if number < first - 0.03 and number + 1 > last + 0.03}
        assert found >= must, (way, sorted(found), sorted(must), first, last)
        done += 1
    return done
