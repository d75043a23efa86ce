//! `GET /admin/v1/overview`: the last hour at a glance.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_engine::pulse::{Outcomes, Pulse, STEP_S, Step};
use sluicegate_engine::{Front, StoreMode};
use utoipa::ToSchema;

use super::asked::{OverviewParams, read_count};
use super::auth::Call;
use super::input::{QueryPairs, unknown};
use super::problem::Problem;
use super::{Admin, Shared, instant};

/// The longest past that is known.
const MINUTES_MAX: usize = 60;

/// The last hour at a glance.
#[derive(Serialize, ToSchema)]
#[schema(as = Overview)]
pub(crate) struct OverviewBody {
    /// When this was written.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    now: String,
    /// Since when the process runs.
    #[schema(format = DateTime, example = "2026-11-01T08:00:00.000Z")]
    started: String,
    /// `degraded`: the store is away, and this node decides by what the policy says for that.
    #[schema(example = "normal")]
    mode: &'static str,
    /// Counts up with every policy that came into force.
    #[schema(minimum = 1, example = 3)]
    policy_version: u64,
    /// The length of a step of the series, in seconds.
    #[schema(example = 10)]
    step_s: u32,
    /// What became of requests, the oldest step first. The last one has just begun.
    series: Vec<StepBody>,
    /// The whole series together.
    totals: OutcomesBody,
    /// What each front end was asked since the process runs.
    fronts: Vec<FrontBody>,
    /// Requests in flight that hold a place of a concurrency limit.
    #[schema(example = 12)]
    in_flight: usize,
    /// Accounts and clients that have meters in memory.
    #[schema(example = 4_210)]
    homes: usize,
    /// Callers that are blocked.
    #[schema(example = 2)]
    blocks: usize,
    /// Alerts that fire.
    #[schema(example = 0)]
    alerts_firing: usize,
}

/// What became of requests.
#[derive(Serialize, ToSchema)]
#[schema(as = Outcomes)]
pub(crate) struct OutcomesBody {
    /// So many were admitted.
    #[schema(example = 1_230)]
    admitted: u64,
    /// So many were refused, by the error code. One that is absent is 0.
    refused: BTreeMap<String, u64>,
}

/// What became of the requests of one step.
#[derive(Serialize, ToSchema)]
#[schema(as = OverviewStep)]
pub(crate) struct StepBody {
    /// When it began.
    #[schema(format = DateTime, example = "2026-11-01T11:59:50.000Z")]
    at: String,
    #[serde(flatten)]
    outcomes: OutcomesBody,
}

/// What a front end was asked.
#[derive(Serialize, ToSchema)]
#[schema(as = FrontEnd)]
pub(crate) struct FrontBody {
    /// `gateway`, `decision`, `forward_auth` or `middleware`.
    #[schema(example = "gateway")]
    front: &'static str,
    /// How many decisions.
    #[schema(example = 123_456)]
    count: u64,
    /// Half of them took no longer than so many microseconds.
    #[schema(example = 3)]
    p50_us: u64,
    /// All but one in a hundred took no longer than so many microseconds.
    #[schema(example = 12)]
    p99_us: u64,
}

impl From<Outcomes> for OutcomesBody {
    fn from(outcomes: Outcomes) -> Self {
        let refused = outcomes.refused().map(|(code, count)| (code.as_str().to_owned(), count));
        Self { admitted: outcomes.admitted(), refused: refused.collect() }
    }
}

impl From<&Step> for StepBody {
    fn from(step: &Step) -> Self {
        Self { at: instant::text(step.at), outcomes: step.outcomes.into() }
    }
}

impl FrontBody {
    fn of(front: Front, pulse: &Pulse) -> Self {
        let took = pulse.took(front);
        Self {
            front: front.as_str(),
            count: pulse.outcomes(front).total(),
            p50_us: took.per_mille(500).0.div_ceil(1_000),
            p99_us: took.per_mille(990).0.div_ceil(1_000),
        }
    }
}

/// Show the last hour at a glance
///
/// As this node has seen it.
#[utoipa::path(
    get,
    path = "/admin/v1/overview",
    tag = "decisions",
    operation_id = "showOverview",
    params(OverviewParams),
    responses((status = 200, description = "The last hour", body = OverviewBody))
)]
pub(crate) async fn overview(
    State(admin): State<Shared>,
    call: Call,
    QueryPairs(pairs): QueryPairs,
) -> Result<Json<OverviewBody>, Problem> {
    let mut minutes = MINUTES_MAX;
    for (name, value) in pairs {
        match name.as_str() {
            "minutes" => minutes = read_count("minutes", &value, MINUTES_MAX)?,
            _ => return Err(unknown(&name, &["minutes"])),
        }
    }
    let (engine, pulse) = (&admin.engine, admin.engine.pulse());
    engine.beat(call.now);
    let steps = pulse.steps(minutes * 6, call.now);
    let totals = steps.iter().fold(Outcomes::default(), |all, step| all.plus(&step.outcomes));
    Ok(Json(OverviewBody {
        now: instant::text(call.now),
        started: instant::text(admin.started),
        mode: engine.store_mode().as_str(),
        policy_version: engine.policy().version(),
        step_s: STEP_S,
        series: steps.iter().map(StepBody::from).collect(),
        totals: totals.into(),
        fronts: Front::ALL.into_iter().map(|front| FrontBody::of(front, pulse)).collect(),
        in_flight: engine.in_flight(),
        homes: engine.homes(),
        blocks: engine.blocks_now(),
        alerts_firing: alerts_firing(&admin).await,
    }))
}

/// How many alerts are firing. While the store cannot be asked, those of this node are.
async fn alerts_firing(admin: &Admin) -> usize {
    let engine = &admin.engine;
    let own = engine.own_alerts().filter(|_| engine.store_mode() == StoreMode::Degraded);
    own.unwrap_or_else(|| engine.alerts()).firing().await.map_or(0, |firing| firing.len())
}
