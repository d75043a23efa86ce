//! The directory of many nodes: Redis has the truth, and each node remembers the keys that it has seen, for half a
//! minute at most. A write is one script. It tells every node what has changed, and they ask anew.

mod accounts;
mod ask;
mod audit;
mod cache;
mod error;
mod flights;
mod identity;
mod keys;
mod layout;
mod links;
mod lists;
mod look;
mod news;
mod note;
mod reply;
mod scripts;
pub(crate) mod subject_keys;
mod text;
mod tokens;
mod used;
mod watch;
mod written;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::link::Link;
use crate::hash::HomeHasher;
use crate::identity::{StoreMemory, StoreState};
use crate::key_text::KeyHasher;
use ask::Server;
use cache::Cache;
pub use cache::CacheLimits;
pub use error::RedisError;
use flights::Flights;
use identity::Identity;
pub(super) use layout::{CHANNEL, FORMAT_CHANNEL};
use links::Links;
use tokens::Tokens;
use watch::Listening;

/// Accounts and keys in Redis, and what this node remembers of them.
#[derive(Debug)]
pub(crate) struct RedisDirectory {
    shared: Arc<Shared>,
    /// Where writes are done that nobody may wait for any more.
    runtime: Handle,
    watch: JoinHandle<()>,
    follow_tokens: JoinHandle<()>,
}

/// What writes that go on alone need.
#[derive(Debug)]
struct Shared {
    server: Server,
    cache: Arc<Cache>,
    flights: Flights,
    links: Links,
    tokens: Tokens,
}

impl RedisDirectory {
    /// Opens the directory behind a link that is up. Must be called within a tokio runtime.
    pub(crate) async fn open(
        link: Link,
        homes: HomeHasher,
        keys: &KeyHasher,
        limits: CacheLimits,
        memory: StoreMemory,
    ) -> Result<Self, RedisError> {
        let identity =
            Identity::open(&link, memory, keys.fingerprints().collect::<Vec<_>>().join(",")).await?;
        claim_format(&link).await?;
        let cache = Arc::new(Cache::new(homes, limits));
        let Some(news) = watch::subscribe(&link).await else {
            return Err(RedisError::Away("it lets nobody listen to changes".to_owned()));
        };
        let listening = Listening::begin(&cache);
        let server = Server { link, identity };
        let (flights, links, tokens) = (Flights::default(), Links::default(), Tokens::default());
        let shared = Arc::new(Shared { server, cache, flights, links, tokens });
        shared.refresh_tokens().await?;
        let watch = tokio::spawn(watch::watch(Arc::clone(&shared), news, listening));
        let follow_tokens = tokio::spawn(tokens::follow(Arc::clone(&shared)));
        Ok(Self { shared, runtime: Handle::current(), watch, follow_tokens })
    }

    /// Whether changes by other nodes are heard of at once.
    pub(crate) fn is_listening(&self) -> bool {
        self.shared.cache.is_listening()
    }

    /// Whether it is the store that this node knows.
    pub(crate) fn store_state(&self) -> StoreState {
        self.shared.server.identity.state()
    }

    /// Takes over the store as it is.
    pub(crate) async fn adopt(&self) -> Result<(), RedisError> {
        self.shared.server.identity.adopt(&self.shared.server.link).await
    }

    /// Does it, also if nobody waits for it any more.
    async fn done<T, E>(&self, write: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<RedisError> + Send + 'static,
    {
        self.runtime.spawn(write).await.unwrap_or_else(|_| Err(RedisError::Closed.into()))
    }
}

/// Marks the store as one that holds this format. Refuses one that holds a later one.
async fn claim_format(link: &Link) -> Result<(), RedisError> {
    let reply = ask::claim(link, &scripts::FORMAT, &[&layout::FORMAT.to_string()]).await?;
    match reply.number(0)? {
        found if found > layout::FORMAT => Err(RedisError::NewerFormat(found)),
        _ => Ok(()),
    }
}

impl Drop for RedisDirectory {
    fn drop(&mut self) {
        self.watch.abort();
        self.follow_tokens.abort();
    }
}
