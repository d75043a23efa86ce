//! `POST /admin/v1/policy/validate`: whether a policy could come into force.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_core::file::{self, PROBLEMS_MAX};
use sluicegate_core::policy::Policy;
use sluicegate_store::directory::Account;
use utoipa::ToSchema;

use crate::Shared;
use crate::input::YamlText;
use crate::problem::{Error, Problem, ProblemEntry};

/// Whether a policy could come into force.
#[derive(Serialize, ToSchema)]
pub(crate) struct Validation {
    valid: bool,
    /// Everything that is wrong, also with the negotiated limits of accounts under this policy.
    problems: Vec<ProblemEntry>,
}

/// Check a policy file
///
/// Nothing changes. The body is the file, as YAML.
#[utoipa::path(
    post,
    path = "/admin/v1/policy/validate",
    tag = "policy",
    operation_id = "validatePolicy",
    request_body(content = String, content_type = "application/yaml", description = "A policy file",
        example = json!("tiers: {free: {rate: 10}}\n")),
    responses((status = 200, description = "Whether it is valid, and every problem if not", body = Validation))
)]
pub(crate) async fn validate(
    State(admin): State<Shared>,
    YamlText(text): YamlText,
) -> Result<Json<Validation>, Problem> {
    let accounts = admin.engine.directory().custom_accounts().await?;
    // A file of a mebibyte takes a while: others must be able to run meanwhile.
    let checked = tokio::task::spawn_blocking(move || problems(&text, &accounts)).await;
    let problems = checked.map_err(|_| Problem::new(Error::Internal, "The policy could not be checked."))?;
    Ok(Json(Validation { valid: problems.is_empty(), problems }))
}

fn problems(text: &[u8], accounts: &[Arc<Account>]) -> Vec<ProblemEntry> {
    match file::read(text) {
        Err(problems) => problems.iter().map(ProblemEntry::of).collect(),
        Ok(document) => {
            let broken = accounts.iter().flat_map(|account| broken(account, &document.policy));
            broken.take(PROBLEMS_MAX).collect()
        }
    }
}

/// What is wrong with the negotiated limits of this account under that policy.
fn broken(account: &Account, policy: &Policy) -> Vec<ProblemEntry> {
    let standing = account.standing.load();
    let Some(body) = &standing.custom else { return Vec::new() };
    let Err(problems) = file::read_tier(body.as_bytes(), &standing.tier, &policy.routes) else {
        return Vec::new();
    };
    let of_account =
        |problem| ProblemEntry { account: Some(account.id.to_string()), ..ProblemEntry::of(problem) };
    problems.iter().map(of_account).collect()
}
