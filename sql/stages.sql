-- What the stages after fusion read about the candidates.

-- name: values
-- Gives what stands under a predicate as two columns: subjects, and as a JSON array the lexical forms, null for what is
-- no literal.
SELECT group_concat(quads.subject), json_group_array(CASE terms.kind WHEN 3 THEN CAST(terms.value AS TEXT) END)
FROM json_each(:subjects_json) AS subject
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = subject.value AND quads.predicate = :predicate
CROSS JOIN terms ON terms.id = quads.object
WHERE :graphs_json IS NULL OR quads.graph IN (SELECT value FROM json_each(:graphs_json));

-- name: with_object
-- Gives the subjects that have one of some objects under a predicate.
SELECT group_concat(quads.subject)
FROM json_each(:subjects_json) AS subject CROSS JOIN json_each(:objects_json) AS object
CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = subject.value AND quads.predicate = :predicate AND quads.object = object.value
WHERE :graphs_json IS NULL OR quads.graph IN (SELECT value FROM json_each(:graphs_json));

-- name: texts
-- Gives (chunk, text).
SELECT chunks.id, coalesce(chunks.text, terms.value)
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.id = sought.value
LEFT JOIN terms ON terms.id = chunks.term;

-- name: embeddings
-- Gives the positions in the list of vectors that have an embedding, and these one after another: half of what as many
-- rows take. group_concat keeps all bytes of BLOBs.
SELECT group_concat(sought.key), CAST(group_concat(vectors.embedding, '') AS BLOB)
FROM json_each(:ids_json) AS sought CROSS JOIN vectors ON vectors.id = sought.value
WHERE vectors.embedding IS NOT NULL;

-- name: turns
-- The passages under :text whose subjects are in a group and have a speaker, one after another in time: columns of
-- chunks and groups, and JSON arrays of times and speakers.
SELECT group_concat(chunk), group_concat("group"), json_group_array(time), json_group_array(speaker)
FROM (
    SELECT chunks.id AS chunk, within.object AS "group", CAST(times.value AS TEXT) AS time, names.value AS speaker
    FROM quads AS within INDEXED BY quads_posg
    CROSS JOIN quads AS said INDEXED BY quads_spog ON said.subject = within.subject AND said.predicate = :speaker
    CROSS JOIN terms AS names ON names.id = said.object
    CROSS JOIN quads AS began INDEXED BY quads_spog ON began.subject = within.subject AND began.predicate = :time
    CROSS JOIN terms AS times ON times.id = began.object
    CROSS JOIN quads AS texts INDEXED BY quads_spog ON texts.subject = within.subject AND texts.predicate = :text
    CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = texts.object
    WHERE within.predicate = :group
    ORDER BY within.object, times.value, chunks.start, chunks.id
);
