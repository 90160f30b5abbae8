-- What findings are made from: all quads as columns of term ids, and what tells their terms apart.

-- name: all_quads
-- Those of all graphs of data, with the revisions that added them.
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision)
FROM (SELECT * FROM quads WHERE id > :after AND subject > 0 AND {data graph} ORDER BY id LIMIT :limit);

-- name: all_terms
-- Kind and datatype; -1 for xsd:string, -2 with a language, 0 for what is no literal.
SELECT max(id), group_concat(id), group_concat(kind),
       group_concat(CASE WHEN kind <> 3 THEN 0 WHEN language IS NOT NULL THEN -2 ELSE coalesce(datatype, -1) END)
FROM (SELECT * FROM terms WHERE id > :after ORDER BY id LIMIT :limit);

-- name: languages
SELECT group_concat(id), language FROM terms WHERE language IS NOT NULL GROUP BY language;

-- name: values_of
SELECT id, value FROM terms WHERE id IN (SELECT value FROM json_each(:ids_json));
