-- Changes that wait for a decision; and triple terms are found without reading all terms.
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    time TEXT NOT NULL,
    author TEXT,
    why TEXT,
    confidence REAL,
    base INTEGER NOT NULL,
    patch BLOB NOT NULL,
    merged TEXT,
    relies_on BLOB NOT NULL,
    validation TEXT NOT NULL,
    discussion TEXT NOT NULL,
    reviewer TEXT,
    decided TEXT,
    decision TEXT,
    revision INTEGER
);
CREATE INDEX proposals_status ON proposals (status);
CREATE TABLE proposal_entities (
    entity TEXT NOT NULL,
    proposal INTEGER NOT NULL,
    PRIMARY KEY (entity, proposal)
) WITHOUT ROWID;
CREATE INDEX proposal_entities_proposal ON proposal_entities (proposal);
CREATE INDEX terms_triples ON terms (id) WHERE kind = 4;
