//! In the end: the outside count, the ledger, the meters, the chain and the sealed files say the same.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sluicegate_ledger::Ledger;
use sluicegate_testkit::{python, wait};

use super::Million;
use crate::bed::{Bed, spool};
use crate::settling::reconcile;

/// What is used in an hour, or by an account in an hour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sums {
    total: i64,
    overage: i64,
    requests: i64,
}

/// By account and hour.
type Hours = BTreeMap<(String, String), Sums>;

pub(super) fn expect_everybody_to_agree(mut million: Million) {
    close_all_hours(&mut million);
    let bed = &million.bed;
    let mut hours = Hours::new();
    let mut records = 0;
    for customer in million.customers() {
        let usage = bed.get(&format!("/admin/v1/usage?account={}&step=hour", customer.account));
        let sum = |name: &str| usage[name].as_u64().unwrap();
        customer.count.expect(&customer.account, sum("total"), sum("overage"), sum("requests"));
        assert_eq!((sum("torn"), sum("degraded")), (0, 0), "{usage}");
        records += customer.count.records + sum("requests") - customer.count.requests;
        for point in usage["series"].as_array().unwrap() {
            let hour = point["start"].as_str().unwrap().to_owned();
            hours.insert((customer.account.clone(), hour), sums(point));
        }
    }
    let whole = bed.get("/admin/v1/usage");
    assert_eq!(sums(&whole), add(hours.values()));
    for against in ["meters", "records", "sealed"] {
        expect_no_drift(bed, &["--against", against]);
    }
    expect_the_files_to_say(&million, &hours);
    million.end();
    expect_the_chain_to_hold(&million.bed.data_dir(), records);
    println!("{records} records, {:?} in {} hours of accounts", sums(&whole), hours.len());
}

/// A server of much later closes the hours, and the next one seals what is closed as the first thing it does.
fn close_all_hours(million: &mut Million) {
    million.end();
    million.starts += 6;
    million.restart();
    wait::until("all hours are closed", || {
        let usage = million.bed.get("/admin/v1/usage?step=hour");
        let open = usage["open_from"].as_str()?.to_owned();
        let last = usage["series"].as_array()?.last()?["start"].as_str()?.to_owned();
        (open > last).then_some(())
    });
    million.end();
    million.restart();
    wait::until("all hours are sealed", || {
        let hours = million.bed.get("/admin/v1/usage?step=hour")["series"].as_array()?.len() as u64;
        let sealed = reconcile(&million.bed, &["--against", "sealed"]).1["compared"].as_u64()?;
        (sealed >= hours).then_some(())
    });
}

fn sums(from: &Value) -> Sums {
    let sum = |name: &str| from[name].as_i64().unwrap_or_else(|| panic!("{name}: {from}"));
    Sums { total: sum("total"), overage: sum("overage"), requests: sum("requests") }
}

fn add<'s>(all: impl Iterator<Item = &'s Sums>) -> Sums {
    all.fold(Sums::default(), |sum, next| Sums {
        total: sum.total + next.total,
        overage: sum.overage + next.overage,
        requests: sum.requests + next.requests,
    })
}

#[track_caller]
fn expect_no_drift(bed: &Bed, args: &[&str]) {
    let (output, said) = reconcile(bed, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    assert_eq!((&said["drift"]["units"], &said["differences"]), (&0.into(), &Value::Array(vec![])), "{said}");
    assert!(said["compared"].as_u64().unwrap() > 0, "{said}");
}

/// DuckDB finds in the sealed files what the ledger says, by the hour of the charge, and in each what was recorded in
/// its hour.
fn expect_the_files_to_say(million: &Million, expected: &Hours) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/million/totals.py");
    let read = python::run(&script, &[million.export()]);
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = read["accounts"].as_array().unwrap();
    let found: Hours =
        rows.iter().map(|row| ((text(row, "account"), text(row, "hour")), sums(row))).collect();
    assert_eq!(rows.len(), found.len());
    assert_eq!(&found, expected);
    for file in read["files"].as_array().unwrap() {
        let hour = text(file, "hour");
        assert_eq!(text(file, "folder"), hour, "{file}");
    }
    let files: Vec<Sums> = read["files"].as_array().unwrap().iter().map(sums).collect();
    assert_eq!(add(files.iter()), add(expected.values()));
    let hours: std::collections::BTreeSet<&String> = expected.keys().map(|(_, hour)| hour).collect();
    // Corrections may be all that was recorded in an hour.
    assert!(files.len() >= hours.len(), "{} files of {} hours", files.len(), hours.len());
    assert!(hours.len() > 3, "only {} hours", hours.len());
}

/// All records are proven, and are as many as there have to be.
fn expect_the_chain_to_hold(data_dir: &Path, records: u64) {
    let verified = Ledger::verify(&data_dir.join("ledger"), &spool(data_dir), None).unwrap();
    assert_eq!(verified.records, records, "{verified:?}");
    assert_eq!(verified.pruned, 0);
}
