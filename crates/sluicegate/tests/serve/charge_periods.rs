//! Corrections and refunds count in the period of their charge, also when that is over and its hours are closed.

use serde_json::{Value, json};
use sluicegate_testkit::faketime::WallClock;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::node_with;
use crate::settling::{reconcile, url};

const POLICY: &str = "
tiers:
  metered:
    limits:
      billed: {algorithm: fixed_window, limit: 10/90d, axis: quota, on_exceeded: bill_overage}
";
/// 2026-11-30 23:50 UTC.
const BEFORE_MIDNIGHT_S: i64 = 1_796_082_600;

fn permit(bed: &Bed, key: &str, cost: u64) -> String {
    let answer = bed.check(&json!({"key": key, "cost": cost, "hold_for": "2h"})).json();
    answer["permit"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn finish(bed: &Bed, permit: &str, cost: u64) {
    let body = json!({"permit": permit, "status": 200, "cost": cost});
    let answer =
        Caller::new(bed.server.decision()).send(&Asked::new("POST", "/v1/finish").json(&body)).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Steps the clock of the server, and waits until it is followed.
fn step(bed: &Bed, wall: &WallClock, seconds: i64) {
    let before = bed.key_with("acme", &json!({})).created_at;
    wall.step_by(seconds);
    wait::until("the clock is followed", || {
        let now = bed.key_with("acme", &json!({})).created_at;
        (minute(&now) >= minute(&before) + seconds / 60).then_some(())
    });
}

/// The minutes of an instant since the month began.
fn minute(at: &str) -> i64 {
    let number = |from: usize| at[from..from + 2].parse::<i64>().unwrap();
    ((number(5) * 31 + number(8)) * 24 + number(11)) * 60 + number(14)
}

/// The total and the overage of each month.
fn months(bed: &Bed) -> Vec<(String, i64, i64)> {
    let usage =
        bed.get("/admin/v1/usage?account=acme&step=month&from=2026-01-01T00:00:00Z&to=2027-12-01T00:00:00Z");
    let series = usage["series"].as_array().unwrap().iter();
    let month = |point: &Value| point["start"].as_str().unwrap()[..7].to_owned();
    let number = |point: &Value, name: &str| point[name].as_i64().unwrap();
    series.map(|point| (month(point), number(point, "total"), number(point, "overage"))).collect()
}

fn export(bed: &Bed, query: &str) -> Vec<Value> {
    let answer = bed.admin(Asked::get(&format!("/admin/v1/usage/export?{query}")));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn corrections_count_in_the_month_of_their_charge(bed: &Bed, wall: &WallClock) {
    let key = bed.customer("acme", "metered");
    let (cheap, dear) = (permit(bed, &key, 10), permit(bed, &key, 10));
    assert_eq!(months(bed), [("2026-11".to_owned(), 20, 10)]);
    step(bed, wall, 1_200);
    // Midnight has passed. What is used now is of December.
    let check = bed.check(&json!({"key": key, "cost": 3})).json();
    assert_eq!(check["allowed"], true, "{check}");
    // A refund of 6 and a correction by 5, one of them when the hour of its charge is closed.
    finish(bed, &cheap, 4);
    wait::until("the refund is in the ledger", || (months(bed)[0].1 == 14).then_some(()));
    assert_eq!(months(bed)[1].1, 3);
    wait::until("the hour is closed", || {
        let open = bed.get("/admin/v1/usage")["open_from"].as_str()?.to_owned();
        (open.as_str() >= "2026-12-01T00:00:00Z").then_some(())
    });
    finish(bed, &dear, 15);
    wait::until("the correction is in the ledger", || (months(bed)[0].1 == 19).then_some(()));
    assert_eq!(months(bed)[1].1, 3);
    // Only one of them came late: its hour was closed.
    let usage = bed.get("/admin/v1/usage?account=acme&from=2026-11-01T00:00:00Z&to=2026-12-01T00:00:00Z");
    assert_eq!(usage["total"], 19, "{usage}");

    let november = "format=jsonl&from=2026-11-01T00:00:00Z&to=2026-12-01T00:00:00Z";
    let rows = export(bed, november);
    assert_eq!(rows.iter().map(|row| row["total"].as_i64().unwrap()).sum::<i64>(), 19, "{rows:?}");
    let of_earlier_charges: Vec<&Value> =
        rows.iter().filter(|row| row["start"] != row["charge_start"]).collect();
    assert!(!of_earlier_charges.is_empty(), "{rows:?}");
    for row in of_earlier_charges {
        assert_eq!(row["charge_start"], "2026-11-30T23:45:00Z", "{row}");
        assert!(row["start"].as_str().unwrap() >= "2026-12-01", "{row}");
    }
    let (output, said) = reconcile(bed, &["--against", "records"]);
    assert!(output.status.success(), "{said}");
    assert_eq!(said["differences"], json!([]));
}

#[test]
fn a_correction_after_midnight_counts_in_the_month_before() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::reading(folder.path(), BEFORE_MIDNIGHT_S);
    let bed = Bed::start_with(POLICY, |launch| launch.wall_clock(&wall));
    corrections_count_in_the_month_of_their_charge(&bed, &wall);
}

#[test]
fn a_correction_after_midnight_counts_in_the_month_before_with_a_shared_store() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::reading(folder.path(), BEFORE_MIDNIGHT_S);
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&wall).start();
    let bed = node_with(POLICY, &store.url(), |launch| launch.wall_clock(&wall));
    corrections_count_in_the_month_of_their_charge(&bed, &wall);
    // Also the overage that the store says of it, a moment later.
    wait::until("the overage is settled", || (months(&bed)[0].2 + months(&bed)[1].2 == 12).then_some(()));
}

#[test]
fn an_excess_that_another_node_settles_after_midnight_is_no_drift_of_the_new_month() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::reading(folder.path(), BEFORE_MIDNIGHT_S);
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&wall).start();
    let policy = "tiers: {monthly: {quota: 10, on_quota_exceeded: bill_overage}}\n";
    let node = || node_with(policy, &store.url(), |launch| launch.wall_clock(&wall));
    let (one, other) = (node(), node());
    let key = one.customer("acme", "monthly");
    let held = permit(&one, &key, 5);
    step(&one, &wall, 1_200);
    // The charge is another node's, so this one has no record of its month.
    finish(&other, &held, 30);
    wait::until("the excess is settled", || (months(&other).first()?.2 == 20).then_some(()));
    for (asked, named) in [(&one, &other), (&other, &one)] {
        let (output, said) = reconcile(asked, &["--node", &url(named)]);
        assert!(output.status.success(), "{said}");
        assert_eq!(said["differences"], json!([]), "{said}");
    }
}
