//! The homes that are being asked for right now, and who waits for them. One that is quiet again leaves nothing behind.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;
use tokio::sync::oneshot::Sender;

use super::owed::{Away, Owed};
use super::ticket::Ticket;
use super::{Seq, Settled};

const SHARDS: usize = 64;

/// Something to settle.
pub(super) struct Item {
    pub(super) owed: Owed,
    /// Who waits for the answer. Nobody: a correction, which is made until it is done.
    pub(super) seat: Option<Sender<Result<Settled, Away>>>,
    /// Which call asks for it.
    pub(super) ticket: Arc<Ticket>,
}

impl Item {
    pub(super) fn correction(owed: Owed) -> Self {
        Self { owed, seat: None, ticket: Arc::default() }
    }

    /// Whether it is still wanted. What is given back is, also when nobody waits to hear of it.
    fn is_wanted(&self) -> bool {
        self.owed.is_refund() || self.seat.as_ref().is_none_or(|seat| !seat.is_closed())
    }
}

/// A home, and the first of its calls of which not everything is done; zero: there is none.
struct Busy {
    open: u64,
    home: Home,
}

impl Busy {
    fn asking() -> Self {
        Self { open: 0, home: Home::Asking(VecDeque::new()) }
    }
}

/// What a home is doing.
enum Home {
    /// A call is under way; these are for the next one.
    Asking(VecDeque<Item>),
    /// It is being found out what a call did, or undone; this is to be undone as well.
    Mending(Vec<Owed>),
}

/// What became of somebody who came.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is returned, and never kept")]
pub(super) enum Joined {
    /// Nobody else is there: a task must be started for the home.
    First(Item),
    /// The task of the home answers.
    Waits,
    /// A call of the home is in doubt.
    InDoubt,
    /// Too many wait already.
    Full,
}

/// What became of several that came together.
pub(super) enum JoinedAll {
    /// Nobody else is there: a task must be started for the home.
    First(Vec<Item>),
    /// The task of the home answers.
    Waits,
    /// A call of the home is in doubt.
    InDoubt,
    /// Too many wait already.
    Full,
}

/// Aligned so that two locks are never in one line of the cache, nor in two that are fetched together.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<HashMap<HomeId, Busy, RandomState>>);

pub(super) struct Active {
    state: RandomState,
    shards: Box<[Shard]>,
}

