-- The fused query, in pieces: one CTE is put together from the legs that a search has.
-- Ranks count from 1. Similarity is a cosine in [-1, 1], higher is better; bm25 is SQLite's, lower is better.

-- name: candidates_given
-- Plans `exact` and `codes`: the vectors to compare, every eligible one or the nearest by their sign bits.
candidates (vector) AS (SELECT value FROM json_each(:candidates_json))

-- name: candidates_index
-- Plan `index`: the nearest vectors by the native index, as far as they are eligible; all eligible ones where these are
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

-- name: nearest
-- The vector leg by itself.
SELECT chunk, similarity FROM vector_matches ORDER BY rank

-- name: vector_leg_given
-- The same of what was found before: (chunk, similarity), best first.
vector_matches (chunk, rank, similarity) AS MATERIALIZED (
    SELECT value ->> 0, key + 1, value ->> 1 FROM json_each(:nearest_json)
)

-- name: text_leg_scan
-- :eligible has a byte for each chunk id, 1 where the chunk may be found; NULL lets all through.
best_texts (chunk, bm25) AS MATERIALIZED (
    SELECT rowid, bm25(chunks_fts) AS score FROM chunks_fts
    WHERE chunks_fts MATCH :match AND (:eligible IS NULL OR substr(:eligible, rowid + 1, 1) = x'01')
    ORDER BY score, rowid LIMIT :depth
),
text_matches (chunk, rank, bm25) AS MATERIALIZED (
    SELECT chunk, row_number() OVER (ORDER BY bm25, chunk), bm25 FROM best_texts
)

