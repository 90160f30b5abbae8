-- What a hit shows besides its text.

-- name: quads_of_literals
-- Gives the quads of literals as columns: literals, ids, subjects, predicates, graphs; NULLs for none.
SELECT group_concat(quads.object), group_concat(quads.id), group_concat(quads.subject),
       group_concat(quads.predicate), group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_o ON quads.object = sought.value
WHERE {data quads.graph};

-- name: highlights
-- The indexed text with each match between U+0002 and U+0003.
SELECT rowid, highlight(chunks_fts, 0, char(2), char(3)) FROM chunks_fts
WHERE chunks_fts MATCH :match AND rowid IN (SELECT value FROM json_each(:ids_json));

-- name: quads_of_passages
-- The quads of chunks, and of others with the same text: with the same vector, which texts in other cases may have too;
-- the same part of a literal of the same value, where there is no vector yet; or those of :alike_json, (chunk, other).
-- Gives columns: chunks, others (or the chunk itself), literals, ids, subjects, predicates, graphs; NULLs for none.
SELECT group_concat(passage.chunk), group_concat(passage.other), group_concat(passage.term), group_concat(quads.id),
       group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.graph)
FROM (
    SELECT one.id AS chunk, one.id AS other, one.term AS term
    FROM json_each(:ids_json) AS given CROSS JOIN chunks AS one ON one.id = given.value
    UNION ALL
    SELECT one.id, other.id, other.term
    FROM json_each(:ids_json) AS given CROSS JOIN chunks AS one ON one.id = given.value
    CROSS JOIN chunks AS other INDEXED BY chunks_vector ON other.vector = one.vector AND other.id <> one.id
    CROSS JOIN terms AS literal ON literal.id = one.term
    CROSS JOIN terms AS same ON same.id = other.term
    WHERE coalesce(one.text, literal.value) = coalesce(other.text, same.value)
    UNION ALL
    SELECT one.id, other.id, other.term
    FROM json_each(:ids_json) AS given CROSS JOIN chunks AS one ON one.id = given.value AND one.vector IS NULL
    CROSS JOIN terms AS literal ON literal.id = one.term
    CROSS JOIN terms AS same INDEXED BY terms_hash ON same.hash = literal.hash
    CROSS JOIN chunks AS other INDEXED BY chunks_term ON other.term = same.id
    WHERE same.value = literal.value AND same.id <> literal.id AND other.start = one.start AND other.end = one.end
    UNION ALL
    SELECT value ->> 0, other.id, other.term
    FROM json_each(:alike_json) CROSS JOIN chunks AS other ON other.id = value ->> 1
) AS passage CROSS JOIN quads INDEXED BY quads_o ON quads.object = passage.term
WHERE {data quads.graph};

-- name: quads_of_statements
-- Gives columns: what chunks of statements have as their term, and their quads: ids, subjects, predicates, graphs.
SELECT group_concat(sought.value), group_concat(quads.id), group_concat(quads.subject), group_concat(quads.predicate),
       group_concat(quads.graph)
FROM json_each(:ids_json) AS sought CROSS JOIN quads ON quads.id = -1 - sought.value - {statement};

-- name: statements_of_passages
-- As quads_of_passages, of statements.
SELECT group_concat(passage.chunk), group_concat(passage.other), group_concat(passage.term), group_concat(quads.id),
       group_concat(quads.subject), group_concat(quads.predicate), group_concat(quads.graph)
FROM (
    SELECT one.id AS chunk, one.id AS other, one.term AS term
    FROM json_each(:ids_json) AS given CROSS JOIN chunks AS one ON one.id = given.value
    UNION
    SELECT one.id, other.id, other.term
    FROM json_each(:ids_json) AS given CROSS JOIN chunks AS one ON one.id = given.value AND one.term < -{statement}
    CROSS JOIN chunks AS other INDEXED BY chunks_vector ON other.vector = one.vector AND other.text = one.text
    UNION
    SELECT value ->> 0, other.id, other.term
    FROM json_each(:alike_json) CROSS JOIN chunks AS other ON other.id = value ->> 1
) AS passage CROSS JOIN quads ON quads.id = -1 - passage.term - {statement}
WHERE passage.term < -{statement};

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

-- name: passages_beside
-- A chunk, and those of its text beside it, :around on either side, in their order: (id, start, end, text).
WITH own AS (SELECT id, term, start FROM chunks WHERE id = :chunk),
beside AS (
    SELECT * FROM (
        SELECT chunks.* FROM own CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = own.term
        WHERE (chunks.start, chunks.id) <= (own.start, own.id) ORDER BY chunks.start DESC, chunks.id DESC
        LIMIT :around + 1
    )
    UNION ALL
    SELECT * FROM (
        SELECT chunks.* FROM own CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = own.term
        WHERE (chunks.start, chunks.id) > (own.start, own.id) ORDER BY chunks.start, chunks.id LIMIT :around
    )
)
SELECT beside.id, beside.start, beside.end, coalesce(beside.text, terms.value)
FROM beside LEFT JOIN terms ON terms.id = beside.term ORDER BY beside.start, beside.id;

-- name: quads_of_chunk
SELECT quads.subject, quads.predicate, quads.object, quads.graph
FROM chunks CROSS JOIN quads INDEXED BY quads_o ON quads.object = chunks.term
WHERE chunks.id = :chunk AND {data quads.graph} ORDER BY quads.id;

-- name: annotated
-- Gives (reifier, the ids of a triple's parts) of what some terms reify.
SELECT DISTINCT quads.subject, terms.value FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value AND quads.predicate = :reifies
CROSS JOIN terms ON terms.id = quads.object AND terms.kind = 4;

-- name: reifiers
-- Reifiers of triples, and as many subjects of these triples.
SELECT group_concat(quads.subject), group_concat(CAST(terms.value AS INTEGER))
FROM quads INDEXED BY quads_posg CROSS JOIN terms ON terms.id = quads.object
WHERE quads.predicate = :reifies AND terms.kind = 4;
