//! Keys with limits of their own, below those of their account.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::policy::TierName;
use sluicegate_engine::{Answer, CallerRequest, Credential, Decision, Engine, Hold, Purpose};
use sluicegate_store::directory::{
    AllowedIps, AllowedOrigins, DisplayName, KeyLimits, KeyRecord, KeyRestrictions, KeyUpdate, NewKey, Scopes,
};
use sluicegate_store::key_text::KeyEnv;
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};

use crate::place::{NOW, Place, answer, at, costing, policy, request, wait, writer};
use crate::shared_place;

const POLICY: &str = "
tiers:
  metered: {rate: 100_000, burst: 100_000, quota: 1_000}
  other: {quota: 2_000}
routes:
  export: {match: GET /export}
";

fn limits(text: &str) -> KeyRestrictions {
    KeyRestrictions { limits: Some(KeyLimits::new(text).unwrap()), ..KeyRestrictions::default() }
}

async fn key_with(engine: &Engine, restrictions: KeyRestrictions) -> (KeyRecord, String) {
    let new = NewKey {
        name: DisplayName::new("narrow").unwrap(),
        env: KeyEnv::Live,
        scopes: Scopes::new([]).unwrap(),
        expires_at: None,
    };
    let made = engine.directory().create_restricted_key("acme", new, restrictions, &writer()).await;
    let (record, secret) = made.unwrap();
    (record, secret.expose().to_owned())
}

fn place() -> Place {
    let place = Place::new(POLICY);
    place.account("acme", "metered");
    place
}

/// The limit that refuses.
fn refused_by(decision: &Decision) -> &str {
    match &decision.answer {
        Answer::Denied(denial) => denial.limit.as_ref().unwrap().as_str(),
        Answer::Admitted => panic!("it is admitted"),
    }
}

fn used(place: &Place, key: &str, limit: &str) -> u64 {
    let peek = CallerRequest { purpose: Purpose::Peek, ..request(key) };
    let decision = place.ask(&peek, NOW);
    decision.limits.iter().find(|now| now.name.as_str() == limit).unwrap().used
}

