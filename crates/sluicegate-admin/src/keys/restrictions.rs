//! What narrows a key, as calls give it.

use serde_json::Value;
use sluicegate_store::directory::{AllowedIps, AllowedOrigins, KeyLimits};

use crate::Admin;
use crate::input::{Object, wrong};
use crate::problem::Problem;

/// The members that calls may give.
pub(super) const MEMBERS: [&str; 3] = ["allowed_ips", "allowed_origins", "limits"];

/// What was given: nothing for what is absent.
pub(super) struct Given {
    pub(super) allowed_ips: Option<AllowedIps>,
    pub(super) allowed_origins: Option<AllowedOrigins>,
    pub(super) limits: Option<KeyLimits>,
}

/// Reads what narrows a key of this account. Its limits are checked against the policy in force.
pub(super) async fn read(body: &mut Object, account: &str, admin: &Admin) -> Result<Given, Problem> {
    let ips = body.optional_texts("allowed_ips")?;
    let origins = body.optional_texts("allowed_origins")?;
    let limits = match body.optional_object("limits")? {
        Some(limits) => Some(KeyLimits::new(&Value::Object(limits).to_string())?),
        None => None,
    };
    if let Some(limits) = &limits {
        let checked = admin.engine.check_key_limits(limits, account).await;
        checked.map_err(|problem| wrong("limits", &problem.to_string()))?;
    }
    Ok(Given {
        allowed_ips: ips.map(|ips| AllowedIps::new(ips.iter().map(String::as_str))).transpose()?,
        allowed_origins: origins
            .map(|origins| AllowedOrigins::new(origins.iter().map(String::as_str)))
            .transpose()?,
        limits,
    })
}
