-- From resolved filters to chunks. Columns come as comma-separated strings: a tenth of the cost of rows.

-- name: subclasses
-- The classes themselves and all below them; UNION ends cycles.
WITH RECURSIVE
graphs (graph) AS (SELECT value FROM json_each(:graphs_json)),
below (class) AS (
    SELECT value FROM json_each(:classes_json)
    UNION
    SELECT quads.subject FROM below
    CROSS JOIN quads ON quads.predicate = :subclass_of AND quads.object = below.class
    WHERE iif(:graphs_json IS NULL, {data quads.graph}, quads.graph IN graphs)
)
SELECT class FROM below;

-- name: instances
SELECT group_concat(quads.subject)
FROM json_each(:classes_json) AS class
CROSS JOIN quads ON quads.predicate = :rdf_type AND quads.object = class.value
WHERE iif(:graphs_json IS NULL, {data quads.graph}, quads.graph IN (SELECT value FROM json_each(:graphs_json)));

-- name: chunks_by_subjects
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)),
       group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = quads.object
WHERE {data quads.graph};

-- name: chunks_by_predicates
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)),
       group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value
CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = quads.object
WHERE {data quads.graph};

-- name: chunks_by_graphs
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)),
       group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_g ON quads.graph = sought.value AND quads.graph <> 0
CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = quads.object
WHERE {data quads.graph};

-- name: texts
SELECT group_concat(id), group_concat(term), group_concat(coalesce(vector, 0)) FROM chunks;

-- name: objects_of_subjects
SELECT group_concat(quads.object)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
WHERE {data quads.graph};

-- name: subjects_and_objects
SELECT group_concat(subject), group_concat(object) FROM quads INDEXED BY quads_spog WHERE {data graph};

-- name: last_quad
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'quads'), 0);

-- name: subjects_of_texts
SELECT group_concat(quads.subject), group_concat(quads.object)
FROM (SELECT DISTINCT term FROM chunks INDEXED BY chunks_term WHERE term > 0) AS literal
CROSS JOIN quads INDEXED BY quads_o ON quads.object = literal.term
WHERE {data quads.graph};

-- name: chunks_with_quads
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)),
       group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.graph)
FROM chunks INDEXED BY chunks_term CROSS JOIN quads INDEXED BY quads_o ON quads.object = chunks.term
WHERE {data quads.graph};

-- name: last_chunk
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0);

-- name: all_chunks
SELECT group_concat(id), group_concat(coalesce(vector, 0)) FROM chunks;

-- name: distinct_texts
SELECT count(DISTINCT coalesce(chunks.text, terms.value))
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.id = sought.value LEFT JOIN terms ON terms.id = chunks.term;

-- name: languages
SELECT DISTINCT terms.language
FROM (SELECT DISTINCT term FROM chunks) AS literal CROSS JOIN terms ON terms.id = literal.term;

-- name: chunks_in_language
SELECT group_concat(chunks.id)
FROM chunks CROSS JOIN terms ON terms.id = chunks.term WHERE terms.language IS :language;
