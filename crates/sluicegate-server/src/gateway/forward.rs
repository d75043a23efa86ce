//! The service that passes requests on. It never fails: what goes wrong becomes an answer.

use std::convert::Infallible;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, request, response};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use sluicegate_core::grpc_status::{is_server_failure, media_type};
use sluicegate_core::policy::{
    PassHeaders, Proxies, ServerSettings, TunnelSettings, UpstreamHost, UpstreamProtocol,
};
use sluicegate_engine::Engine;
use sluicegate_tower::InFlight;
use sluicegate_tower::gateway::{GrpcCall, RefusalStatus, UploadFault, UploadState as _};
use tokio::time::Instant;
use tower_service::Service;

use super::download::{Pace, ProxyBody};
use super::h2::{CallerId, Choice, StreamPlace};
use super::link::{Failed, HeadWait, Link};
use super::problem::Refusal;
use super::tunnel::TunnelCaller;
use super::upload::{Progress, RequestBody, Stage};
use super::upstream::{HttpTarget, Upstream, UpstreamTarget};
use super::{echo, h2, headers, tunnel};
use crate::listen::Peer;
use sluicegate_node::log_gate::LogGate;
use sluicegate_node::net::{Agreed, DialError, Offer, dial};

static CANNOT_CONNECT: LogGate = LogGate::new();
static LATE_CONNECT: LogGate = LogGate::new();
static NO_ANSWER: LogGate = LogGate::new();

/// How requests are passed on.
#[derive(Clone, Debug)]
pub struct ForwardSettings {
    /// How long opening a connection may take.
    pub connect: Duration,
    /// How long the upstream may take for the head of its answer.
    pub read: Duration,
    /// How long either side may send nothing of a body.
    pub idle: Duration,
    /// How long the upstream may send nothing of an event stream or a gRPC answer.
    pub stream_idle: Duration,
    /// How long a whole request may take; nothing: no maximum.
    pub request: Option<Duration>,
    /// The bytes per second that a caller must send of a body while it is waited for; nothing: no minimum.
    pub min_body_rate: Option<NonZeroU64>,
    /// How long tunnels may last, and what they cost.
    pub tunnels: TunnelSettings,
    /// The longest body of a request, in bytes.
    pub body_max: u64,
    /// Whose `X-Forwarded-*` are believed.
    pub proxies: Proxies,
    /// Which headers callers may send that could dodge a route or an address.
    pub pass_headers: Arc<PassHeaders>,
}

impl ForwardSettings {
    /// What the policy file says about it.
    pub fn new(server: &ServerSettings) -> Self {
        Self {
            connect: server.timeouts.connect,
            read: server.timeouts.read,
            idle: server.timeouts.idle,
            stream_idle: server.timeouts.stream_idle,
            request: server.timeouts.request,
            min_body_rate: server.min_body_rate,
            tunnels: server.tunnels,
            body_max: server.max.body,
            proxies: server.proxies.clone(),
            pass_headers: Arc::new(server.pass_headers.clone()),
        }
    }
}

/// Passes requests on to the upstream that [`Upstream`] names, or else to the default one.
#[derive(Clone, Debug)]
pub struct Forward {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    default: Arc<UpstreamTarget>,
    settings: ForwardSettings,
    /// Asked about callers whose tunnels stay open.
    engine: Option<Arc<Engine>>,
}

impl Forward {
    /// Passes requests on to this upstream unless they say otherwise.
    pub fn new(default: Arc<UpstreamTarget>, settings: ForwardSettings) -> Self {
        Self { inner: Arc::new(Inner { default, settings, engine: None }) }
    }

    /// The same, where this engine has decided on the requests: it is asked whether a tunnel's caller may go on, and
    /// charges what the tunnel uses.
    pub fn behind(engine: Arc<Engine>, default: Arc<UpstreamTarget>, settings: ForwardSettings) -> Self {
        Self { inner: Arc::new(Inner { default, settings, engine: Some(engine) }) }
    }
}

impl Service<Request<Incoming>> for Forward {
    type Response = Response<ProxyBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ProxyBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { Ok(forward(&inner, request).await) })
    }
}

