//! Servers with https://: believed if the system believes them, and only then.

use std::fs;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::run::{Ended, command, ended};
use crate::stub::{self, Stub};

/// A server with a certificate of its own making, and that certificate as a file holds it.
fn server() -> (Stub, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let pem = made.cert.pem();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let wrap = move |stream| StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
    (Stub::over("https", &[&stub::json("{\"ready\":true}")], wrap), pem)
}

fn ready(url: &str, believed: &str) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("believed.pem");
    fs::write(&file, believed).unwrap();
    let mut ready = command(&["ready", "--admin-url", url]);
    ready.env("SSL_CERT_FILE", &file).env_remove("SSL_CERT_DIR");
    ended(ready)
}

#[test]
fn a_server_that_the_system_believes_is_asked_over_tls() {
    let (stub, pem) = server();
    let ended = ready(&format!("{}/gate/", stub.url()), &pem);
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "ready\n"), "{ended:?}");
    assert_eq!(stub.asked(), ["GET /gate/ready HTTP/1.1"]);
}

#[test]
fn a_server_that_nobody_believes_is_told_nothing() {
    let (stub, _) = server();
    let (_, of_another) = server();
    let ended = ready(stub.url(), &of_another);
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.contains("invalid peer certificate"), "{ended:?}");
    assert!(stub.asked().iter().all(String::is_empty));
}