impl Active {
    pub(super) fn new() -> Self {
        Self { state: RandomState::new(), shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    fn shard(&self, home: HomeId) -> &Mutex<HashMap<HomeId, Busy, RandomState>> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let shard = self.state.hash_one(home) as usize % SHARDS;
        &self.shards[shard].0
    }

    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.lock().len()).sum()
    }

    /// Whether it is being found out what a call of the home did, or undone.
    pub(super) fn is_in_doubt(&self, home: HomeId) -> bool {
        matches!(self.shard(home).lock().get(&home), Some(Busy { home: Home::Mending(_), .. }))
    }

    /// Whether a call of the home is under way, or something that it did is still to be undone.
    pub(super) fn is_open(&self, home: HomeId, seq: Seq) -> bool {
        self.shard(home).lock().get(&home).is_some_and(|busy| busy.open != 0 && busy.open <= seq.get())
    }

    /// A call of the home is made.
    pub(super) fn ask(&self, home: HomeId, seq: Seq) {
        if let Some(busy) = self.shard(home).lock().get_mut(&home)
            && busy.open == 0
        {
            busy.open = seq.get();
        }
    }

    /// Of the calls of the home that were made, everything is done.
    pub(super) fn done(&self, home: HomeId) {
        if let Some(busy) = self.shard(home).lock().get_mut(&home) {
            busy.open = 0;
        }
    }

    /// The home takes no calls, because it is not known what this one did.
    pub(super) fn block(&self, home: HomeId, seq: Seq) {
        self.shard(home).lock().insert(home, Busy { open: seq.get(), home: Home::Mending(Vec::new()) });
    }

    pub(super) fn join(&self, home: HomeId, item: Item, waiting_max: usize) -> Joined {
        match self.shard(home).lock().entry(home) {
            Entry::Vacant(vacant) => {
                vacant.insert(Busy::asking());
                Joined::First(item)
            }
            Entry::Occupied(occupied) => match &mut occupied.into_mut().home {
                Home::Mending(_) => Joined::InDoubt,
                Home::Asking(waiting) if waiting.len() >= waiting_max => Joined::Full,
                Home::Asking(waiting) => {
                    waiting.push_back(item);
                    Joined::Waits
                }
            },
        }
    }

    /// The same for several at once.
    pub(super) fn join_all(&self, home: HomeId, items: Vec<Item>, waiting_max: usize) -> JoinedAll {
        match self.shard(home).lock().entry(home) {
            Entry::Vacant(vacant) => {
                vacant.insert(Busy::asking());
                JoinedAll::First(items)
            }
            Entry::Occupied(occupied) => match &mut occupied.into_mut().home {
                Home::Mending(_) => JoinedAll::InDoubt,
                Home::Asking(waiting) if waiting.len() + items.len() > waiting_max => JoinedAll::Full,
                Home::Asking(waiting) => {
                    waiting.extend(items);
                    JoinedAll::Waits
                }
            },
        }
    }

    /// Has a correction made with the next call. If it is returned, a task must be started for the home.
    pub(super) fn correct(&self, home: HomeId, owed: Owed) -> Option<Item> {
        match self.shard(home).lock().entry(home) {
            Entry::Vacant(vacant) => {
                vacant.insert(Busy::asking());
                return Some(Item::correction(owed));
            }
            Entry::Occupied(occupied) => match &mut occupied.into_mut().home {
                Home::Mending(corrections) => corrections.push(owed),
                Home::Asking(waiting) => waiting.push_front(Item::correction(owed)),
            },
        }
        None
    }

    /// Puts these before those who wait, for the task of the home.
    pub(super) fn put_back(&self, home: HomeId, items: Vec<Item>) {
        if let Some(Busy { home: Home::Asking(waiting), .. }) = self.shard(home).lock().get_mut(&home) {
            for item in items.into_iter().rev() {
                waiting.push_front(item);
            }
        }
    }

    /// Those whose turn it is, for the task of the home. None: the home is quiet, and the task at its end.
    pub(super) fn next(&self, home: HomeId, batch_max: usize) -> Vec<Item> {
        let mut shard = self.shard(home).lock();
        let Some(Busy { home: Home::Asking(waiting), .. }) = shard.get_mut(&home) else { return Vec::new() };
        let mut batch = Vec::new();
        while batch.len() < batch_max.max(1)
            && let Some(item) = waiting.pop_front()
        {
            if item.is_wanted() {
                batch.push(item);
            }
        }
        if batch.is_empty() {
            shard.remove(&home);
        }
        batch
    }

    /// Those who wait, because nothing will come of it.
    pub(super) fn drain(&self, home: HomeId) -> VecDeque<Item> {
        match self.shard(home).lock().get_mut(&home) {
            Some(Busy { home: Home::Asking(waiting), .. }) => std::mem::take(waiting),
            Some(Busy { home: Home::Mending(_), .. }) | None => VecDeque::new(),
        }
    }

    /// From now on the home takes no calls. Returns those who waited.
    pub(super) fn doubt(&self, home: HomeId) -> VecDeque<Item> {
        let mut shard = self.shard(home).lock();
        let busy = shard.entry(home).or_insert_with(Busy::asking);
        match std::mem::replace(&mut busy.home, Home::Mending(Vec::new())) {
            Home::Asking(waiting) => waiting,
            Home::Mending(_) => VecDeque::new(),
        }
    }

    /// What is to be undone in addition. Nothing: the home is quiet, and takes calls again.
    pub(super) fn calm(&self, home: HomeId) -> Vec<Owed> {
        let mut shard = self.shard(home).lock();
        match shard.get_mut(&home) {
            Some(Busy { home: Home::Mending(corrections), .. }) if !corrections.is_empty() => {
                std::mem::take(corrections)
            }
            _ => {
                shard.remove(&home);
                Vec::new()
            }
        }
    }
}