async fn forward(inner: &Inner, mut request: Request<Incoming>) -> Response<ProxyBody> {
    // Its headers go to the upstream; how a refusal is answered is known before that.
    let call = GrpcCall::of(request.method(), request.headers());
    if request.method() == Method::CONNECT {
        return Refusal::Connect.answer(call);
    }
    let chosen = request.extensions_mut().remove::<Upstream>();
    let target = chosen.as_ref().map_or(&inner.default, |chosen| &chosen.0);
    let answer = match &**target {
        UpstreamTarget::Echo => echo::answer(request, &inner.settings).await,
        UpstreamTarget::Http(target) => pass_on(target, inner, request).await,
    };
    answer.unwrap_or_else(|refusal| refusal.answer(call))
}

async fn pass_on(
    target: &HttpTarget,
    Inner { settings, engine, .. }: &Inner,
    request: Request<Incoming>,
) -> Result<Response<ProxyBody>, Refusal> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.remove::<Peer>();
    let upgrade = headers::upgrade(&parts);
    let on_upgrade = upgrade.as_ref().and_then(|_| parts.extensions.remove::<OnUpgrade>());
    let in_flight = parts.extensions.remove::<InFlight>();
    let watch = match (&on_upgrade, engine) {
        (Some(_), Some(engine)) => Some(TunnelCaller::new(engine, &parts, peer.as_ref())),
        _ => None,
    };
    let way = way(target, &parts);
    let caller = CallerId::of(&parts.headers, peer.as_ref(), &settings.proxies, &target.http2.hasher);
    // A gRPC stream may be quiet for as long as it likes.
    let min_rate = settings.min_body_rate.filter(|_| media_type(&parts.headers).is_none());
    let filter = headers::CallerFilter::of(peer.as_ref(), &settings.proxies, &settings.pass_headers);
    headers::toward_upstream(&mut parts, upgrade, peer.as_ref(), &settings.proxies, &filter);
    parts.extensions.clear();
    let host = match target.called {
        UpstreamHost::Caller => parts.headers.get(HOST).unwrap_or(&target.host).clone(),
        UpstreamHost::Upstream => target.host.clone(),
    };
    match way {
        Offer::Http1 => {
            parts.uri = target.origin_form(parts.uri).map_err(|_| Refusal::BadGateway)?;
            parts.version = Version::HTTP_11;
            parts.headers.insert(HOST, host);
        }
        Offer::Http2 => {
            parts.uri = target.full_form(&parts.uri, &host).map_err(|_| Refusal::BadGateway)?;
            parts.version = Version::HTTP_2;
            parts.headers.remove(HOST);
        }
    }
    let (body, progress) = RequestBody::new(body, settings.body_max, min_rate, filter);
    if way == Offer::Http1 && progress.is_some() && !parts.headers.contains_key(CONTENT_LENGTH) {
        // Said here, because a GET is otherwise taken to have no body.
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let request = Request::from_parts(parts, body);
    let by = settings.request.and_then(|request| Instant::now().checked_add(request));
    let wait = HeadWait { read: settings.read, by };
    let exchange = Exchange { target, settings, wait, caller, progress: progress.as_ref() };
    match (on_upgrade, way) {
        (Some(on_upgrade), _) => {
            let caller = tunnel::Caller { upgrade: on_upgrade, peer, in_flight, watch };
            tunnel::open(&exchange, request, caller).await
        }
        (None, Offer::Http1) => exchange.over_links(request).await,
        (None, Offer::Http2) => exchange.over_shared(request).await,
    }
}

/// What the upstream is spoken to in for this request.
fn way(target: &HttpTarget, parts: &request::Parts) -> Offer {
    let is_grpc = || parts.version == Version::HTTP_2 && media_type(&parts.headers).is_some();
    let upgrades = parts.version == Version::HTTP_11 && parts.headers.contains_key(http::header::UPGRADE);
    match target.protocol {
        UpstreamProtocol::Http2 if !upgrades => Offer::Http2,
        UpstreamProtocol::Auto if is_grpc() => Offer::Http2,
        UpstreamProtocol::Http2 | UpstreamProtocol::Auto => Offer::Http1,
    }
}

fn is_event_stream(parts: &response::Parts) -> bool {
    const EVENT_STREAM: &[u8] = b"text/event-stream";
    let value = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    value
        .and_then(|value| value.get(..EVENT_STREAM.len()))
        .is_some_and(|value| value.eq_ignore_ascii_case(EVENT_STREAM))
}

/// One request and where it goes.
pub(super) struct Exchange<'e> {
    pub(super) target: &'e HttpTarget,
    pub(super) settings: &'e ForwardSettings,
    pub(super) wait: HeadWait,
    caller: CallerId,
    pub(super) progress: Option<&'e Arc<Progress>>,
}

