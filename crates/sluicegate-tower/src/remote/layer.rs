//! The layer that asks elsewhere: ask, then let the request pass or answer it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body::Body;
use sluicegate_client::DecisionClient;
use sluicegate_client::decision::{CallError, Cause, Check, Decision};
use sluicegate_core::policy::{Identity, Proxies};
use tower_layer::Layer;
use tower_service::Service;

use super::ask::{Asks, Hold, Names};
use super::denial;
use super::permit::Permit;
use super::unreachable::{Undecided, Unreachable};
use crate::body::GuardedBody;
use crate::decision_slot::DecisionSlot;
use crate::future::ResponseFuture;
use crate::grpc::{GrpcCall, Protocol};
use crate::guard::InFlight;
use crate::introduce::{Introduction, introduce, strip};
use crate::passing::{Carried, Passing};
use crate::peer;
use crate::said::Said;

/// Puts a Sluicegate server in front of a service.
///
/// It works within tokio's runtime. A request waits for its decision as long as the timeout of the client says; what it
/// held is renewed in the background while it takes long, and given back when its answer has ended, or the caller has
/// gone away.
#[derive(Clone, Debug)]
pub struct RemoteLayer {
    client: Arc<DecisionClient>,
    unreachable: Unreachable,
    asks: Arc<Asks>,
}

impl RemoteLayer {
    /// A layer that asks by this client, and what becomes of requests when it gets no answer.
    pub fn new(client: DecisionClient, unreachable: Unreachable) -> Self {
        let asks = Asks {
            identity: Identity::default(),
            proxies: Proxies::default(),
            peer: peer::put,
            hold: Hold::IfNeeded,
            names: Names::Ignored,
        };
        Self { client: Arc::new(client), unreachable, asks: Arc::new(asks) }
    }

    /// Where keys and service tokens stand, and which headers tell callers without a key apart: what the policy says
    /// under `identity`. By default what a policy says that has no such section.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        Arc::make_mut(&mut self.asks).identity = identity;
        self
    }

    /// Whose word about who called is taken. By default nobody's.
    #[must_use]
    pub fn trusted_proxies(mut self, proxies: Proxies) -> Self {
        Arc::make_mut(&mut self.asks).proxies = proxies;
        self
    }

    /// As [`SluicegateLayer::holding`](crate::SluicegateLayer::holding), at the price of a second call for each
    /// request. Tiers that give charges back (`refund_on`) need it.
    #[must_use]
    pub fn holding(mut self) -> Self {
        Arc::make_mut(&mut self.asks).hold = Hold::Yes;
        self
    }

    /// Charges requests with the same `Idempotency-Key` once in 24 hours. Only for a service that recognises the keys
    /// itself and does not do the work again: otherwise one header makes everything free.
    #[must_use]
    pub fn vouch_for_idempotency_keys(mut self) -> Self {
        Arc::make_mut(&mut self.asks).names = Names::Vouched;
        self
    }

    /// As [`SluicegateLayer::peer_from`](crate::SluicegateLayer::peer_from).
    #[must_use]
    pub fn peer_from(mut self, find: fn(&Extensions) -> Option<SocketAddr>) -> Self {
        Arc::make_mut(&mut self.asks).peer = find;
        self
    }
}

impl<S> Layer<S> for RemoteLayer {
    type Service = RemoteService<S>;

    fn layer(&self, inner: S) -> RemoteService<S> {
        RemoteService { inner, layer: self.clone() }
    }
}

/// A service behind a Sluicegate server.
#[derive(Clone, Debug)]
pub struct RemoteService<S> {
    inner: S,
    layer: RemoteLayer,
}

impl<S, B, R> Service<Request<B>> for RemoteService<S>
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
        let (parts, body) = request.into_parts();
        let check = match self.layer.asks.check(&parts) {
            Ok(check) => check,
            Err(error) => {
                let call = GrpcCall::of(&parts.method, &parts.headers);
                return ResponseFuture::ready(Box::new(denial::wrong(error, call)));
            }
        };
        let (client, unreachable) = (Arc::clone(&self.layer.client), self.layer.unreachable);
        let deciding = async move {
            let decided = decided(client, check).await;
            passing(decided, Request::from_parts(parts, body), unreachable)
        };
        // A clone is not ready just because this one is.
        let clone = self.inner.clone();
        ResponseFuture::wait(Box::pin(deciding), std::mem::replace(&mut self.inner, clone))
    }
}

/// A decision, and what it holds.
struct Decided {
    decision: Decision,
    held: Option<InFlight>,
}

/// Asks, in a task of its own: if the caller goes away meanwhile, what was admitted is still finished.
async fn decided(client: Arc<DecisionClient>, check: Check) -> Result<Decided, CallError> {
    let asking = tokio::spawn(async move {
        let mut decision = client.check(check).await?;
        let (permit, lives) = (decision.permit.take(), decision.permit_expires_ms.map(Duration::from_millis));
        let held = permit.map(|permit| InFlight::remote(Permit::new(client, permit, lives)));
        let makes_sense =
            decision.allowed || decision.status.is_client_error() || decision.status.is_server_error();
        match makes_sense {
            true => Ok(Decided { decision, held }),
            false => Err(CallError::Unreadable(Cause::new(format!("refused with {}", decision.status)))),
        }
    });
    asking.await.unwrap_or_else(|error| Err(CallError::Lost(Cause::new(error))))
}

fn passing<B, R>(
    decided: Result<Decided, CallError>,
    mut request: Request<B>,
    unreachable: Unreachable,
) -> Passing<B, R> {
    let Decided { decision, held } = match decided {
        Ok(decided) => decided,
        Err(error) => return without_decision(error, request, unreachable),
    };
    if let Some(noted) = request.extensions().get::<DecisionSlot>() {
        noted.set_remote(&decision);
    }
    if !decision.allowed {
        return Passing::Denied(Box::new(denial::decided(
            &decision,
            GrpcCall::of(request.method(), request.headers()),
        )));
    }
    let who = Introduction {
        account: decision.account.as_deref(),
        tier: decision.tier.as_deref(),
        decision: &decision.decision_id,
    };
    introduce(&who, request.headers_mut());
    if let Some(held) = &held {
        held.passed();
        request.extensions_mut().insert(held.clone());
    }
    let said = Some(Said::Map(Box::new(decision.headers.clone())));
    request.extensions_mut().insert(crate::Decision::remote(decision));
    let protocol = Protocol::of(request.method(), request.headers());
    Passing::Through(request, carried(said, held, None, protocol))
}

fn without_decision<B, R>(
    error: CallError,
    mut request: Request<B>,
    unreachable: Unreachable,
) -> Passing<B, R> {
    if let Some(problem) = denial::blames_the_caller(&error) {
        return Passing::Denied(Box::new(denial::malformed(
            problem,
            GrpcCall::of(request.method(), request.headers()),
        )));
    }
    let undecided = Undecided::new(error);
    match unreachable {
        Unreachable::Deny => {
            let call = GrpcCall::of(request.method(), request.headers());
            Passing::Denied(Box::new(denial::unavailable(undecided, call)))
        }
        Unreachable::Admit => {
            strip(request.headers_mut());
            request.extensions_mut().insert(undecided.clone());
            Passing::Through(request, carried(None, None, Some(undecided), Protocol::Http))
        }
    }
}

fn carried(
    said: Option<Said>,
    held: Option<InFlight>,
    undecided: Option<Undecided>,
    protocol: Protocol,
) -> Carried {
    Carried {
        protocol,
        said,
        held,
        #[cfg(feature = "embedded")]
        passage: None,
        undecided,
    }
}
