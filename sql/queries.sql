-- Statements that read and write one world, by their caller.
-- A parameter that ends in _json is a JSON array; term ids, chunk ids and the like are integers.

-- ---- terms ---------------------------------------------------------------------------------------------------------

-- name: last_term
-- The last id that was given to a term: an id is never given twice, also when compact() removed its term.
SELECT max(coalesce((SELECT max(id) FROM terms), 0),
           coalesce((SELECT value FROM meta WHERE name = 'last_term'), 0));

-- name: find_terms
-- The terms of which the values have some hashes; the caller compares the rest, in half the time that SQL takes.
SELECT terms.id, terms.kind, terms.value, terms.datatype, terms.language, terms.direction
FROM json_each(:hashes_json) AS sought CROSS JOIN terms ON terms.hash = sought.value;

-- name: insert_terms
-- texts_json: ten digits of the hash and the value, of terms that differ in these alone; a third of the cost of VALUES.
INSERT INTO terms (id, kind, value, datatype, language, direction, hash)
SELECT :first + key, :kind, substr(value, 11), :datatype, :language, :direction, substr(value, 1, 10) + 0
FROM json_each(:texts_json);

-- name: terms_by_id
SELECT terms.id, kind, terms.value, datatype, language, direction
FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value;

-- name: terms_in_range
SELECT id, kind, value, datatype, language, direction FROM terms WHERE id > :after ORDER BY id LIMIT :limit;

-- name: typed_in_range
-- The same of triple terms, and of literals that state their datatype.
SELECT id, kind, value, datatype, language, direction FROM terms
WHERE id > :after AND (kind = 4 OR datatype IS NOT NULL) ORDER BY id LIMIT :limit;

-- name: nodes_after
-- Gives (id, kind, value) of the blank nodes and triple terms that are newer than a term.
SELECT id, kind, value FROM terms WHERE id > :after AND kind IN (2, 4);

-- name: nodes_among
SELECT terms.id, kind, terms.value
FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value
WHERE kind IN (2, 4);

-- name: change_triple
UPDATE terms SET value = :value, hash = :hash WHERE id = :term;

-- name: delete_terms
DELETE FROM terms WHERE id IN (SELECT value FROM json_each(:ids_json));

-- ---- quads ---------------------------------------------------------------------------------------------------------

