-- The tables of one world, as of schema version 10.

-- Settings and counters of the world: format, schema_version, created, policy, embedder, next_blank_node, …
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value                        -- no type, so that nothing is converted
) WITHOUT ROWID;

-- Prefixes that loaded documents declared, or the user set; the first declaration of a prefix stays.
CREATE TABLE prefixes (
    prefix TEXT PRIMARY KEY,
    iri TEXT NOT NULL
) WITHOUT ROWID;

-- RDF terms, each once, exactly as given. Id 0 is no row: it stands for the default graph.
CREATE TABLE terms (
    id INTEGER PRIMARY KEY,      -- 1 … 2^31 - 1
    kind INTEGER NOT NULL,       -- 1 IRI, 2 blank node, 3 literal, 4 triple term
    value NOT NULL,              -- IRI, label, lexical form, or 'subject predicate object' as term ids;
                                 -- TEXT, or a BLOB of UTF-8 where it contains U+0000
    datatype INTEGER,            -- term id; NULL for xsd:string and for language-tagged strings
    language TEXT,               -- in lower case
    direction TEXT,              -- 'ltr' or 'rtl' (RDF 1.2)
    hash INTEGER NOT NULL        -- CRC-32 of the value's UTF-8, lower 31 bits
);
CREATE INDEX terms_hash ON terms (hash);
CREATE INDEX terms_triples ON terms (id) WHERE kind = 4;

-- The quads that hold now.
-- A row of zeros and a graph says that this named graph exists, even while it is empty.
CREATE TABLE quads (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- grows with each addition and is never reused
    subject INTEGER NOT NULL,    -- term id
    predicate INTEGER NOT NULL,  -- term id
    object INTEGER NOT NULL,     -- term id
    graph INTEGER NOT NULL,      -- term id, 0 for the default graph
    revision INTEGER NOT NULL    -- the revision that added it
);
CREATE UNIQUE INDEX quads_spog ON quads (subject, predicate, object, graph);
CREATE INDEX quads_posg ON quads (predicate, object, subject, graph);
CREATE INDEX quads_o ON quads (object);
CREATE INDEX quads_g ON quads (graph) WHERE graph <> 0;

-- The quads that held once, for the history.
CREATE TABLE removed_quads (
    subject INTEGER NOT NULL,
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL,
    revision INTEGER NOT NULL,   -- the revision that had added it
    removed INTEGER NOT NULL     -- the revision that removed it
);
CREATE INDEX removed_quads_removed ON removed_quads (removed);

-- Quads that came in under the name of an entity that was merged, how they came, and as what they stand; and those that
-- came as they stand, where others came to stand for the same.
CREATE TABLE merged_quads (
    id INTEGER PRIMARY KEY,
    subject INTEGER NOT NULL,    -- term ids: how it came
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL,
    kept_subject INTEGER NOT NULL, -- and as what it stands; 0, -1, the revision that let it go and 0 for nothing
    kept_predicate INTEGER NOT NULL,
    kept_object INTEGER NOT NULL,
    kept_graph INTEGER NOT NULL,
    revision INTEGER NOT NULL,   -- the revision that it came with
    removed INTEGER              -- the revision that removed it, 0 where it stands as it came; NULL while it holds
);
CREATE UNIQUE INDEX merged_quads_given ON merged_quads (subject, predicate, object, graph) WHERE removed IS NULL;
CREATE INDEX merged_quads_kept ON merged_quads (kept_subject, kept_predicate, kept_object, kept_graph)
    WHERE removed IS NULL;
CREATE INDEX merged_quads_removed ON merged_quads (removed) WHERE removed IS NOT NULL;

-- What follows from the quads by the rules of the world, and is not written.
CREATE TABLE conclusions (
    predicate INTEGER NOT NULL,  -- term ids
    subject INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL,      -- that of its premises, or urn:worlds:entailed where they are in several
    PRIMARY KEY (predicate, subject, object, graph)
) WITHOUT ROWID;
CREATE INDEX conclusions_po ON conclusions (predicate, object);

