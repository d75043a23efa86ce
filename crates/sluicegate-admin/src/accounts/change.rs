//! What changing an account's tier answers: the account, and what it has left. Also as a preview.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::Serialize;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::{AccountId, AccountRecord, CustomBody, What};
use utoipa::{IntoParams, ToSchema};

use super::AccountBody;
use super::limits::Limits;
use crate::Admin;
use crate::input::{QueryPairs, wrong_query};
use crate::problem::Problem;

/// An account with its tier from now on, and what it has left.
#[derive(Serialize, ToSchema)]
#[schema(as = TierChanged)]
pub(crate) struct ChangedBody {
    #[serde(flatten)]
    account: AccountBody,
    /// What every limit says under the tier, with all that was used so far. Absent: the tier was changed, but the store
    /// of the meters could not be asked afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    limits: Option<Limits>,
    /// Whether this is only what would be, and nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = true)]
    preview: Option<bool>,
}

impl ChangedBody {
    /// What was changed.
    pub(super) async fn done(record: AccountRecord, admin: &Admin, now: Timestamp) -> Self {
        // The change is kept whatever becomes of this.
        let limits = Limits::under(&record, admin, now).await.ok();
        Self { account: record.into(), limits, preview: None }
    }

    /// What would be if the account had this tier.
    pub(super) async fn preview(
        id: &AccountId,
        tier: TierName,
        custom: Option<CustomBody>,
        admin: &Admin,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let record = admin.engine.directory().find_account(id.as_str()).await?;
        let record = record.ok_or_else(|| Problem::not_found(What::Account))?;
        let record = AccountRecord { tier, custom, ..record };
        let limits = Limits::under(&record, admin, now).await?;
        Ok(Self { account: record.into(), limits: Some(limits), preview: Some(true) })
    }
}

/// Whether a change is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// It is.
    Make,
    /// Only what it would come to is said.
    Preview,
}

/// The parameters of a change, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read by hand")]
pub(crate) struct ChangeParams {
    /// Whether only to say what would be: nothing is changed, and nothing is entered into the audit log.
    #[param(default = false, required = false)]
    preview: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Change {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let QueryPairs(pairs) = QueryPairs::from_request_parts(parts, state).await?;
        match pairs.as_slice() {
            [] => Ok(Self::Make),
            [(name, value)] if name == "preview" => match value.as_str() {
                "true" => Ok(Self::Preview),
                "false" => Ok(Self::Make),
                _ => Err(wrong_query("preview", "is neither true nor false")),
            },
            [(first, _), ..] if first == "preview" => {
                Err(wrong_query("preview", "is the only parameter here, and stands once"))
            }
            [(name, _), ..] => {
                let name: String = name.chars().take(80).collect();
                // A misspelt preview must not make the change.
                Err(wrong_query(&name, "is not known here; the only parameter is \"preview\""))
            }
        }
    }
}
