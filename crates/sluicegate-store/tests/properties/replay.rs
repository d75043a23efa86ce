//! The last image of each home and a replay of what was settled since give the meters that the live settlements gave.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate_core::limit::{Axis, Limit, LimitName, Per};
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::{Bypass, RefundOn, RouteIndex, Tier, TierLimit, TierName};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::{AccountCalendar, Charges, Plan, Request};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::meters::MeterTable;

use crate::cases;
use crate::strategies::{Terms, axis, cost, start, terms, time_step};

const HOMES: u128 = 2;
const KEYS: u32 = 2;
const ROUTES: u16 = 3;

/// How far a clock goes back at the most: as between threads, of which one read it before the other.
const BEHIND_MAX: u64 = 900_000_000;

#[derive(Clone, Debug)]
enum Event {
    /// A request, or usage that has happened already.
    Ask {
        who: Who,
        cost: u64,
        mode: Mode,
    },
    /// The charge that was admitted so many ago is given back, slots included.
    Refund {
        ago: usize,
    },
    /// The request that was admitted so many ago has finished: slots are released, and the cost turned out
    /// to be this much.
    Finish {
        ago: usize,
        cost: u64,
    },
    /// A home is written down.
    Snapshot {
        home: u128,
    },
    Later(u64),
    Behind(u64),
    Sweep,
}

#[derive(Clone, Copy, Debug)]
struct Who {
    home: u128,
    key: u32,
    route: u16,
}

/// What the random cases do beside requests. A sweep forgets what a clock that goes back could still bring to mind, so
/// a case has one of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weather {
    Sweeps,
    ClocksDiffer,
}

fn event() -> impl Strategy<Value = Event> {
    let who =
        || (0..HOMES, 0..KEYS, 0..ROUTES).prop_map(|(home, key, route)| Who { home, key: key + 1, route });
    let mode = prop_oneof![8 => Just(Mode::Charge), 1 => Just(Mode::Force), 1 => Just(Mode::Peek)];
    prop_oneof![
        20 => (who(), cost(), mode).prop_map(|(who, cost, mode)| Event::Ask { who, cost, mode }),
        2 => (0..8usize).prop_map(|ago| Event::Refund { ago }),
        3 => (0..8usize, cost()).prop_map(|(ago, cost)| Event::Finish { ago, cost }),
        2 => (0..HOMES).prop_map(|home| Event::Snapshot { home }),
        8 => time_step().prop_map(Event::Later),
        1 => (0..BEHIND_MAX).prop_map(Event::Behind),
        1 => Just(Event::Sweep),
    ]
}

fn tier(terms: &[Terms]) -> Tier {
    let limits = terms.iter().enumerate().map(|(meter, terms)| TierLimit {
        limit: Limit {
            name: LimitName::new(&format!("limit-{meter}")).unwrap(),
            axis: axis(meter),
            per: if axis(meter) == Axis::Rate { Per::Key } else { Per::Account },
            rule: terms.rule.clone(),
            excess: terms.excess,
            sold: terms.sold,
        },
        // One of the rates counts a single route.
        routes: if meter == 1 { vec![RouteIndex(1)] } else { vec![] },
    });
    Tier {
        name: TierName::new("tier").unwrap(),
        limits: limits.collect(),
        priority: 0,
        bypass: Bypass::No,
        refund_on: RefundOn::Nothing,
    }
}

/// What outlives the process.
#[derive(Default)]
struct Disk {
    spool: Vec<Request>,
    book: Vec<Vec<u8>>,
    /// The image of each home, and from where the spool goes on.
    homes: BTreeMap<u128, (Vec<u8>, usize)>,
}

struct Process {
    table: MeterTable,
    plan: Plan,
}

impl Process {
    fn new(table: MeterTable, tier: &Tier) -> Self {
        let plan = Plan::new(tier, &AccountCalendar::default(), 0, |limit| table.enter(limit));
        Self { table, plan }
    }

    /// Settles a request and records it, as it is charged.
    fn settle(&self, request: &Request, spool: &mut Vec<Request>) -> Outcome {
        let plan = self.plan.tariff.plan(request);
        self.table.settle_then(&plan, &mut Readings::new(), |_| spool.push(*request))
    }

    fn settle_silently(&self, request: &Request) -> (Outcome, Readings) {
        let mut readings = Readings::new();
        let outcome = self.table.settle(&self.plan.tariff.plan(request), &mut readings);
        (outcome, readings)
    }

    fn snapshot(&self, home: u128, now: Timestamp, disk: &mut Disk) -> Result<(), TestCaseError> {
        let mut image = Vec::new();
        let imaged = self.table.image_of(HomeId(home), now, &mut image, || disk.spool.len());
        let known = u32::try_from(disk.book.len()).unwrap();
        disk.book.extend(self.table.book_images_from(known).into_iter().map(|(_, image)| image));
        if let Some(imaged) = imaged {
            says_something_until(home, &image, &disk.book, now, imaged.until)?;
            disk.homes.insert(home, (image, imaged.held));
        }
        Ok(())
    }
}

/// That the home of an image has nothing to say at `until`, and not a moment before.
fn says_something_until(
    home: u128,
    image: &[u8],
    book: &[Vec<u8>],
    now: Timestamp,
    until: Timestamp,
) -> Result<(), TestCaseError> {
    let table = MeterTable::with_book(book).unwrap();
    table.restore(HomeId(home), image).unwrap();
    if until > now {
        prop_assert_eq!(table.sweep(Timestamp::from_nanos(until.as_nanos() - 1)).kept, 1);
    }
    // No instant is later than the last one, whatever a bucket would still have to say then.
    if until < Timestamp::MAX {
        prop_assert_eq!(table.sweep(until).kept, 0);
    }
    Ok(())
}

