//! Clocks that leap: what is closed, what is deleted, and what an older build left in the future.

use std::sync::Arc;

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::clock::Reading;
use sluicegate_engine::{Books, CallerRequest, Clock, Purpose};
use sluicegate_ledger::{Hour, Ledger};
use sluicegate_store::alerts::{AlertClock, AlertKind, AlertState, Which};
use sluicegate_store::directory::Page;
use tokio::runtime::Runtime;

use crate::place::{Caller, NOW, Place, at, costing, header, nobody, request, wait};

const PLANS: &str = "
tiers:
  monthly: {quota: 1_000_000, quota_window: calendar_month}
  daily: {quota: 1_000_000, quota_window: sliding_day}
identity: {anonymous: monthly}
ledger: {retain: 400d}
";
const YEAR_S: u32 = 365 * 86_400;

struct Bed {
    books: Arc<Books>,
    place: Place,
    runtime: Runtime,
}

impl Bed {
    fn of(place: Place) -> Self {
        let runtime = Runtime::new().unwrap();
        let books = {
            let _entered = runtime.enter();
            Arc::new(Books::open(Arc::clone(&place.engine), place.dir()).unwrap())
        };
        Self { books, place, runtime }
    }

    fn restart_with_clock(self, clock: fn(Timestamp) -> Clock) -> Self {
        let Self { books, place, runtime } = self;
        drop(runtime);
        drop(books);
        Self::of(place.restart_with_clock(PLANS, clock))
    }

    /// The wall clock is so far ahead of the time since the start.
    fn read(&self, monotonic_s: u32, ahead_s: u32) {
        let monotonic = Nanos::from_secs(monotonic_s);
        let wall = at(monotonic_s + ahead_s);
        self.place.engine.clock().read(Reading { wall, monotonic, boottime: monotonic, store: None });
        self.place.engine.follow_clock();
    }

    fn spend(&self, caller: &Caller, cost: u64) {
        let engine = &self.place.engine;
        // The spool of these tests is small: it may be full for a moment.
        let admitted = (0..100).any(|_| {
            engine.spool().flush().unwrap();
            engine.decide(&costing(request(&caller.key), cost), engine.now()).is_admitted()
        });
        assert!(admitted);
    }

    fn used(&self, caller: &Caller) -> (String, String) {
        let engine = &self.place.engine;
        let peek = CallerRequest { purpose: Purpose::Peek, ..request(&caller.key) };
        let decision = engine.decide(&peek, engine.now());
        (header(&decision, "X-Quota-Used").unwrap(), header(&decision, "X-Quota-Reset").unwrap())
    }

    fn open_hour(&self) -> Hour {
        self.books.ledger().standing().unwrap().unwrap().open
    }
}

#[test]
fn five_minutes_two_years_ahead_close_no_hour_and_delete_nothing() {
    let bed = Bed::of(Place::new(PLANS));
    let caller = bed.place.caller("monthly");
    // Two segments are full.
    for _ in 0..600 {
        bed.spend(&caller, 1);
    }
    bed.books.tend(bed.place.engine.now()).unwrap();
    for second in 1..=300 {
        bed.read(second, 2 * YEAR_S);
        if second % 60 == 0 {
            let now = bed.place.engine.now();
            bed.books.tend(now).unwrap();
            bed.books.sign(now).unwrap();
            bed.place.engine.save(now).unwrap();
            assert_eq!(bed.books.prune(now).unwrap(), Default::default());
        }
    }
    assert_eq!(bed.place.engine.now(), at(300));
    assert!(bed.open_hour() <= Hour::of(NOW), "{}", bed.open_hour());
    assert_eq!(bed.place.engine.spool().first().0, 0);
}

#[test]
fn an_implausible_clock_is_an_alert_until_it_is_back() {
    let bed = Bed::of(Place::new(PLANS));
    let engine = &bed.place.engine;
    let list = || {
        wait(engine.tend_alerts(engine.now()));
        wait(engine.alerts().list(Page::default(), Which::All)).unwrap().items
    };
    bed.read(1, 0);
    assert_eq!(list().len(), 0);
    bed.read(2, 10 * YEAR_S);
    let fired = list().remove(0).news;
    let ahead_s = u64::from(10 * YEAR_S);
    let kind = AlertKind::ClockImplausible { node: None, clock: AlertClock::System, ahead_s };
    assert_eq!((&fired.kind, fired.at, fired.state()), (&kind, at(2), AlertState::Firing));
    assert_eq!(fired.title(), "The system clock leapt 3650 days ahead and is not followed.");
    bed.read(3, 10 * YEAR_S);
    assert_eq!(list().len(), 1, "once");
    bed.read(4, 0);
    let over = list().remove(0).news;
    assert_eq!(
        (over.state(), over.title().as_str()),
        (AlertState::Resolved, "The system clock is plausible.")
    );
}

