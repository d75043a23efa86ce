-- Named tokens that are not revoked. Hashes are keyed with the server's secret.
CREATE TABLE tokens (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    role       TEXT NOT NULL,
    -- Separated by blanks.
    may        TEXT NOT NULL,
    hash       BLOB NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
