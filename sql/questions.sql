-- What questions are read by.

-- name: names
-- (predicates, classes, about how many quads there are); each name is found from the one before.
WITH RECURSIVE
    named (number) AS (
        SELECT min(predicate) FROM quads
        UNION ALL
        SELECT (SELECT min(predicate) FROM quads WHERE predicate > number) FROM named WHERE number IS NOT NULL
    ),
    typed (number) AS (
        SELECT min(object) FROM quads WHERE predicate = :rdf_type
        UNION ALL
        SELECT (SELECT min(object) FROM quads WHERE predicate = :rdf_type AND object > number)
        FROM typed WHERE number IS NOT NULL
    )
SELECT (SELECT group_concat(number) FROM named), (SELECT group_concat(number) FROM typed), (SELECT max(id) FROM quads);

-- name: edges
-- Gives (predicate, whether the entity is the subject), of some predicates, of edges to things of some kinds, or to any.
SELECT sought.value, 0 FROM json_each(:predicates_json) AS sought WHERE EXISTS (
    SELECT 1 FROM quads AS edge INDEXED BY quads_posg
    WHERE edge.predicate = sought.value AND edge.object = :entity AND {data edge.graph}
      AND (:kinds_json IS NULL OR EXISTS (
          SELECT 1 FROM quads INDEXED BY quads_spog WHERE subject = edge.subject AND predicate = :rdf_type
          AND object IN (SELECT value FROM json_each(:kinds_json))
      ))
)
UNION ALL
SELECT sought.value, 1 FROM json_each(:predicates_json) AS sought WHERE EXISTS (
    SELECT 1 FROM quads AS edge INDEXED BY quads_spog
    WHERE edge.subject = :entity AND edge.predicate = sought.value AND {data edge.graph}
      AND (:kinds_json IS NULL OR EXISTS (
          SELECT 1 FROM quads INDEXED BY quads_spog WHERE subject = edge.object AND predicate = :rdf_type
          AND object IN (SELECT value FROM json_each(:kinds_json))
      ))
);

-- name: edges_beyond
-- Gives (near predicate, whether what is between is its subject, far predicate, whether the entity is its subject, how
-- many are to things of some kinds, or to any, how many there are), of ways from an entity over things of some kinds;
-- :most of them in either direction are looked at.
SELECT near, away, far, outgoing, sum(
    other <> :entity AND (:kinds_json IS NULL OR EXISTS (
        SELECT 1 FROM quads INDEXED BY quads_spog WHERE subject = other AND predicate = :rdf_type
        AND object IN (SELECT value FROM json_each(:kinds_json))
    ))
), count(*) FROM (
    SELECT * FROM (
        SELECT quads.predicate AS near, 0 AS away, far, outgoing, quads.subject AS other
        FROM (
            SELECT predicate AS far, 0 AS outgoing, subject AS between_ FROM quads INDEXED BY quads_o
            WHERE object = :entity AND {data graph}
            UNION ALL
            SELECT predicate, 1, object FROM quads INDEXED BY quads_spog
            WHERE subject = :entity AND {data graph}
        ) AS step
        JOIN terms ON terms.id = between_ AND terms.kind < 3
        CROSS JOIN quads INDEXED BY quads_o ON quads.object = between_ AND {data quads.graph}
        WHERE :between_json IS NULL OR EXISTS (
            SELECT 1 FROM quads AS typed INDEXED BY quads_spog WHERE typed.subject = between_
            AND typed.predicate = :rdf_type AND typed.object IN (SELECT value FROM json_each(:between_json))
        )
        LIMIT :most
    )
    UNION ALL
    SELECT * FROM (
        SELECT quads.predicate, 1, far, outgoing, quads.object
        FROM (
            SELECT predicate AS far, 0 AS outgoing, subject AS between_ FROM quads INDEXED BY quads_o
            WHERE object = :entity AND {data graph}
            UNION ALL
            SELECT predicate, 1, object FROM quads INDEXED BY quads_spog
            WHERE subject = :entity AND {data graph}
        ) AS step
        JOIN terms ON terms.id = between_ AND terms.kind < 3
        CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = between_ AND {data quads.graph}
        WHERE :between_json IS NULL OR EXISTS (
            SELECT 1 FROM quads AS typed INDEXED BY quads_spog WHERE typed.subject = between_
            AND typed.predicate = :rdf_type AND typed.object IN (SELECT value FROM json_each(:between_json))
        )
        LIMIT :most
    )
) AS way
GROUP BY near, away, far, outgoing;
