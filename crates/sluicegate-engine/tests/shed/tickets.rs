//! Places come back, however requests end.

use std::sync::Arc;

use sluicegate_core::policy::Shedding;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::shed::{Done, Entered, Load, Ticket};

const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);

fn load() -> Arc<Load> {
    Arc::new(Load::new(NOW))
}

fn enter(load: &Arc<Load>, priority: u32, account: u64) -> Result<Ticket, Nanos> {
    match load.enter(&Shedding::default(), priority, account, NOW) {
        Entered::In(ticket) => Ok(ticket),
        Entered::Shed { retry_after } => Err(retry_after),
    }
}

#[test]
fn every_end_of_a_request_frees_its_place() {
    let load = load();
    let took = Nanos(5_000_000);
    for done in [Done::Answered { took }, Done::Cut { took }, Done::Unused] {
        let ticket = enter(&load, 1, 1).unwrap();
        assert_eq!(load.look().in_flight, 1);
        ticket.leave(done, NOW);
        assert_eq!(load.look().in_flight, 0, "{done:?}");
    }
    drop(enter(&load, 1, 1).unwrap());
    assert_eq!(load.look().in_flight, 0);
}

#[test]
fn who_is_refused_is_told_to_come_back_and_counted() {
    let load = load();
    let mut tickets = Vec::new();
    let refused = loop {
        match enter(&load, 3, tickets.len() as u64) {
            Ok(ticket) => tickets.push(ticket),
            Err(retry_after) => break retry_after,
        }
    };
    assert_eq!(load.look().in_flight, tickets.len() as u64);
    assert_eq!(load.look().limit, tickets.len() as u64);
    assert!((Nanos::from_secs(1)..=Nanos::from_secs(8)).contains(&refused), "{refused:?}");
    assert_eq!(load.look().shed.get(&3), Some(&1));
    // What the lower one has taken does not keep a higher one out.
    let higher = enter(&load, 4, 0).unwrap();
    assert!(enter(&load, 3, 0).is_err());
    drop((tickets, higher));
    assert!(enter(&load, 3, 0).is_ok());
}

#[test]
fn the_more_are_refused_the_longer_they_are_told_to_wait() {
    let load = load();
    let tickets: Vec<Ticket> = (0..64).map_while(|account| enter(&load, 3, account).ok()).collect();
    let waits: Vec<u64> =
        (0..10_000).filter_map(|account| enter(&load, 3, account).err()).map(|wait| wait.0).collect();
    let longest = |waits: &[u64]| waits.iter().max().copied().unwrap();
    assert!(longest(&waits[..60]) < 2 * 1_000_000_000);
    let late = &waits[waits.len() - 1_000..];
    assert!((7_000_000_000..=8_000_000_000).contains(&longest(late)), "{}", longest(late));
    // Spread over the whole time, so that they do not come back all at once.
    let early = late.iter().filter(|wait| **wait < 4_500_000_000).count();
    assert!((400..600).contains(&early), "{early} of 1,000 in the first half");
    drop(tickets);
}

#[test]
fn more_priorities_than_are_told_apart_share_the_next_lower_one() {
    let load = load();
    let tickets: Vec<Ticket> = (0..60).map(|priority| enter(&load, priority * 10, 1).unwrap()).collect();
    assert_eq!(load.look().in_flight, 60);
    drop(tickets);
    assert_eq!(load.look().in_flight, 0);
}
