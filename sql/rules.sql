-- What shapes are checked on: triples of all graphs of data. Columns come as comma-separated strings.
-- :before is a quad's id or 0; what has this id or a larger one is left out. A revision's quads are the last ones while
-- it is written, so that this is the state before it, but for what it removed and restored.

-- name: pairs
SELECT group_concat(subject), group_concat(object) FROM quads
WHERE predicate = :predicate AND {data graph} AND (:before = 0 OR id < :before);

-- name: outgoing
SELECT group_concat(quads.predicate), group_concat(quads.subject), group_concat(quads.object)
FROM json_each(:nodes_json) AS node
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = node.value
WHERE quads.predicate IN (SELECT value FROM json_each(:predicates_json)) AND {data quads.graph}
  AND (:before = 0 OR quads.id < :before);

-- name: incoming
SELECT group_concat(quads.predicate), group_concat(quads.object), group_concat(quads.subject)
FROM json_each(:predicates_json) AS sought
CROSS JOIN json_each(:nodes_json) AS node
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value AND quads.object = node.value
WHERE {data quads.graph} AND (:before = 0 OR quads.id < :before);

-- name: all_outgoing
-- Of closed shapes, which look at every predicate.
SELECT group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.object)
FROM json_each(:nodes_json) AS node
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = node.value
WHERE {data quads.graph} AND (:before = 0 OR quads.id < :before);

-- name: term_facts
-- Kind, datatype (-1 for xsd:string, -2 with a language, -3 with a direction too) and length in characters, -1 where
-- SQL cannot tell it.
SELECT group_concat(id), group_concat(kind),
       group_concat(coalesce(datatype, CASE WHEN language IS NULL THEN -1 WHEN direction IS NULL THEN -2 ELSE -3 END)),
       group_concat(CASE typeof(value) WHEN 'text' THEN length(value) ELSE -1 END)
FROM terms WHERE id IN (SELECT value FROM json_each(:ids_json));

-- name: quads_of_triples
-- The quads of (subject, predicate, object) and the revisions that added them.
SELECT quads.subject, quads.predicate, quads.object, quads.graph, quads.revision
FROM json_each(:triples_json) AS triple
CROSS JOIN quads INDEXED BY quads_spog
    ON quads.subject = json_extract(triple.value, '$[0]')
    AND quads.predicate = json_extract(triple.value, '$[1]')
    AND quads.object = json_extract(triple.value, '$[2]')
WHERE {data quads.graph}
ORDER BY quads.id;

-- name: shapes_stamp
-- Changes whenever the graph of the shapes does.
SELECT count(*), max(id), sum(id) FROM quads INDEXED BY quads_g WHERE graph = :graph AND graph <> 0;

-- name: added_by
-- What the revision that is being written added, and what it removed and put back.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision = :revision)
FROM quads WHERE id >= :first_quad AND {data graph} AND subject <> 0;

-- name: removed_by
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM removed_quads WHERE removed = :revision AND {data graph} AND subject <> 0;
