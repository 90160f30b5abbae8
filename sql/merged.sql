-- Quads that came in under the name of an entity that was merged, and as what they stand: see `merged_quads`.

-- name: by_given
-- rows_json: [subject, predicate, object, graph]. Gives (position in it, id, and as what it stands).
SELECT sought.key, merged.id, merged.kept_subject, merged.kept_predicate, merged.kept_object, merged.kept_graph
FROM json_each(:rows_json) AS sought CROSS JOIN merged_quads AS merged INDEXED BY merged_quads_given
    ON merged.subject = sought.value ->> 0 AND merged.predicate = sought.value ->> 1
    AND merged.object = sought.value ->> 2 AND merged.graph = sought.value ->> 3
WHERE merged.removed IS NULL;

-- name: by_kept
-- The same of what stands so: gives (position in rows_json, id, how it came, the revision that it came with).
SELECT sought.key, merged.id, merged.subject, merged.predicate, merged.object, merged.graph, merged.revision
FROM json_each(:rows_json) AS sought CROSS JOIN merged_quads AS merged INDEXED BY merged_quads_kept
    ON merged.kept_subject = sought.value ->> 0 AND merged.kept_predicate = sought.value ->> 1
    AND merged.kept_object = sought.value ->> 2 AND merged.kept_graph = sought.value ->> 3
WHERE merged.removed IS NULL;

-- name: of_subjects
-- How quads came with one of some subjects.
SELECT subject, predicate, object, graph FROM json_each(:ids_json) AS sought
CROSS JOIN merged_quads INDEXED BY merged_quads_given ON subject = sought.value WHERE removed IS NULL;

-- name: lost_of_graphs
-- How quads came into some graphs that stand nowhere.
SELECT subject, predicate, object, graph FROM merged_quads INDEXED BY merged_quads_kept
WHERE kept_subject = 0 AND kept_predicate = -1 AND removed IS NULL
  AND graph IN (SELECT value FROM json_each(:ids_json));

-- name: touching
-- Gives (id, how it came, as what it stands) of what came with one of ids_json, or was let go by one of some revisions.
SELECT id, subject, predicate, object, graph, kept_subject, kept_predicate, kept_object, kept_graph
FROM merged_quads
WHERE removed IS NULL AND (
    subject IN (SELECT value FROM json_each(:ids_json)) OR predicate IN (SELECT value FROM json_each(:ids_json))
    OR object IN (SELECT value FROM json_each(:ids_json)) OR graph IN (SELECT value FROM json_each(:ids_json))
    OR kept_predicate = -1 AND kept_object IN (SELECT value FROM json_each(:revisions_json)));

-- name: stand
-- rows_json: [id, subject, predicate, object, graph], as which it stands from now on.
UPDATE merged_quads SET kept_subject = became.value ->> 1, kept_predicate = became.value ->> 2,
                        kept_object = became.value ->> 3, kept_graph = became.value ->> 4
FROM json_each(:rows_json) AS became WHERE merged_quads.id = became.value ->> 0;

-- name: remember
-- rows_json: as by_given, then as by_kept, then the revision that it came with.
INSERT INTO merged_quads (subject, predicate, object, graph,
                          kept_subject, kept_predicate, kept_object, kept_graph, revision)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
       value ->> 8
FROM json_each(:rows_json) WHERE true
ON CONFLICT (subject, predicate, object, graph) WHERE removed IS NULL DO NOTHING;

-- name: forget
UPDATE merged_quads SET removed = :revision WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: came_with
-- Gives (how it came, as what it stands or stood) of what a revision brought, removed since or not.
SELECT subject, predicate, object, graph, kept_subject, kept_predicate, kept_object, kept_graph
FROM merged_quads WHERE revision = :revision;

-- name: removed_by
-- Gives (how it came, as what it stood) of what a revision removed.
SELECT subject, predicate, object, graph, kept_subject, kept_predicate, kept_object, kept_graph
FROM merged_quads WHERE removed = :revision;

-- name: unnumber
UPDATE merged_quads SET revision = 0 WHERE revision = :revision;

-- name: delete_removed
DELETE FROM merged_quads WHERE removed = :revision;

-- name: any
SELECT EXISTS (SELECT 1 FROM merged_quads WHERE removed IS NULL);

-- name: kept_subjects
-- Those of ids_json that quads stand with which came otherwise.
SELECT group_concat(DISTINCT kept_subject) FROM json_each(:ids_json) AS sought
CROSS JOIN merged_quads INDEXED BY merged_quads_kept ON kept_subject = sought.value WHERE removed IS NULL;

-- name: steps
-- All redirects: old names, and where each leads.
SELECT group_concat(subject), group_concat(object)
FROM (SELECT subject, object FROM quads INDEXED BY quads_g
      WHERE graph = :graph AND graph <> 0 AND subject > 0
        AND predicate IN (SELECT value FROM json_each(:predicates_json)) ORDER BY id);

-- name: labels_of
-- Gives (subject, label) of some subjects, by some predicates.
SELECT quads.subject, quads.predicate, quads.object, quads.graph
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
WHERE quads.predicate IN (SELECT value FROM json_each(:labels_json));

-- name: forget_before
DELETE FROM merged_quads WHERE removed < :first;
