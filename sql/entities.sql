-- Entities: their profiles, their neighbours, their names.
-- Columns come as comma-separated strings where there may be many rows: a tenth of the cost of rows.

-- name: quads_of_entities
SELECT group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.object), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
WHERE quads.subject > 0 AND {data quads.graph};

-- name: entities_pointed_to
-- Those that at most :most quads point to, rdf:type aside.
SELECT group_concat(sought.value) FROM json_each(:ids_json) AS sought
WHERE sought.value > 0 AND (
    SELECT count(*) FROM (
        SELECT 1 FROM quads INDEXED BY quads_o
        WHERE quads.object = sought.value AND quads.predicate <> :rdf_type
          AND {data quads.graph} LIMIT :most + 1
    )
) BETWEEN 1 AND :most;

-- name: quads_to_entities
SELECT group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.object), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_o ON quads.object = sought.value
WHERE quads.predicate <> :rdf_type AND quads.subject > 0 AND {data quads.graph};

-- name: quads_under
-- Those that entities have under some predicates.
SELECT group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.object), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN json_each(:predicates_json) AS predicate
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value AND quads.predicate = predicate.value
WHERE {data quads.graph};

-- name: sub_properties
-- The predicates that stand below others, however deep, nearest first; in any graph.
WITH RECURSIVE below (predicate, depth) AS (
    SELECT value, 0 FROM json_each(:predicates_json)
    UNION
    SELECT quads.subject, below.depth + 1
    FROM below CROSS JOIN quads INDEXED BY quads_posg
        ON quads.predicate = :sub_property AND quads.object = below.predicate
    WHERE below.depth < 8 AND {data quads.graph}
)
SELECT predicate FROM below WHERE depth > 0 GROUP BY predicate ORDER BY min(depth), predicate;

-- name: neighbours
-- The entities in whose profiles others are named: those that they point to, and that point to them, and that
-- stand in a triple with them as the predicate; and before them the ids of these quads.
SELECT group_concat(quads.id), group_concat(quads.subject), group_concat(quads.object)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
WHERE {data quads.graph}
UNION ALL
SELECT group_concat(quads.id), group_concat(quads.subject), group_concat(quads.object)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_o ON quads.object = sought.value
WHERE {data quads.graph}
UNION ALL
SELECT group_concat(quads.id), group_concat(quads.subject), group_concat(quads.object)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value
WHERE {data quads.graph};

-- name: entities
-- All subjects.
SELECT group_concat(subject) FROM (SELECT DISTINCT subject FROM quads INDEXED BY quads_spog WHERE subject > 0 AND {data graph});

-- name: quads
SELECT group_concat(id) FROM quads WHERE subject > 0 AND {data graph};

-- name: quads_between_entities
SELECT group_concat(quads.id), group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.object),
       group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN quads ON quads.id = sought.value CROSS JOIN terms ON terms.id = quads.object
WHERE terms.kind IN (1, 2) AND quads.predicate <> :rdf_type AND quads.subject > 0 AND {data quads.graph};

-- name: profiles
SELECT subject, text, graphs FROM profiles WHERE subject IN (SELECT value FROM json_each(:ids_json));

-- name: profiled
SELECT group_concat(subject) FROM profiles;

-- name: delete_profiles
DELETE FROM profiles WHERE subject IN (SELECT value FROM json_each(:ids_json));

-- name: graphs_of_profiles
-- The different sets of graphs that profiles were made from.
SELECT DISTINCT graphs FROM profiles;

-- name: subjects_of_links
-- The subjects of quads under some predicates whose objects are entities.
SELECT group_concat(DISTINCT quads.subject)
FROM json_each(:predicates_json) AS predicate
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = predicate.value
CROSS JOIN terms ON terms.id = quads.object
WHERE terms.kind <> 3;

-- name: chunks_of_profiles
-- Those made from graphs that are in graphs_json, an array of arrays; NULL is all.
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)), group_concat(-1 - chunks.term)
FROM chunks INDEXED BY chunks_term
WHERE chunks.term BETWEEN -{statement} AND -1 AND (
    :graphs_json IS NULL
    OR (SELECT graphs FROM profiles WHERE subject = -1 - chunks.term) IN (SELECT value FROM json_each(:graphs_json))
);

-- name: chunks_of_statements
-- The same of statements, with the parts of their quads.
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)), group_concat(quads.subject),
       group_concat(quads.predicate), group_concat(quads.graph)
