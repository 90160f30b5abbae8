-- Statements that read when triples hold, by their reifiers.

-- name: reified
-- Gives (reifier, the ids of the triple's parts, graph, revision); of all, or of the triples with a subject.
SELECT quads.subject, terms.value, quads.graph, quads.revision
FROM quads INDEXED BY quads_posg CROSS JOIN terms ON terms.id = quads.object
WHERE quads.predicate = :reifies AND terms.kind = 4 AND (:subject IS NULL OR CAST(terms.value AS INTEGER) = :subject)
ORDER BY quads.id;

-- name: dated
-- Gives (thing, predicate, object) of predicates that tell times; of all that reify nothing, or of some of them.
SELECT subject, predicate, object FROM quads INDEXED BY quads_posg
WHERE :things_json IS NULL AND predicate IN (SELECT value FROM json_each(:predicates_json))
  AND NOT EXISTS (SELECT 1 FROM quads AS other WHERE other.subject = quads.subject AND other.predicate = :reifies)
UNION
SELECT quads.subject, quads.predicate, quads.object FROM json_each(:things_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
  AND quads.predicate IN (SELECT value FROM json_each(:predicates_json))
WHERE NOT EXISTS (SELECT 1 FROM quads AS other WHERE other.subject = quads.subject AND other.predicate = :reifies);

-- name: reifiers_of
-- The same of some triple terms.
SELECT quads.subject, terms.value, quads.graph, quads.revision FROM json_each(:triples_json) AS sought
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = :reifies AND quads.object = sought.value
CROSS JOIN terms ON terms.id = quads.object
ORDER BY quads.id;

-- name: said
-- Gives (reifier, graph, value, the revision that wrote it) of some predicates, the last one for each.
SELECT quads.subject, quads.graph, quads.object, quads.revision FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
  AND quads.predicate IN (SELECT value FROM json_each(:predicates_json))
ORDER BY quads.id;

-- name: times_said
-- The distinct values of some predicates.
SELECT DISTINCT object FROM quads INDEXED BY quads_posg
WHERE predicate IN (SELECT value FROM json_each(:predicates_json));

-- name: told_of
-- The triple terms of the reifiers that have one of some values as a beginning, or one of others as an end.
SELECT DISTINCT told.object FROM (
    SELECT subject, graph FROM quads INDEXED BY quads_posg
    WHERE predicate IN (SELECT value FROM json_each(:first_json)) AND object IN (SELECT value FROM json_each(:begun_json))
    UNION
    SELECT subject, graph FROM quads INDEXED BY quads_posg
    WHERE predicate IN (SELECT value FROM json_each(:last_json)) AND object IN (SELECT value FROM json_each(:over_json))
) AS reifier
CROSS JOIN quads AS told INDEXED BY quads_spog ON told.subject = reifier.subject AND told.predicate = :reifies
WHERE told.graph = reifier.graph;

-- name: first_time
-- The time before which no revision was written.
SELECT min(time) FROM revisions;

-- name: times
-- The times of some revisions, and of the first that is not forgotten.
SELECT revision, time FROM revisions WHERE revision IN (SELECT value FROM json_each(:revisions_json))
UNION SELECT * FROM (SELECT revision, time FROM revisions ORDER BY revision LIMIT 1);

-- name: last_removed
-- quads_json: [subject, predicate, object, graph]. Gives (position in quads_json, the last revision that removed it) of
-- those that were removed after a revision.
SELECT sought.key, max(removed_quads.removed) FROM removed_quads INDEXED BY removed_quads_removed
CROSS JOIN json_each(:quads_json) AS sought
    ON removed_quads.subject = sought.value ->> 0 AND removed_quads.predicate = sought.value ->> 1
    AND removed_quads.object = sought.value ->> 2 AND removed_quads.graph = sought.value ->> 3
WHERE removed_quads.removed > :revision GROUP BY sought.key;

-- name: moved_from
-- The parts of the triple that a reifier told of until a revision moved it, and the revision that had said so.
SELECT terms.value, removed_quads.revision FROM removed_quads INDEXED BY removed_quads_removed
CROSS JOIN terms ON terms.id = removed_quads.object
WHERE removed = ?1 AND subject = ?2 AND predicate = ?3 AND graph = ?4;