-- name: find_quads
-- rows_json: [subject, predicate, object, graph]. Gives (position in rows_json, quad id, the revision that added it).
SELECT sought.key, quads.id, quads.revision
FROM json_each(:rows_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = sought.value ->> 0 AND quads.predicate = sought.value ->> 1
    AND quads.object = sought.value ->> 2 AND quads.graph = sought.value ->> 3;

-- name: purged
-- Counts the quads that leave nothing behind: those that this revision added, and those that it removed.
UPDATE revisions SET purged_added = purged_added + :added, purged_removed = purged_removed + :removed
WHERE revision = :revision;

-- name: objects_beside
-- keys_json: [subject, predicate, graph or null]; this one and the next two give the terms that stand beside.
SELECT quads.object
FROM json_each(:keys_json) AS sought CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = sought.value ->> 0 AND quads.predicate = sought.value ->> 1
    AND quads.graph = coalesce(sought.value ->> 2, quads.graph)
LIMIT :limit;

-- name: subjects_beside
-- keys_json: [predicate, object, graph or null].
SELECT quads.subject
FROM json_each(:keys_json) AS sought CROSS JOIN quads INDEXED BY quads_posg
    ON quads.predicate = sought.value ->> 0 AND quads.object = sought.value ->> 1
    AND quads.graph = coalesce(sought.value ->> 2, quads.graph)
LIMIT :limit;

-- name: graphs_beside
-- keys_json: [subject, predicate, object].
SELECT quads.graph
FROM json_each(:keys_json) AS sought CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = sought.value ->> 0 AND quads.predicate = sought.value ->> 1
    AND quads.object = sought.value ->> 2
LIMIT :limit;

-- name: subjects_of
-- keys_json: [predicate]. The blank nodes among the subjects.
SELECT DISTINCT quads.subject
FROM json_each(:keys_json) AS sought CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value ->> 0
CROSS JOIN terms ON terms.id = quads.subject AND terms.kind = 2
LIMIT :limit;

-- name: quads_beside
-- The quads that have one of some nodes as their subject, object or graph; those with several more than once.
SELECT quads.subject, quads.predicate, quads.object, quads.graph
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
UNION ALL
SELECT quads.subject, quads.predicate, quads.object, quads.graph
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_o ON quads.object = sought.value
UNION ALL
SELECT quads.subject, quads.predicate, quads.object, quads.graph
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_g
    ON quads.graph = sought.value AND quads.graph <> 0
WHERE quads.subject > 0;

-- name: insert_quads
-- pairs_json: subject << 32 | object, for one predicate and graph; a third of the cost of arrays of four.
INSERT INTO quads (subject, predicate, object, graph, revision)
SELECT value >> 32, :predicate, value & 4294967295, :graph, :revision FROM json_each(:pairs_json);

-- name: restore_quads
-- Quads that this very revision removed and now adds again keep the revision that first added them.
-- Gives one row for each quad restored: its position in rows_json.
SELECT sought.key, gone.rowid, gone.revision
FROM json_each(:rows_json) AS sought
CROSS JOIN removed_quads AS gone ON gone.removed = :revision
WHERE gone.subject = sought.value ->> 0 AND gone.predicate = sought.value ->> 1
  AND gone.object = sought.value ->> 2 AND gone.graph = sought.value ->> 3;

-- name: delete_removed
DELETE FROM removed_quads WHERE rowid IN (SELECT value FROM json_each(:ids_json));

-- name: record_removed
-- A quad that the same revision added leaves no trace.
INSERT INTO removed_quads (subject, predicate, object, graph, revision, removed)
SELECT subject, predicate, object, graph, revision, :revision
FROM json_each(:ids_json) AS gone CROSS JOIN quads ON quads.id = gone.value
WHERE revision <> :revision;

-- name: delete_quads
DELETE FROM quads WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: quads_in_range
-- Four columns as comma-separated strings: a tenth of the cost of rows.
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT * FROM quads WHERE id > :after ORDER BY id LIMIT :limit);

-- name: quads_by_subject
-- Pages of whole subjects, by their ids.
SELECT max(subject), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (
    SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog
    WHERE subject > :after AND subject <= coalesce(
        (SELECT subject FROM quads INDEXED BY quads_spog WHERE subject > :after ORDER BY subject LIMIT 1 OFFSET :limit),
        9223372036854775807)
    ORDER BY subject);

-- name: quads_of_graph
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT * FROM quads WHERE graph = :graph AND id > :after ORDER BY id LIMIT :limit);

-- name: quads_touching
-- The quads that have one of ids_json anywhere, markers of graphs included.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (
    SELECT subject, predicate, object, graph
    FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON subject = sought.value
    UNION SELECT subject, predicate, object, graph
    FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_posg ON predicate = sought.value
    UNION SELECT subject, predicate, object, graph
    FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_o ON object = sought.value
    UNION SELECT subject, predicate, object, graph
    FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_g
         ON graph = sought.value AND graph <> 0
);

-- name: quads_added_since
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT * FROM quads WHERE id > :after AND revision > :revision ORDER BY id LIMIT :limit);

-- name: quads_removed_since
SELECT max(rowid), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT rowid, * FROM removed_quads
      WHERE removed > :revision AND revision <= :revision AND rowid > :after ORDER BY rowid LIMIT :limit);

-- name: count_quads
SELECT (SELECT count(*) FROM quads) - (SELECT count(*) FROM quads INDEXED BY quads_spog WHERE subject = 0);

-- name: objects
-- Which of some terms are objects of quads.
SELECT value FROM json_each(:ids_json) WHERE EXISTS (SELECT 1 FROM quads INDEXED BY quads_o WHERE object = value);

-- name: objects_until
-- Which of some terms are objects of quads that were there after a revision, and still are.
SELECT value FROM json_each(:ids_json)
WHERE EXISTS (SELECT 1 FROM quads INDEXED BY quads_o WHERE object = value AND quads.revision <= :revision);

-- name: markers_until
SELECT graph FROM quads INDEXED BY quads_spog WHERE subject = 0 AND revision <= :revision;

