-- What follows from the quads by rules. Keys are numbers of one value, or of two: the first << 31 | the second.

-- name: of_subject_predicate
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM (
    SELECT quads.subject, quads.predicate, quads.object, quads.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN quads INDEXED BY quads_spog
        ON quads.subject = sought.value >> 31 AND quads.predicate = sought.value & 2147483647
    UNION ALL
    SELECT own.subject, own.predicate, own.object, own.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN conclusions AS own ON own.subject = sought.value >> 31 AND own.predicate = sought.value & 2147483647
);

-- name: of_predicate_object
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM (
    SELECT quads.subject, quads.predicate, quads.object, quads.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN quads INDEXED BY quads_posg
        ON quads.predicate = sought.value >> 31 AND quads.object = sought.value & 2147483647
    UNION ALL
    SELECT own.subject, own.predicate, own.object, own.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN conclusions AS own INDEXED BY conclusions_po
        ON own.predicate = sought.value >> 31 AND own.object = sought.value & 2147483647
);

-- name: of_subject
-- A pattern whose subject alone is known: the conclusions are all looked at.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM (
    SELECT quads.subject, quads.predicate, quads.object, quads.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
    UNION ALL
    SELECT subject, predicate, object, graph FROM conclusions
    WHERE subject IN (SELECT value FROM json_each(:keys_json))
);

-- name: of_predicate
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM (
    SELECT quads.subject, quads.predicate, quads.object, quads.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value
    UNION ALL
    SELECT own.subject, own.predicate, own.object, own.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN conclusions AS own ON own.predicate = sought.value
);

-- name: of_object
-- The same of the object.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM (
    SELECT quads.subject, quads.predicate, quads.object, quads.graph FROM json_each(:keys_json) AS sought
    CROSS JOIN quads INDEXED BY quads_o ON quads.object = sought.value
    UNION ALL
    SELECT subject, predicate, object, graph FROM conclusions
    WHERE object IN (SELECT value FROM json_each(:keys_json))
);

-- name: of_anything
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM (
    SELECT subject, predicate, object, graph FROM quads WHERE subject <> 0
    UNION ALL
    SELECT subject, predicate, object, graph FROM conclusions
);

-- name: concluded
-- rows_json: [subject, predicate, object, graph]. Gives the positions in it of conclusions.
SELECT group_concat(sought.key) FROM json_each(:rows_json) AS sought
CROSS JOIN conclusions
    ON conclusions.subject = sought.value ->> 0 AND conclusions.predicate = sought.value ->> 1
    AND conclusions.object = sought.value ->> 2 AND conclusions.graph = sought.value ->> 3;

-- name: known
-- The same of quads that are written, or concluded.
SELECT group_concat(sought.key) FROM json_each(:rows_json) AS sought
WHERE EXISTS (SELECT 1 FROM quads INDEXED BY quads_spog
    WHERE subject = sought.value ->> 0 AND predicate = sought.value ->> 1
    AND object = sought.value ->> 2 AND graph = sought.value ->> 3)
OR EXISTS (SELECT 1 FROM conclusions
    WHERE subject = sought.value ->> 0 AND predicate = sought.value ->> 1
    AND object = sought.value ->> 2 AND graph = sought.value ->> 3);

-- name: conclude
INSERT INTO conclusions (subject, predicate, object, graph)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:rows_json);

-- name: conclude_pairs
-- pairs_json: subject << 32 | object, of one predicate and one graph.
INSERT INTO conclusions (subject, predicate, object, graph)
SELECT value >> 32, :predicate, value & 4294967295, :graph FROM json_each(:pairs_json);

-- name: retract
DELETE FROM conclusions WHERE (subject, predicate, object, graph) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:rows_json)
);

-- name: retract_all
DELETE FROM conclusions;

-- name: count_conclusions
SELECT count(*) FROM conclusions;

-- name: all_conclusions
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM conclusions;

-- name: ids_of_kind
SELECT group_concat(id) FROM terms WHERE kind = :kind;

-- name: kinds
SELECT id, kind FROM terms WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: note_changes
INSERT INTO conclusion_changes (subject, predicate, object, graph)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:rows_json);

-- name: trim_changes
-- The ids that there were go on: a gap tells that changes are forgotten.
DELETE FROM conclusion_changes WHERE id <= (SELECT max(id) FROM conclusion_changes) - 20000;

-- name: last_change
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'conclusion_changes'), 0);

-- name: first_change
SELECT min(id) FROM conclusion_changes;

-- name: changes
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM conclusion_changes WHERE id > :after;
