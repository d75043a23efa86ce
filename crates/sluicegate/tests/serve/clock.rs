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

/// An account with a daily quota of a thousand, of which 900 are used.
fn spend_a_day(bed: &Bed) -> String {
    let key = bed.customer("acme", "daily");
    spend(bed, &key, 900);
    key
}

/// The node's time, by what it writes down.
fn day(bed: &Bed) -> String {
    bed.key_with("acme", &json!({})).created_at[..10].to_owned()
}

#[test]
fn a_restart_does_not_make_the_store_confirm_a_leap_of_both_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&wall).start();
    let mut bed = node_with(POLICY, &store.url(), |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let today = day(&bed);
    spend(&bed, &key, 3);
    wait::until("it is on disk", || (bed.get("/admin/v1/usage?account=acme")["total"] == 3).then_some(()));

    wall.step_to(10 * YEAR_S);
    bed.server.kill();
    bed.restart();
    wait::pause(SOME_LOOKS);
    let clock = clock_health(&bed);
    assert_eq!(clock["state"], "implausible", "{clock}");
    spend(&bed, &key, 5);
    assert_eq!(day(&bed), today);
    assert_eq!(years(&bed), [today[..4].to_owned()]);
}

#[test]
fn quotas_that_a_store_expired_in_a_leap_are_spent_when_its_clock_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&wall).start();
    let bed = node(POLICY, &store.url());
    let key = spend_a_day(&bed);
    wall.step_to(10 * YEAR_S);
    expect_clock(&bed, "implausible");
    wait::until("the quota is spent", || (bed.used("acme", "quota") >= 900).then_some(()));
    let sold_again = bed.check(&json!({"key": key, "cost": 200})).json();
    assert_eq!(sold_again["allowed"], false, "{sold_again}");
    wall.step_to(0);
    expect_clock(&bed, "plausible");
    wait::pause(SOME_LOOKS);
    assert_eq!(bed.used("acme", "quota"), 900);
    let sold_again = bed.check(&json!({"key": key, "cost": 200})).json();
    assert_eq!(sold_again["allowed"], false, "{sold_again}");
}

#[test]
fn a_clock_that_is_set_right_after_a_wrong_absence_brings_meters_and_ledger_back() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let policy = format!("{POLICY}clock: {{hold: 2s}}\n");
    let mut bed = Bed::start_with(&policy, |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let today = day(&bed);
    spend(&bed, &key, 3);
    bed.server.terminate();
    assert!(bed.server.wait().success(), "{}", bed.server.said());

    // 61 days are an absence.
    wall.step_to(61 * 86_400);
    bed.restart();
    assert_eq!(clock_health(&bed)["state"], "plausible");
    assert_ne!(day(&bed), today);
    spend(&bed, &key, 5);
    assert_eq!(bed.used("acme", "quota"), 5);

    // The clock is set right.
    wall.step_to(0);
    wait::until("the clock is followed", || (day(&bed) == today).then_some(()));
    wait::until("the meter is back", || (bed.used("acme", "quota") == 3).then_some(()));
    spend(&bed, &key, 7);
    assert_eq!(bed.used("acme", "quota"), 10);
    assert!(reset_ms(&bed) <= MONTH_MS, "the period ends in {} ms", reset_ms(&bed));
    let now = bed.get("/admin/v1/usage?account=acme&to=2030-01-01T00:00:00Z&step=day");
    let series = now["series"].as_array().unwrap();
    assert_eq!(
        (&series[0]["total"], &series[0]["start"]),
        (&json!(10), &json!(format!("{today}T00:00:00Z"))),
        "{now}"
    );
    let agree = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile?against=meters")).json();
    assert_eq!(agree["differences"], json!([]), "{agree}");
    bed.server.terminate();
    assert!(bed.server.wait().success(), "{}", bed.server.said());
    bed.restart();
    assert_eq!((bed.used("acme", "quota"), day(&bed)), (10, today));
}

