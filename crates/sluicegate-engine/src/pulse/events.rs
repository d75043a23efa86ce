//! What happens, told to those who listen. Nobody waits for a listener: one that is too slow misses something, and is
//! told how much.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use sluicegate_core::time::Timestamp;
use tokio::sync::mpsc;

use super::explain::Brief;

/// How many may listen.
pub const SUBSCRIBERS_MAX: usize = 32;

/// How many decisions are told in a second.
pub const DECISIONS_MAX: u32 = 50;

/// How many of them may be admissions: there is always room for refusals.
const ADMISSIONS_MAX: u32 = DECISIONS_MAX / 2;

/// How much may wait for one who listens.
const QUEUE_MAX: usize = 256;

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A decision was made.
    Decision(Box<Brief>),
    /// Something was changed.
    Change(Change),
}

/// Something that was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Changed,
    /// What happened, for people.
    pub text: String,
}

/// What was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// The policy, or it was not because the file is wrong.
    Reload,
    /// An account.
    Account,
    /// A key.
    Key,
    /// A token.
    Token,
    /// A block, or what else is held against a caller.
    Block,
    /// An alert fires or is resolved.
    Alert,
    /// Whether the store decides.
    Mode,
}

impl Changed {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reload => "reload",
            Self::Account => "account",
            Self::Key => "key",
            Self::Token => "token",
            Self::Block => "block",
            Self::Alert => "alert",
            Self::Mode => "mode",
        }
    }
}

/// Too many listen already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManySubscribers;

impl std::fmt::Display for TooManySubscribers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SUBSCRIBERS_MAX} listen already")
    }
}

impl std::error::Error for TooManySubscribers {}

/// Those who listen.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    /// How many there are. All that is looked at while there are none.
    count: AtomicUsize,
    /// How many decisions were told in this second.
    told: AtomicU32,
    list: Mutex<Vec<Subscriber>>,
}

#[derive(Debug)]
struct Subscriber {
    queue: mpsc::Sender<Arc<Event>>,
    missed: Arc<AtomicU64>,
}

/// One who listens, until it is dropped.
#[derive(Debug)]
pub struct Subscription {
    queue: mpsc::Receiver<Arc<Event>>,
    missed: Arc<AtomicU64>,
    of: Arc<Subscribers>,
}

/// What one who listens hears.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// Something happened.
    Event(Arc<Event>),
    /// So much happened that was not heard.
    Missed(u64),
}

impl Subscribers {
    /// Whether anybody listens.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// One more who listens, from now on.
    pub(crate) fn add(self: &Arc<Self>) -> Result<Subscription, TooManySubscribers> {
        let mut list = self.list.lock();
        if list.len() >= SUBSCRIBERS_MAX {
            return Err(TooManySubscribers);
        }
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let missed = Arc::new(AtomicU64::new(0));
        list.push(Subscriber { queue: sender, missed: Arc::clone(&missed) });
        self.count.store(list.len(), Ordering::Relaxed);
        Ok(Subscription { queue, missed, of: Arc::clone(self) })
    }

    /// Tells of something, without waiting for anybody.
    pub(crate) fn tell(&self, event: Event) {
        let event = Arc::new(event);
        for Subscriber { queue, missed } in &*self.list.lock() {
            if queue.try_send(Arc::clone(&event)).is_err() {
                missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether there is room for one more decision in this second. If so, it is taken.
    pub(crate) fn has_room(&self, is_refusal: bool) -> bool {
        let most = if is_refusal { DECISIONS_MAX } else { ADMISSIONS_MAX };
        // Looked at first: a flood must not write to what all threads read.
        self.told.load(Ordering::Relaxed) < most && self.told.fetch_add(1, Ordering::Relaxed) < most
    }

    /// Another second begins.
    pub(crate) fn turn(&self) {
        self.told.store(0, Ordering::Relaxed);
    }
}

impl Subscription {
    /// What happens next.
    pub async fn next(&mut self) -> Heard {
        match self.missed.swap(0, Ordering::Relaxed) {
            0 => match self.queue.recv().await {
                Some(event) => Heard::Event(event),
                // There is always a sender: this holds on to them.
                None => std::future::pending().await,
            },
            missed => Heard::Missed(missed),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut list = self.of.list.lock();
        list.retain(|subscriber| !Arc::ptr_eq(&subscriber.missed, &self.missed));
        self.of.count.store(list.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(number: usize) -> Event {
        let text = number.to_string();
        Event::Change(Change { at: Timestamp::EPOCH, what: Changed::Alert, text })
    }

    fn next(subscription: &mut Subscription) -> Heard {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(subscription.next())
    }

    #[test]
    fn everybody_who_listens_hears_what_happens_and_nobody_else() {
        let subscribers = Arc::new(Subscribers::default());
        assert!(!subscribers.is_any());
        subscribers.tell(change(0));
        let (mut one, mut two) = (subscribers.add().unwrap(), subscribers.add().unwrap());
        assert!(subscribers.is_any());
        subscribers.tell(change(1));
        assert_eq!(next(&mut one), Heard::Event(Arc::new(change(1))));
        assert_eq!(next(&mut two), Heard::Event(Arc::new(change(1))));
        drop((one, two));
        assert!(!subscribers.is_any());
    }

    #[test]
    fn whoever_is_slow_is_told_how_much_it_has_missed() {
        let subscribers = Arc::new(Subscribers::default());
        let mut slow = subscribers.add().unwrap();
        (0..QUEUE_MAX + 7).for_each(|number| subscribers.tell(change(number)));
        assert_eq!(next(&mut slow), Heard::Missed(7));
        for number in 0..QUEUE_MAX {
            assert_eq!(next(&mut slow), Heard::Event(Arc::new(change(number))));
        }
        subscribers.tell(change(1));
        assert_eq!(next(&mut slow), Heard::Event(Arc::new(change(1))));
    }

    #[test]
    fn no_more_may_listen_than_there_is_room_for() {
        let subscribers = Arc::new(Subscribers::default());
        let mut all: Vec<_> = (0..SUBSCRIBERS_MAX).map(|_| subscribers.add().unwrap()).collect();
        assert_eq!(subscribers.add().map(drop), Err(TooManySubscribers));
        all.pop();
        assert!(subscribers.add().is_ok());
    }

    #[test]
    fn refusals_have_room_where_admissions_have_none() {
        let subscribers = Subscribers::default();
        let told = |is_refusal| (0..100).filter(|_| subscribers.has_room(is_refusal)).count();
        assert_eq!(told(false), 25);
        assert_eq!(told(true), 25);
        assert_eq!(told(true), 0);
        subscribers.turn();
        assert_eq!((told(true), told(false)), (50, 0));
    }
}
