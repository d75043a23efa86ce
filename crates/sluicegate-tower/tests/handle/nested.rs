//! Two layers of one Sluicegate around one service.

use axum::Router;
use axum::routing::get;
use sluicegate_tower::Sluicegate;

use crate::send;

const POLICY: &str = "{tiers: {free: {rate: 100, quota: 3}}}";

#[tokio::test]
async fn nested_layers_of_one_sluicegate_charge_once() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let key = key_of(&gate).await;
    let inner = Router::new().route("/", get(async || "hello")).layer(gate.layer());
    let app = inner.layer(gate.layer());
    for left in ["2", "1", "0"] {
        let answer = send(&app, Some(&key)).await;
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["X-Quota-Remaining"].to_str().unwrap()),
            (200, left)
        );
        assert_eq!(answer.headers().get_all("X-Quota-Remaining").iter().count(), 1);
    }
    assert_eq!(send(&app, Some(&key)).await.status(), 402);
}

#[tokio::test]
async fn layers_of_two_sluicegates_both_decide() {
    let (one, other) =
        (Sluicegate::in_memory(POLICY).await.unwrap(), Sluicegate::in_memory(POLICY).await.unwrap());
    let key = key_of(&one).await;
    let inner = Router::new().route("/", get(async || "hello")).layer(other.layer());
    // The inner one does not know the key of the outer one.
    assert_eq!(send(&inner.layer(one.layer()), Some(&key)).await.status(), 403);
}

async fn key_of(gate: &Sluicegate) -> String {
    gate.accounts().ensure("acme", "free").await.unwrap();
    let (_, key) = gate.accounts().create_key("acme", "main").await.unwrap();
    key.expose().to_owned()
}
