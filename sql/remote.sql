-- Statements of a world that is written through its replicas.

-- name: writes
SELECT coalesce(max(number), 0) FROM writes;

-- name: guard
-- An error where the world is not as it was when the write was made.
SELECT iif((SELECT coalesce(max(number), 0) FROM writes) = ?1, 1, json('stale'));

-- name: insert_write
INSERT INTO writes (number, mark) VALUES (?1, ?2);

-- name: forget_writes
DELETE FROM writes WHERE number <= ?1 - 1000;

-- name: mark
SELECT mark FROM writes WHERE number = ?1;

-- name: last_write
SELECT number, mark FROM writes ORDER BY number DESC LIMIT 1;

-- name: agree
-- What a follower asks before it syncs: the last write, the mark of the write that is its own last, and the epoch.
SELECT coalesce((SELECT max(number) FROM writes), 0), (SELECT mark FROM writes WHERE number = ?1),
       (SELECT value FROM meta WHERE name = 'epoch');

-- name: epoch
SELECT value FROM meta WHERE name = 'epoch';

-- name: set_epoch
INSERT INTO meta (name, value) VALUES ('epoch', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value;
