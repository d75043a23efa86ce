//! An open Sluicegate that decides leaves JSON and the crypto provider of the application as they are.

use sluicegate_tower::Sluicegate;

const POLICY: &str = "{identity: {anonymous: free}, tiers: {free: {rate: 1/minute, burst: 2}}}";

/// With `preserve_order` of serde_json, which any crate can enable for all of them, it would be `b` first.
const SORTED: &str = r#"{"a":2,"b":1}"#;

#[tokio::test]
async fn json_keeps_the_order_of_the_application() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let application = host::application(&gate);
    for _ in 0..2 {
        assert_eq!(host::call(&application, None).await, (200.try_into().unwrap(), SORTED.to_owned()));
    }
    assert_eq!(host::call(&application, None).await.0, 429);
    assert_eq!(host::document().to_string(), SORTED);
}

/// With two providers in the program, rustls panics here.
#[tokio::test]
async fn rustls_finds_the_only_provider_without_an_installed_one() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let application = host::application(&gate);
    assert_eq!(host::call(&application, None).await.0, 200);

    let roots = rustls::RootCertStore::empty();
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let ring = rustls::crypto::ring::default_provider();
    let names = |provider: &rustls::crypto::CryptoProvider| {
        provider.cipher_suites.iter().map(|suite| format!("{suite:?}")).collect::<Vec<_>>()
    };
    assert_eq!(names(config.crypto_provider()), names(&ring));
    assert_eq!(host::call(&application, None).await.0, 200);
}
