-- Statements of a world that is written through its replicas.

-- name: last_write
-- The number and the mark of the last write, and the epoch: as a whole, they say which state the world is in.
SELECT coalesce(max(number), 0), mark, (SELECT value FROM meta WHERE name = 'epoch') FROM writes;

-- name: guard
-- An error where the world is not as it was when the write was made.
SELECT iif((SELECT (coalesce(max(number), 0), mark, (SELECT value FROM meta WHERE name = 'epoch')) IS (?1, ?2, ?3)
            FROM writes), 1, json('stale'));

-- name: insert_write
INSERT INTO writes (number, mark) VALUES (?1, ?2);

-- name: forget_writes
DELETE FROM writes WHERE number <= ?1 - 1000;

-- name: kept
SELECT 1 FROM writes WHERE mark = ?1;

-- name: mark
SELECT mark FROM writes WHERE number = ?1;

-- name: agree
-- The last write's number, the epoch, and the mark of the write that is a replica's own last: whether the primary's
-- past is the replica's.
SELECT coalesce((SELECT max(number) FROM writes), 0), (SELECT value FROM meta WHERE name = 'epoch'),
       (SELECT mark FROM writes WHERE number = ?1);

-- name: set_epoch
INSERT INTO meta (name, value) VALUES ('epoch', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: last_term
SELECT coalesce(max(id), 0) FROM terms;

-- name: drop_terms_hash
DROP INDEX terms_hash;

-- name: create_terms_hash
CREATE INDEX IF NOT EXISTS terms_hash ON terms (hash);
