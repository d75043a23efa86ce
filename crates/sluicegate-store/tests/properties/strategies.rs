//! What the random cases are made of: rules with numbers that meet, clocks that step, costs at the edges.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use sluicegate_core::calendar::{Calendar, CalendarUnit};
use sluicegate_core::limit::{Axis, Excess, OverageCap, RefusalStatus};
use sluicegate_core::plan::{Due, Expects};
use sluicegate_core::rule::{Amount, Rule, TokenBucket, Windowed};
use sluicegate_core::time::{Nanos, Timestamp, Window};

const SECOND: u64 = 1_000_000_000;

/// The limits of a home are few, so that requests meet on the same meters.
pub(crate) const LIMITS: usize = 4;

/// With the meters that refusals are charged to.
pub(crate) const METERS: usize = LIMITS + 2;

/// One limit as it stands now.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) rule: Rule,
    pub(crate) excess: Excess,
    /// What was sold, where the rule is of another size.
    pub(crate) sold: Option<Amount>,
}

/// One thing that happens to a home.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// Nothing: what other events shrink to.
    Nothing,
    /// A request that owes `cost` to some of the meters, and may expect something of one of them.
    Ask { meters: Vec<usize>, cost: u64, expects: Option<Expects> },
    /// The same, only looked at.
    Peek { meters: Vec<usize>, cost: u64, expects: Option<Expects> },
    /// Usage that has happened already.
    Force { meters: Vec<usize>, cost: u64, expects: Option<Expects> },
    /// The charge that was admitted so many requests ago is given back.
    Refund { ago: usize },
    /// The request that was admitted so many ago turns out to have cost this much.
    Finish { ago: usize, cost: u64 },
    /// A limit is edited.
    Edit { meter: usize, terms: Terms },
    /// Time passes.
    Later(u64),
    /// The clock steps back.
    Earlier(u64),
    /// Homes and meters that say nothing any more are forgotten.
    Sweep,
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![8 => 1..12u64, 4 => 12..200u64, 1 => select(vec![1_000, Amount::MAX - 1, Amount::MAX])]
        .prop_map(|amount| Amount::new(amount).unwrap())
}

fn window() -> impl Strategy<Value = Window> {
    let longest = u64::from(Window::MAX.as_secs());
    prop_oneof![6 => select(vec![1, 2, 10, 60, 3_600, 86_400]), 1 => 1..5_000u64, 1 => Just(longest)]
        .prop_map(|secs| Window::from_secs(secs).unwrap())
}

fn windowed() -> impl Strategy<Value = Windowed> {
    (amount(), window()).prop_map(|(limit, window)| Windowed { limit, window })
}

fn small_windowed() -> impl Strategy<Value = Windowed> {
    (1..60u64, window()).prop_map(|(limit, window)| Windowed { limit: Amount::new(limit).unwrap(), window })
}

fn token_bucket() -> impl Strategy<Value = Rule> {
    let odd = select(vec![49_999, 1_234_567, 999_983, 7_777_777, TokenBucket::AMOUNT_MAX]);
    let amount = prop_oneof![8 => 1..20u64, 2 => odd];
    let burst = prop_oneof![8 => 1..40u64, 1 => 100_000..1_000_000u64, 1 => Just(TokenBucket::BURST_MAX)];
    (amount, window(), burst).prop_filter_map("fills within a century", |(amount, window, burst)| {
        TokenBucket::new(amount, window, burst).ok().map(Rule::TokenBucket)
    })
}

fn calendar() -> impl Strategy<Value = Rule> {
    let unit = select(vec![CalendarUnit::Day, CalendarUnit::Month]);
    (amount(), unit).prop_map(|(limit, unit)| Rule::Calendar { limit, calendar: Calendar::utc(unit) })
}

fn concurrency() -> impl Strategy<Value = Rule> {
    (1..6u64, prop_oneof![Just(60 * SECOND), 1..10 * SECOND]).prop_map(|(limit, lease)| Rule::Concurrency {
        limit: Amount::new(limit).unwrap(),
        lease: Nanos(lease),
    })
}

/// Any rule but slots.
pub(crate) fn counting_rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        3 => token_bucket(),
        1 => windowed().prop_map(Rule::FixedWindow),
        2 => windowed().prop_map(Rule::SlidingWindow),
        2 => windowed().prop_map(Rule::SlidingBuckets),
        1 => small_windowed().prop_map(Rule::SlidingLog),
        1 => calendar(),
    ]
}

pub(crate) fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![9 => counting_rule(), 1 => concurrency()]
}

/// The terms of the meter with this number: some numbers are rates, one is slots, one a quota whose overage
/// may be billed, and some are not limits but what refusals are charged to.
pub(crate) fn terms(meter: usize) -> BoxedStrategy<Terms> {
    let refuse = Excess::Refuse(RefusalStatus::TooManyRequests);
    match axis(meter) {
        Axis::Rate => rule().prop_map(move |rule| Terms { rule, excess: refuse, sold: None }).boxed(),
        Axis::Concurrency => {
            concurrency().prop_map(move |rule| Terms { rule, excess: refuse, sold: None }).boxed()
        }
        Axis::Conduct => {
            counting_rule().prop_map(move |rule| Terms { rule, excess: refuse, sold: None }).boxed()
        }
        Axis::Quota => (counting_rule(), excess(), option::weighted(0.3, amount()))
            .prop_map(move |(rule, excess, sold)| {
                // A bucket has no overage: it forgets what is above it.
                let bucket = matches!(rule, Rule::TokenBucket(_));
                Terms { rule, excess: if bucket { refuse } else { excess }, sold }
            })
            .boxed(),
    }
}

