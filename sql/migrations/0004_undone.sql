-- Revisions count the graphs that were created and dropped apart from quads, and say which one they undid.
ALTER TABLE revisions ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revisions ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revisions ADD COLUMN undoes INTEGER;
WITH made (revision, graphs) AS (
    SELECT revision, count(*) FROM (
        SELECT revision FROM quads WHERE subject = 0 UNION ALL SELECT revision FROM removed_quads WHERE subject = 0
    ) GROUP BY revision
)
UPDATE revisions SET added = added - made.graphs, created = made.graphs
FROM made WHERE made.revision = revisions.revision;
WITH gone (revision, graphs) AS (
    SELECT removed, count(*) FROM removed_quads WHERE subject = 0 GROUP BY removed
)
UPDATE revisions SET removed = removed - gone.graphs, dropped = gone.graphs
FROM gone WHERE gone.revision = revisions.revision;
