//! Stores that are reached over TLS and with passwords. Those of clusters and sentinels are in `failover.rs`.

use std::fs;

use serde_json::json;
use sluicegate_testkit::redis::{Engine, RedisLaunch};

use crate::nodes::{launch, node_with};

const POLICY: &str = "tiers: {pro: {rate: 1_000, quota: 1_000}}";

#[test]
fn a_store_over_tls_with_a_password_is_used_by_those_who_trust_it_and_know_it() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let launched = RedisLaunch::new(Engine::Redis).tls(&made.cert.pem(), &made.signing_key.serialize_pem());
    let server = launched.password("secret").start();
    assert!(server.url().starts_with("rediss://"));
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("trusted.pem");
    fs::write(&trusted, made.cert.pem()).unwrap();

    let bed = node_with(POLICY, &server.url(), |launch| {
        launch.variable("SSL_CERT_FILE", &trusted).variable("SLUICEGATE_REDIS_PASSWORD", "secret")
    });
    let key = bed.customer("acme", "pro");
    let answer = bed.check(&json!({"key": key})).json();
    assert_eq!((&answer["allowed"], &answer["mode"]), (&json!(true), &json!("normal")), "{answer}");
    assert!(!bed.server.said().contains("secret"), "{}", bed.server.said());

    for (variable, value, why) in [
        ("SSL_CERT_FILE", trusted.to_str().unwrap(), "NOAUTH"),
        ("SLUICEGATE_REDIS_PASSWORD", "secret", "certificate"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ended = launch(POLICY, &server.url(), folder.path()).variable(variable, value).run();
        assert_eq!(ended.status, Some(1), "{ended:?}");
        assert!(ended.said.contains(why) && !ended.said.contains("secret"), "{ended:?}");
    }
}
