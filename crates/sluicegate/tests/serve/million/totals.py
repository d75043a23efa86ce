"""What the sealed files of a folder say, read by DuckDB: by account and hour of the charge, and by file. Prints JSON."""

import json
import sys

import duckdb

SUMS = "sum(total)::BIGINT AS total, sum(overage - overage_refunded)::BIGINT AS overage, sum(requests)::BIGINT AS requests"
HOUR = "strftime(hour_start AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')"
CHARGE_HOUR = "strftime(charge_start AT TIME ZONE 'UTC', '%Y-%m-%dT%H:00:00Z')"

usage = duckdb.connect()
files = sys.argv[1] + "/**/*.parquet"
usage.execute(
    "CREATE VIEW usage AS SELECT * FROM read_parquet(?, hive_partitioning = true, filename = true)".replace(
        "?", "'" + files.replace("'", "''") + "'"
    )
)


def rows(query):
    found = usage.execute(query)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row)) for row in found.fetchall()]


accounts = rows(f"SELECT account, {CHARGE_HOUR} AS hour, {SUMS} FROM usage GROUP BY ALL")
by_file = rows(
    f"SELECT filename, min({HOUR}) AS hour, max({HOUR}) AS last_hour, "
    f"min(dt::VARCHAR || 'T' || lpad(hour::VARCHAR, 2, '0') || ':00:00Z') AS folder, {SUMS} "
    "FROM usage GROUP BY filename"
)
assert all(file["hour"] == file["last_hour"] for file in by_file)
print(json.dumps({"accounts": accounts, "files": by_file}))
