"""What a memory recalls, and how fast: python -m benchmarks.memory [--users 1000] [--each 100] [--talks 100] [--recall]

Speed: memories of many users, retained and recalled in random order, each after another user's. Texts get a vector of
words at once, so that the figures, in CPU time, are those beside embedding. Retrieval: generated conversations with
facts that change, sessions and distractors, asked in other words (the templates are ours); and collections that others
judged, each text a memory and a session of its own. By words alone, by vectors alone, and by both as `recall` does it.
With --recall, and nothing else, three conversations of 698 turns that were written by hand before the ranking was made,
with 190 questions in other words than the turns', 60 more in the turns' own ("worded", which are in no sum), and the
turns that answer them, in both forms that `retain` takes.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from langgraph.store.base import PutOp

import worlds
from benchmarks.common import Sentences, environment, table, vocabulary
from benchmarks.quality_sets import find_set, shared_data
from worlds.adapters.langgraph import WorldsStore

_MODES = {"words": "text", "vectors": "vector", "default": "hybrid"}
_NAMES = [
    "Ann",
    "Bob",
    "Carla",
    "Dan",
    "Eva",
    "Finn",
    "Greta",
    "Hugo",
    "Ines",
    "Jan",
    "Kira",
    "Leo",
    "Mona",
    "Nils",
    "Olga",
    "Paul",
    "Rita",
    "Sven",
    "Tara",
    "Ulf",
]
_CITIES = ["Berlin", "Lisbon", "Oslo", "Ghent", "Turin", "Cork", "Graz", "Porto", "Bergen", "Lyon", "Basel", "Gdansk"]
_JOBS = ["nurse", "carpenter", "translator", "baker", "pilot", "teacher", "plumber", "librarian", "surveyor", "chemist"]
_FOODS = ["sushi", "goulash", "falafel", "ramen", "paella", "pierogi", "curry", "risotto"]
_PETS = ["a tabby cat", "two canaries", "an old beagle", "a tortoise", "three goldfish", "a grey parrot"]
_FACTS: dict[str, tuple[Sequence[str], Sequence[str], str]] = {  # values, ways to say it, the question
    "home": (
        _CITIES,
        ("We finally unpacked the boxes in our new flat in {}", "I moved to {} last week", "{} is where I sleep now"),
        "Which city does the speaker live in?",
    ),
    "work": (
        _JOBS,
        ("They hired me as a {}", "I started as a {} on Monday", "My new job: {}"),
        "What is the speaker's profession?",
    ),
    "food": (
        _FOODS,
        ("Nothing beats {} on a Friday", "I could eat {} every day", "My favourite dish is {}"),
        "What does the speaker like to eat most?",
    ),
    "pet": (
        _PETS,
        ("At home I have {}", "We adopted {} from the shelter", "{} keep me company now"),
        "Which animals does the speaker keep?",
    ),
}
_CHAT = (
    "The {} was late again today", "Did you see the rain over {}?", "I read about {} in the paper",
    "My cousin hates {}",
    "{} again, can you believe it?", "Let us talk about {} tomorrow", "The weather in {} was dreadful", "Fine, thanks",
    "A friend of mine is a {}", "The neighbour cooks {} on Sundays", "My sister wants {}", "I dreamt of {}",
)  # fmt: skip


class Words:
    """A vector of signs for each word, summed; it takes no time to speak of."""

    name, dimension, max_tokens = "words", 384, 512

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def embed_documents(self, texts: list[str]) -> Any:
        """[n, 384]."""
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        """[384]."""
        total = np.zeros(self.dimension, np.float32)
        for word in text.split():
            if word not in self._known:
                seed = int.from_bytes(word.encode()[:8].ljust(8), "little")
                self._known[word] = np.random.default_rng(seed).normal(size=self.dimension).astype(np.float32)
            total += self._known[word]
        return total / (np.linalg.norm(total) or 1)


def median(taken: Sequence[float]) -> str:
    return f"{statistics.median(taken) * 1e3:.1f}"


def speed(users: int, each: int, folder: Path) -> None:
    """How long `retain` and `recall` take."""
    words = Sentences(vocabulary(20_000), 3)
    dice = random.Random(4)
    world = worlds.open(folder / "speed.db", embedder=Words())
    began = time.process_time()
    for user in range(users):
        memory = world.memory(scope=("user", f"u{user}"))
        with memory.transaction():
            for part in range(0, each, 10):
                memory.retain([words(20) for _ in range(10)], session=f"s{part}")
    filling = time.process_time() - began
    retained, recalled, again, told, made, wide = [], [], [], [], [], []
    for number in range(200):
        memory = world.memory(scope=("user", f"u{dice.randrange(users)}"))
        text = words(20)
        began = time.process_time()
        memory.retain(text, session="new")
        retained.append(time.process_time() - began)
        memory = world.memory(scope=("user", f"u{dice.randrange(users)}"))
        for taken in (recalled, again):
            began = time.process_time()
            memory.recall(words(5))
            taken.append(time.process_time() - began)
        if number % 4 == 0:
            began = time.process_time()
            world.memory(scope=("new", f"u{number}")).retain(text)
            made.append(time.process_time() - began)
        if number % 10 == 0:
            began = time.process_time()
            memory.context(words(5))
            told.append(time.process_time() - began)
    purges = []
    for _ in range(10):
        memory = world.memory(scope=("user", f"u{dice.randrange(users)}"))
        (one,) = memory.memories(limit=1)
        began = time.process_time()
        memory.forget(one, purge=True)
        purges.append(time.process_time() - began)
    store = WorldsStore(world, scope="graph")
    store.batch([PutOp(("user", f"u{user}"), "one", {"text": words(20)}) for user in range(users)])
    for _ in range(5):
        began = time.process_time()
        store.search(("user",), query=words(5))
        wide.append(time.process_time() - began)
    base = []
    for _ in range(50):
        began = time.process_time()
        world.search(words(5))
        base.append(time.process_time() - began)
    title = f"{users * each:,} memories of {users:,} users, milliseconds of CPU time, medians; told in {filling:.0f} s"
    table(
        title,
        ("retain", "the first", "recall", "again", "context", "purge", "a store's prefix", "a search of the world"),
        [[median(taken) for taken in (retained, made, recalled, again, told, purges, wide, base)]],
    )
    world.close()


def conversation(dice: random.Random, sessions: int) -> tuple[list[list[str]], dict[str, tuple[int, int]]]:
    """Sessions of turns, and for each fact the session and turn in which it was told last."""
    told: dict[str, tuple[int, int]] = {}
    talk: list[list[str]] = []
    for session in range(sessions):
        turns = [dice.choice(_CHAT).format(dice.choice([*_CITIES, *_JOBS, *_FOODS, *_NAMES])) for _ in range(12)]
        for fact in dice.sample(list(_FACTS), 1 if dice.random() < 0.4 else 0):
            values, ways, _ = _FACTS[fact]
            place = dice.randrange(len(turns) + 1)
            turns.insert(place, dice.choice(ways).format(dice.choice(values)))
            told[fact] = session, place
        talk.append(turns)
    return talk, told


def conversations(count: int, model: str, folder: Path) -> list[list[object]]:
    """Recall of the last telling of each fact, by session and turn."""
    dice = random.Random(11)
    found: dict[tuple[str, str, int], list[bool]] = {}
    with worlds.open(folder / "talk.db", embedder=model) as world:
        for person in range(count):
            talk, told = conversation(dice, 20)
            memory = world.memory(scope=("user", str(person)))
            with memory.transaction():
                for number, turns in enumerate(talk):
                    at = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T09:00:00Z"
                    memory.retain([("user", turn) for turn in turns], session=str(number), at=at)
            for fact, (session, place) in told.items():
                for name, mode in _MODES.items():
                    hits = memory.recall(_FACTS[fact][2], limit=10, mode=mode)
                    right = [one.session == str(session) and one.text == talk[session][place] for one in hits]
                    same = [one.session == str(session) for one in hits]
                    for kind, marks in (("turn", right), ("session", same)):
                        for depth in (5, 10):
                            found.setdefault((name, kind, depth), []).append(any(marks[:depth]))
    return shares("conversations (ours)", found)


def written(file: Path) -> tuple[list[tuple[str, list[tuple[str, str]]]], dict[str, tuple[int, str]], list[list[str]]]:
    """A conversation: its sessions, each a time with turns (speaker, text), the turns that have a mark, by session and
    text, and the questions: kind, question, marks of the turns that answer."""
    told, _, asked = file.read_text(encoding="utf-8").partition("\n---\n")
    sessions: list[tuple[str, list[tuple[str, str]]]] = []
    marked: dict[str, tuple[int, str]] = {}
    for part in told.split("== ")[1:]:
        time, *lines = part.strip().split("\n")
        turns = []
        for turn in (one for line in lines for one in line.split(" | ")):
            speaker, text, mark = re.fullmatch(r"(\w+): (.*?)(?: #(\w+))?", turn).groups()  # type: ignore[union-attr]
            turns.append((speaker, text))
            if mark:
                marked[mark] = len(sessions), text
        sessions.append((time.replace(" ", "T"), turns))
    questions = [re.split(": | = ", line) for line in asked.strip().split("\n")]
    return sessions, marked, questions


class Kept:
    """An embedder that keeps the vectors of questions, so that figures are those beside embedding."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._known: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_query(self, text: str) -> Any:
        """[d]."""
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]