FROM chunks INDEXED BY chunks_term CROSS JOIN quads ON quads.id = -1 - chunks.term - {statement}
WHERE chunks.term < -{statement} AND (
    :graphs_json IS NULL
    OR (SELECT graphs FROM profiles WHERE subject = -1 - chunks.term) IN (SELECT value FROM json_each(:graphs_json))
);

-- name: chunks_of_statements_about
-- The same of those about some subjects.
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)), group_concat(quads.subject),
       group_concat(quads.predicate), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = -1 - quads.id - {statement}
WHERE :graphs_json IS NULL
   OR (SELECT graphs FROM profiles WHERE subject = -1 - chunks.term) IN (SELECT value FROM json_each(:graphs_json));

-- name: vectors_of_entity
-- Those of the texts that it is the subject of, its profile included.
SELECT vectors.embedding FROM vectors
WHERE vectors.embedding IS NOT NULL AND vectors.id IN (
    SELECT chunks.vector
    FROM quads INDEXED BY quads_spog CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = quads.object
    WHERE quads.subject = :subject AND {data quads.graph}
    UNION SELECT chunks.vector FROM chunks INDEXED BY chunks_term WHERE chunks.term = -1 - :subject
)
ORDER BY vectors.id;

-- name: texts_of_entity
SELECT coalesce(chunks.text, terms.value)
FROM quads INDEXED BY quads_spog
CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = quads.object
CROSS JOIN terms ON terms.id = chunks.term
WHERE quads.subject = :subject AND {data quads.graph}
UNION SELECT chunks.text FROM chunks INDEXED BY chunks_term WHERE chunks.term = -1 - :subject;

-- name: properties_of
-- Gives (predicate, object, how many objects there are), at most :limit of a predicate.
SELECT predicate, object, count
FROM (
    SELECT predicate, object, count(*) OVER (PARTITION BY predicate) AS count,
           row_number() OVER (PARTITION BY predicate ORDER BY object) AS place
    FROM (SELECT DISTINCT predicate, object FROM quads INDEXED BY quads_spog WHERE subject = :entity
          AND {data graph})
)
WHERE place <= :limit ORDER BY predicate, object;

-- name: properties_to
-- The same of the triples that point to it: (predicate, subject, how many).
SELECT predicate, subject, count
FROM (
    SELECT predicate, subject, count(*) OVER (PARTITION BY predicate) AS count,
           row_number() OVER (PARTITION BY predicate ORDER BY subject) AS place
    FROM (SELECT DISTINCT predicate, subject FROM quads INDEXED BY quads_o WHERE object = :entity
          AND {data graph})
)
WHERE place <= :limit ORDER BY predicate, subject;

-- name: count_objects
-- How many objects an entity has under a predicate.
SELECT count(DISTINCT object) FROM quads INDEXED BY quads_spog
WHERE subject = :entity AND predicate = :predicate AND object <> subject AND {data graph};

-- name: count_subjects
-- How many subjects have an entity under a predicate.
SELECT count(DISTINCT subject) FROM quads INDEXED BY quads_posg
WHERE predicate = :predicate AND object = :entity AND subject > 0 AND subject <> object AND {data graph};

-- name: quads_around
-- Gives, of each entity, ids of quads that it is the subject of, and of quads that it is the object of: at most :most.
SELECT (SELECT group_concat(id) FROM (
            SELECT id FROM quads INDEXED BY quads_spog WHERE subject = sought.value AND {data graph} LIMIT :most)),
       (SELECT group_concat(id) FROM (
            SELECT id FROM quads INDEXED BY quads_o WHERE object = sought.value AND {data graph} LIMIT :most))
FROM json_each(:ids_json) AS sought;

-- name: quads_in_graphs
-- Gives, of each entity that a graph is named by, ids of the quads in it: at most :most.
SELECT (SELECT group_concat(id) FROM (
            SELECT id FROM quads INDEXED BY quads_g
            WHERE graph = sought.value AND graph <> 0 AND {data graph} LIMIT :most))
FROM json_each(:ids_json) AS sought;

-- name: quads_by_id
-- Gives columns: ids, subjects, predicates, objects, graphs, and the revisions that added them.
SELECT group_concat(quads.id), group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.object),
       group_concat(quads.graph), group_concat(quads.revision)