#[test]
fn a_clock_that_is_set_right_brings_meters_in_the_store_back() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&wall).start();
    let policy = "tiers: {metered: {quota: 1_000}}\nclock: {hold: 2s}\n";
    let mut bed = node_with(policy, &store.url(), |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let today = day(&bed);
    spend(&bed, &key, 3);

    // Both clocks are wrong for so long that they are followed.
    wall.step_to(2 * YEAR_S);
    wait::until("the clock is followed", || (day(&bed) != today).then_some(()));
    spend(&bed, &key, 5);
    wait::until("the later month", || (bed.used("acme", "quota") == 5).then_some(()));

    wall.step_to(0);
    wait::until("the clock is followed back", || (day(&bed) == today).then_some(()));
    wait::until("the meter is back", || (bed.used("acme", "quota") == 3).then_some(()));
    spend(&bed, &key, 7);
    assert_eq!(bed.used("acme", "quota"), 10);
    assert!(reset_ms(&bed) <= MONTH_MS, "the period ends in {} ms", reset_ms(&bed));
    let agree = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile?against=meters")).json();
    assert_eq!(agree["differences"], json!([]), "{agree}");
    bed.server.kill();
    bed.restart();
    assert_eq!(bed.used("acme", "quota"), 10);
}

#[test]
fn what_was_charged_under_a_wrong_clock_is_settled_at_the_true_time() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let policy = "tiers: {metered: {quota: 10, on_quota_exceeded: bill_overage}}\nclock: {hold: 2s}\n";
    let mut bed = Bed::start_with(policy, |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let today = day(&bed);
    spend(&bed, &key, 9);
    bed.server.terminate();
    assert!(bed.server.wait().success(), "{}", bed.server.said());
    wall.step_to(61 * 86_400);
    bed.restart();
    let hold = |cost: u64| {
        let answer = bed.check(&json!({"key": key, "cost": cost, "hold_for": "24h"})).json();
        answer["permit"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let (dear, cheap) = (hold(7), hold(7));
    wall.step_to(0);
    wait::until("the clock is followed", || (day(&bed) == today).then_some(()));
    wait::until("the meter is back", || (bed.used("acme", "quota") == 9).then_some(()));

    for (permit, cost) in [(&dear, 30), (&cheap, 1)] {
        let body = json!({"permit": permit, "status": 200, "cost": cost});
        let call = Asked::new("POST", "/v1/finish").json(&body);
        assert_eq!(Caller::new(bed.server.decision()).send(&call).unwrap().status, 200);
    }
    // The excess of 23 counts today. No meter has the charge of which 6 are given back.
    assert_eq!(bed.used("acme", "quota"), 32);
    let usage = bed.get("/admin/v1/usage?account=acme&to=2030-01-01T00:00:00Z&step=day");
    let series = usage["series"].as_array().unwrap().iter();
    let days: Vec<(&Value, &Value)> = series.map(|point| (&point["total"], &point["overage"])).collect();
    assert_eq!(days, [(&json!(32), &json!(22)), (&json!(8), &json!(4))], "{usage}");
    let agree = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile?against=meters")).json();
    assert_eq!(agree["differences"], json!([]), "{agree}");
}

#[test]
fn what_was_used_later_in_the_same_month_counts_after_a_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    // 2026-11-12 22:00 UTC.
    let wall = WallClock::reading(folder.path(), 1_794_520_800);
    let policy =
        "tiers: {monthly: {quota: 10}, daily: {quota: 10, quota_window: calendar_day}}\nclock: {hold: 2s}\n";
    let bed = Bed::start_with(policy, |launch| launch.wall_clock(&wall));
    let (key, other) = (bed.customer("acme", "monthly"), bed.customer("other", "daily"));
    spend(&bed, &key, 3);
    let today = day(&bed);
    wall.step_by(5 * 3_600);
    wait::until("the clock is followed", || (day(&bed) != today).then_some(()));
    spend(&bed, &key, 7);
    spend(&bed, &other, 1);
    wall.step_by(-5 * 3_600);
    wait::until("time is set back", || (day(&bed) == today).then_some(()));
    // The day of the other has not begun: its meter is counted again, and with it those of all.
    wait::until("meters are counted again", || (bed.used("other", "quota") == 0).then_some(()));
    wait::pause(SOME_LOOKS);
    assert_eq!(bed.used("acme", "quota"), 10);
    let agree = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile?against=meters")).json();
    assert_eq!(agree["differences"], json!([]), "{agree}");
}

#[test]
fn many_steps_of_less_than_an_hour_are_not_followed_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let bed = Bed::start_with(POLICY, |launch| launch.wall_clock(&wall));
    bed.account("acme", "metered");
    let hour = || {
        let at = bed.key_with("acme", &json!({})).created_at;
        at[8..10].parse::<i64>().unwrap() * 24 + at[11..13].parse::<i64>().unwrap()
    };
    let before = hour();
    for _ in 0..8 {
        wall.step_by(55 * 60);
        wait::pause(Duration::from_millis(1_500));
    }
    // Eight steps are more than seven hours. A month may have begun meanwhile: then there is nothing to compare.
    let ahead = hour() - before;
    assert!(ahead <= 2, "{ahead} hours ahead");
    assert_eq!(clock_health(&bed)["state"], "implausible");
}

