-- The statement of a search, one CTE: its first steps, the fusion, the weights and the hits. By plan="index" and
-- fusion="rrf" these are `neighbours_indexed`, `vector_matches`, `text_matches`, `found_here`, `scores_rrf`, `weighed`,
-- `summed`, `passages` and `hits`, in this order. Other searches have `found_given` as the only first step, and the default has
-- `scores_relative`. Ranks count from 1. Similarity is a cosine in [-1, 1], higher is better; bm25 is SQLite's, lower
-- is better. :eligible has a byte for each chunk id, 1 where the chunk may be found; NULL lets all through.

-- name: neighbours_indexed
-- The nearest vectors by the native index, as far as they are eligible; all eligible ones where these are
-- too few, or the index gave fewer than were asked, as it may not reach every vector.
neighbours (vector) AS MATERIALIZED (SELECT id FROM vector_top_k('vectors_embedding', :query, :candidates)),
admitted (vector) AS MATERIALIZED (
    SELECT DISTINCT neighbours.vector
    FROM neighbours CROSS JOIN chunks INDEXED BY chunks_vector ON chunks.vector = neighbours.vector
    WHERE :eligible IS NULL OR substr(:eligible, chunks.id + 1, 1) = x'01'
),
candidates (vector) AS (
    SELECT vector FROM admitted
    UNION
    SELECT vector FROM chunks
    WHERE ((SELECT count(*) FROM admitted) < :depth OR (SELECT count(*) FROM neighbours) < :candidates)
      AND vector IS NOT NULL AND (:eligible IS NULL OR substr(:eligible, id + 1, 1) = x'01')
)

-- name: neighbours_given
-- The vectors to compare: every eligible one, or the nearest by their sign bits.
candidates (vector) AS (SELECT value FROM json_each(:candidates_json))

-- name: vector_matches
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

-- name: text_matches
best_texts (chunk, bm25) AS MATERIALIZED (
    SELECT rowid, bm25(chunks_fts) AS score FROM chunks_fts
    WHERE chunks_fts MATCH :match AND (:eligible IS NULL OR substr(:eligible, rowid + 1, 1) = x'01')
    ORDER BY score, rowid LIMIT :depth
),
text_matches (chunk, rank, bm25) AS MATERIALIZED (
    SELECT chunk, row_number() OVER (ORDER BY bm25, chunk), bm25 FROM best_texts
)

-- name: found_here
found AS MATERIALIZED (
    SELECT chunk, max(vector_rank) AS vector_rank, max(similarity) AS similarity,
           max(text_rank) AS text_rank, max(bm25) AS bm25
    FROM (
        SELECT chunk, rank AS vector_rank, similarity, NULL AS text_rank, NULL AS bm25 FROM vector_matches
        UNION ALL
        SELECT chunk, NULL, NULL, rank, bm25 FROM text_matches
    ) GROUP BY chunk
)

-- name: found_given
-- What the lists hold, worked out before: (chunk, vector rank, similarity, text rank, bm25).
found (chunk, vector_rank, similarity, text_rank, bm25) AS MATERIALIZED (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(:found_json)
)

-- name: scores_rrf
-- Reciprocal Rank Fusion (Cormack, Clarke and Büttcher, 2009): weight / (k + rank).
scores AS (
    SELECT *, :vector_weight / (:k + vector_rank) AS vector_score, :text_weight / (:k + text_rank) AS text_score
    FROM found
)

-- name: scores_relative
-- The least value gives 0, the best 1. Where all are equal, words give 1, and cosines count as they are, from 0 to 1. The
-- least is that of all that were found, where what has none of the words counts as 0, or what is given as
-- :least_similarity and :least_relevance. Words count :coverage times: as much as the best text holds of
-- the question.
bounds AS MATERIALIZED (
    SELECT max(similarity) AS high, coalesce(:least_similarity, min(similarity)) AS low,
           min(bm25) AS best, coalesce(-:least_relevance, max(coalesce(bm25, 0))) AS worst
    FROM found
),
scores AS (
    SELECT chunk, vector_rank, similarity, text_rank, bm25,
           CASE WHEN similarity IS NULL THEN NULL
                ELSE :vector_weight * coalesce((similarity - low) / nullif(high - low, 0), max(min(similarity, 1), 0))
           END AS vector_score,
           CASE WHEN bm25 IS NULL THEN NULL
                ELSE :text_weight * :coverage * coalesce((worst - bm25) / nullif(worst - best, 0), 1)
           END AS text_score
    FROM bounds CROSS JOIN found
)

