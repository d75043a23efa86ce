-- What was announced, and until when it is not to be announced again.
CREATE TABLE announced (
    home      BLOB NOT NULL,
    limit_name TEXT NOT NULL,
    -- The number of a key of the home; 0: all share it.
    sharer    INTEGER NOT NULL,
    -- The amount of the limit: under another one, its shares are others too.
    amount    INTEGER NOT NULL,
    threshold INTEGER NOT NULL,
    -- The second in which the period began; 0: the window slides.
    period    INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    PRIMARY KEY (home, limit_name, sharer, amount, threshold, period)
) STRICT, WITHOUT ROWID;

CREATE INDEX announced_by_end ON announced (until);

-- The last alerts, as people are shown them.
CREATE TABLE alerts (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    body TEXT NOT NULL
) STRICT;
