//! The server's secrets: from the environment, or made once and kept in the data directory.

use std::path::Path;

use anyhow::{Context as _, bail};
use tollgate_store::hash::HomeHasher;
use tollgate_store::key_text::KeyHasher;

use super::data_dir::{admin_token_path, kept_secret, secret_path};
use crate::environment;

/// Fewer characters than this can be guessed.
const LENGTH_MIN: usize = 16;

/// What the secret is used for, each use with a key of its own. Changing one of these orphans what it hashed.
const KEYS: &str = "tollgate 2026-11-15 hashes of API keys";
const HOMES: &str = "tollgate 2026-11-15 homes of accounts and clients";

/// Everything that is derived from the server's secret, and the token of its admin API.
pub(super) struct Secrets {
    pub(super) admin_token: String,
    pub(super) keys: KeyHasher,
    pub(super) homes: HomeHasher,
}

impl Secrets {
    pub(super) fn load(data_dir: &Path) -> anyhow::Result<Self> {
        let admin_token = match environment::secret(environment::ADMIN_TOKEN)? {
            Some(token) => token,
            None => kept_secret(&admin_token_path(data_dir), || Ok(format!("tgadmin_{}", random_hex()?)))?,
        };
        let secret = match environment::secret(environment::SECRET)? {
            Some(secret) => secret,
            None => kept_secret(&secret_path(data_dir), random_hex)?,
        };
        for (name, value) in [(environment::ADMIN_TOKEN, &admin_token), (environment::SECRET, &secret)] {
            if value.len() < LENGTH_MIN {
                bail!("{name} has fewer than {LENGTH_MIN} characters: it could be guessed");
            }
        }
        let mut home_key = [0; 16];
        home_key.copy_from_slice(&blake3::derive_key(HOMES, secret.as_bytes())[..16]);
        let keys = KeyHasher::new(&blake3::derive_key(KEYS, secret.as_bytes()));
        Ok(Self { admin_token, keys, homes: HomeHasher::new(home_key) })
    }
}

/// Thirty-two bytes from the system, as text.
fn random_hex() -> anyhow::Result<String> {
    let bytes: [u8; 32] = random()?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}

/// Bytes from the system.
pub(super) fn random<const LENGTH: usize>() -> anyhow::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
    Ok(bytes)
}
