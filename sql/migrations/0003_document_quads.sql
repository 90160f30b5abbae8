-- What add_document wrote is a table, no longer JSON in meta.
CREATE TABLE document_quads (
    id INTEGER PRIMARY KEY,
    subject INTEGER NOT NULL,
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL
);
CREATE UNIQUE INDEX document_quads_sgpo ON document_quads (subject, graph, predicate, object);
-- A row 'document SUBJECT GRAPH' had an array of [predicate, object].
INSERT INTO document_quads (subject, predicate, object, graph)
SELECT ids.value ->> 0, pair.value ->> 0, pair.value ->> 1, ids.value ->> 1
FROM meta
CROSS JOIN json_each('[[' || replace(substr(meta.name, 10), ' ', ',') || ']]') AS ids
CROSS JOIN json_each(meta.value) AS pair
WHERE meta.name LIKE 'document %'
ORDER BY meta.name, pair.key;
DELETE FROM meta WHERE name LIKE 'document %';
