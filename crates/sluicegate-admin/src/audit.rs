//! `GET /admin/v1/audit`: who changed what, the newest first.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use sluicegate_store::audit::AuditEntry as Kept;
use sluicegate_store::directory::AuditRecord;
use utoipa::ToSchema;

use super::input::{ListParams, ListQuery};
use super::list::List;
use super::problem::Problem;
use super::{Shared, instant};

/// One write.
#[derive(Serialize, ToSchema)]
pub(crate) struct AuditEntry {
    /// Its number; later ones are larger.
    #[schema(minimum = 1, example = 42)]
    seq: u64,
    /// When, to the nanosecond: the link is made of it.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000000000Z")]
    at: String,
    /// By whom.
    #[schema(example = "admin (alice)")]
    who: String,
    /// What was done.
    #[schema(example = "account.create")]
    action: String,
    /// To which account or key.
    #[schema(example = "acme")]
    target: String,
    /// What it was before; null if it was not there.
    #[schema(required, value_type = Option<Object>)]
    before: Option<Box<RawValue>>,
    /// What it was afterwards; null if it was not there any more.
    #[schema(required, value_type = Option<Object>)]
    after: Option<Box<RawValue>>,
    /// The hash of all of the above and of the link of the entry before it.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    link: String,
}

impl AuditEntry {
    /// The record, with `before` and `after` as the store keeps them: their links are hashes of these bytes, and parsed
    /// values can have their members in another order.
    fn of(record: AuditRecord, kept: Option<&mut Kept>) -> Self {
        let AuditRecord { seq, at, who, action, target, before, after, link } = record;
        let (before, after) = match kept {
            Some(kept) => (kept.before.take(), kept.after.take()),
            None => (before.map(|value| value.to_string()), after.map(|value| value.to_string())),
        };
        let raw = |text: Option<String>| text.and_then(|text| RawValue::from_string(text).ok());
        let (before, after) = (raw(before), raw(after));
        Self { seq, at: instant::exact(at), who, action, target, before, after, link: link.to_string() }
    }
}

/// List who changed what
///
/// The newest first.
#[utoipa::path(
    get,
    path = "/admin/v1/audit",
    tag = "audit",
    operation_id = "listAudit",
    params(ListParams),
    responses((status = 200, description = "A page of entries", body = List<AuditEntry>))
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    ListQuery(page): ListQuery,
) -> Result<Json<List<AuditEntry>>, Problem> {
    let directory = admin.engine.directory();
    let limit = page.limit;
    let entries = directory.list_audit(page).await?;
    // Entries are append-only: as many, counted from the oldest of the page, are the entries of the page.
    let mut kept = match entries.items.last() {
        Some(oldest) => directory.audit_after(oldest.seq.saturating_sub(1), limit).await?,
        None => Vec::new(),
    };
    Ok(Json(List::of(entries, |record| {
        let at = kept.binary_search_by_key(&record.seq, |kept| kept.seq);
        AuditEntry::of(record, at.ok().and_then(|at| kept.get_mut(at)))
    })))
}
