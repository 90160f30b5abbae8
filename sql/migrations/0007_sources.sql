-- What a world follows.
CREATE TABLE sources (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    place TEXT NOT NULL,
    graph TEXT NOT NULL UNIQUE,
    graph_hash INTEGER NOT NULL,
    options TEXT NOT NULL,
    state TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE source_files (
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    stamp TEXT NOT NULL,
    digest TEXT NOT NULL,
    error TEXT,
    revision INTEGER NOT NULL,
    places TEXT,
    PRIMARY KEY (source, path)
) WITHOUT ROWID;
CREATE TABLE source_runs (
    source TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (source, revision)
) WITHOUT ROWID;
