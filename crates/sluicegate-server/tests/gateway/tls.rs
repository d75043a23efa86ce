//! TLS on either side.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use sluicegate_core::policy::{ServerSettings, TlsFiles};
use sluicegate_server::gateway::UpstreamTarget;
use sluicegate_server::listen::{Listener, ServeSettings, Shutdown, TlsCell, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::bed::{ResponseFuture, Setup, at, body, bytes, get, say, status, target, upstream};

/// Writes a new certificate for `localhost` and its key.
fn write_certificate(directory: &Path) -> (TlsFiles, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files =
        TlsFiles { cert: directory.join("cert.pem"), key: directory.join("key.pem"), client_ca: None };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    (files, made.cert.der().clone())
}

fn believing(certificate: &CertificateDer<'static>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    roots
}

async fn connect(
    address: SocketAddr,
    certificate: &CertificateDer<'static>,
    alpn: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(believing(certificate))
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

async fn ask(mut stream: TlsStream<TcpStream>) -> String {
    stream.write_all(get("/").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn callers_may_use_tls_and_either_protocol() {
    let directory = tempfile::tempdir().unwrap();
    let (files, certificate) = write_certificate(directory.path());
    let upstream = upstream(|request| async move {
        Response::new(bytes(request.headers()["x-forwarded-proto"].to_str().unwrap().to_owned()))
    });
    let mut setup = Setup::to(at(upstream, ""));
    setup.serve.tls = Some(Arc::new(TlsCell::load(files).unwrap()));
    let gateway = setup.start();
    let answer = ask(connect(gateway.address, &certificate, b"http/1.1").await.unwrap()).await;
    assert_eq!(body(&answer), "https");
    let stream = connect(gateway.address, &certificate, b"h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut send, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("https://localhost/").body(Full::<Bytes>::default()).unwrap();
    let answer = send.send_request(request).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "https");
    // Plain HTTP is no handshake.
    assert!(!say(gateway.address, get("/")).await.contains("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_new_certificate_is_shown_after_a_reload_and_a_bad_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let (files, first) = write_certificate(directory.path());
    let cell = Arc::new(TlsCell::load(files.clone()).unwrap());
    let mut setup = Setup::to(UpstreamTarget::Echo);
    setup.serve.tls = Some(Arc::clone(&cell));
    let address = setup.start().address;
    assert!(connect(address, &first, b"http/1.1").await.is_ok());
    let (_, second) = write_certificate(directory.path());
    assert!(connect(address, &first, b"http/1.1").await.is_ok());
    cell.reload().unwrap();
    assert!(connect(address, &first, b"http/1.1").await.is_err());
    assert!(connect(address, &second, b"http/1.1").await.is_ok());
    std::fs::write(&files.cert, "nonsense").unwrap();
    assert!(cell.reload().is_err());
    assert!(connect(address, &second, b"http/1.1").await.is_ok());
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let (files, _) = write_certificate(directory.path());
    let (others, _) = write_certificate(other.path());
    let error = |cert: &Path, key: &Path| {
        let files = TlsFiles { cert: cert.to_owned(), key: key.to_owned(), client_ca: None };
        TlsCell::load(files).unwrap_err().to_string()
    };
    let missing = directory.path().join("missing.pem");
    let garbage = directory.path().join("garbage.pem");
    std::fs::write(&garbage, "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").unwrap();
    for (text, file) in [
        (error(&missing, &files.key), &missing),
        (error(&files.cert, &missing), &missing),
        (error(&garbage, &files.key), &garbage),
        (error(&files.key, &files.key), &files.key),
        (error(&files.cert, &files.cert), &files.cert),
        (error(&files.cert, &others.key), &others.key),
    ] {
        assert!(text.contains(&file.display().to_string()), "{text}");
    }
}

/// An upstream under TLS that answers with the protocol it was asked in.
fn secure_upstream(files: TlsFiles) -> SocketAddr {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "").unwrap();
    let address = listener.local_addr();
    let tls = Some(Arc::new(TlsCell::load(files).unwrap()));
    let service = ResponseFuture(|request: Request<hyper::body::Incoming>| async move {
        Response::new(bytes(format!("{:?}", request.version())))
    });
    tokio::spawn(serve(
        listener,
        ServeSettings::new(&ServerSettings::default(), tls),
        service,
        Shutdown::new(),
    ));
    address
}

#[tokio::test]
async fn an_upstream_may_use_tls_and_must_prove_who_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (files, certificate) = write_certificate(directory.path());
    let url = format!("https://localhost:{}", secure_upstream(files).port());
    let trusting = Setup::to(UpstreamTarget::Http(target(&url).trusting(believing(&certificate)))).start();
    assert_eq!(body(&say(trusting.address, get("/")).await), "HTTP/1.1");
    let mut caller = crate::http2::caller(trusting.address).await;
    let call = Request::post("http://a/")
        .header("content-type", "application/grpc")
        .body(Full::<Bytes>::default())
        .unwrap();
    let answer = caller.send_request(call).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "HTTP/2.0");
    let wary = Setup::to(UpstreamTarget::Http(target(&url))).start();
    assert_eq!(status(&say(wary.address, get("/")).await), "HTTP/1.1 502 Bad Gateway");
}
