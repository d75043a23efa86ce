//! The table of contents: which path and method is which endpoint.

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body::Body;
use sluicegate_engine::Engine;

use super::refusal::Refusal;
use super::sessions::Verifying;
use super::{Reply, batch, check, finish, forward_auth, grpc, health, renew, sessions};
use crate::access::{self, Access, Grant, TokenPlace, Unauthorized};
use crate::listen::Peer;

/// Answers one request.
pub(super) async fn answer<B>(
    engine: &Engine,
    verifying: &Verifying,
    access: Access,
    request: Request<B>,
    peer: Option<&Peer>,
) -> Reply
where
    B: Body<Data = Bytes, Error: Send> + Unpin + Send + 'static,
{
    let mut grant = Grant::NONE;
    if let Some(place) = token_place(access, request.uri().path()) {
        let address = peer.map(|peer| peer.address().ip());
        // Not the request itself, whose body other threads may not see.
        let headers = request.headers();
        match access::check(engine, access, headers, place, address).await {
            Ok(granted) => grant = granted,
            Err(why) => return unauthorized(why, place, request.headers()),
        }
    }
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
                grpc::post(engine, &grant, request, peer).await
            } else {
                Err(NOT_POST)
            }
        }
        (path, _) => Err(elsewhere(path)),
    };
    answered.unwrap_or_else(|refusal| refusal.reply())
}

/// Where a call to this path carries the port's token; nothing: it needs none.
fn token_place(access: Access, path: &str) -> Option<TokenPlace> {
    match path {
        // Health is everybody's to see.
        "/health" | grpc::HEALTH_CHECK | grpc::HEALTH_WATCH => None,
        // There `Authorization` is the caller's. Where no token is needed the header is not read: a proxy may pass on
        // one that its caller made up.
        "/v1/forward-auth" | "/v1/sessions" | "/v1/usage" => {
            access.is_required().then_some(TokenPlace::OwnHeader)
        }
        _ => Some(TokenPlace::Authorization),
    }
}

/// The answer to a caller that may not ask.
#[cold]
fn unauthorized(why: Unauthorized, place: TokenPlace, headers: &HeaderMap) -> Reply {
    if place == TokenPlace::Authorization && grpc::is_meant(headers) {
        grpc::unauthorized(why)
    } else {
        Refusal::Unauthorized(why).reply()
    }
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
