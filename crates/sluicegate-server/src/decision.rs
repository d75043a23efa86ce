//! The decision API: whoever stands in front of an API asks here whether a caller may pass.
//!
//! On bare hyper: an answer costs little more than the decision itself. `routes.rs` is the table of contents; every
//! endpoint is a file. `grpc.rs` is another such table, for those who speak that.

mod batch;
mod body;
mod check;
mod finish;
mod forward_auth;
mod grpc;
mod health;
mod json;
mod outcome;
mod refusal;
mod renew;
mod reply;
mod reply_body;
mod routes;
mod sessions;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use sluicegate_core::policy::Permissions;
use sluicegate_engine::Engine;

use crate::access::Access;
use crate::listen::{Answers, Peer};
pub use reply_body::ReplyBody;
use sessions::Verifying;

/// An answer of the decision API.
pub type Reply = Response<ReplyBody>;

/// Answers the requests of the decision API. Clones share the engine.
#[derive(Clone, Debug)]
pub struct DecisionService {
    engine: Arc<Engine>,
    verifying: Arc<Verifying>,
    access: Access,
}

impl DecisionService {
    /// The API over this engine. Nobody needs a token, and nobody without one may vouch or give back.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, verifying: Arc::default(), access: Access::open(Permissions::NONE) }
    }

    /// The same for these callers.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Answers one request, of this peer if it is known.
    pub async fn respond<B>(&self, request: Request<B>, peer: Option<&Peer>) -> Reply
    where
        B: Body<Data = Bytes, Error: Send> + Unpin + Send + 'static,
    {
        routes::answer(&self.engine, &self.verifying, self.access, request, peer).await
    }
}

impl Answers for DecisionService {
    type Body = ReplyBody;

    async fn answer(self, request: Request<Incoming>, peer: Peer) -> Reply {
        self.respond(request, Some(&peer)).await
    }
}
