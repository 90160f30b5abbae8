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
    WHERE (:eligible IS NULL OR substr(:eligible, chunks.id + 1, 1) = x'01')
      AND (:min_similarity IS NULL OR 1 - nearest.distance >= :min_similarity)
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

-- name: vector_scores_rrf
-- Reciprocal Rank Fusion (Cormack, Clarke and Büttcher, 2009): weight / (k + rank).
SELECT chunk, rank AS vector_rank, similarity, :vector_weight / (:k + rank) AS vector_score,
       NULL AS text_rank, NULL AS bm25, NULL AS text_score
FROM vector_matches

-- name: text_scores_rrf
SELECT chunk, NULL AS vector_rank, NULL AS similarity, NULL AS vector_score,
       rank AS text_rank, bm25, :text_weight / (:k + rank) AS text_score
FROM text_matches

-- name: vector_scores_relative
-- The least value gives 0, the best of the list 1. The least is the list's own, or :least_similarity where that is
-- given; a list whose values are all equal gives 1.
SELECT chunk, rank AS vector_rank, similarity,
       :vector_weight * coalesce((similarity - low) / nullif(high - low, 0), 1) AS vector_score,
       NULL AS text_rank, NULL AS bm25, NULL AS text_score
FROM (
    SELECT chunk, rank, similarity, max(similarity) OVER () AS high,
           coalesce(:least_similarity, min(similarity) OVER ()) AS low
    FROM vector_matches
)

-- name: text_scores_relative
-- The same, where -bm25 is the value, whose least is 0 in theory.
SELECT chunk, NULL AS vector_rank, NULL AS similarity, NULL AS vector_score, rank AS text_rank, bm25,
       :text_weight * coalesce((low - bm25) / nullif(low - high, 0), 1) AS text_score
FROM (
    SELECT chunk, rank, bm25, min(bm25) OVER () AS high, coalesce(:least_bm25, max(bm25) OVER ()) AS low
    FROM text_matches
)

-- name: fused
-- A chunk's score is the sum of what the lists give it; higher is better.
fused AS (
    SELECT chunk, coalesce(max(vector_score), 0) + coalesce(max(text_score), 0) AS score,
           max(vector_rank) AS vector_rank, max(similarity) AS similarity, max(vector_score) AS vector_score,
           max(text_rank) AS text_rank, max(bm25) AS bm25, max(text_score) AS text_score
    FROM scores GROUP BY chunk
    ORDER BY score DESC, chunk LIMIT :limit
)
SELECT fused.chunk, fused.score, fused.vector_rank, fused.similarity, fused.vector_score,
       fused.text_rank, fused.bm25, fused.text_score,
       chunks.term, chunks.start, chunks.end, coalesce(chunks.text, terms.value) AS text, chunks.vector
FROM fused CROSS JOIN chunks ON chunks.id = fused.chunk CROSS JOIN terms ON terms.id = chunks.term
ORDER BY fused.score DESC, fused.chunk
