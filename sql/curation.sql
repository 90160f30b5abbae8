-- Merging and splitting entities, and the proposals of changes.

-- name: redirects
-- (old, kept) of those of ids_json that lead to another entity.
SELECT quads.subject, quads.object
FROM json_each(:ids_json) AS sought CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = sought.value
WHERE quads.graph = :graph AND quads.predicate IN (SELECT value FROM json_each(:predicates_json)) ORDER BY quads.id;

-- name: triple_terms
-- Ids, and three times as many parts, of all triple terms.
SELECT group_concat(id), group_concat(replace(value, ' ', ',')) FROM terms INDEXED BY terms_triples
WHERE kind = 4;

-- name: any_triple_term
SELECT 1 FROM terms INDEXED BY terms_triples WHERE kind = 4 LIMIT 1;

-- name: triple_terms_among
-- Gives (id, its parts) of those of ids_json that are triple terms.
SELECT terms.id, terms.value FROM json_each(:ids_json) AS sought CROSS JOIN terms ON terms.id = sought.value
WHERE terms.kind = 4;

-- name: how_many_values
-- Of some subjects of a predicate, others than those of ids_json: (how many, how many have several values).
SELECT count(*), coalesce(sum((SELECT count(DISTINCT object) FROM quads INDEXED BY quads_spog
                               WHERE subject = some.subject AND predicate = :predicate) > 1), 0)
FROM (SELECT DISTINCT subject
      FROM (SELECT subject FROM quads INDEXED BY quads_posg WHERE predicate = :predicate LIMIT 4 * :sample)
      WHERE subject NOT IN (SELECT value FROM json_each(:ids_json)) LIMIT :sample) AS some;

-- name: commonest_of
-- That of the predicates that the most quads have.
SELECT sought.value FROM json_each(:ids_json) AS sought
CROSS JOIN quads INDEXED BY quads_posg ON quads.predicate = sought.value
GROUP BY sought.value ORDER BY count(*) DESC, sought.key LIMIT 1;

-- name: quads_of
-- The quads of a subject.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph)
FROM (SELECT subject, predicate, object, graph FROM quads INDEXED BY quads_spog WHERE subject = :subject);

-- name: declared_functional
-- Those of the predicates that are functional properties, or that a shape allows one value of. An id below 0 is none.
SELECT sought.value FROM json_each(:ids_json) AS sought
WHERE EXISTS (SELECT 1 FROM quads INDEXED BY quads_posg
              WHERE predicate = :rdf_type AND object = :functional AND subject = sought.value)
   OR EXISTS (SELECT 1 FROM quads AS path INDEXED BY quads_posg
              CROSS JOIN quads AS most INDEXED BY quads_spog
                   ON most.subject = path.subject AND most.predicate = :max_count AND most.object = :one
              WHERE path.predicate = :path AND path.object = sought.value);

-- ---- proposals -----------------------------------------------------------------------------------------------------

-- name: open_proposals_of
SELECT count(*) FROM proposals WHERE status = 'open' AND author IS :author;

-- name: proposal_of_change
SELECT id FROM proposals WHERE status = :status AND digest = :digest LIMIT 1;

-- name: decided_scores
-- Gives (score, whether it was accepted) of the proposals of a kind that were decided.
SELECT confidence, status = 'accepted' FROM proposals
WHERE kind = :kind AND status <> 'open' AND confidence IS NOT NULL ORDER BY id;

-- name: uncalibrated_proposals
-- How many proposals of a status have a score, and no probability: those of the kinds in a JSON array.
SELECT count(*) FROM proposals
WHERE kind IN (SELECT value FROM json_each(:kinds_json)) AND confidence IS NOT NULL AND (:status IS NULL OR status = :status)
  AND (:kind IS NULL OR kind = :kind) AND (:author IS NULL OR author = :author);

-- name: rejected_merges
-- Gives (number, why, the entities as a JSON array) of merges and links of duplicates that were rejected, and of what was
-- split.
SELECT id, decision, merged FROM proposals WHERE status = 'rejected' AND merged IS NOT NULL
UNION ALL
SELECT proposals.id, decision, json_array(subject, object)
FROM proposals CROSS JOIN proposal_quads ON proposal_quads.proposal = proposals.id AND sign = 1
WHERE status = 'rejected' AND kind = 'duplicate' AND merged IS NULL;

-- name: decided_pairs
-- Gives (number, status, kind, whether it merges, the entities as a JSON array, the kept one first, score, reviewer, time,
-- revision) of merges and links of duplicates that were decided, without their quads.
SELECT * FROM (
    SELECT id, status, kind, merged IS NOT NULL, coalesce(merged, (
        SELECT json_array(subject, object) FROM proposal_quads
        WHERE proposal = proposals.id AND sign = 1 AND kind = 'duplicate' ORDER BY id LIMIT 1
    )) AS entities, confidence, reviewer, decided, revision
    FROM proposals WHERE status <> 'open' AND (merged IS NOT NULL OR kind = 'duplicate')
) WHERE entities IS NOT NULL ORDER BY id;

