-- Quads that came in under the name of an entity that was merged. Of merges before this: what their revisions moved, as
-- far as the history has it and it holds.
CREATE TABLE merged_quads (
    id INTEGER PRIMARY KEY,
    subject INTEGER NOT NULL,
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL,
    kept_subject INTEGER NOT NULL,
    kept_predicate INTEGER NOT NULL,
    kept_object INTEGER NOT NULL,
    kept_graph INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    removed INTEGER
);
CREATE UNIQUE INDEX merged_quads_given ON merged_quads (subject, predicate, object, graph) WHERE removed IS NULL;
CREATE INDEX merged_quads_kept ON merged_quads (kept_subject, kept_predicate, kept_object, kept_graph)
    WHERE removed IS NULL;
CREATE INDEX merged_quads_removed ON merged_quads (removed) WHERE removed IS NOT NULL;
INSERT OR IGNORE INTO merged_quads (subject, predicate, object, graph,
                                    kept_subject, kept_predicate, kept_object, kept_graph, revision)
WITH RECURSIVE graph (id) AS (SELECT id FROM terms WHERE kind = 1 AND value = 'urn:worlds:redirects'),
step (old, kept) AS (SELECT subject, object FROM quads WHERE graph = (SELECT id FROM graph) AND subject > 0),
leads (old, kept, length) AS (
    SELECT old, kept, 1 FROM step
    UNION SELECT leads.old, step.kept, length + 1 FROM leads JOIN step ON step.old = leads.kept WHERE length < 50
),
ends (old, kept) AS (SELECT old, kept FROM leads WHERE kept NOT IN (SELECT old FROM step)),
merge (revision) AS (
    SELECT revision FROM quads WHERE graph = (SELECT id FROM graph)
    UNION SELECT revision FROM removed_quads WHERE graph = (SELECT id FROM graph)
),
moved AS (
    SELECT subject, predicate, object, graph, revision, removed,
           coalesce((SELECT kept FROM ends WHERE old = subject), subject) AS s,
           coalesce((SELECT kept FROM ends WHERE old = predicate), predicate) AS p,
           coalesce((SELECT kept FROM ends WHERE old = object), object) AS o,
           coalesce((SELECT kept FROM ends WHERE old = graph), graph) AS g
    FROM removed_quads
    WHERE removed IN (SELECT revision FROM merge) AND revision NOT IN (SELECT revision FROM merge)
      AND graph <> (SELECT id FROM graph)
)
SELECT subject, predicate, object, graph, s,
       coalesce((SELECT predicate FROM quads WHERE subject = s AND predicate = p AND object = o AND graph = g),
                (SELECT predicate FROM quads WHERE subject = s AND object = o AND graph = g AND revision = moved.removed),
                (SELECT predicate FROM quads WHERE subject = s AND object = o AND graph = g)) AS now, o, g, revision
FROM moved
WHERE (s, p, o, g) <> (subject, predicate, object, graph) AND now IS NOT NULL AND (s <> o OR subject = object)
UNION ALL
SELECT subject, predicate, object, graph, 0, -1, removed, 0, revision
FROM moved WHERE s = o AND subject <> object;
