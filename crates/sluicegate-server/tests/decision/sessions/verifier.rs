//! A server that verifies answers to challenges, and behaves as told.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// What it does once it was asked.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// It answers with these bytes.
    Reply(String),
    /// It answers with these bytes once it is told to.
    Gate(String),
    /// It closes the connection.
    Close,
    /// It does nothing.
    Hang,
    /// It answers one byte at a time, without end.
    Trickle,
}

/// An answer with this body.
pub(crate) fn json(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// A server that runs.
pub(crate) struct Verifier {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<(String, String)>>>,
    count: Arc<AtomicUsize>,
    gate: watch::Sender<bool>,
}

impl Verifier {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (gate, opened) = watch::channel(false);
        let verifier = Self {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
            count: Arc::default(),
            gate,
        };
        let (asked, count) = (Arc::clone(&verifier.asked), Arc::clone(&verifier.count));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (asked, count) = (Arc::clone(&asked), Arc::clone(&count));
                let (behaviour, opened) = (behaviour.clone(), opened.clone());
                tokio::spawn(async move {
                    if let Some(request) = read(&mut stream).await {
                        asked.lock().unwrap().push(request);
                        count.fetch_add(1, Relaxed);
                        behave(&mut stream, behaviour, opened).await;
                    }
                });
            }
        });
        verifier
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/siteverify?v=0", self.address)
    }

    /// What it was asked since it was last looked at: heads and bodies.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(crate) fn asked_so_far(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Answers whoever waits, and everyone from now on.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }

    /// The URL of a server with a certificate that nobody knows, which passes everything on to this one.
    pub(crate) fn under_tls(self) -> String {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = TcpListener::from_std(listener).unwrap();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    let mut behind = TcpStream::connect(self.address).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut behind).await;
                }
            }
        });
        format!("https://localhost:{port}/siteverify")
    }
}

/// An address where nobody listens.
pub(crate) async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

async fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

async fn behave(stream: &mut TcpStream, behaviour: Behaviour, mut opened: watch::Receiver<bool>) {
    match behaviour {
        Behaviour::Reply(answer) => drop(stream.write_all(answer.as_bytes()).await),
        Behaviour::Gate(answer) => {
            let _ = opened.wait_for(|open| *open).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        Behaviour::Close => {}
        Behaviour::Hang => std::future::pending().await,
        Behaviour::Trickle => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").await;
            while stream.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