-- name: markers
-- The named graphs that were created, and exist also while they are empty.
SELECT graph FROM quads INDEXED BY quads_spog WHERE subject = 0;

-- name: graph_exists
SELECT 1 FROM quads INDEXED BY quads_g WHERE graph = :graph AND graph <> 0 LIMIT 1;

-- name: named_graphs
-- The named graphs that exist.
SELECT DISTINCT graph FROM quads INDEXED BY quads_g WHERE graph <> 0;

-- name: quads_of_subject
-- This one and the next seven read a pattern; a :graph below 0 stands for any.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog
      WHERE subject = :subject AND (:graph < 0 OR graph = :graph));

-- name: quads_of_subject_predicate
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog
      WHERE subject = :subject AND predicate = :predicate AND (:graph < 0 OR graph = :graph));

-- name: quads_of_subject_object
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog
      WHERE subject = :subject AND object = :object AND (:graph < 0 OR graph = :graph));

-- name: quads_of_subject_predicate_object
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog
      WHERE subject = :subject AND predicate = :predicate AND object = :object AND (:graph < 0 OR graph = :graph));

-- name: quads_of_predicate
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_posg
      WHERE predicate = :predicate AND (:graph < 0 OR graph = :graph));

-- name: kinds_under
-- What stands under a predicate, among the first and the last :most of its quads, the commonest first: gives (kind, id of
-- the datatype, language).
SELECT terms.kind, terms.datatype, terms.language FROM (
    SELECT * FROM (
        SELECT object FROM quads INDEXED BY quads_posg WHERE predicate = :predicate AND {data graph}
        ORDER BY object LIMIT :most)
    UNION ALL
    SELECT * FROM (
        SELECT object FROM quads INDEXED BY quads_posg WHERE predicate = :predicate AND {data graph}
        ORDER BY object DESC LIMIT :most)
) AS some JOIN terms ON terms.id = some.object
GROUP BY terms.kind, terms.datatype, terms.language ORDER BY count(*) DESC, terms.kind, terms.datatype, terms.language;

-- name: quads_of_predicate_object
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_posg
      WHERE predicate = :predicate AND object = :object AND (:graph < 0 OR graph = :graph));

-- name: quads_of_object
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_o
      WHERE object = :object AND (:graph < 0 OR graph = :graph));

-- name: quads_of_named_graph
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_g
      WHERE graph <> 0 AND graph = :graph AND subject > 0
        AND (:predicate < 0 OR predicate = :predicate) AND (:object < 0 OR object = :object));

-- name: count_up_to
-- The number of quads of a named graph, or :limit where there are more.
SELECT count(*) FROM (SELECT 1 FROM quads INDEXED BY quads_g WHERE graph <> 0 AND graph = :graph LIMIT :limit);

-- name: count_named_graph
SELECT (SELECT count(*) FROM quads INDEXED BY quads_g WHERE graph <> 0 AND graph = :graph)
     - (SELECT count(*) FROM quads INDEXED BY quads_spog
        WHERE subject = 0 AND predicate = 0 AND object = 0 AND graph = :graph);

-- name: count_default_graph
SELECT (SELECT count(*) FROM quads) - (SELECT count(*) FROM quads INDEXED BY quads_g WHERE graph <> 0);

-- name: count_triples
-- Distinct ones, of all graphs.
SELECT count(*) FROM (SELECT DISTINCT subject, predicate, object FROM quads INDEXED BY quads_spog WHERE subject > 0);

-- name: any_quad
SELECT 1 FROM quads LIMIT 1;

-- name: predicates_after
-- The predicates with ids above :after, ascending: each is found by one step in the index.
WITH RECURSIVE found (predicate) AS (
    SELECT min(predicate) FROM quads INDEXED BY quads_posg WHERE predicate > :after
    UNION ALL
    SELECT (SELECT min(predicate) FROM quads INDEXED BY quads_posg WHERE predicate > found.predicate)
    FROM found WHERE found.predicate IS NOT NULL
)
SELECT predicate FROM found WHERE predicate IS NOT NULL LIMIT :limit;

