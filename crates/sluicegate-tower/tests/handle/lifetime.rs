//! Background work goes on for as long as anything decides, and everything is on disk in the end.

use std::time::Duration;

use sluicegate_tower::Sluicegate;

use crate::{app, send};

/// Background work comes round every second or two.
const STUCK: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_keeps_the_background_work_going_when_its_handle_is_dropped() {
    let (receiver, url) = webhook().await;
    let policy = format!("{{tiers: {{free: {{rate: 1000, quota: 10}}}}, alerts: {{webhook: '{url}'}}}}");
    let gate = Sluicegate::in_memory(policy).await.unwrap();
    gate.accounts().ensure("acme", "free").await.unwrap();
    let ensured = gate.accounts().ensure_key("acme", "main").await.unwrap();
    let key = ensured.created().unwrap().expose().to_owned();
    let app = app(gate.layer());
    drop(gate);
    for _ in 0..6 {
        assert_eq!(send(&app, Some(&key)).await.status(), 200);
    }
    // Half of the quota is used: that is noticed, put on the list and delivered by the work in the background alone.
    let delivered = tokio::time::timeout(STUCK, receiver).await.unwrap().unwrap();
    assert!(delivered.contains("\"type\":\"quota.threshold\""), "{delivered}");
    assert!(delivered.contains("\"account\":\"acme\""), "{delivered}");
}

#[tokio::test]
async fn files_of_a_sluicegate_in_memory_go_with_its_last_layer() {
    let gate = Sluicegate::in_memory("{tiers: {free: {rate: 1}}}").await.unwrap();
    let shown = format!("{gate:?}");
    let dir = shown.split('"').nth(1).unwrap().to_owned();
    let layer = gate.layer();
    drop(gate);
    assert!(std::path::Path::new(&dir).exists());
    drop(layer);
    assert!(!std::path::Path::new(&dir).exists(), "{dir}");
}

/// The body of the first message that is sent to a new URL.
async fn webhook() -> (tokio::sync::oneshot::Receiver<String>, String) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = std::sync::Arc::new(parking_lot::Mutex::new(Some(sender)));
    let receive = axum::routing::post(move |body: String| async move {
        if let Some(sender) = sender.lock().take() {
            let _ = sender.send(body);
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/alerts", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/alerts", receive);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (receiver, url)
}