impl Exchange<'_> {
    /// Over an idle connection or a new one. Once more over a new one if nothing was sent, and never otherwise.
    async fn over_links(&self, mut request: Request<RequestBody>) -> Result<Response<ProxyBody>, Refusal> {
        if let Some(link) = self.target.pool.take() {
            match self.over(link, request).await {
                Err(Failed::Unsent(unsent)) => request = *unsent,
                other => return other.map_err(|failed| self.refusal(&failed)),
            }
        }
        let link = self.link().await?;
        self.over(link, request).await.map_err(|failed| self.refusal(&failed))
    }

    /// Over this connection.
    async fn over(
        &self,
        mut link: Box<Link>,
        request: Request<RequestBody>,
    ) -> Result<Response<ProxyBody>, Failed> {
        let answer = link.exchange(request, self.progress.map(Arc::as_ref), self.wait).await?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failed::Switched);
        }
        let (mut parts, incoming) = answer.into_parts();
        blame(self.progress, &mut parts);
        headers::toward_caller(&mut parts.headers);
        let body = ProxyBody::linked(incoming, link, &self.target.pool, self.pace(&parts));
        Ok(Response::from_parts(parts, body))
    }

    /// Over an HTTP/2 connection, as a stream beside others.
    async fn over_shared(&self, mut request: Request<RequestBody>) -> Result<Response<ProxyBody>, Refusal> {
        let mut tries = 2;
        let (answer, place) = loop {
            tries -= 1;
            let (send, place) = self.stream().await?;
            let place = Arc::new(place);
            request.body_mut().hold(&place);
            match h2::exchange(send, request, self.progress.map(Arc::as_ref), self.wait).await {
                Ok(answer) => break (answer, place),
                Err(Failed::Unsent(unsent)) if tries > 0 => request = *unsent,
                Err(failed) => return Err(self.refusal(&failed)),
            }
        };
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.refusal(&Failed::Switched));
        }
        let (mut parts, incoming) = answer.into_parts();
        blame(self.progress, &mut parts);
        headers::toward_caller(&mut parts.headers);
        let body = ProxyBody::shared(incoming, Some(place), self.pace(&parts));
        Ok(Response::from_parts(parts, body))
    }

    /// How long the upstream may send nothing of this answer. Streams of events and gRPC calls are quiet while nothing
    /// happens.
    pub(super) fn pace(&self, parts: &response::Parts) -> Pace {
        let is_stream = media_type(&parts.headers).is_some() || is_event_stream(parts);
        let idle = if is_stream { self.settings.stream_idle } else { self.settings.idle };
        Pace { idle, upload: self.progress.cloned() }
    }

    /// A place for a stream on an HTTP/2 connection, which is opened if it has to be.
    async fn stream(&self) -> Result<(h2::Sender, StreamPlace), Refusal> {
        let http2 = &self.target.http2;
        let choose = || http2.choose(self.caller, self.progress);
        let mut choice = choose();
        while let Choice::Open(class) = choice {
            let _opening = http2.opening(class).await;
            choice = choose();
            // If it is of the other class by now, that class is waited for.
            if matches!(choice, Choice::Open(chosen) if chosen == class) {
                let opened = match self.dial(Offer::Http2).await? {
                    (wire, Agreed::Http2) => h2::open(wire, class).await.map_err(|_| Refusal::BadGateway)?,
                    (_, Agreed::Http1) => return Err(Refusal::BadGateway),
                };
                choice = http2.add(opened, class, self.caller, self.progress);
            }
        }
        match choice {
            Choice::Use(send, place) => Ok((send, place)),
            Choice::Open(_) | Choice::Full => {
                tracing::warn!(upstream = %self.target.address.host, "no HTTP/2 connection has room for a stream");
                Err(Refusal::BadGateway)
            }
        }
    }

    /// A new connection.
    pub(super) async fn link(&self) -> Result<Box<Link>, Refusal> {
        let (wire, _) = self.dial(Offer::Http1).await?;
        Link::new(wire).await.map_err(|_| Refusal::BadGateway)
    }

    async fn dial(&self, offer: Offer) -> Result<(crate::listen::Wire, Agreed), Refusal> {
        dial(&self.target.address, offer, self.settings.connect).await.map_err(|error| {
            let upstream = &self.target.address.host;
            match error {
                DialError::Io(error) => {
                    CANNOT_CONNECT.log(|left_out| {
                        tracing::warn!(%upstream, %error, left_out, "cannot connect to the upstream");
                    });
                    Refusal::BadGateway
                }
                DialError::Late => {
                    LATE_CONNECT.log(|left_out| {
                        tracing::warn!(%upstream, left_out, "connecting to the upstream takes too long");
                    });
                    Refusal::GatewayTimeout
                }
            }
        })
    }

    /// Whose fault it was.
    pub(super) fn refusal(&self, failed: &Failed) -> Refusal {
        match (failed, self.progress.map(|progress| progress.stage())) {
            (_, Some(Stage::TooLarge)) => Refusal::BodyTooLarge,
            (_, Some(Stage::Broken)) => Refusal::BrokenBody,
            (_, Some(Stage::TooSlow)) | (Failed::Late, Some(Stage::Awaiting)) => Refusal::RequestTimeout,
            (Failed::Late, _) => Refusal::GatewayTimeout,
            (Failed::Unsent(_), _) => Refusal::BadGateway,
            (Failed::Switched, _) => {
                let upstream = &self.target.address.host;
                tracing::warn!(%upstream, "the upstream changed the protocol without being asked to");
                Refusal::BadGateway
            }
            (Failed::Broken(error), _) => {
                NO_ANSWER.log(|left_out| {
                    let upstream = &self.target.address.host;
                    tracing::warn!(%upstream, %error, left_out, "the upstream gave no answer");
                });
                Refusal::BadGateway
            }
        }
    }
}

