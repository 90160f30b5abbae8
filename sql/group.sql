-- What a world gives to a search of several worlds: raw values of its lists, and the statistics that BM25 needs.

-- name: relevant
-- The best texts by BM25 over all worlds, and those of :only_json, as (chunk, bm25, rank).
-- :terms_json has (term, inverse document frequency here, the same over all worlds times how often it was asked).
-- FTS5's bm25() of one term gives, over that term's frequency here, what the term's count in the text weighs; with the
-- text's length (in tokens; FTS5 keeps it in one to three bytes) that gives the count itself, a whole number. k1 is 1.2
-- and b .75, as FTS5 has them.
WITH held (chunk, weight, gain) AS MATERIALIZED (
    SELECT chunks_fts.rowid, terms.value ->> 2, -bm25(chunks_fts) / (terms.value ->> 1)
    FROM json_each(:terms_json) AS terms CROSS JOIN chunks_fts
    WHERE chunks_fts MATCH (terms.value ->> 0)
      AND (:eligible IS NULL OR substr(:eligible, chunks_fts.rowid + 1, 1) = x'01')
      AND (:excluded IS NULL OR chunks_fts.rowid NOT IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH :excluded))
),
sized (chunk, weight, gain, tokens) AS (
    SELECT chunk, weight, gain, CASE length(sz)
        WHEN 1 THEN instr(:bytes, sz) - 1
        WHEN 2 THEN (instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 1
        ELSE ((instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 129) * 128
             + instr(:bytes, substr(sz, 3, 1)) - 1 END
    FROM held CROSS JOIN chunks_fts_docsize ON chunks_fts_docsize.id = held.chunk
),
counted (chunk, weight, count, long) AS (
    SELECT chunk, weight, round(gain * 1.2 * (0.25 + 0.75 * tokens / :average_here) / (2.2 - gain)),
           1.2 * (0.25 + 0.75 * tokens / :average)
    FROM sized
),
scored (chunk, bm25) AS (
    SELECT chunk, -sum(weight * count * 2.2 / (count + long)) FROM counted GROUP BY chunk
),
ranked (chunk, bm25, rank) AS (SELECT chunk, bm25, row_number() OVER (ORDER BY bm25, chunk) FROM scored)
SELECT chunk, bm25, rank FROM ranked
WHERE rank <= :depth OR chunk IN (SELECT value FROM json_each(:only_json)) ORDER BY rank;

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
