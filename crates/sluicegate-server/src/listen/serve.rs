//! Accepting connections and serving each of them with a clone of one service.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use sluicegate_core::policy::{PerAddress, Proxies, ServerSettings};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsStream};

use super::accept::{Acceptor, accept};
use super::answers::Answers;
use super::bind::Listener;
use super::clock::{Protocol, Waits};
use super::conn_table::ConnPermit;
use super::connection::{Limits, answer, drive};
use super::proxy_protocol::ProxyGate;
use super::reader::ReaderLimits;
use super::socket::{Socket, Writes, listen_for_protocol};
use super::streams::{StreamTasks, Streams};
use super::tls::TlsCell;
use sluicegate_node::net::Wire;
use sluicegate_node::peer::{Peer, Scheme};
use sluicegate_node::shutdown::Shutdown;

/// The most requests in flight on one HTTP/2 connection: as many as the large servers allow.
const STREAMS_MAX: u32 = 250;

/// Room for the data of one stream, and of all of them, that nobody has taken yet.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// The most bytes of one connection that are kept ready for whoever takes them.
const BUFFER_MAX: usize = 64 * 1024;

/// The number of headers that hyper keeps on the stack. Any other number costs an allocation per request.
const HEADER_COUNT_FREE: usize = 100;

/// How connections are served.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// How long the head of a request may take, and so may the handshake of TLS.
    pub header: Duration,
    /// How long a connection may be idle between requests.
    pub keep_alive: Duration,
    /// How long a caller may take nothing of its answer.
    pub idle: Duration,
    /// The bytes per second that a caller must take of its answer while it is waited for; nothing: no minimum.
    pub min_body_rate: Option<NonZeroU64>,
    /// How long a whole request may take, its answer included; nothing: no maximum.
    pub request: Option<Duration>,
    /// The largest head of a request, in bytes.
    pub headers_max: usize,
    /// The most headers of a request.
    pub header_count_max: usize,
    /// The most connections at a time. Beyond that, idle ones are closed, or new ones wait to be accepted.
    pub connections_max: u32,
    /// The most of one address while places run short.
    pub per_address: PerAddress,
    /// Peers whose connections are not counted by their address.
    pub exempt: Proxies,
    /// Descriptors that are kept for this listener when the process has no others.
    pub reserved_descriptors: usize,
    /// How long requests in flight may take once the end has begun.
    pub drain: Duration,
    /// The certificate; nothing: plain HTTP.
    pub tls: Option<Arc<TlsCell>>,
    /// Who says who called before the first byte; nothing: nobody does.
    pub proxy_gate: Option<Arc<ProxyGate>>,
    /// Where the streams of HTTP/2 run.
    pub streams: StreamTasks,
}

impl ServeSettings {
    /// How long requests in flight may take by default once the end has begun: what process supervisors wait for.
    pub const DRAIN_DEFAULT: Duration = Duration::from_secs(30);

    /// What the policy file says about it.
    pub fn new(server: &ServerSettings, tls: Option<Arc<TlsCell>>) -> Self {
        Self {
            header: server.timeouts.header,
            keep_alive: server.timeouts.keep_alive,
            idle: server.timeouts.idle,
            min_body_rate: server.min_body_rate,
            request: server.timeouts.request,
            headers_max: usize::try_from(server.max.headers).unwrap_or(usize::MAX),
            header_count_max: usize::try_from(server.max.header_count).unwrap_or(usize::MAX),
            connections_max: server.max.connections,
            per_address: server.max.per_address,
            exempt: server.proxies.clone(),
            reserved_descriptors: 0,
            drain: Self::DRAIN_DEFAULT,
            tls,
            proxy_gate: None,
            streams: StreamTasks::Apart,
        }
    }

    /// For answers that are there at once: those that are asked for together are given together.
    #[must_use]
    pub fn answering_at_once(self) -> Self {
        Self { streams: StreamTasks::Together, ..self }
    }

    /// Behind the proxies that the policy file names, in the way that it says.
    #[must_use]
    pub fn behind_proxies(self, server: &ServerSettings) -> Self {
        Self { proxy_gate: ProxyGate::of(server), ..self }
    }
}

/// Serves until the end begins, then until the last request is answered or the time for that is over.
pub async fn serve<S: Answers>(listener: Listener, settings: ServeSettings, service: S, shutdown: Shutdown) {
    let acceptor = Acceptor::new(&settings);
    let host = Arc::new(Host { h1: h1(&settings), settings, service, shutdown });
    let connect = |stream, address, place| {
        tokio::spawn(serve_connection(Arc::clone(&host), stream, address, place));
    };
    accept(listener, acceptor, &host.shutdown, connect).await;
}

