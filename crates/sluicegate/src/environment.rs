//! Secrets from the environment: never arguments, which every user of the machine can read.

/// The token of the admin API.
pub(crate) const ADMIN_TOKEN: &str = "SLUICEGATE_ADMIN_TOKEN";
/// The secret from which hashes and signatures are made.
pub(crate) const SECRET: &str = "SLUICEGATE_SECRET";
/// The secrets before that, separated by blanks, the newest first: what was made with them is still accepted.
pub(crate) const SECRET_PREVIOUS: &str = "SLUICEGATE_SECRET_PREVIOUS";
/// The secrets that sessions are signed with: the first one signs, what any of them signed is accepted.
pub(crate) const SESSION_SECRET: &str = "SLUICEGATE_SESSION_SECRET";
/// What clients of Redis have to say before they are answered.
pub(crate) const RESP_PASSWORD: &str = "SLUICEGATE_RESP_PASSWORD";
/// The token that the decision API is asked with.
pub(crate) const DECISION_TOKEN: &str = "SLUICEGATE_DECISION_TOKEN";
/// The key that a check is asked with.
pub(crate) const KEY: &str = "SLUICEGATE_KEY";
/// The service token that a check is asked with.
pub(crate) const SERVICE_TOKEN: &str = "SLUICEGATE_SERVICE_TOKEN";

/// The user that the store is asked as.
pub(crate) const REDIS_USERNAME: &str = "SLUICEGATE_REDIS_USERNAME";
/// The password of that user.
pub(crate) const REDIS_PASSWORD: &str = "SLUICEGATE_REDIS_PASSWORD";
/// The password of the sentinels that lead to the store.
pub(crate) const REDIS_SENTINEL_PASSWORD: &str = "SLUICEGATE_REDIS_SENTINEL_PASSWORD";

/// The value of a variable, if it is set and not empty.
pub(crate) fn secret(name: &str) -> anyhow::Result<Option<String>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "clap would show its value in --help; this is the one other place"
    )]
    match std::env::var(name) {
        Ok(value) if value.trim().is_empty() => Ok(None),
        Ok(value) => Ok(Some(value.trim().to_owned())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => anyhow::bail!("{name} is not text"),
    }
}
