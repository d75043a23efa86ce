-- Rows say in which quarter of an hour their charge was made: a correction counts in the period of its charge, and no
-- row of a closed hour changes for that. `charge_quarter` is 0 where it is the quarter of the row.

CREATE TABLE quarters_by_charge (
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
    charge_quarter   INTEGER NOT NULL,
    PRIMARY KEY (quarter, account, key, route, tier, unit, marks, charge_quarter)
) STRICT, WITHOUT ROWID;

INSERT INTO quarters_by_charge
SELECT *, 0 FROM quarters ORDER BY quarter, account, key, route, tier, unit, marks;

DROP TABLE quarters;
ALTER TABLE quarters_by_charge RENAME TO quarters;
-- The order of such rows is that of the charge, then that of the table.
CREATE INDEX quarters_of_earlier_charges ON quarters (charge_quarter) WHERE charge_quarter <> 0;

CREATE TABLE account_quarters_by_charge (
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
    charge_quarter   INTEGER NOT NULL,
    PRIMARY KEY (account, quarter, unit, marks, charge_quarter)
) STRICT, WITHOUT ROWID;

INSERT INTO account_quarters_by_charge
SELECT *, 0 FROM account_quarters ORDER BY account, quarter, unit, marks;

DROP TABLE account_quarters;
ALTER TABLE account_quarters_by_charge RENAME TO account_quarters;
CREATE INDEX account_quarters_of_earlier_charges ON account_quarters (account, charge_quarter) WHERE charge_quarter <> 0;

-- Records before this position were rolled up without the quarter of their charge.
INSERT INTO meta SELECT 'recorded_before', CAST(CAST(position AS TEXT) AS BLOB) FROM progress;
