-- Hours are counted from 1970, instants are nanoseconds since then. Serials are kept bit by bit.

-- One row: how far the spool is counted, and what could not be.
CREATE TABLE progress (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    -- The first record that was ever counted, and the one that comes next.
    began    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    records  INTEGER NOT NULL,
    holes    INTEGER NOT NULL,
    torn     INTEGER NOT NULL
) STRICT;

CREATE TABLE hours (
    hour             INTEGER NOT NULL,
    account          INTEGER NOT NULL,
    key              INTEGER NOT NULL,
    route            INTEGER NOT NULL,
    tier             INTEGER NOT NULL,
    marks            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    charged          INTEGER NOT NULL,
    corrected        INTEGER NOT NULL,
    refunded         INTEGER NOT NULL,
    overage          INTEGER NOT NULL,
    overage_refunded INTEGER NOT NULL,
    PRIMARY KEY (hour, account, key, route, tier, marks)
) STRICT, WITHOUT ROWID;

-- The sums of the rows above: what is asked for most, in the order it is asked for.
CREATE TABLE account_hours (
    account          INTEGER NOT NULL,
    hour             INTEGER NOT NULL,
    marks            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    charged          INTEGER NOT NULL,
    corrected        INTEGER NOT NULL,
    refunded         INTEGER NOT NULL,
    overage          INTEGER NOT NULL,
    overage_refunded INTEGER NOT NULL,
    PRIMARY KEY (account, hour, marks)
) STRICT, WITHOUT ROWID;

-- At `at`, when all records before `position` were counted, the hours before `hour` were closed.
CREATE TABLE closings (
    hour     INTEGER PRIMARY KEY,
    position INTEGER NOT NULL,
    at       INTEGER NOT NULL
) STRICT;

-- Hours that lie in object storage. Sums over all accounts may be longer than an INTEGER.
CREATE TABLE sealed (
    hour     INTEGER PRIMARY KEY,
    object   TEXT NOT NULL,
    digest   BLOB NOT NULL,
    rows     INTEGER NOT NULL,
    requests TEXT NOT NULL,
    total    TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
