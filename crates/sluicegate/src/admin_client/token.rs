//! The admin token: from the environment, or from the data directory of the server.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, bail};
use http::HeaderValue;

use crate::environment;
use sluicegate_node::secrets::ADMIN_TOKEN_FILE;

/// The admin token, ready to be sent, and where it was found.
pub(super) struct Token {
    header: HeaderValue,
    place: String,
}

impl Token {
    /// Looks in the environment first, as the server does.
    pub(super) fn find(data_dir: &Path) -> anyhow::Result<Self> {
        if let Some(token) = environment::secret(environment::ADMIN_TOKEN)? {
            return Self::new(&token, environment::ADMIN_TOKEN.to_owned());
        }
        let path = data_dir.join(ADMIN_TOKEN_FILE);
        let place = path.display().to_string();
        match fs::read_to_string(&path) {
            Ok(token) if token.trim().is_empty() => bail!("{place} is empty: it should hold the admin token"),
            Ok(token) => Self::new(token.trim(), place),
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "no admin token: {} is not set, and there is no {place}\n  `sluicegate serve` keeps it in its data \
                 directory: name that with --data-dir",
                environment::ADMIN_TOKEN
            ),
            Err(error) => Err(error).with_context(|| {
                format!("cannot read the admin token in {place}: it is for the user who runs the server")
            }),
        }
    }

    fn new(token: &str, place: String) -> anyhow::Result<Self> {
        let mut header = HeaderValue::try_from(format!("Bearer {token}"))
            .ok()
            .with_context(|| format!("the admin token from {place} has characters that cannot be sent"))?;
        header.set_sensitive(true);
        Ok(Self { header, place })
    }

    pub(super) fn header(&self) -> &HeaderValue {
        &self.header
    }

    /// What to look at when it is refused.
    pub(super) fn origin(&self) -> String {
        format!("the token came from {}: is it that of this server?", self.place)
    }
}
