//! The rate limit service: several descriptors in one call are charged together, or not at all.

use super::client::{Client, descriptor};
use crate::place::{Place, wait};
use crate::wire::start;

const PLANS: &str = "
tiers:
  small: {rate: 1_000_000, burst: 1_000_000, quota: 20, quota_window: calendar_day}
  single: {rate: 100, burst: 100, concurrency: 1}
";

fn limited(user: &str, limit: u32, more: &str) -> String {
    descriptor(&[("user", user)], &format!("limit {{ requests_per_unit: {limit} unit: DAY }} {more}"))
}

const KEY: &[(&str, &str)] = &[("api_key", "<small>")];
const PEEK: &str = "hits_addend { value: 0 }";

fn codes(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("code: ")).collect()
}

#[test]
fn one_that_refuses_takes_nothing_from_the_others() {
    let place = Place::new(PLANS).caller("small");
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &limited("closed", 1, "")).await.has(&["overall_code: OK"]);
        let before = format!("{} {}", limited("a", 10, ""), descriptor(KEY, ""));
        let call = format!("{before} {} {}", limited("closed", 1, ""), limited("b", 10, ""));
        let refused = client.limit(&place, &call).await;
        refused.has(&["overall_code: OVER_LIMIT"]);
        assert_eq!(codes(&refused.text), ["OK", "OK", "OVER_LIMIT", "OK"], "{}", refused.text);
        crate::golden::check("grpc_ratelimit_together.txt", &client.transcript);
        for user in ["a", "b"] {
            client.limit(&place, &limited(user, 10, PEEK)).await.has(&["limit_remaining: 10"]);
        }
        let admitted = client.limit(&place, &before).await;
        admitted.has(&["overall_code: OK", "limit_remaining: 9"]);
    });
    assert_eq!(place.used("small"), 1);
}

#[test]
fn a_limit_that_only_counts_gives_back_what_it_has_counted_and_no_more() {
    let policy = "
tiers: {free: {rate: 100}}
descriptors: {api: [{key: tried, limit: 3/day, shadow_mode: true}]}
";
    let place = Place::new(policy);
    let tried = |more: &str| descriptor(&[("tried", "a")], more);
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &limited("closed", 1, "")).await.has(&["overall_code: OK"]);
        let refused = format!("{} {}", tried("hits_addend { value: 2 }"), limited("closed", 1, ""));
        client.limit(&place, &refused).await.has(&["overall_code: OVER_LIMIT"]);
        client.limit(&place, &tried(PEEK)).await.has(&["limit_remaining: 3"]);
        client.limit(&place, &tried("hits_addend { value: 2 }")).await.has(&["limit_remaining: 1"]);
        client.limit(&place, &refused).await.has(&["overall_code: OVER_LIMIT"]);
        client.limit(&place, &tried(PEEK)).await.has(&["overall_code: OK", "limit_remaining: 1"]);
    });
}

#[test]
fn what_is_given_back_is_given_whatever_the_others_say() {
    let place = Place::new(PLANS);
    wait(async {
        let mut client = Client::of(&place).await;
        client
            .limit(&place, &limited("a", 10, "hits_addend { value: 5 }"))
            .await
            .has(&["limit_remaining: 5"]);
        client.limit(&place, &limited("closed", 1, "")).await.has(&["overall_code: OK"]);
        let back = limited("a", 10, "hits_addend { value: 2 } is_negative_hits: true");
        let call = format!("{} {back}", limited("closed", 1, ""));
        client.limit(&place, &call).await.has(&["overall_code: OVER_LIMIT"]);
        client.limit(&place, &limited("a", 10, PEEK)).await.has(&["limit_remaining: 7"]);
    });
}

#[test]
fn a_place_in_flight_is_free_again_whatever_is_answered() {
    let place = Place::new(PLANS).caller("single");
    let key = descriptor(&[("api_key", "<single>")], "");
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &limited("closed", 1, "")).await.has(&["overall_code: OK"]);
        for _ in 0..3 {
            let refused = format!("{key} {}", limited("closed", 1, ""));
            client.limit(&place, &refused).await.has(&["overall_code: OVER_LIMIT"]);
            let admitted = format!("{key} {}", limited("open", 100, ""));
            client.limit(&place, &admitted).await.has(&["overall_code: OK"]);
        }
    });
}

#[test]
fn many_at_once_admit_exactly_what_fits_and_the_rest_takes_nothing() {
    const CALLS: usize = 60;
    let place = Place::new(PLANS).caller("small");
    let call = place.with_keys(&format!("{} {}", limited("all", 1_000, ""), descriptor(KEY, "")));
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(
        async {
            let address = start(&place);
            let mut calls = Vec::new();
            for _ in 0..CALLS {
                let text = format!("domain: 'api' {call}");
                calls.push(tokio::spawn(async move {
                    let said = Client::to(address).await.call(super::client::RATE_LIMIT, &text).await;
                    usize::from(said.text.contains("overall_code: OK"))
                }));
            }
            let mut admitted = 0;
            for call in calls {
                admitted += call.await.unwrap();
            }
            assert_eq!(admitted, 20);
            let mut client = Client::to(address).await;
            client.limit(&place, &limited("all", 1_000, PEEK)).await.has(&["limit_remaining: 980"]);
        },
    );
    assert_eq!(place.used("small"), 20);
}
