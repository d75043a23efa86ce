//! A server that speaks TLS only.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use sluicegate_testkit::redis::{Client, Engine, RedisLaunch};

#[test]
fn it_answers_those_who_believe_its_certificate() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let launch = RedisLaunch::new(Engine::Redis).tls(&made.cert.pem(), &made.signing_key.serialize_pem());
    let server = launch.password("secret").start();
    assert_eq!(server.url(), format!("rediss://{}", server.address()));

    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let session =
        ClientConnection::new(Arc::new(config), ServerName::try_from("127.0.0.1").unwrap()).unwrap();
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut client = Client::over(StreamOwned::new(session, stream));
    assert_eq!(client.ask(&["AUTH", "secret"]).unwrap().text(), "OK");
    assert_eq!(client.ask(&["PING"]).unwrap().text(), "PONG");

    let mut bare = Client::connect(server.address(), Duration::from_secs(20)).unwrap();
    assert!(bare.ask(&["PING"]).is_err(), "without TLS there is no answer");
}
