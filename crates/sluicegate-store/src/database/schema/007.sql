-- Permits that were finished, with the answer that every later finish gets.
CREATE TABLE finished_permits (
    decision BLOB PRIMARY KEY,
    reserved INTEGER NOT NULL,
    settled  INTEGER NOT NULL,
    at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX finished_permits_by_time ON finished_permits (at);

-- Slots that services hold under permits.
CREATE TABLE held_permits (
    decision   BLOB PRIMARY KEY,
    home       BLOB NOT NULL,
    account    INTEGER NOT NULL,
    -- The number of the key among those of the account; 0: none.
    key_number INTEGER NOT NULL,
    -- Numbers of names; 0: none.
    route      INTEGER NOT NULL,
    tier       INTEGER NOT NULL,
    until      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