-- name: weighed
-- A chunk's score is the sum of what the lists give it; higher is better.
-- That is multiplied by the greatest weight of the predicates that its text stands under, where the policy has weights
-- (predicate, weight; the others have :other_weight). A text that is a label, and is what was asked, gets :label_score
-- too, which is more than all else. The sum of a chunk whose vector is pending is multiplied by :pending_factor: all weights
-- over those of the lists that it can be in, so that it pays nothing for a vector that is not there yet.
-- Labels with more blanks around them than a few are not looked for: reading long texts takes long.
-- Texts that are equal have one vector, or one hash: `own` is that, NULL for a part of a text without a vector.
weighed AS MATERIALIZED (
    SELECT scores.*,
           coalesce(chunks.vector, CASE WHEN chunks.text IS NULL THEN -1 - terms.hash END) AS own,
           CASE WHEN :weights_json IS NULL
                 OR (octet_length(terms.value) <= octet_length(:asked) + 64
                     AND instr(:asked, ' ' || lower(trim(terms.value)) || ' ')) THEN 1.0 ELSE coalesce(
               (SELECT max(coalesce(
                    (SELECT value ->> 1 FROM json_each(:weights_json) WHERE value ->> 0 = quads.predicate), :other_weight))
                FROM quads INDEXED BY quads_o WHERE quads.object = chunks.term), :other_weight) END AS weight,
           CASE WHEN chunks.vector IS NULL THEN :pending_factor ELSE 1.0 END AS pending,
           CASE WHEN chunks.end - chunks.start <= :label_bytes + 64
                 AND octet_length(trim(coalesce(chunks.text, terms.value))) <= :label_bytes -- lower() takes longer
                 AND lower(trim(coalesce(chunks.text, terms.value))) IN (SELECT value FROM json_each(:spellings_json))
                 AND EXISTS (
                    SELECT 1 FROM quads INDEXED BY quads_o
                    WHERE quads.object = chunks.term AND quads.predicate IN (SELECT value FROM json_each(:labels_json)))
                THEN :label_score END AS label_score
    FROM scores CROSS JOIN chunks ON chunks.id = scores.chunk
    LEFT JOIN terms ON terms.id = CASE WHEN :weights_json IS NOT NULL OR chunks.vector IS NULL
                                         OR chunks.end - chunks.start <= :label_bytes + 64 THEN chunks.term END
)

-- name: summed
summed AS (
    SELECT *, (coalesce(vector_score, 0) + coalesce(text_score, 0)) * weight * pending + coalesce(label_score, 0) AS score
    FROM weighed
)

-- name: passages
-- Of the chunks that are the same passage of text the best stays, of equals the first, with the others beside it (SQLite
-- takes the other columns from the row of the only min() or max()). Where all have another vector, or another hash, the
-- best :limit are enough.
-- :with_text is 0 where stages follow, most of whose candidates are not shown.
compared AS (
    SELECT * FROM summed ORDER BY score DESC, chunk LIMIT (
        SELECT CASE WHEN count(*) = count(DISTINCT own) AND (min(own) > 0) = (max(own) > 0) THEN :limit ELSE -1 END
        FROM weighed)
),
passages AS (
    SELECT compared.*,
           CASE WHEN chunks.term < -{statement} THEN CAST(chunks.text AS BLOB) -- a statement is no literal's equal
                WHEN chunks.term < 0 THEN chunks.id -- a profile
                ELSE coalesce(chunks.text, (SELECT value FROM terms WHERE terms.id = chunks.term)) END AS passage
    FROM compared CROSS JOIN chunks ON chunks.id = compared.chunk
),
fused AS (
    SELECT *, max(score) AS best, group_concat(equal) AS alike, group_concat(equal_ranks) AS ranks
    FROM (
        SELECT *, min(chunk) AS first, group_concat(chunk) AS equal,
               group_concat(max(coalesce(vector_rank, 0), coalesce(text_rank, 0))) AS equal_ranks
        FROM passages GROUP BY passage, score
    ) GROUP BY passage ORDER BY best DESC, first LIMIT :limit
)

-- name: hits
SELECT fused.chunk, fused.score, fused.vector_rank, fused.similarity, fused.vector_score,
       fused.text_rank, fused.bm25, fused.text_score,
       chunks.term, chunks.start, chunks.end,
       CASE WHEN :with_text
            THEN coalesce(chunks.text, (SELECT value FROM terms WHERE terms.id = chunks.term)) END AS text,
       chunks.vector, fused.weight, :coverage AS coverage, fused.pending, fused.label_score, fused.alike, fused.ranks
FROM fused CROSS JOIN chunks ON chunks.id = fused.chunk
ORDER BY fused.score DESC, fused.chunk

-- name: nearest
-- The vector matches by themselves.
SELECT chunk, similarity FROM vector_matches ORDER BY rank

-- name: best_texts
-- The text matches by themselves.
SELECT chunk, bm25 FROM text_matches ORDER BY rank

-- name: found_of_worlds
-- What several worlds found, in the order given; coverage is that of the world with the best text.
given (chunk, vector_rank, similarity, text_rank, bm25, weight, pending, label_score) AS MATERIALIZED (
    SELECT key, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
    FROM json_each(:rows_json)
),
found AS (SELECT chunk, vector_rank, similarity, text_rank, bm25 FROM given)

-- name: weighed_of_worlds
weighed AS (SELECT scores.*, weight, pending, label_score FROM scores JOIN given USING (chunk))

-- name: hits_of_worlds
SELECT chunk, score, vector_rank, similarity, vector_score, text_rank, bm25, text_score, :coverage AS coverage, pending
FROM summed ORDER BY score DESC, chunk