-- name: classes_after
-- The objects of :predicate, such as rdf:type, with ids above :after, as predicates_after has them.
WITH RECURSIVE found (class) AS (
    SELECT min(object) FROM quads INDEXED BY quads_posg WHERE predicate = :predicate AND object > :after
    UNION ALL
    SELECT (SELECT min(object) FROM quads INDEXED BY quads_posg
            WHERE predicate = :predicate AND object > found.class)
    FROM found WHERE found.class IS NOT NULL
)
SELECT class FROM found WHERE class IS NOT NULL LIMIT :limit;

-- name: occurs
-- Whether a name is used as what it is asked to be.
SELECT CASE :what
       WHEN 'types' THEN EXISTS (SELECT 1 FROM quads INDEXED BY quads_posg WHERE predicate = :rdf_type AND object = :id)
       WHEN 'predicates' THEN EXISTS (SELECT 1 FROM quads INDEXED BY quads_posg WHERE predicate = :id)
       WHEN 'graphs' THEN EXISTS (SELECT 1 FROM quads INDEXED BY quads_g WHERE graph = :id AND graph <> 0)
       ELSE EXISTS (SELECT 1 FROM quads INDEXED BY quads_spog WHERE subject = :id)
         OR EXISTS (SELECT 1 FROM quads INDEXED BY quads_o WHERE object = :id)
       END;

-- name: some_graphs
-- As predicates_after, the first named graphs.
WITH RECURSIVE found (graph) AS (
    SELECT min(graph) FROM quads INDEXED BY quads_g WHERE graph > 0 AND graph <> 0
    UNION ALL
    SELECT (SELECT min(graph) FROM quads INDEXED BY quads_g WHERE graph > found.graph AND graph <> 0)
    FROM found WHERE found.graph IS NOT NULL
)
SELECT graph FROM found WHERE graph IS NOT NULL LIMIT :limit;

-- name: instances_of
-- Gives (class, instances) for classes that have any.
SELECT class.value, count(*)
FROM json_each(:classes_json) AS class
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = :rdf_type AND quads.object = class.value
GROUP BY class.value;

-- name: any_chunk
SELECT EXISTS (SELECT 1 FROM chunks);

-- name: literals_of_hash
-- The literals with a hash, so that most have the text that it was made of.
SELECT id FROM terms INDEXED BY terms_hash WHERE hash = :hash AND kind = 3 LIMIT :limit;

-- name: triple_repeats
-- Whether a triple stands in several of some graphs; graphs_json: their ids, or null for all.
SELECT EXISTS (
    SELECT 1 FROM quads INDEXED BY quads_spog
    WHERE subject > 0 AND (:graphs_json IS NULL OR graph IN (SELECT value FROM json_each(:graphs_json)))
    GROUP BY subject, predicate, object HAVING count(*) > 1
);

-- name: count_in_named_graphs
-- The number of quads in named graphs, or :limit where there are more.
SELECT (SELECT count(*) FROM (SELECT 1 FROM quads INDEXED BY quads_g WHERE graph <> 0 LIMIT :limit))
     - (SELECT count(*) FROM quads INDEXED BY quads_spog WHERE subject = 0);

-- ---- revisions -----------------------------------------------------------------------------------------------------

-- name: last_revision
SELECT coalesce(max(revision), 0) FROM revisions;

-- name: state
-- What a derived index must agree with: (revision, how often embeddings changed, how often vectors were removed,
-- how many rows this connection has written, so that an open transaction is seen too, and the prefixes, by which
-- patterns are read).
SELECT (SELECT coalesce(max(revision), 0) FROM revisions),
       (SELECT value FROM meta WHERE name = 'embedding_changes'),
       (SELECT value FROM meta WHERE name = 'vector_removals'),
       total_changes(),
       (SELECT group_concat(prefix || ' ' || iri) FROM prefixes);

-- name: recorded_revision
SELECT time, author, message, added, removed, first_quad FROM revisions WHERE revision = :revision;

-- name: insert_revision
INSERT INTO revisions (revision, time, author, message, added, removed, first_quad, created, dropped, undoes)
VALUES (:revision, :time, :author, :message, :added - :created, :removed - :dropped, :first_quad, :created, :dropped,
        :undoes);

-- name: graphs_created
SELECT count(*) FROM quads INDEXED BY quads_spog WHERE subject = 0 AND revision = :revision;

