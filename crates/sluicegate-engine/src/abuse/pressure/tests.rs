//! What pressure promises.

use sluicegate_core::policy::Pressure;
use sluicegate_core::time::{Nanos, Timestamp, Window};

use super::{PressureTable, Squeeze, Squeezed};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
const HOUR: Nanos = Nanos::from_secs(3_600);

fn pressure(fingerprints: u32) -> Pressure {
    Pressure { fingerprints, window: Window::from_secs(600).unwrap(), length: HOUR, ..Pressure::default() }
}

/// Spread as a keyed hash would.
pub(super) fn hash(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn after(secs: u32) -> Timestamp {
    START.plus(Nanos::from_secs(secs))
}

/// How many fingerprints it took at one instant.
fn needed(fingerprints: u32, seed: u64) -> u32 {
    let (table, pressure) = (PressureTable::new(0), pressure(fingerprints));
    let from = seed << 32;
    let noted = (from..).position(|number| table.note(7, hash(number), &pressure, START) != Squeeze::No);
    u32::try_from(noted.unwrap()).unwrap() + 1
}

#[test]
fn twenty_fingerprints_squeeze_an_address_for_an_hour() {
    let (table, pressure) = (PressureTable::new(2), pressure(20));
    let mut seen = 0;
    while table.note(7, hash(seen), &pressure, START) == Squeeze::No {
        seen += 1;
    }
    assert_eq!(seen, 19, "the twentieth is one too many");
    assert_eq!(table.look(7, START), Squeeze::Until(START.plus(HOUR)));
    assert_eq!(table.look(8, START), Squeeze::No);
    assert_eq!(table.look(7, START.plus(Nanos(HOUR.0 - 1))), Squeeze::Until(START.plus(HOUR)));
    assert_eq!(table.look(7, START.plus(HOUR)), Squeeze::No);
}

#[test]
fn few_fingerprints_are_counted_exactly() {
    for seed in 0..500 {
        for fingerprints in [1, 2, 5, 20, 32] {
            let needed = needed(fingerprints, seed);
            assert_eq!(needed, fingerprints);
        }
    }
}

#[test]
fn many_fingerprints_are_counted_to_a_few_percent() {
    for (fingerprints, off) in [(100, 15), (1_000, 20), (3_000, 25), (10_000, 25)] {
        for seed in 0..20 {
            let needed = needed(fingerprints, seed);
            let share = fingerprints * off / 100;
            assert!(needed.abs_diff(fingerprints) <= share, "{needed} for {fingerprints}");
        }
    }
}

#[test]
fn the_same_browsers_again_and_again_are_no_pressure() {
    let (table, pressure) = (PressureTable::new(0), pressure(20));
    for second in 0..7_200 {
        assert_eq!(table.note(7, hash(u64::from(second) % 12), &pressure, after(second)), Squeeze::No);
    }
}

#[test]
fn what_is_older_than_the_window_is_forgotten() {
    let (table, pressure) = (PressureTable::new(0), pressure(20));
    // A new fingerprint every 35 s is 17 or 18 within any ten minutes.
    for number in 0..2_000 {
        let now = after(number * 35);
        assert_eq!(table.note(7, hash(number.into()), &pressure, now), Squeeze::No, "fingerprint {number}");
    }
}

#[test]
fn a_pause_of_half_a_window_gives_no_fresh_starts() {
    let (table, pressure) = (PressureTable::new(0), pressure(20));
    for (number, second) in (0..19).map(|number| (number, 0)).chain([(19, 599)]) {
        let squeeze = table.note(7, hash(number), &pressure, after(second));
        assert_eq!(squeeze != Squeeze::No, number == 19, "fingerprint {number}");
    }
}

#[test]
fn other_nodes_are_told_of_fingerprints_that_are_new_here() {
    let (table, pressure) = (PressureTable::new(0), pressure(20));
    let told = |number, second| table.note_unknown(7, hash(number), &pressure, after(second)).len();
    assert_eq!((told(0, 0), told(0, 1)), (0, 0), "nothing else is known of the address");
    assert_eq!((told(1, 1), told(1, 2)), (2, 0), "the second is told of with the first");
    assert_eq!(told(2, 2), 3);
    assert_eq!(told(3, 602), 0, "all others are over");
    table.squeeze(7, after(700));
    assert_eq!(table.look(7, after(650)), Squeeze::Until(after(700)));
    assert_eq!((told(4, 650), told(5, 700)), (0, 3), "while it is squeezed, nothing need be told");
    table.squeeze(8, after(60));
    assert_eq!(table.look(8, START), Squeeze::No, "an address that was never seen");
}

#[test]
fn a_squeeze_lasts_for_as_long_as_the_pressure_and_an_hour() {
    let (table, pressure) = (PressureTable::new(0), pressure(20));
    for second in 0..3_000 {
        table.note(7, hash(u64::from(second) % 40), &pressure, after(second));
    }
    let Squeeze::Until(until) = table.look(7, after(3_000)) else { panic!("it is squeezed") };
    assert!(until > after(3_000 + 3_600 - 600), "{until:?}");
    table.forget(7);
    assert_eq!(table.look(7, after(3_000)), Squeeze::No);
}

#[test]
fn a_squeezed_address_outstays_those_that_are_not() {
    let (table, pressure) = (PressureTable::new(0), pressure(20));
    for number in 0..40 {
        table.note(7, hash(number), &pressure, START);
    }
    let until = table.look(7, START);
    for address in 100..10_000 {
        assert_eq!(table.note(address, 1, &pressure, after(1)), Squeeze::No);
    }
    assert_eq!(table.look(7, after(1)), until);
    assert_eq!(table.list(None, after(1), 10).len(), 1);
    assert_eq!(table.list(None, after(1), 0), []);
    assert_eq!(table.list(None, after(3_600), 10), []);
}

#[test]
fn who_was_quiet_for_longest_gives_way() {
    let (table, pressure) = (PressureTable::new(0), pressure(3));
    for (second, address) in (1..=8).enumerate() {
        table.note(address, hash(1), &pressure, after(second.try_into().unwrap()));
    }
    table.note(1, hash(2), &pressure, after(9));
    table.note(9, hash(1), &pressure, after(10));
    // The first was heard of again and is still known; the second has made room.
    assert_ne!(table.note(1, hash(3), &pressure, after(11)), Squeeze::No);
    table.note(2, hash(2), &pressure, after(12));
    assert_eq!(table.note(2, hash(3), &pressure, after(12)), Squeeze::No);
}

#[test]
fn another_window_does_not_count_for_ever() {
    let (table, long) = (PressureTable::new(0), pressure(20));
    let short = Pressure { window: Window::from_secs(10).unwrap(), ..long };
    table.note(7, hash(0), &short, START);
    for number in 1..200 {
        assert_eq!(
            table.note(7, hash(number), &long, after(u32::try_from(number).unwrap() * 60)),
            Squeeze::No
        );
    }
}

#[test]
fn addresses_that_are_squeezed_are_listed_in_pages() {
    let (table, pressure) = (PressureTable::new(4), pressure(1));
    for number in 0..60 {
        table.note(hash(number), hash(7), &pressure, START);
    }
    let (mut found, all) = (Vec::new(), table.list(None, START, 1_000));
    loop {
        let page = table.list(found.last().map(|last: &Squeezed| last.address), START, 7);
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    assert!(all.len() > 40, "{}", all.len());
    assert_eq!(found, all);
    assert_eq!(table.find(all[0].address, START), Some(all[0]));
}
