-- Instants are nanoseconds since 1970. Whole numbers of 64 bits that may use all of them are kept bit by bit.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Names of routes and tiers, as records name them. A number is never given again.
CREATE TABLE names (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name   TEXT NOT NULL UNIQUE
) STRICT;

-- A deleted account stays, so that records can still name it.
CREATE TABLE accounts (
    serial      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL,
    name        TEXT NOT NULL,
    tier        TEXT NOT NULL,
    custom      TEXT,
    billing_day INTEGER,
    timezone    TEXT,
    created_at  INTEGER NOT NULL,
    deleted_at  INTEGER,
    -- How many keys it ever had: the number of the last.
    keys_made   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX accounts_by_id ON accounts (id) WHERE deleted_at IS NULL;

-- Hashes are keyed with the server's secret. No secret is kept.
CREATE TABLE keys (
    serial         INTEGER PRIMARY KEY AUTOINCREMENT,
    id             TEXT NOT NULL UNIQUE,
    account        INTEGER NOT NULL REFERENCES accounts (serial),
    number         INTEGER NOT NULL,
    name           TEXT NOT NULL,
    env            TEXT NOT NULL,
    -- Separated by blanks.
    scopes         TEXT NOT NULL,
    hash           BLOB NOT NULL,
    previous_hash  BLOB,
    previous_until INTEGER,
    expires_at     INTEGER,
    created_at     INTEGER NOT NULL,
    rotated_at     INTEGER,
    revoked_at     INTEGER,
    UNIQUE (account, number)
) STRICT;

CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    who    TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT,
    after  TEXT
) STRICT;

CREATE TABLE limits (
    number INTEGER PRIMARY KEY,
    image  BLOB NOT NULL
) STRICT;

CREATE TABLE meters (
    home       BLOB PRIMARY KEY,
    position   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    image      BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    home     BLOB NOT NULL,
    key      INTEGER NOT NULL,
    request  INTEGER NOT NULL,
    decision BLOB NOT NULL,
    at       INTEGER NOT NULL,
    cost     INTEGER NOT NULL,
    PRIMARY KEY (home, key)
) STRICT, WITHOUT ROWID;
