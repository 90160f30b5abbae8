-- What a world follows: sources, the files that were read of each, and the revisions that its runs made.

-- name: sources
SELECT name, kind, place, graph, options, state FROM sources ORDER BY name;

-- name: owned
-- The graphs that sources own, by the ids of their names.
SELECT terms.id, sources.name FROM sources CROSS JOIN terms
ON terms.hash = sources.graph_hash AND terms.kind = 1 AND terms.value = sources.graph
WHERE json_extract(sources.options, '$.edits') = 'refuse';

-- name: source_of_proposal
SELECT name FROM sources WHERE json_extract(state, '$.proposal') = :proposal;

-- name: add_source
INSERT INTO sources (name, kind, place, graph, graph_hash, options, state)
VALUES (:name, :kind, :place, :graph, :graph_hash, :options, '{}');

-- name: set_options
UPDATE sources SET options = :options WHERE name = :name;

-- name: set_state
UPDATE sources SET state = :state WHERE name = :name;

-- name: remove_source
DELETE FROM sources WHERE name = :name;

-- name: forget_files
DELETE FROM source_files WHERE source = :name;

-- name: forget_runs
DELETE FROM source_runs WHERE source = :name;

-- name: files
SELECT path, stamp, digest, error, revision, places FROM source_files WHERE source = :name ORDER BY path;

-- name: remove_files
DELETE FROM source_files WHERE source = :name AND path IN (SELECT value FROM json_each(:paths_json));

-- name: note_run
INSERT OR IGNORE INTO source_runs (source, revision) VALUES (:name, :revision);

-- name: runs
-- The revisions that a source's runs made, and those that took one of them back, or such a one.
WITH RECURSIVE own (revision) AS (
    SELECT revision FROM source_runs WHERE source = :name
    UNION
    SELECT revisions.revision FROM own CROSS JOIN revisions ON revisions.undoes = own.revision
)
SELECT group_concat(revision) FROM own;

-- name: places
SELECT places FROM source_files WHERE source = :name AND path = :path;

-- name: counts
-- How many files of each source were read, and how many have an error.
SELECT source, count(*) - count(error), count(error) FROM source_files GROUP BY source;

-- name: errors
SELECT path, error FROM source_files WHERE source = :name AND error IS NOT NULL ORDER BY path;

-- name: held
-- The quads of some subjects in a graph, and the revisions that added them.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision)
FROM quads WHERE subject IN (SELECT value FROM json_each(:ids_json)) AND graph = :graph;