-- name: texts_scored
-- All that match any term, term by term.
-- :words_json has (term, inverse document frequency here, the one that counts times how often the term was asked).
-- FTS5's bm25() of one term gives, over that term's frequency here, what the term's count in the text weighs; with the
-- text's length (in tokens; FTS5 keeps it in one to three bytes) that gives the count itself, a whole number. k1 is 1.2
-- and b .75, as FTS5 has them; a length counts as its share of the average to the power of :length.
gained (chunk, weight, gain) AS MATERIALIZED (
    SELECT chunks_fts.rowid, words.value ->> 2, -bm25(chunks_fts) / (words.value ->> 1)
    FROM json_each(:words_json) AS words CROSS JOIN chunks_fts
    WHERE chunks_fts MATCH (words.value ->> 0)
      AND (:eligible IS NULL OR substr(:eligible, chunks_fts.rowid + 1, 1) = x'01')
      AND (:excluded IS NULL OR chunks_fts.rowid NOT IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH :excluded))
),
sized (chunk, weight, gain, tokens) AS (
    SELECT chunk, weight, gain, CASE length(sz)
        WHEN 1 THEN instr(:bytes, sz) - 1
        WHEN 2 THEN (instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 1
        ELSE ((instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 129) * 128
             + instr(:bytes, substr(sz, 3, 1)) - 1 END
    FROM gained CROSS JOIN chunks_fts_docsize ON chunks_fts_docsize.id = gained.chunk
),
counted (chunk, weight, count, long) AS (
    SELECT chunk, weight, round(gain * 1.2 * (0.25 + 0.75 * tokens / :average_here) / (2.2 - gain)),
           1.2 * (0.25 + 0.75 * CASE WHEN :length = 1 THEN tokens / :average ELSE exp(:length * ln(tokens / :average)) END)
    FROM sized
),
all_texts (chunk, bm25) AS MATERIALIZED (
    SELECT chunk, -sum(weight * count * 2.2 / (count + long)) FROM counted GROUP BY chunk
)

-- name: text_leg_scored
-- The best of `texts_scored`.
text_matches (chunk, rank, bm25) AS MATERIALIZED (
    SELECT chunk, row_number() OVER (ORDER BY bm25, chunk), bm25
    FROM (SELECT chunk, bm25 FROM all_texts ORDER BY bm25, chunk LIMIT :depth)
)

-- name: text_leg_lookup
-- The same for so few eligible chunks that each is looked up: a scan reads all that any text says of the words, and
-- bm25() reads that once more. :words_json has (term, inverse document frequency, the same times how often it
-- was asked. A text has a term as often as highlight() marks it, by one byte; its length in tokens FTS5 keeps in one to
-- three bytes. k1 is 1.2 and b .75, as in bm25(), and :length as in `texts_scored`.
few (chunk) AS MATERIALIZED (
    SELECT chunks_fts.rowid FROM json_each(:chunks_json) AS sought CROSS JOIN chunks_fts
    WHERE chunks_fts MATCH :match AND chunks_fts.rowid = sought.value
),
counted (chunk, weight, count) AS MATERIALIZED (
    SELECT few.chunk, words.value ->> 2,
           length(CAST(highlight(chunks_fts, 0, '.', '') AS BLOB)) - length(CAST(chunks_fts.text AS BLOB))
    FROM few CROSS JOIN json_each(:words_json) AS words CROSS JOIN chunks_fts
    WHERE chunks_fts MATCH (words.value ->> 0) AND chunks_fts.rowid = few.chunk
),
sized (chunk, tokens) AS MATERIALIZED (
    SELECT few.chunk, CASE length(sz)
        WHEN 1 THEN instr(:bytes, sz) - 1
        WHEN 2 THEN (instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 1
        ELSE ((instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 129) * 128
             + instr(:bytes, substr(sz, 3, 1)) - 1 END
    FROM few CROSS JOIN chunks_fts_docsize ON chunks_fts_docsize.id = few.chunk
),
all_texts (chunk, bm25) AS MATERIALIZED (
    SELECT chunk, -sum(weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * CASE WHEN :length = 1 THEN tokens / :average ELSE exp(:length * ln(tokens / :average)) END)))
    FROM counted JOIN sized USING (chunk) GROUP BY chunk
),
text_matches (chunk, rank, bm25) AS MATERIALIZED (
    SELECT chunk, row_number() OVER (ORDER BY bm25, chunk), bm25
    FROM (SELECT chunk, bm25 FROM all_texts ORDER BY bm25, chunk LIMIT :depth)
)

-- name: text_leg_eligible
-- For a blank question: what the filter lets through, the first :depth in the order of their ids.
text_matches (chunk, rank, bm25) AS MATERIALIZED (
    SELECT value, key + 1, NULL FROM json_each(:chunks_json)
)

-- name: found_given
-- What the lists hold, worked out before: (chunk, vector rank, similarity, text rank, bm25).
found (chunk, vector_rank, similarity, text_rank, bm25) AS MATERIALIZED (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(:found_json)
)

-- name: vector_found
SELECT chunk, rank AS vector_rank, similarity, NULL AS text_rank, NULL AS bm25 FROM vector_matches

-- name: text_found
SELECT chunk, NULL AS vector_rank, NULL AS similarity, rank AS text_rank, bm25 FROM text_matches

-- name: vector_completed
-- The similarity of what only the words found.
SELECT chunks.id AS chunk, NULL AS vector_rank, 1 - vector_distance_cos(vectors.embedding, :query) AS similarity,
       NULL AS text_rank, NULL AS bm25
FROM text_matches CROSS JOIN chunks ON chunks.id = text_matches.chunk
CROSS JOIN vectors ON vectors.id = chunks.vector
WHERE vectors.embedding IS NOT NULL AND chunks.id NOT IN (SELECT chunk FROM vector_matches)
  AND (:min_similarity IS NULL OR 1 - vector_distance_cos(vectors.embedding, :query) >= :min_similarity)

-- name: text_completed_scan
-- The relevance of what only the vectors found, as far as it has any of the words.
SELECT rowid AS chunk, NULL AS vector_rank, NULL AS similarity, NULL AS text_rank, bm25(chunks_fts) AS bm25
FROM chunks_fts
WHERE chunks_fts MATCH :match AND +rowid IN (SELECT chunk FROM vector_matches EXCEPT SELECT chunk FROM text_matches)

-- name: text_completed_whole
SELECT chunk, NULL AS vector_rank, NULL AS similarity, NULL AS text_rank, bm25
FROM all_texts
WHERE chunk IN (SELECT chunk FROM vector_matches EXCEPT SELECT chunk FROM text_matches)

-- name: coverage
-- From :terms_json, (term, inverse document frequency): the square root of the share that the best text has of their sum.
coverage (factor) AS MATERIALIZED (
    SELECT coalesce(sqrt(sum(weight * held) / nullif(sum(weight), 0)), 1)
    FROM (
        SELECT value ->> 1 AS weight, EXISTS (
            SELECT 1 FROM chunks_fts
            WHERE chunks_fts MATCH (value ->> 0) AND rowid = (SELECT chunk FROM text_matches WHERE rank = 1)
        ) AS held
        FROM json_each(:terms_json)
    )
)

-- name: coverage_lists
-- The same of :held_json, (inverse document frequency, whether the best text has the term).
coverage (factor) AS MATERIALIZED (
    SELECT coalesce(sqrt(sum((value ->> 0) * (value ->> 1)) / nullif(sum(value ->> 0), 0)), 1) FROM json_each(:held_json)
)

-- name: coverage_alone
-- There is nothing beside the words, or the other way round.
coverage (factor) AS (SELECT 1.0)

-- name: found
found AS MATERIALIZED (
    SELECT chunk, max(vector_rank) AS vector_rank, max(similarity) AS similarity,
           max(text_rank) AS text_rank, max(bm25) AS bm25
    FROM listed GROUP BY chunk
)

-- name: scores_rrf
-- Reciprocal Rank Fusion (Cormack, Clarke and Büttcher, 2009): weight / (k + rank).
scores AS (
    SELECT *, :vector_weight / (:k + vector_rank) AS vector_score, :text_weight / (:k + text_rank) AS text_score,
           1.0 AS coverage
    FROM found
)

-- name: scores_relative
-- The least value gives 0, the best 1. Where all are equal, words give 1, and cosines count as they are, from 0 to 1. The
-- least is that of all that were found, where what has none of the words counts as 0, or what is given as
-- :least_similarity and :least_relevance. Words count as much as the best text holds of the question.
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
                ELSE :text_weight * coverage.factor * coalesce((worst - bm25) / nullif(worst - best, 0), 1)
           END AS text_score,
           coverage.factor AS coverage
    FROM bounds CROSS JOIN coverage CROSS JOIN found
)

-- name: weighed
-- A chunk's score is the sum of what the lists give it; higher is better.
-- That is multiplied by the greatest weight of the predicates that its text stands under, where the policy has weights
-- (predicate, weight; the others have :other_weight). A text that is a label, and is what was asked, gets :label_score
-- too, which is more than all else. The sum of a chunk whose vector is pending is multiplied by :pending_factor: all weights
-- over those of the lists that it can be in, so that it pays nothing for a vector that is not there yet.
weighed AS MATERIALIZED (
    SELECT scores.*,
           CASE WHEN :weights_json IS NULL
                 -- a label with more blanks around it than a few is not looked for: lower() takes long of a long text
                 OR (octet_length(terms.value) <= octet_length(:asked) + 64
                     AND instr(:asked, ' ' || lower(trim(terms.value)) || ' ')) THEN 1.0 ELSE coalesce(
               (SELECT max(coalesce(
                    (SELECT value ->> 1 FROM json_each(:weights_json) WHERE value ->> 0 = quads.predicate), :other_weight))
                FROM quads INDEXED BY quads_o WHERE quads.object = chunks.term), :other_weight) END AS weight,
           CASE WHEN chunks.vector IS NULL THEN :pending_factor ELSE 1.0 END AS pending,
           CASE WHEN octet_length(trim(coalesce(chunks.text, terms.value))) <= :label_bytes -- lower() takes longer
                 AND lower(trim(coalesce(chunks.text, terms.value))) IN (SELECT value FROM json_each(:spellings_json))
                 AND EXISTS (
                    SELECT 1 FROM quads INDEXED BY quads_o
                    WHERE quads.object = chunks.term AND quads.predicate IN (SELECT value FROM json_each(:labels_json)))
                THEN :label_score END AS label_score
    FROM scores CROSS JOIN chunks ON chunks.id = scores.chunk LEFT JOIN terms ON terms.id = chunks.term
)

-- name: weighed_alike
-- The same where no predicate has a weight, and no label is asked for.
weighed AS MATERIALIZED (
    SELECT scores.*, 1.0 AS weight, CASE WHEN chunks.vector IS NULL THEN :pending_factor ELSE 1.0 END AS pending,
           NULL AS label_score
    FROM scores CROSS JOIN chunks ON chunks.id = scores.chunk
)

-- name: summed
-- The best :compared, all if that is -1.
summed AS (
    SELECT *, (coalesce(vector_score, 0) + coalesce(text_score, 0)) * weight * pending + coalesce(label_score, 0) AS score
    FROM weighed ORDER BY score DESC, chunk LIMIT :compared
)

-- name: fused
-- Of the chunks that are the same passage of text the best stays, of equals the first, with the others beside it (SQLite
-- takes the other columns from the row of the only min() or max()).
-- :with_text is 0 where stages follow, most of whose candidates are not shown.
passages AS (
    SELECT summed.*,
           CASE WHEN chunks.term < -{statement} THEN CAST(chunks.text AS BLOB) -- a statement is no literal's equal
                WHEN chunks.term < 0 THEN chunks.id -- a profile
                ELSE coalesce(chunks.text, (SELECT value FROM terms WHERE terms.id = chunks.term)) END AS passage
    FROM summed CROSS JOIN chunks ON chunks.id = summed.chunk
),
fused AS (
    SELECT *, max(score) AS best, group_concat(equal) AS alike, group_concat(equal_ranks) AS ranks
    FROM (
        SELECT *, min(chunk) AS first, group_concat(chunk) AS equal,
               group_concat(max(coalesce(vector_rank, 0), coalesce(text_rank, 0))) AS equal_ranks
        FROM passages GROUP BY passage, score
    ) GROUP BY passage ORDER BY best DESC, first LIMIT :limit
)
SELECT fused.chunk, fused.score, fused.vector_rank, fused.similarity, fused.vector_score,
       fused.text_rank, fused.bm25, fused.text_score,
       chunks.term, chunks.start, chunks.end,
       CASE WHEN :with_text
            THEN coalesce(chunks.text, (SELECT value FROM terms WHERE terms.id = chunks.term)) END AS text,
       chunks.vector, fused.weight, fused.coverage, fused.pending, fused.label_score, fused.alike, fused.ranks
FROM fused CROSS JOIN chunks ON chunks.id = fused.chunk
ORDER BY fused.score DESC, fused.chunk

-- name: given_of_worlds
-- What several worlds found, in the order given, and what words count beside vectors in the world with the best text.
given (chunk, vector_rank, similarity, text_rank, bm25, weight, pending, label_score) AS MATERIALIZED (
    SELECT key, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
    FROM json_each(:rows_json)
),
listed AS (SELECT chunk, vector_rank, similarity, text_rank, bm25 FROM given),
coverage (factor) AS (SELECT :coverage)

-- name: weighed_of_worlds
weighed AS (SELECT scores.*, weight, pending, label_score FROM scores JOIN given USING (chunk))

-- name: fused_of_worlds
SELECT chunk, score, vector_rank, similarity, vector_score, text_rank, bm25, text_score, coverage, pending
FROM summed ORDER BY score DESC, chunk
