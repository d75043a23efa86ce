//! Tokens in Redis, and all of them in the memory of each node. A change is published; a node also asks for it twice a
//! second, so that a revocation takes effect within a second whether or not the message arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};
use sluicegate_core::time::Timestamp;
use tokio::sync::{Mutex, Notify};

use super::error::RedisError;
use super::layout::STATE;
use super::written::{TRIES_MAX, WriteId, Written, arguments};
use super::{RedisDirectory, Shared, ask, scripts};
use crate::directory::audited::{Action, Audited as _};
use crate::directory::error::{What, WriteError};
use crate::directory::record::Writer;
use crate::key_text::{KeyHash, KeyId};
use crate::redis::driver::{Value, cmd};
use crate::token::{May, Role, StoredToken, TOKENS_MAX, TokenId, TokenName, TokenRecord, TokenSet};

/// A hash: id to the token; `~` and name to the id.
pub(super) const TOKENS: &str = "sg1:{dir}:tokens";

/// How often a node asks whether tokens have changed.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// The version of a stored token.
const VERSION: u64 = 1;

/// What a node knows of tokens.
#[derive(Debug)]
pub(super) struct Tokens {
    set: TokenSet,
    /// The change up to which they are known.
    change: AtomicU64,
    /// Raised when a change was published.
    pub(super) changed: Notify,
    /// Held while the store is asked: answers are taken in the order in which they were given.
    refreshing: Mutex<()>,
}

impl Default for Tokens {
    fn default() -> Self {
        let change = AtomicU64::new(u64::MAX);
        Self { set: TokenSet::default(), change, changed: Notify::new(), refreshing: Mutex::default() }
    }
}

impl RedisDirectory {
    pub(crate) fn tokens(&self) -> &TokenSet {
        &self.shared.tokens.set
    }

    pub(crate) async fn refresh_tokens(&self) -> Result<(), RedisError> {
        self.shared.refresh_tokens().await
    }

    pub(crate) async fn create_token(&self, token: StoredToken, by: &Writer) -> Result<(), WriteError> {
        let (shared, by) = (Arc::clone(&self.shared), by.clone());
        self.done(async move { shared.create_token(&token, &by).await }).await
    }

    pub(crate) async fn revoke_token(&self, id: TokenId, by: &Writer) -> Result<TokenRecord, WriteError> {
        let (shared, by) = (Arc::clone(&self.shared), by.clone());
        self.done(async move { shared.revoke_token(id, &by).await }).await
    }
}

/// Keeps the tokens as the store has them, for as long as the directory is open. While the store is unreachable the
/// tokens stay as they are.
pub(super) async fn follow(shared: Arc<Shared>) {
    loop {
        let _ = tokio::time::timeout(ASK_EVERY, shared.tokens.changed.notified()).await;
        // What cannot be read now is read again.
        let _ = shared.refresh_tokens().await;
    }
}