/// What all connections of a listener have in common.
struct Host<S> {
    h1: http1::Builder,
    settings: ServeSettings,
    service: S,
    shutdown: Shutdown,
}

fn h1(settings: &ServeSettings) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // Ours runs from the first byte on; this one would also end connections that are merely idle.
        .header_read_timeout(None)
        .max_header_size(settings.headers_max)
        .max_buf_size(BUFFER_MAX.max(settings.headers_max));
    if settings.header_count_max != HEADER_COUNT_FREE {
        builder.max_headers(settings.header_count_max);
    }
    builder
}

fn h2(settings: &ServeSettings, streams: Streams) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(streams);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(BUFFER_MAX)
        .max_header_list_size(u32::try_from(settings.headers_max).unwrap_or(u32::MAX));
    builder
}

async fn serve_connection<S: Answers>(
    host: Arc<Host<S>>,
    stream: TcpStream,
    address: SocketAddr,
    place: ConnPermit,
) {
    let settings = &host.settings;
    let opened = tokio::select! {
        () = host.shutdown.begun() => return,
        () = place.conn.evicted() => return,
        opened = timeout(settings.header, open(stream, address, settings)) => opened,
    };
    let Ok(Some(opened)) = opened else { return };
    place.opened();
    // In a box: a connection that never says anything takes no room for what it could become.
    Box::pin(serve_opened(host, opened, place)).await;
}

async fn serve_opened<S: Answers>(host: Arc<Host<S>>, opened: Opened, place: ConnPermit) {
    let Opened { caller, wire, protocol, first } = opened;
    let settings = &host.settings;
    let conn = Arc::clone(&place.conn);
    let clock = Arc::clone(&conn.clock);
    let scheme = if settings.tls.is_some() { Scheme::Https } else { Scheme::Http };
    let peer = Peer::with_trust(caller, scheme, host.shutdown.clone(), Arc::clone(&conn.trust));
    let writes = match (protocol, settings.streams) {
        (Protocol::Http2, StreamTasks::Together) => Writes::Copied,
        _ => Writes::Gathered,
    };
    let io = TokioIo::new(Socket::new(wire, first, Arc::clone(&clock), place).writing(writes));
    let waits = Waits {
        header: settings.header,
        keep_alive: settings.keep_alive,
        idle: settings.idle,
        min_rate: settings.min_body_rate,
        request: settings.request,
    };
    let shutdown = host.shutdown.clone();
    let limits = Limits { clock: Arc::clone(&clock), waits, protocol, shutdown, conn: Arc::clone(&conn) };
    let service = host.service.clone();
    let answer =
        move |request, reader| answer(service.clone(), request, peer.clone(), Arc::clone(&clock), reader);
    match protocol {
        Protocol::Http1 => {
            let service = service_fn(move |request| answer(request, None));
            drive(host.h1.serve_connection(io, service).with_upgrades(), limits).await;
        }
        Protocol::Http2 => {
            let readers = ReaderLimits { idle: waits.idle, min_rate: waits.min_rate, request: waits.request };
            let streams = Streams::new(settings.streams, readers);
            let begin = streams.clone();
            // In a box: an answer that is still to be made is moved several times, and can be some kilobytes.
            let service = service_fn(move |request| Box::pin(answer(request, begin.begin())));
            let connection = h2(settings, streams.clone()).serve_connection(io, service);
            drive(streams.of(connection), limits).await;
        }
    }
    // Should anything of it be left, it is a tunnel.
    conn.becomes_tunnel();
}

/// A connection whose caller and protocol are known.
struct Opened {
    caller: SocketAddr,
    wire: Wire,
    protocol: Protocol,
    first: Bytes,
}

/// Shakes hands, and finds out who calls and what it speaks. Nothing, if it does not get that far.
async fn open(mut stream: TcpStream, peer: SocketAddr, settings: &ServeSettings) -> Option<Opened> {
    // Answers are written whole: nothing is gained by waiting for more.
    stream.set_nodelay(true).ok()?;
    let caller = match &settings.proxy_gate {
        None => peer,
        Some(gate) => gate.caller(&mut stream, peer).await?,
    };
    let mut wire = match settings.tls.as_deref() {
        None => Wire::Plain(stream),
        Some(cell) => {
            let stream = TlsAcceptor::from(cell.current()).accept(stream).await.ok()?;
            Wire::Tls(Box::new(TlsStream::Server(stream)))
        }
    };
    let (protocol, first) = listen_for_protocol(&mut wire).await.ok()?;
    Some(Opened { caller, wire, protocol, first }).filter(|opened| !opened.first.is_empty())
}
