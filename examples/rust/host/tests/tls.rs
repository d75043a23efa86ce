//! With the feature `tls`, Sluicegate connects with the crypto provider that the application has installed.

use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring};
use sluicegate_tower::Sluicegate;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

/// Nothing here takes this long unless it is stuck.
const STUCK: Duration = Duration::from_secs(60);

/// The first byte of a TLS connection: the record type of a handshake.
const HANDSHAKE: u8 = 22;

/// The random numbers of ring, counted. Only the installed provider has them.
#[derive(Debug)]
struct Counted;

static USES: AtomicUsize = AtomicUsize::new(0);

impl SecureRandom for Counted {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        USES.fetch_add(1, Ordering::SeqCst);
        ring::default_provider().secure_random.fill(buffer)
    }
}

#[tokio::test]
async fn a_webhook_over_https_uses_the_provider_of_the_application() {
    CryptoProvider { secure_random: &Counted, ..ring::default_provider() }.install_default().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());

    // Half of this quota is one request, and that is an alert.
    let policy = format!("{{alerts: {{webhook: \"{url}\"}}, tiers: {{pro: {{rate: 10, quota: 2}}}}}}");
    let gate = Sluicegate::in_memory(policy).await.unwrap();
    gate.accounts().ensure("acme", "pro").await.unwrap();
    let (_, key) = gate.accounts().create_key("acme", "production").await.unwrap();
    assert_eq!(host::call(&host::application(&gate), Some(key.expose())).await.0, 200);

    let connected = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap()
    };
    assert_eq!(tokio::time::timeout(STUCK, connected).await.unwrap(), HANDSHAKE);
    assert!(USES.load(Ordering::SeqCst) > 0, "another provider made the handshake");
    gate.shutdown().await.unwrap();
}
