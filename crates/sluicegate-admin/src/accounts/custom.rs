//! `PUT /admin/v1/accounts/{id}/custom`: gives an account limits of its own.

use axum::Json;
use axum::extract::State;
use sluicegate_core::file::read_tier;
use sluicegate_core::policy::{Bypass, LedgerSettings, Policy, TierName};
use sluicegate_core::time::Nanos;
use sluicegate_store::directory::{AccountId, CustomBody};

use super::change::{Change, ChangeParams, ChangedBody};
use crate::Shared;
use crate::auth::Call;
use crate::input::{AccountPath, JsonText, wrong};
use crate::problem::{Error, Problem, ProblemEntry};

/// Give an account negotiated limits
///
/// The body is that of a tier, as in the policy file. The account's tier is `custom:<id>` then. What was used so far
/// stays counted: the answer says what is left. With `preview=true` the answer is the same, but nothing is changed.
#[utoipa::path(
    put,
    path = "/admin/v1/accounts/{id}/custom",
    tag = "accounts",
    operation_id = "setCustom",
    params(("id" = String, Path, description = "The account", example = "acme"), ChangeParams),
    request_body(content = Object, description = "The body of a tier", content_type = "application/json"),
    responses(
        (status = 200, description = "The account, and what it has left", body = ChangedBody),
        (status = 404, description = "There is no such account"),
        (status = 422, description = "The tier has problems, which are listed"),
    )
)]
pub(crate) async fn custom(
    State(admin): State<Shared>,
    call: Call,
    AccountPath(id): AccountPath,
    change: Change,
    JsonText(body): JsonText,
) -> Result<Json<ChangedBody>, Problem> {
    let (tier, body) = read(&body, &id, admin.engine.policy().policy())?;
    let now = call.now;
    if change == Change::Preview {
        return ChangedBody::preview(&id, tier, Some(body), &admin, now).await.map(Json);
    }
    let account = admin.engine.directory().set_custom(id.as_str(), body, &call.writer()).await?;
    Ok(Json(ChangedBody::done(account, &admin, now).await))
}

fn read(bytes: &[u8], id: &AccountId, policy: &Policy) -> Result<(TierName, CustomBody), Problem> {
    // Its size before its meaning, which takes longer.
    let body = CustomBody::new(String::from_utf8_lossy(bytes))?;
    let Some(name) = TierName::new(&format!("{}{id}", TierName::CUSTOM_PREFIX)) else {
        return Err(wrong("id", "cannot be part of a tier's name"));
    };
    let tier = read_tier(bytes, &name, &policy.routes).map_err(|problems| {
        let detail = problems.first().map_or_else(String::new, |first| {
            format!("Line {}, column {}: {}.", first.place.line, first.place.column, first.message)
        });
        let entries = problems.iter().map(ProblemEntry::of).collect();
        Problem::new(Error::InvalidTier, detail).problems(entries)
    })?;
    if tier.bypass == Bypass::Yes {
        // Whoever passes without limits has to be seen in the policy file.
        return Err(wrong("bypass", "is not for negotiated tiers; give the account a tier that has it"));
    }
    let needed = LedgerSettings::raw_needed(tier.limits.iter().map(|entry| &entry.limit));
    if needed > policy.ledger.raw {
        let days = |duration: Nanos| duration.0.div_ceil(86_400_000_000_000);
        let detail = format!(
            "A quota of this tier counts for longer than single records are kept: `ledger.raw` of the policy is {} \
             days, and must be at least {} days, its longest quota window and 3 days.",
            days(policy.ledger.raw),
            days(needed)
        );
        return Err(Problem::new(Error::InvalidTier, detail));
    }
    Ok((name, body))
}
