-- What add_document wrote: the quads of all versions of a document, which is a subject in a graph.

-- name: written
SELECT group_concat(predicate), group_concat(object)
FROM (SELECT predicate, object FROM document_quads WHERE subject = :subject AND graph = :graph ORDER BY id);

-- name: note
-- pairs_json: predicate << 32 | object, in the order of their quads; one that is noted already becomes the last.
INSERT OR REPLACE INTO document_quads (subject, predicate, object, graph)
SELECT :subject, value >> 32, value & 4294967295, :graph FROM json_each(:pairs_json);

-- name: forget_oldest
DELETE FROM document_quads WHERE id IN (
    SELECT id FROM document_quads WHERE subject = :subject AND graph = :graph ORDER BY id DESC LIMIT -1 OFFSET :kept
);
