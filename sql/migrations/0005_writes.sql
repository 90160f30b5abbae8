-- Writes of a world on a server: what tells its states apart, and finds a write whose answer was lost.

CREATE TABLE writes (
    number INTEGER PRIMARY KEY,  -- counts all transactions, also those that make no revision
    mark TEXT NOT NULL           -- drawn by lot for each; the last thousand are kept
);
