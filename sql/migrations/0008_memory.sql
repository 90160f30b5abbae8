-- Graphs that stand aside, and what is left of revisions whose quads were purged.
ALTER TABLE revisions ADD COLUMN purged_added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revisions ADD COLUMN purged_removed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE memory_graphs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    keeping TEXT
);
CREATE TABLE memory_quads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subject INTEGER NOT NULL,
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL,
    revision INTEGER NOT NULL
);
CREATE UNIQUE INDEX memory_quads_spog ON memory_quads (subject, predicate, object, graph);
CREATE INDEX memory_quads_posg ON memory_quads (predicate, object, subject, graph);
CREATE INDEX memory_quads_o ON memory_quads (object);
CREATE INDEX memory_quads_g ON memory_quads (graph) WHERE graph <> 0;
INSERT INTO sqlite_sequence (name, seq) VALUES ('memory_quads', 536870912);
CREATE TABLE removed_memory_quads (
    subject INTEGER NOT NULL,
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    removed INTEGER NOT NULL
);
CREATE INDEX removed_memory_quads_removed ON removed_memory_quads (removed);
CREATE INDEX removed_memory_quads_graph ON removed_memory_quads (graph, subject);
CREATE TABLE memory_vectors (
    scope TEXT NOT NULL,
    digest BLOB NOT NULL,
    embedding BLOB,
    PRIMARY KEY (scope, digest)
) WITHOUT ROWID;
