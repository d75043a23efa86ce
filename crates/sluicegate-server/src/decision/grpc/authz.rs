//! `envoy.service.auth.v3.Authorization`: a proxy asks with the whole head of the request that it holds.
//!
//! The caller is known by what a gateway would know it by. As with forward-auth nobody calls back when the request has
//! ended, so that it is charged, but holds no place among those in flight.

mod answer;
mod original;

use std::net::IpAddr;

use sluicegate_engine::identify::NameHeader;
use sluicegate_engine::{Answer, CallerRequest, Credential, Engine, Front, Hold, Purpose};

use super::message::authz::{AttributeContext, CheckRequest, CheckResponse, HttpRequest};
use super::status::{Code, Status};
use crate::decision::outcome::free;
use original::Original;

/// The path of the call.
pub(super) const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";

pub(super) async fn check(engine: &Engine, request: CheckRequest) -> Result<CheckResponse, Status> {
    let attributes = request.attributes.unwrap_or_default();
    let Some(http) = http(&attributes) else {
        return Err(Status::new(Code::InvalidArgument, "there is no HTTP request among the attributes"));
    };
    let now = engine.now();
    let original = match Original::of(http) {
        Ok(original) => original,
        Err(wrong) => return Ok(answer::refused(&wrong.into())),
    };
    let headers = &original.headers;
    let name = NameHeader::of(&original.method, headers);
    let request = CallerRequest {
        credential: Credential::Headers(headers),
        address: source(&attributes).map(|peer| engine.address_of(peer, headers)),
        method: &original.method,
        path: &original.path,
        cost: None,
        idempotency_key: name.name(original.query),
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::ExtAuthz,
    };
    let mut decision = engine.decided(&request, now).await;
    free(engine, &mut decision, now);
    Ok(match &decision.answer {
        Answer::Admitted => answer::admitted(&decision, headers),
        Answer::Denied(denial) => answer::denied(&decision, denial),
    })
}

fn http(attributes: &AttributeContext) -> Option<&HttpRequest> {
    attributes.request.as_ref()?.http.as_ref()
}

/// Who sent the request to the proxy.
fn source(attributes: &AttributeContext) -> Option<IpAddr> {
    let address = attributes.source.as_ref()?.address.as_ref()?;
    address.socket_address.as_ref()?.address.parse().ok()
}
