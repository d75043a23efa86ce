//! Reloads of `identity` while proxies ask: a request is identified and decided by one policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sluicegate_core::file;

use crate::grpc::client::Client;
use crate::place::{Place, wait};

const ASKED: usize = 3_000;
/// Its messages are made of text, which takes longer.
const ASKED_BY_ENVOY: usize = 300;

/// A policy under which the key stands in a header of its own, and the limit has a name of its own.
fn lettered(letter: char) -> String {
    format!(
        "identity: {{api_key: ['header:x-key-{letter}']}}\n\
         tiers: {{a: {{limits: {{limit_{letter}: {{algorithm: fixed_window, limit: 1_000_000/hour}}}}}}, \
         b: {{limits: {{limit_{letter}: {{algorithm: fixed_window, limit: 1_000_000/hour}}}}}}}}"
    )
}

/// Reloads one policy and the other for as long as requests are asked about.
fn while_reloading(place: &Place, ask: impl FnOnce()) {
    let stop = Arc::new(AtomicBool::new(false));
    let (engine, stopped) = (Arc::clone(&place.engine), Arc::clone(&stop));
    let reloads = thread::spawn(move || {
        let policies = ['b', 'a'].map(|letter| file::read(lettered(letter).as_bytes()).unwrap().policy);
        let mut reloads = 0_usize;
        while !stopped.load(Ordering::Relaxed) {
            engine.reload(policies[reloads % 2].clone()).unwrap();
            reloads += 1;
        }
        reloads
    });
    ask();
    stop.store(true, Ordering::Relaxed);
    assert!(reloads.join().unwrap() > 10);
}

/// That an answer names the account and the limit of one policy. Says which.
fn policy_of(answer: &str) -> char {
    let of = |letter: char| {
        (answer.contains(&format!("acct_{letter}")), answer.contains(&format!("limit_{letter}")))
    };
    let (a, b) = (of('a'), of('b'));
    let is_one = matches!((a, b), ((true, true), (false, false)) | ((false, false), (true, true)));
    assert!(is_one, "identified by one policy and decided by another: {answer}");
    if a == (true, true) { 'a' } else { 'b' }
}

const KEYS: [(&str, &str); 2] = [("x-key-a", "<a>"), ("x-key-b", "<b>")];

#[test]
fn forward_auth_identifies_and_decides_by_one_policy_whatever_is_reloaded_meanwhile() {
    let place = Place::new(&lettered('a')).caller("a").caller("b");
    let headers = [&KEYS[..], &[("x-forwarded-method", "GET"), ("x-forwarded-uri", "/")]].concat();
    let mut seen = Vec::new();
    while_reloading(&place, || {
        for _ in 0..ASKED {
            let answer = place.ask("GET", "/v1/forward-auth", &headers, "");
            let of = |name| answer.header(name).unwrap_or_default();
            seen.push(policy_of(&format!("{} {}", of("x-sluicegate-account"), of("ratelimit-policy"))));
        }
    });
    assert!(seen.contains(&'a') && seen.contains(&'b'));
}

#[test]
fn ext_authz_identifies_and_decides_by_one_policy_whatever_is_reloaded_meanwhile() {
    let place = Place::new(&lettered('a')).caller("a").caller("b");
    let headers: String =
        KEYS.iter().map(|(name, value)| format!("headers {{ key: '{name}' value: '{value}' }} ")).collect();
    let request = format!("method: 'GET' path: '/' {headers}");
    let mut seen = Vec::new();
    while_reloading(&place, || {
        wait(async {
            let mut client = Client::of(&place).await;
            for _ in 0..ASKED_BY_ENVOY {
                seen.push(policy_of(&client.check(&place, &request).await.text));
            }
        });
    });
    assert!(seen.contains(&'a') && seen.contains(&'b'));
}
