-- What a world's data look like: its classes, predicates, graphs and languages.
-- A :graphs_json of NULL is all graphs of data. Columns come as comma-separated strings where there may be many rows.

-- name: classes
-- Gives (class, instances, how many classes there are), the commonest first.
SELECT object, count(*) AS instances, count(*) OVER ()
FROM (
    SELECT DISTINCT object, subject FROM quads INDEXED BY quads_posg
    WHERE predicate = :rdf_type AND iif(:graphs_json IS NULL, {data graph}, graph IN (SELECT value FROM json_each(:graphs_json)))
) AS typed
CROSS JOIN terms ON terms.id = typed.object AND terms.kind = 1
GROUP BY object ORDER BY instances DESC, object LIMIT :limit;

-- name: instances
-- Gives (class, :limit of its instances at most).
SELECT class.value, (
    SELECT group_concat(subject) FROM (
        SELECT subject FROM quads INDEXED BY quads_posg
        WHERE predicate = :rdf_type AND object = class.value
          AND iif(:graphs_json IS NULL, {data graph}, graph IN (SELECT value FROM json_each(:graphs_json)))
        LIMIT :limit
    )
)
FROM json_each(:ids_json) AS class;

-- name: predicates
-- Gives (predicate, quads, how many predicates there are), the commonest first.
SELECT predicate, count(*) AS quads, count(*) OVER ()
FROM quads INDEXED BY quads_posg
WHERE predicate <> 0 AND iif(:graphs_json IS NULL, {data graph}, graph IN (SELECT value FROM json_each(:graphs_json)))
GROUP BY predicate ORDER BY quads DESC, predicate LIMIT :limit;

-- name: count
SELECT count(*) FROM quads;

-- name: said
-- The distinct pairs of a subject and a predicate.
SELECT group_concat(subject), group_concat(predicate) FROM (
    SELECT DISTINCT subject, predicate FROM quads INDEXED BY quads_spog
    WHERE subject > 0 AND iif(:graphs_json IS NULL, {data graph}, graph IN (SELECT value FROM json_each(:graphs_json)))
);

-- name: typed
-- The distinct pairs of a subject and a class.
SELECT group_concat(subject), group_concat(object) FROM (
    SELECT DISTINCT subject, object FROM quads INDEXED BY quads_posg
    CROSS JOIN terms ON terms.id = quads.object AND terms.kind = 1
    WHERE predicate = :rdf_type AND iif(:graphs_json IS NULL, {data graph}, graph IN (SELECT value FROM json_each(:graphs_json)))
);

-- name: entities_under
-- The distinct pairs of a predicate and an object that is an IRI or a blank node.
SELECT group_concat(predicate), group_concat(object) FROM (
    SELECT DISTINCT quads.predicate, quads.object
    FROM json_each(:ids_json) AS sought
    CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value
    CROSS JOIN terms ON terms.id = quads.object AND terms.kind IN (1, 2)
    WHERE iif(:graphs_json IS NULL, {data quads.graph}, quads.graph IN (SELECT value FROM json_each(:graphs_json)))
);

-- name: kinds_of_objects
-- Gives (predicate, kind, datatype, language, quads).
SELECT quads.predicate, kind, datatype, language, count(*)
FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value
CROSS JOIN terms ON terms.id = quads.object
WHERE iif(:graphs_json IS NULL, {data quads.graph}, quads.graph IN (SELECT value FROM json_each(:graphs_json)))
GROUP BY quads.predicate, kind, datatype, language;

-- name: quads_of_rare_predicates
-- All quads. Gives (predicate, subject, object, and of the object: kind, datatype, language, length in characters).
SELECT quads.predicate, quads.subject, quads.object, kind, datatype, language, length(terms.value)
FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value
CROSS JOIN terms ON terms.id = quads.object
WHERE iif(:graphs_json IS NULL, {data quads.graph}, quads.graph IN (SELECT value FROM json_each(:graphs_json)));

-- name: quads_of_common_predicates
-- The same of :steps quads at most, spread evenly over the ids of their objects: one seek each.
WITH RECURSIVE steps (step) AS (
    SELECT 0 UNION ALL SELECT step + 1 FROM steps WHERE step < :steps - 1
),
spread (place) AS (SELECT step * (SELECT max(id) FROM terms) / :steps FROM steps),
chosen (quad) AS (
    SELECT DISTINCT (
        SELECT rowid FROM quads INDEXED BY quads_posg
        WHERE predicate = sought.value AND object >= spread.place
          AND iif(:graphs_json IS NULL, {data graph}, graph IN (SELECT value FROM json_each(:graphs_json)))
        ORDER BY object LIMIT 1
    )
    FROM json_each(:ids_json) AS sought CROSS JOIN spread
)
SELECT quads.predicate, quads.subject, quads.object, kind, datatype, language, length(terms.value)
FROM chosen CROSS JOIN quads ON quads.id = chosen.quad CROSS JOIN terms ON terms.id = quads.object;

-- name: named_graphs
-- Gives (graph, quads, how many named graphs there are), the largest first; an empty one has 0.
SELECT graph, sum(subject > 0) AS quads, count(*) OVER ()
FROM quads INDEXED BY quads_g
WHERE graph <> 0 AND iif(:graphs_json IS NULL, {data graph}, graph IN (SELECT value FROM json_each(:graphs_json)))
GROUP BY graph ORDER BY quads DESC, graph LIMIT :limit;

-- name: default_graph
-- The number of quads in the default graph, NULL where it is not asked for.
SELECT (SELECT count(*) FROM quads) - (SELECT count(*) FROM quads INDEXED BY quads_g WHERE graph <> 0)
WHERE :graphs_json IS NULL OR 0 IN (SELECT value FROM json_each(:graphs_json));

-- name: languages
-- Gives (language or NULL, literals that are text), the commonest first.
SELECT terms.language, count(*) AS texts
FROM (SELECT DISTINCT term FROM chunks WHERE term > 0) AS literal CROSS JOIN terms ON terms.id = literal.term
WHERE :graphs_json IS NULL OR EXISTS (
    SELECT 1 FROM quads INDEXED BY quads_o
    WHERE quads.object = literal.term AND graph IN (SELECT value FROM json_each(:graphs_json))
)
GROUP BY terms.language ORDER BY texts DESC, terms.language;
