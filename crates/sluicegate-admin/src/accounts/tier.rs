//! `PUT /admin/v1/accounts/{id}/tier`: gives an account another tier.

use axum::Json;
use axum::extract::State;
use utoipa::ToSchema;

use super::change::{Change, ChangeParams, ChangedBody};
use super::defined_tier;
use crate::Shared;
use crate::auth::Call;
use crate::input::{AccountPath, JsonBody, Object};
use crate::problem::Problem;

/// The tier to be given.
#[derive(ToSchema)]
#[schema(as = TierChange)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct TierChange {
    /// One of the tiers of the policy in force.
    #[schema(example = "pro")]
    tier: String,
}

/// Give an account another tier
///
/// It applies to the next request. What was used so far stays counted: the answer says what is left. Negotiated limits
/// end. With `preview=true` the answer is the same, but nothing is changed.
#[utoipa::path(
    put,
    path = "/admin/v1/accounts/{id}/tier",
    tag = "accounts",
    operation_id = "setTier",
    params(("id" = String, Path, description = "The account", example = "acme"), ChangeParams),
    request_body = TierChange,
    responses(
        (status = 200, description = "The account, and what it has left", body = ChangedBody),
        (status = 404, description = "There is no such account"),
        (status = 422, description = "A field is wrong, or the tier is not defined"),
    )
)]
pub(crate) async fn tier(
    State(admin): State<Shared>,
    call: Call,
    AccountPath(id): AccountPath,
    change: Change,
    JsonBody(body): JsonBody,
) -> Result<Json<ChangedBody>, Problem> {
    let name = Object::of(body, &["tier"])?.text("tier")?;
    let tier = defined_tier(&name, admin.engine.policy().policy())?;
    let now = call.now;
    if change == Change::Preview {
        return ChangedBody::preview(&id, tier, None, &admin, now).await.map(Json);
    }
    let account = admin.engine.directory().set_tier(id.as_str(), tier, &call.writer()).await?;
    Ok(Json(ChangedBody::done(account, &admin, now).await))
}
