//! Requests that turn their connection into something else, such as a WebSocket.

mod traffic;
mod watch;

use std::sync::Arc;

use http::header::UPGRADE;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use sluicegate_core::policy::TunnelSettings;
use sluicegate_tower::InFlight;
use tokio::io::copy_bidirectional;

use super::download::ProxyBody;
use super::forward::Exchange;
use super::headers;
use super::link::Failed;
use super::problem::Refusal;
use super::upload::RequestBody;
use crate::listen::Peer;
use traffic::{Counted, Traffic};
pub(super) use watch::TunnelCaller;

/// The caller's end of a tunnel.
pub(super) struct Caller {
    pub(super) upgrade: OnUpgrade,
    pub(super) peer: Option<Peer>,
    /// What the request takes while it lasts, which is as long as its tunnel does.
    pub(super) in_flight: Option<InFlight>,
    /// Asks the engine whether the caller may go on; nothing: no engine has decided on the request.
    pub(super) watch: Option<TunnelCaller>,
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
        // Requests that wait for the connection are told why it ended.
        let _ = connection.with_upgrades().await;
    });
    let asked = request.headers().get(UPGRADE).cloned();
    let deadline = exchange.wait.deadline();
    let answer = tokio::time::timeout_at(deadline, send.send_request(request)).await;
    let mut answer = match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(exchange.refusal(&Failed::Broken(error))),
        Err(_) => return Err(exchange.refusal(&Failed::Late)),
    };
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (mut parts, incoming) = answer.into_parts();
        headers::toward_caller(&mut parts.headers);
        let pace = exchange.pace(&parts);
        return Ok(Response::from_parts(parts, ProxyBody::shared(incoming, None, pace)));
    }
    if !is_among(answer.headers().get(UPGRADE), asked.as_ref()) {
        return Err(exchange.refusal(&Failed::Switched));
    }
    tokio::spawn(join(caller, hyper::upgrade::on(&mut answer), exchange.settings.tunnels));
    let (mut parts, _) = answer.into_parts();
    headers::toward_upgraded_caller(&mut parts.headers);
    Ok(Response::from_parts(parts, ProxyBody::whole("")))
}

/// Whether the protocol that the upstream has chosen, if it names one, is among those that were asked for.
fn is_among(chosen: Option<&HeaderValue>, asked: Option<&HeaderValue>) -> bool {
    let Some(chosen) = chosen else { return true };
    let mut asked = asked.into_iter().flat_map(|asked| asked.as_bytes().split(|byte| *byte == b','));
    asked.any(|asked| asked.trim_ascii().eq_ignore_ascii_case(chosen.as_bytes().trim_ascii()))
}

/// Copies in both directions until either end does, the tunnel may not go on, or the listener cuts its connections.
async fn join(caller: Caller, upstream: OnUpgrade, settings: TunnelSettings) {
    let Caller { upgrade, peer, in_flight: _until_the_end, watch } = caller;
    let (Ok(caller), Ok(upstream)) = (upgrade.await, upstream.await) else {
        return;
    };
    let traffic = Arc::new(Traffic::default());
    let mut caller = Counted::new(TokioIo::new(caller), &traffic);
    let mut upstream = TokioIo::new(upstream);
    let cut = async {
        match &peer {
            Some(peer) => peer.cut().await,
            None => std::future::pending().await,
        }
    };
    // How a tunnel ends is between its two ends.
    tokio::select! {
        _ = copy_bidirectional(&mut caller, &mut upstream) => {}
        end = watch::watch(&traffic, &settings, watch.as_ref()) => {
            tracing::debug!(reason = end.as_str(), "a tunnel was closed");
        }
        () = cut => {}
    }
}
