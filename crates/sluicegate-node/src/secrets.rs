//! The secrets of a node: given by its operator, or made once and kept in the data directory.

use std::fmt;

use crate::data_dir::{DataDir, DataDirError, random_hex};
use crate::webhook::{SigningSecret, UnusableSecret};

/// The file of the admin token.
pub const ADMIN_TOKEN_FILE: &str = "admin-token";
const SECRET_FILE: &str = "secret";
/// The file of secrets before the one in use, one per line, the newest first. It need not exist.
pub const SECRET_PREVIOUS_FILE: &str = "secret-previous";
const WEBHOOK_FILE: &str = "webhook-secret";

/// What the secret of webhooks is derived with, so that all nodes with one secret sign alike. Changing it changes the
/// signatures that receivers check.
const WEBHOOK_CONTEXT: &str = "sluicegate 2026-11-16 signatures of alerts";

/// What the operator gives; the rest is made and kept.
#[derive(Clone, Default)]
pub struct GivenSecrets {
    /// The master secret. Nodes that share a store must have the same one.
    pub secret: Option<String>,
    /// The master secrets before it, the newest first.
    pub previous: Vec<String>,
    /// The token of the admin API.
    pub admin_token: Option<String>,
    /// What session cookies are signed with: the first signs, all are accepted. Empty: derived from the secret.
    pub sessions: Vec<String>,
}

impl fmt::Debug for GivenSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GivenSecrets(***)")
    }
}

/// The secrets of a node.
#[derive(Clone)]
pub struct Secrets {
    /// Everything that is hashed is hashed with it.
    pub secret: String,
    /// The secrets before it, the newest first: what was made with them is still accepted.
    pub previous: Vec<String>,
    /// The token of the admin API.
    pub admin_token: String,
    /// What session cookies are signed with.
    pub sessions: Vec<String>,
    /// What webhooks are signed with where the policy names no secret.
    pub webhook: SigningSecret,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(***)")
    }
}

/// Why there are no secrets.
#[derive(Debug)]
#[non_exhaustive]
pub enum SecretsError {
    /// The data directory does not give or keep one.
    DataDir(DataDirError),
    /// The secret of webhooks in the data directory is not one.
    Webhook(UnusableSecret),
}

impl Secrets {
    /// What was given, and for the rest what the data directory keeps.
    pub fn load(dir: &DataDir, given: GivenSecrets) -> Result<Self, SecretsError> {
        let kept = |name, make: &dyn Fn() -> Result<String, DataDirError>| {
            dir.secret(name, make).map_err(SecretsError::DataDir)
        };
        let admin_token = match given.admin_token {
            Some(token) => token,
            None => kept(ADMIN_TOKEN_FILE, &|| Ok(format!("sgadmin_{}", random_hex()?)))?,
        };
        let secret = match given.secret {
            Some(secret) => secret,
            None => kept(SECRET_FILE, &random_hex)?,
        };
        let previous = match given.previous {
            previous if previous.is_empty() => {
                dir.lines(SECRET_PREVIOUS_FILE).map_err(SecretsError::DataDir)?
            }
            previous => previous,
        };
        let derived = || Ok(SigningSecret::text_of(&blake3::derive_key(WEBHOOK_CONTEXT, secret.as_bytes())));
        let webhook = SigningSecret::parse(&kept(WEBHOOK_FILE, &derived)?).map_err(SecretsError::Webhook)?;
        Ok(Self { secret, previous, admin_token, sessions: given.sessions, webhook })
    }
}

impl fmt::Display for SecretsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DataDir(error) => error.fmt(f),
            Self::Webhook(error) => write!(f, "the file {WEBHOOK_FILE} in the data directory: {error}"),
        }
    }
}

impl std::error::Error for SecretsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::DataDir(error) => Some(error),
            Self::Webhook(error) => Some(error),
        }
    }
}
