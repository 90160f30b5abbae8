-- Entities may have a profile, whose chunks belong to no literal.
CREATE TABLE profiles (
    subject INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    graphs TEXT NOT NULL
);
DROP VIEW indexed_texts;
CREATE VIEW indexed_texts AS
SELECT chunks.id AS id, coalesce(chunks.segmented, chunks.text, terms.value) AS text
FROM chunks LEFT JOIN terms ON terms.id = chunks.term;
