//! `GET /admin/v1/clients/{id}`: what is held against a client, and what it has left.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_engine::abuse::ClientNow;
use utoipa::ToSchema;

use super::{ClientPath, nobody};
use crate::auth::Call;
use crate::blocks::BlockBody;
use crate::pressure::address_text;
use crate::problem::Problem;
use crate::{Shared, instant};

/// A client as it stands.
#[derive(Serialize, ToSchema)]
#[schema(as = Client)]
pub(crate) struct ClientBody {
    /// Its id.
    #[schema(example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")]
    id: String,
    /// The tier of callers without a key.
    #[schema(example = "free")]
    tier: String,
    /// Its reputation; null where the policy keeps none.
    #[schema(required)]
    reputation: Option<ReputationBody>,
    /// Its refusals that count towards a block; null where the policy blocks nobody.
    #[schema(required)]
    strikes: Option<StrikesBody>,
    /// Its block; null: it is not blocked.
    #[schema(required)]
    block: Option<BlockBody>,
    /// The pressure on the address that it came from last; null where the policy watches none, or this node has not
    /// seen it lately.
    #[schema(required)]
    pressure: Option<PressureBody>,
    /// What every limit of the tier says of it.
    limits: Vec<ClientLimit>,
}

/// A reputation.
#[derive(Serialize, ToSchema)]
#[schema(as = Reputation)]
pub(crate) struct ReputationBody {
    /// From 100, where everybody starts, down to 0.
    #[schema(maximum = 100, example = 85)]
    score: u8,
    /// How bad that is: `low`, `medium`, `high` or `critical`.
    #[schema(example = "low")]
    bucket: &'static str,
    /// What that leaves of its limits, in percent.
    #[schema(minimum = 1, maximum = 100, example = 100)]
    limits_percent: u8,
}

/// Refusals that count towards a block.
#[derive(Serialize, ToSchema)]
#[schema(as = Strikes)]
pub(crate) struct StrikesBody {
    /// How many there were lately.
    #[schema(example = 3)]
    count: u64,
    /// How many it takes.
    #[schema(example = 10)]
    limit: u64,
}

/// The pressure on an address.
#[derive(Serialize, ToSchema)]
#[schema(as = Pressure)]
pub(crate) struct PressureBody {
    /// Whether so many fingerprints were seen behind it that its clients without a session share one meter per limit.
    squeezed: bool,
    /// Until when, if it is squeezed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime, example = "2026-11-01T13:00:00.000Z")]
    until: Option<String>,
    /// What stands for the address: a keyed hash.
    #[schema(example = "8796a5b4c3d2e1f0")]
    address: String,
}

/// What one limit says.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClientLimit {
    /// Its name.
    #[schema(example = "rate")]
    name: String,
    /// The amount per its window, for a client in good standing.
    limit: u64,
    /// What counts against it.
    used: u64,
    /// The most that would be admitted now.
    remaining: u64,
    /// How long until more is free.
    reset_ms: u64,
}

impl ClientBody {
    fn of(id: String, now: ClientNow) -> Self {
        let ClientNow { tier, reputation, strikes, block, pressure, limits } = now;
        Self {
            id,
            tier: tier.to_string(),
            reputation: reputation.map(|known| ReputationBody {
                score: known.score,
                bucket: known.bucket.as_str(),
                limits_percent: known.bucket.share().get(),
            }),
            strikes: strikes.map(|known| StrikesBody { count: known.count, limit: known.limit }),
            block: block.as_ref().map(BlockBody::of),
            pressure: pressure.map(|known| PressureBody {
                squeezed: known.squeezed.is_some(),
                until: known.squeezed.map(|squeezed| instant::text(squeezed.until)),
                address: address_text(known.address),
            }),
            limits: limits.iter().map(ClientLimit::of).collect(),
        }
    }
}

impl ClientLimit {
    fn of(now: &LimitNow) -> Self {
        let name = now.name.as_str().to_owned();
        let (limit, used, remaining) = (now.limit, now.used, now.remaining);
        Self { name, limit, used, remaining, reset_ms: now.next.as_millis_ceil() }
    }
}

/// Show a client
///
/// Whoever has not called yet stands as everybody does at first.
#[utoipa::path(
    get,
    path = "/admin/v1/clients/{id}",
    tag = "abuse",
    operation_id = "showClient",
    params(("id" = String, Path, description = "The client", example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")),
    responses(
        (status = 200, description = "The client", body = ClientBody),
        (status = 404, description = "It cannot be a client, or callers without a key are not let in"),
    )
)]
pub(crate) async fn show(
    State(admin): State<Shared>,
    call: Call,
    ClientPath(id): ClientPath,
) -> Result<Json<ClientBody>, Problem> {
    let now = admin.engine.client(id, call.now).await?.ok_or_else(nobody)?;
    Ok(Json(ClientBody::of(id.to_string(), now)))
}
