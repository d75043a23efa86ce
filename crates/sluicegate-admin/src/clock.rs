//! `POST /admin/v1/clock/confirm`: an operator says that a clock that leapt ahead is right.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Value, json};
use sluicegate_engine::clock::{ClockStatus, HeldStep};
use sluicegate_store::directory::{Deed, Note};
use utoipa::ToSchema;

use super::auth::Call;
use super::problem::{Error, Problem};
use super::{Shared, instant};

/// What the time is now.
#[derive(Serialize, ToSchema)]
#[schema(as = ConfirmedClock)]
pub(crate) struct ConfirmedBody {
    /// The time by which this node decides from now on.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    now: String,
    /// By how many seconds the system clock was ahead; null where it was not held.
    #[schema(required, example = 90_000)]
    system_ahead_s: Option<u64>,
    /// The same of the store's clock.
    #[schema(required, example = json!(null))]
    store_ahead_s: Option<u64>,
}

/// Confirm a clock that leapt ahead
///
/// This node follows it at once, instead of when it has lasted. Quotas go on in the period of that time, hours before
/// it are closed, and records that are too old by it are deleted: there is no way back.
#[utoipa::path(
    post,
    path = "/admin/v1/clock/confirm",
    tag = "process",
    operation_id = "confirmClock",
    responses(
        (status = 200, description = "The clock is followed", body = ConfirmedBody),
        (status = 409, description = "No clock is held"),
    )
)]
pub(crate) async fn confirm(State(admin): State<Shared>, call: Call) -> Result<Json<ConfirmedBody>, Problem> {
    let held = admin.engine.clock_status();
    if !held.is_confirmable() {
        return Err(Problem::new(
            Error::ClockPlausible,
            "No clock differs from the time by which is decided.",
        ));
    }
    let note =
        Note { deed: Deed::ConfirmClock, target: "clock".to_owned(), before: Some(noted(held)), after: None };
    // First: what is done without an entry is worse than an entry of what was tried.
    admin.engine.directory().note(note, &call.writer()).await?;
    admin.engine.confirm_clock();
    let (system_ahead_s, store_ahead_s) = (ahead_s(held.wall), ahead_s(held.store));
    let now = instant::text(admin.engine.now());
    Ok(Json(ConfirmedBody { now, system_ahead_s, store_ahead_s }))
}

/// What the audit trail says of it.
fn noted(held: ClockStatus) -> Value {
    let mut noted = json!({"system_ahead_s": ahead_s(held.wall), "store_ahead_s": ahead_s(held.store)});
    if let Some(behind) = held.behind {
        noted["system_behind_s"] = (behind.0 / 1_000_000_000).into();
    }
    noted
}

fn ahead_s(held: Option<HeldStep>) -> Option<u64> {
    held.map(|step| step.ahead.0 / 1_000_000_000)
}
