//! Usage goes to object storage from a library as it does from the server.

use std::path::Path;
use std::time::Duration;

use sluicegate_core::file;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Answer, CallerRequest, Clock, Credential, Embedded, Front, Hold, Purpose};
use sluicegate_testkit::wait;
use sluicegate_tower::Sluicegate;

const SECRET: &str = "a secret of tests";

#[tokio::test(flavor = "multi_thread")]
async fn closed_hours_are_exported_by_the_background_work_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("data"), folder.path().join("export"));
    use_some(&data);
    let policy = format!(
        "{{identity: {{anonymous: free}}, tiers: {{free: {{rate: 10}}}}, ledger: {{export: 'file://{}'}}}}",
        out.display()
    );
    let gate = Sluicegate::in_memory(policy).data_dir(&data).secret(SECRET).await.unwrap();
    let exported = tokio::task::spawn_blocking(move || {
        wait::within(Duration::from_secs(60), "the file of the hour", || find_parquet(&out));
    });
    exported.await.unwrap();
    drop(gate);
}

/// A request of some days ago: its hour is over.
fn use_some(data: &Path) {
    std::fs::create_dir_all(data).unwrap();
    let policy = file::read(b"{identity: {anonymous: free}, tiers: {free: {rate: 10}}}").unwrap().policy;
    let past = Timestamp::from_secs(1_791_201_600);
    let embedded =
        Embedded { clock: |_| Clock::fixed(Timestamp::from_secs(1_791_201_600)), ..Embedded::new(policy) };
    let (engine, _) = embedded.open(data, SECRET.as_bytes(), |_| ()).unwrap();
    let headers = http::HeaderMap::new();
    let request = CallerRequest {
        credential: Credential::Nothing { headers: &headers },
        address: None,
        method: "GET",
        path: "/",
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Middleware,
    };
    assert!(matches!(engine.decide(&request, past).answer, Answer::Admitted));
    engine.save(past).unwrap();
    engine.spool().flush().unwrap();
}

fn find_parquet(folder: &Path) -> Option<()> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            return find_parquet(&path);
        }
        path.extension().is_some_and(|extension| extension == "parquet").then_some(())
    })
}
