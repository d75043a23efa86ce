//! What goes wrong, as a `main` that returns it shows it.

use std::error::Error as _;
use std::future::{Future as _, IntoFuture as _};

use sluicegate_tower::error::DataDirError;
use sluicegate_tower::{OpenError, Sluicegate};

const POLICY: &str = "{tiers: {free: {rate: 1}}}";

#[tokio::test]
async fn a_mistake_in_the_policy_is_shown_with_its_line_and_caret_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (file, dir) = (folder.path().join("policy.yaml"), folder.path().join("data"));
    std::fs::write(&file, "tiers:\n  free:\n    rate: 10\n    brust: 20\n").unwrap();
    let error = Sluicegate::open(&file).data_dir(&dir).await.unwrap_err();
    let shown = format!("{error:?}");
    assert!(shown.contains("policy.yaml:4:5: error: unknown key `brust`"), "{shown}");
    assert!(shown.contains("    brust: 20\n") && shown.contains("^^^^^"), "{shown}");
    assert_eq!(shown, error.to_string());
    assert!(!dir.exists());
}

#[tokio::test]
async fn a_file_that_is_missing_is_named_with_its_cause() {
    let error = Sluicegate::open("no/such/policy.yaml").await.unwrap_err();
    assert!(error.to_string().starts_with("cannot read the policy no/such/policy.yaml: "), "{error}");
    assert!(error.source().unwrap().is::<std::io::Error>());
}

#[tokio::test]
async fn a_directory_that_is_open_says_by_whom() {
    let folder = tempfile::tempdir().unwrap();
    let _open = Sluicegate::in_memory(POLICY).data_dir(folder.path()).await.unwrap();
    let error = Sluicegate::in_memory(POLICY).data_dir(folder.path()).await.unwrap_err();
    assert!(matches!(&error, OpenError::DataDir(DataDirError::Busy(..))), "{error}");
    assert!(error.to_string().contains("already open in this process"), "{error}");
}

#[cfg(not(feature = "export"))]
#[tokio::test]
async fn settings_that_need_a_missing_feature_are_refused_and_not_ignored() {
    for (policy, feature) in [
        ("{tiers: {free: {rate: 1}}, ledger: {export: 'file:///tmp/x'}}", "export"),
        ("{tiers: {free: {rate: 1}}, alerts: {webhook: 'https://a.example/x'}}", "tls"),
        ("{tiers: {free: {rate: 1}}, store: 'redis://127.0.0.1:1'}", "redis"),
    ] {
        let error = Sluicegate::in_memory(policy).await.unwrap_err().to_string();
        assert!(error.contains(&format!("without the feature `{feature}`")), "{error}");
    }
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let error = gate.reload("{tiers: {free: {rate: 1}}, ledger: {export: 'file:///tmp/x'}}").unwrap_err();
    assert!(error.to_string().contains("without the feature `export`"), "{error}");
}

#[test]
fn without_a_runtime_it_says_so() {
    let opening = Sluicegate::in_memory(POLICY).into_future();
    let mut opening = std::pin::pin!(opening);
    let waker = std::task::Waker::noop();
    let opened = opening.as_mut().poll(&mut std::task::Context::from_waker(waker));
    let std::task::Poll::Ready(Err(error)) = opened else { panic!("it did not fail at once") };
    assert_eq!(error.to_string(), "there is no tokio runtime here: call this from an async main");
}