-- name: graphs_dropped
SELECT count(*) FROM removed_quads WHERE removed = :revision AND subject = 0;

-- name: bounds
-- Where a revision begins: the last revision, the id of its first quad, and those of the last chunk and term before it.
SELECT (SELECT coalesce(max(revision), 0) FROM revisions),
       coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'quads'), 0) + 1,
       coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0),
       (SELECT coalesce(max(id), 0) FROM terms);

-- name: first_quad_since
SELECT coalesce(min(first_quad), 0) FROM revisions WHERE revision > :revision;

-- ---- chunks --------------------------------------------------------------------------------------------------------

-- name: texts_to_chunk
-- The literals among ids_json that have no chunk yet: of a text datatype (datatypes_json, besides strings), or any.
-- Gives (term id, lexical form, format: markdown, text, or NULL where the look decides, language tag).
SELECT terms.id, terms.value,
       CASE WHEN terms.language IS NOT NULL THEN NULL WHEN terms.datatype = :markdown THEN 'markdown' ELSE 'text' END,
       terms.language
FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value
WHERE terms.kind = 3
  AND (:any_datatype OR terms.datatype IS NULL OR terms.datatype IN (SELECT value FROM json_each(:datatypes_json)))
  AND NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.term = terms.id);

-- name: insert_whole_chunks
-- pairs_json: length << 32 | term id.
INSERT INTO chunks (term, start, end) SELECT value & 4294967295, 0, value >> 32 FROM json_each(:pairs_json);

-- name: chunks_without_quads
-- The chunks of the literals in ids_json that no quad holds as text any longer; see texts_to_chunk.
SELECT chunks.id, chunks.vector
FROM json_each(:ids_json) AS sought
CROSS JOIN terms ON terms.id = sought.value
CROSS JOIN chunks ON chunks.term = sought.value
WHERE NOT EXISTS (
    SELECT 1 FROM quads
    WHERE quads.object = chunks.term AND quads.predicate NOT IN (SELECT value FROM json_each(:excluded_json))
      AND {data quads.graph}
      AND (terms.datatype IS NULL OR terms.datatype IN (SELECT value FROM json_each(:datatypes_json))
           OR quads.predicate IN (SELECT value FROM json_each(:included_json)))
);

-- name: spans_of_terms
SELECT chunks.term, chunks.start, chunks.end
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.term = sought.value
ORDER BY chunks.term, chunks.start;

-- name: chunks_of_terms
SELECT chunks.id, chunks.vector
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.term = sought.value;

-- name: vectors_of_chunks
SELECT DISTINCT chunks.vector FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.id = sought.value
WHERE chunks.vector IS NOT NULL;

-- name: delete_chunks
DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(:ids_json));

-- ---- embeddings ----------------------------------------------------------------------------------------------------

-- name: pending_chunks
-- Gives (chunk id, term id, text).
SELECT chunks.id, chunks.term, coalesce(chunks.text, terms.value)
FROM chunks LEFT JOIN terms ON terms.id = chunks.term
WHERE chunks.vector IS NULL AND chunks.id > :after ORDER BY chunks.id LIMIT :limit;

-- name: state_of_texts
-- See TextState in worlds/core/search/frequencies.py.
SELECT coalesce((SELECT block FROM chunks_fts_data WHERE id = 1), x'0000'),
       coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0),
       (SELECT sql FROM sqlite_master WHERE name = 'chunks_fts'),
       coalesce((SELECT value FROM meta WHERE name = 'readings'), 0);

-- name: chunks_to_read
-- Chunks after one: (id, text, form for the full-text index, language tag).
SELECT chunks.id, coalesce(chunks.text, terms.value), chunks.segmented, terms.language
FROM chunks LEFT JOIN terms ON terms.id = chunks.term
WHERE chunks.id > ?1 ORDER BY chunks.id LIMIT ?2;

-- name: unindex_chunks
INSERT INTO chunks_fts (chunks_fts, rowid, text)
SELECT 'delete', id, text FROM indexed_texts WHERE id IN (SELECT value ->> 0 FROM json_each(?1));

