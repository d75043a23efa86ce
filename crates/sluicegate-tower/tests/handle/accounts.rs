//! Accounts and keys.

use std::time::{Duration, SystemTime};

use sluicegate_tower::{AccountError, EnsuredKey, KeyEnv, NewKey, Sluicegate};

use crate::{app, send};

const POLICY: &str = "{tiers: {free: {rate: 100, quota: 2}, pro: {rate: 100, quota: 1_000}}}";

#[tokio::test]
async fn a_key_is_ensured_once_over_all_starts() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("data");
    let text = {
        let gate = Sluicegate::in_memory(POLICY).data_dir(&dir).await.unwrap();
        gate.accounts().ensure("acme", "free").await.unwrap();
        let ensured = gate.accounts().ensure_key("acme", "production").await.unwrap();
        let text = ensured.created().unwrap().expose().to_owned();
        gate.shutdown().await.unwrap();
        text
    };
    for _ in 0..2 {
        let gate = Sluicegate::in_memory(POLICY).data_dir(&dir).await.unwrap();
        let ensured = gate.accounts().ensure_key("acme", "production").await.unwrap();
        assert!(matches!(&ensured, EnsuredKey::Existing(key) if key.name == "production"), "{ensured:?}");
        assert_eq!(gate.accounts().keys("acme").await.unwrap().len(), 1);
        assert_eq!(send(&app(gate.layer()), Some(&text)).await.status(), 200);
    }
    // Two starts with one request each: the quota of two is spent, whatever was dropped in between.
    let gate = Sluicegate::in_memory(POLICY).data_dir(&dir).await.unwrap();
    assert_eq!(send(&app(gate.layer()), Some(&text)).await.status(), 402);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_ensured_once_by_many_at_a_time_and_under_a_name_with_blanks() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    gate.accounts().ensure("acme", "free").await.unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.accounts().ensure_key("acme", " production ").await.unwrap() })
        })
        .collect();
    let mut created = 0;
    for task in tasks {
        created += usize::from(task.await.unwrap().created().is_some());
    }
    assert_eq!((created, gate.accounts().keys("acme").await.unwrap().len()), (1, 1));
}

#[tokio::test]
async fn an_account_keeps_its_tier_when_it_is_ensured_again() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let accounts = gate.accounts();
    assert_eq!(accounts.ensure("acme", "free").await.unwrap().tier, "free");
    assert_eq!(accounts.set_tier("acme", "pro").await.unwrap().tier, "pro");
    assert_eq!(accounts.ensure("acme", "free").await.unwrap().tier, "pro");
    assert_eq!(accounts.find("acme").await.unwrap().unwrap().tier, "pro");
    accounts.delete("acme").await.unwrap();
    assert!(accounts.find("acme").await.unwrap().is_none());
}

#[tokio::test]
async fn keys_are_created_rotated_and_revoked() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let (accounts, app) = (gate.accounts(), app(gate.layer()));
    accounts.ensure("acme", "pro").await.unwrap();
    let in_an_hour = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    let new = NewKey::named("ci").test().scopes(["read"]).expires_at(in_an_hour);
    let (key, first) = accounts.create_key("acme", new).await.unwrap();
    assert_eq!((key.env, key.scopes.as_slice()), (KeyEnv::Test, &["read".to_owned()][..]));
    assert_eq!(key.expires_at, Some(in_an_hour));
    assert!(first.expose().starts_with("sg_test_"));
    assert_eq!(format!("{first:?}"), "ApiKey(***)");
    assert_eq!(send(&app, Some(first.expose())).await.status(), 200);

    let (_, second) = accounts.rotate_key(&key.id, Duration::ZERO).await.unwrap();
    assert_eq!(send(&app, Some(first.expose())).await.status(), 403);
    assert_eq!(send(&app, Some(second.expose())).await.status(), 200);

    assert!(accounts.revoke_key(&key.id).await.unwrap().revoked_at.is_some());
    assert_eq!(send(&app, Some(second.expose())).await.status(), 403);
    // A revoked key does not count as one that is there.
    assert!(accounts.ensure_key("acme", "ci").await.unwrap().created().is_some());
}

#[tokio::test]
async fn what_does_not_exist_is_named() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let accounts = gate.accounts();
    let error = accounts.ensure("acme", "gold").await.unwrap_err();
    assert_eq!(error.to_string(), "the policy has no tier `gold`; it has free, pro");
    let error = accounts.create_key("nobody", "x").await.unwrap_err();
    assert!(matches!(&error, AccountError::NoAccount(id) if id == "nobody"), "{error}");
    assert!(matches!(accounts.ensure_key("nobody", "x").await, Err(AccountError::NoAccount(_))));
    assert!(matches!(accounts.revoke_key("nonsense").await, Err(AccountError::NoKey(_))));
    assert!(matches!(accounts.ensure("no spaces here", "free").await, Err(AccountError::Invalid(_))));
}
