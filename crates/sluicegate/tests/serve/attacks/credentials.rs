//! Attacks on the RESP port and on ports with certificates.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::redis::Client;
use sluicegate_testkit::wait;

use super::tokens::{launch_with_decision, token};
use crate::bed::Bed;
use crate::nodes::Nodes;

const PATIENCE: Duration = Duration::from_secs(20);
const PLANS: &str = "tiers: {free: {rate: 1000, burst: 1000, quota: 1_000}}";

fn ask(client: &mut Client, words: &[&str]) -> String {
    client.ask(words).unwrap().text()
}

#[test]
fn attack_66_resp_needs_a_token_and_naming_a_foreign_account_a_permission() {
    let policy = format!("server: {{decision_auth: token}}\n{PLANS}");
    let bed = Bed::start_with(&policy, |launch| launch.arg("--resp").arg("127.0.0.1:0"));
    let key = bed.customer("acme", "free");
    let (_, vouching) = token(&bed, &json!({"name": "batch", "role": "decide", "may": ["vouch"]}));
    let (id, plain) = token(&bed, &json!({"name": "limiter", "role": "decide"}));
    let (_, reader) = token(&bed, &json!({"name": "anna", "role": "read"}));
    let mut client = Client::connect(bed.server.resp(), PATIENCE).unwrap();
    assert!(ask(&mut client, &["SLUICEGATE.CHECK", "KEY", &key]).starts_with("NOAUTH"));
    for wrong in [&["AUTH", "default", "any"][..], &["AUTH", &reader], &["AUTH", "batch", &plain]] {
        assert!(ask(&mut client, wrong).starts_with("WRONGPASS"), "{wrong:?}");
    }
    assert_eq!(ask(&mut client, &["AUTH", "limiter", &plain]), "OK");
    assert!(!client.ask(&["SLUICEGATE.CHECK", "KEY", &key]).unwrap().list().is_empty());
    assert!(ask(&mut client, &["SLUICEGATE.CHECK", "ACCOUNT", "acme"]).starts_with("NOPERM"));
    let mut other = Client::connect(bed.server.resp(), PATIENCE).unwrap();
    assert_eq!(ask(&mut other, &["AUTH", &vouching]), "OK");
    assert!(!other.ask(&["SLUICEGATE.CHECK", "ACCOUNT", "acme"]).unwrap().list().is_empty());
    assert_eq!(bed.used("acme", "quota"), 2);
    // A connection ends with the token that opened it.
    assert_eq!(bed.admin(Asked::new("DELETE", &format!("/admin/v1/tokens/{id}"))).status, 204);
    assert!(ask(&mut client, &["SLUICEGATE.CHECK", "KEY", &key]).starts_with("NOAUTH"));
}

#[test]
fn attack_67_a_revoked_token_opens_no_node_that_shares_the_store() {
    let nodes = Nodes::start(PLANS, 2);
    let (first, second) = (&nodes.nodes[0], &nodes.nodes[1]);
    let (id, made) = token(first, &json!({"name": "anna", "role": "read"}));
    let status = |bed: &Bed| {
        let asked = Asked::get("/admin/v1/tiers").header("Authorization", &format!("Bearer {made}"));
        sluicegate_testkit::http::Caller::new(bed.server.admin()).send(&asked).unwrap().status
    };
    assert_eq!(status(first), 200);
    wait::within(Duration::from_secs(2), "the other node knows the token", || {
        (status(second) == 200).then_some(())
    });
    assert_eq!(second.admin(Asked::new("DELETE", &format!("/admin/v1/tokens/{id}"))).status, 204);
    assert_eq!(status(second), 401);
    wait::within(Duration::from_secs(2), "the first node refuses it", || {
        (status(first) == 401).then_some(())
    });
    let audit = first.get("/admin/v1/audit");
    let actions: Vec<_> =
        audit["items"].as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions[..2], [json!("token.revoke"), json!("token.create")]);
}

/// A certificate of its own making, as files and as it is.
fn certificate(folder: &Path, name: &str) -> CertifiedKey<KeyPair> {
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join(format!("{name}.pem")), made.cert.pem()).unwrap();
    fs::write(folder.join(format!("{name}.key")), made.signing_key.serialize_pem()).unwrap();
    made
}

/// Sends a request over TLS, and gives what comes back; nothing if the handshake fails.
fn over_tls(
    address: SocketAddr,
    server: &CertifiedKey<KeyPair>,
    own: Option<&CertifiedKey<KeyPair>>,
    request: &str,
) -> Option<String> {
    let mut roots = RootCertStore::empty();
    roots.add(server.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let config = match own {
        None => config.with_no_client_auth(),
        Some(own) => {
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
            config.with_client_auth_cert(vec![own.cert.der().clone()], key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..length]);
        if answer.ends_with(b"}") || answer.starts_with(b"+") {
            break;
        }
    }
    (!answer.is_empty()).then(|| String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn attack_68_ports_with_client_certificates_answer_nobody_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let made = ["server", "client", "stranger"].map(|name| certificate(folder.path(), name));
    let [server, client, stranger] = &made;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let tls = format!(
        "{{cert: {}, key: {}, client_ca: {}}}",
        file("server.pem"),
        file("server.key"),
        file("client.pem")
    );
    let policy = format!("server: {{decision_tls: {tls}, admin_tls: {tls}, resp_tls: {tls}}}\n{PLANS}");
    let data = tempfile::tempdir().unwrap();
    // Off loopback: the certificate is the credential.
    let launch = launch_with_decision(data.path(), "0.0.0.0:0").policy(&policy);
    let running = launch.arg("--resp").arg("127.0.0.1:0").start();
    let decision: SocketAddr = ([127, 0, 0, 1], running.decision().port()).into();
    let body = "{\"key\":\"x\"}";
    let check = format!(
        "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let tiers = "GET /admin/v1/tiers HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (address, request, expected) in [
        (decision, check.as_str(), "HTTP/1.1 200"),
        (running.admin(), tiers, "HTTP/1.1 401"),
        (running.resp(), "*1\r\n$4\r\nPING\r\n", "+PONG"),
    ] {
        let answer = over_tls(address, server, Some(client), request).unwrap();
        assert!(answer.starts_with(expected), "{answer}");
        assert_eq!(over_tls(address, server, None, request), None, "no certificate");
        assert_eq!(over_tls(address, server, Some(stranger), request), None, "another authority's");
    }
}
