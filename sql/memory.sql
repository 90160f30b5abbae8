-- Memories: what they keep, and what is purged.

-- name: graphs
-- The named graphs that have quads: (id, IRI).
WITH RECURSIVE found (id) AS (
    SELECT min(graph) FROM quads INDEXED BY quads_g WHERE graph <> 0
    UNION ALL
    SELECT (SELECT min(graph) FROM quads INDEXED BY quads_g WHERE graph <> 0 AND graph > found.id)
    FROM found WHERE found.id IS NOT NULL
)
SELECT terms.id, terms.value FROM found CROSS JOIN terms ON terms.id = found.id WHERE terms.kind = 1
ORDER BY terms.value;

-- name: vectors
-- Gives (memory, vector) of the texts of memories, of their beginnings.
SELECT sought.value, vectors.embedding FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value AND quads.predicate = :text
CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = quads.object AND chunks.start = 0
CROSS JOIN vectors ON vectors.id = chunks.vector WHERE vectors.embedding IS NOT NULL;

-- name: roles
-- Who has spoken in some graphs.
WITH RECURSIVE found (id) AS (
    SELECT min(object) FROM quads INDEXED BY quads_posg WHERE predicate = :role
    UNION ALL
    SELECT (SELECT min(object) FROM quads INDEXED BY quads_posg WHERE predicate = :role AND object > found.id)
    FROM found WHERE found.id IS NOT NULL
)
SELECT terms.value FROM found CROSS JOIN terms ON terms.id = found.id
WHERE EXISTS (
    SELECT 1 FROM quads INDEXED BY quads_posg
    WHERE predicate = :role AND object = found.id AND graph IN (SELECT value FROM json_each(:graphs_json))
);

-- name: told
-- Gives (memory, predicate, object, graph) of what some predicates say in some graphs.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (
    SELECT subject, predicate, object, graph FROM json_each(:graphs_json) AS sought
    CROSS JOIN quads INDEXED BY quads_g ON graph = sought.value AND graph <> 0
    WHERE predicate IN (SELECT value FROM json_each(:predicates_json))
);

-- name: concerning
-- The quads of a graph, now and once, that have some terms as their subject or object.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (
    SELECT subject, predicate, object, graph FROM json_each(:ids_json) AS sought
    CROSS JOIN quads INDEXED BY quads_spog ON subject = sought.value WHERE graph = :graph
    UNION
    SELECT subject, predicate, object, graph FROM json_each(:ids_json) AS sought
    CROSS JOIN quads INDEXED BY quads_o ON object = sought.value WHERE graph = :graph
    UNION
    SELECT subject, predicate, object, graph FROM removed_quads
    WHERE graph = :graph AND (subject IN (SELECT value FROM json_each(:ids_json))
                              OR object IN (SELECT value FROM json_each(:ids_json)))
);

-- name: removals
-- The rows of the history that some quads left: (rowid, the revision that added it, the one that removed it).
SELECT gone.rowid, gone.revision, gone.removed FROM removed_quads AS gone
WHERE (gone.subject, gone.predicate, gone.object, gone.graph) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:rows_json)
);

-- name: removed_of_graph
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM removed_quads WHERE graph = :graph;

-- name: proposals
-- The texts of all proposals: (id, its quads, what it merges, all else that was said).
SELECT id, (SELECT coalesce(group_concat(quad), '') FROM proposal_quads WHERE proposal = proposals.id),
       coalesce(merged, ''), coalesce(why, '') || discussion || coalesce(decision, '') || validation FROM proposals;

-- name: forget_proposals
DELETE FROM proposals WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: forget_proposal_quads
DELETE FROM proposal_quads WHERE proposal IN (SELECT value FROM json_each(:ids_json));

-- name: messages
-- Gives (revision, message, whether nothing is left of it) of some revisions.
SELECT revision, message, purged_added = added AND purged_removed = removed
FROM json_each(:revisions_json) AS sought CROSS JOIN revisions ON revisions.revision = sought.value
WHERE message IS NOT NULL;

-- name: forget_message
UPDATE revisions SET message = NULL WHERE revision = :revision;

-- ---- what a memory sees of its world -------------------------------------------------------------------------------

-- name: count_named
-- How many IRIs a memory's world has that are not of a memory.
SELECT count(*) FROM terms WHERE kind = 1 AND substr(value, 1, :seen) <> :prefix;

-- name: named
SELECT value FROM terms WHERE kind = 1 AND substr(value, 1, :seen) <> :prefix;

-- name: vocabulary
-- The predicates that are used, the classes that have instances, and what is declared as either.
WITH RECURSIVE used (id) AS (
    SELECT min(predicate) FROM quads INDEXED BY quads_posg WHERE predicate > 0
    UNION ALL
    SELECT (SELECT min(predicate) FROM quads INDEXED BY quads_posg WHERE predicate > used.id) FROM used
    WHERE used.id IS NOT NULL
), classes (id) AS (
    SELECT min(object) FROM quads INDEXED BY quads_posg WHERE predicate = :type
    UNION ALL
    SELECT (SELECT min(object) FROM quads INDEXED BY quads_posg WHERE predicate = :type AND object > classes.id)
    FROM classes WHERE classes.id IS NOT NULL
)
SELECT group_concat(id) FROM (
    SELECT id FROM used WHERE id IS NOT NULL UNION SELECT id FROM classes WHERE id IS NOT NULL
    UNION SELECT subject FROM quads INDEXED BY quads_posg
    WHERE predicate = :type AND object IN (SELECT value FROM json_each(:kinds_json))
);

-- name: said
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM json_each(:ids_json) AS sought
      CROSS JOIN quads INDEXED BY quads_spog ON subject = sought.value);
