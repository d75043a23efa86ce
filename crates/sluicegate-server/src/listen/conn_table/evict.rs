//! Which connections are closed first when places run short.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use sluicegate_node::ConnTrust;
use tokio::time::Instant;

use super::{Conn, Stage, State};
use crate::listen::address::AddressPrefix;

/// A look at all connections closes this part of the places, so that looking costs little for each.
const BATCH_DIVISOR: u32 = 64;

/// How long it takes until connections are looked at again after none could be closed.
const BARREN_WAIT: Duration = Duration::from_millis(50);

/// How many connections are closed at once where there are this many places.
pub(super) fn batch(places: u32) -> usize {
    usize::try_from(places / BATCH_DIVISOR).unwrap_or(usize::MAX).max(1)
}

/// Refused ones first, those with a valid key last; of those alike, the longest idle one.
type Order = (ConnTrust, Instant, u64);

impl State {
    /// Closes up to so many idle connections, and says how many.
    pub(super) fn evict_any(&mut self, count: usize, now: Instant) -> usize {
        if self.barren_until.is_some_and(|until| now < until) {
            return 0;
        }
        let evicted = self.evict(count, |_| true);
        self.barren_until = (evicted == 0).then(|| now + BARREN_WAIT);
        evicted
    }

    /// The same of one address.
    pub(super) fn evict_of(&mut self, prefix: AddressPrefix, count: usize, now: Instant) -> usize {
        let is_barren = |state: &Self| state.addresses.get(&prefix).and_then(|counts| counts.barren_until);
        if is_barren(self).is_some_and(|until| now < until) {
            return 0;
        }
        let evicted = self.evict(count, |conn| conn.prefix == Some(prefix));
        if let Some(counts) = self.addresses.get_mut(&prefix) {
            counts.barren_until = (evicted == 0).then(|| now + BARREN_WAIT);
        }
        evicted
    }

    fn evict(&mut self, count: usize, is_meant: impl Fn(&Conn) -> bool) -> usize {
        let order = |conn: &Arc<Conn>| -> Option<Order> {
            let can_close =
                is_meant(conn) && !conn.is_evicted() && conn.stage.load(Relaxed) != Stage::Tunnel as u8;
            let since = can_close.then(|| conn.clock.idle_since()).flatten()?;
            Some((conn.trust.get(), since, conn.id))
        };
        let mut found: Vec<Order> = self.conns.values().filter_map(order).collect();
        if found.len() > count {
            found.select_nth_unstable(count);
            found.truncate(count);
        }
        for (_, _, id) in &found {
            if let Some(conn) = self.conns.get(id).cloned() {
                self.uncount(&conn);
                conn.evicted.store(true, Relaxed);
                conn.evict.notify_one();
            }
        }
        found.len()
    }
}
