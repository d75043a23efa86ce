//! gRPC: the services that Envoy asks, health and reflection, on the port and the connections of the decision API.
//!
//! Here is the table of contents; every call is a file. A call with one message each way is a few bytes around two
//! messages, and nothing more is done for it.

mod authz;
mod frame;
mod health;
mod message;
mod ratelimit;
mod reflection;
mod status;

use std::future::Future;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Request, Response, Version};
use http_body::Body;
use prost::Message;
use sluicegate_engine::Engine;

use status::{Code, Status};

use super::refusal::Refusal;
use super::{Reply, ReplyBody};
use crate::access::{Grant, Unauthorized};
use crate::listen::Peer;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// The calls that need no token.
pub(super) use health::{CHECK as HEALTH_CHECK, WATCH as HEALTH_WATCH};

/// The gRPC status for a caller without a credential.
pub(super) fn unauthorized(why: Unauthorized) -> Reply {
    let (code, message) = match why {
        Unauthorized::Missing => {
            (Code::Unauthenticated, "a token is needed in authorization: Bearer <token>")
        }
        Unauthorized::Wrong => (Code::Unauthenticated, "the token is wrong, expired or revoked"),
        Unauthorized::TooMany => {
            (Code::ResourceExhausted, "too many wrong tokens were sent from this address")
        }
        Unauthorized::Role => (Code::PermissionDenied, "the token does not have the role decide"),
    };
    Status::new(code, message).reply()
}

/// Whether a request is a call.
pub(super) fn is_meant(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|given| {
        let essence = given.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        let is = |name: &[u8]| essence.trim_ascii().eq_ignore_ascii_case(name);
        is(b"application/grpc") || is(b"application/grpc+proto")
    })
}

/// Answers a call.
pub(super) async fn post<B>(
    engine: &Engine,
    grant: &Grant,
    mut request: Request<B>,
    peer: Option<&Peer>,
) -> Result<Reply, Refusal>
where
    B: Body<Data = Bytes, Error: Send> + Unpin + Send + 'static,
{
    // There may be no trailers, and every answer ends with some.
    if request.version() < Version::HTTP_2 {
        return Err(Refusal::GrpcNeedsHttp2);
    }
    let answered = match request.uri().path() {
        ratelimit::SHOULD_RATE_LIMIT => {
            unary(request.body_mut(), |asked| ratelimit::should_rate_limit(engine, grant, asked)).await
        }
        authz::CHECK => unary(request.body_mut(), |asked| authz::check(engine, asked)).await,
        health::CHECK => unary(request.body_mut(), async |asked| health::check(&asked, peer)).await,
        health::WATCH => health::watch(request.body_mut(), peer).await,
        reflection::INFO_V1 | reflection::INFO_V1_ALPHA => Ok(reflection::info(request.into_body(), peer)),
        path => Err(Status::new(Code::Unimplemented, format!("there is no method {path} here"))),
    };
    Ok(answered.unwrap_or_else(|status| status.reply()))
}

/// A call with one message each way.
async fn unary<B, Q, A, F>(body: &mut B, answer: impl FnOnce(Q) -> F) -> Result<Reply, Status>
where
    B: Body<Data = Bytes> + Unpin,
    Q: Message + Default,
    A: Message,
    F: Future<Output = Result<A, Status>>,
{
    let asked = frame::read_one(body).await?;
    Ok(reply(ReplyBody::message(frame::framed(&answer(asked).await?))))
}

fn reply(body: ReplyBody) -> Reply {
    let mut reply = Response::new(body);
    reply.headers_mut().insert(CONTENT_TYPE, GRPC);
    reply
}

/// Over once the server has begun to end: nobody's stream may hold that up.
async fn draining(peer: Option<&Peer>) {
    match peer {
        Some(peer) => peer.draining().await,
        None => std::future::pending().await,
    }
}
