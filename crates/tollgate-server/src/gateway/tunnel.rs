//! Requests that turn their connection into something else, such as a WebSocket.

use http::{Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use super::download::ProxyBody;
use super::forward::Exchange;
use super::headers;
use super::link::Failed;
use super::problem::Refusal;
use super::upload::RequestBody;
use tollgate_tower::InFlight;

use crate::listen::Peer;

/// What a tunnel ends with.
pub(super) struct Ends {
    /// Whose listener may cut it.
    pub(super) peer: Option<Peer>,
    /// Its place among the caller's requests in flight, which it keeps for as long as it is open.
    pub(super) held: Option<InFlight>,
}

/// Passes on a request that asks for another protocol; if the upstream agrees, both ends are joined until one ends.
///
/// The connection is a new one, is driven by a task of its own, and is never used for another request.
pub(super) async fn open(
    exchange: &Exchange<'_>,
    request: Request<RequestBody>,
    caller: OnUpgrade,
    ends: Ends,
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
    tokio::spawn(join(caller, hyper::upgrade::on(&mut answer), ends));
    let (mut parts, _) = answer.into_parts();
    headers::toward_upgraded_caller(&mut parts.headers);
    Ok(Response::from_parts(parts, ProxyBody::whole("")))
}

/// Copies in both directions until either ends, or the listener cuts its connections.
async fn join(caller: OnUpgrade, upstream: OnUpgrade, ends: Ends) {
    let (Ok(caller), Ok(upstream)) = (caller.await, upstream.await) else {
        return;
    };
    let (mut caller, mut upstream) = (TokioIo::new(caller), TokioIo::new(upstream));
    let copied = copy_bidirectional(&mut caller, &mut upstream);
    let Ends { peer, held } = ends;
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
    drop(held);
}
