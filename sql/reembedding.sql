-- Embedding a world anew: the tables new_… are filled while the old vectors answer, and take their place at the end.

-- name: chunks_without_new
-- Gives (chunk id, text).
SELECT chunks.id, coalesce(chunks.text, terms.value)
FROM chunks LEFT JOIN terms ON terms.id = chunks.term
WHERE chunks.id > :after AND NOT EXISTS (SELECT 1 FROM new_chunks WHERE new_chunks.chunk = chunks.id)
ORDER BY chunks.id LIMIT :limit;

-- name: count_new
-- Gives (chunks that have a new vector, chunks).
SELECT (SELECT count(*) FROM new_chunks), (SELECT count(*) FROM chunks);

-- name: find_new_texts
-- digests_json: hexadecimal. Gives (position in digests_json, vector id).
SELECT sought.key, new_texts.vector
FROM json_each(:digests_json) AS sought CROSS JOIN new_texts ON new_texts.digest = unhex(sought.value);

-- name: find_new_vectors
-- keys_json: hexadecimal. Gives (position in keys_json, vector id).
SELECT sought.key, new_vectors.id
FROM json_each(:keys_json) AS sought CROSS JOIN new_vectors ON new_vectors.key = unhex(sought.value);

-- name: next_new_vector
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'new_vectors'), 0) + 1;