/// What was recorded is charged again, whether it fits or not, and no slot is touched.
fn replayed(recorded: &Request) -> Request {
    let mode = match recorded.mode {
        Mode::Refund { .. } | Mode::Correct { .. } => recorded.mode,
        _ => Mode::Correct { charged_at: recorded.now },
    };
    Request { mode, which: Charges::Amounts, ..*recorded }
}

fn request(who: Who, cost: u64, mode: Mode, now: Timestamp, slot: usize) -> Request {
    Request {
        home: HomeId(who.home),
        key: NonZeroU32::new(who.key),
        route: Some(RouteIndex(who.route)),
        cost: Amount::new(cost).unwrap(),
        now,
        mode,
        which: Charges::All,
        slot: SlotId(slot as u64),
    }
}

/// Runs the events in one process, and says when they ended.
fn live(
    process: &Process,
    events: &[Event],
    weather: Weather,
    start: Timestamp,
    disk: &mut Disk,
) -> Result<Timestamp, TestCaseError> {
    let (mut latest, mut now) = (start, start);
    let mut admitted: Vec<Request> = Vec::new();
    for (step, event) in events.iter().enumerate() {
        match *event {
            Event::Ask { who, cost, mode } => {
                let request = request(who, cost, mode, now, step);
                if process.settle(&request, &mut disk.spool).changes_meters(mode) {
                    admitted.push(request);
                }
            }
            Event::Refund { ago } => {
                if let Some(charged) = nth_last(&mut admitted, ago) {
                    process.settle(&Request { mode: refund_of(&charged), now, ..charged }, &mut disk.spool);
                }
            }
            Event::Finish { ago, cost } => {
                if let Some(charged) = nth_last(&mut admitted, ago) {
                    finish(process, &charged, cost, now, disk);
                }
            }
            Event::Snapshot { home } => process.snapshot(home, latest, disk)?,
            Event::Later(nanos) => {
                latest = latest.plus(Nanos(nanos));
                now = latest;
            }
            Event::Behind(nanos) if weather == Weather::ClocksDiffer => {
                now = Timestamp::from_nanos(latest.as_nanos().saturating_sub(nanos));
            }
            Event::Sweep if weather == Weather::Sweeps => {
                process.table.sweep(latest);
            }
            Event::Behind(_) | Event::Sweep => {}
        }
    }
    Ok(latest)
}

/// Releases the slots, and then settles the difference to what was charged.
fn finish(process: &Process, charged: &Request, cost: u64, now: Timestamp, disk: &mut Disk) {
    let mode = refund_of(charged);
    process.settle_silently(&Request { mode, which: Charges::Slots, now, ..*charged });
    let reserved = charged.cost.get();
    let (mode, difference) =
        if cost < reserved { (mode, reserved - cost) } else { (more_of(charged), cost - reserved) };
    if let Some(cost) = Amount::new(difference) {
        process.settle(&Request { mode, which: Charges::Amounts, cost, now, ..*charged }, &mut disk.spool);
    }
}

fn refund_of(charged: &Request) -> Mode {
    Mode::Refund { charged_at: charged.now, reserved: charged.cost }
}

fn more_of(charged: &Request) -> Mode {
    Mode::Correct { charged_at: charged.now }
}

fn nth_last(admitted: &mut Vec<Request>, ago: usize) -> Option<Request> {
    admitted.len().checked_sub(ago + 1).map(|index| admitted.remove(index))
}

/// A process that starts with what the last one left.
fn restarted(tier: &Tier, disk: &Disk) -> Process {
    let process = Process::new(MeterTable::with_book(&disk.book).unwrap(), tier);
    for (home, (image, _)) in &disk.homes {
        process.table.restore(HomeId(*home), image).unwrap();
    }
    for (position, recorded) in disk.spool.iter().enumerate() {
        let written = disk.homes.get(&recorded.home.0).map_or(0, |(_, from)| *from);
        if position >= written {
            let (outcome, _) = process.settle_silently(&replayed(recorded));
            assert!(matches!(outcome, Outcome::Admitted { .. }));
        }
    }
    process
}

fn callers() -> impl Iterator<Item = Who> {
    let routes = |home, key| (0..ROUTES).map(move |route| Who { home, key, route });
    (0..HOMES).flat_map(move |home| (1..=KEYS).flat_map(move |key| routes(home, key)))
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn images_and_a_replay_give_the_meters_of_the_process_that_died(
        first in (terms(0), terms(1), terms(2), terms(3)),
        start in start(),
        events in vec(event(), 150),
        weather in prop_oneof![Just(Weather::Sweeps), Just(Weather::ClocksDiffer)],
    ) {
        let tier = tier(&[first.0, first.1, first.2, first.3]);
        let (dying, mut disk) = (Process::new(MeterTable::new(), &tier), Disk::default());
        let end = live(&dying, &events, weather, start, &mut disk)?;
        let restarted = restarted(&tier, &disk);
        for who in callers() {
            for later in [0, 1, 1_000_000_000, 86_400_000_000_000] {
                let peek = request(who, 1, Mode::Peek, end.plus(Nanos(later)), 0);
                let peek = Request { which: Charges::Amounts, ..peek };
                prop_assert_eq!(restarted.settle_silently(&peek), dying.settle_silently(&peek), "{:?}", peek);
            }
        }
    }
}
