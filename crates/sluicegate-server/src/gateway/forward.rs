//! The service that passes requests on. It never fails: what goes wrong becomes an answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, request, response};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use sluicegate_core::grpc_status::media_type;
use sluicegate_core::policy::{Proxies, ServerSettings, UpstreamHost, UpstreamProtocol};
use sluicegate_tower::InFlight;
use sluicegate_tower::gateway::{GrpcCall, RefusalStatus};
use tower_service::Service;

use super::download::ProxyBody;
use super::link::{Failed, Link};
use super::problem::Refusal;
use super::upload::{Progress, RequestBody, Stage};
use super::upstream::{HttpTarget, Upstream, UpstreamTarget};
use super::{echo, h2, headers, tunnel};
use crate::listen::Peer;
use sluicegate_node::net::{Agreed, DialError, Offer, dial};

/// How requests are passed on.
#[derive(Clone, Debug)]
pub struct ForwardSettings {
    /// How long opening a connection may take.
    pub connect: Duration,
    /// How long the upstream may take for the head of its answer.
    pub read: Duration,
    /// How long either side may send nothing of a body.
    pub idle: Duration,
    /// The longest body of a request, in bytes.
    pub body_max: u64,
    /// Whose `X-Forwarded-*` are believed.
    pub proxies: Proxies,
}

impl ForwardSettings {
    /// What the policy file says about it.
    pub fn new(server: &ServerSettings) -> Self {
        Self {
            connect: server.timeouts.connect,
            read: server.timeouts.read,
            idle: server.timeouts.idle,
            body_max: server.max.body,
            proxies: server.proxies.clone(),
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
}

impl Forward {
    /// Passes requests on to this upstream unless they say otherwise.
    pub fn new(default: Arc<UpstreamTarget>, settings: ForwardSettings) -> Self {
        Self { inner: Arc::new(Inner { default, settings }) }
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
        UpstreamTarget::Http(target) => pass_on(target, &inner.settings, request).await,
    };
    answer.unwrap_or_else(|refusal| refusal.answer(call))
}

async fn pass_on(
    target: &HttpTarget,
    settings: &ForwardSettings,
    request: Request<Incoming>,
) -> Result<Response<ProxyBody>, Refusal> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.remove::<Peer>();
    let upgrade = headers::upgrade(&parts);
    let on_upgrade = upgrade.as_ref().and_then(|_| parts.extensions.remove::<OnUpgrade>());
    let in_flight = parts.extensions.remove::<InFlight>();
    let way = way(target, &parts);
    headers::toward_upstream(&mut parts, upgrade, peer.as_ref(), &settings.proxies);
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
    let (body, progress) = RequestBody::new(body, settings.body_max);
    if way == Offer::Http1 && progress.is_some() && !parts.headers.contains_key(CONTENT_LENGTH) {
        // Said here, because a GET is otherwise taken to have no body.
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let request = Request::from_parts(parts, body);
    let exchange = Exchange { target, settings, progress: progress.as_deref() };
    match (on_upgrade, way) {
        (Some(on_upgrade), _) => {
            let caller = tunnel::Caller { upgrade: on_upgrade, peer, in_flight };
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

/// One request and where it goes.
pub(super) struct Exchange<'e> {
    pub(super) target: &'e HttpTarget,
    pub(super) settings: &'e ForwardSettings,
    pub(super) progress: Option<&'e Progress>,
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
        let answer = link.exchange(request, self.progress, self.settings.read).await?;
        let (mut parts, incoming) = answer.into_parts();
        self.blame(&mut parts);
        headers::toward_caller(&mut parts.headers);
        let body = ProxyBody::linked(incoming, link, &self.target.pool, self.settings.idle);
        Ok(Response::from_parts(parts, body))
    }

    /// Over the connection that all such requests share.
    async fn over_shared(&self, mut request: Request<RequestBody>) -> Result<Response<ProxyBody>, Refusal> {
        let mut tries = 2;
        let answer = loop {
            tries -= 1;
            let send = self.shared().await?;
            match h2::exchange(send, request, self.progress, self.settings.read).await {
                Ok(answer) => break answer,
                Err(Failed::Unsent(unsent)) if tries > 0 => request = *unsent,
                Err(failed) => return Err(self.refusal(&failed)),
            }
        };
        let (mut parts, incoming) = answer.into_parts();
        self.blame(&mut parts);
        headers::toward_caller(&mut parts.headers);
        Ok(Response::from_parts(parts, ProxyBody::shared(incoming, self.settings.idle)))
    }

    /// A 5xx that the upstream answers to a body that the caller broke is the caller's fault: it counts as a 400, so that
    /// nothing is given back for it. The caller gets the answer as it is.
    fn blame(&self, parts: &mut response::Parts) {
        let broken = matches!(self.progress.map(Progress::stage), Some(Stage::Broken | Stage::TooLarge));
        if broken && parts.status.is_server_error() {
            parts.extensions.insert(RefusalStatus(StatusCode::BAD_REQUEST));
        }
    }

    async fn shared(&self) -> Result<h2::Sender, Refusal> {
        let shared = &self.target.shared;
        if let Some(send) = shared.get() {
            return Ok(send);
        }
        let _opening = shared.opening.lock().await;
        if let Some(send) = shared.get() {
            return Ok(send);
        }
        match self.dial(Offer::Http2).await? {
            (wire, Agreed::Http2) => shared.open(wire).await.map_err(|_| Refusal::BadGateway),
            (_, Agreed::Http1) => Err(Refusal::BadGateway),
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
                    tracing::warn!(%upstream, %error, "cannot connect to the upstream");
                    Refusal::BadGateway
                }
                DialError::Late => {
                    tracing::warn!(%upstream, "connecting to the upstream takes too long");
                    Refusal::GatewayTimeout
                }
            }
        })
    }

    /// Whose fault it was.
    pub(super) fn refusal(&self, failed: &Failed) -> Refusal {
        match (failed, self.progress.map(Progress::stage)) {
            (_, Some(Stage::TooLarge)) => Refusal::BodyTooLarge,
            (_, Some(Stage::Broken)) => Refusal::BrokenBody,
            (Failed::Late, Some(Stage::Awaiting)) => Refusal::RequestTimeout,
            (Failed::Late, _) => Refusal::GatewayTimeout,
            (Failed::Unsent(_), _) => Refusal::BadGateway,
            (Failed::Broken(error), _) => {
                tracing::warn!(upstream = %self.target.address.host, %error, "the upstream gave no answer");
                Refusal::BadGateway
            }
        }
    }
}
