//! The HTTP/2 connections to one upstream, and which of them a stream goes over.
//!
//! What one caller can use up is never what another needs:
//!
//! - A caller has at most [`CALLER_STREAMS_MAX`] streams on the connections that all callers share. Its unread answers
//!   are then at most 4 MiB, and the window of such a connection is larger than those of all its streams together.
//! - The streams beyond go over connections of the caller's own, whose windows cap its unread bytes.
//! - A caller whose upload the upstream does not take, and a connection that has such an upload, get no more streams
//!   of the shared kind: the upstream's window for requests is shared too, and is not ours to size.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::super::upload::Progress;
use super::{CallerId, Class, OWN_WINDOW, Opened, SHARED_WINDOW, STREAM_WINDOW, Sender};

/// How many streams a caller may have on shared connections.
const CALLER_STREAMS_MAX: u32 = 16;

/// How many streams a shared connection has before another one is opened: as many as most servers allow.
const STREAMS_GOAL: u32 = 100;

/// How many streams a shared connection may have at most, when no other one may be opened: their windows fit its own.
const STREAMS_MAX: u32 = SHARED_WINDOW / STREAM_WINDOW;

/// How many streams a caller's own connection has before another one is opened: their windows fill its own.
const OWN_STREAMS_GOAL: u32 = OWN_WINDOW / STREAM_WINDOW;

/// How many connections of its own a caller may have.
const OWN_PER_CALLER_MAX: usize = 4;

/// How long an upload may wait for the upstream before other streams avoid its connection.
const STALLED_AFTER: Duration = Duration::from_millis(50);

/// How long a connection without streams is kept, and how often such connections are looked for.
const IDLE_AGE_MAX: Duration = Duration::from_secs(55);
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// The connections to one upstream.
pub(in crate::gateway) struct Http2Connections {
    state: Mutex<State>,
    /// How many there may be.
    shared_max: usize,
    own_max: usize,
    /// Tells callers apart.
    pub(in crate::gateway) hasher: RandomState,
    /// Held while connecting, so that a burst of calls opens one connection and not one each.
    opening_shared: tokio::sync::Mutex<()>,
    opening_own: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    shared: Vec<Arc<Connection>>,
    callers: HashMap<CallerId, CallerStreams>,
    own_count: usize,
    sweeper: Sweeper,
}

/// What a caller uses.
#[derive(Default)]
struct CallerStreams {
    shared: u32,
    own: Vec<Arc<Connection>>,
}

/// Whether a task looks for idle connections.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Sweeper {
    #[default]
    Missing,
    Running,
}

struct Connection {
    opened: Opened,
    streams: AtomicU32,
    idle_since: Mutex<Instant>,
    uploads: Mutex<Vec<(CallerId, Weak<Progress>)>>,
}

impl Connection {
    fn streams(&self) -> u32 {
        self.streams.load(Relaxed)
    }

    fn is_open(&self) -> bool {
        !self.opened.send.is_closed()
    }

    /// Whether it has room for another stream before another connection should be opened.
    fn has_room(&self, goal: u32) -> bool {
        self.streams() < goal.min(self.opened.streams_allowed.load(Relaxed).max(1))
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.streams() == 0 && now.duration_since(*self.idle_since.lock()) > IDLE_AGE_MAX
    }

    /// Callers whose uploads the upstream does not take.
    fn stalled(&self, now: Instant) -> Vec<CallerId> {
        let mut uploads = self.uploads.lock();
        uploads.retain(|(_, progress)| progress.strong_count() > 0);
        let is_stalled = |progress: &Weak<Progress>| {
            progress.upgrade().is_some_and(|progress| progress.is_untaken(now, STALLED_AFTER))
        };
        uploads.iter().filter(|(_, progress)| is_stalled(progress)).map(|(caller, _)| *caller).collect()
    }
}

/// What a stream goes over.
pub(in crate::gateway) enum Choice {
    /// This connection.
    Use(Sender, StreamPlace),
    /// One that is to be opened.
    Open(Class),
    /// None: every connection has as many streams as it may have.
    Full,
}

/// A stream's place on its connection. It is free once this is dropped.
pub(in crate::gateway) struct StreamPlace {
    connections: Arc<Http2Connections>,
    connection: Arc<Connection>,
    caller: CallerId,
    class: Class,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        if self.connection.streams.fetch_sub(1, Relaxed) == 1 {
            *self.connection.idle_since.lock() = Instant::now();
        }
        if self.class == Class::Shared {
            let mut state = self.connections.state.lock();
            if let Some(streams) = state.callers.get_mut(&self.caller) {
                streams.shared = streams.shared.saturating_sub(1);
                if streams.shared == 0 && streams.own.is_empty() {
                    state.callers.remove(&self.caller);
                }
            }
        }
    }
}

impl Http2Connections {
    /// At most so many, of which half are shared.
    pub(in crate::gateway) fn new(max: u32) -> Arc<Self> {
        let max = usize::try_from(max).unwrap_or(usize::MAX).max(1);
        let shared_max = max.div_ceil(2);
        Arc::new(Self {
            state: Mutex::default(),
            shared_max,
            own_max: max - shared_max,
            hasher: RandomState::new(),
            opening_shared: tokio::sync::Mutex::default(),
            opening_own: tokio::sync::Mutex::default(),
        })
    }

