//! `GET /health`: how the process is doing, for anybody. No secrets, no addresses, nothing of the policy's text.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_engine::StoreMode;
use sluicegate_engine::clock::{ClockStatus, HeldStep};
use sluicegate_ledger::Health;
use sluicegate_store::identity::StoreState;
use utoipa::ToSchema;

use super::auth::Call;
use super::{Shared, instant};

/// How the process is doing.
#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthBody {
    /// `degraded`: it serves, and somebody should look at it.
    status: Status,
    /// The version of the program.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// How long it runs.
    #[schema(example = 3600)]
    uptime_s: u64,
    policy: PolicyHealth,
    ledger: LedgerHealth,
    store: StoreHealth,
    clock: ClockHealth,
}

/// Whether time is plausible. A clock that leapt more than an hour ahead is not followed until that is confirmed.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClockHealth {
    state: ClockState,
    /// How far the system clock is ahead of the time by which is decided, if it is not followed.
    #[schema(required, example = json!(null))]
    system: Option<HeldClock>,
    /// The same of the store's clock.
    #[schema(required, example = json!(null))]
    store: Option<HeldClock>,
}

/// Whether all clocks are followed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClockState {
    /// They are.
    Plausible,
    /// One leapt ahead. Decisions go on by the time before.
    Implausible,
}

/// A clock that is not followed.
#[derive(Serialize, ToSchema)]
pub(crate) struct HeldClock {
    /// By how many seconds it is ahead.
    #[schema(example = 315_360_000)]
    ahead_s: u64,
    /// After how many seconds it is followed, if it stays so. `POST /admin/v1/clock/confirm` does it at once.
    #[schema(example = 540)]
    followed_in_s: u64,
}

impl From<ClockStatus> for ClockHealth {
    fn from(status: ClockStatus) -> Self {
        let held = |step: HeldStep| HeldClock {
            ahead_s: step.ahead.0 / 1_000_000_000,
            followed_in_s: step.remaining.as_secs_ceil(),
        };
        let state = if status.is_plausible() { ClockState::Plausible } else { ClockState::Implausible };
        Self { state, system: status.wall.map(held), store: status.store.map(held) }
    }
}

/// Where the meters are.
#[derive(Serialize, ToSchema)]
pub(crate) struct StoreHealth {
    kind: StoreKind,
    /// `degraded`: the store is away, and this node decides by what the policy says for that.
    #[schema(example = "normal")]
    mode: &'static str,
    /// Whether it is the store that this node knows. `emptied`: it has lost its accounts and keys. `other`: it is
    /// another one. In both cases nothing is written to it until it is restored or adopted, and only callers are served
    /// that the node has seen lately.
    #[schema(example = "known")]
    directory: &'static str,
}

/// Which store.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    /// In this process.
    Embedded,
    /// In a Redis or Valkey that several nodes share.
    Redis,
}

/// Whether somebody should look.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// All is well.
    Ok,
    /// Something is not.
    Degraded,
}

/// The policy.
#[derive(Serialize, ToSchema)]
pub(crate) struct PolicyHealth {
    /// Counts up with every policy that came into force.
    #[schema(minimum = 1, example = 3)]
    version: u64,
    /// The file's newer content, if that was rejected. `GET /admin/v1/policy` says why.
    #[schema(required)]
    rejected: Option<RejectedHealth>,
}

/// A policy that was rejected.
#[derive(Serialize, ToSchema)]
pub(crate) struct RejectedHealth {
    /// When it was tried.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    at: String,
    /// How many problems it has.
    #[schema(example = 2)]
    problems: usize,
}

/// The record of admitted requests.
#[derive(Serialize, ToSchema)]
pub(crate) struct LedgerHealth {
    state: LedgerState,
    /// What the system says, if something is wrong.
    #[schema(required, example = "no space left on device")]
    detail: Option<String>,
}

/// Whether admitted requests can be recorded.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LedgerState {
    /// They can.
    Good,
    /// There is no room for many more.
    Full,
    /// They cannot be written to disk.
    Failing,
}

/// Show how the process is doing
///
/// Load balancers ask `/ready`.
#[utoipa::path(
    get,
    path = "/health",
    tag = "process",
    operation_id = "health",
    responses((status = 200, description = "How it is doing", body = HealthBody))
)]
pub(crate) async fn health(State(admin): State<Shared>, _: Call) -> Json<HealthBody> {
    let ledger = LedgerHealth::from(admin.engine.spool().health());
    let rejected = admin.reload.last().rejected;
    let mode = admin.engine.store_mode();
    let clock = admin.engine.clock_status();
    let directory = admin.engine.directory().store_state();
    let kind = if admin.engine.is_shared() { StoreKind::Redis } else { StoreKind::Embedded };
    Json(HealthBody {
        status: match (&ledger.state, &rejected, mode, directory) {
            (LedgerState::Good, None, StoreMode::Normal, StoreState::Known) if clock.is_plausible() => {
                Status::Ok
            }
            _ => Status::Degraded,
        },
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: admin.engine.uptime().0.saturating_sub(admin.started_after.0) / 1_000_000_000,
        policy: PolicyHealth {
            version: admin.engine.policy().version(),
            rejected: rejected
                .map(|rejected| RejectedHealth { at: instant::text(rejected.at), problems: rejected.count }),
        },
        ledger,
        store: StoreHealth { kind, mode: mode.as_str(), directory: directory.as_str() },
        clock: clock.into(),
    })
}

impl From<Health> for LedgerHealth {
    fn from(health: Health) -> Self {
        let (state, detail) = match health {
            Health::Good => (LedgerState::Good, None),
            Health::Full { left, reason } => {
                (LedgerState::Full, Some(format!("room for {left} more records: {reason}")))
            }
            Health::Failing { reason } => (LedgerState::Failing, Some(reason)),
        };
        Self { state, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_failing_ledger_says_why() {
        let full = LedgerHealth::from(Health::Full { left: 7, reason: "no space".to_owned() });
        assert_eq!(
            serde_json::to_string(&full).unwrap(),
            r#"{"state":"full","detail":"room for 7 more records: no space"}"#
        );
        let failing = LedgerHealth::from(Health::Failing { reason: "input/output error".to_owned() });
        assert_eq!(
            serde_json::to_string(&failing).unwrap(),
            r#"{"state":"failing","detail":"input/output error"}"#
        );
    }
}
