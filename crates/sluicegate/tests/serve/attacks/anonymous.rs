//! Having the limit of one caller without a key many times.

use std::sync::mpsc::Receiver;

use serde_json::json;
use sluicegate_testkit::http::{Answer, Asked, Caller};

use super::{THREE, admitted, forwarded};
use crate::bed::Bed;
use crate::clients::verifier;
use crate::nodes::Nodes;

/// The fingerprints that squeeze an address by default.
const THRESHOLD: usize = 20;
/// How many clients' worth its callers share by default; half of three is one for each.
const SHARE: usize = 5;

/// A request of a script that changes its name each time.
fn renamed(number: usize) -> Asked {
    forwarded("203.0.113.41").header("User-Agent", &format!("Mozilla/5.0 ({number})"))
}

#[test]
fn attack_29_a_new_user_agent_for_each_request_gets_no_new_limit() {
    let bed = Bed::start(THREE);
    let got = admitted(&bed, (0..1_000).map(renamed));
    assert_eq!(got, THRESHOLD - 1 + SHARE);
    let refused = bed.gateway(&renamed(1_000));
    assert_eq!((refused.status, refused.json()["error"].as_str()), (429, Some("rate_limited")));
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("a session or an API key has limits of its own"), "{detail}");
    // A neighbour notices nothing.
    assert_eq!(admitted(&bed, (0..4).map(|_| forwarded("203.0.113.42"))), 3);
    // Nor is the address anywhere on disk, or in the log.
    assert!(!bed.server.said().contains("203.0.113.41"));
    let open = Bed::start(&format!("{THREE}pressure: off\n"));
    assert_eq!(admitted(&open, (0..100).map(renamed)), 100);
}

#[test]
fn attack_30_new_user_agents_on_one_node_after_the_other_get_no_new_limit() {
    let nodes = Nodes::start(THREE, 2);
    let got = (0..200).filter(|number| nodes.nodes[number % 2].gateway(&renamed(*number)).status == 200);
    assert_eq!(got.count(), THRESHOLD - 1 + SHARE);
}

/// A server with a challenge that everybody passes, and more in its policy.
fn challenged(more: &str) -> (Bed, Receiver<String>) {
    let (verifier, told) = verifier();
    let policy = format!(
        "server: {{trusted_proxies: [127.0.0.0/8]}}\n\
         identity:\n  anonymous: free\n  challenge: {{verify_url: 'http://{verifier}/', secret: env:OF_THE_TESTS}}\n\
         tiers: {{free: {{rate: 1/day, burst: 3}}}}\n{more}"
    );
    (Bed::start_with(&policy, |launch| launch.variable("OF_THE_TESTS", "hunter2")), told)
}

/// Asks for a session from this address.
fn mint(bed: &Bed, address: &str) -> Answer {
    let answered = Asked::new("POST", "/v1/sessions").json(&json!({"response": "right"}));
    Caller::new(bed.server.decision()).send(&answered.header("X-Forwarded-For", address)).unwrap()
}

#[test]
fn attack_31_an_address_that_passes_every_challenge_gets_twenty_sessions_an_hour() {
    let (bed, told) = challenged("");
    for number in 0..20 {
        assert_eq!(mint(&bed, &format!("2001:db8:0:7::{number:x}")).status, 204, "{number}");
    }
    let refused = mint(&bed, "2001:db8:0:7::ffff");
    assert_eq!((refused.status, refused.json()["limit"].as_str()), (429, Some("sessions")));
    assert!((3_500..=3_600).contains(&refused.number("Retry-After").unwrap()));
    assert_eq!(refused.header("Set-Cookie"), None);
    assert_eq!(told.try_iter().count(), 20, "nobody is asked whether the last answer is right");
    assert_eq!(mint(&bed, "2001:db8:0:8::1").status, 204);
}

#[test]
fn attack_32_a_flood_of_answers_to_challenges_stands_before_the_edge() {
    let (bed, told) = challenged("edge: {rate: 1/hour, burst: 3}\n");
    let statuses: Vec<u16> = (0..5).map(|_| mint(&bed, "203.0.113.44").status).collect();
    assert_eq!(statuses, [204, 204, 204, 429, 429]);
    assert_eq!(mint(&bed, "203.0.113.44").json()["limit"], "edge");
    assert_eq!(told.try_iter().count(), 3);
}
