-- Memories: their graphs, what is kept, and what is purged.

-- name: beneath
-- The graphs of a scope and of those beneath it: (id, name).
SELECT id, name FROM memory_graphs
WHERE name = :name OR (name >= :name || '/' AND name < :name || '0') ORDER BY name;

-- name: keepings
-- What some graphs say of how long they keep.
SELECT memory_graphs.name, keeping FROM json_each(:names_json) AS sought
CROSS JOIN memory_graphs ON memory_graphs.name = sought.value WHERE keeping IS NOT NULL;

-- name: all_keepings
SELECT name, keeping FROM memory_graphs WHERE keeping IS NOT NULL ORDER BY name;

-- name: set_keeping
UPDATE memory_graphs SET keeping = :keeping WHERE name = :name;

-- name: told
-- Gives (memory, predicate, object, graph) of what some predicates say in some graphs.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (
    SELECT subject, predicate, object, graph FROM json_each(:graphs_json) AS sought
    CROSS JOIN memory_quads INDEXED BY memory_quads_g ON graph = sought.value AND graph <> 0
    WHERE predicate IN (SELECT value FROM json_each(:predicates_json))
);

-- name: concerning
-- The quads of a graph, now and once, that have some terms as their subject or object.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (
    SELECT subject, predicate, object, graph FROM json_each(:ids_json) AS sought
    CROSS JOIN memory_quads INDEXED BY memory_quads_spog ON subject = sought.value WHERE graph = :graph
    UNION
    SELECT subject, predicate, object, graph FROM json_each(:ids_json) AS sought
    CROSS JOIN memory_quads INDEXED BY memory_quads_o ON object = sought.value WHERE graph = :graph
    UNION
    SELECT subject, predicate, object, graph FROM removed_memory_quads INDEXED BY removed_memory_quads_graph
    WHERE graph = :graph AND (subject IN (SELECT value FROM json_each(:ids_json))
                              OR object IN (SELECT value FROM json_each(:ids_json)))
);

-- name: removals
-- The rows of the history that some quads left: (rowid, the revision that added it, the one that removed it).
SELECT gone.rowid, gone.revision, gone.removed
FROM json_each(:rows_json) AS sought CROSS JOIN removed_memory_quads AS gone INDEXED BY removed_memory_quads_graph
    ON gone.graph = sought.value ->> 3 AND gone.subject = sought.value ->> 0
WHERE gone.predicate = sought.value ->> 1 AND gone.object = sought.value ->> 2;

-- name: unused
-- Those of some terms that nothing needs any more.
WITH sought (number) AS (SELECT value FROM json_each(:ids_json))
SELECT number FROM sought
WHERE NOT EXISTS (SELECT 1 FROM quads WHERE subject = number)
  AND NOT EXISTS (SELECT 1 FROM quads WHERE predicate = number)
  AND NOT EXISTS (SELECT 1 FROM quads WHERE object = number)
  AND NOT EXISTS (SELECT 1 FROM quads WHERE graph = number AND graph <> 0)
  AND NOT EXISTS (SELECT 1 FROM memory_quads WHERE subject = number)
  AND NOT EXISTS (SELECT 1 FROM memory_quads WHERE predicate = number)
  AND NOT EXISTS (SELECT 1 FROM memory_quads WHERE object = number)
  AND NOT EXISTS (SELECT 1 FROM memory_quads WHERE graph = number AND graph <> 0)
  AND NOT EXISTS (SELECT 1 FROM memory_graphs WHERE id = number AND keeping IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM chunks WHERE term = number)
EXCEPT SELECT subject FROM removed_quads EXCEPT SELECT predicate FROM removed_quads
EXCEPT SELECT object FROM removed_quads EXCEPT SELECT graph FROM removed_quads
EXCEPT SELECT subject FROM removed_memory_quads EXCEPT SELECT predicate FROM removed_memory_quads
EXCEPT SELECT object FROM removed_memory_quads EXCEPT SELECT graph FROM removed_memory_quads
EXCEPT SELECT subject FROM merged_quads EXCEPT SELECT predicate FROM merged_quads
EXCEPT SELECT object FROM merged_quads EXCEPT SELECT graph FROM merged_quads
EXCEPT SELECT datatype FROM terms
EXCEPT SELECT part.value FROM terms CROSS JOIN json_each('[' || replace(terms.value, ' ', ',') || ']') AS part
       WHERE terms.kind = 4;

-- name: forget_graphs
DELETE FROM memory_graphs WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: forget_texts
-- The vectors of texts that were purged, in some scopes.
DELETE FROM memory_vectors
WHERE scope IN (SELECT value FROM json_each(:scopes_json))
  AND digest IN (SELECT unhex(value) FROM json_each(:digests_json));

-- name: retired_with
-- The retired vectors of texts, by their digests.
SELECT vector FROM embedded_texts
WHERE digest IN (SELECT unhex(value) FROM json_each(:digests_json)) AND vector IN (SELECT id FROM retired_vectors);

-- name: forget_embedded
DELETE FROM embedded_texts
WHERE digest IN (SELECT unhex(value) FROM json_each(:digests_json)) AND vector IN (SELECT id FROM retired_vectors);

-- name: forget_retired_among
DELETE FROM retired_vectors
WHERE id IN (SELECT value FROM json_each(:ids_json)) AND id NOT IN (SELECT vector FROM embedded_texts);

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

-- name: keep_vectors
INSERT OR REPLACE INTO memory_vectors (scope, digest, embedding)
SELECT :scope, unhex(value ->> 0), unhex(value ->> 1) FROM json_each(:rows_json);

-- name: vectors_beneath
-- Gives (position in digests_json, vector) of what some scopes have read.
SELECT sought.key, embedding FROM json_each(:scopes_json) AS beneath CROSS JOIN json_each(:digests_json) AS sought
CROSS JOIN memory_vectors ON memory_vectors.scope = beneath.value AND memory_vectors.digest = unhex(sought.value);

-- name: removed_of_graph
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM removed_memory_quads INDEXED BY removed_memory_quads_graph WHERE graph = :graph;
