//! The tokens of a store, in memory: few, read by every call that presents one, replaced as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use sluicegate_core::time::Timestamp;

use super::{PresentedToken, StoredToken, TokenId, TokenRecord};
use crate::key_text::{KeyHash, KeyHasher};

/// The tokens that this process knows.
#[derive(Debug, Default)]
pub struct TokenSet(ArcSwap<HashMap<TokenId, Arc<StoredToken>>>);

impl TokenSet {
    /// Replaces all tokens.
    pub(crate) fn replace(&self, tokens: impl IntoIterator<Item = StoredToken>) {
        let tokens = tokens.into_iter().map(|token| (token.record.id, Arc::new(token)));
        self.0.store(Arc::new(tokens.collect()));
    }

    /// Adds one token, or removes it.
    pub(crate) fn change(&self, id: TokenId, token: Option<&StoredToken>) {
        self.0.rcu(|tokens| {
            let mut tokens = HashMap::clone(tokens);
            match token {
                Some(token) => tokens.insert(id, Arc::new(token.clone())),
                None => tokens.remove(&id),
            };
            tokens
        });
    }

    /// All tokens, oldest first.
    pub(crate) fn all(&self) -> Vec<TokenRecord> {
        let mut all: Vec<_> = self.0.load().values().map(|token| token.record.clone()).collect();
        all.sort_by(|one, other| (one.created_at, &one.name).cmp(&(other.created_at, &other.name)));
        all
    }

    /// The token that this text is, if it can be used now. Hashes are compared in constant time; a token that does not
    /// exist is compared as well.
    pub(crate) fn verify(&self, text: &[u8], keys: &KeyHasher, now: Timestamp) -> Option<TokenRecord> {
        const NOTHING: KeyHash = KeyHash::from_bytes([0; KeyHash::LENGTH]);
        let presented = PresentedToken::parse(text)?;
        let tokens = self.0.load();
        let found = tokens.get(&presented.id);
        let expected = found.map_or(NOTHING, |token| token.hash);
        let is_it = keys.hashes_of(presented.expose()).fold(false, |is_it, hash| is_it | (hash == expected));
        found.filter(|token| is_it && token.record.is_live(now)).map(|token| token.record.clone())
    }

    /// Whether the token of this id still exists and can be used now.
    pub(crate) fn is_live(&self, id: TokenId, now: Timestamp) -> bool {
        self.0.load().get(&id).is_some_and(|token| token.record.is_live(now))
    }
}
