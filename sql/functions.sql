-- What functions in SPARQL read.

-- name: vectors_of_term
-- The vectors of a literal's chunks, float32; none where it is no text, or not embedded yet.
SELECT vectors.embedding FROM chunks CROSS JOIN vectors ON vectors.id = chunks.vector
WHERE chunks.term = :term AND vectors.embedding IS NOT NULL;
