//! Clients of Redis ask a server: redis-cli, the client of Rust, that of Python, and bytes.

mod bed;
mod clients;
mod docs;
mod stores;

use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::json;
use sluicegate_testkit::redis::{Client, Reply};
use sluicegate_testkit::server::Launch;
use sluicegate_testkit::wait;

use crate::bed::{Bed, PROGRAM};
use bed::{asks, client, field, numbers, with_resp};

const POLICY: &str = "
tiers:
  quick: {rate: 1/minute, burst: 2}
  spent: {quota: 1, quota_window: sliding_day}
  slots: {concurrency: 1}
";

#[test]
fn a_check_is_answered_with_the_status_for_the_caller() {
    let bed = Bed::start_with(POLICY, with_resp);
    let (quick, spent) = (bed.customer("quick", "quick"), bed.customer("spent", "spent"));
    let mut client = client(&bed);
    let mut status = |key: &str| field(&asks(&mut client, &["SLUICEGATE.CHECK", "KEY", key]), "status");
    assert_eq!([status(&quick), status(&quick), status(&quick)], [200, 200, 429].map(Reply::Number));
    assert_eq!([status(&spent), status(&spent)], [200, 402].map(Reply::Number));
    assert_eq!(status("sg_live_nobody"), Reply::Number(403));
    // It is on record, and counted where it was asked.
    assert_eq!(bed.used("spent", "quota"), 1);
    let metrics = bed.admin(sluicegate_testkit::http::Asked::get("/metrics")).text();
    assert!(metrics.contains("front=\"resp\""), "{metrics}");
}

#[test]
fn a_permit_of_one_port_is_finished_at_the_other() {
    let bed = Bed::start_with(POLICY, with_resp);
    let key = bed.customer("acme", "slots");
    let mut client = client(&bed);
    let first = asks(&mut client, &["SLUICEGATE.CHECK", "KEY", &key]);
    let permit = field(&first, "permit").text();
    let second = asks(&mut client, &["SLUICEGATE.CHECK", "KEY", &key]);
    assert_eq!(field(&second, "error").text(), "concurrency_limited");
    let finish = sluicegate_testkit::http::Asked::new("POST", "/v1/finish").json(&json!({"permit": permit}));
    let mut decision = sluicegate_testkit::http::Caller::new(bed.server.decision());
    assert_eq!(decision.send(&finish).unwrap().status, 200);
    let third = asks(&mut client, &["SLUICEGATE.CHECK", "KEY", &key]);
    assert_eq!(field(&third, "status"), Reply::Number(200));
}

#[test]
fn it_listens_only_where_somebody_says_so() {
    let bed = Bed::start(POLICY);
    assert_eq!(bed.server.ready().get("resp"), None);
    drop(bed);

    let in_the_file = Bed::start(&format!("server: {{resp: 127.0.0.1:0}}\n{POLICY}"));
    assert_eq!(
        numbers(&asks(&mut client(&in_the_file), &["CL.THROTTLE", "k", "4", "1", "60"])),
        [0, 5, 4, -1, 60]
    );
    drop(in_the_file);

    let by_a_variable = Bed::start_with(POLICY, |launch| launch.variable("SLUICEGATE_RESP", "127.0.0.1:0"));
    let ready = by_a_variable.server.ready().clone();
    let names: Vec<&String> = ready.as_object().unwrap().keys().collect();
    assert_eq!(names, ["gateway", "decision", "admin", "resp", "pid"]);
    assert_eq!(ready["resp"], by_a_variable.server.resp().to_string());
    assert_eq!(asks(&mut client(&by_a_variable), &["PING"]), Reply::Status("PONG".into()));
    assert!(by_a_variable.server.said().contains("resp=127.0.0.1:"), "{}", by_a_variable.server.said());
}

#[test]
fn an_address_that_is_taken_is_said_with_the_flag_that_changes_it() {
    let bed = Bed::start_with(POLICY, with_resp);
    let folder = tempfile::tempdir().unwrap();
    let taken = bed.server.resp().to_string();
    let ended = Launch::new(PROGRAM, folder.path()).policy(POLICY).arg("--resp").arg(taken).run();
    assert_eq!(ended.status, Some(1));
    assert!(ended.said.contains("choose another address with --resp"), "{}", ended.said);
}

#[test]
fn a_password_comes_from_a_variable_and_is_asked_for() {
    let bed = Bed::start_with(POLICY, |launch| {
        with_resp(launch).variable("SLUICEGATE_RESP_PASSWORD", "a-password-of-the-tests")
    });
    let mut client = client(&bed);
    assert!(asks(&mut client, &["PING"]).text().starts_with("NOAUTH"));
    assert!(asks(&mut client, &["AUTH", "wrong"]).text().starts_with("WRONGPASS"));
    assert_eq!(asks(&mut client, &["AUTH", "a-password-of-the-tests"]), Reply::Status("OK".into()));
    assert_eq!(asks(&mut client, &["PING"]), Reply::Status("PONG".into()));
    assert!(!bed.server.said().contains("a-password"), "{}", bed.server.said());
}

#[test]
fn a_port_that_everybody_may_reach_needs_a_token_unless_the_policy_opens_it() {
    let open_to_all = |launch: Launch| launch.arg("--resp").arg("0.0.0.0:0");
    let ping = |bed: &Bed| {
        let address = (Ipv4Addr::LOCALHOST, bed.server.resp().port()).into();
        Client::connect(address, Duration::from_secs(20)).unwrap().ask(&["PING"]).unwrap().text()
    };
    assert!(ping(&Bed::start_with(POLICY, open_to_all)).starts_with("NOAUTH"));
    let opened = Bed::start_with(&format!("server: {{decision_auth: none}}\n{POLICY}"), open_to_all);
    assert_eq!(ping(&opened), "PONG");
    assert!(opened.server.said().contains("server.decision_auth is none"), "{}", opened.server.said());
}

#[test]
fn sigterm_ends_idle_connections_and_what_was_used_is_kept() {
    let mut bed = Bed::start_with(POLICY, with_resp);
    let address = bed.server.resp();
    let mut idle = client(&bed);
    let take = ["CL.THROTTLE", "k", "9", "10", "86400", "7"];
    assert_eq!(numbers(&asks(&mut idle, &take)), [0, 10, 3, -1, 7 * 8_640]);
    bed.server.terminate();
    wait::until("it accepts nothing new", || TcpStream::connect(address).is_err().then_some(()));
    assert_eq!(bed.server.wait().code(), Some(0), "{}", bed.server.said());
    assert!(idle.ask(&["PING"]).is_err());
    bed.restart();
    let left = numbers(&asks(&mut client(&bed), &take));
    assert_eq!(left[..3], [1, 10, 3]);
}
