//! The server's secrets: from the environment, or made once and kept in the data directory.

use anyhow::Context as _;
use sluicegate_admin::AdminToken;
use sluicegate_node::secrets::ADMIN_TOKEN_FILE;
use sluicegate_node::{DataDir, GivenSecrets, Secrets};

use crate::environment;

/// Fewer characters than this can be guessed.
const LENGTH_ADVISED: usize = 16;

/// The secrets of the node, and what only a server needs.
pub(super) struct ServerSecrets {
    pub(super) node: Secrets,
    /// Where people find the admin token.
    pub(super) admin_token_place: String,
    /// What clients of Redis have to say first.
    pub(super) resp_password: Option<String>,
}

impl ServerSecrets {
    pub(super) fn load(data_dir: &DataDir) -> anyhow::Result<Self> {
        let given = GivenSecrets {
            secret: environment::secret(environment::SECRET)?,
            previous: list(environment::SECRET_PREVIOUS)?,
            admin_token: environment::secret(environment::ADMIN_TOKEN)?,
            sessions: list(environment::SESSION_SECRET)?,
        };
        let resp_password = environment::secret(environment::RESP_PASSWORD)?;
        let admin_token_place = match given.admin_token {
            Some(_) => format!("the variable {}", environment::ADMIN_TOKEN),
            None => data_dir.path().join(ADMIN_TOKEN_FILE).display().to_string(),
        };
        let node = Secrets::load(data_dir, given).map_err(super::complete)?;
        AdminToken::new(&node.admin_token).with_context(|| format!("{admin_token_place} cannot be used"))?;
        let named = [(environment::SECRET, &node.secret)];
        let of_sessions = node.sessions.iter().map(|secret| (environment::SESSION_SECRET, secret));
        let of_resp = resp_password.iter().map(|password| (environment::RESP_PASSWORD, password));
        for (name, value) in named.into_iter().chain(of_sessions).chain(of_resp) {
            if value.len() < LENGTH_ADVISED {
                tracing::warn!("{name} has fewer than {LENGTH_ADVISED} characters: it could be guessed");
            }
        }
        Ok(Self { node, admin_token_place, resp_password })
    }
}

/// The values of a variable, separated by blanks.
fn list(name: &str) -> anyhow::Result<Vec<String>> {
    let given = environment::secret(name)?;
    Ok(given.map(|values| values.split_whitespace().map(str::to_owned).collect()).unwrap_or_default())
}
