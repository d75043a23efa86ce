//! Named tokens: created, listed, revoked and verified, whatever the store.

use serde_json::json;
use sluicegate_core::time::Timestamp;

use super::audited::{Audited, object, text};
use super::error::{StoreError, WriteError};
use super::record::Writer;
use super::{Directory, Kind};
use crate::key_text::SecretText;
use crate::token::{self, NewToken, StoredToken, TokenId, TokenRecord, TokenSet};

/// Tokens. Every node knows all of them; a revocation reaches every node within a second.
impl Directory {
    /// Creates a token. Its text is in the answer and nowhere else.
    pub async fn create_token(
        &self,
        new: NewToken,
        by: &Writer,
    ) -> Result<(TokenRecord, SecretText), WriteError> {
        self.refuse_unadopted()?;
        new.check(by.now)?;
        let id = TokenId::random()?;
        let secret = token::make(id)?;
        let stored = StoredToken { record: new.record(id, by.now), hash: self.keys.hash_secret(&secret) };
        let record = stored.record.clone();
        match &self.kind {
            Kind::Embedded(own) => own.create_token(stored, by).await?,
            Kind::Redis(own) => own.create_token(stored, by).await?,
        }
        Ok((record, secret))
    }

    /// Makes a token invalid, for good.
    pub async fn revoke_token(&self, id: TokenId, by: &Writer) -> Result<TokenRecord, WriteError> {
        match &self.kind {
            Kind::Embedded(own) => own.revoke_token(id, by).await,
            Kind::Redis(own) => own.revoke_token(id, by).await,
        }
    }

    /// All tokens that are not revoked, expired ones included, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        if let Kind::Redis(own) = &self.kind {
            own.refresh_tokens().await?;
        }
        Ok(self.tokens().all())
    }

    /// The token that this text is, if it can be used now. Never waits.
    pub fn verify_token(&self, text: &[u8], now: Timestamp) -> Option<TokenRecord> {
        self.tokens().verify(text, &self.keys, now)
    }

    /// Whether a token that was verified before can still be used. Never waits.
    pub fn is_token_live(&self, id: TokenId, now: Timestamp) -> bool {
        self.tokens().is_live(id, now)
    }

    fn tokens(&self) -> &TokenSet {
        match &self.kind {
            Kind::Embedded(own) => own.tokens(),
            Kind::Redis(own) => own.tokens(),
        }
    }
}

impl Audited for TokenRecord {
    fn target(&self) -> &str {
        self.id.as_str()
    }

    fn says(&self) -> String {
        object(&[
            ("id", json!(self.id.as_str())),
            ("name", json!(self.name.as_str())),
            ("role", json!(self.role.as_str())),
            ("may", json!(self.may.iter().map(token::May::as_str).collect::<Vec<_>>())),
            ("expires_at", json!(self.expires_at.map(text))),
            ("created_at", json!(text(self.created_at))),
        ])
    }
}