#[test]
fn a_key_is_refused_at_its_own_quota_and_its_account_goes_on() {
    let place = place();
    let wide = place.key("acme", &[]);
    let (_, narrow) = wait(key_with(&place.engine, limits(r#"{"quota": 3}"#)));
    for _ in 0..3 {
        assert_eq!(answer(&place.ask(&request(&narrow), NOW)), "200");
    }
    let refused = place.ask(&request(&narrow), NOW);
    assert_eq!(answer(&refused), "402 quota_exceeded");
    assert_eq!(refused_by(&refused), "key.quota");
    // The refused one has charged nothing, and other keys of the account are not concerned.
    assert_eq!((used(&place, &narrow, "key.quota"), used(&place, &wide.key, "quota")), (3, 3));
    assert_eq!(answer(&place.get(&wide, "/", NOW)), "200");
}

#[test]
fn a_key_never_gets_more_than_its_account() {
    let place = place();
    let (_, narrow) = wait(key_with(&place.engine, limits(r#"{"quota": 5000}"#)));
    assert_eq!(answer(&place.ask(&costing(request(&narrow), 1_000), NOW)), "200");
    let refused = place.ask(&request(&narrow), NOW);
    assert_eq!(refused_by(&refused), "quota");
    assert_eq!(used(&place, &narrow, "key.quota"), 1_000);
}

#[test]
fn the_limits_of_a_key_are_exact_under_concurrency_and_survive_a_crash() {
    let place = place();
    let (_, narrow) = wait(key_with(&place.engine, limits(r#"{"quota": 100}"#)));
    let admitted: usize = std::thread::scope(|scope| {
        let ask = || (0..50).filter(|_| place.engine.decide(&request(&narrow), NOW).is_admitted()).count();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 100);
    place.engine.spool().flush().unwrap();
    let crashed = place.crash(POLICY);
    assert_eq!(used(&crashed, &narrow, "key.quota"), 100);
    assert_eq!(answer(&crashed.ask(&request(&narrow), NOW)), "402 quota_exceeded");
}

#[test]
fn slots_and_true_costs_of_a_key_are_settled_with_those_of_the_account() {
    let place = place();
    let (_, narrow) = wait(key_with(&place.engine, limits(r#"{"concurrency": 1, "quota": 50}"#)));
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&narrow), 10) };
    let first = place.ask(&held, NOW).permit.unwrap();
    let refused = place.ask(&held, NOW);
    assert_eq!(refused_by(&refused), "key.concurrency");
    place.engine.finish(&first, Some(200), Some(4), NOW).unwrap();
    assert_eq!(used(&place, &narrow, "key.quota"), 4);
    // The same by the text that services have.
    let second = place.ask(&held, NOW).permit.unwrap();
    let text = place.engine.keep(second, NOW).unwrap().text;
    place.engine.finish_kept_here(&text, Some(200), Some(20), NOW).unwrap();
    assert_eq!(used(&place, &narrow, "key.quota"), 24);
    assert!(place.ask(&held, NOW).is_admitted());
}

#[test]
fn a_changed_limit_holds_for_the_next_request_and_keeps_what_was_used() {
    let place = place();
    let (record, narrow) = wait(key_with(&place.engine, limits(r#"{"quota": 2}"#)));
    assert!(place.ask(&costing(request(&narrow), 2), NOW).is_admitted());
    let change = |limits: Option<&str>| {
        let limits = limits.map(|text| KeyLimits::new(text).unwrap());
        let change = KeyUpdate { limits: Some(limits), ..KeyUpdate::default() };
        wait(place.engine.directory().update_key(record.id, change, &writer())).unwrap();
    };
    change(Some(r#"{"quota": 3}"#));
    assert!(place.ask(&request(&narrow), NOW).is_admitted());
    assert!(!place.ask(&request(&narrow), NOW).is_admitted());
    change(None);
    assert!(place.ask(&request(&narrow), NOW).is_admitted());
    // The tier of the account changes under it.
    change(Some(r#"{"quota": 6}"#));
    let tier = TierName::new("other").unwrap();
    wait(place.engine.directory().set_tier("acme", tier, &writer())).unwrap();
    assert!(place.ask(&costing(request(&narrow), 2), NOW).is_admitted());
    assert_eq!(answer(&place.ask(&costing(request(&narrow), 2), NOW)), "402 quota_exceeded");
}

#[test]
fn a_limit_over_a_route_that_is_gone_limits_nothing_and_the_others_hold() {
    let place = place();
    let exports = r#"{"limit": "1/minute", "algorithm": "fixed_window", "routes": ["export"]}"#;
    let text = format!("{{\"quota\": 9, \"limits\": {{\"exports\": {exports}}}}}");
    let (_, narrow) = wait(key_with(&place.engine, limits(&text)));
    let export = CallerRequest { path: "/export", ..request(&narrow) };
    assert!(place.ask(&export, NOW).is_admitted());
    let refused = place.ask(&export, NOW);
    assert_eq!(refused_by(&refused), "key.exports");
    assert!(place.ask(&request(&narrow), NOW).is_admitted());
    place.engine.reload(policy("tiers: {metered: {quota: 1_000}}")).unwrap();
    assert!(place.ask(&export, NOW).is_admitted());
    assert_eq!(used(&place, &narrow, "key.quota"), 3);
}

#[test]
fn limits_that_a_key_cannot_have_are_refused() {
    let place = place();
    let bad = |text: &str| {
        let checked = wait(place.engine.check_key_limits(&KeyLimits::new(text).unwrap(), "acme"));
        checked.unwrap_err().to_string()
    };
    assert!(bad("[]").contains("not an object"));
    assert!(bad(r#"{"bypass": true}"#).contains("\"bypass\""));
    assert!(bad(r#"{"quota": 5, "quota_pool": "account"}"#).contains("\"quota_pool\""));
    assert!(bad("{}").contains("cannot be used"));
    assert!(bad(r#"{"rate": 0}"#).contains("cannot be used"));
    let shared = r#"{"limits": {"a": {"limit": "1/minute", "algorithm": "fixed_window", "per": "account"}}}"#;
    assert!(bad(shared).contains("billed or shared"));
    let route =
        r#"{"limits": {"a": {"limit": "1/minute", "algorithm": "fixed_window", "routes": ["gone"]}}}"#;
    assert!(bad(route).contains("cannot be used"));
    let many: Vec<String> = (0..5)
        .map(|n| format!(r#""l{n}": {{"limit": "{}/{}m", "algorithm": "fixed_window"}}"#, n + 1, n + 1))
        .collect();
    assert!(bad(&format!("{{\"limits\": {{{}}}}}", many.join(","))).contains("more than 4"));
}

#[test]
fn a_key_is_refused_from_other_addresses_and_origins() {
    let place = place();
    let restrictions = KeyRestrictions {
        allowed_ips: AllowedIps::new(["192.0.2.0/24"]).unwrap(),
        allowed_origins: AllowedOrigins::new(["https://app.test"]).unwrap(),
        limits: None,
    };
    let (_, narrow) = wait(key_with(&place.engine, restrictions));
    let ask = |address: Option<&str>, origins: &[&str]| {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-api-key", narrow.parse().unwrap());
        for origin in origins {
            headers.append("origin", origin.parse().unwrap());
        }
        let address = address.map(|address| address.parse().unwrap());
        let asked = CallerRequest { credential: Credential::Headers(&headers), address, ..request("") };
        answer(&place.ask(&asked, NOW))
    };
    assert_eq!(ask(Some("192.0.2.9"), &["https://app.test"]), "200");
    assert_eq!(ask(Some("::ffff:192.0.2.9"), &["https://app.test"]), "200");
    assert_eq!(ask(Some("198.51.100.1"), &["https://app.test"]), "403 address_not_allowed");
    assert_eq!(ask(None, &["https://app.test"]), "403 address_not_allowed");
    assert_eq!(ask(Some("192.0.2.9"), &["https://evil.test"]), "403 origin_not_allowed");
    assert_eq!(ask(Some("192.0.2.9"), &[]), "403 origin_not_allowed");
    assert_eq!(ask(Some("192.0.2.9"), &["https://app.test", "https://evil.test"]), "403 origin_not_allowed");
    // Nothing was charged for those that were refused.
    assert_eq!(place.ledger_total(), 2);
}

#[test]
fn the_last_use_of_a_key_is_kept_by_the_minute_and_over_restarts() {
    let place = place();
    let (caller, idle) = (place.key("acme", &[]), place.key("acme", &[]));
    let serial = |place: &Place, id| wait(place.engine.directory().find_key(id)).unwrap().unwrap().serial;
    let serials = [serial(&place, caller.id), serial(&place, idle.id)];
    assert_eq!(wait(place.engine.directory().last_used(&serials)).unwrap(), [None, None]);
    place.get(&caller, "/", at(61));
    place.get(&caller, "/", at(119));
    assert_eq!(wait(place.engine.directory().last_used(&serials)).unwrap(), [Some(at(60)), None]);
    let peek = CallerRequest { purpose: Purpose::Peek, ..request(&idle.key) };
    place.ask(&peek, at(200));
    assert_eq!(wait(place.engine.directory().last_used(&serials)).unwrap(), [Some(at(60)), None]);
    let again = place.restart(POLICY);
    again.get(&caller, "/", at(3_601));
    assert_eq!(wait(again.engine.directory().last_used(&serials)).unwrap(), [Some(at(3_600)), None]);
}

async fn nodes(count: usize) -> (RedisServer, Vec<(Arc<Engine>, tempfile::TempDir)>) {
    let redis = RedisServer::new(Kind::Redis);
    let mut nodes = Vec::new();
    for _ in 0..count {
        let dir = tempfile::tempdir().unwrap();
        let engine = shared_place::node(POLICY, &redis.url(), Duration::from_secs(10), &dir).await;
        tokio::spawn({
            let engine = Arc::clone(&engine);
            async move { engine.keep_journal().await }
        });
        nodes.push((engine, dir));
    }
    (redis, nodes)
}

#[test]
fn nodes_that_share_a_store_admit_a_key_its_limits_together_and_learn_of_changes() {
    let work = async {
        let (_redis, nodes) = nodes(2).await;
        let (one, two) = (&nodes[0].0, &nodes[1].0);
        shared_place::customer(one).await;
        let (record, narrow) = key_with(one, limits(r#"{"quota": 40}"#)).await;
        let mut asks = Vec::new();
        for turn in 0..80 {
            let engine = Arc::clone(if turn % 2 == 0 { one } else { two });
            let key = narrow.clone();
            asks.push(tokio::spawn(async move {
                engine.decided(&request(&key), engine.now()).await.is_admitted()
            }));
        }
        let mut admitted = 0;
        for ask in asks {
            admitted += usize::from(ask.await.unwrap());
        }
        assert_eq!(admitted, 40);
        let refused = two.decided(&request(&narrow), two.now()).await;
        assert_eq!(refused_by(&refused), "key.quota");
        // A change at one node reaches the other within a second.
        let more = KeyUpdate {
            limits: Some(Some(KeyLimits::new(r#"{"quota": 41}"#).unwrap())),
            ..KeyUpdate::default()
        };
        one.directory().update_key(record.id, more, &writer()).await.unwrap();
        let mut reached = false;
        for _ in 0..50 {
            reached = reached || two.decided(&request(&narrow), two.now()).await.is_admitted();
            // Between two looks at what a real server and the tasks of the node do.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(reached);
        // Both have seen it used; it is one minute for both.
        two.directory().flush_used().await.unwrap();
        assert!(one.directory().last_used(&[record.serial]).await.unwrap()[0].is_some());
    };
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work);
}

#[test]
fn a_node_that_never_saw_a_key_frees_its_slot_and_settles_its_true_cost() {
    let work = async {
        let (_redis, nodes) = nodes(2).await;
        let (one, two) = (&nodes[0].0, &nodes[1].0);
        shared_place::customer(one).await;
        let (_, narrow) = key_with(one, limits(r#"{"concurrency": 1, "quota": 50}"#)).await;
        let held = CallerRequest { hold: Hold::Yes, ..costing(request(&narrow), 10) };
        let permit = one.decided(&held, one.now()).await.permit.unwrap();
        assert!(!one.decided(&held, one.now()).await.is_admitted());
        let text = one.keep(permit, one.now()).unwrap().text;
        two.finish_kept(&text, Some(200), Some(4), two.now()).await.unwrap();
        let mut settled = false;
        for _ in 0..250 {
            let decision = one.decided(&CallerRequest { purpose: Purpose::Peek, ..held }, one.now()).await;
            let quota = decision.limits.iter().find(|now| now.name.as_str() == "key.quota").unwrap().used;
            settled = settled || (decision.is_admitted() && quota == 4);
            // Between two looks at what a real server and the tasks of the node do.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(settled);
    };
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work);
}
