//! A world in which time passes from event to event: sources of requests, the load, and an upstream with workers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use sluicegate_core::policy::{Percent, Shedding};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::shed::{Done, Entered, Load, Ticket};
use sluicegate_testkit::dice::Dice;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

/// When the world begins.
const BEGIN: u64 = 1_791_201_600 * SECOND;

/// How long a request is worked on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    /// Always as long.
    Steady(u64),
    /// About as an exponential distribution with this mean: most are short, some are long.
    Spread(u64),
    /// Nine of ten this long, the tenth that long.
    Mixed(u64, u64),
}

impl Service {
    fn time(self, dice: &mut Dice) -> u64 {
        match self {
            Self::Steady(time) => time,
            Self::Spread(mean) => spread(mean, dice),
            Self::Mixed(short, long) => {
                if dice.below(10) == 0 {
                    long
                } else {
                    short
                }
            }
        }
    }

    pub(crate) fn mean(self) -> u64 {
        match self {
            Self::Steady(time) | Self::Spread(time) => time,
            Self::Mixed(short, long) => (9 * short + long) / 10,
        }
    }
}

/// Twice as rare for each further step, and evenly spread within it.
fn spread(mean: u64, dice: &mut Dice) -> u64 {
    let steps = u64::from((dice.roll() | 1 << 40).trailing_zeros());
    (steps * 1_000 + dice.below(1_000)) * mean / 1_500
}

/// Somebody who sends requests, whatever becomes of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) priority: u32,
    pub(crate) account: u64,
    /// The time between two requests, on average.
    pub(crate) gap: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives { source: usize, life: u64 },
    Ends { request: u64 },
}

struct Request {
    source: usize,
    arrived: u64,
    ticket: Ticket,
}

/// What was seen of one source, or of one priority.
#[derive(Clone, Default, Debug)]
pub(crate) struct Seen {
    pub(crate) offered: u64,
    pub(crate) shed: u64,
    pub(crate) took: Vec<u64>,
}

impl Seen {
    pub(crate) fn served(&self) -> u64 {
        self.took.len() as u64
    }

    /// What 99 of 100 took at most.
    pub(crate) fn p99(&self) -> u64 {
        let mut took = self.took.clone();
        took.sort_unstable();
        took.get((took.len() * 99 / 100).min(took.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

pub(crate) struct World {
    pub(crate) load: Arc<Load>,
    pub(crate) shedding: Shedding,
    workers: usize,
    pub(crate) service: Service,
    dice: Dice,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    count: u64,
    sources: Vec<Source>,
    life: u64,
    working: BTreeMap<u64, Request>,
    waiting: VecDeque<Request>,
    seen: Vec<Seen>,
}

impl World {
    pub(crate) fn new(workers: usize, service: Service, target_ms: u64, seed: u64) -> Self {
        let shedding = Shedding { target: Nanos(target_ms * MS), floor: Percent::new(5).unwrap() };
        Self {
            load: Arc::new(Load::new(Timestamp::from_nanos(BEGIN))),
            shedding,
            workers,
            service,
            dice: Dice::new(seed),
            now: BEGIN,
            events: BinaryHeap::new(),
            count: 0,
            sources: Vec::new(),
            life: 0,
            working: BTreeMap::new(),
            waiting: VecDeque::new(),
            seen: Vec::new(),
        }
    }

    /// From now on it has so many workers. How many it had.
    pub(crate) fn set_workers(&mut self, workers: usize) -> usize {
        let before = std::mem::replace(&mut self.workers, workers);
        self.work();
        before
    }

    /// How many requests the upstream can do in this time.
    pub(crate) fn capacity(&self, time: u64) -> u64 {
        self.workers as u64 * time / self.service.mean()
    }

    /// Accounts of a priority that ask for this share of the capacity together, in percent.
    pub(crate) fn sources(&self, priority: u32, accounts: u64, percent: u64) -> Vec<Source> {
        let gap = self.service.mean() * accounts * 100 / (self.workers as u64 * percent);
        (0..accounts).map(|account| Source { priority, account: hashed(priority, account), gap }).collect()
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    /// From now on these send, and nobody else.
    pub(crate) fn send(&mut self, sources: &[Source]) {
        self.sources = sources.to_vec();
        self.seen = vec![Seen::default(); sources.len()];
        self.life += 1;
        for source in 0..sources.len() {
            self.next_of(source);
        }
    }

    fn next_of(&mut self, source: usize) {
        let gap = spread(self.sources[source].gap, &mut self.dice);
        self.at(self.now + gap, Event::Arrives { source, life: self.life });
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((time, self.count, event)));
    }

    /// Lets time pass, and forgets what was seen before.
    pub(crate) fn pass(&mut self, time: u64) -> BTreeMap<u32, Seen> {
        self.seen.iter_mut().for_each(|seen| *seen = Seen::default());
        let end = self.now + time;
        while self.events.peek().is_some_and(|Reverse((time, ..))| *time <= end) {
            let Some(Reverse((time, _, event))) = self.events.pop() else { break };
            self.now = time;
            match event {
                Event::Arrives { source, life } if life == self.life => {
                    self.next_of(source);
                    self.arrives(source);
                }
                Event::Arrives { .. } => (),
                Event::Ends { request } => self.ends(request),
            }
        }
        self.now = end;
        self.by_priority()
    }

    fn by_priority(&self) -> BTreeMap<u32, Seen> {
        let mut all: BTreeMap<u32, Seen> = BTreeMap::new();
        for (source, seen) in self.sources.iter().zip(&self.seen) {
            let sum = all.entry(source.priority).or_default();
            sum.offered += seen.offered;
            sum.shed += seen.shed;
            sum.took.extend(&seen.took);
        }
        all
    }

    /// What was seen of each source.
    pub(crate) fn of_sources(&self) -> &[Seen] {
        &self.seen
    }

    fn arrives(&mut self, at: usize) {
        let Source { priority, account, .. } = self.sources[at];
        self.seen[at].offered += 1;
        match self.load.enter(&self.shedding, priority, account, self.now()) {
            Entered::In(ticket) => {
                self.waiting.push_back(Request { source: at, arrived: self.now, ticket });
                self.work();
            }
            Entered::Shed { .. } => self.seen[at].shed += 1,
        }
    }

    fn work(&mut self) {
        while self.working.len() < self.workers {
            let Some(request) = self.waiting.pop_front() else { return };
            let time = self.service.time(&mut self.dice);
            self.at(self.now + time, Event::Ends { request: self.count + 1 });
            self.working.insert(self.count, request);
        }
    }

    fn ends(&mut self, request: u64) {
        let Some(Request { source, arrived, ticket }) = self.working.remove(&request) else { return };
        let took = self.now - arrived;
        ticket.leave(Done::Answered { took: Nanos(took) }, self.now());
        if let Some(seen) = self.seen.get_mut(source) {
            seen.took.push(took);
        }
        self.work();
    }
}

/// Accounts have hashes for names.
pub(crate) fn hashed(priority: u32, account: u64) -> u64 {
    Dice::new(u64::from(priority) << 32 | account).roll()
}

/// Everything that was served.
pub(crate) fn all(seen: &BTreeMap<u32, Seen>) -> Seen {
    let mut all = Seen::default();
    for one in seen.values() {
        all.offered += one.offered;
        all.shed += one.shed;
        all.took.extend(&one.took);
    }
    all
}