-- The last quads that came to follow, or no longer do: those who show conclusions go on from here.
CREATE TABLE conclusion_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subject INTEGER NOT NULL,    -- term ids
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    graph INTEGER NOT NULL
);

-- One row for each write that changed something.
CREATE TABLE revisions (
    revision INTEGER PRIMARY KEY,
    time TEXT NOT NULL,          -- UTC, ISO 8601
    author TEXT,
    message TEXT,
    added INTEGER NOT NULL,      -- quads
    removed INTEGER NOT NULL,    -- quads
    first_quad INTEGER NOT NULL, -- no quad that this revision added has a smaller id
    created INTEGER NOT NULL DEFAULT 0, -- named graphs that it made to exist also while they are empty
    dropped INTEGER NOT NULL DEFAULT 0, -- such graphs that it made to exist no longer
    undoes INTEGER,              -- the revision that it took back
    purged_added INTEGER NOT NULL DEFAULT 0, -- of the quads that it added, those of which nothing is left
    purged_removed INTEGER NOT NULL DEFAULT 0 -- of the quads that it removed
);

-- Passages of the literals that are text; one literal's chunks are shared by all quads that have it. And of profiles.
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    term INTEGER NOT NULL,       -- the literal; -1 - profiles.subject for a passage of a profile or statement
    start INTEGER NOT NULL,      -- characters from the literal's beginning
    end INTEGER NOT NULL,        -- characters, exclusive
    text TEXT,                   -- NULL where the chunk is the whole literal
    segmented TEXT,              -- the form for the full-text index where it differs
    vector INTEGER               -- vectors.id; NULL while the embedding is pending
);
CREATE INDEX chunks_term ON chunks (term);
CREATE INDEX chunks_vector ON chunks (vector);

-- What the full-text index reads. Marks (M*) belong to words: without them Hindi falls apart into letters.
CREATE VIEW indexed_texts AS
SELECT chunks.id AS id, coalesce(chunks.segmented, chunks.text, terms.value) AS text
FROM chunks LEFT JOIN terms ON terms.id = chunks.term;

CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    text,
    content = 'indexed_texts',
    content_rowid = 'id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
-- Bytes of new postings kept in memory before they are written; 32 MB make a rebuild a third faster than 1 MB.
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('hashsize', 33554432);

CREATE TRIGGER chunks_inserted AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, text) SELECT id, text FROM indexed_texts WHERE id = new.id;
END;
CREATE TRIGGER chunks_deleted BEFORE DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, text) SELECT 'delete', id, text FROM indexed_texts WHERE id = old.id;
END;
CREATE TRIGGER chunks_rewritten BEFORE UPDATE OF id, term, text, segmented ON chunks BEGIN
    SELECT raise(ABORT, 'the text of a chunk never changes: delete the chunk and insert another');
END;

-- The profiles of entities: their labels and their triples put into words. Their chunks always have their text.
-- And statements: quads between two entities, each in words by itself.
CREATE TABLE profiles (
    subject INTEGER PRIMARY KEY, -- term id; of a statement 2^30 + quads.id
    text TEXT NOT NULL,
    graphs TEXT NOT NULL         -- ids of the graphs of all quads that it was made from, as a JSON array
);

-- Which quads add_document wrote, of all versions of a document: the next one replaces these and no others.
CREATE TABLE document_quads (
    id INTEGER PRIMARY KEY,      -- grows with each version that has the quad
    subject INTEGER NOT NULL,    -- term id: the document
    predicate INTEGER NOT NULL,  -- term id
    object INTEGER NOT NULL,     -- term id
    graph INTEGER NOT NULL       -- term id, 0 for the default graph
);
CREATE UNIQUE INDEX document_quads_sgpo ON document_quads (subject, graph, predicate, object);

-- What the world follows: a folder, a file or an address, read into a graph of its own.
CREATE TABLE sources (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,          -- 'documents', 'rdf' or 'tables'
    place TEXT NOT NULL,         -- an absolute path, or a URL
    graph TEXT NOT NULL UNIQUE,  -- an IRI
    graph_hash INTEGER NOT NULL, -- as terms.hash
    options TEXT NOT NULL,       -- how it is read, a JSON object
    state TEXT NOT NULL          -- of the last run, a JSON object
) WITHOUT ROWID;

