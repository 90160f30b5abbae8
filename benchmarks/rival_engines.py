"""The engines that `benchmarks.rivals` measures: each does as much of the work as it can, by its own means.

Each imports its library where it needs it, so that a process pays for its own alone. A method that an engine lacks is
None: what it cannot do. Rows are the numbers of texts; an entity's IRI ends with its number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

EX = "https://example.org/"
DIMENSION = 384
DEPTH = 100  # of each list before fusion
Row = tuple[int, str, Any]  # number, text, vector


class Engine:
    """One engine over one folder; `classes` are those that filters name, and their members."""

    name = ""
    package = ""  # on PyPI
    full_text = "-"
    history = False
    ranked = True  # full text
    on_disk = True
    load: Any = None  # (N-Triples): quads, and full text where there is some
    load_vectors: Any = None  # (rows)
    insert: Any = None  # (rows): one quad with a text each, and its vector where there are some
    query: Any = None  # (SPARQL) -> count of rows
    text: Any = None  # (question) -> rows, best first
    vector: Any = None  # (vector, class or None) -> rows, best first
    hybrid: Any = None  # (question, vector, class or None) -> rows, best first

    def __init__(self, folder: Path, classes: dict[str, list[int]], texts: Sequence[Row]) -> None:
        self.folder = folder
        self.classes = classes
        self.texts = texts  # that may be asked for a vector; none in a new process

    def open(self) -> None:
        """Begin, or go on with what is on the disk."""

    def close(self) -> None:
        """Leave all on the disk."""


def number(iri: object) -> int:
    return int(re.findall(r"\d+", str(iri))[-1])


def _fts(question: str) -> str:
    return " OR ".join(f'"{word}"' for word in question.split())


def _triples(rows: Iterable[Row]) -> str:
    return "\n".join(f"<{EX}r{row}> <{EX}text> {json.dumps(text)} ." for row, text, _ in rows)


class Worlds(Engine):
    name, package, full_text, history = "Worlds", "worlds-kg", "yes", True

    class Prepared:
        """An embedder that knows the vectors of the texts."""

        name, dimension, max_tokens = "prepared", DIMENSION, 100_000

        def __init__(self, known: dict[str, Any]) -> None:
            self.known = known

        def count_tokens(self, text: str) -> int:
            return len(text.split())

        def embed_documents(self, texts: list[str]) -> Any:
            import numpy as np

            return np.stack([self.known[text] for text in texts])

        def embed_query(self, text: str) -> Any:
            return self.known[text]

    def open(self) -> None:
        import worlds

        embedder = self.Prepared({text: vector for _, text, vector in self.texts})
        self.world = worlds.open(self.folder / "world.db", embedder=embedder)

    def load(self, source: Path) -> None:
        self.world.load(source, embed=False)

    def load_vectors(self, rows: Sequence[Row]) -> None:
        self.world.embed()

    def insert(self, rows: Sequence[Row]) -> None:
        import pyoxigraph as ox

        self.world.add([(f"{EX}r{row}", f"{EX}text", ox.Literal(text)) for row, text, _ in rows])

    def query(self, query: str) -> int:
        return len(self.world.query(query))  # type: ignore[arg-type]  # a SELECT

    def _rows(self, question: str, **options: Any) -> list[int]:
        return [number(hit.subject) for hit in self.world.search(question, **options)]

    def text(self, question: str) -> list[int]:
        return self._rows(question, mode="text")

    def vector(self, vector: Any, chosen: str | None) -> list[int]:
        return self._rows("", mode="vector", vector=vector, types=chosen and EX + chosen)

    def hybrid(self, question: str, vector: Any, chosen: str | None) -> list[int]:
        return self._rows(question, vector=vector, types=chosen and EX + chosen)

    def close(self) -> None:
        self.world.close()


class Oxigraph(Engine):
    name, package = "pyoxigraph", "pyoxigraph"

    def open(self) -> None:
        import pyoxigraph

        self.ox = pyoxigraph
        self.store: Any = pyoxigraph.Store(str(self.folder / "store")) if self.on_disk else pyoxigraph.Store()

    def load(self, source: Path) -> None:
        self.store.bulk_load(path=str(source), format=self.ox.RdfFormat.N_TRIPLES)
        if self.on_disk:
            self.store.flush()

    def insert(self, rows: Sequence[Row]) -> None:
        ox, predicate = self.ox, self.ox.NamedNode(EX + "text")
        self.store.extend([ox.Quad(ox.NamedNode(f"{EX}r{row}"), predicate, ox.Literal(text)) for row, text, _ in rows])

    def query(self, query: str) -> int:
        return sum(1 for _ in self.store.query(query))

    def close(self) -> None:
        del self.store


class OxigraphMemory(Oxigraph):
    name, on_disk = "pyoxigraph, memory", False


class Oxilite(Oxigraph):
    name, package, full_text, ranked, versioning = "oxilite", "oxilite", "yes", False, "off"

    def open(self) -> None:
        import oxilite

        self.ox = oxilite
        self.store = oxilite.Store(str(self.folder / "store.db"), text_index=True, versioning=self.versioning)

    def text(self, question: str) -> list[int]:
        found = self.store.query(
            f"PREFIX oxl: <https://oxilite.dev/ns#> SELECT ?s {{ ?s <{EX}text> ?text "
            f'FILTER(oxl:textMatch(?text, "{question}")) }} LIMIT 10'
        )
        return [number(row[0]) for row in found]


class OxiliteHistory(Oxilite):
    name, history, versioning = "oxilite, history", True, "log"


class Sparq(Engine):
    name, package, full_text = "sparq", "sparq-rdf", "yes"

    def open(self) -> None:
        import sparq

        self.sparq, self.kept = sparq, self.folder / "graph"
        self.graph: Any = sparq.Graph.open(str(self.kept)) if self.kept.exists() else None

    def load(self, source: Path) -> None:
        self.graph = self.sparq.Graph.load(source, format="ntriples")
        self.graph.build_text_index()

    def insert(self, rows: Sequence[Row]) -> None:
        self.graph.update(f"INSERT DATA {{ {_triples(rows)} }}")

    def query(self, query: str) -> int:
        return len(self.graph.query(query).rows)

    def text(self, question: str) -> list[int]:
        return [number(literal.value) for literal, _ in self.graph.text_search(question, any=True, limit=10)]

    def close(self) -> None:
        self.graph.save(str(self.kept))


class Grafeo(Engine):
    name, package = "Grafeo", "grafeo"  # which asks for Python 3.12, so that nothing of it could be measured


class Lance(Engine):
    name, package, full_text = "LanceDB", "lancedb", "yes"

    def open(self) -> None:
        import lancedb

        self.database = lancedb.connect(str(self.folder / "lance"))
        self.table: Any = None
        if (self.folder / "lance" / "texts.lance").exists():
            self.table = self.database.open_table("texts")
        self.members = {name: frozenset(members) for name, members in self.classes.items()}

    def _arrow(self, rows: Sequence[Row]) -> Any:
        import pyarrow as pa

        flat = pa.array([each for _, _, vector in rows for each in vector], type=pa.float32())
        columns = {
            "row": pa.array([row for row, _, _ in rows]),
            "text": pa.array([text for _, text, _ in rows]),
            "vector": pa.FixedSizeListArray.from_arrays(flat, DIMENSION),
        }
        classes = {name: pa.array([row in held for row, _, _ in rows]) for name, held in self.members.items()}
        return pa.table(columns | classes)

    def load_vectors(self, rows: Sequence[Row]) -> None:
        from lancedb.index import FTS

        self.table = self.database.create_table("texts", self._arrow(rows))
        self.table.create_index("text", config=FTS())

    def insert(self, rows: Sequence[Row]) -> None:
        self.table.add(self._arrow(rows))

    @staticmethod
    def _rows(search: Any, chosen: str | None) -> list[int]:
        narrowed = search if chosen is None else search.where(chosen)
        return [one["row"] for one in narrowed.limit(10).to_list()]

    def text(self, question: str) -> list[int]:
        return self._rows(self.table.search(question, query_type="fts"), None)

    def vector(self, vector: Any, chosen: str | None) -> list[int]:
        return self._rows(self.table.search(vector).distance_type("cosine"), chosen)

    def hybrid(self, question: str, vector: Any, chosen: str | None) -> list[int]:
        both = self.table.search(query_type="hybrid").vector(vector).text(question).distance_type("cosine")
        return self._rows(both, chosen)


class SqliteVec(Engine):
    """Vectors in a table of sqlite-vec, words in FTS5, fused in Python by reciprocal ranks."""

    name, package, full_text = "sqlite-vec + FTS5", "sqlite-vec", "yes"

    def open(self) -> None:
        import apsw
        import sqlite_vec

        self.db = apsw.Connection(str(self.folder / "texts.db"))
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())
        self.db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -131072")
        self.members = {name: frozenset(members) for name, members in self.classes.items()}

    def _table(self) -> None:
        classes = "".join(f", {name} boolean" for name in self.classes)
        self.db.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61')")
        self.db.execute(
            f"CREATE VIRTUAL TABLE vectors USING vec0 (embedding float[{DIMENSION}] distance_metric=cosine{classes})"
        )

    def _vectors(self, rows: Sequence[Row]) -> None:
        marks = ", ".join("?" * (2 + len(self.classes)))
        names = "".join(f", {name}" for name in self.classes)
        self.db.executemany(
            f"INSERT INTO vectors (rowid, embedding{names}) VALUES ({marks})",
            ((row, bytes(vector), *(row in held for held in self.members.values())) for row, _, vector in rows),
        )

    def load_vectors(self, rows: Sequence[Row]) -> None:
        with self.db:
            self._table()
            self._insert(rows)

    def _insert(self, rows: Sequence[Row]) -> None:
        self.db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", ((row, text) for row, text, _ in rows))
        self._vectors(rows)

    def insert(self, rows: Sequence[Row]) -> None:
        with self.db:
            self._insert(rows)

    def _by_words(self, question: str, chosen: str | None, limit: int) -> list[int]:
        among = "" if chosen is None else "AND +rowid IN (SELECT value FROM json_each(?))"
        given = [] if chosen is None else [json.dumps(self.classes[chosen])]
        statement = f"SELECT rowid FROM words WHERE words MATCH ? {among} ORDER BY bm25(words) LIMIT {limit}"
        return [row for (row,) in self.db.execute(statement, (_fts(question), *given))]

    def _nearest(self, vector: Any, chosen: str | None, limit: int) -> list[int]:
        among = "" if chosen is None else f"AND {chosen} = 1"
        statement = f"SELECT rowid FROM vectors WHERE embedding MATCH ? AND k = {limit} {among}"
        return [row for (row,) in self.db.execute(statement, (bytes(vector),))]

    def text(self, question: str) -> list[int]:
        return self._by_words(question, None, 10)

    def vector(self, vector: Any, chosen: str | None) -> list[int]:
        return self._nearest(vector, chosen, 10)

    def hybrid(self, question: str, vector: Any, chosen: str | None) -> list[int]:
        scores: dict[int, float] = {}
        for ranked in (self._nearest(vector, chosen, DEPTH), self._by_words(question, chosen, DEPTH)):
            for rank, row in enumerate(ranked, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda row: (-scores[row], row))[:10]

    def close(self) -> None:
        self.db.close()


class NumPy(SqliteVec):
    """The same with all vectors in memory, from a file, and the members of classes at hand."""

    name, package = "NumPy + FTS5", "numpy"

    def open(self) -> None:
        import apsw
        import numpy as np

        self.np, self.kept = np, self.folder / "vectors.f4"
        self.db = apsw.Connection(str(self.folder / "texts.db"))
        self.db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -131072")
        self.rows = {name: np.array(members) for name, members in self.classes.items()}
        self.matrix: Any = np.fromfile(self.kept, dtype="<f4").reshape(-1, DIMENSION) if self.kept.exists() else None

    def _table(self) -> None:
        self.db.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61')")

    def _vectors(self, rows: Sequence[Row]) -> None:  # numbers follow each other
        added = self.np.stack([vector for _, _, vector in rows])
        self.matrix = added if self.matrix is None else self.np.concatenate([self.matrix, added])
        with self.kept.open("ab") as file:
            added.tofile(file)

    def _nearest(self, vector: Any, chosen: str | None, limit: int) -> list[int]:
        np, rows = self.np, None if chosen is None else self.rows[chosen]
        near = (self.matrix if rows is None else self.matrix[rows]) @ vector
        limit = min(limit, len(near))
        best = np.argpartition(-near, limit - 1)[:limit]
        best = best[np.argsort(-near[best])]
        found: list[int] = (best if rows is None else rows[best]).tolist()
        return found


ENGINES = {
    kind.name: kind
    for kind in (
        Worlds, OxigraphMemory, Oxigraph, Oxilite, OxiliteHistory, Sparq, Grafeo, Lance, SqliteVec, NumPy
    )
}  # fmt: skip
