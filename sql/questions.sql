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
