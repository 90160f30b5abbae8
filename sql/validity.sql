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
-- Gives (reifier, graph, value) of some predicates, the last one for each.
SELECT quads.subject, quads.graph, quads.object FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
  AND quads.predicate IN (SELECT value FROM json_each(:predicates_json))
ORDER BY quads.id;
