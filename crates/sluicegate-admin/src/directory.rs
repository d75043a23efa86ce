//! `POST /admin/v1/directory/adopt`: takes over a store that has lost everything, or that is another one.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Shared;
use super::auth::Call;
use super::problem::Problem;

/// What was taken over.
#[derive(Serialize, ToSchema)]
#[schema(as = Adopted)]
pub(crate) struct AdoptedBody {
    /// What the store was before: `emptied`, `other`, or `known` if nothing had to be done.
    #[schema(example = "emptied")]
    before: &'static str,
    /// How many accounts it has.
    #[schema(example = 0)]
    accounts: usize,
    /// How many keys it has.
    #[schema(example = 0)]
    keys: usize,
}

/// Adopt the store as it is
///
/// A store that has lost its accounts and keys, or that is another one than before, is not written to until it is
/// adopted. Accounts and keys that it does not have are gone for good; what they used stays in the ledger.
#[utoipa::path(
    post,
    path = "/admin/v1/directory/adopt",
    tag = "accounts",
    operation_id = "adoptStore",
    responses((status = 200, description = "It is adopted", body = AdoptedBody))
)]
pub(crate) async fn adopt(State(admin): State<Shared>, call: Call) -> Result<Json<AdoptedBody>, Problem> {
    let directory = admin.engine.directory();
    let before = directory.adopt_store(&call.writer()).await?;
    let counts = directory.counts().await?;
    Ok(Json(AdoptedBody { before: before.as_str(), accounts: counts.accounts, keys: counts.keys }))
}
