//! What the crowd promises.

use std::collections::BTreeMap;

use sluicegate_core::plan::HomeId;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::hash::HomeHasher;

use super::{Crowd, Seat};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
const DAY: Nanos = Nanos::from_secs(24 * 3_600);

fn hasher() -> HomeHasher {
    HomeHasher::new([3; 16])
}

fn client(number: u64) -> HomeId {
    hasher().of_name(&number.to_le_bytes())
}

/// The last seat of so many clients behind one address.
fn seated(crowd: &Crowd, clients: std::ops::Range<u64>, now: Timestamp) -> Seat {
    clients.map(|number| crowd.seat(client(number), 7, 0, DAY, now)).last().unwrap()
}

#[test]
fn a_client_that_is_alone_has_the_limits_of_one() {
    let crowd = Crowd::new(hasher(), 1, 4);
    assert!(crowd.is_empty());
    for _ in 0..100 {
        assert_eq!(crowd.seat(client(1), 7, 0, DAY, START).members_log2, 0);
    }
    assert!(!crowd.is_empty());
}

#[test]
fn a_seat_has_the_limits_of_all_who_share_it() {
    for clients in [2, 3, 8] {
        let seat = seated(&Crowd::new(hasher(), 1, 4), 0..clients, START);
        assert_eq!(1 << seat.members_log2, clients.next_power_of_two(), "few are counted one by one");
    }
    for clients in [9, 17, 50, 200, 1_000, 10_000, 100_000] {
        let seat = seated(&Crowd::new(hasher(), 1, 4), 0..clients, START);
        let limits = 1_u64 << seat.members_log2;
        assert!((clients..=clients * 8).contains(&limits), "{limits} for {clients}");
    }
}

#[test]
fn seats_are_chosen_by_the_address_alone() {
    let crowd = Crowd::new(hasher(), 1, 8);
    assert_eq!(crowd.seat(client(1), 7, 0, DAY, START).home, crowd.seat(client(2), 7, 0, DAY, START).home);
    assert_ne!(crowd.seat(client(1), 7, 0, DAY, START).home, crowd.seat(client(1), 8, 0, DAY, START).home);
    let after_a_restart = Crowd::new(hasher(), 2, 8);
    for other in [Crowd::new(HomeHasher::new([4; 16]), 1, 8), after_a_restart] {
        assert_ne!(
            crowd.seat(client(1), 7, 0, DAY, START).home,
            other.seat(client(1), 7, 0, DAY, START).home
        );
    }
}

/// Each client comes once, to a seat that chance gives it. Never are there fewer limits than clients.
fn nobody_is_too_many(seats_log2: u32, clients: u64, memory: Nanos, apart: Nanos) {
    let (crowd, mut came) = (Crowd::new(hasher(), 1, seats_log2), BTreeMap::new());
    let mut now = START;
    for number in 0..clients {
        now = now.plus(apart);
        let home = client(number);
        let seat = crowd.seat(home, (home.0 >> 64) as u64, 0, memory, now);
        let there: &mut Vec<Timestamp> = came.entry(seat.home).or_default();
        there.push(now);
        let counted = there.iter().rev().take_while(|then| then.plus(memory) > now).count();
        assert!(counted <= 1 << seat.members_log2, "{counted} for 2^{}", seat.members_log2);
    }
}

#[test]
fn no_stranger_among_many_is_one_too_many() {
    // Seats with few, and seats that fill at once.
    nobody_is_too_many(16, 400_000, DAY, Nanos(1));
    nobody_is_too_many(6, 60_000, DAY, Nanos(1));
    nobody_is_too_many(0, 5_000, DAY, Nanos(1));
}

#[test]
fn who_used_something_is_counted_for_as_long_as_that_counts() {
    // Some thirty a day at each seat, for three months, of which each has a budget for a month.
    nobody_is_too_many(2, 90 * 120, Nanos(31 * DAY.0), Nanos(DAY.0 / 120));
    nobody_is_too_many(2, 10_000, DAY, Nanos(DAY.0 / 50));
}

#[test]
fn a_seat_tells_who_sits_there_already_that_it_has_grown() {
    let crowd = Crowd::new(hasher(), 1, 4);
    let first = crowd.seat(client(1), 7, 0, DAY, START);
    assert_eq!(crowd.grown(&first), None);
    let second = crowd.seat(client(2), 7, 0, DAY, START);
    assert_eq!(crowd.grown(&first), Some(second));
    assert_eq!(crowd.grown(&second), None);
}

#[test]
fn who_is_gone_for_two_days_is_forgotten_and_nobody_sooner_than_one() {
    let crowd = Crowd::new(hasher(), 1, 4);
    let full = seated(&crowd, 0..1_000, START).members_log2;
    let almost = START.plus(Nanos(2 * DAY.0 - 1));
    assert_eq!(crowd.seat(client(1), 7, 0, DAY, almost).members_log2, full);
    assert_eq!(crowd.seat(client(1), 7, 0, DAY, START).members_log2, full, "a clock that stepped back");
    let late = almost.plus(Nanos(2 * DAY.0));
    assert_eq!(crowd.seat(client(1), 7, 0, DAY, late).members_log2, 0);
}

#[test]
fn the_table_takes_ten_mebibytes() {
    let seats = 1_usize << Crowd::SEATS_LOG2_DEFAULT;
    assert!(size_of::<parking_lot::Mutex<super::Members>>() * seats <= 10 << 20);
}
