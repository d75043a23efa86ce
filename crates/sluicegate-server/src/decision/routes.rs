//! The table of contents: which path and method is which endpoint.

use bytes::Bytes;
use http::{Method, Request};
use http_body::Body;
use sluicegate_engine::Engine;

use super::refusal::Refusal;
use super::sessions::Verifying;
use super::{Reply, batch, check, finish, forward_auth, grpc, health, renew, sessions};
use crate::listen::Peer;

/// Answers one request.
pub(super) async fn answer<B>(
    engine: &Engine,
    verifying: &Verifying,
    request: Request<B>,
    peer: Option<&Peer>,
) -> Reply
where
    B: Body<Data = Bytes, Error: Send> + Unpin + Send + 'static,
{
    let answered = match (request.uri().path(), request.method()) {
        ("/v1/check", &Method::POST) => check::post(engine, request).await,
        ("/v1/check/batch", &Method::POST) => batch::post(engine, request).await,
        ("/v1/finish", &Method::POST) => finish::post(engine, request).await,
        ("/v1/renew", &Method::POST) => renew::post(engine, request).await,
        ("/v1/forward-auth", _) => Ok(forward_auth::any(engine, request, peer).await),
        // In a box: it waits for others, and all that this takes would be moved with every answer.
        ("/v1/sessions", &Method::POST) => Box::pin(sessions::post(engine, verifying, request, peer)).await,
        ("/health", &Method::GET | &Method::HEAD) => Ok(health::get(engine)),
        // Not before the paths above: proxies ask with the headers of whatever they hold.
        (_, method) if grpc::is_meant(request.headers()) => {
            if method == Method::POST {
                grpc::post(engine, request, peer).await
            } else {
                Err(NOT_POST)
            }
        }
        (path, _) => Err(elsewhere(path)),
    };
    answered.unwrap_or_else(|refusal| refusal.reply())
}

const NOT_POST: Refusal = Refusal::Method { allow: "POST" };

#[cold]
fn elsewhere(path: &str) -> Refusal {
    match path {
        "/v1/check" | "/v1/check/batch" | "/v1/finish" | "/v1/renew" | "/v1/sessions" => NOT_POST,
        "/health" => Refusal::Method { allow: "GET, HEAD" },
        _ => Refusal::NoSuchPath,
    }
}