def recalled(model: str, folder: Path, mode: str) -> None:
    """Recall of the turns that answer questions about the conversations in `conversations/`."""
    rows: dict[tuple[str, str], list[list[float]]] = {}
    taken: dict[str, list[float]] = {}
    for file in sorted((Path(__file__).parent / "conversations").glob("*.txt")):
        sessions, marked, questions = written(file)
        with worlds.open(folder / f"{file.stem}.db", embedder=Kept(worlds.open(embedder=model).embedder)) as world:
            for way in ("(speaker, text)", '"Speaker: text"'):
                memory = world.memory(scope=(file.stem, way[:2]))
                for number, (time_, turns) in enumerate(sessions):
                    told = turns if way[0] == "(" else [f"{who}: {text}" for who, text in turns]
                    memory.retain(told, session=str(number), at=time_)
                for kind, question, *marks in questions:
                    right = [marked[mark] for mark in marks[0].split()] if marks else []
                    memory.recall(question, limit=10, mode=mode)
                    began = time.process_time()
                    found = memory.recall(question, limit=10, mode=mode)
                    taken.setdefault(way, []).append(time.process_time() - began)
                    turn = [any(one.session == str(s) and text in one.text for s, text in right) for one in found]
                    session = [one.session in {str(s) for s, _ in right} for one in found]
                    figures = [any(turn[:1]), any(turn[:5]), any(turn[:10]), any(session[:5])] if right else [0.0] * 4
                    figures.append(found[0].similarity or 0.0)
                    for name in (kind, file.stem, "all") if right and kind != "worded" else (kind,):
                        rows.setdefault((name, way), []).append([float(one) for one in figures])
    table(
        f"What is recalled by {mode}; " + ", ".join(f"{way}: {median(took)} ms of CPU" for way, took in taken.items()),
        ("of", "told as", "questions", "turn @1", "@5", "@10", "session @5", "cosine of the first"),
        [
            [name, way, len(each), *(f"{statistics.mean(column):.3f}" for column in zip(*each, strict=True))]
            for (name, way), each in sorted(rows.items())
        ],
    )


