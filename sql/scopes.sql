-- Statements that copy the quads of some graphs of a world, with their past, into a database of their own.
-- Where rows are read, a page is its last id or rowid (NULL behind the last page) and its columns.

-- name: quads_of_default
SELECT max(id), group_concat(id), group_concat(subject), group_concat(predicate), group_concat(object),
       group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads WHERE graph = 0 AND id > :after ORDER BY id LIMIT :limit);

-- name: quads_of_named
-- `graph <> 0` lets SQLite read the index of named graphs.
SELECT max(id), group_concat(id), group_concat(subject), group_concat(predicate), group_concat(object),
       group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads WHERE graph = :graph AND graph <> 0 AND id > :after ORDER BY id LIMIT :limit);

-- name: removed
SELECT max(rowid), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision), group_concat(removed)
FROM (SELECT rowid, * FROM removed_quads
      WHERE rowid > :after AND graph IN (SELECT value FROM json_each(:graphs_json)) ORDER BY rowid LIMIT :limit);

-- name: last_removed
SELECT coalesce(max(rowid), 0) FROM removed_quads;

-- name: last_quad
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'quads'), 0);

-- name: count_default
SELECT count(*) FROM quads WHERE graph = 0;

-- name: count_named
SELECT count(*) FROM quads WHERE graph = :graph AND graph <> 0;

-- name: count_all
SELECT count(*) FROM quads;

-- name: known_terms
SELECT terms.id FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value;

-- name: terms
SELECT terms.id, kind, terms.value, datatype, language, direction, hash
FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value;

-- name: insert_quads
-- rows_json: [id, subject, predicate, object, graph, revision].
INSERT INTO quads (id, subject, predicate, object, graph, revision)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(:rows_json);

-- name: insert_removed
-- rows_json: [subject, predicate, object, graph, revision, removed].
INSERT INTO removed_quads (subject, predicate, object, graph, revision, removed)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(:rows_json);

-- name: delete_quads
-- rows_json: [subject, predicate, object, graph].
DELETE FROM quads WHERE id IN (
    SELECT quads.id FROM json_each(:rows_json) AS gone CROSS JOIN quads INDEXED BY quads_spog
        ON quads.subject = gone.value ->> 0 AND quads.predicate = gone.value ->> 1
        AND quads.object = gone.value ->> 2 AND quads.graph = gone.value ->> 3);

-- name: revisions_among
SELECT revision, time, author, message, added, removed, first_quad, created, dropped, undoes
FROM json_each(:revisions_json) AS sought CROSS JOIN revisions ON revisions.revision = sought.value ORDER BY revision;

-- name: revision
SELECT revision, time, added, removed FROM revisions WHERE revision = :revision;

-- name: proposals_state
SELECT count(*), max(id), total(length(discussion)), count(decided) FROM proposals;

-- name: all_proposals
SELECT * FROM proposals ORDER BY id;

