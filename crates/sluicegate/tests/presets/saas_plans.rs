//! `saas-plans.yaml`: each row of its contract, a file that changes while it is served, and an upgrade in mid-month.

use std::fs;

use serde_json::json;
use sluicegate_testkit::http::{Answer, Asked};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::spend::{batch, preset, sent_in_time, spend, spend_of_tier};

fn bed() -> Bed {
    Bed::start_with(&preset("saas-plans.yaml"), |launch| launch.clock("2026-11-10 12:00:00"))
}

fn send(bed: &Bed, key: &str) -> Answer {
    bed.gateway(&Asked::get("/").key(key))
}

fn numbers<const N: usize>(answer: &Answer, names: [&str; N]) -> [Option<u64>; N] {
    names.map(|name| answer.number(name))
}

const QUOTA: [&str; 3] = ["X-Quota-Limit", "X-Quota-Used", "X-Quota-Remaining"];

#[test]
fn each_plan_has_the_numbers_of_its_table() {
    let bed = bed();
    let plans = [
        ("free", 10, 20, Some(50_000), 5),
        ("pro", 100, 300, Some(5_000_000), 50),
        ("enterprise", 1_000, 2_000, None, 500),
    ];
    for (tier, rate, burst, quota, concurrency) in plans {
        let key = bed.customer(tier, tier);
        let answer = send(&bed, &key);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            numbers(&answer, ["RateLimit-Limit", "RateLimit-Remaining"]),
            [Some(rate), Some(burst - 1)]
        );
        let left = quota.map(|quota: u64| quota - 1);
        assert_eq!(numbers(&answer, QUOTA), [quota, quota.map(|_| 1), left], "{tier}: {answer:?}");
        let limits = bed.get(&format!("/admin/v1/accounts/{tier}/limits"));
        let of =
            |name: &str| limits["items"].as_array().unwrap().iter().find(|it| it["name"] == name).cloned();
        assert_eq!(of("concurrency").unwrap()["limit"], concurrency, "{limits}");
    }
}

#[test]
fn a_rate_that_is_exceeded_is_429_and_passes_by_itself() {
    let bed = bed();
    let key = bed.customer("acme", "free");
    let check = |cost: u64| json!({"key": key, "cost": cost});
    let answers = batch(&bed, &[check(20), check(1)]);
    assert_eq!((&answers[0]["allowed"], &answers[1]["status"]), (&json!(true), &json!(429)), "{answers:?}");
    // Through the gateway as well: nobody is so slow that the bucket never runs dry.
    let refused = (0..2_000).map(|_| send(&bed, &key)).find(|answer| answer.status != 200).unwrap();
    assert_eq!((refused.status, &refused.json()["error"]), (429, &json!("rate_limited")), "{refused:?}");
    assert_eq!(numbers(&refused, ["RateLimit-Remaining", "Retry-After"]), [Some(0), Some(1)], "{refused:?}");
    assert_eq!(sent_in_time(&bed, &Asked::get("/").key(&key)).status, 200);
}

#[test]
fn a_spent_quota_is_402_until_the_month_ends() {
    let bed = bed();
    let key = bed.customer("acme", "free");
    spend_of_tier(&bed, ("acme", "free"), &key, 49_999, &json!({"quota": 50_000}));
    let last = sent_in_time(&bed, &Asked::get("/").key(&key));
    assert_eq!(
        (last.status, numbers(&last, QUOTA)),
        (200, [Some(50_000), Some(50_000), Some(0)]),
        "{last:?}"
    );
    let spent = sent_in_time(&bed, &Asked::get("/").key(&key));
    assert_eq!((spent.status, &spent.json()["error"]), (402, &json!("quota_exceeded")), "{spent:?}");
    assert_eq!(numbers(&spent, QUOTA), [Some(50_000), Some(50_000), Some(0)]);
    assert_eq!(spent.header("X-Quota-Reset"), Some("Tue, 01 Dec 2026 00:00:00 GMT"));
    assert_eq!(spent.header("Retry-After"), None, "there is nothing to wait for");
}

