-- Alerts whose condition holds: each is announced when that begins, and once more when it ends.
CREATE TABLE firing (
    -- What it is about: the word for it, and whose condition it is.
    subject TEXT PRIMARY KEY,
    -- Its number in the list.
    seq     INTEGER NOT NULL,
    body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What waits to be delivered, in order.
CREATE TABLE outbox (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    -- When it happened.
    at   INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- How delivering goes: one row.
CREATE TABLE outbox_state (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    delivered  INTEGER NOT NULL,
    -- What was given up, or pushed out by later ones.
    dropped    INTEGER NOT NULL,
    last_error TEXT,
    last_at    INTEGER
) STRICT;

INSERT INTO outbox_state (one, delivered, dropped) VALUES (1, 0, 0);

-- Alerts of a node that shares its store which the other nodes have not heard of yet.
CREATE TABLE unshared (
    subject TEXT NOT NULL,
    body    TEXT NOT NULL,
    seq     INTEGER PRIMARY KEY AUTOINCREMENT
) STRICT;
