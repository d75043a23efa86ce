//! The homes as one node asks for them: one call of a home at a time, with everything that is owed by then.
//!
//! Who asks first is asked for at once; who comes while a call of the same home is under way shares the next one. The
//! calls are made by a task of the home, so an answer is never lost with who waited for it: a charge that nobody was
//! told of is undone. While it is not known what a call did, the home takes none. See [`mend`].

mod active;
mod breaker;
mod counters;
mod mend;
mod owed;
mod pause;
mod pump;
mod refusals;
mod settings;
mod split;
mod ticket;
mod undone;
mod waiting;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate_core::plan::{ChargePlan, HomeId, Mode};
use sluicegate_core::time::Nanos;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

pub use counters::{Count, HomesCounters};
pub use owed::{Away, Billed, NotSettled, Owed, StoreMode};
pub use settings::{BreakerSettings, HomesSettings};
pub use ticket::SentIn;
pub use undone::Undone;

use super::meters::{Applied, Ask, CallError, HomeCall, Meters, NodeId, Resolved, Seq, Settled};
use active::{Active, Item, Joined, JoinedAll};
use breaker::{Breaker, Heard, Tripped};
use mend::{Doubt, Mending, Part};
use refusals::Refusals;
use ticket::Ticket;
use undone::UndoneList;
use waiting::Waiting;

/// The most homes whose calls in doubt are looked into at once.
const MENDED_AT_ONCE: usize = 64;

/// A request whose time is up before it asks for its meters, because its key took so long, waits for them this long all
/// the same: a store that answers at all does so within a few milliseconds.
const HURRY: Duration = Duration::from_millis(10);

/// What the homes of probes have in common. Homes of callers are hashes: none is like this.
const PROBED: u128 = u64::MAX as u128;

/// By when a request should have its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiry(Instant);

impl Expiry {
    /// The instant.
    pub fn instant(self) -> Instant {
        self.0
    }
}

/// The homes as one node asks for them. Cloning it is cheap; all clones are one.
#[derive(Clone)]
pub struct Homes {
    shared: Arc<Shared>,
}

impl fmt::Debug for Homes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { meters, counters, .. } = &*self.shared;
        f.debug_struct("Homes").field("meters", meters).field("counters", counters).finish_non_exhaustive()
    }
}

struct Shared {
    meters: Meters,
    node: NodeId,
    seq: AtomicU64,
    settings: HomesSettings,
    active: Active,
    breaker: Arc<Breaker>,
    refusals: Refusals,
    mending: Semaphore,
    undone: UndoneList,
    counters: HomesCounters,
}

impl Homes {
    /// The homes behind these meters. `first_seq` is above every number that this node has used before.
    pub fn new(meters: Meters, node: NodeId, first_seq: Seq, settings: HomesSettings) -> Self {
        let shared = Shared {
            meters,
            node,
            seq: AtomicU64::new(first_seq.get()),
            active: Active::new(),
            breaker: Arc::new(Breaker::new(settings.breaker.clone())),
            refusals: Refusals::new(settings.refusals_max),
            mending: Semaphore::new(MENDED_AT_ONCE),
            undone: UndoneList::default(),
            counters: HomesCounters::default(),
            settings,
        };
        Self { shared: Arc::new(shared) }
    }

    /// By when a request that comes now should have its answer, however often it asks until then.
    pub fn expiry(&self) -> Expiry {
        Expiry(Instant::now() + self.shared.settings.deadline)
    }

    /// Settles it, together with whatever else is asked of the same home meanwhile. Must be called within a tokio
    /// runtime. It answers by the deadline; only what is given back may wait longer, behind others of its home.
    pub async fn settle(&self, owed: Owed) -> Result<Settled, Away> {
        self.settle_by(owed, self.expiry()).await
    }

    /// As [`Homes::settle`], for a request that has asked the store for something else before.
    pub async fn settle_by(&self, owed: Owed, expiry: Expiry) -> Result<Settled, Away> {
        self.settle_noting(owed, expiry).await.map_err(|not| not.away)
    }

