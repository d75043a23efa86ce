//! The homes that are being asked for right now, and who waits for them. One that is quiet again leaves nothing behind.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;
use tokio::sync::oneshot::Sender;

use super::Settled;
use super::owed::{Away, Owed};

const SHARDS: usize = 64;

/// Something to settle.
pub(super) struct Item {
    pub(super) owed: Owed,
    /// Who waits for the answer. Nobody: a correction, which is made until it is done.
    pub(super) seat: Option<Sender<Result<Settled, Away>>>,
}

impl Item {
    pub(super) fn correction(owed: Owed) -> Self {
        Self { owed, seat: None }
    }

    /// Whether it is still wanted. What is given back is, also when nobody waits to hear of it.
    fn is_wanted(&self) -> bool {
        self.owed.is_refund() || self.seat.as_ref().is_none_or(|seat| !seat.is_closed())
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
struct Shard(Mutex<HashMap<HomeId, Home, RandomState>>);

pub(super) struct Active {
    state: RandomState,
    shards: Box<[Shard]>,
}

impl Active {
    pub(super) fn new() -> Self {
        Self { state: RandomState::new(), shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    fn shard(&self, home: HomeId) -> &Mutex<HashMap<HomeId, Home, RandomState>> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let shard = self.state.hash_one(home) as usize % SHARDS;
        &self.shards[shard].0
    }

    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.lock().len()).sum()
    }

    /// Whether it is being found out what a call of the home did, or undone.
    pub(super) fn is_in_doubt(&self, home: HomeId) -> bool {
        matches!(self.shard(home).lock().get(&home), Some(Home::Mending(_)))
    }

    pub(super) fn join(&self, home: HomeId, item: Item, waiting_max: usize) -> Joined {
        match self.shard(home).lock().entry(home) {
            Entry::Vacant(vacant) => {
                vacant.insert(Home::Asking(VecDeque::new()));
                Joined::First(item)
            }
            Entry::Occupied(occupied) => match occupied.into_mut() {
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
                vacant.insert(Home::Asking(VecDeque::new()));
                JoinedAll::First(items)
            }
            Entry::Occupied(occupied) => match occupied.into_mut() {
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
                vacant.insert(Home::Asking(VecDeque::new()));
                return Some(Item::correction(owed));
            }
            Entry::Occupied(occupied) => match occupied.into_mut() {
                Home::Mending(corrections) => corrections.push(owed),
                Home::Asking(waiting) => waiting.push_front(Item::correction(owed)),
            },
        }
        None
    }

    /// Puts these before those who wait, for the task of the home.
    pub(super) fn put_back(&self, home: HomeId, items: Vec<Item>) {
        if let Some(Home::Asking(waiting)) = self.shard(home).lock().get_mut(&home) {
            for item in items.into_iter().rev() {
                waiting.push_front(item);
            }
        }
    }

    /// Those whose turn it is, for the task of the home. None: the home is quiet, and the task at its end.
    pub(super) fn next(&self, home: HomeId, batch_max: usize) -> Vec<Item> {
        let mut shard = self.shard(home).lock();
        let Some(Home::Asking(waiting)) = shard.get_mut(&home) else { return Vec::new() };
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
            Some(Home::Asking(waiting)) => std::mem::take(waiting),
            Some(Home::Mending(_)) | None => VecDeque::new(),
        }
    }

    /// From now on the home takes no calls. Returns those who waited.
    pub(super) fn doubt(&self, home: HomeId) -> VecDeque<Item> {
        match self.shard(home).lock().insert(home, Home::Mending(Vec::new())) {
            Some(Home::Asking(waiting)) => waiting,
            Some(Home::Mending(_)) | None => VecDeque::new(),
        }
    }

    /// What is to be undone in addition. Nothing: the home is quiet, and takes calls again.
    pub(super) fn calm(&self, home: HomeId) -> Vec<Owed> {
        let mut shard = self.shard(home).lock();
        match shard.get_mut(&home) {
            Some(Home::Mending(corrections)) if !corrections.is_empty() => std::mem::take(corrections),
            _ => {
                shard.remove(&home);
                Vec::new()
            }
        }
    }
}
