-- Statements that read a whole world, page by page, to write it as plain files.
-- Where rows of ids are read, a page is its last id or rowid (NULL behind the last page) and its columns.

-- name: quads
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision)
FROM (SELECT * FROM quads WHERE id > :after ORDER BY id LIMIT :limit);

-- name: removed
SELECT max(rowid), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision), group_concat(removed)
FROM (SELECT rowid, * FROM removed_quads WHERE rowid > :after ORDER BY rowid LIMIT :limit);

-- name: document_quads
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT * FROM document_quads WHERE id > :after ORDER BY id LIMIT :limit);

-- name: count_vectors
SELECT (SELECT count(*) FROM vectors NOT INDEXED WHERE embedding IS NOT NULL)
     + (SELECT count(*) FROM retired_vectors WHERE embedding IS NOT NULL);

-- name: vectors
SELECT id, embedding FROM vectors NOT INDEXED
WHERE id > :after AND embedding IS NOT NULL ORDER BY id LIMIT :limit;

-- name: retired_vectors
SELECT id, embedding FROM retired_vectors WHERE id > :after AND embedding IS NOT NULL ORDER BY id LIMIT :limit;

-- name: texts
SELECT chunks.id, coalesce(chunks.text, terms.value), chunks.vector
FROM chunks LEFT JOIN terms ON terms.id = chunks.term
WHERE chunks.id > :after AND chunks.vector IS NOT NULL ORDER BY chunks.id LIMIT :limit;

-- name: embedded_texts
-- digest: hexadecimal.
SELECT hex(digest), vector FROM embedded_texts WHERE digest > unhex(:digest) ORDER BY digest LIMIT :limit;
