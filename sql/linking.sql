-- What links are suggested from: what predicates have for objects, and their literals.

-- name: objects_of_predicates
-- Gives (predicate, its quads with a literal, its quads with an IRI).
SELECT quads.predicate, sum(terms.kind = 3), sum(terms.kind = 1)
FROM quads INDEXED BY quads_posg CROSS JOIN terms ON terms.id = quads.object
WHERE quads.subject > 0 GROUP BY quads.predicate;

-- name: with_literals
-- The quads of a predicate with a literal of at most :most characters: subjects, objects, graphs, revisions.
SELECT group_concat(subject), group_concat(object), group_concat(graph), group_concat(revision)
FROM (SELECT quads.* FROM quads INDEXED BY quads_posg CROSS JOIN terms ON terms.id = quads.object
      WHERE quads.predicate = :predicate AND quads.subject > 0 AND terms.kind = 3 AND length(terms.value) <= :most
      ORDER BY quads.object, quads.subject, quads.graph);

-- name: with_entities
-- The first quads of a predicate with an IRI: subjects, objects.
SELECT group_concat(subject), group_concat(object)
FROM (SELECT quads.* FROM quads INDEXED BY quads_posg CROSS JOIN terms ON terms.id = quads.object
      WHERE quads.predicate = :predicate AND quads.subject > 0 AND terms.kind = 1 LIMIT :most);

-- name: joined
-- Gives (position, predicate, whether it leads from the other to the one): by what pairs, [one, other], are joined.
SELECT sought.key, quads.predicate, 0
FROM json_each(:pairs_json) AS sought CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = sought.value ->> 0 AND quads.object = sought.value ->> 1
UNION
SELECT sought.key, quads.predicate, 1
FROM json_each(:pairs_json) AS sought CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = sought.value ->> 1 AND quads.object = sought.value ->> 0;

-- name: texts_with_word
-- Gives whether more than a share of all texts, and of a few, have a word.
SELECT count(*) > max(:few, :share * (SELECT count(*) FROM chunks))
FROM chunks_fts CROSS JOIN chunks ON chunks.id = chunks_fts.rowid WHERE chunks_fts MATCH :word;

-- name: leading_from
-- Gives (subject, predicate, entities that it leads to) for each of some subjects.
SELECT quads.subject, quads.predicate, count(DISTINCT quads.object)
FROM json_each(:subjects_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
    CROSS JOIN terms ON terms.id = quads.object AND terms.kind = 1
GROUP BY quads.subject, quads.predicate;

-- name: leading_to
-- Gives (object, predicate, entities that it leads from) for each of some objects.
SELECT quads.object, quads.predicate, count(DISTINCT quads.subject)
FROM json_each(:objects_json) AS sought CROSS JOIN quads INDEXED BY quads_o ON quads.object = sought.value
GROUP BY quads.object, quads.predicate;

-- name: decided_links
-- Gives (the quads that it adds in N-Quads, its discussion) of each proposal of links that was decided.
SELECT (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = proposals.id AND sign = 1), discussion
FROM proposals WHERE kind = 'link' AND status <> 'open';

-- name: concluded
-- Gives the positions of links, [subject, predicate, object], that follow by the rules of the world.
SELECT DISTINCT sought.key FROM json_each(:links_json) AS sought CROSS JOIN conclusions
    ON predicate = sought.value ->> 1 AND subject = sought.value ->> 0 AND object = sought.value ->> 2;

-- name: literals_among
SELECT group_concat(terms.id) FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value
WHERE terms.kind = 3;

-- name: linked_to
-- The subjects that have some entities under a predicate in a graph.
SELECT group_concat(subject) FROM (
    SELECT DISTINCT quads.subject FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_posg
        ON quads.predicate = :predicate AND quads.object = sought.value AND quads.graph = :graph);

-- name: subjects_of_texts
-- Those of all texts that are no names.
SELECT group_concat(subject) FROM (
    SELECT DISTINCT quads.subject
    FROM (SELECT DISTINCT term FROM chunks WHERE term > 0) AS texts
    CROSS JOIN quads INDEXED BY quads_o ON quads.object = texts.term
    WHERE quads.predicate NOT IN (SELECT value FROM json_each(:names_json)) AND {data quads.graph});

-- name: texts_of_subjects
-- Gives (subject, literal) of their texts that are no names.
SELECT DISTINCT quads.subject, quads.object
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
WHERE quads.predicate NOT IN (SELECT value FROM json_each(:names_json)) AND {data quads.graph}
  AND EXISTS (SELECT 1 FROM chunks INDEXED BY chunks_term WHERE chunks.term = quads.object);