impl Shared {
    pub(super) async fn refresh_tokens(&self) -> Result<(), RedisError> {
        let _refreshing = self.tokens.refreshing.lock().await;
        let known = self.tokens.change.load(Ordering::Acquire);
        // A plain command: nearly always nothing has changed, and no script has to run.
        let mut asked = cmd("HGET");
        asked.arg(STATE).arg("tokens");
        let found = match ask::command(&self.server.link, &asked).await? {
            Value::BulkString(bytes) => str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok()),
            _ => Some(0),
        };
        if found == Some(known) {
            return Ok(());
        }
        let reply = ask::list_tokens(&self.server).await?;
        let change = reply.number(0)?;
        let tokens: Vec<_> = reply.texts().skip(1).map(|text| read(text?)).collect::<Result<_, _>>()?;
        self.tokens.set.replace(tokens);
        self.tokens.change.store(change, Ordering::Release);
        Ok(())
    }

    async fn create_token(&self, token: &StoredToken, by: &Writer) -> Result<(), WriteError> {
        let record = &token.record;
        let (text, after) = (write(token), record.says());
        let most = TOKENS_MAX.to_string();
        let own = [record.id.as_str(), record.name.as_str(), &most, &text, &after];
        let arguments = arguments(by, Action::TokenCreate, own);
        let script = &scripts::CREATE_TOKEN;
        let reply = ask::write_with(&self.server, script, &WriteId::random()?, &[TOKENS], &arguments).await?;
        match Written::of(&reply)? {
            Written::Done { .. } => {
                self.refresh_tokens().await?;
                Ok(())
            }
            Written::Exists => Err(WriteError::TokenExists(record.name.clone())),
            Written::TooMany => Err(WriteError::TooManyTokens),
            Written::Changed | Written::NoAccount => Err(Written::odd().into()),
        }
    }

    async fn revoke_token(&self, id: TokenId, by: &Writer) -> Result<TokenRecord, WriteError> {
        for _ in 0..TRIES_MAX {
            let reply = ask::list_tokens(&self.server).await?;
            let mut found = None;
            for text in reply.texts().skip(1) {
                let text = text?;
                let token = read(text)?;
                if token.record.id == id {
                    found = Some((text.to_owned(), token.record));
                }
            }
            let Some((text, record)) = found else { return Err(WriteError::NotFound(What::Token)) };
            let before = record.says();
            let own = [id.as_str(), record.name.as_str(), &text, &before];
            let arguments = arguments(by, Action::TokenRevoke, own);
            let (script, write) = (&scripts::REVOKE_TOKEN, WriteId::random()?);
            let reply = ask::write_with(&self.server, script, &write, &[TOKENS], &arguments).await?;
            if let Written::Done { .. } = Written::of(&reply)? {
                // Before the answer is sent: here the token is refused from now on.
                self.tokens.set.change(id, None);
                self.refresh_tokens().await?;
                return Ok(record);
            }
        }
        Err(RedisError::Contended.into())
    }
}

fn write(token: &StoredToken) -> String {
    let StoredToken { record, hash } = token;
    let hash = blake3::Hash::from_bytes(*hash.as_bytes()).to_hex();
    json!({
        "v": VERSION,
        "id": record.id.as_str(),
        "name": record.name.as_str(),
        "role": record.role.as_str(),
        "may": record.may.iter().map(May::as_str).collect::<Vec<_>>(),
        "expires_at": record.expires_at.map(Timestamp::as_nanos),
        "created_at": record.created_at.as_nanos(),
        "hash": hash.as_str(),
    })
    .to_string()
}

fn read(text: &str) -> Result<StoredToken, RedisError> {
    let nonsense = |what: &str| RedisError::Nonsense(format!("a token: {what}"));
    let value: Json = serde_json::from_str(text).map_err(|_| nonsense("its form"))?;
    let version = value["v"].as_u64().ok_or_else(|| nonsense("its version"))?;
    if version != VERSION {
        return Err(RedisError::Newer { what: "a token".to_owned(), found: version });
    }
    let word = |name: &str| value[name].as_str().ok_or_else(|| nonsense(name));
    let may = value["may"].as_array().ok_or_else(|| nonsense("may"))?;
    let may: Option<_> = may.iter().map(|word| May::parse(word.as_str()?)).collect();
    let hash = blake3::Hash::from_hex(word("hash")?).map_err(|_| nonsense("hash"))?;
    let record = TokenRecord {
        id: KeyId::parse(word("id")?).ok_or_else(|| nonsense("id"))?,
        name: TokenName::new(word("name")?).map_err(|_| nonsense("name"))?,
        role: Role::parse(word("role")?).ok_or_else(|| nonsense("role"))?,
        may: may.ok_or_else(|| nonsense("may"))?,
        expires_at: value["expires_at"].as_u64().map(Timestamp::from_nanos),
        created_at: value["created_at"]
            .as_u64()
            .map(Timestamp::from_nanos)
            .ok_or_else(|| nonsense("created_at"))?,
    };
    Ok(StoredToken { record, hash: KeyHash::from_bytes(*hash.as_bytes()) })
}
