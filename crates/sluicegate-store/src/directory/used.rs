//! When keys were last used, by the minute. A decision compares one number; what is new is written behind, in batches.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use sluicegate_core::time::Timestamp;

use super::error::StoreError;
use super::key::Key;
use super::{Directory, Kind};

/// How exact it is.
const MINUTE_NANOS: u64 = 60_000_000_000;
/// How many keys wait to be written at most. Those beyond them are noted a minute later.
const WAITING_MAX: usize = 1_000_000;
/// How many are written at once.
pub(crate) const BATCH_MAX: usize = 1_000;

/// Keys that were used, and since their last write.
#[derive(Debug, Default)]
pub(crate) struct UsedKeys(Mutex<HashMap<u64, u32>>);

impl UsedKeys {
    #[cold]
    fn note(&self, key: &Key, minute: u32) {
        key.used_minute.store(minute, Ordering::Relaxed);
        let mut waiting = self.0.lock();
        if waiting.len() < WAITING_MAX || waiting.contains_key(&key.serial) {
            waiting.insert(key.serial, minute);
        }
    }

    fn take(&self) -> HashMap<u64, u32> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Puts back what could not be written.
    fn put_back(&self, unwritten: impl IntoIterator<Item = (u64, u32)>) {
        let mut waiting = self.0.lock();
        for (serial, minute) in unwritten {
            if waiting.len() >= WAITING_MAX {
                return;
            }
            let known = waiting.entry(serial).or_insert(minute);
            *known = (*known).max(minute);
        }
    }
}

/// The instant at which this minute began.
pub(crate) fn minute_began(minute: u32) -> Timestamp {
    Timestamp::from_nanos(u64::from(minute).saturating_mul(MINUTE_NANOS))
}

impl Directory {
    /// Notes that a key is used. At most once in a minute it does more than compare.
    #[inline]
    pub fn note_used(&self, key: &Key, now: Timestamp) {
        let minute = u32::try_from(now.as_nanos() / MINUTE_NANOS).unwrap_or(u32::MAX);
        if key.used_minute.load(Ordering::Relaxed) != minute {
            self.used.note(key, minute);
        }
    }

    /// Writes when keys were last used, in batches. What cannot be written waits for the next call.
    pub async fn flush_used(&self) -> Result<(), StoreError> {
        let waiting: Vec<(u64, u32)> = self.used.take().into_iter().collect();
        for (written, batch) in waiting.chunks(BATCH_MAX).enumerate() {
            let done = match &self.kind {
                Kind::Embedded(own) => own.write_used(batch.to_vec()).await.map_err(StoreError::from),
                Kind::Redis(own) => own.write_used(batch).await.map_err(StoreError::from),
            };
            if let Err(error) = done {
                self.used.put_back(waiting.iter().skip(written * BATCH_MAX).copied());
                return Err(error);
            }
        }
        Ok(())
    }

    /// When these keys were last used, by the minute, in this order; nothing: never, or before that was kept. Uses that
    /// other nodes have not written yet are not seen.
    pub async fn last_used(&self, serials: &[u64]) -> Result<Vec<Option<Timestamp>>, StoreError> {
        self.flush_used().await?;
        match &self.kind {
            Kind::Embedded(own) => Ok(own.read_used(serials.to_vec()).await?),
            Kind::Redis(own) => Ok(own.read_used(serials).await?),
        }
    }
}
