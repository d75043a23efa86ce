//! Images come back as what they were, and no bytes make the reader panic or accept what could not have been written.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use jiff::tz::TimeZone;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sluicegate_core::calendar::{BillingDay, Calendar, CalendarUnit};
use sluicegate_core::image::{
    BadImage, EntryImage, Reader, Written, decode_entry, decode_meter, encode_entry, encode_meter, put_number,
};
use sluicegate_core::limit::LimitName;
use sluicegate_core::meter::{Meter, Moment, State as _, Terms};
use sluicegate_core::overage::OverageBaseline;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Ask, Rule, TokenBucket, Windowed};
use sluicegate_core::time::{Nanos, Timestamp, Window};

#[path = "images/golden.rs"]
mod golden;

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![1..300u64, 1..=Amount::MAX, Just(Amount::MAX)].prop_map(|amount| Amount::new(amount).unwrap())
}

fn window() -> impl Strategy<Value = Window> {
    let longest = u64::from(Window::MAX.as_secs());
    prop_oneof![1..=60u64, 1..=longest, Just(longest)].prop_map(|secs| Window::from_secs(secs).unwrap())
}

fn windowed() -> impl Strategy<Value = Windowed> {
    (amount(), window()).prop_map(|(limit, window)| Windowed { limit, window })
}

fn token_bucket() -> impl Strategy<Value = Rule> {
    let amount = prop_oneof![1..50u64, 1..=TokenBucket::AMOUNT_MAX];
    let burst = prop_oneof![1..50u64, 1..=TokenBucket::BURST_MAX];
    (amount, window(), burst).prop_filter_map("fills within a century", |(amount, window, burst)| {
        TokenBucket::new(amount, window, burst).ok().map(Rule::TokenBucket)
    })
}

fn calendar() -> impl Strategy<Value = Calendar> {
    let unit = select(vec![CalendarUnit::Day, CalendarUnit::Month, CalendarUnit::BillingMonth]);
    let zone = select(vec!["UTC", "Europe/Vienna", "America/Argentina/ComodRivadavia", "Etc/GMT+12"]);
    (unit, zone, 1..=31u8).prop_map(|(unit, zone, day)| {
        Calendar::utc(unit).for_account(TimeZone::get(zone).unwrap(), BillingDay::new(day).unwrap())
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        token_bucket(),
        windowed().prop_map(Rule::FixedWindow),
        windowed().prop_map(Rule::SlidingWindow),
        windowed().prop_map(Rule::SlidingBuckets),
        windowed().prop_map(Rule::SlidingLog),
        (amount(), calendar()).prop_map(|(limit, calendar)| Rule::Calendar { limit, calendar }),
        (amount(), any::<u64>()).prop_map(|(limit, lease)| Rule::Concurrency { limit, lease: Nanos(lease) }),
    ]
}

fn name() -> impl Strategy<Value = LimitName> {
    "[a-z0-9][a-z0-9._-]{0,63}".prop_map(|name| LimitName::new(&name).unwrap())
}

/// What happens to a meter: how much later, and what is asked.
fn history() -> impl Strategy<Value = Vec<(u64, Ask)>> {
    let cost = || prop_oneof![8 => 1..20u64, 1 => 1..=Amount::MAX];
    let ask = prop_oneof![
        4 => cost().prop_map(Ask::Take),
        4 => cost().prop_map(Ask::Force),
        1 => (cost(), 0..100u32).prop_map(|(cost, secs)| {
            Ask::Give { cost, reserved: cost, charged_at: Timestamp::from_secs(1_790_000_000 + secs) }
        }),
    ];
    let wait = prop_oneof![0..2_000_000_000u64, 0..90_000_000_000_000u64, Just(60_000_000_000)];
    vec((wait, ask), 0..40)
}

fn start() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        Just(Timestamp::from_secs(1_790_000_000)),
        Just(Timestamp::EPOCH),
        Just(Timestamp::MAX),
        any::<u64>().prop_map(Timestamp::from_nanos),
    ]
}

/// A meter with a history, and when that ended.
fn live(rule: &Rule, mut now: Timestamp, history: &[(u64, Ask)]) -> (Meter, Timestamp) {
    let mut meter = Meter::fresh(rule);
    for (wait, ask) in history {
        now = now.plus(Nanos(*wait));
        let charged_at = if let Ask::Give { charged_at, .. } = ask { *charged_at } else { now };
        let (step, _) = meter.settle(rule, *ask, &Moment { charged_at, keeps_past: true, ..at(now) });
        meter.apply(step);
    }
    (meter, now)
}

fn at(now: Timestamp) -> Moment<'static> {
    Moment { slot: SlotId(1), ..Moment::at(now) }
}

fn entry_image(name: &LimitName, terms: Terms<'_>) -> Vec<u8> {
    let mut image = Vec::new();
    encode_entry(name, terms, &mut image);
    image
}

fn plain(rule: &Rule) -> Terms<'_> {
    Terms { rule, included: None, keeps_past: false }
}

/// What is included in periods of this rule, where it has any.
fn included(rule: &Rule, amount: Option<Amount>) -> Option<Amount> {
    amount.filter(|_| matches!(rule, Rule::FixedWindow(_) | Rule::Calendar { .. }))
}

fn baseline() -> impl Strategy<Value = OverageBaseline> {
    let number = || prop_oneof![2 => Just(0), 4 => 1..20u64, 1 => 1..=Amount::MAX];
    (number(), number()).prop_map(|(recorded, used)| OverageBaseline { recorded, used })
}

fn meter_image(meter: &Meter, rule: &Rule) -> Option<Vec<u8>> {
    let mut image = Vec::new();
    (encode_meter(meter, rule, &mut image) == Written::Image).then_some(image)
}