FROM json_each(:ids_json) AS sought CROSS JOIN quads ON quads.id = sought.value WHERE quads.subject > 0;

-- name: entities_called
-- Gives (position, subject, predicate): who has a literal that is written exactly so, whatever its language.
-- :spellings_json is of (hash, spelling).
SELECT DISTINCT sought.key, quads.subject, quads.predicate
FROM json_each(:spellings_json) AS sought
CROSS JOIN terms INDEXED BY terms_hash ON terms.hash = sought.value ->> 0 AND terms.value = sought.value ->> 1
CROSS JOIN quads INDEXED BY quads_o ON quads.object = terms.id
WHERE terms.kind = 3 AND quads.subject > 0 AND {data quads.graph}
LIMIT :most;

-- name: sources_of_triples
-- Gives (position, graph, revision that added it), of triples given as [subject, predicate, object].
SELECT sought.key, quads.graph, quads.revision
FROM json_each(:triples_json) AS sought CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = sought.value ->> 0 AND quads.predicate = sought.value ->> 1 AND quads.object = sought.value ->> 2
WHERE {data quads.graph}
ORDER BY sought.key, quads.graph;

-- name: names_under
-- Gives columns: entities, and their literals under a predicate.
SELECT group_concat(subject), group_concat(object)
FROM (SELECT DISTINCT subject, object FROM quads INDEXED BY quads_posg
      WHERE predicate = :predicate AND subject > 0);

-- name: short_texts
-- Gives the ids and the lexical forms of literals of at most :most characters, as two JSON arrays.
SELECT json_group_array(id), json_group_array(value)
FROM terms WHERE id IN (SELECT value FROM json_each(:ids_json))
             AND kind = 3 AND typeof(value) = 'text' AND length(value) <= :most;

-- name: predicates_of
-- The predicates under which literals stand.
SELECT DISTINCT predicate FROM quads WHERE object IN (SELECT value FROM json_each(:ids_json));

-- name: values_told_apart
-- How many of a predicate's first quads there are, and how many values they have.
SELECT count(*), count(DISTINCT object) FROM (SELECT object FROM quads WHERE predicate = :predicate LIMIT :most);

-- name: text_with_word
SELECT 1 FROM chunks_fts CROSS JOIN chunks ON chunks.id = chunks_fts.rowid WHERE chunks_fts MATCH :word LIMIT 1;

-- ---- what is said about triples ------------------------------------------------------------------------------------

-- name: reifiers
-- Gives (triple term, reifier) of the triple terms that are reified.
SELECT sought.value, quads.subject FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = :reifies AND quads.object = sought.value;

-- name: statements
-- RDF 1.1's statements about triples, (position in triples_json, statement).
SELECT sought.key, named.subject FROM json_each(:triples_json) AS sought
CROSS JOIN quads AS named INDEXED BY quads_posg
    ON named.predicate = :rdf_subject AND named.object = sought.value ->> 0
CROSS JOIN quads AS verb INDEXED BY quads_spog
    ON verb.subject = named.subject AND verb.predicate = :rdf_predicate AND verb.object = sought.value ->> 1
CROSS JOIN quads AS value INDEXED BY quads_spog
    ON value.subject = named.subject AND value.predicate = :rdf_object AND value.object = sought.value ->> 2;

-- name: said_of
SELECT DISTINCT quads.subject, quads.predicate, quads.object FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
ORDER BY quads.subject, quads.predicate, quads.object LIMIT :most;

-- name: declared_as
SELECT sought.value FROM json_each(:ids_json) AS sought WHERE EXISTS (
    SELECT 1 FROM quads INDEXED BY quads_spog
    WHERE subject = sought.value AND predicate = :rdf_type AND object = :class);

-- name: limited_by_shapes
-- Predicates of which a property shape of the world says that they have one value at most.
SELECT DISTINCT sought.value FROM json_each(:ids_json) AS sought
CROSS JOIN quads AS path INDEXED BY quads_posg
    ON path.predicate = :path AND path.object = sought.value AND path.graph = :graph
CROSS JOIN quads AS most INDEXED BY quads_spog
    ON most.subject = path.subject AND most.predicate = :most AND most.object = :one;

-- name: state_of_names
-- Numbers that differ whenever the quads of some predicates do: how many there are, and the sum of their ids.
SELECT count(*), total(quads.id)
FROM json_each(:predicates_json) AS sought CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value;
