//! Between the layer that decides and the proxy that forwards: where a route's requests go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use parking_lot::RwLock;
use sluicegate_core::policy::{HttpUrl, ServerSettings};
use sluicegate_tower::gateway::RouteUpstream;
use tower_service::Service;

use super::upstream::{Upstream, UpstreamTarget};

/// How many upstreams are remembered. A policy has at most a thousand routes; with edits of it there may be more, and
/// then all are forgotten and their connections made anew.
const TARGETS_MAX: usize = 4_096;

/// Gives requests the upstream of their route, if it has one of its own.
#[derive(Clone, Debug)]
pub struct Steer<S> {
    inner: S,
    known: Arc<Known>,
}

/// The upstreams that were asked for, and how they are spoken to.
#[derive(Debug)]
struct Known {
    server: ServerSettings,
    targets: RwLock<BTreeMap<String, Arc<UpstreamTarget>>>,
}

impl<S> Steer<S> {
    /// Stands before this service.
    pub fn new(inner: S, server: &ServerSettings) -> Self {
        let known = Known { server: server.clone(), targets: RwLock::default() };
        Self { inner, known: Arc::new(known) }
    }
}

impl Known {
    fn target(&self, url: &HttpUrl) -> Option<Arc<UpstreamTarget>> {
        if let Some(target) = self.targets.read().get(url.as_str()) {
            return Some(Arc::clone(target));
        }
        // A URL that nothing can be forwarded to was refused when the policy was read.
        let made = Arc::new(UpstreamTarget::http(url, &self.server).ok()?);
        let mut targets = self.targets.write();
        if targets.len() >= TARGETS_MAX {
            targets.clear();
        }
        Some(Arc::clone(targets.entry(url.as_str().to_owned()).or_insert(made)))
    }
}

impl<S, B> Service<Request<B>> for Steer<S>
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
        if let Some(RouteUpstream { upstream }) = request.extensions_mut().remove::<RouteUpstream>()
            && let Some(target) = self.known.target(&upstream)
        {
            request.extensions_mut().insert(Upstream(target));
        }
        self.inner.call(request)
    }
}