fn read_meter(image: &[u8], rule: &Rule) -> Result<Meter, BadImage> {
    let mut reader = Reader::new(image);
    let meter = decode_meter(&mut reader, rule)?;
    reader.end()?;
    Ok(meter)
}

/// An accepted meter can be asked anything, now and later, without ever running over.
fn ask_everything(meter: &Meter, rule: &Rule) {
    for now in [Timestamp::EPOCH, Timestamp::from_secs(1_790_000_000), Timestamp::MAX] {
        for cost in [1, Amount::MAX] {
            for ask in [
                Ask::Look,
                Ask::Take(cost),
                Ask::Force(cost),
                Ask::Give { cost, reserved: cost, charged_at: now },
            ] {
                let mut meter = meter.clone();
                let _ = meter.bring_up(plain(rule), plain(rule), &at(now));
                let (step, _) = meter.settle(rule, ask, &at(now));
                meter.apply(step);
                meter.reset(plain(rule), now);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn a_limit_comes_back_as_it_was(
        name in name(),
        rule in rule(),
        sold in option::of(amount()),
        quota in any::<bool>(),
    ) {
        let included = included(&rule, sold);
        // Calendars and what is billed keep the period before, and fixed windows if they are quotas.
        let keeps_past = match rule {
            Rule::Calendar { .. } => true,
            Rule::FixedWindow(_) => quota || included.is_some(),
            _ => false,
        };
        let image = entry_image(&name, Terms { rule: &rule, included, keeps_past });
        prop_assert_eq!(decode_entry(&image), Ok(EntryImage { name, rule, included, keeps_past }));
    }

    #[test]
    fn a_meter_comes_back_and_says_what_it_said(
        rule in rule(),
        start in start(),
        history in history(),
        baseline in baseline(),
    ) {
        let (mut meter, now) = live(&rule, start, &history);
        if included(&rule, Some(Amount::ONE)).is_some() {
            meter.rebase(baseline);
        }
        let Some(image) = meter_image(&meter, &rule) else {
            let slots = matches!(rule, Rule::Concurrency { .. });
            prop_assert!(slots, "only slots have no image");
            return Ok(());
        };
        let restored = read_meter(&image, &rule).unwrap();
        prop_assert_eq!(meter_image(&restored, &rule), Some(image));
        for wait in [0, 1, 30_000_000_000, 86_400_000_000_000] {
            let moment = at(now.plus(Nanos(wait)));
            for ask in [Ask::Look, Ask::Take(1), Ask::Force(7), Ask::Give { cost: 2, reserved: 3, charged_at: now }] {
                let (_, said) = meter.settle(&rule, ask, &moment);
                prop_assert_eq!(restored.settle(&rule, ask, &moment).1, said);
            }
            prop_assert_eq!(restored.baseline(&rule, &moment), meter.baseline(&rule, &moment));
        }
        if !matches!(meter, Meter::Timeline(_)) {
            // A timeline also remembers what it has forgotten, which nobody can see.
            prop_assert_eq!(restored, meter);
        }
    }

    #[test]
    fn any_bytes_are_a_value_with_that_very_image_or_refused(
        rule in rule(),
        head in prop_oneof![Just(vec![]), (0..4u8, 0..11u8).prop_map(|(version, kind)| vec![version, kind])],
        tail in vec(prop_oneof![any::<u8>(), 0..4u8], 0..40),
    ) {
        accepts_only_what_it_writes(&[head, tail].concat(), &rule)?;
    }

    #[test]
    fn broken_images_are_values_with_that_very_image_or_refused(
        name in name(),
        rule in rule(),
        start in start(),
        history in history(),
        flips in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Index>(),
        (sold, baseline) in (option::of(amount()), baseline()),
    ) {
        let (mut meter, _) = live(&rule, start, &history);
        if included(&rule, sold).is_some() {
            meter.rebase(baseline);
        }
        let entry = entry_image(&name, Terms { rule: &rule, included: included(&rule, sold), keeps_past: false });
        for mut image in [Some(entry), meter_image(&meter, &rule)].into_iter().flatten() {
            for (place, bits) in &flips {
                let place = place.index(image.len());
                image[place] ^= bits;
            }
            accepts_only_what_it_writes(&image, &rule)?;
            image.truncate(cut.index(image.len()));
            accepts_only_what_it_writes(&image, &rule)?;
        }
    }

    #[test]
    fn a_number_comes_back_in_one_form_only(number in any::<u64>(), shift in 0..64u32) {
        let (number, mut image) = (number >> shift, Vec::new());
        put_number(number, &mut image);
        prop_assert_eq!(Reader::new(&image).number(), Ok(number));
        *image.last_mut().unwrap() |= 0x80;
        prop_assert!(Reader::new(&image).number().is_err());
        image.push(0);
        prop_assert!(Reader::new(&image).number().is_err());
    }
}

fn accepts_only_what_it_writes(image: &[u8], rule: &Rule) -> Result<(), TestCaseError> {
    if let Ok(entry) = decode_entry(image) {
        prop_assert_eq!(entry_image(&entry.name, entry.terms()), image);
    }
    if let Ok(meter) = read_meter(image, rule) {
        let written = meter_image(&meter, rule);
        prop_assert_eq!(written.as_deref(), Some(image));
        ask_everything(&meter, rule);
    }
    Ok(())
}

#[test]
fn a_zone_without_a_name_counts_as_utc() {
    let zone = TimeZone::fixed(jiff::tz::offset(2));
    let calendar = Calendar::utc(CalendarUnit::Day).for_account(zone, BillingDay::FIRST);
    assert_eq!(calendar, Calendar::utc(CalendarUnit::Day));
}