#[test]
fn what_lies_beyond_a_quota_that_is_billed_is_served_and_counted() {
    let bed = bed();
    let key = bed.customer("globex", "enterprise");
    let sold = json!({"quota": 20_000_000, "on_quota_exceeded": "bill_overage"});
    spend(&bed, "globex", &key, 20_000_000, &sold);
    let negotiated = json!({"rate": 1000, "quota": 20_000_000, "on_quota_exceeded": "bill_overage"});
    let put = Asked::new("PUT", "/admin/v1/accounts/globex/custom").json(&negotiated);
    assert_eq!(bed.admin(put).status, 200);
    for overage in [1, 2] {
        let answer = sent_in_time(&bed, &Asked::get("/").key(&key));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(numbers(&answer, ["X-Quota-Remaining", "X-Quota-Overage"]), [Some(0), Some(overage)]);
    }
}

#[test]
fn keys_that_are_unknown_or_revoked_are_403_and_none_is_401() {
    let bed = bed();
    bed.account("acme", "free");
    let key = bed.key_with("acme", &json!({}));
    assert_eq!(send(&bed, &key.key).status, 200);
    let revoked = bed.admin(Asked::new("DELETE", &format!("/admin/v1/keys/{}", key.id)));
    assert!(matches!(revoked.status, 200 | 204), "{revoked:?}");
    for invalid in [key.key.as_str(), "sg_live_unknown"] {
        let answer = send(&bed, invalid);
        assert_eq!((answer.status, &answer.json()["error"]), (403, &json!("invalid_key")), "{answer:?}");
    }
    let answer = bed.gateway(&Asked::get("/"));
    assert_eq!((answer.status, &answer.json()["error"]), (401, &json!("missing_key")), "{answer:?}");
    assert!(answer.header("WWW-Authenticate").is_some());
}

#[test]
fn a_file_that_changes_holds_at_once_and_forgets_nothing() {
    let bed = bed();
    let key = bed.customer("acme", "free");
    assert_eq!(numbers(&send(&bed, &key), QUOTA), [Some(50_000), Some(1), Some(49_999)]);
    let changed = preset("saas-plans.yaml").replace("quota: 50_000 ", "quota: 60_000 ");
    fs::write(bed.policy_path(), changed).unwrap();
    let peek = || bed.check(&json!({"key": key, "peek": true})).json()["headers"]["X-Quota-Limit"].clone();
    wait::until("the new file holds", || (peek() == "60000").then_some(()));
    let answer = sent_in_time(&bed, &Asked::get("/").key(&key));
    assert_eq!(numbers(&answer, QUOTA), [Some(60_000), Some(2), Some(59_998)], "{answer:?}");
    // A file with a mistake changes nothing.
    fs::write(bed.policy_path(), preset("saas-plans.yaml").replace("rate: 100\n", "rate: 0\n")).unwrap();
    wait::until("the mistake is noticed", || bed.health()["policy"]["rejected"]["problems"].as_u64());
    assert_eq!(peek(), "60000");
}

#[test]
fn an_upgrade_in_mid_month_holds_from_the_next_request_on() {
    let bed = bed();
    let key = bed.customer("acme", "free");
    spend_of_tier(&bed, ("acme", "free"), &key, 50_000, &json!({"quota": 50_000}));
    assert_eq!(sent_in_time(&bed, &Asked::get("/").key(&key)).status, 402);
    let put = Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": "pro"}));
    assert_eq!(bed.admin(put).status, 200);
    let answer = send(&bed, &key);
    assert_eq!((answer.status, answer.number("RateLimit-Limit")), (200, Some(100)), "{answer:?}");
    assert_eq!(numbers(&answer, QUOTA), [Some(5_000_000), Some(50_001), Some(4_949_999)], "{answer:?}");
}
