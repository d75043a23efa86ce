//! The gateway as one service: well-formed? who, and may it pass? where to?

use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use sluicegate_core::policy::ServerSettings;
use sluicegate_engine::Engine;
use sluicegate_tower::{SluicegateLayer, SluicegateService};
use tower_layer::Layer as _;
use tower_service::Service;

use super::forward::{Forward, ForwardSettings};
use super::guard::{Guard, GuardSettings};
use super::in_flight::InFlightByAddress;
use super::steer::Steer;
use super::upstream::{BadUpstream, UpstreamTarget};
use crate::listen::Peer;

/// Everything that a request goes through, the outermost first.
pub type Gateway = Guard<Introduce<SluicegateService<Steer<Forward>>>>;

/// The gateway before the upstream of these settings, or before a built-in echo.
pub fn gateway(engine: Arc<Engine>, server: &ServerSettings) -> Result<Gateway, BadUpstream> {
    let target = match &server.upstream {
        Some(url) => UpstreamTarget::http(url, server)?,
        None => UpstreamTarget::Echo,
    };
    let forward = Forward::behind(Arc::clone(&engine), Arc::new(target), ForwardSettings::new(server));
    let decided = SluicegateLayer::of_gateway(engine).layer(Steer::new(forward, server));
    let guard = Guard::new(Introduce { inner: decided }, GuardSettings::new(&server.max));
    Ok(guard.counting(InFlightByAddress::new(server)))
}

/// Tells the layer who is at the other end, in its own words.
#[derive(Clone, Debug)]
pub struct Introduce<S> {
    inner: S,
}

impl<S, B> Service<Request<B>> for Introduce<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        if let Some(address) = request.extensions().get::<Peer>().map(Peer::address) {
            request.extensions_mut().insert(sluicegate_tower::Peer(address));
        }
        self.inner.call(request)
    }
}
