//! A wall clock that leaps: decisions, bills and deletions go on by the time before the leap.

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::faketime::WallClock;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::server::ADMIN_TOKEN;
use sluicegate_testkit::wait;

use crate::bed::{Bed, PROGRAM};
use crate::nodes::{node, node_with};

const POLICY: &str = "
tiers:
  metered: {rate: 100_000, burst: 100_000, quota: 1_000}
  daily: {rate: 100_000, burst: 100_000, quota: 1_000, quota_window: sliding_day}
";
const YEAR_S: u64 = 365 * 86_400;
const MONTH_MS: u64 = 31 * 86_400 * 1_000;
/// The clock is looked at every second, and hours are closed every two.
const SOME_LOOKS: Duration = Duration::from_secs(6);

fn spend(bed: &Bed, key: &str, cost: u64) {
    let answer = bed.check(&json!({"key": key, "cost": cost})).json();
    assert_eq!(answer["allowed"], true, "{answer}");
}

/// When the quota begins anew, in milliseconds from now.
fn reset_ms(bed: &Bed) -> u64 {
    let limits = bed.get("/admin/v1/accounts/acme/limits");
    let quota = limits["items"].as_array().unwrap().iter().find(|item| item["name"] == "quota");
    quota.unwrap()["reset_ms"].as_u64().unwrap()
}

/// Usage of the account by the years in which it is counted.
fn years(bed: &Bed) -> Vec<String> {
    let usage = bed.get("/admin/v1/usage?account=acme&from=2020-01-01T00:00:00Z&to=2050-01-01T00:00:00Z");
    let series = usage["series"].as_array().unwrap();
    let mut years: Vec<String> =
        series.iter().map(|point| point["start"].as_str().unwrap()[..4].to_owned()).collect();
    years.dedup();
    years
}

fn this_year(bed: &Bed) -> String {
    let key = bed.key_with("acme", &json!({}));
    key.created_at[..4].to_owned()
}

fn clock_health(bed: &Bed) -> Value {
    bed.health()["clock"].clone()
}

fn decision_health(bed: &Bed) -> Value {
    Caller::new(bed.server.decision()).send(&Asked::get("/health")).unwrap().json()
}

fn metric(bed: &Bed, name: &str) -> String {
    let page = bed.admin(Asked::get("/metrics")).text();
    let line = page.lines().find(|line| line.starts_with(&format!("{name} ")));
    line.and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned()
}

