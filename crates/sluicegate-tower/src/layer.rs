//! The layer: identify, decide, then let the request pass or answer it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, Request, Response};
use http_body::Body;
use sluicegate_core::policy::HttpUrl;
use sluicegate_engine::{
    Answer, CallerRequest, Credential, Decision, Engine, Front, Hold, Purpose, Unsettled,
    identify::NameHeader,
};
use sluicegate_node::{ConnTrust, Node};
use tower_layer::Layer;
use tower_service::Service;

use crate::body::GuardedBody;
use crate::decision_slot::DecisionSlot;
use crate::denial::denial;
use crate::future::ResponseFuture;
use crate::grpc::{GrpcCall, Protocol};
use crate::guard::InFlight;
use crate::introduce::{Introduction, introduce};
use crate::passage::Passage;
use crate::passing::{Carried, Passing};
use crate::peer::{self, FindPeer};
use crate::said::Said;

/// Puts a [`Sluicegate`](crate::Sluicegate) in front of a service.
///
/// Where two layers of one Sluicegate are nested, the outer one decides and the request is charged once.
#[derive(Clone, Debug)]
pub struct SluicegateLayer {
    engine: Arc<Engine>,
    /// Background work goes on for as long as a layer decides.
    node: Option<Arc<Node>>,
    asks: Asks,
}

/// How the engine is asked.
#[derive(Clone, Copy, Debug)]
struct Asks {
    front: Front,
    hold: Hold,
    peer: FindPeer,
}

impl SluicegateLayer {
    /// A layer that asks this engine, whose background work is done by the caller.
    #[doc(hidden)]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self::of(engine, Front::Middleware)
    }

    /// The same for the gateway, which counts its requests as its own. Nobody handles them in this process, so that
    /// they carry no [`Decision`](crate::Decision).
    #[doc(hidden)]
    #[must_use]
    pub fn of_gateway(engine: Arc<Engine>) -> Self {
        Self::of(engine, Front::Gateway)
    }

    fn of(engine: Arc<Engine>, front: Front) -> Self {
        Self { engine, node: None, asks: Asks { front, hold: Hold::IfNeeded, peer: peer::put } }
    }

    /// A layer of a handle.
    pub(crate) fn kept(node: Arc<Node>) -> Self {
        let layer = Self::of(Arc::clone(node.engine()), Front::Middleware);
        Self { node: Some(node), ..layer }
    }

    /// Every request that passes has an [`InFlight`] in its extensions, by which its handler can say what it truly
    /// cost.
    #[must_use]
    pub fn holding(mut self) -> Self {
        self.asks.hold = Hold::Yes;
        self
    }

    /// Where a request says who is at the other end of its connection; by default in a [`Peer`](crate::Peer). Servers
    /// have names of their own for it: `ConnectInfo` in axum, `TcpConnectInfo` in tonic.
    #[must_use]
    pub fn peer_from(mut self, find: fn(&Extensions) -> Option<SocketAddr>) -> Self {
        self.asks.peer = find;
        self
    }
}

impl<S> Layer<S> for SluicegateLayer {
    type Service = SluicegateService<S>;

    fn layer(&self, inner: S) -> SluicegateService<S> {
        SluicegateService {
            inner,
            engine: Arc::clone(&self.engine),
            _node: self.node.clone(),
            asks: self.asks,
        }
    }
}

/// A service behind Sluicegate.
#[derive(Clone, Debug)]
pub struct SluicegateService<S> {
    inner: S,
    engine: Arc<Engine>,
    _node: Option<Arc<Node>>,
    asks: Asks,
}

/// What a request was let through with, in its extensions where its route has an upstream of its own.
#[derive(Clone, Debug)]
pub struct RouteUpstream {
    /// Where the route sends its requests.
    pub upstream: HttpUrl,
}

impl<S, B, R> Service<Request<B>> for SluicegateService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    B: Send + 'static,
    R: Body<Data = Bytes> + 'static,
{
    type Response = Response<GuardedBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let asks = self.asks;
        if is_decided_by(&self.engine, &request) {
            return ResponseFuture::call(self.inner.call(request), Carried::nothing());
        }
        if self.engine.is_shared() {
            let engine = Arc::clone(&self.engine);
            let deciding = async move {
                // Apart, because a body need not be one that tasks can share.
                let (parts, body) = request.into_parts();
                let decision = decided(&engine, &parts, asks).await;
                pass(&engine, decision, Request::from_parts(parts, body), asks.front)
            };
            return ResponseFuture::wait(Box::pin(deciding), self.ready());
        }
        let (parts, body) = request.into_parts();
        let name = name_of(&parts);
        let asked = asked(&self.engine, &parts, &name, asks);
        let decision = self.engine.decide(&asked, self.engine.now());
        let request = Request::from_parts(parts, body);
        if decision.pending.is_some() {
            let engine = Arc::clone(&self.engine);
            let unsettled = Unsettled::new(Arc::clone(&self.engine), decision);
            let deciding = async move { pass(&engine, unsettled.settled().await, request, asks.front) };
            return ResponseFuture::wait(Box::pin(deciding), self.ready());
        }
        match pass(&self.engine, decision, request, asks.front) {
            Passing::Through(request, carried) => ResponseFuture::call(self.inner.call(request), carried),
            Passing::Denied(response) => ResponseFuture::ready(response),
        }
    }
}

