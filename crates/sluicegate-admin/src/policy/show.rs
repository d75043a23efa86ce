//! `GET /admin/v1/policy`: the policy in force, as it was written.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Shared, instant};
use sluicegate_node::LastLoads;

/// The policy in force.
#[derive(Serialize, ToSchema)]
#[schema(as = Policy)]
pub(crate) struct PolicyBody {
    /// Counts up with every policy that came into force.
    #[schema(minimum = 1, example = 3)]
    version: u64,
    /// The file it was read from; null: it is built in.
    #[schema(required, example = "/etc/sluicegate/policy.yaml")]
    path: Option<String>,
    /// When it came into force.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    loaded_at: String,
    /// The text of the file.
    #[schema(example = "tiers: {free: {rate: 10}}\n")]
    text: String,
    /// The policy that was in force until then; null since the start of the process.
    #[schema(required)]
    before: Option<BeforeBody>,
    /// The file's newer content, if that was rejected.
    #[schema(required)]
    rejected: Option<RejectedBody>,
}

/// The policy before the one in force: what a reload changed is the difference.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyBefore)]
pub(crate) struct BeforeBody {
    /// Its number.
    #[schema(minimum = 1, example = 2)]
    version: u64,
    /// When it came into force.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    loaded_at: String,
    /// The text of the file.
    #[schema(example = "tiers: {free: {rate: 5}}\n")]
    text: String,
}

/// A policy that was rejected.
#[derive(Serialize, ToSchema)]
#[schema(as = RejectedPolicy)]
pub(crate) struct RejectedBody {
    /// When it was tried.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    at: String,
    /// Everything that is wrong with it, as a person reads it.
    problems: String,
}

impl From<LastLoads> for PolicyBody {
    fn from(last: LastLoads) -> Self {
        let LastLoads { loaded, before, rejected } = last;
        Self {
            version: loaded.version,
            path: loaded.path,
            loaded_at: instant::text(loaded.at),
            text: loaded.text.to_string(),
            before: before.map(|before| BeforeBody {
                version: before.version,
                loaded_at: instant::text(before.at),
                text: before.text.to_string(),
            }),
            rejected: rejected.map(|rejected| RejectedBody {
                at: instant::text(rejected.at),
                problems: rejected.problems.to_string(),
            }),
        }
    }
}

/// Show the policy in force
#[utoipa::path(
    get,
    path = "/admin/v1/policy",
    tag = "policy",
    operation_id = "showPolicy",
    responses((status = 200, description = "The policy", body = PolicyBody))
)]
pub(crate) async fn show(State(admin): State<Shared>) -> Json<PolicyBody> {
    Json(admin.reload.last().into())
}