-- name: rewrite_chunks
UPDATE chunks SET segmented = (SELECT value ->> 1 FROM json_each(?1) WHERE value ->> 0 = chunks.id)
WHERE id IN (SELECT value ->> 0 FROM json_each(?1));

-- name: index_chunks_again
INSERT INTO chunks_fts (rowid, text)
SELECT id, text FROM indexed_texts WHERE id IN (SELECT value ->> 0 FROM json_each(?1));

-- name: languages_having
-- The languages of the first texts that match.
SELECT DISTINCT terms.language
FROM (SELECT chunks.term FROM chunks_fts CROSS JOIN chunks ON chunks.id = chunks_fts.rowid
      WHERE chunks_fts MATCH :match LIMIT :looked_at) AS found
LEFT JOIN terms ON terms.id = found.term;

-- name: count_matches
SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?1;

-- name: count_pending
SELECT count(*) FROM chunks WHERE vector IS NULL AND id > :after;

-- name: find_embedded
-- digests_json: hexadecimal. Gives (position in digests_json, vector id).
SELECT sought.key, embedded_texts.vector
FROM json_each(:digests_json) AS sought CROSS JOIN embedded_texts ON embedded_texts.digest = unhex(sought.value);

-- name: find_vectors
-- keys_json: hexadecimal. Gives (position in keys_json, vector id) of live and retired vectors.
SELECT sought.key, coalesce(
    (SELECT id FROM vectors WHERE vectors.key = unhex(sought.value)),
    (SELECT id FROM retired_vectors WHERE retired_vectors.key = unhex(sought.value)))
FROM json_each(:keys_json) AS sought;

-- name: revive_vectors
INSERT INTO vectors (id, key, embedding)
SELECT id, key, embedding FROM retired_vectors WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: revive_codes
-- codes_json: [vector id, code in hexadecimal].
INSERT INTO vector_codes (id, code) SELECT value ->> 0, unhex(value ->> 1) FROM json_each(:codes_json);

-- name: forget_retired
DELETE FROM retired_vectors WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: retired_among
SELECT id, embedding FROM retired_vectors WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: next_vector
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'vectors'), 0) + 1;

-- name: set_chunk_vectors
-- pairs_json: vector id << 32 | chunk id.
UPDATE chunks SET vector = pair.value >> 32
FROM json_each(:pairs_json) AS pair WHERE chunks.id = pair.value & 4294967295;

-- name: vectors_without_chunks
SELECT sought.value FROM json_each(:ids_json) AS sought
WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.vector = sought.value);

-- name: retire_vectors
INSERT INTO retired_vectors (id, key, embedding)
SELECT id, key, embedding FROM vectors WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: delete_vectors
DELETE FROM vectors WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: delete_codes
DELETE FROM vector_codes WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: codes_in_range
-- Ids and codes of one block as two strings.
SELECT max(id), group_concat(id), group_concat(hex(code), '')
FROM (SELECT id, code FROM vector_codes WHERE id > :after ORDER BY id LIMIT :limit);

-- name: cosines
SELECT 1 - vector_distance_cos(vectors.embedding, :query)
FROM json_each(:ids_json) AS sought CROSS JOIN vectors ON vectors.id = sought.value
WHERE vectors.embedding IS NOT NULL;

-- name: add_to_meta
INSERT INTO meta (name, value) VALUES (:name, :amount)
ON CONFLICT (name) DO UPDATE SET value = value + excluded.value;

-- name: set_meta
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: delete_meta
DELETE FROM meta WHERE name = :name;

-- name: add_prefix
INSERT INTO prefixes (prefix, iri) VALUES (:prefix, :iri) ON CONFLICT (prefix) DO NOTHING;

-- name: all_prefixes
SELECT prefix, iri FROM prefixes ORDER BY prefix;

-- name: predicates_of_objects
SELECT DISTINCT quads.object, quads.predicate
FROM json_each(:ids_json) AS sought CROSS JOIN quads ON quads.object = sought.value
WHERE {data quads.graph};

-- name: texts
-- As texts_to_chunk, of literals that have chunks.
SELECT terms.id, terms.value,
       CASE WHEN terms.language IS NOT NULL THEN NULL WHEN terms.datatype = :markdown THEN 'markdown' ELSE 'text' END,
       terms.language
FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value;