-- The files of a source as they were read last.
CREATE TABLE source_files (
    source TEXT NOT NULL,
    path TEXT NOT NULL,          -- from the source's place, percent-encoded
    stamp TEXT NOT NULL,         -- its bytes, and the nanoseconds from 1970 to its last change
    digest TEXT NOT NULL,        -- SHA-256, hexadecimal; '' where it was never read
    error TEXT,                  -- why it could not be read; what was read of it before is kept
    revision INTEGER NOT NULL,   -- the last one when it was read
    places TEXT,                 -- where the parts of its text stand in it, or how a table is read; a JSON object
    PRIMARY KEY (source, path)
) WITHOUT ROWID;

-- The revisions that the runs of a source made.
CREATE TABLE source_runs (
    source TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (source, revision)
) WITHOUT ROWID;

-- Changes that wait for a decision, and those that were decided. They are text: nothing of them is a term or a quad.
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    status TEXT NOT NULL,        -- 'open', 'accepted' or 'rejected'
    kind TEXT NOT NULL,          -- 'edit', 'merge', or what the proposer calls it
    time TEXT NOT NULL,          -- UTC, ISO 8601
    author TEXT,
    why TEXT,
    confidence REAL,             -- 0 to 1; of a duplicate its score, of which decisions make a probability
    base INTEGER NOT NULL,       -- the last revision when it was made
    digest TEXT NOT NULL,        -- hexadecimal: the same for the same quads to add and to remove
    merged TEXT,                 -- terms in N-Triples as a JSON array: the one to keep, then the others
    validation TEXT NOT NULL,    -- what it violates, sentences as a JSON array
    discussion TEXT NOT NULL,    -- a JSON array of [time, author, text, the change that was replaced as an RDF Patch, or null]
    reviewer TEXT,
    decided TEXT,                -- UTC, ISO 8601
    decision TEXT,               -- why it was decided so
    revision INTEGER             -- what accepting it made, NULL if nothing was left to do; of an open one, what took it back
);
CREATE INDEX proposals_status ON proposals (status);

-- The quads of proposals, their terms in N-Triples. Of a merge they are what it would have done when it was proposed.
CREATE TABLE proposal_quads (
    id INTEGER PRIMARY KEY,
    proposal INTEGER NOT NULL,   -- proposals.id
    sign INTEGER NOT NULL,       -- 1: it adds the quad, -1: it removes it, 0: it takes it for granted
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    graph TEXT NOT NULL,         -- '' is the default graph
    quad TEXT AS (subject || ' ' || predicate || ' ' || object || ' ' || graph || ' .') VIRTUAL  -- a line of N-Quads
);
CREATE INDEX proposal_quads_proposal ON proposal_quads (proposal, sign);
CREATE INDEX proposal_quads_subject ON proposal_quads (subject);
CREATE INDEX proposal_quads_object ON proposal_quads (object) WHERE object >= '<';  -- no literals

-- Which texts were ever embedded, so that the same text is never embedded twice.
CREATE TABLE embedded_texts (
    digest BLOB PRIMARY KEY,     -- BLAKE2b-128 of the text's UTF-8
    vector INTEGER NOT NULL      -- vectors.id or retired_vectors.id
) WITHOUT ROWID;
CREATE INDEX embedded_texts_vector ON embedded_texts (vector);

-- Sign bits of the vectors, most significant bit first, for the scan in memory.
CREATE TABLE vector_codes (
    id INTEGER PRIMARY KEY,      -- vectors.id
    code BLOB NOT NULL           -- dimension / 8 bytes
);

-- Vectors whose texts are gone; a cache that compact() empties.
CREATE TABLE retired_vectors (
    id INTEGER PRIMARY KEY,      -- as it was in vectors
    key BLOB UNIQUE,
    embedding BLOB
);

-- Writes of a world on a server: what tells its states apart, and finds a write whose answer was lost.
CREATE TABLE writes (
    number INTEGER PRIMARY KEY,  -- counts all transactions, also those that make no revision
    mark TEXT NOT NULL           -- drawn by lot for each; the last thousand are kept
);
