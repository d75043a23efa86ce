-- Callers that are blocked, or were lately: how long the last block was that a caller earned says how long its next is.
CREATE TABLE blocks (
    home   BLOB NOT NULL,
    -- The number of a key of the home; 0: a client.
    sharer INTEGER NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    origin TEXT NOT NULL,
    reason TEXT,
    earned INTEGER,
    PRIMARY KEY (home, sharer)
) STRICT, WITHOUT ROWID;

CREATE INDEX blocks_by_end ON blocks (until);