-- name: turn_proposals
-- What a revision did that was taken back is proposed again; what waits again since then is accepted again.
UPDATE proposals SET status = CASE status WHEN 'open' THEN 'accepted' ELSE 'open' END,
                     reviewer = CASE status WHEN 'open' THEN :author END,
                     decided = CASE status WHEN 'open' THEN :time END,
                     decision = CASE status WHEN 'open' THEN :said END,
                     revision = :by,
                     discussion = json_insert(discussion, '$[#]', json_array(:time, :author, :said || CASE status
                         WHEN 'open' THEN ', by which it waited again' ELSE ', by which it had been accepted' END, NULL))
WHERE status <> 'rejected' AND revision = :revision;

-- name: reject_split
UPDATE proposals SET status = 'rejected', reviewer = :author, decided = :time, decision = :said
WHERE status = 'accepted' AND merged IS NOT NULL AND revision = :revision;

-- name: changed
SELECT changes();

-- name: insert_split
INSERT INTO proposals (status, kind, time, author, base, digest, merged, validation, discussion,
                       reviewer, decided, decision)
VALUES ('rejected', 'split', :time, :author, :revision, '', :merged, '[]', '[]', :author, :time, :said);

-- name: insert_proposal
INSERT INTO proposals (status, kind, time, author, why, confidence, base, digest, merged, validation, discussion)
VALUES ('open', :kind, :time, :author, :why, :confidence, :base, :digest, :merged, :validation, '[]')
RETURNING id;

-- name: forget_change
DELETE FROM proposal_quads WHERE proposal = :proposal AND sign <> 0;

-- name: proposal
-- The last columns are its quads in N-Quads, those to add, those to remove, and those that it takes for granted.
SELECT id, status, kind, time, author, why, confidence, base, merged, validation, discussion,
       reviewer, decided, decision, revision,
       (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = proposals.id AND sign = 1),
       (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = proposals.id AND sign = -1),
       (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = proposals.id AND sign = 0)
FROM proposals WHERE id = :proposal;

-- name: proposal_state
SELECT status, revision FROM proposals WHERE id = :proposal;

-- name: proposals
-- The oldest first; NULL stands for any. Entities are a JSON array. What duplicates and links have as their confidence is a
-- score, and :duplicate and :link those of the lowest probability. The columns are those of one proposal, and how many there are in all.
SELECT id, status, kind, time, author, why, confidence, base, merged, validation, discussion,
       reviewer, decided, decision, revision,
       (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = found.id AND sign = 1),
       (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = found.id AND sign = -1),
       (SELECT group_concat(quad, char(10)) FROM proposal_quads WHERE proposal = found.id AND sign = 0),
       total
FROM (
    SELECT *, count(*) OVER () AS total
    FROM proposals
    WHERE id > :after AND (:status IS NULL OR status = :status) AND (:author IS NULL OR author = :author)
      AND (:kind IS NULL OR kind = :kind) AND (:minimum IS NULL OR confidence >= CASE kind WHEN 'duplicate' THEN :duplicate WHEN 'link' THEN :link ELSE :minimum END)
      AND (:entities_json IS NULL OR id IN (
          SELECT proposal FROM proposal_quads
          WHERE sign <> 0 AND subject IN (SELECT value FROM json_each(:entities_json))
          UNION ALL
          SELECT proposal FROM proposal_quads
          WHERE sign <> 0 AND object >= '<' AND object IN (SELECT value FROM json_each(:entities_json))))
    ORDER BY id LIMIT :limit
) AS found
ORDER BY id;

-- name: amend_proposal
-- NULL for the digest or the confidence leaves it as it is.
UPDATE proposals SET confidence = coalesce(:confidence, confidence), base = :base, digest = coalesce(:digest, digest),
                     validation = :validation, discussion = :discussion,
                     revision = CASE WHEN digest = coalesce(:digest, digest) THEN revision END
WHERE id = :proposal;

-- name: decide_proposal
UPDATE proposals SET status = :status, reviewer = :reviewer, decided = :time, decision = :decision,
                     revision = :revision
WHERE id = :proposal;

-- name: is_used
SELECT 1 FROM quads INDEXED BY quads_spog WHERE subject = :entity
UNION ALL SELECT 1 FROM quads INDEXED BY quads_o WHERE object = :entity
UNION ALL SELECT 1 FROM quads INDEXED BY quads_posg WHERE predicate = :entity
UNION ALL SELECT 1 FROM quads INDEXED BY quads_g WHERE graph = :entity AND graph <> 0 LIMIT 1;

-- name: quads_of_instances
-- The quads of the first instances of some classes, instance by instance, up to a number of rows.
SELECT group_concat(subject), group_concat(predicate), group_concat(object), group_concat(graph) FROM (
    SELECT quads.subject, quads.predicate, quads.object, quads.graph
    FROM (
        SELECT DISTINCT typed.subject
        FROM json_each(:classes_json) AS class
        CROSS JOIN quads AS typed INDEXED BY quads_posg ON typed.predicate = :rdf_type AND typed.object = class.value
        WHERE typed.subject > 0 AND {data typed.graph}
        LIMIT :limit
    ) AS thing
    CROSS JOIN quads INDEXED BY quads_spog ON quads.subject = thing.subject
    WHERE {data quads.graph}
    LIMIT :rows
);