-- name: quads_since
SELECT group_concat(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM quads WHERE id >= (SELECT min(first_quad) FROM revisions WHERE revision > :revision) AND revision > :revision;

-- name: forget_quads_since
DELETE FROM quads WHERE revision > :revision;

-- name: forget_removed_since
DELETE FROM removed_quads WHERE removed > :revision;

-- name: forget_revisions_since
DELETE FROM revisions WHERE revision > :revision;

-- name: forget_merged
DELETE FROM merged_quads;

-- name: forget_sources
DELETE FROM sources;

-- name: forget_source_runs
DELETE FROM source_runs;

-- name: forget_proposals
DELETE FROM proposals;

-- name: forget_proposal_quads
DELETE FROM proposal_quads;

-- name: proposal_quads
SELECT proposal, sign, subject, predicate, object, graph FROM proposal_quads WHERE proposal IN (SELECT value FROM json_each(:ids_json));

-- name: forget_prefixes
DELETE FROM prefixes;

-- name: embeddings_of
-- digests_json: hexadecimal. Gives (position in digests_json, vector), NULL for a text that has no direction.
SELECT sought.key, coalesce(vectors.embedding, retired_vectors.embedding)
FROM json_each(:digests_json) AS sought
CROSS JOIN embedded_texts ON embedded_texts.digest = unhex(sought.value)
LEFT JOIN vectors ON vectors.id = embedded_texts.vector
LEFT JOIN retired_vectors ON retired_vectors.id = embedded_texts.vector;

-- name: iri_begins
-- Whether a term of a quad is an IRI that begins so, as far as subjects, predicates and objects tell.
SELECT 1 FROM terms
WHERE kind = 1 AND substr(value, 1, length(:iri)) = :iri AND (
    EXISTS (SELECT 1 FROM quads INDEXED BY quads_spog WHERE subject = terms.id)
    OR EXISTS (SELECT 1 FROM quads INDEXED BY quads_o WHERE object = terms.id)
    OR EXISTS (SELECT 1 FROM quads INDEXED BY quads_posg WHERE predicate = terms.id))
LIMIT 1;

-- name: last_revision_of_quads
-- The last revision that added or removed a quad.
SELECT max(coalesce((SELECT max(revision) FROM quads), 0), coalesce((SELECT max(revision) FROM removed_quads), 0),
           coalesce((SELECT max(removed) FROM removed_quads), 0));

-- name: all_texts
-- Gives columns: the chunks of literals, their vectors or 0, and the literals.
SELECT group_concat(id), group_concat(coalesce(vector, 0)), group_concat(term) FROM chunks WHERE term > 0;

-- name: texts_of_graphs
-- As all_texts, of the named graphs in a list of ids; some more than once.
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)), group_concat(chunks.term)
FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_g ON quads.graph = sought.value AND quads.graph <> 0
CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = quads.object;

-- name: texts_of_literals
-- As all_texts, of the literals in a list of ids.
SELECT group_concat(chunks.id), group_concat(coalesce(chunks.vector, 0)), group_concat(chunks.term)
FROM json_each(:ids_json) AS sought CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = sought.value;

-- name: objects_since
-- The objects of quads that came after one, and of those that went after another.
SELECT group_concat(object) FROM (
    SELECT object FROM quads WHERE id > :after
    UNION SELECT object FROM removed_quads WHERE rowid > :after_removed);

-- name: counted_up_to
-- The number of quads in some named graphs, or :limit where there are more.
SELECT count(*) FROM (
    SELECT 1 FROM json_each(:ids_json) AS sought
    CROSS JOIN quads INDEXED BY quads_g ON quads.graph = sought.value AND quads.graph <> 0 LIMIT :limit);

-- name: any_begins
SELECT 1 FROM terms WHERE kind = 1 AND id > :after AND substr(value, 1, length(:iri)) = :iri LIMIT 1;

-- name: untagged_texts
-- The texts without a language tag that some chunks are of.
SELECT DISTINCT terms.value
FROM json_each(:ids_json) AS sought CROSS JOIN chunks ON chunks.id = sought.value
CROSS JOIN terms ON terms.id = chunks.term
WHERE terms.language IS NULL;

-- name: chunks_of_literals
SELECT chunks.id, chunks.term, chunks.start, chunks.end, chunks.text, chunks.segmented
FROM json_each(:ids_json) AS sought CROSS JOIN chunks INDEXED BY chunks_term ON chunks.term = sought.value
ORDER BY chunks.id;

-- name: quads_of_all
SELECT max(id), group_concat(id), group_concat(subject), group_concat(predicate), group_concat(object),
       group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads WHERE id > :after ORDER BY id LIMIT :limit);

-- name: removed_of_all
SELECT max(rowid), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph),
       group_concat(revision), group_concat(removed)
FROM (SELECT rowid, * FROM removed_quads WHERE rowid > :after ORDER BY rowid LIMIT :limit);

-- name: revisions_since
SELECT * FROM revisions WHERE revision > :revision ORDER BY revision;

-- name: concluded_quads
-- The quads of a world with its conclusions that follow, and are not written.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM quads WHERE id >= 536870912;

-- name: forget_rules
DELETE FROM meta WHERE name = 'rules';

-- name: conclude_quads
-- They are of no revision, and in storing order: two of the indexes that are made afterwards then find them sorted.
INSERT INTO quads (id, subject, predicate, object, graph, revision)
SELECT 536870911 + row_number() OVER (ORDER BY graph, predicate, object, subject), subject, predicate, object, graph, 0
FROM conclusions;

-- name: forget_conclusions
DELETE FROM conclusions;

-- name: forget_changes
DELETE FROM conclusion_changes;
