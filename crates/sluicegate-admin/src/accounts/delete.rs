//! `DELETE /admin/v1/accounts/{id}`: deletes an account and revokes its keys.

use axum::extract::State;
use http::StatusCode;
use sluicegate_core::file::{read_tier, tier_body};
use sluicegate_store::directory::{AccountId, CustomBody};

use crate::Shared;
use crate::auth::Call;
use crate::input::AccountPath;
use crate::problem::Problem;

/// Delete an account
///
/// Its keys are revoked. What it used stays in the ledger, under its unique id. Whoever is given its id later is
/// another customer, with limits that are all unused. An account whose overage is billed keeps the limits of its tier
/// as negotiated ones, for what is open then.
#[utoipa::path(
    delete,
    path = "/admin/v1/accounts/{id}",
    tag = "accounts",
    operation_id = "deleteAccount",
    params(("id" = String, Path, description = "The account", example = "acme")),
    responses(
        (status = 204, description = "It is deleted"),
        (status = 404, description = "There is no such account"),
    )
)]
pub(crate) async fn delete(
    State(admin): State<Shared>,
    call: Call,
    AccountPath(id): AccountPath,
) -> Result<StatusCode, Problem> {
    let keeps = plan_to_keep(&admin, &id).await?;
    if let Some(body) = keeps {
        admin.engine.directory().set_custom(id.as_str(), body, &call.clone().writer()).await?;
    }
    admin.engine.directory().delete_account(id.as_str(), &call.writer()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The body of the tier of an account that is billed. What is open when it is deleted is billed when it ends, under the
/// plan that it had, whatever becomes of the tier. Nothing where that makes no difference.
async fn plan_to_keep(admin: &Shared, id: &AccountId) -> Result<Option<CustomBody>, Problem> {
    let Some(account) = admin.engine.directory().account(id.as_str()).await? else { return Ok(None) };
    let (standing, policy) = (account.standing.load(), admin.engine.policy());
    let tier = policy.policy().tiers.get(standing.tier.as_str()).filter(|_| standing.custom.is_none());
    let is_billed = |limit: &sluicegate_core::limit::Limit| limit.included().is_some();
    let Some(tier) = tier.filter(|tier| tier.limits.iter().any(|entry| is_billed(&entry.limit))) else {
        return Ok(None);
    };
    let Some(body) = tier_body(admin.reload.last().loaded.text.as_bytes(), tier.name.as_str()) else {
        return Ok(None);
    };
    let read = read_tier(body.as_bytes(), &tier.name, &policy.policy().routes);
    let is_the_same = read.is_ok_and(|read| read == *tier);
    Ok(CustomBody::new(body).ok().filter(|_| is_the_same))
}
