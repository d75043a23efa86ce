-- Usage by the quarter of an hour, with the unit of its amounts. What was rolled up by the hour stands at the first
-- quarter of its hour, with the mark 4 that says so; it counts requests of live keys.

CREATE TABLE quarters (
    quarter          INTEGER NOT NULL,
    account          INTEGER NOT NULL,
    key              INTEGER NOT NULL,
    route            INTEGER NOT NULL,
    tier             INTEGER NOT NULL,
    unit             INTEGER NOT NULL,
    marks            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    charged          INTEGER NOT NULL,
    corrected        INTEGER NOT NULL,
    refunded         INTEGER NOT NULL,
    overage          INTEGER NOT NULL,
    overage_refunded INTEGER NOT NULL,
    PRIMARY KEY (quarter, account, key, route, tier, unit, marks)
) STRICT, WITHOUT ROWID;

INSERT INTO quarters
SELECT hour * 4, account, key, route, tier, 1, marks | 4,
       requests, charged, corrected, refunded, overage, overage_refunded
FROM hours ORDER BY hour, account, key, route, tier, marks;

DROP TABLE hours;

-- The sums of the rows above: what is asked for most, in the order it is asked for.
CREATE TABLE account_quarters (
    account          INTEGER NOT NULL,
    quarter          INTEGER NOT NULL,
    unit             INTEGER NOT NULL,
    marks            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    charged          INTEGER NOT NULL,
    corrected        INTEGER NOT NULL,
    refunded         INTEGER NOT NULL,
    overage          INTEGER NOT NULL,
    overage_refunded INTEGER NOT NULL,
    PRIMARY KEY (account, quarter, unit, marks)
) STRICT, WITHOUT ROWID;

INSERT INTO account_quarters
SELECT account, hour * 4, 1, marks | 4, requests, charged, corrected, refunded, overage, overage_refunded
FROM account_hours ORDER BY account, hour, marks;

DROP TABLE account_hours;

-- Records before this position were rolled up by the hour.
INSERT INTO meta SELECT 'hourly_before', CAST(CAST(position AS TEXT) AS BLOB) FROM progress;