-- name: count_vectors_up_to
-- SQLite takes libSQL's index for an empty one that has every row: NOT INDEXED.
SELECT count(*) FROM (SELECT 1 FROM vectors NOT INDEXED LIMIT ?1);

-- name: find_vector_index
SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'vectors_embedding';

-- name: count_vector_settings
-- One row, or two where VACUUM found an index.
SELECT count(*) FROM libsql_vector_meta_shadow;

-- name: set_prefix
INSERT INTO prefixes (prefix, iri) VALUES (:prefix, :iri) ON CONFLICT (prefix) DO UPDATE SET iri = excluded.iri;

-- name: delete_prefix
DELETE FROM prefixes WHERE prefix = :prefix;

-- name: not_described
-- Of some terms, those that are no subject, no graph, and no version of an ontology.
SELECT group_concat(sought.value) FROM json_each(:ids_json) AS sought
WHERE NOT EXISTS (SELECT 1 FROM quads INDEXED BY quads_spog WHERE subject = sought.value)
  AND NOT EXISTS (SELECT 1 FROM quads WHERE graph = sought.value AND graph <> 0)
  AND NOT EXISTS (SELECT 1 FROM quads INDEXED BY quads_posg WHERE predicate = :version AND object = sought.value);

-- name: some_chunks
SELECT id, vector FROM chunks LIMIT :limit;

-- name: more_chunks
-- Whether there are more chunks than some.
SELECT 1 FROM chunks LIMIT 1 OFFSET :some;

-- name: texts_are_indexed
-- Whether the full-text index follows the chunks; it does not while many are cut.
SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = 'chunks_inserted';

-- name: literal_quads
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT quads.* FROM quads JOIN terms ON terms.id = quads.object AND terms.kind = 3
      WHERE quads.id > :after AND {data quads.graph} ORDER BY quads.id LIMIT :limit);

-- name: index_chunks
INSERT INTO chunks_fts (rowid, text) SELECT id, text FROM indexed_texts WHERE id > :after;

-- name: rebuild_fts
INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild');

-- name: changed_since
-- Those of some subjects of which a quad, was added or removed after a revision.
SELECT group_concat(subject) FROM (
    SELECT sought.value AS subject FROM json_each(:ids_json) AS sought
    WHERE EXISTS (
        SELECT 1 FROM quads INDEXED BY quads_spog WHERE quads.subject = sought.value AND quads.revision > :revision
          AND quads.revision <> :own
    )
    UNION
    SELECT removed_quads.subject FROM removed_quads INDEXED BY removed_quads_removed
    WHERE removed_quads.removed > :revision AND removed_quads.removed <> :own
      AND removed_quads.subject IN (SELECT value FROM json_each(:ids_json))
);

-- name: relevance_of_texts
-- The relevance of these chunks, as far as they match: (chunk, bm25).
SELECT rowid, bm25(chunks_fts) FROM chunks_fts
WHERE chunks_fts MATCH :match AND +rowid IN (SELECT value FROM json_each(:ids_json));

-- name: chunks_of_vectors
-- Gives, of the chunks that have these vectors and may be found, columns: chunks, places in the list. :eligible has a
-- byte for each chunk id, 1 where the chunk may be found; NULL lets all through.
SELECT group_concat(chunks.id), group_concat(sought.key)
FROM json_each(:ids_json) AS sought CROSS JOIN chunks INDEXED BY chunks_vector ON chunks.vector = sought.value
WHERE :eligible IS NULL OR substr(:eligible, chunks.id + 1, 1) = x'01';

-- name: similarities
-- Of these chunks, as far as they have a vector with a direction: (chunk, cosine).
SELECT chunks.id, 1 - vector_distance_cos(vectors.embedding, :query)
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.id = sought.value
CROSS JOIN vectors ON vectors.id = chunks.vector
WHERE vectors.embedding IS NOT NULL;

-- name: quads_of_texts
-- Gives columns: the chunk, and subject, predicate, object and graph of its quads.
SELECT group_concat(chunks.id), group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.object),
       group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.id = sought.value
CROSS JOIN quads INDEXED BY quads_o ON quads.object = chunks.term
WHERE quads.subject > 0 AND {data quads.graph};
