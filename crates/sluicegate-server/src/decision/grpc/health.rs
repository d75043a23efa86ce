//! `grpc.health.v1.Health`: whether decisions are made here, once or for as long as somebody wants to know.

use bytes::Bytes;
use http_body::Body;
use tokio::sync::mpsc;

use super::super::reply_body::{Part, ReplyBody};
use super::message::health::{HealthCheckRequest, HealthCheckResponse, ServingStatus};
use super::status::{Code, Status};
use super::{Reply, draining, frame, reply};
use crate::listen::Peer;

/// The paths of the calls.
pub(in crate::decision) const CHECK: &str = "/grpc.health.v1.Health/Check";
pub(in crate::decision) const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// The services whose health is asked for by name. No name at all means the server.
const SERVICES: [&str; 3] =
    ["", "envoy.service.ratelimit.v3.RateLimitService", "envoy.service.auth.v3.Authorization"];

/// There are two states to tell of, and the end.
const PARTS_MAX: usize = 3;

pub(super) fn check(
    request: &HealthCheckRequest,
    peer: Option<&Peer>,
) -> Result<HealthCheckResponse, Status> {
    match state(request, peer) {
        ServingStatus::ServiceUnknown => {
            Err(Status::new(Code::NotFound, format!("there is no service {} here", request.service)))
        }
        known => Ok(HealthCheckResponse { status: known.into() }),
    }
}

/// Says how it is, and once more when that changes. The end of the server is the end of the call.
pub(super) async fn watch<B>(body: &mut B, peer: Option<&Peer>) -> Result<Reply, Status>
where
    B: Body<Data = Bytes> + Unpin,
{
    let request: HealthCheckRequest = frame::read_one(body).await?;
    let (parts, sent) = mpsc::channel(PARTS_MAX);
    let state = state(&request, peer);
    let peer = peer.cloned();
    tokio::spawn(async move {
        if tell(&parts, state).await.is_err() {
            return;
        }
        tokio::select! {
            () = parts.closed() => return,
            () = draining(peer.as_ref()) => {}
        }
        if state == ServingStatus::Serving {
            let _ = tell(&parts, ServingStatus::NotServing).await;
        }
        let _ = parts.send(Part::End(Code::Unavailable.number())).await;
    });
    Ok(reply(ReplyBody::stream(sent)))
}

async fn tell(parts: &mpsc::Sender<Part>, state: ServingStatus) -> Result<(), mpsc::error::SendError<Part>> {
    parts.send(Part::Message(frame::framed(&HealthCheckResponse { status: state.into() }))).await
}

fn state(request: &HealthCheckRequest, peer: Option<&Peer>) -> ServingStatus {
    if !SERVICES.contains(&request.service.as_str()) {
        ServingStatus::ServiceUnknown
    } else if peer.is_some_and(Peer::is_draining) {
        ServingStatus::NotServing
    } else {
        ServingStatus::Serving
    }
}