    /// Held while a connection of this class is opened.
    pub(in crate::gateway) async fn opening(&self, class: Class) -> tokio::sync::MutexGuard<'_, ()> {
        match class {
            Class::Shared => self.opening_shared.lock().await,
            Class::Own => self.opening_own.lock().await,
        }
    }

    /// What the next stream of a caller goes over.
    pub(in crate::gateway) fn choose(
        self: &Arc<Self>,
        caller: CallerId,
        upload: Option<&Arc<Progress>>,
    ) -> Choice {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.shared.retain(|connection| connection.is_open());
        let stalled: Vec<Vec<CallerId>> =
            state.shared.iter().map(|connection| connection.stalled(now)).collect();
        let streams = state.callers.get(&caller).map_or(0, |streams| streams.shared);
        let is_heavy = streams >= CALLER_STREAMS_MAX || stalled.iter().flatten().any(|id| *id == caller);
        if is_heavy && self.own_max > 0 {
            return self.choose_own(&mut state, caller, upload);
        }
        let calm = state.shared.iter().zip(&stalled).filter(|(_, stalled)| stalled.is_empty());
        let roomy = calm.map(|(connection, _)| connection).find(|found| found.has_room(STREAMS_GOAL));
        if let Some(connection) = roomy.cloned() {
            return self.take(&mut state, connection, caller, Class::Shared, upload);
        }
        if state.shared.len() < self.shared_max {
            return Choice::Open(Class::Shared);
        }
        match state.shared.iter().min_by_key(|connection| connection.streams()).cloned() {
            Some(connection) if connection.streams() < STREAMS_MAX => {
                self.take(&mut state, connection, caller, Class::Shared, upload)
            }
            _ => Choice::Full,
        }
    }

    fn choose_own(
        self: &Arc<Self>,
        state: &mut State,
        caller: CallerId,
        upload: Option<&Arc<Progress>>,
    ) -> Choice {
        let own = &mut state.callers.entry(caller).or_default().own;
        let before = own.len();
        own.retain(|connection| connection.is_open());
        let (closed, count) = (before - own.len(), own.len());
        let least = own.iter().min_by_key(|connection| connection.streams()).cloned();
        state.own_count -= closed;
        let may_open = count < OWN_PER_CALLER_MAX && (state.own_count < self.own_max || state.evict_idle());
        let least = match least {
            Some(least) if least.has_room(OWN_STREAMS_GOAL) || !may_open => Some(least),
            _ if may_open => return Choice::Open(Class::Own),
            // Every connection of this class is in use by other callers with many streams: one of those is joined.
            _ => state.own().min_by_key(|connection| connection.streams()).cloned(),
        };
        match least {
            Some(connection) if connection.streams() < STREAMS_MAX => {
                self.take(state, connection, caller, Class::Own, upload)
            }
            _ => Choice::Full,
        }
    }

    /// Adds a connection that was opened for this caller, and takes the first place on it.
    pub(in crate::gateway) fn add(
        self: &Arc<Self>,
        opened: Opened,
        class: Class,
        caller: CallerId,
        upload: Option<&Arc<Progress>>,
    ) -> Choice {
        let connection = Arc::new(Connection {
            opened,
            streams: AtomicU32::new(0),
            idle_since: Mutex::new(Instant::now()),
            uploads: Mutex::default(),
        });
        let mut state = self.state.lock();
        match class {
            Class::Shared => state.shared.push(Arc::clone(&connection)),
            Class::Own => {
                state.callers.entry(caller).or_default().own.push(Arc::clone(&connection));
                state.own_count += 1;
            }
        }
        if state.sweeper == Sweeper::Missing {
            state.sweeper = Sweeper::Running;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
        self.take(&mut state, connection, caller, class, upload)
    }

    fn take(
        self: &Arc<Self>,
        state: &mut State,
        connection: Arc<Connection>,
        caller: CallerId,
        class: Class,
        upload: Option<&Arc<Progress>>,
    ) -> Choice {
        connection.streams.fetch_add(1, Relaxed);
        if class == Class::Shared {
            state.callers.entry(caller).or_default().shared += 1;
        }
        if let Some(upload) = upload {
            connection.uploads.lock().push((caller, Arc::downgrade(upload)));
        }
        let send = connection.opened.send.clone();
        Choice::Use(send, StreamPlace { connections: Arc::clone(self), connection, caller, class })
    }
}

impl State {
    /// The connections that are callers' own.
    fn own(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.callers.values().flat_map(|streams| &streams.own).filter(|connection| connection.is_open())
    }

    /// Closes a caller's own connection that has no streams, so that another caller can have one.
    fn evict_idle(&mut self) -> bool {
        let before = self.own_count;
        let mut evicted = false;
        self.drop_own(|connection| {
            let evicts = !evicted && connection.streams() == 0;
            evicted |= evicts;
            evicts
        });
        self.own_count < before
    }

    /// Closes those of the callers' own connections that are closed already or that this holds for.
    fn drop_own(&mut self, mut drops: impl FnMut(&Connection) -> bool) {
        let mut dropped = 0;
        self.callers.retain(|_, streams| {
            let before = streams.own.len();
            streams.own.retain(|connection| connection.is_open() && !drops(connection));
            dropped += before - streams.own.len();
            streams.shared > 0 || !streams.own.is_empty()
        });
        self.own_count -= dropped;
    }
}

/// Closes connections without streams, until one shared connection is left.
async fn sweep(connections: Weak<Http2Connections>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(connections) = connections.upgrade() else { return };
        let now = Instant::now();
        let mut state = connections.state.lock();
        state.drop_own(|connection| connection.is_idle(now));
        let mut kept = 0;
        state.shared.retain(|connection| {
            let keeps = connection.is_open() && (kept == 0 || !connection.is_idle(now));
            kept += usize::from(keeps);
            keeps
        });
        if state.own_count == 0 && state.shared.len() <= 1 {
            state.sweeper = Sweeper::Missing;
            return;
        }
    }
}
