//! The layer: identify, decide, then let the request pass or answer it.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use tollgate_core::policy::HttpUrl;
use tollgate_engine::{
    Answer, CallerRequest, Decision, Engine, Front, Hold, PolicySnapshot, Purpose, Unsettled,
    identify::{self, NameHeader},
};
use tower_layer::Layer;
use tower_service::Service;

use crate::body::GuardedBody;
use crate::denial::denial;
use crate::future::Answering;
use crate::guard::InFlight;
use crate::note::Noted;
use crate::passage::Passage;
use crate::peer::Peer;

/// What the names of headers start with that only Tollgate may set.
const OURS: &str = "x-tollgate-";

const ACCOUNT: HeaderName = HeaderName::from_static("x-tollgate-account");
const TIER: HeaderName = HeaderName::from_static("x-tollgate-tier");
const DECISION: HeaderName = HeaderName::from_static("x-tollgate-decision");

/// Puts Tollgate before a service.
#[derive(Clone, Debug)]
pub struct TollgateLayer {
    engine: Arc<Engine>,
    front: Front,
}

impl TollgateLayer {
    /// A layer that asks this engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, front: Front::Middleware }
    }

    /// The same for the gateway, which counts its requests as its own.
    #[must_use]
    pub fn of_gateway(engine: Arc<Engine>) -> Self {
        Self { engine, front: Front::Gateway }
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Tollgate<S> {
        Tollgate { inner, engine: Arc::clone(&self.engine), front: self.front }
    }
}

/// A service behind Tollgate.
#[derive(Clone, Debug)]
pub struct Tollgate<S> {
    inner: S,
    engine: Arc<Engine>,
    front: Front,
}

/// What a request was let through with, in its extensions where its route has an upstream of its own.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Where the route sends its requests.
    pub upstream: HttpUrl,
}

impl<S, B, R> Service<Request<B>> for Tollgate<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    B: Send + 'static,
    R: Body<Data = Bytes>,
{
    type Response = Response<GuardedBody<R>>;
    type Error = S::Error;
    type Future = Answering<S, B, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.engine.is_shared() {
            let (engine, front) = (Arc::clone(&self.engine), self.front);
            let deciding = async move {
                // Apart, because a body need not be one that tasks can share.
                let (parts, body) = request.into_parts();
                let decision = decided(&engine, &parts, front).await;
                (decision, Request::from_parts(parts, body))
            };
            return Answering::wait(Arc::clone(&self.engine), Box::pin(deciding), self.ready());
        }
        let (parts, body) = request.into_parts();
        let (policy, name) = (self.engine.policy(), name_of(&parts));
        let asked = asked(&self.engine, &policy, &parts, &name, self.front);
        let decision = self.engine.decide(&asked, self.engine.now());
        let request = Request::from_parts(parts, body);
        if decision.pending.is_some() {
            let unsettled = Unsettled::new(Arc::clone(&self.engine), decision);
            let deciding = async move { (unsettled.settled().await, request) };
            return Answering::wait(Arc::clone(&self.engine), Box::pin(deciding), self.ready());
        }
        match pass(&self.engine, decision, request) {
            Passing::Through(request, carried) => Answering::call(self.inner.call(request), carried),
            Passing::Denied(response) => Answering::ready(response),
        }
    }
}

impl<S: Clone> Tollgate<S> {
    /// The service that is ready, for a request that is passed to it later. A clone is not ready just because this one
    /// is.
    fn ready(&mut self) -> S {
        let clone = self.inner.clone();
        std::mem::replace(&mut self.inner, clone)
    }
}

async fn decided(engine: &Engine, parts: &Parts, front: Front) -> Decision {
    let (policy, name) = (engine.policy(), name_of(parts));
    let request = asked(engine, &policy, parts, &name, front);
    engine.decided(&request, engine.now()).await
}

/// What the caller calls its request.
fn name_of(parts: &Parts) -> NameHeader<'_> {
    NameHeader::of(parts.method.as_str(), &parts.headers)
}

/// What the engine is asked about a request.
fn asked<'r>(
    engine: &Engine,
    policy: &'r PolicySnapshot,
    parts: &'r Parts,
    name: &'r NameHeader<'r>,
    front: Front,
) -> CallerRequest<'r> {
    let headers = &parts.headers;
    let peer = parts.extensions.get::<Peer>();
    CallerRequest {
        credential: identify::credential(&policy.policy().identity, headers),
        address: peer.map(|peer| engine.address_of(peer.0.ip(), headers)),
        method: parts.method.as_str(),
        path: parts.uri.path(),
        cost: None,
        idempotency_key: name.name(parts.uri.query()),
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front,
    }
}

/// What goes from the decision to the answer of the service.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) headers: tollgate_engine::HeaderLines,
    pub(crate) held: Option<InFlight>,
    pub(crate) passage: Option<Passage>,
}

/// What becomes of a request that was decided on.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is made; a box would be for nothing"
)]
pub(crate) enum Passing<B, R> {
    /// The service gets it.
    Through(Request<B>, Carried),
    /// It is answered here.
    Denied(Box<Response<GuardedBody<R>>>),
}

/// The request as the service gets it, or the answer if it does not.
pub(crate) fn pass<B, R>(
    engine: &Arc<Engine>,
    mut decision: Decision,
    mut request: Request<B>,
) -> Passing<B, R> {
    if let Some(noted) = request.extensions().get::<Noted>() {
        noted.set(&decision);
    }
    if let Answer::Denied(reason) = &decision.answer {
        return Passing::Denied(Box::new(denial(&decision, reason)));
    }
    introduce(&decision, request.headers_mut());
    let held = decision.permit.take().map(|permit| InFlight::new(Arc::clone(engine), permit));
    if let Some(held) = &held {
        request.extensions_mut().insert(held.clone());
    }
    if let Some(upstream) = decision.upstream() {
        request.extensions_mut().insert(Passed { upstream: upstream.clone() });
    }
    let passage = decision.ticket.take().map(|ticket| Passage::begin(Arc::clone(engine), ticket));
    Passing::Through(request, Carried { headers: decision.headers(), held, passage })
}

/// Tells the service who is calling. What the caller itself says about that is not passed on.
fn introduce(decision: &Decision, headers: &mut HeaderMap) {
    if headers.keys().any(is_ours) {
        let theirs: Vec<HeaderName> = headers.keys().filter(|name| is_ours(name)).cloned().collect();
        theirs.iter().for_each(|name| drop(headers.remove(name)));
    }
    let text = |text: &str| HeaderValue::from_str(text).ok();
    let account = decision.account.as_ref().and_then(|account| text(account.id.as_str()));
    let tier = decision.tier().and_then(text);
    for (name, value) in [(ACCOUNT, account), (TIER, tier), (DECISION, text(&decision.id.text()))] {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
}

/// Whether a header speaks of what only we may say, to a service that takes `_` for `-` as well.
fn is_ours(name: &HeaderName) -> bool {
    let ours = OURS.bytes();
    name.as_str().len() >= OURS.len()
        && name
            .as_str()
            .bytes()
            .map(|byte| if byte == b'_' { b'-' } else { byte })
            .zip(ours)
            .all(|(a, b)| a == b)
}
