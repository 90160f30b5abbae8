-- What a world gives to a search of several worlds: raw values of its lists, and the statistics that BM25 needs.

-- name: similarities
-- Of chunks whose vectors were not among the nearest.
SELECT chunks.id, 1 - vector_distance_cos(vectors.embedding, :query)
FROM json_each(:chunks_json) CROSS JOIN chunks ON chunks.id = value CROSS JOIN vectors ON vectors.id = chunks.vector
WHERE vectors.embedding IS NOT NULL
  AND (:min_similarity IS NULL OR 1 - vector_distance_cos(vectors.embedding, :query) >= :min_similarity);

-- name: held
-- Which of the terms a text has, as their places in :terms_json.
SELECT key FROM json_each(:terms_json)
WHERE EXISTS (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH value AND rowid = :chunk);