/// Whether an outer layer of the same engine has decided already: nested layers charge a request once.
fn is_decided_by<B>(engine: &Arc<Engine>, request: &Request<B>) -> bool {
    let decision = request.extensions().get::<crate::Decision>();
    decision.is_some_and(|decision| decision.is_of_engine(engine))
}

impl<S: Clone> SluicegateService<S> {
    /// The service that is ready, for a request that is passed to it later. A clone is not ready just because this one
    /// is.
    fn ready(&mut self) -> S {
        let clone = self.inner.clone();
        std::mem::replace(&mut self.inner, clone)
    }
}

async fn decided(engine: &Engine, parts: &Parts, asks: Asks) -> Decision {
    let name = name_of(parts);
    let request = asked(engine, parts, &name, asks);
    engine.decided(&request, engine.now()).await
}

/// What the caller calls its request.
fn name_of(parts: &Parts) -> NameHeader<'_> {
    NameHeader::of(parts.method.as_str(), &parts.headers)
}

/// What the engine is asked about a request.
fn asked<'r>(engine: &Engine, parts: &'r Parts, name: &'r NameHeader<'r>, asks: Asks) -> CallerRequest<'r> {
    let headers = &parts.headers;
    let peer = peer::address(asks.peer, &parts.extensions);
    CallerRequest {
        credential: Credential::Headers(headers),
        address: peer.map(|peer| engine.address_of(peer, headers)),
        method: parts.method.as_str(),
        path: parts.uri.path(),
        cost: None,
        idempotency_key: name.name(parts.uri.query()),
        purpose: Purpose::Charge,
        hold: asks.hold,
        front: asks.front,
    }
}

/// What only the gateway does with a request that was decided on: service tokens are not for the upstream, and the
/// connection remembers how its requests fared, for when places run short.
fn gateway_only<B>(engine: &Engine, decision: &Decision, request: &mut Request<B>) {
    request.headers_mut().remove(engine.policy().policy().identity.service_token.as_str());
    if let Some(peer) = request.extensions().get::<sluicegate_node::Peer>() {
        let trust = match (&decision.answer, &decision.account) {
            (_, Some(_)) => ConnTrust::Known,
            (Answer::Denied(_), None) => ConnTrust::Refused,
            (_, None) => ConnTrust::Unknown,
        };
        peer.trust().set(trust);
    }
}

/// The request as the service gets it, or the answer if it does not.
fn pass<B, R>(
    engine: &Arc<Engine>,
    mut decision: Decision,
    mut request: Request<B>,
    front: Front,
) -> Passing<B, R> {
    if let Some(noted) = request.extensions().get::<DecisionSlot>() {
        noted.set(&decision);
    }
    if front == Front::Gateway {
        gateway_only(engine, &decision, &mut request);
    }
    if let Answer::Denied(reason) = &decision.answer {
        return Passing::Denied(Box::new(denial(
            &decision,
            reason,
            GrpcCall::of(request.method(), request.headers()),
        )));
    }
    let who = Introduction {
        account: decision.account.as_ref().map(|account| account.id.as_str()),
        tier: decision.tier(),
        decision: &decision.id.text(),
    };
    introduce(&who, request.headers_mut());
    let held = decision.permit.take().map(|permit| InFlight::new(Arc::clone(engine), permit));
    if let Some(held) = &held {
        request.extensions_mut().insert(held.clone());
    }
    if let Some(upstream) = decision.upstream() {
        request.extensions_mut().insert(RouteUpstream { upstream: upstream.clone() });
    }
    let passage = decision.ticket.take().map(|ticket| Passage::begin(Arc::clone(engine), ticket));
    let said = Some(Said::Lines(decision.headers()));
    if front == Front::Middleware {
        // Last, because it takes the limits along.
        request.extensions_mut().insert(crate::Decision::embedded(&mut decision, engine));
    }
    let carried = Carried {
        protocol: Protocol::of(request.method(), request.headers()),
        said,
        held,
        passage,
        #[cfg(feature = "remote")]
        undecided: None,
    };
    Passing::Through(request, carried)
}