#[test]
fn a_clock_that_was_set_back_wrongly_loses_nothing_that_was_used_before() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let policy = format!("{POLICY}clock: {{hold: 2s}}\n");
    let bed = Bed::start_with(&policy, |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let today = day(&bed);
    spend(&bed, &key, 900);
    wall.step_by(-40 * 86_400);
    wait::until("time is set back", || (day(&bed) != today).then_some(()));
    wait::until("the meter is of that time", || (bed.used("acme", "quota") == 0).then_some(()));
    spend(&bed, &key, 7);
    wall.step_to(0);
    wait::until("time is right", || (day(&bed) == today).then_some(()));
    wait::until("the quota is spent", || (bed.used("acme", "quota") == 900).then_some(()));
    let refused = bed.check(&json!({"key": key, "cost": 101})).json();
    assert_eq!(refused["allowed"], false, "{refused}");
    assert_eq!(
        bed.get("/admin/v1/usage?account=acme&from=2020-01-01T00:00:00Z&to=2050-01-01T00:00:00Z")["total"],
        907
    );
}

/// Only the node's clock is wrong, and an operator has confirmed it. Redis counts by its own.
#[test]
fn a_node_whose_clock_is_wrong_counts_no_quotas_of_a_store_whose_clock_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let store = RedisLaunch::new(Engine::Redis).start();
    let bed = node_with(POLICY, &store.url(), |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    spend(&bed, &key, 900);
    wall.step_to(40 * 86_400);
    expect_clock(&bed, "implausible");
    assert!(program(&bed, &["clock", "confirm", "--yes"]).status.success());
    for more in [&["--alone"][..], &["--repair", "--alone", "--yes"]] {
        let refused = program(&bed, &[&["usage", "reconcile"], more].concat());
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && said.contains("disagree"), "{said}");
    }
    let path = "/admin/v1/usage/reconcile?against=meters&repair=true&alone=true";
    let refused = bed.admin(Asked::new("POST", path));
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(bed.used("acme", "quota"), 900);
    let sold_again = bed.check(&json!({"key": key, "cost": 200})).json();
    assert_eq!(sold_again["allowed"], false, "{sold_again}");
}

#[test]
fn how_long_a_node_runs_does_not_follow_a_step_of_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let bed = Bed::start_with(POLICY, |launch| launch.wall_clock(&wall));
    bed.customer("acme", "metered");
    let year = this_year(&bed);
    wall.step_to(2 * YEAR_S);
    expect_clock(&bed, "implausible");
    assert!(program(&bed, &["clock", "confirm", "--yes"]).status.success());
    assert_ne!(this_year(&bed), year);
    let uptime = bed.health()["uptime_s"].as_u64().unwrap();
    assert!(uptime < 86_400, "{uptime}");
}
