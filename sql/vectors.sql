-- The vectors of one world and their native index. They exist from the moment the world knows its embedder,
-- whose dimension takes the place of {dimension}.

-- name: create_vectors
-- One row for each distinct vector: equal vectors, stored twice, would ruin the index's graph.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- always the same vector, also after it was retired and came back
    key BLOB UNIQUE,                      -- BLAKE2b-128 of the vector, rounded to 1e-3
    embedding F32_BLOB({dimension})       -- little-endian float32, unit length; NULL: the text has no direction
);

-- name: create_vector_index
CREATE INDEX vectors_embedding ON vectors (
    libsql_vector_idx(
        embedding,
        'metric=cosine', 'compress_neighbors=float1bit', 'max_neighbors=20', 'alpha=1.0', 'search_l=400'
    )
);

-- name: native_index_tables
-- The tables that libSQL makes for the index, as they stand in its files; nobody else makes them.
CREATE TABLE libsql_vector_meta_shadow (name TEXT PRIMARY KEY, metadata BLOB) WITHOUT ROWID;
CREATE TABLE vectors_embedding_shadow (index_key INTEGER, data BLOB, PRIMARY KEY (index_key));
CREATE INDEX vectors_embedding_shadow_idx ON vectors_embedding_shadow (index_key);

-- name: drop_vector_index
-- VACUUM doubles the index's row in its table of settings. One that stayed would make the next index silently empty.
-- SQLite, which sees an ordinary index without entries, leaves libSQL's tables behind.
DROP INDEX IF EXISTS vectors_embedding;
DROP TABLE IF EXISTS vectors_embedding_shadow;
DROP TABLE IF EXISTS libsql_vector_meta_shadow;

-- name: set_vectors_aside
-- They come back into an empty table with its index, slice by slice, for a statement cannot tell how far it has come.
ALTER TABLE vectors RENAME TO vectors_aside;

-- name: bring_vectors_back
INSERT INTO vectors (id, key, embedding)
SELECT id, key, embedding FROM vectors_aside WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: forget_vectors_aside
DELETE FROM sqlite_sequence WHERE name = 'vectors';
INSERT INTO sqlite_sequence (name, seq) SELECT 'vectors', seq FROM sqlite_sequence WHERE name = 'vectors_aside';
DROP TABLE vectors_aside;

-- name: drop_vectors
UPDATE chunks SET vector = NULL WHERE vector IS NOT NULL;
DELETE FROM embedded_texts WHERE true;
DELETE FROM retired_vectors WHERE true;
DELETE FROM vector_codes WHERE true;
DROP TABLE vectors;

-- name: create_new_vectors
-- What another embedder gives, beside the vectors that answer meanwhile; see reembedding.sql.
CREATE TABLE IF NOT EXISTS new_vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB UNIQUE,
    embedding F32_BLOB({dimension})
);
CREATE TABLE IF NOT EXISTS new_codes (id INTEGER PRIMARY KEY, code BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS new_texts (digest BLOB PRIMARY KEY, vector INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS new_chunks (chunk INTEGER PRIMARY KEY, vector INTEGER NOT NULL);

-- name: drop_new_vectors
DROP TABLE IF EXISTS new_vectors;
DROP TABLE IF EXISTS new_codes;
DROP TABLE IF EXISTS new_texts;
DROP TABLE IF EXISTS new_chunks;

-- name: take_new_vectors
-- Chunks that went meanwhile leave vectors behind that no chunk has.
UPDATE chunks SET vector = (SELECT vector FROM new_chunks WHERE new_chunks.chunk = chunks.id);
INSERT INTO vectors (id, key, embedding)
SELECT id, key, embedding FROM new_vectors WHERE id IN (SELECT vector FROM chunks);
INSERT INTO vector_codes (id, code) SELECT id, code FROM new_codes WHERE id IN (SELECT id FROM vectors);
INSERT INTO embedded_texts (digest, vector)
SELECT digest, vector FROM new_texts WHERE vector IN (SELECT id FROM vectors);
