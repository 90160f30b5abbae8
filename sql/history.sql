-- Revisions and what they did. Where rows are read, a page is its last id or rowid (NULL behind the last page) and its
-- columns as comma-separated strings. Revisions are numbered without gaps; a quad of `quads` holds since its revision,
-- one of `removed_quads` held from `revision` up to, and not at, `removed`.

-- name: entries
SELECT revision, time, author, message, added, removed, created, dropped, undoes, purged_added + purged_removed
FROM revisions
WHERE revision >= :first AND revision < :before ORDER BY revision DESC LIMIT :limit;

-- name: numbered
SELECT revision, time, author, message, added, removed, created, dropped, undoes,
       purged_added + purged_removed
FROM json_each(:revisions_json) AS sought CROSS JOIN revisions ON revisions.revision = sought.value;

-- name: purged
-- The first revisions between two of whose quads nothing is left.
SELECT revision FROM revisions
WHERE revision > :after AND revision <= :last AND (purged_added > 0 OR purged_removed > 0) ORDER BY revision LIMIT 5;

-- name: before_time
-- The last revision up to a time.
SELECT max(revision) FROM revisions WHERE revision >= :first AND time <= :time;

-- name: undoing
-- The revisions that undid others, newest first.
SELECT revision, undoes FROM revisions WHERE undoes IS NOT NULL ORDER BY revision DESC;

-- name: unnumber_tags
-- Tags of a revision that came to nothing are of the one before it.
UPDATE meta SET value = (
    SELECT json_group_object(key, CASE WHEN json_extract(each.value, '$.revision') = :revision
                                       THEN json_set(each.value, '$.revision', :revision - 1)
                                       ELSE json(each.value) END)
    FROM json_each(meta.value) AS each)
WHERE name = 'tags'
  AND EXISTS (SELECT 1 FROM json_each(meta.value) AS each WHERE json_extract(each.value, '$.revision') = :revision);

-- name: entry
SELECT revision, time, author, message, added + created, removed + dropped FROM revisions WHERE revision = :revision;

-- name: first_quad
-- No quad that one of these revisions added has a smaller id.
SELECT coalesce(min(first_quad), 1) FROM revisions WHERE revision > :after AND revision <= :last;

-- name: first_removed
-- The rowid of the first quad that was removed after a revision: rowids grow with `removed`.
SELECT rowid FROM removed_quads WHERE removed > :removed_after ORDER BY removed, rowid LIMIT 1;

-- name: held_rows
-- The quads that hold now and were added after one revision, up to another.
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision)
FROM (SELECT * FROM quads WHERE id > :page AND revision > :after AND revision <= :last ORDER BY id LIMIT :limit);

-- name: removed_rows
-- The quads that were removed after one revision, and added up to another.
SELECT max(rowid), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision), group_concat(removed)
FROM (SELECT rowid, * FROM removed_quads
      WHERE rowid > :page AND removed > :removed_after AND revision <= :last ORDER BY rowid LIMIT :limit);

-- name: count_at
-- How many quads there were after a revision.
SELECT (SELECT count(*) FROM quads WHERE revision <= :revision AND subject <> 0)
     + (SELECT count(*) FROM removed_quads WHERE removed > :revision AND revision <= :revision AND subject <> 0);

-- ---- provenance ----------------------------------------------------------------------------------------------------
-- An id below 0 stands for any term.

-- name: accepted_as
-- Gives (revision, proposal, who made it, who accepted it) of some revisions.
SELECT revision, id, author, reviewer FROM proposals
WHERE status = 'accepted' AND revision IN (SELECT value FROM json_each(:revisions_json)) ORDER BY id;

-- name: redirected_in
-- What one write redirected: (old, kept, whether the redirect was taken away).
SELECT subject, object, 0 FROM quads INDEXED BY quads_g
WHERE graph = :graph AND graph <> 0 AND revision = :revision
UNION ALL
SELECT subject, object, removed = :revision FROM removed_quads
WHERE graph = :graph AND (revision = :revision OR removed = :revision) AND revision <> removed;

-- name: removed_in
-- The quads that a revision removed: four ids, and the revisions that had added them.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision)
FROM removed_quads INDEXED BY removed_quads_removed WHERE removed = :revision AND subject > 0;

-- name: added_before
-- The revision that had added a quad, which another one removed.
SELECT revision FROM removed_quads INDEXED BY removed_quads_removed
WHERE subject = ?1 AND predicate = ?2 AND object = ?3 AND graph = ?4 AND removed = ?5;

-- name: removed_matching
-- The quads that held once: four ids, the revision that had added them, the one that removed them.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision), group_concat(removed)
FROM removed_quads
WHERE (:subject < 0 OR subject = :subject) AND (:predicate < 0 OR predicate = :predicate)
  AND (:object < 0 OR object = :object) AND (:graph < 0 OR graph = :graph) AND subject > 0;

-- name: revisions_touching
-- The revisions that added or removed a quad of a predicate and graph.
SELECT revision FROM quads
WHERE (:predicate < 0 OR predicate = :predicate) AND (:graph < 0 OR graph = :graph)
UNION SELECT iif(end.value, revision, removed) FROM removed_quads CROSS JOIN json_each('[0, 1]') AS end
WHERE (:predicate < 0 OR predicate = :predicate) AND (:graph < 0 OR graph = :graph);

-- name: revisions_touching_entity
-- Those of quads whose subject or object is an entity.
SELECT revision FROM quads INDEXED BY quads_spog
WHERE subject = :entity AND (:predicate < 0 OR predicate = :predicate) AND (:graph < 0 OR graph = :graph)
UNION SELECT revision FROM quads INDEXED BY quads_o
WHERE object = :entity AND (:predicate < 0 OR predicate = :predicate) AND (:graph < 0 OR graph = :graph)
UNION SELECT iif(end.value, revision, removed) FROM removed_quads CROSS JOIN json_each('[0, 1]') AS end
WHERE (subject = :entity OR object = :entity)
  AND (:predicate < 0 OR predicate = :predicate) AND (:graph < 0 OR graph = :graph);

-- ---- forgetting ----------------------------------------------------------------------------------------------------

-- name: first_since
-- The first revision from a time on; none before it is younger.
SELECT revision FROM revisions WHERE revision >= :first AND time >= :time ORDER BY revision LIMIT 1;

-- name: before
-- The last revision before a time.
SELECT max(revision) FROM revisions WHERE time < :time;

-- name: forget_removed
-- The quads that were removed before a revision.
DELETE FROM removed_quads WHERE removed < :first;

-- name: forget_revisions
-- The last one's row stays: the next number follows from it.
DELETE FROM revisions WHERE revision < :first AND revision < (SELECT max(revision) FROM revisions);