    /// As [`Homes::settle_by`]. While it is not known whether it was settled, it says which call may have done so: with
    /// that, a process after this one can [find out and undo it](Homes::undo_lost).
    pub async fn settle_noting(&self, owed: Owed, expiry: Expiry) -> Result<Settled, NotSettled> {
        let shared = &self.shared;
        shared.counters.asks.add(1);
        if shared.breaker.mode() == StoreMode::Degraded {
            return Err(Away::Down.into());
        }
        let now = Instant::now();
        // One with a name may be a repeat, which a quota that is spent does not refuse.
        if owed.request.mode == Mode::Charge
            && owed.name.is_none()
            && let Some(refusal) = shared.refusals.find(&owed, now)
        {
            shared.counters.refused_locally.add(1);
            return Ok(refusal);
        }
        let home = owed.request.home;
        let (seat, answer) = tokio::sync::oneshot::channel();
        let ticket = Arc::<Ticket>::default();
        let item = Item { owed: owed.clone(), seat: Some(seat), ticket: Arc::clone(&ticket) };
        match shared.active.join(home, item, shared.settings.waiting_max) {
            Joined::First(item) => {
                tokio::spawn(pump::pump(Arc::clone(shared), home, vec![item]));
            }
            Joined::Waits => {}
            Joined::InDoubt => return Err(Away::InDoubt.into()),
            Joined::Full => return Err(Away::full().into()),
        }
        let settled = Waiting { shared, owed, answer }.until(expiry.0.max(now + HURRY)).await;
        settled.map_err(|away| NotSettled { call: ticket.leave().filter(|_| away == Away::InDoubt), away })
    }

    /// Renews slots of one home, all of them in one call. At most [`HomesSettings::batch_max`] at a time; what comes
    /// beyond it is not asked. Must be called within a tokio runtime.
    pub async fn renew(&self, home: HomeId, renewals: Vec<Owed>) -> Result<(), Away> {
        let shared = &self.shared;
        if shared.breaker.mode() == StoreMode::Degraded {
            return Err(Away::Down);
        }
        let (mut items, mut answers) = (Vec::new(), Vec::new());
        for owed in renewals.into_iter().take(shared.settings.batch_max.max(1)) {
            let (seat, answer) = tokio::sync::oneshot::channel();
            items.push(Item { owed, seat: Some(seat), ticket: Arc::default() });
            answers.push(answer);
        }
        shared.counters.asks.add(items.len());
        match shared.active.join_all(home, items, shared.settings.waiting_max) {
            JoinedAll::First(items) => drop(tokio::spawn(pump::pump(Arc::clone(shared), home, items))),
            JoinedAll::Waits => {}
            JoinedAll::InDoubt => return Err(Away::InDoubt),
            JoinedAll::Full => return Err(Away::full()),
        }
        for answer in answers {
            answer.await.unwrap_or(Err(Away::InDoubt))?;
        }
        Ok(())
    }

    /// Whether it is not known yet what a call of this home did, or it is about to be undone.
    pub fn is_in_doubt(&self, home: HomeId) -> bool {
        self.shared.active.is_in_doubt(home)
    }

    /// Whether a call may still be under way, or what it did may still have to be undone.
    pub fn is_open(&self, home: HomeId, seq: Seq) -> bool {
        self.shared.active.is_open(home, seq)
    }

    /// Takes no calls of a home, because a process before this one has not heard what became of this one: until
    /// [`Homes::undo_lost`].
    pub fn block(&self, home: HomeId, seq: Seq) {
        self.shared.active.block(home, seq);
    }

    /// Finds out what became of a call that a process before this one has lost, and undoes it: what was asked for, by
    /// its places. The home was [blocked](Homes::block), and takes calls again when it is done. Must be called within a
    /// tokio runtime.
    pub fn undo_lost(&self, home: HomeId, seq: Seq, asks: Vec<(u16, Owed)>) {
        let parts: Vec<_> =
            asks.into_iter().map(|(place, owed)| (usize::from(place), Part::Told(owed))).collect();
        let doubt = (!parts.is_empty()).then_some(Doubt { seq, parts });
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            mend::mend(&shared, home, Mending { doubt, corrections: Vec::new() }).await;
        });
    }

    /// The next of what was undone and has to be recorded.
    pub fn next_undone(&self) -> Option<Undone> {
        self.shared.undone.next()
    }

    /// Whom to tell that there is a [next one](Homes::next_undone). Only the first is.
    pub fn tell_undone(&self, news: Arc<Notify>) {
        self.shared.undone.tell(news);
    }

    /// Whether decisions go to the store at the moment.
    pub fn mode(&self) -> StoreMode {
        self.shared.breaker.mode()
    }

    /// What was done so far.
    pub fn counters(&self) -> &HomesCounters {
        &self.shared.counters
    }

    /// How many homes are being asked for, or in doubt.
    pub fn active(&self) -> usize {
        self.shared.active.len()
    }
}

