//! Signed tokens of an identity provider as credentials: verified in this process, remembered until they end.
//!
//! The keys of the provider are installed from outside, in the background: a decision never fetches them. Tokens are
//! verified once, and then found by a keyed hash for as long as keys and policy stay the same.

mod cache;
mod claims;
mod key_set;
#[cfg(feature = "jwt")]
mod signature;
#[cfg(not(feature = "jwt"))]
#[path = "jwt/signature_absent.rs"]
mod signature;
mod token;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use sluicegate_core::policy::{JwksSource, Jwt};
use sluicegate_core::time::Timestamp;
use sluicegate_store::hash::HomeHasher;
use tokio::sync::Notify;

use crate::ErrorCode;
use cache::TokenCache;
pub(crate) use claims::VerifiedToken;
pub use key_set::{BadKeySet, KeySet};
use token::{BadToken, UnverifiedToken};

/// Whether this build verifies tokens.
pub const IS_BUILT: bool = cfg!(feature = "jwt");

/// The keys of a provider, and when they were fetched.
#[derive(Debug)]
struct Installed {
    source: JwksSource,
    keys: KeySet,
    fetched_at: Timestamp,
    /// Counts up with every set that differs from the one before.
    generation: u64,
}

/// What this process knows of the tokens of an identity provider.
#[derive(Debug, Default)]
pub struct Tokens {
    installed: ArcSwapOption<Installed>,
    generation: AtomicU64,
    cache: TokenCache,
    wanted: Notify,
}

impl Tokens {
    /// Whether a text is to be read as a token, and not as an API key: no key has a dot.
    #[inline]
    pub(crate) fn is_token(text: &str) -> bool {
        text.contains('.')
    }

    /// Puts fetched keys into use. Tokens are verified again if the keys are others than before.
    pub fn install(&self, source: JwksSource, keys: KeySet, now: Timestamp) {
        let is_same = |before: &Installed| before.source == source && before.keys == keys;
        let generation = match &*self.installed.load() {
            Some(before) if is_same(before) => before.generation,
            _ => self.generation.fetch_add(1, Ordering::AcqRel) + 1,
        };
        self.installed.store(Some(Arc::new(Installed { source, keys, fetched_at: now, generation })));
    }

    /// When the keys of this source were last fetched.
    pub fn fetched_at(&self, source: &JwksSource) -> Option<Timestamp> {
        let installed = self.installed.load();
        installed
            .as_ref()
            .filter(|installed| installed.source == *source)
            .map(|installed| installed.fetched_at)
    }

    /// Ends when a token has named a key that is not known.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Who a token stands for, under this version of the policy.
    pub(crate) fn verify(
        &self,
        text: &str,
        jwt: &Jwt,
        policy: u64,
        homes: &HomeHasher,
        now: Timestamp,
    ) -> Result<Arc<VerifiedToken>, ErrorCode> {
        let installed = self.installed.load();
        let Some(installed) = installed.as_ref().filter(|installed| installed.source == jwt.jwks) else {
            // It cannot be told from a token that is good.
            return Err(ErrorCode::Unavailable);
        };
        if now.since(installed.fetched_at) > jwt.stale_max {
            return Err(ErrorCode::Unavailable);
        }
        if text.len() > UnverifiedToken::BYTES_MAX {
            return Err(ErrorCode::InvalidKey);
        }
        let hash = homes.of_parts(&[b"jwt", text.as_bytes()]).0;
        let known = self.cache.get(hash, (policy, installed.generation));
        let token = match known {
            Some(known) => known,
            None => {
                let token = self.verify_anew(text, jwt, &installed.keys)?;
                let token = Arc::new(token);
                self.cache.put(hash, (policy, installed.generation), &token, now);
                token
            }
        };
        if token.is_valid_at(now) { Ok(token) } else { Err(ErrorCode::InvalidKey) }
    }

    fn verify_anew(&self, text: &str, jwt: &Jwt, keys: &KeySet) -> Result<VerifiedToken, ErrorCode> {
        match UnverifiedToken::parse(text).and_then(|token| token.verify(keys)) {
            Ok(claims) => VerifiedToken::of(&claims, jwt).ok_or(ErrorCode::InvalidKey),
            Err(BadToken::UnknownKey) => {
                self.wanted.notify_one();
                Err(ErrorCode::InvalidKey)
            }
            Err(BadToken::Invalid) => Err(ErrorCode::InvalidKey),
        }
    }
}