/// Runs the program against this server.
fn program(bed: &Bed, args: &[&str]) -> Output {
    let url = format!("http://{}", bed.server.admin());
    let mut command = Command::new(PROGRAM);
    command.args(args).args(["--admin-url", &url]).env("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN);
    command.output().unwrap()
}

/// Waits until the node says this of its clocks.
fn expect_clock(bed: &Bed, state: &str) -> Value {
    wait::until(state, || Some(clock_health(bed)).filter(|clock| clock["state"] == state))
}

#[test]
fn six_seconds_ten_years_ahead_move_no_usage() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let bed = Bed::start_with(POLICY, |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let year = this_year(&bed);
    spend(&bed, &key, 3);
    assert_eq!(decision_health(&bed), json!({"status": "ok", "mode": "normal"}));

    wall.step_to(10 * YEAR_S);
    wait::pause(SOME_LOOKS);
    spend(&bed, &key, 5);
    assert!(reset_ms(&bed) <= MONTH_MS, "the period ends in {} ms", reset_ms(&bed));
    assert_eq!(bed.used("acme", "quota"), 8);
    let clock = clock_health(&bed);
    assert_eq!(clock["state"], "implausible");
    let ahead_s = clock["system"]["ahead_s"].as_u64().unwrap();
    assert!(ahead_s.abs_diff(10 * YEAR_S) < 60, "{ahead_s}");
    let said = json!({"status": "impaired", "mode": "normal", "clock": "implausible"});
    assert_eq!((&bed.health()["status"], decision_health(&bed)), (&json!("degraded"), said));
    assert_eq!(metric(&bed, "sluicegate_clock_implausible{clock=\"system\"}"), "1");
    let alert = &bed.get("/admin/v1/alerts")["items"][0];
    assert_eq!((&alert["type"], &alert["state"]), (&json!("clock.implausible"), &json!("firing")));
    assert!(bed.server.said().contains("the clock leapt ahead and is not followed"));

    wall.step_to(0);
    expect_clock(&bed, "plausible");
    spend(&bed, &key, 7);
    assert_eq!(bed.used("acme", "quota"), 15);
    assert_eq!(years(&bed), [year]);
    wait::until("the alert is over", || {
        let alert = &bed.get("/admin/v1/alerts")["items"][0];
        (alert["type"] == "clock.implausible" && alert["state"] == "resolved").then_some(())
    });
}

#[test]
fn a_step_is_followed_when_it_has_lasted_or_an_operator_confirms_it() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let bed = Bed::start_with(POLICY, |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let year = this_year(&bed);
    wall.step_to(2 * YEAR_S);
    expect_clock(&bed, "implausible");
    let confirmed = program(&bed, &["clock", "confirm", "--yes"]);
    assert!(confirmed.status.success(), "{confirmed:?}");
    let later = String::from_utf8(confirmed.stdout).unwrap();
    let of = |year: &str, more: u32| (year.parse::<u32>().unwrap() + more).to_string();
    assert!(later.starts_with(&format!("The clock is followed: it is {}", of(&year, 2))), "{later}");
    assert_eq!(clock_health(&bed)["state"], "plausible");
    assert_eq!(this_year(&bed), of(&year, 2));
    let refused = program(&bed, &["clock", "confirm", "--yes"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");

    // A reload says how long a step must last.
    std::fs::write(bed.policy_path(), format!("{POLICY}clock: {{hold: 2s}}\n")).unwrap();
    wait::until("the policy is loaded", || (bed.health()["policy"]["version"] == 2).then_some(()));
    wall.step_to(4 * YEAR_S);
    expect_clock(&bed, "implausible");
    expect_clock(&bed, "plausible");
    assert_eq!(this_year(&bed), of(&year, 4));
    spend(&bed, &key, 1);
}

#[test]
fn a_start_after_62_days_is_an_absence_and_a_later_one_is_held() {
    let mut bed = Bed::start_with(POLICY, |launch| launch.clock("2026-01-01 12:00:00"));
    let key = bed.customer("acme", "metered");
    spend(&bed, &key, 3);
    for (at, year, state) in [
        ("2026-03-04 11:00:00", "2026-03-04", "plausible"),
        ("2036-03-04 11:00:00", "2026-03-04", "implausible"),
    ] {
        bed.server.terminate();
        assert!(bed.server.wait().success(), "{}", bed.server.said());
        bed.launch = bed.launch.clone().clock(at);
        bed.restart();
        assert_eq!(clock_health(&bed)["state"], state, "{at}");
        assert_eq!(bed.key_with("acme", &json!({})).created_at[..10], *year, "{at}");
        spend(&bed, &key, 1);
    }
}

#[test]
fn a_store_whose_clock_leaps_moves_no_usage() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    // Redis brings an allocator that libfaketime cannot be loaded with.
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&wall).start();
    let bed = node(POLICY, &store.url());
    let key = bed.customer("acme", "daily");
    let year = this_year(&bed);
    spend(&bed, &key, 3);

    // Not so far that keys expire in the store.
    wall.step_to(3 * 3_600);
    let clock = expect_clock(&bed, "implausible");
    assert!(clock["system"].is_null() && !clock["store"].is_null(), "{clock}");
    spend(&bed, &key, 5);
    assert_eq!(bed.used("acme", "quota"), 8);
    assert_eq!(metric(&bed, "sluicegate_clock_implausible{clock=\"store\"}"), "1");
    let alert = wait::until("the alert", || {
        let alerts = bed.get("/admin/v1/alerts");
        alerts["items"].as_array().unwrap().iter().find(|it| it["type"] == "clock.implausible").cloned()
    });
    assert_eq!(alert["clock"], "store", "{alert}");
    wall.step_to(10 * YEAR_S);
    wait::pause(SOME_LOOKS);
    spend(&bed, &key, 7);
    assert_eq!(years(&bed), std::slice::from_ref(&year));
    wall.step_to(0);
    expect_clock(&bed, "plausible");
    spend(&bed, &key, 1);
    assert_eq!(years(&bed), [year]);
}

#[test]
fn a_store_that_had_the_time_before_confirms_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (late, right) = (WallClock::new(folder.path()), tempfile::tempdir().unwrap());
    let right = WallClock::new(right.path());
    right.step_to(YEAR_S);
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&right).start();
    let bed = node_with(POLICY, &store.url(), |launch| launch.wall_clock(&late));
    let key = bed.customer("acme", "metered");
    let held = expect_clock(&bed, "implausible");
    assert!(held["system"].is_null() && !held["store"].is_null(), "{held}");
    spend(&bed, &key, 3);
    late.step_to(YEAR_S);
    expect_clock(&bed, "plausible");
    spend(&bed, &key, 5);
    assert!(bed.server.said().contains("confirmed_by"), "{}", bed.server.said());
}
