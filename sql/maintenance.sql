-- Statements on the file as a whole: what it holds, exports, backups, giving space back.

-- ---- stats ---------------------------------------------------------------------------------------------------------

-- name: counts
-- Gives (bytes of the pages, created, quads, those in named graphs, named graphs, revisions, last revision, texts, chunks, pending chunks,
-- characters of all chunks, vectors kept for texts that are gone).
SELECT (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size),
       (SELECT value FROM meta WHERE name = 'created'),
       (SELECT count(*) FROM quads) - (SELECT count(*) FROM quads INDEXED BY quads_spog WHERE subject = 0),
       (SELECT count(*) FROM quads INDEXED BY quads_g WHERE graph <> 0),
       (SELECT count(DISTINCT graph) FROM quads INDEXED BY quads_g WHERE graph <> 0),
       (SELECT count(*) FROM revisions),
       (SELECT coalesce(max(revision), 0) FROM revisions),
       (SELECT count(DISTINCT term) FROM chunks INDEXED BY chunks_term),
       (SELECT count(*) FROM chunks),
       (SELECT count(*) FROM chunks WHERE vector IS NULL),
       (SELECT coalesce(sum(end - start), 0) FROM chunks),
       (SELECT count(*) FROM retired_vectors);

-- name: terms_by_kind
SELECT kind, count(*) FROM terms GROUP BY kind;

-- name: count_vectors
SELECT count(*) FROM vectors NOT INDEXED;

-- name: commonest_predicates
-- Gives (IRI, quads), the commonest first.
WITH commonest (predicate, count) AS (
    SELECT predicate, count(*) AS count FROM quads INDEXED BY quads_posg WHERE predicate <> 0
    GROUP BY predicate ORDER BY count DESC, predicate LIMIT :limit
)
SELECT terms.value, commonest.count FROM commonest CROSS JOIN terms ON terms.id = commonest.predicate
ORDER BY commonest.count DESC, terms.value;

-- name: commonest_types
-- Gives (IRI, instances), the commonest first; an instance counts once for each graph that says so.
WITH commonest (type, count) AS (
    SELECT object, count(*) AS count FROM quads INDEXED BY quads_posg WHERE predicate = :rdf_type
    GROUP BY object ORDER BY count DESC, object LIMIT :limit
)
SELECT terms.value, commonest.count FROM commonest CROSS JOIN terms ON terms.id = commonest.type AND terms.kind = 1
ORDER BY commonest.count DESC, terms.value;

-- ---- export --------------------------------------------------------------------------------------------------------

-- name: any_named_graph
SELECT 1 FROM quads INDEXED BY quads_g WHERE graph <> 0 LIMIT 1;

-- name: quads_by_subject
-- The quads after one, ordered by subject, predicate, object and graph.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog
      WHERE (subject, predicate, object, graph) > (:subject, :predicate, :object, :graph) AND subject > 0
      ORDER BY subject, predicate, object, graph LIMIT :limit);

-- name: default_quads_by_subject
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog
      WHERE (subject, predicate, object, graph) > (:subject, :predicate, :object, :graph) AND graph = 0
      ORDER BY subject, predicate, object, graph LIMIT :limit);

-- name: quads_by_graph
-- The quads of the named graphs from :graph to :last, after one of :graph, graph by graph.
SELECT max(id), group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT * FROM quads INDEXED BY quads_g
      WHERE graph <> 0 AND graph <= :last AND (graph, id) > (:graph, :after) AND subject > 0
      ORDER BY graph, id LIMIT :limit);

-- ---- opening -------------------------------------------------------------------------------------------------------

-- name: definitions
-- All of what `objects` gives, and the encoding, as one text, which tells whether it was seen before.
SELECT encoding || (
    SELECT coalesce(group_concat(definition, char(30)), '') FROM (
        SELECT type || char(31) || name || char(31) || coalesce(substr(sql, 1, 20000), '') AS definition
        FROM sqlite_master
        WHERE sql IS NOT NULL OR type <> 'index' LIMIT 201
    )
) FROM pragma_encoding;

-- name: objects
-- Gives (type, name, definition) of what the file holds besides the indexes that its tables make by themselves.
SELECT type, name, substr(sql, 1, 20000) FROM sqlite_master
WHERE sql IS NOT NULL OR type <> 'index' LIMIT :limit;

-- ---- backup --------------------------------------------------------------------------------------------------------

-- name: file_shape
-- Gives (pages, bytes a page).
SELECT page_count, page_size FROM pragma_page_count, pragma_page_size;

-- name: pages
-- Gives (number, content) of pages, decrypted, as this connection's transaction sees them.
SELECT page.pgno, page.data
FROM generate_series(:first, :last) AS sought CROSS JOIN sqlite_dbpage AS page ON page.pgno = sought.value;

-- name: make_room
-- Makes the file as long as it will be; what this writes is overwritten.
CREATE TABLE room (content);

-- name: fill_room
INSERT INTO room (content) VALUES (zeroblob(:bytes));

-- name: put_page
UPDATE sqlite_dbpage SET data = :content WHERE pgno = :page;

-- ---- compact -------------------------------------------------------------------------------------------------------

-- name: forget_retired_texts
DELETE FROM embedded_texts WHERE vector IN (SELECT id FROM retired_vectors);

-- name: forget_all_retired
DELETE FROM retired_vectors WHERE true;

-- name: delete_unused_terms
-- Every term that no quad, no history and no chunk needs, be it as a datatype or as a part of a triple term.
WITH RECURSIVE used (id) AS (
    SELECT subject FROM quads UNION SELECT predicate FROM quads UNION SELECT object FROM quads
    UNION SELECT graph FROM quads
    UNION SELECT subject FROM removed_quads UNION SELECT predicate FROM removed_quads
    UNION SELECT object FROM removed_quads UNION SELECT graph FROM removed_quads
    UNION SELECT subject FROM merged_quads UNION SELECT predicate FROM merged_quads
    UNION SELECT object FROM merged_quads UNION SELECT graph FROM merged_quads
    UNION SELECT subject FROM conclusions UNION SELECT predicate FROM conclusions
    UNION SELECT object FROM conclusions UNION SELECT graph FROM conclusions
    UNION SELECT term FROM chunks
    UNION SELECT terms.datatype FROM used CROSS JOIN terms ON terms.id = used.id
          WHERE terms.datatype IS NOT NULL
    UNION SELECT part.value FROM used CROSS JOIN terms ON terms.id = used.id AND terms.kind = 4
          CROSS JOIN json_each('[' || replace(terms.value, ' ', ',') || ']') AS part
)
DELETE FROM terms WHERE id NOT IN (SELECT id FROM used);

-- name: deleted
SELECT changes();

-- name: merge_texts
-- Brings the full-text index into one piece.
INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize');
