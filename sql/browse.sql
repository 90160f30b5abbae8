-- Trees, and lists of members. Columns come as comma-separated strings where there may be many rows.

-- name: below
-- Gives columns: entities, and those directly below them, which point to them under :up_json or which they point to
-- under :down_json. With a :scheme, without the concepts that are in other schemes alone; :named leaves blank
-- nodes out.
SELECT group_concat(parent), group_concat(child)
FROM (
    SELECT sought.value AS parent, quads.subject AS child
    FROM json_each(:ids_json) AS sought CROSS JOIN json_each(:up_json) AS predicate
    CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = predicate.value AND quads.object = sought.value
    WHERE {data quads.graph}
    UNION ALL
    SELECT sought.value, quads.object
    FROM json_each(:ids_json) AS sought CROSS JOIN json_each(:down_json) AS predicate
    CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value AND quads.predicate = predicate.value
    WHERE {data quads.graph}
)
CROSS JOIN terms ON terms.id = child AND terms.kind IN (1, iif(:named, 1, 2))
WHERE parent <> child AND (
    :scheme IS NULL
    OR EXISTS (SELECT 1 FROM quads INDEXED BY quads_spog
               WHERE subject = child AND predicate = :in_scheme AND object = :scheme AND {data graph})
    OR NOT EXISTS (SELECT 1 FROM quads INDEXED BY quads_spog
                   WHERE subject = child AND predicate = :in_scheme AND {data graph})
);

-- name: links
-- Gives columns: subjects, and the entities that they have under a predicate.
SELECT group_concat(quads.subject), group_concat(quads.object)
FROM quads INDEXED BY quads_posg CROSS JOIN terms ON terms.id = quads.object AND terms.kind IN (1, 2)
WHERE quads.predicate = :predicate AND {data quads.graph};

-- name: links_now
-- Those of some pairs, subject << 32 | object, that are links under a predicate.
SELECT group_concat(pair.value) FROM json_each(:pairs_json) AS pair
CROSS JOIN terms ON terms.id = pair.value & 4294967295 AND terms.kind IN (1, 2)
WHERE EXISTS (
    SELECT 1 FROM quads INDEXED BY quads_spog
    WHERE subject = pair.value >> 32 AND predicate = :predicate AND object = pair.value & 4294967295 AND {data graph}
);

-- name: blank_among
SELECT group_concat(terms.id) FROM json_each(:ids_json) AS sought
CROSS JOIN terms ON terms.id = sought.value AND terms.kind = 2;

-- name: subjects_with
-- The subjects that have an object under some predicates.
SELECT group_concat(quads.subject)
FROM json_each(:predicates_json) AS sought
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value AND quads.object = :node
WHERE {data quads.graph};

-- name: objects_of
-- The objects that a subject has under some predicates.
SELECT group_concat(quads.object)
FROM json_each(:predicates_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = :node AND quads.predicate = sought.value
WHERE {data quads.graph};

-- name: subjects_under
SELECT group_concat(subject)
FROM (SELECT DISTINCT subject FROM quads INDEXED BY quads_posg WHERE predicate = :predicate AND {data graph});

-- name: values_under
-- Gives columns: all subjects and objects under a predicate.
SELECT group_concat(subject), group_concat(object)
FROM quads INDEXED BY quads_posg WHERE predicate = :predicate AND {data graph};

-- name: counts_of
-- Gives columns: objects, and how many subjects each has under a predicate.
SELECT group_concat(value), group_concat(count) FROM (
    SELECT sought.value AS value, (SELECT count(*) FROM (
        SELECT DISTINCT subject FROM quads INDEXED BY quads_posg
        WHERE predicate = :predicate AND object = sought.value AND {data graph}
    )) AS count
    FROM json_each(:ids_json) AS sought
);

-- name: leads
-- Whether a predicate has an object that is an entity, of the first.
SELECT 1 FROM quads INDEXED BY quads_posg CROSS JOIN terms ON terms.id = quads.object
WHERE predicate = :predicate AND {data quads.graph} AND terms.kind IN (1, 2) LIMIT 1;

-- name: count_under
SELECT count(*) FROM quads INDEXED BY quads_posg WHERE predicate = :predicate AND {data graph};

-- name: names_of
-- Gives a column of entities, and of their texts under some predicates JSON arrays: predicate, text, language.
SELECT group_concat(quads.subject), json_group_array(quads.predicate),
       json_group_array(iif(typeof(terms.value) = 'text', substr(terms.value, 1, 1000), '')),
       json_group_array(terms.language)
FROM json_each(:ids_json) AS sought CROSS JOIN json_each(:predicates_json) AS predicate
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value AND quads.predicate = predicate.value
CROSS JOIN terms ON terms.id = quads.object AND terms.kind = 3
WHERE {data quads.graph};

-- name: quads_between
-- Gives (subject, predicate, object, graph) of quads between two entities, either way, under some predicates.
SELECT quads.subject, quads.predicate, quads.object, quads.graph
FROM json_each(:pairs_json) AS pair CROSS JOIN json_each(:predicates_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = pair.value ->> 0 AND quads.predicate = sought.value AND quads.object = pair.value ->> 1
WHERE {data quads.graph}
ORDER BY quads.id;

-- name: graph_of
-- The graph in which most is said of a subject.
SELECT graph FROM quads INDEXED BY quads_spog WHERE subject = :subject AND {data graph}
GROUP BY graph ORDER BY count(*) DESC, graph LIMIT 1;
