//! An engine that keeps itself in order, over a directory and the text of a policy.

use std::os::unix::fs::PermissionsExt as _;

use http::HeaderMap;
use tollgate_engine::identify::credential;
use tollgate_engine::{CallerRequest, Embedded, EmbeddedError, Engine, Front, Hold, Kept, Purpose};

const POLICY: &str = "tiers: {pro: {rate: 100, burst: 100, quota: 10}}";

/// What is left of the quota after one more request with this key.
fn left_after(engine: &Engine, key: &str) -> Option<u64> {
    let headers = HeaderMap::from_iter([("x-api-key".parse().unwrap(), key.parse().unwrap())]);
    let policy = engine.policy();
    let request = CallerRequest {
        credential: credential(&policy.policy().identity, &headers),
        address: None,
        method: "GET",
        path: "/",
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Middleware,
    };
    let decision = engine.decide(&request, engine.now());
    decision.limits.iter().find(|limit| limit.name.as_str() == "quota").map(|limit| limit.remaining)
}

fn keep(dir: &std::path::Path) -> Kept {
    Embedded::read(POLICY).unwrap().keep(dir).unwrap()
}

#[tokio::test]
async fn what_was_used_and_who_may_is_there_after_the_next_start() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("made/for/it");
    let kept = keep(&dir);
    let key = kept.key_for("acme", "pro").await.unwrap();
    assert_eq!(left_after(&kept.engine(), key.expose()), Some(9));
    assert_eq!(std::fs::metadata(dir.join("secret")).unwrap().permissions().mode() & 0o777, 0o600);
    drop(kept);
    let kept = keep(&dir);
    assert_eq!(left_after(&kept.engine(), key.expose()), Some(8));
    // A second key of the same account has the same quota.
    let second = kept.key_for("acme", "pro").await.unwrap();
    assert_eq!(left_after(&kept.engine(), second.expose()), Some(7));
    assert_eq!(left_after(&kept.engine(), "tg_live_nobody"), None);
}

#[tokio::test]
async fn two_at_a_time_are_refused_and_so_is_a_secret_that_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let kept = keep(dir.path());
    let second = Embedded::read(POLICY).unwrap().keep(dir.path()).unwrap_err();
    assert!(matches!(second, EmbeddedError::Database(_)), "{second}");
    drop(kept);
    std::fs::write(dir.path().join("secret"), "\n").unwrap();
    let empty = Embedded::read(POLICY).unwrap().keep(dir.path()).unwrap_err();
    assert!(empty.to_string().ends_with("is empty: remove it, and a new secret is made"), "{empty}");
}

#[tokio::test]
async fn a_tier_that_is_not_defined_has_no_keys() {
    let dir = tempfile::tempdir().unwrap();
    let refused = keep(dir.path()).key_for("acme", "gold").await.unwrap_err();
    assert_eq!(refused.to_string(), "tier gold is not defined in the policy");
}

#[test]
fn what_is_wrong_with_a_policy_is_shown_with_its_place() {
    let refused = Embedded::read("tiers:\n  pro: {rte: 1}\n").unwrap_err().to_string();
    assert!(refused.starts_with("policy:2:9: error: unknown key `rte`\n"), "{refused}");
    assert!(refused.ends_with("did you mean `rate`?"), "{refused}");
    let shared = Embedded::read("{store: 'redis://127.0.0.1', tiers: {pro: {rate: 1}}}").unwrap_err();
    assert!(matches!(shared, EmbeddedError::Shared), "{shared}");
    let dir = tempfile::tempdir().unwrap();
    let nowhere = Embedded::read(POLICY).unwrap().keep(dir.path()).unwrap_err();
    assert!(matches!(nowhere, EmbeddedError::NoRuntime), "{nowhere}");
}
