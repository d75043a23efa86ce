//! Whether the Redis is the one that this node knows. Every script that looks somebody up or writes asks that first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arc_swap::ArcSwap;

use super::error::RedisError;
use super::{ask, scripts};
use crate::identity::{StoreId, StoreKind, StoreMemory, StoreMismatch, StoreState};
use crate::key_text::NoRandomness;
use crate::redis::link::Link;

/// The store that this node means.
#[derive(Debug)]
pub(super) struct Identity {
    memory: StoreMemory,
    /// What the store is asked for.
    store: ArcSwap<StoreId>,
    /// What it was when it was last asked.
    state: AtomicU8,
    /// Of the secret that all nodes of the store have.
    fingerprint: String,
}

/// How a store is claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    /// If it is the one that is known.
    Known,
    /// Whichever it is.
    Adopted,
}

impl Identity {
    /// Claims the store for the first time. One that was emptied is opened all the same.
    pub(super) async fn open(
        link: &Link,
        memory: StoreMemory,
        fingerprint: String,
    ) -> Result<Self, RedisError> {
        let remembered = memory.of_kind(StoreKind::Redis).map_err(RedisError::Mismatch)?;
        let claim = if remembered.adopts { Claim::Adopted } else { Claim::Known };
        let known = remembered.store.map(|(_, store)| store);
        let store = known.clone().unwrap_or_else(|| StoreId { id: String::new(), generation: 0 });
        let state = AtomicU8::new(StoreState::Known as u8);
        let identity = Self { memory, store: ArcSwap::from_pointee(store), state, fingerprint };
        match identity.claim_as(link, claim).await? {
            StoreState::Other => Err(RedisError::Mismatch(StoreMismatch::Other)),
            StoreState::Known | StoreState::Emptied => Ok(identity),
        }
    }

    /// What the store was when it was last asked.
    pub(super) fn state(&self) -> StoreState {
        StoreState::from_number(self.state.load(Ordering::Relaxed))
    }

    pub(super) fn set_state(&self, state: StoreState) {
        // Hardly ever changes: a line that is not written is not taken from other threads.
        if self.state() != state {
            self.state.store(state as u8, Ordering::Relaxed);
        }
    }

    /// The id that scripts ask for.
    pub(super) fn id(&self) -> Arc<StoreId> {
        self.store.load_full()
    }

    /// Looks again whether the store is the one that is known, and that it has the same secret.
    pub(super) async fn claim(&self, link: &Link) -> Result<StoreState, RedisError> {
        self.claim_as(link, Claim::Known).await
    }

    /// Takes over the store as it is.
    pub(super) async fn adopt(&self, link: &Link) -> Result<(), RedisError> {
        self.claim_as(link, Claim::Adopted).await.map(drop)
    }

    async fn claim_as(&self, link: &Link, claim: Claim) -> Result<StoreState, RedisError> {
        let known = self.store.load_full();
        let fresh = StoreId::random().map_err(|error| RedisError::Refused(no_randomness(error)))?;
        let adopts = if claim == Claim::Adopted { "1" } else { "0" };
        let generation = known.generation.to_string();
        let arguments = [&*self.fingerprint, &known.id, &generation, &fresh.id, adopts];
        let reply = ask::claim(link, &scripts::CLAIM, &arguments).await?;
        let state = match reply.text(0)?.unwrap_or_default() {
            "known" => {
                let id = reply.text(1)?.unwrap_or_default().to_owned();
                let store = StoreId { id, generation: reply.number(2)? };
                self.memory.remember(StoreKind::Redis, &store).map_err(RedisError::Mismatch)?;
                self.store.store(Arc::new(store));
                StoreState::Known
            }
            "emptied" => StoreState::Emptied,
            "other" => StoreState::Other,
            "other-secret" => return Err(RedisError::OtherSecret),
            other => return Err(RedisError::Nonsense(format!("an answer `{other}`"))),
        };
        self.set_state(state);
        Ok(state)
    }
}

fn no_randomness(error: NoRandomness) -> String {
    error.to_string()
}
