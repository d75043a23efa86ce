//! The server's secrets: from the environment, or made once and kept in the data directory.

use std::path::Path;

use anyhow::Context as _;

use tollgate_server::admin::SigningSecret;

use super::data_dir::{admin_token_path, kept_secret, secret_path, webhook_secret_path};
use crate::environment;

/// Fewer characters than this can be guessed.
const LENGTH_ADVISED: usize = 16;

/// What the secret of alerts is made from, so that all nodes with one secret sign alike.
const WEBHOOK: &str = "tollgate 2026-11-16 signatures of alerts";

/// The server's secret, and the token of its admin API.
pub(super) struct Secrets {
    pub(super) admin_token: String,
    /// Where people find the token.
    pub(super) admin_token_place: String,
    /// Everything that is hashed is hashed with it.
    pub(super) secret: String,
    /// What sessions are signed with: the first one signs. None: the secret itself.
    pub(super) sessions: Vec<String>,
    /// What clients of Redis have to say first.
    pub(super) resp_password: Option<String>,
    /// What alerts are signed with where the policy says nothing else.
    pub(super) webhook: SigningSecret,
}

impl Secrets {
    pub(super) fn load(data_dir: &Path) -> anyhow::Result<Self> {
        let (admin_token, admin_token_place) = match environment::secret(environment::ADMIN_TOKEN)? {
            Some(token) => (token, format!("the variable {}", environment::ADMIN_TOKEN)),
            None => {
                let path = admin_token_path(data_dir);
                let token = kept_secret(&path, || Ok(format!("tgadmin_{}", random_hex()?)))?;
                (token, path.display().to_string())
            }
        };
        let secret = match environment::secret(environment::SECRET)? {
            Some(secret) => secret,
            None => kept_secret(&secret_path(data_dir), random_hex)?,
        };
        let sessions: Vec<String> = environment::secret(environment::SESSION_SECRET)?
            .map(|secrets| secrets.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default();
        let named = [(environment::ADMIN_TOKEN, &admin_token), (environment::SECRET, &secret)];
        let resp_password = environment::secret(environment::RESP_PASSWORD)?;
        let of_sessions = sessions.iter().map(|secret| (environment::SESSION_SECRET, secret));
        let of_resp = resp_password.iter().map(|password| (environment::RESP_PASSWORD, password));
        for (name, value) in named.into_iter().chain(of_sessions).chain(of_resp) {
            if value.len() < LENGTH_ADVISED {
                tracing::warn!("{name} has fewer than {LENGTH_ADVISED} characters: it could be guessed");
            }
        }
        let path = webhook_secret_path(data_dir);
        let derived = || Ok(SigningSecret::text_of(&blake3::derive_key(WEBHOOK, secret.as_bytes())));
        let webhook = SigningSecret::parse(&kept_secret(&path, derived)?)
            .with_context(|| format!("{} cannot be used", path.display()))?;
        Ok(Self { admin_token, admin_token_place, secret, sessions, resp_password, webhook })
    }
}

/// Thirty-two bytes from the system, as text.
fn random_hex() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}
