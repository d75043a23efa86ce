//! `regulatory-hub.yaml`: every tier at its burst and at the quota of its day, products apart, services past
//! everything.

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller};

use crate::bed::Bed;
use crate::spend::{batch, preset, sent_in_time, spend_of_tier};

/// Tier, requests per second, capacity of its bucket, requests in any 24 hours.
const TABLE: [(&str, u64, u64, u64); 4] = [
    ("free", 2, 5, 200),
    ("researcher", 10, 30, 5_000),
    ("compliance", 50, 200, 100_000),
    ("vendor", 200, 1_000, 1_000_000),
];

const DAY_S: u64 = 86_400;

fn bed() -> Bed {
    Bed::start(&preset("regulatory-hub.yaml"))
}

#[test]
fn each_tier_has_its_burst_and_its_rate_to_the_unit() {
    let bed = bed();
    for (tier, rate, burst, _) in TABLE {
        let key = bed.customer(tier, tier);
        let check = |cost: u64| json!({"key": key, "cost": cost});
        let answers = batch(&bed, &[check(burst + 1), check(burst), check(1)]);
        assert_eq!(answers[0]["error"], "cost_exceeds_limit", "{tier}: {}", answers[0]);
        assert_eq!(answers[1]["allowed"], true, "{tier}: {}", answers[1]);
        // An empty bucket is full again after this long: that is its rate.
        assert_eq!(answers[1]["limits"][0]["reset_ms"], burst * 1_000 / rate, "{tier}: {}", answers[1]);
        let refused = &answers[2];
        assert_eq!((&refused["status"], &refused["error"]), (&json!(429), &json!("rate_limited")), "{tier}");
        assert_eq!(refused["retry_after_ms"], 1_000 / rate, "{tier}: {refused}");
        let headers = &refused["headers"];
        assert_eq!(headers["X-RateLimit-Limit"], rate.to_string(), "{tier}: {headers}");
        assert_eq!((&headers["X-RateLimit-Remaining"], &headers["Retry-After"]), (&json!("0"), &json!("1")));
    }
}

#[test]
fn a_passer_by_may_send_five_at_once_without_a_key() {
    let bed = bed();
    let mut caller = Caller::new(bed.server.gateway());
    let mut send = || caller.send(&Asked::get("/sanctions")).unwrap();
    for left in [4, 3] {
        let answer = send();
        assert_eq!((answer.status, answer.number("X-RateLimit-Limit")), (200, Some(2)), "{answer:?}");
        assert!(answer.number("X-RateLimit-Remaining").is_some_and(|it| it >= left), "{answer:?}");
    }
    // Tokens come back meanwhile, two in a second; nobody is so slow as to get all he asks for.
    let refused = (0..500).map(|_| send()).position(|answer| answer.status == 429);
    assert!(refused.is_some_and(|admitted| admitted >= 3), "{refused:?}");
    let answer = bed.gateway(&Asked::get("/sanctions").key("nonsense"));
    assert_eq!((answer.status, &answer.json()["error"]), (403, &json!("invalid_key")));
}

#[test]
fn each_tier_has_the_quota_of_its_day_to_the_unit() {
    let bed = bed();
    for (tier, _, _, quota) in TABLE {
        let key = bed.customer(tier, tier);
        let pool = if tier == "vendor" { "key" } else { "account" };
        let sold = json!({"quota": quota, "quota_window": "sliding_day", "quota_pool": pool});
        spend_of_tier(&bed, (tier, tier), &key, quota - 2, &sold);
        for used in [quota - 1, quota] {
            let answer = sent_in_time(&bed, &Asked::get("/").key(&key));
            assert_eq!(
                (answer.status, answer.number("X-Quota-Used")),
                (200, Some(used)),
                "{tier}: {answer:?}"
            );
            assert_eq!(answer.number("X-Quota-Limit"), Some(quota), "{tier}: {answer:?}");
        }
        let answer = sent_in_time(&bed, &Asked::get("/").key(&key));
        assert_eq!((answer.status, &answer.json()["error"]), (429, &json!("quota_exceeded")), "{tier}");
        let numbers = ["X-Quota-Limit", "X-Quota-Used", "X-Quota-Remaining"].map(|name| answer.number(name));
        assert_eq!(numbers, [Some(quota), Some(quota), Some(0)], "{tier}: {answer:?}");
        assert!(answer.number("X-Quota-Reset").is_some(), "{tier}: {answer:?}");
        // What was used is forgotten a day later, by the minute.
        let wait = answer.number("Retry-After").unwrap();
        assert!((DAY_S - 60..=DAY_S + 60).contains(&wait), "{tier}: {wait}");
    }
}

#[test]
fn the_products_of_a_vendor_have_quotas_of_their_own() {
    let bed = bed();
    let one = bed.customer("reseller", "vendor");
    let other = bed.key_with("reseller", &json!({"name": "another product"})).key;
    let sold = json!({"quota": 1_000_000, "quota_window": "sliding_day", "quota_pool": "key"});
    spend_of_tier(&bed, ("reseller", "vendor"), &one, 1_000_000, &sold);
    let answer = sent_in_time(&bed, &Asked::get("/").key(&one));
    assert_eq!((answer.status, answer.number("X-Quota-Remaining")), (429, Some(0)), "{answer:?}");
    let answer = bed.gateway(&Asked::get("/").key(&other));
    assert_eq!((answer.status, answer.number("X-Quota-Used")), (200, Some(1)), "{answer:?}");
    assert_eq!(answer.number("X-RateLimit-Remaining"), Some(999), "{answer:?}");
    // Of other tiers all keys of an account share the quota.
    let one = bed.customer("university", "researcher");
    let other = bed.key_with("university", &json!({"name": "another"})).key;
    let sold = json!({"quota": 5_000, "quota_window": "sliding_day"});
    spend_of_tier(&bed, ("university", "researcher"), &one, 5_000, &sold);
    assert_eq!(bed.gateway(&Asked::get("/").key(&other)).json()["error"], "quota_exceeded");
}

#[test]
fn services_of_the_hub_pass_by_a_header_of_their_own() {
    let bed = bed();
    let (token, key) = (bed.customer("hub", "internal"), bed.customer("acme", "free"));
    let mut caller = Caller::new(bed.server.gateway());
    for _ in 0..300 {
        let answer = caller.send(&Asked::get("/").header("X-Service-Token", &token)).unwrap();
        assert_eq!((answer.status, answer.header("X-RateLimit-Limit")), (200, None), "{answer:?}");
    }
    assert_eq!(bed.gateway(&Asked::get("/").header("X-Service-Token", &key)).status, 403);
    assert_eq!(bed.gateway(&Asked::get("/").key(&token)).status, 403);
}
