-- The fused query, in pieces: one CTE is put together from the legs that a search has.
-- Ranks count from 1. Similarity is a cosine in [-1, 1], higher is better; bm25 is SQLite's, lower is better.

-- name: candidates_given
-- Plans `exact` and `codes`: the vectors to compare, every eligible one or the nearest by their sign bits.
candidates (vector) AS (SELECT value FROM json_each(:candidates_json))

-- name: candidates_index
-- Plan `index`: the nearest vectors by the native index.
candidates (vector) AS (SELECT id FROM vector_top_k('vectors_embedding', :query, :candidates))

-- name: vector_leg
nearest (vector, distance) AS MATERIALIZED (
    SELECT vectors.id, vector_distance_cos(vectors.embedding, :query) AS distance
    FROM candidates CROSS JOIN vectors ON vectors.id = candidates.vector
    WHERE vectors.embedding IS NOT NULL
    ORDER BY distance, vectors.id LIMIT :depth
),
vector_matches (chunk, rank, similarity) AS MATERIALIZED (
    SELECT chunks.id, row_number() OVER (ORDER BY nearest.distance, chunks.id), 1 - nearest.distance
    FROM nearest CROSS JOIN chunks INDEXED BY chunks_vector ON chunks.vector = nearest.vector
    WHERE :eligible IS NULL OR substr(:eligible, chunks.id + 1, 1) = x'01'
    ORDER BY nearest.distance, chunks.id LIMIT :depth
)

-- name: text_leg
-- :eligible has a byte for each chunk id, 1 where the chunk may be found; NULL lets all through.
best_texts (chunk, bm25) AS MATERIALIZED (
    SELECT rowid, bm25(chunks_fts) AS score FROM chunks_fts
    WHERE chunks_fts MATCH :match AND (:eligible IS NULL OR substr(:eligible, rowid + 1, 1) = x'01')
    ORDER BY score, rowid LIMIT :depth
),
text_matches (chunk, rank, bm25) AS MATERIALIZED (
    SELECT chunk, row_number() OVER (ORDER BY bm25, chunk), bm25 FROM best_texts
)

-- name: vector_contributions
SELECT chunk, rank AS vector_rank, similarity, NULL AS text_rank, NULL AS bm25, :vector_weight / (:k + rank) AS contribution
FROM vector_matches

-- name: text_contributions
SELECT chunk, NULL AS vector_rank, NULL AS similarity, rank AS text_rank, bm25, :text_weight / (:k + rank) AS contribution
FROM text_matches

-- name: fused
-- Reciprocal Rank Fusion (Cormack, Clarke and Büttcher, 2009): the sum of weight / (k + rank); higher is better.
fused AS (
    SELECT chunk, sum(contribution) AS score, max(vector_rank) AS vector_rank, max(similarity) AS similarity,
           max(text_rank) AS text_rank, max(bm25) AS bm25
    FROM contributions GROUP BY chunk
    ORDER BY score DESC, chunk LIMIT :limit
)
SELECT fused.chunk, fused.score, fused.vector_rank, fused.similarity, fused.text_rank, fused.bm25,
       chunks.term, chunks.start, chunks.end, coalesce(chunks.text, terms.value) AS text
FROM fused CROSS JOIN chunks ON chunks.id = fused.chunk CROSS JOIN terms ON terms.id = chunks.term
ORDER BY fused.score DESC, fused.chunk
