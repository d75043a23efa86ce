//! `GET /admin/v1/ledger`: how the books are doing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_engine::Books;
use sluicegate_engine::books::{BooksState, LastCheck};
use sluicegate_node::log_gate::LogGate;
use utoipa::ToSchema;

use super::health::LedgerHealth;
use super::problem::{Error, Problem};
use super::{Shared, instant};

/// How the books are doing.
#[derive(Serialize, ToSchema)]
#[schema(as = Ledger)]
pub(crate) struct LedgerBody {
    /// The node whose books they are.
    #[schema(example = "4f2a9c0d1e3b5a67")]
    node: String,
    /// Whether admitted requests can be recorded.
    health: LedgerHealth,
    /// Records that were counted.
    #[schema(example = 1_234_567)]
    records: u64,
    /// Records that are not counted yet.
    #[schema(example = 12)]
    behind: u64,
    /// Damaged records, which are in no sum.
    #[schema(example = 0)]
    torn: u64,
    /// What comes before it is closed, and never changes again; null if nothing is closed yet.
    #[schema(required, format = DateTime, example = "2026-11-16T08:00:00Z")]
    open_from: Option<String>,
    /// Hours that lie in object storage.
    #[schema(example = 118)]
    sealed_hours: u64,
    /// Where hours are sealed to; null: the policy has no `ledger.export`.
    #[schema(required, example = "s3://billing/sluicegate")]
    export: Option<String>,
    /// The first closed hour that is not sealed yet; null: all are.
    #[schema(required, format = DateTime, example = "2026-11-16T07:00:00Z")]
    unsealed_from: Option<String>,
    /// What the last comparison of meters and records came to; null: there was none yet.
    #[schema(required)]
    check: Option<CheckBody>,
    /// The chain of signatures.
    chain: ChainBody,
}

/// What the last comparison of meters and records came to.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerCheck)]
pub(crate) struct CheckBody {
    /// When.
    #[schema(format = DateTime, example = "2026-11-16T08:15:00.000Z")]
    at: String,
    /// How many records were read: at first all that a quota counts, then those that are new since the check before.
    #[schema(example = 1_800)]
    records: u64,
    /// How many quotas were compared: those with new records, and those that did not agree.
    #[schema(example = 42)]
    quotas: u64,
    /// How many of them do not agree.
    #[schema(example = 0)]
    drifting: u64,
    /// By how many units.
    #[schema(example = 0)]
    units: u64,
}

/// The chain of signatures.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerChain)]
pub(crate) struct ChainBody {
    /// The key with which it can be checked; null: the chain is damaged.
    #[schema(required, pattern = "^[0-9a-f]{64}$")]
    public_key: Option<String>,
    /// The last entry of the audit log that was seen, and is signed or will be within a minute.
    #[schema(example = 17)]
    audit_entries: u64,
    /// What is wrong with it; null: nothing that was noticed. `sluicegate audit verify` looks at everything.
    #[schema(required)]
    problem: Option<String>,
}

impl From<LastCheck> for CheckBody {
    fn from(LastCheck { at, records, quotas, drifting, units }: LastCheck) -> Self {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        Self { at: instant::text(at), records, quotas, drifting, units }
    }
}

impl ChainBody {
    fn of(books: &Books) -> Self {
        let ledger = books.ledger();
        let read = ledger.public_key().and_then(|key| Ok((key.to_string(), ledger.audit_head()?.seq)));
        match read {
            Ok((key, audit_entries)) => Self { public_key: Some(key), audit_entries, problem: None },
            Err(error) => Self { public_key: None, audit_entries: 0, problem: Some(error.to_string()) },
        }
    }
}

impl LedgerBody {
    fn of(state: BooksState, books: &Books) -> Self {
        let policy = books.engine().policy();
        Self {
            node: books.ledger().node().to_owned(),
            health: books.engine().spool().health().into(),
            records: state.records,
            behind: state.behind,
            torn: state.torn,
            open_from: (state.open.number() > 0).then(|| state.open.to_string()),
            sealed_hours: state.sealed,
            export: policy.policy().ledger.export.as_ref().map(ToString::to_string),
            unsealed_from: state.unsealed.map(|hour| hour.to_string()),
            check: state.check.map(CheckBody::from),
            chain: ChainBody::of(books),
        }
    }
}

/// Show how the books are doing
///
/// Of this node: each keeps books of its own requests.
#[utoipa::path(
    get,
    path = "/admin/v1/ledger",
    tag = "usage",
    operation_id = "showLedger",
    responses((status = 200, description = "The books", body = LedgerBody))
)]
pub(crate) async fn show(State(admin): State<Shared>) -> Result<Json<LedgerBody>, Problem> {
    let books = Arc::clone(&admin.books);
    let asked =
        tokio::task::spawn_blocking(move || books.state().map(|state| LedgerBody::of(state, &books))).await;
    let body = asked.map_err(|_| Problem::new(Error::Internal, "The books could not be read."))?;
    body.map(Json).map_err(|error| {
        static GATE: LogGate = LogGate::new();
        GATE.log(|left_out| tracing::error!(%error, left_out, "the books cannot be read"));
        Problem::new(Error::Unavailable, format!("The books cannot be read now: {error}."))
    })
}
