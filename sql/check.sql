-- What check() compares. Statements that look for damage give the ids of what is damaged.

-- name: schema_objects
SELECT type, name FROM sqlite_master;

-- ---- terms and quads -----------------------------------------------------------------------------------------------

-- name: terms_with_hashes
SELECT id, kind, value, datatype, language, direction, hash FROM terms WHERE id > :after ORDER BY id LIMIT :limit;

-- name: equal_terms
-- Terms that stand twice: (an id, how often).
WITH shared (hash) AS (SELECT hash FROM terms INDEXED BY terms_hash GROUP BY hash HAVING count(*) > 1)
SELECT max(terms.id), count(*)
FROM shared CROSS JOIN terms INDEXED BY terms_hash ON terms.hash = shared.hash
GROUP BY terms.kind, terms.value, terms.datatype, terms.language, terms.direction HAVING count(*) > 1;

-- name: removed_in_range
SELECT max(rowid), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT rowid, * FROM removed_quads WHERE rowid > :after ORDER BY rowid LIMIT :limit);

-- ---- revisions -----------------------------------------------------------------------------------------------------

-- name: revisions
-- Gives (revision, quads and graphs that it added, that it removed, but for those that were purged, the smallest id that a quad of it may have).
SELECT revision, added + created - purged_added, removed + dropped - purged_removed, first_quad FROM revisions;

-- name: quads_by_revision
-- Gives (revision, quads that it added and that still hold, the smallest id among them).
SELECT revision, count(*), min(id) FROM quads GROUP BY revision;

-- name: removed_by_revision
-- Gives (revision, quads that it added and that hold no longer).
SELECT revision, count(*) FROM removed_quads GROUP BY revision;

-- name: removals_by_revision
SELECT removed, count(*) FROM removed_quads GROUP BY removed;

-- ---- chunks --------------------------------------------------------------------------------------------------------

-- name: chunks_by_term
-- The chunks after one, by literal and position.
SELECT id, term, start, end, text, segmented, vector FROM chunks INDEXED BY chunks_term
WHERE (term, id) > (:term, :chunk) ORDER BY term, id LIMIT :limit;

-- name: texts_of
-- Gives (term id, text, language tag) of literals, and of profiles by what their chunks have as their term.
SELECT sought.value, CASE
    WHEN sought.value < 0 THEN (SELECT text FROM profiles WHERE subject = -1 - sought.value)
    ELSE (SELECT value FROM terms WHERE id = sought.value)
END, (SELECT language FROM terms WHERE id = sought.value)
FROM json_each(:ids_json) AS sought;

-- name: chunks_not_in_full_text
SELECT id FROM chunks WHERE id NOT IN (SELECT id FROM chunks_fts_docsize);

-- name: full_text_without_chunks
SELECT id FROM chunks_fts_docsize WHERE id NOT IN (SELECT id FROM chunks);

-- name: compare_full_text
-- Raises if the full-text index disagrees with the chunks; writes nothing, but counts as a write.
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1);

-- name: chunk_ids
SELECT group_concat(id) FROM chunks;

-- name: some_texts
-- Gives (chunk id, indexed text) of chunks spread over all.
SELECT id, text FROM indexed_texts WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: found_by_text
SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH :phrase AND rowid = :chunk;

-- ---- vectors -------------------------------------------------------------------------------------------------------

-- name: count_embedded
-- Gives (chunks with a vector, embedded texts, codes, retired vectors).
SELECT (SELECT count(*) FROM chunks WHERE vector IS NOT NULL), (SELECT count(*) FROM embedded_texts),
       (SELECT count(*) FROM vector_codes), (SELECT count(*) FROM retired_vectors);

-- name: chunks_without_their_vector
SELECT id FROM chunks WHERE vector IS NOT NULL AND vector NOT IN (SELECT id FROM vectors NOT INDEXED);

-- name: vectors_without_chunks
SELECT id FROM vectors NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.vector = vectors.id);

-- name: vectors_twice
SELECT id FROM vectors NOT INDEXED WHERE id IN (SELECT id FROM retired_vectors);

-- name: texts_without_their_vector
SELECT DISTINCT vector FROM embedded_texts
WHERE vector NOT IN (SELECT id FROM vectors NOT INDEXED) AND vector NOT IN (SELECT id FROM retired_vectors);

-- name: vector_ids
SELECT group_concat(id) FROM vectors WHERE embedding IS NOT NULL;

-- name: vectors_in_range
SELECT id, key, embedding FROM vectors WHERE id > :after ORDER BY id LIMIT :limit;

-- name: vectors_by_id
SELECT id, embedding FROM vectors WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: codes_in_range
SELECT id, code FROM vector_codes WHERE id > :after AND id <= :last;

-- name: codes_without_vectors
SELECT id FROM vector_codes WHERE id NOT IN (SELECT id FROM vectors NOT INDEXED);

-- name: tables_without_vectors
SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'vectors' AND rootpage > 0;

-- name: vectors_not_in_index
SELECT id FROM vectors WHERE embedding IS NOT NULL AND id NOT IN (SELECT index_key FROM vectors_embedding_shadow);

-- name: index_without_vectors
SELECT index_key FROM vectors_embedding_shadow WHERE index_key NOT IN (SELECT id FROM vectors WHERE embedding IS NOT NULL);

-- name: nearest_by_index
SELECT id FROM vector_top_k('vectors_embedding', :query, :depth);

-- ---- proposals -----------------------------------------------------------------------------------------------------

-- name: proposals
SELECT id, status, (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = proposals.id), revision
FROM proposals;