def collection(name: str, model: str, folder: Path) -> list[list[object]]:
    """Recall of the judged texts of a collection: the share of questions of which one of the first ten is right."""
    judged = find_set(name, shared_data(), "joined")
    found: dict[tuple[str, str, int], list[bool]] = {}
    with worlds.open(folder / f"{name}.db", embedder=model) as world:
        memory = world.memory(scope=("collection", name))
        with memory.transaction():
            for subject, _, text in judged.triples():
                memory.retain(str(text.value)[:1000], session=str(subject.value))  # type: ignore[union-attr]
        for question, relevant in judged.judgements.items():
            if question in judged.questions:
                for mode, given in _MODES.items():
                    hits = memory.recall(judged.questions[question], limit=10, mode=given)
                    marks = [one.session in relevant for one in hits]
                    for depth in (5, 10):
                        found.setdefault((mode, "session", depth), []).append(any(marks[:depth]))
    return shares(name, found)


def shares(name: str, found: dict[tuple[str, str, int], list[bool]]) -> list[list[object]]:
    """A row for each kind and depth."""
    kinds = sorted({(kind, depth) for _, kind, depth in found})
    rows: list[list[object]] = []
    for kind, depth in kinds:
        marks = [found[mode, kind, depth] for mode in _MODES]
        rows.append([name, f"{kind} @{depth}", len(marks[0]), *(f"{statistics.mean(one):.3f}" for one in marks)])
    return rows


def given_folders(given: str | None) -> Iterator[Path]:
    """A folder for the worlds."""
    if given is not None:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--talks", type=int, default=100)
    parser.add_argument("--collections", nargs="*", default=["cranfield", "medline"])
    parser.add_argument("--model", default="auto")
    parser.add_argument("--recall", nargs="?", const="hybrid", help="how: hybrid, text or vector")
    options = parser.parse_args()
    environment()
    for folder in given_folders(None):
        if options.recall:
            recalled(options.model, folder, options.recall)
            continue
        if options.users:
            speed(options.users, options.each, folder)
        rows = conversations(options.talks, options.model, folder) if options.talks else []
        for name in options.collections:
            rows += collection(name, options.model, folder)
        if rows:
            table("What is recalled", ("of", "what", "questions", *_MODES), rows)


if __name__ == "__main__":
    main()
