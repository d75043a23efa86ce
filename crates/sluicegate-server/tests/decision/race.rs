//! Many at once.

use std::sync::Barrier;

use crate::place::Place;

const CALLERS: usize = 400;

fn admitted(place: &Place, body: &str) -> usize {
    let start = Barrier::new(CALLERS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    place.ask("POST", "/v1/check", &[], body).member("/allowed") == true
                })
            })
            .collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    })
}

#[test]
fn four_hundred_at_once_against_a_quota_of_a_hundred_admit_exactly_a_hundred() {
    let place = Place::new("tiers: {free: {rate: 1_000_000, burst: 1_000_000, quota: 100}}").caller("free");
    assert_eq!(admitted(&place, r#"{"key":"<free>"}"#), 100);
    assert_eq!(place.used("free"), 100);
}

#[test]
fn four_hundred_at_once_for_ten_places_in_flight_admit_exactly_ten() {
    let place =
        Place::new("tiers: {free: {rate: 1_000_000, burst: 1_000_000, concurrency: 10}}").caller("free");
    assert_eq!(admitted(&place, r#"{"key":"<free>"}"#), 10);
}
