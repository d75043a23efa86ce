//! What the crowd promises.

use tollgate_core::plan::HomeId;
use tollgate_core::time::{Nanos, Timestamp};
use tollgate_store::hash::HomeHasher;

use super::{Crowd, Seat};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn hasher() -> HomeHasher {
    HomeHasher::new([3; 16])
}

fn client(number: u64) -> HomeId {
    hasher().of_name(&number.to_le_bytes())
}

/// The last seat of so many clients behind one address.
fn seated(crowd: &Crowd, clients: std::ops::Range<u64>, now: Timestamp) -> Seat {
    clients.map(|number| crowd.seat(client(number), 7, now)).last().unwrap()
}

#[test]
fn a_client_that_is_alone_has_the_limits_of_one() {
    let crowd = Crowd::new(hasher(), 4);
    assert!(crowd.is_empty());
    for _ in 0..100 {
        assert_eq!(crowd.seat(client(1), 7, START).members_log2, 0);
    }
    assert!(!crowd.is_empty());
}

#[test]
fn a_seat_has_the_limits_of_all_who_share_it() {
    for clients in [2, 3, 10, 50, 200, 1_000, 10_000, 100_000] {
        let seat = seated(&Crowd::new(hasher(), 4), 0..clients, START);
        let limits = 1_u64 << seat.members_log2;
        assert!((clients..=clients * 4).contains(&limits), "{limits} for {clients}");
    }
}

#[test]
fn seats_are_chosen_by_the_address_alone() {
    let crowd = Crowd::new(hasher(), 8);
    assert_eq!(crowd.seat(client(1), 7, START).home, crowd.seat(client(2), 7, START).home);
    assert_ne!(crowd.seat(client(1), 7, START).home, crowd.seat(client(1), 8, START).home);
    let other = Crowd::new(HomeHasher::new([4; 16]), 8);
    assert_ne!(crowd.seat(client(1), 7, START).home, other.seat(client(1), 7, START).home);
}

#[test]
fn who_is_gone_for_a_day_is_forgotten_and_nobody_sooner_than_half_a_day() {
    let crowd = Crowd::new(hasher(), 4);
    let full = seated(&crowd, 0..1_000, START).members_log2;
    let almost = START.plus(Nanos::from_secs(12 * 3_600 - 1));
    assert_eq!(crowd.seat(client(1), 7, almost).members_log2, full);
    let late = START.plus(Nanos::from_secs(24 * 3_600));
    assert_eq!(crowd.seat(client(1), 7, late).members_log2, 0);
}

#[test]
fn the_table_takes_three_mebibytes() {
    let seats = 1_usize << Crowd::SEATS_LOG2_DEFAULT;
    assert!(size_of::<parking_lot::Mutex<super::Members>>() * seats <= 3 << 20);
}
