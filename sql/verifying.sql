-- What verify reads: the quads of a pattern that were added up to a revision and hold now, in the graphs of data
-- (or, with :shapes, in that one alone), as columns: subjects, predicates, objects, graphs, revisions. At most :most, in the
-- order of the index, so that the first ones are the same in every later state.

-- name: of_subject
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads INDEXED BY quads_spog
      WHERE subject = :subject AND revision <= :at AND iif(:shapes IS NULL, {data graph}, graph = :shapes)
      ORDER BY predicate, object, graph LIMIT :most);

-- name: of_subject_predicate
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads INDEXED BY quads_spog
      WHERE subject = :subject AND predicate = :predicate AND (:object < 0 OR object = :object)
        AND revision <= :at AND iif(:shapes IS NULL, {data graph}, graph = :shapes)
      ORDER BY object, graph LIMIT :most);

-- name: of_predicate
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads INDEXED BY quads_posg
      WHERE predicate = :predicate AND subject > 0 AND revision <= :at AND iif(:shapes IS NULL, {data graph}, graph = :shapes)
      ORDER BY object, subject, graph LIMIT :most);

-- name: of_predicate_object
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads INDEXED BY quads_posg
      WHERE predicate = :predicate AND object = :object AND subject > 0
        AND revision <= :at AND iif(:shapes IS NULL, {data graph}, graph = :shapes)
      ORDER BY subject, graph LIMIT :most);

-- name: of_object
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph), group_concat(revision)
FROM (SELECT * FROM quads INDEXED BY quads_o
      WHERE object = :object AND subject > 0 AND revision <= :at AND iif(:shapes IS NULL, {data graph}, graph = :shapes)
      ORDER BY predicate, subject, graph LIMIT :most);