/// A failure that the upstream answers to a body that the caller broke is the caller's fault: it counts as a 400, so
/// that nothing is given back for it. The caller gets the answer as it is. That of a gRPC call may stand in its
/// trailers: the body is watched until then.
fn blame(progress: Option<&Arc<Progress>>, parts: &mut response::Parts) {
    let Some(progress) = progress else { return };
    let is_grpc = media_type(&parts.headers).is_some();
    let failed = parts.status.is_server_error() || is_grpc && is_server_failure(&parts.headers);
    if failed && progress.is_callers_fault() {
        parts.extensions.insert(RefusalStatus(StatusCode::BAD_REQUEST));
    } else if is_grpc && !failed {
        let progress: Arc<Progress> = Arc::clone(progress);
        parts.extensions.insert(UploadFault(progress));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &'static str)]) -> response::Parts {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(()).unwrap().into_parts().0
    }

    fn counted_as(stage: Stage, mut parts: response::Parts) -> u16 {
        blame(Some(&Arc::new(Progress::at(stage))), &mut parts);
        RefusalStatus::of(&Response::from_parts(parts, ())).as_u16()
    }

    #[test]
    fn a_failure_after_a_body_that_its_caller_broke_counts_as_400() {
        let call = ("content-type", "application/grpc");
        for stage in [Stage::Broken, Stage::TooLarge, Stage::TooSlow] {
            assert_eq!(counted_as(stage, answer(500, &[])), 400);
            for status in ["2", "13", "14", "15"] {
                assert_eq!(counted_as(stage, answer(200, &[call, ("grpc-status", status)])), 400, "{status}");
            }
            for status in ["0", "3", "5"] {
                assert_eq!(counted_as(stage, answer(200, &[call, ("grpc-status", status)])), 200, "{status}");
            }
            assert_eq!(counted_as(stage, answer(200, &[("grpc-status", "13")])), 200);
        }
        assert_eq!(counted_as(Stage::Done, answer(200, &[call, ("grpc-status", "13")])), 200);
        assert_eq!(counted_as(Stage::Done, answer(500, &[])), 500);
    }

    #[test]
    fn the_body_of_a_call_is_watched_until_its_trailers() {
        let progress = Arc::new(Progress::at(Stage::Sending));
        let mut parts = answer(200, &[("content-type", "application/grpc+proto")]);
        blame(Some(&progress), &mut parts);
        let watched = parts.extensions.remove::<UploadFault>().unwrap();
        assert!(!watched.0.is_callers_fault());
        progress.enter(Stage::Broken);
        assert!(watched.0.is_callers_fault());
        let mut parts = answer(200, &[("content-type", "text/plain")]);
        blame(Some(&progress), &mut parts);
        assert!(parts.extensions.is_empty());
    }
}
