//! `GET /admin/v1/pressure`: addresses with too many fingerprints behind them.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::abuse::Squeezed;
use utoipa::ToSchema;

use super::auth::Call;
use super::blocks::BlockParams;
use super::input::{PlainListQuery, wrong_query};
use super::list::List;
use super::problem::Problem;
use super::{Shared, instant};

/// An address whose clients without a session share one meter per limit.
#[derive(Serialize, ToSchema)]
#[schema(as = SqueezedAddress)]
pub(crate) struct SqueezedBody {
    /// What stands for the address: a keyed hash.
    #[schema(example = "8796a5b4c3d2e1f0")]
    address: String,
    /// Until when.
    #[schema(format = DateTime, example = "2026-11-01T13:00:00.000Z")]
    until: String,
    /// How long that is yet.
    #[schema(example = 3_600_000)]
    until_ms: u64,
    /// How many different ones were seen behind it within the window, about.
    #[schema(example = 23)]
    fingerprints: u32,
}

impl SqueezedBody {
    fn of(squeezed: &Squeezed, now: Timestamp) -> Self {
        Self {
            address: address_text(squeezed.address),
            until: instant::text(squeezed.until),
            until_ms: squeezed.until.since(now).as_millis_ceil(),
            fingerprints: squeezed.fingerprints,
        }
    }
}

/// The hash of an address as people see it.
pub(super) fn address_text(address: u64) -> String {
    format!("{address:016x}")
}

/// Reads what [`address_text`] writes, and nothing else.
fn address_of(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == 16 && text.bytes().all(is_digit);
    fits.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// List addresses under pressure
///
/// Those with so many fingerprints behind them that their clients without a session share one meter per limit, as this
/// node knows it.
#[utoipa::path(
    get,
    path = "/admin/v1/pressure",
    tag = "abuse",
    operation_id = "listPressure",
    params(BlockParams),
    responses((status = 200, description = "A page of addresses", body = List<SqueezedBody>))
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    call: Call,
    query: PlainListQuery,
) -> Result<Json<List<SqueezedBody>>, Problem> {
    let after = match &query.cursor {
        None => None,
        Some(text) => {
            Some(address_of(text).ok_or_else(|| wrong_query("cursor", "is not the next of a page"))?)
        }
    };
    let max = usize::from(query.limit.get());
    // One more tells whether there is more.
    let mut squeezed = admin.engine.squeezed(after, call.now, max + 1);
    let more = squeezed.len() > max;
    squeezed.truncate(max);
    let next = squeezed.last().filter(|_| more).map(|last| address_text(last.address));
    Ok(Json(List::new(squeezed.iter().map(|one| SqueezedBody::of(one, call.now)).collect(), next)))
}
