-- What the full-text index says of single terms, as columns, so that BM25 is worked out in memory.

-- name: attach
-- The table has a row for each place where a token stands; it takes no room.
CREATE VIRTUAL TABLE IF NOT EXISTS temp.postings USING fts5vocab(main, chunks_fts, instance);

-- name: of_tokens
-- Each in a row; the index has the texts of a token in ascending order.
SELECT (SELECT group_concat(doc) FROM temp.postings WHERE term = sought.value) FROM json_each(?1) AS sought;

-- name: of_beginning
SELECT group_concat(doc) FROM temp.postings WHERE term >= ?1 AND term <= ?1 || char(1114111);

-- name: places_of_token
SELECT group_concat(doc << 24 | offset) FROM temp.postings WHERE term = ?1;

-- name: places_of_beginning
SELECT group_concat(doc << 24 | offset) FROM temp.postings WHERE term >= ?1 AND term <= ?1 || char(1114111);

-- name: matching
SELECT group_concat(rowid) FROM chunks_fts WHERE chunks_fts MATCH ?1;

-- name: lengths
-- In tokens, which FTS5 keeps in one to three bytes of seven bits.
SELECT group_concat(id), group_concat(CASE length(sz)
        WHEN 1 THEN instr(:bytes, sz) - 1
        WHEN 2 THEN (instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 1
        ELSE ((instr(:bytes, substr(sz, 1, 1)) - 129) * 128 + instr(:bytes, substr(sz, 2, 1)) - 129) * 128
             + instr(:bytes, substr(sz, 3, 1)) - 1 END)
FROM chunks_fts_docsize WHERE id > :after;

-- name: forget_texts
DELETE FROM asked;

-- name: ask_texts
INSERT INTO asked (rowid, text) SELECT key, value FROM json_each(?1);

-- name: tokens_asked
SELECT doc, term FROM asked_tokens ORDER BY doc, "offset";
