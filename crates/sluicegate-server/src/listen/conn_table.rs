//! All connections of one listener: how many there are, whose they are, and which are closed when places run short.
//!
//! Places run short when fewer than a quarter of them are free. From then on one address has no more than its share,
//! and when none is free, idle connections are closed: refused ones first, then those without a valid key, the longest
//! idle first. A connection with a request in flight is never closed for another.

mod evict;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;
use sluicegate_core::policy::{PerAddress, Proxies};
use sluicegate_node::ConnTrustCell;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::address::AddressPrefix;
use super::clock::Clock;

/// Places run short when less than this part of them is free.
const SHORT_DIVISOR: u32 = 4;

/// The connections of all listeners of this process.
static OPEN: AtomicU32 = AtomicU32::new(0);

/// The most of them at a time since that was last asked.
static PEAK: AtomicU32 = AtomicU32::new(0);

/// How many connections all listeners of this process have open, and the most since this was last called.
pub fn open_connections() -> (u32, u32) {
    let open = OPEN.load(Relaxed);
    (open, PEAK.swap(open, Relaxed).max(open))
}

/// How many connections there may be.
#[derive(Clone, Debug)]
pub(crate) struct ConnLimits {
    /// The most at a time.
    pub(crate) connections_max: u32,
    /// The most of one address while places run short.
    pub(crate) per_address: PerAddress,
    /// Peers that pass on the connections of many: their number is not limited.
    pub(crate) exempt: Proxies,
}

/// All connections of one listener.
#[derive(Debug)]
pub(crate) struct ConnTable {
    limits: ConnLimits,
    state: Mutex<State>,
    /// Told whenever a connection ends.
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    conns: BTreeMap<u64, Arc<Conn>>,
    /// Those that were not told to close.
    open: u32,
    addresses: BTreeMap<AddressPrefix, AddressCounts>,
    /// No connection can be closed before that: the last look has found none.
    barren_until: Option<Instant>,
}

/// What one address has.
#[derive(Debug, Default)]
struct AddressCounts {
    connections: u32,
    handshakes: u32,
    barren_until: Option<Instant>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Conn {
    id: u64,
    /// Whose it is; nothing: a peer that is exempt.
    prefix: Option<AddressPrefix>,
    pub(super) clock: Arc<Clock>,
    pub(crate) trust: Arc<ConnTrustCell>,
    stage: AtomicU8,
    evicted: AtomicBool,
    evict: Notify,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Stage {
    Handshake,
    Serving,
    /// It speaks something else than HTTP, and is never idle.
    Tunnel,
}

/// The place of a connection. Dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct ConnPermit {
    table: Arc<ConnTable>,
    pub(crate) conn: Arc<Conn>,
}

/// What becomes of a connection that was accepted.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It has a place.
    Admitted(ConnPermit),
    /// Its address has its share already, and places run short.
    Refused,
    /// There is no place, and none can be made.
    Full,
}

impl ConnTable {
    pub(crate) fn new(limits: ConnLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default(), freed: Notify::new() })
    }

    /// Gives a connection of this peer a place, if there is one or one can be made.
    pub(crate) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Admission {
        let prefix = self.prefix_of(peer.ip());
        let mut state = self.state.lock();
        let now = Instant::now();
        if let Some(prefix) = prefix
            && self.runs_short(state.open)
            && !state.has_share(prefix, &self.limits.per_address, now)
        {
            return Admission::Refused;
        }
        let max = self.limits.connections_max;
        if state.open >= max && state.evict_any(evict::batch(max), now) == 0 {
            return Admission::Full;
        }
        Admission::Admitted(ConnPermit { conn: state.insert(prefix), table: Arc::clone(self) })
    }

    /// Over once a connection has ended since this was called.
    pub(crate) fn freed(&self) -> impl Future<Output = ()> {
        self.freed.notified()
    }

    /// Closes some idle connections, because the process has no more descriptors.
    pub(crate) fn make_room(&self) {
        self.state.lock().evict_any(evict::batch(self.limits.connections_max), Instant::now());
    }

    /// Whether no connection is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().conns.is_empty()
    }

    fn runs_short(&self, open: u32) -> bool {
        let max = self.limits.connections_max;
        max.saturating_sub(open) <= max / SHORT_DIVISOR
    }

    fn prefix_of(&self, peer: IpAddr) -> Option<AddressPrefix> {
        (!self.limits.exempt.trusts(peer)).then(|| AddressPrefix::of(peer))
    }
}

impl State {
    fn insert(&mut self, prefix: Option<AddressPrefix>) -> Arc<Conn> {
        let conn = Arc::new(Conn {
            id: self.next_id,
            prefix,
            clock: Arc::new(Clock::new()),
            trust: Arc::default(),
            stage: AtomicU8::new(Stage::Handshake as u8),
            evicted: AtomicBool::new(false),
            evict: Notify::new(),
        });
        PEAK.fetch_max(OPEN.fetch_add(1, Relaxed) + 1, Relaxed);
        self.next_id += 1;
        self.open += 1;
        if let Some(prefix) = prefix {
            let counts = self.addresses.entry(prefix).or_default();
            counts.connections += 1;
            counts.handshakes += 1;
        }
        self.conns.insert(conn.id, Arc::clone(&conn));
        conn
    }

    /// Whether the address has a place left of its share, perhaps because one of its own is closed for it.
    fn has_share(&mut self, prefix: AddressPrefix, share: &PerAddress, now: Instant) -> bool {
        let Some(counts) = self.addresses.get(&prefix) else { return true };
        if counts.handshakes >= share.handshakes {
            return false;
        }
        counts.connections < share.connections
            || self.evict_of(prefix, evict::batch(share.connections), now) > 0
    }

    /// No longer counts a connection, which has ended or was told to.
    fn uncount(&mut self, conn: &Conn) {
        self.open -= 1;
        let Some(prefix) = conn.prefix else { return };
        if let Some(counts) = self.addresses.get_mut(&prefix) {
            counts.connections -= 1;
            counts.handshakes -= u32::from(conn.stage.load(Relaxed) == Stage::Handshake as u8);
            if counts.connections == 0 {
                self.addresses.remove(&prefix);
            }
        }
    }
}

impl ConnPermit {
    /// The handshake is over, and it is known what is spoken.
    pub(crate) fn opened(&self) {
        let mut state = self.table.state.lock();
        self.conn.stage.store(Stage::Serving as u8, Relaxed);
        // One that was told to close is not counted any more.
        if !self.conn.is_evicted()
            && let Some(counts) = self.conn.prefix.and_then(|prefix| state.addresses.get_mut(&prefix))
        {
            counts.handshakes -= 1;
        }
    }
}

impl Conn {
    /// Whether it is to be closed as soon as it has no request in flight.
    #[inline]
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Relaxed)
    }

    /// Over once it is to be closed.
    pub(crate) async fn evicted(&self) {
        self.evict.notified().await;
    }

    /// It speaks something else from now on.
    pub(crate) fn becomes_tunnel(&self) {
        self.stage.store(Stage::Tunnel as u8, Relaxed);
    }
}

impl Drop for ConnPermit {
    fn drop(&mut self) {
        let mut state = self.table.state.lock();
        state.conns.remove(&self.conn.id);
        if !self.conn.is_evicted() {
            state.uncount(&self.conn);
        }
        drop(state);
        OPEN.fetch_sub(1, Relaxed);
        self.table.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
