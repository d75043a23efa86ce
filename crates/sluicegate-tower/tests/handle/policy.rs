//! The policy of a running Sluicegate.

use std::time::Duration;

use sluicegate_tower::{Sluicegate, WatchError};

use crate::{app, send};

const TIGHT: &str = "{identity: {anonymous: free}, tiers: {free: {rate: 1/hour, burst: 1}}}";
const WIDE: &str = "{identity: {anonymous: free}, tiers: {free: {rate: 1000, burst: 1000}}}";

#[tokio::test]
async fn a_reload_applies_to_the_next_request_and_one_with_mistakes_changes_nothing() {
    let gate = Sluicegate::in_memory(TIGHT).await.unwrap();
    let app = app(gate.layer());
    assert_eq!(send(&app, None).await.status(), 200);
    assert_eq!(send(&app, None).await.status(), 429);
    let error = gate.reload("{tiers: {free: {rate: ten}}}").unwrap_err();
    assert!(error.to_string().contains("policy:1:"), "{error}");
    assert_eq!(send(&app, None).await.status(), 429);
    let version = gate.reload(WIDE).unwrap();
    assert_eq!(send(&app, None).await.status(), 200);
    assert_eq!(gate.reload(WIDE).unwrap(), version, "the same text again is no change");
    assert!(matches!(gate.watch(), Err(WatchError::NoFile)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_file_is_put_in_force_when_it_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, TIGHT).unwrap();
    let gate = Sluicegate::open(&file).data_dir(folder.path().join("data")).await.unwrap();
    gate.watch().unwrap();
    let app = app(gate.layer());
    assert_eq!(send(&app, None).await.status(), 200);
    assert_eq!(send(&app, None).await.status(), 429);
    // The handle is dropped, the layer goes on watching.
    drop(gate);
    std::fs::write(&file, WIDE).unwrap();
    let changed = async {
        while send(&app, None).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), changed).await.unwrap();
}