impl Shared {
    /// Makes one call. Without an answer, its number tells what to ask about.
    async fn call(
        self: &Arc<Self>,
        home: HomeId,
        seq: Seq,
        owed: impl Iterator<Item = &Owed>,
    ) -> Result<Vec<Settled>, CallError> {
        let owed: Vec<&Owed> = owed.collect();
        let plans: Vec<ChargePlan<'_>> =
            owed.iter().map(|owed| owed.plan.tariff.plan(&owed.request)).collect();
        let asks: Vec<Ask<'_>> = plans
            .iter()
            .zip(&owed)
            .map(|(plan, owed)| Ask { plan, holder: owed.holder, name: owed.name, hold: owed.hold })
            .collect();
        self.counters.calls.add(1);
        let began = Instant::now();
        let answer = self.meters.call(&HomeCall { home, seq, asks: &asks }).await;
        let took = Instant::now().duration_since(began).as_nanos();
        self.counters.took.add(Nanos(u64::try_from(took).unwrap_or(u64::MAX)), 1);
        self.hear(&answer);
        answer
    }

    /// Asks what became of a call.
    async fn resolve(self: &Arc<Self>, home: HomeId, in_doubt: Seq) -> Result<Resolved, CallError> {
        let Some(fence) = self.next_seq() else { return Err(CallError::Late(Seq::MAX)) };
        let answer = self.meters.resolve(home, in_doubt, fence).await;
        self.hear(&answer);
        answer
    }

    /// Whether the store answers, takes writes and runs the script: asked about a call that was never made, of a home
    /// that is nobody's.
    async fn probe(&self) -> Heard {
        let (Some(never), Some(fence)) = (self.next_seq(), self.next_seq()) else { return Heard::Failure };
        let nobody = HomeId(u128::from(self.node.0) << 64 | PROBED);
        let answer = self.meters.resolve(nobody, never, fence).await;
        self.catch_up(&answer);
        heard(&answer)
    }

    fn next_seq(&self) -> Option<Seq> {
        Seq::new(self.seq.fetch_add(1, Ordering::Relaxed))
    }

    /// If this node has used larger numbers before (its clock was set back since), goes on behind them.
    fn catch_up<T>(&self, answer: &Result<T, CallError>) {
        if let Err(CallError::Late(last)) = answer {
            self.seq.fetch_max(last.saturating_add(1).min(Seq::MAX), Ordering::Relaxed);
        }
    }

    fn hear<T>(self: &Arc<Self>, answer: &Result<T, CallError>) {
        self.catch_up(answer);
        if self.breaker.note(heard(answer), Instant::now()) == Tripped::Opened {
            self.counters.opened.add(1);
            let shared = Arc::downgrade(self);
            tokio::spawn(breaker::probe(Arc::clone(&self.breaker), async move || {
                let shared = shared.upgrade()?;
                Some(shared.probe().await)
            }));
        }
    }

    /// Gives back, or takes again, what nobody was told of.
    fn correct(self: &Arc<Self>, correction: Owed) {
        // Without a runtime there is nobody left to make calls.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let home = correction.request.home;
        if let Some(first) = self.active.correct(home, correction) {
            runtime.spawn(pump::pump(Arc::clone(self), home, vec![first]));
        }
    }
}

fn heard<T>(answer: &Result<T, CallError>) -> Heard {
    match answer {
        Err(CallError::Unknown | CallError::Garbled(_) | CallError::NotSent | CallError::Refused(_)) => {
            Heard::Failure
        }
        Err(CallError::Mixed | CallError::TooLarge) => Heard::Nothing,
        Ok(_) | Err(CallError::Late(_) | CallError::Contended) => Heard::Answer,
    }
}

impl From<CallError> for Away {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotSent => Self::Down,
            CallError::Unknown | CallError::Garbled(_) => Self::InDoubt,
            CallError::Late(_)
            | CallError::Mixed
            | CallError::TooLarge
            | CallError::Refused(_)
            | CallError::Contended => Self::Refused(error.to_string()),
        }
    }
}
