//! Requests that turn their connection into something else, such as a WebSocket.

use http::{Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use sluicegate_tower::InFlight;
use tokio::io::copy_bidirectional;

use super::download::ProxyBody;
use super::forward::Exchange;
use super::headers;
use super::link::Failed;
use super::problem::Refusal;
use super::upload::RequestBody;
use crate::listen::Peer;

/// The caller's end of a tunnel.
pub(super) struct Caller {
    pub(super) upgrade: OnUpgrade,
    pub(super) peer: Option<Peer>,
    /// What the request takes while it lasts, which is as long as its tunnel does.
    pub(super) in_flight: Option<InFlight>,
}

/// Passes on a request that asks for another protocol; if the upstream agrees, both ends are joined until one ends.
///
/// The connection is a new one, is driven by a task of its own, and is never used for another request.
pub(super) async fn open(
    exchange: &Exchange<'_>,
    request: Request<RequestBody>,
    caller: Caller,
) -> Result<Response<ProxyBody>, Refusal> {
    let (mut send, connection) = exchange.link().await?.into_parts();
    tokio::spawn(async move {
        // Whoever waits on the connection is told why it ended.
        let _ = connection.with_upgrades().await;
    });
    let answer = tokio::time::timeout(exchange.settings.read, send.send_request(request)).await;
    let mut answer = match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(exchange.refusal(&Failed::Broken(error))),
        Err(_) => return Err(exchange.refusal(&Failed::Late)),
    };
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (mut parts, incoming) = answer.into_parts();
        headers::toward_caller(&mut parts.headers);
        return Ok(Response::from_parts(parts, ProxyBody::shared(incoming, exchange.settings.idle)));
    }
    tokio::spawn(join(caller, hyper::upgrade::on(&mut answer)));
    let (mut parts, _) = answer.into_parts();
    headers::toward_upgraded_caller(&mut parts.headers);
    Ok(Response::from_parts(parts, ProxyBody::whole("")))
}

/// Copies in both directions until either ends, or the listener cuts its connections.
async fn join(caller: Caller, upstream: OnUpgrade) {
    let Caller { upgrade, peer, in_flight: _until_the_end } = caller;
    let (Ok(caller), Ok(upstream)) = (upgrade.await, upstream.await) else {
        return;
    };
    let (mut caller, mut upstream) = (TokioIo::new(caller), TokioIo::new(upstream));
    let copied = copy_bidirectional(&mut caller, &mut upstream);
    match peer {
        // How a tunnel ends is between its two ends.
        Some(peer) => tokio::select! {
            _ = copied => {}
            () = peer.cut() => {}
        },
        None => {
            let _ = copied.await;
        }
    }
}
