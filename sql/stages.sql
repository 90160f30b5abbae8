-- What the stages after fusion read about the candidates.

-- name: objects
-- Gives (subject, predicate, object, its lexical form; NULL for what is no literal) under some predicates.
SELECT quads.subject, quads.predicate, quads.object, CASE terms.kind WHEN 3 THEN terms.value END
FROM json_each(:subjects_json) AS subject
CROSS JOIN json_each(:predicates_json) AS predicate
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = subject.value AND quads.predicate = predicate.value
CROSS JOIN terms ON terms.id = quads.object
WHERE :graphs_json IS NULL OR quads.graph IN (SELECT value FROM json_each(:graphs_json));

-- name: embeddings
-- Gives (vector, embedding); NULL for one without a direction.
SELECT vectors.id, vectors.embedding
FROM json_each(:ids_json) AS sought CROSS JOIN vectors ON vectors.id = sought.value;