/// What happens beyond a quota.
pub(crate) fn excess() -> impl Strategy<Value = Excess> {
    let status = RefusalStatus::TooManyRequests;
    let cap = amount().prop_map(move |amount| Excess::BillUpTo(OverageCap { amount, status }));
    prop_oneof![2 => Just(Excess::Refuse(status)), 1 => Just(Excess::BillOverage), 2 => cap]
}

/// The terms of all meters.
pub(crate) fn all_terms() -> [BoxedStrategy<Terms>; METERS] {
    std::array::from_fn(terms)
}

pub(crate) fn axis(meter: usize) -> Axis {
    [Axis::Rate, Axis::Rate, Axis::Concurrency, Axis::Quota, Axis::Conduct, Axis::Conduct][meter]
}

/// When a request owes to the meter with this number, and how much if it costs so much.
pub(crate) fn owed(meter: usize, cost: u64) -> (Due, u64) {
    match axis(meter) {
        Axis::Rate | Axis::Concurrency | Axis::Quota => (Due::Admission, cost),
        Axis::Conduct => (Due::Refusal, cost % 5 + 1),
    }
}

fn meters() -> impl Strategy<Value = Vec<usize>> {
    select(vec![
        vec![0],
        vec![1],
        vec![3],
        vec![0, 3],
        vec![0, 1],
        vec![0, 2, 3],
        vec![0, 1, 2, 3],
        vec![2],
        vec![],
        vec![0, 4],
        vec![3, 5],
        vec![0, 3, 4],
        vec![0, 2, 4, 5],
        vec![0, 3, 4, 5],
        vec![0, 1, 2, 3, 4, 5],
        vec![4, 5],
    ])
}

/// The place may be one that the plan does not have: then nothing is expected.
fn expects() -> impl Strategy<Value = Option<Expects>> {
    let some = (0..20u64, 0..40u64);
    let bounds = prop_oneof![4 => some, 1 => (0..20u64, Just(u64::MAX)), 1 => (Just(u64::MAX), Just(0))];
    let some = (0..=METERS, bounds).prop_map(|(place, (least, more))| Expects {
        place,
        least,
        most: least.saturating_add(more),
    });
    prop_oneof![3 => Just(None), 2 => some.prop_map(Some)]
}

pub(crate) fn cost() -> impl Strategy<Value = u64> {
    let huge = select(vec![Amount::MAX / 2, Amount::MAX]);
    prop_oneof![12 => Just(1), 4 => 2..20u64, 1 => 20..300u64, 1 => 1_000..300_000u64, 1 => huge]
}

/// Steps that land on, just before and just after the edges of windows, units and buckets.
pub(crate) fn time_step() -> impl Strategy<Value = u64> {
    let edges = select(vec![1, 60, 3_600, 86_400]).prop_flat_map(|secs: u64| {
        (1..4u64, 0..3u64).prop_map(move |(times, off)| (secs * SECOND * times + off).saturating_sub(1))
    });
    prop_oneof![3 => 0..SECOND, 3 => 0..20 * SECOND, 3 => edges, 1 => 0..3 * 86_400 * SECOND, 1 => Just(0)]
}

fn asked() -> impl Strategy<Value = (Vec<usize>, u64, Option<Expects>)> {
    (meters(), cost(), expects())
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => Just(Event::Nothing),
        20 => asked().prop_map(|(meters, cost, expects)| Event::Ask { meters, cost, expects }),
        2 => asked().prop_map(|(meters, cost, expects)| Event::Peek { meters, cost, expects }),
        1 => asked().prop_map(|(meters, cost, expects)| Event::Force { meters, cost, expects }),
        2 => (0..8usize).prop_map(|ago| Event::Refund { ago }),
        3 => (0..8usize, cost()).prop_map(|(ago, cost)| Event::Finish { ago, cost }),
        2 => (0..METERS).prop_flat_map(|meter| terms(meter).prop_map(move |terms| Event::Edit { meter, terms })),
        8 => time_step().prop_map(Event::Later),
        1 => time_step().prop_map(Event::Earlier),
        1 => Just(Event::Sweep),
    ]
}

/// Where a case begins: usually today, sometimes at the ends of time.
pub(crate) fn start() -> impl Strategy<Value = Timestamp> {
    // As late as windows of 400 days and steps of three days allow without meeting the last instant itself.
    let day = 86_400 * SECOND;
    let late = (Timestamp::MAX.as_nanos() - 3_000 * day)..(Timestamp::MAX.as_nanos() - 1_100 * day);
    prop_oneof![
        8 => (1_790_000_000u32..1_800_000_000).prop_map(Timestamp::from_secs),
        1 => (0..10 * SECOND).prop_map(Timestamp::from_nanos),
        1 => late.prop_map(Timestamp::from_nanos),
    ]
}
