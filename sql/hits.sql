-- What a hit shows besides its text.

-- name: quads_of_literals
-- Gives the quads of literals as columns: literals, ids, subjects, predicates, graphs; NULLs for none.
SELECT group_concat(quads.object), group_concat(quads.id), group_concat(quads.subject),
       group_concat(quads.predicate), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_o ON quads.object = sought.value
WHERE quads.graph IS NOT {shapes};

-- name: highlights
-- The indexed text with each match between U+0002 and U+0003.
SELECT rowid, highlight(chunks_fts, 0, char(2), char(3)) FROM chunks_fts
WHERE chunks_fts MATCH :match AND rowid IN (SELECT value FROM json_each(:ids_json));

-- name: matching_chunks
SELECT group_concat(rowid) FROM chunks_fts WHERE chunks_fts MATCH :match;

-- name: terms_of_chunks
-- Gives columns: chunks, and the literals that they are passages of.
SELECT group_concat(chunks.id), group_concat(chunks.term)
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.id = sought.value;

-- name: languages_of_terms
-- Gives (language, ids of the literals in it).
SELECT terms.language, group_concat(terms.id)
FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value
WHERE terms.language IS NOT NULL GROUP BY terms.language;