/// A data directory as a build leaves it that followed every step: used at `NOW`, then ten years ahead, then at `NOW`.
fn left_behind() -> (Bed, Caller, Caller) {
    let bed = Bed::of(Place::new(PLANS));
    let (monthly, daily) = (bed.place.caller("monthly"), bed.place.caller("daily"));
    let clock = bed.place.engine.clock();
    let headers = http::HeaderMap::new();
    for (cost, now) in [(3, NOW), (5, at(10 * YEAR_S)), (7, at(60))] {
        clock.set(now);
        bed.spend(&monthly, cost);
        bed.spend(&daily, cost);
        assert!(bed.place.ask(&costing(nobody(&headers), cost), now).is_admitted());
        bed.books.tend(now.plus(Nanos::from_secs(7_200))).unwrap();
    }
    // The clock of that build stayed where it had been.
    assert!(bed.open_hour() > Hour::of(at(9 * YEAR_S)));
    let (_, reset) = bed.used(&monthly);
    assert!(reset.parse::<u32>().unwrap() > at(9 * YEAR_S).as_secs(), "{reset}");
    (bed, monthly, daily)
}

#[test]
fn meters_and_hours_that_were_left_in_the_future_are_set_right_at_the_start() {
    let (bed, monthly, daily) = left_behind();
    let bed = bed.restart_with_clock(|_| Clock::fixed(at(120)));
    for caller in [&monthly, &daily] {
        let (used, reset) = bed.used(caller);
        assert_eq!(used, "10");
        assert!(reset.parse::<u32>().unwrap() < at(32 * 86_400).as_secs(), "{reset}");
    }
    let headers = http::HeaderMap::new();
    let peek = CallerRequest { purpose: Purpose::Peek, ..nobody(&headers) };
    assert_eq!(header(&bed.place.ask(&peek, at(120)), "X-Quota-Used").unwrap(), "10");
    // What was used since is counted in its own hour, and proven.
    assert!(bed.open_hour() <= Hour::of(at(7_200)), "{}", bed.open_hour());
    let dir = bed.place.dir();
    Ledger::verify(&dir.join("ledger"), &dir.join("spool"), None).unwrap();
    // Once: the next start finds nothing to set right.
    let bed = bed.restart_with_clock(|_| Clock::fixed(at(130)));
    bed.spend(&monthly, 1);
    assert_eq!(bed.used(&monthly).0, "11");
}

#[test]
fn nothing_is_counted_again_where_the_clock_of_the_start_may_be_the_wrong_one() {
    let (bed, monthly, _) = left_behind();
    // A process confirmed the time ten years ahead.
    bed.place.engine.clock().set(at(10 * YEAR_S));
    bed.place.engine.remember_time(at(10 * YEAR_S));
    let bed = bed.restart_with_clock(|_| Clock::fixed(at(120)));
    assert_eq!(bed.used(&monthly).0, "12", "the meter stays in its period");
    // Once the clock has lasted, it is believed.
    bed.place.engine.remember_time(at(300));
    let bed = bed.restart_with_clock(|_| Clock::fixed(at(300)));
    assert_eq!(bed.used(&monthly).0, "12");
    bed.place.engine.remember_time(at(900));
    let bed = bed.restart_with_clock(|_| Clock::fixed(at(900)));
    assert_eq!(bed.used(&monthly).0, "10");
}

#[test]
fn an_absence_is_counted_from_the_last_time_a_process_ran() {
    let place = Place::new(PLANS);
    place.engine.remember_time(at(100 * 86_400));
    // Nothing was recorded since the start, a hundred days before.
    let place = place.restart_with_clock(PLANS, |latest| {
        assert_eq!(latest, at(100 * 86_400));
        Clock::fixed(latest)
    });
    assert_eq!(place.engine.now(), at(100 * 86_400));
}
