//! Sealing to a real server that speaks as S3 does, over a network that breaks, and to one that is killed.
//!
//! The server keeps objects in memory. So one that is killed has lost what it said it had: the worst that can happen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::reconcile::{Totals, compare};
use sluicegate_ledger::seal::{Destination, S3Access, Sealer};
use sluicegate_ledger::{Hour, Ledger};
use sluicegate_testkit::bucket::{BUCKET, BucketServer};
use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::wait;

use crate::fixtures::{self, Bed, append, at, charge, names};

const HOURS: u32 = 40;
/// So many rows make an object that does not fit into one write of a socket.
const ACCOUNTS: u64 = 1_000;
/// More tries than it ever takes.
const TRIES_MAX: u32 = 1_000;

/// Forty closed hours.
fn bed() -> Bed {
    let bed = Bed::new();
    for number in 0..HOURS {
        for account in 1..=ACCOUNTS {
            append(&bed.spool, &charge(at(number, 5), account, account + u64::from(number)));
        }
    }
    bed.ledger.close_due(&bed.spool, at(HOURS, 0)).unwrap();
    bed
}

fn sealer(ledger: &Ledger, address: std::net::SocketAddr) -> Sealer {
    let access = S3Access {
        endpoint: Some(format!("http://{address}")),
        region: Some("us-east-1".to_owned()),
        key: Some(("key".to_owned(), "secret".to_owned())),
    };
    ledger.sealer(Destination::open(&format!("s3://{BUCKET}/export"), &access).unwrap(), names())
}

/// Seals until everything is, and returns how often that failed.
fn seal_all(sealer: &Sealer) -> u32 {
    for failed in 0..TRIES_MAX {
        match fixtures::wait(sealer.seal_due(at(HOURS, 0), |_| {})) {
            Ok(_) => return failed,
            Err(_) => wait::pause(Duration::from_millis(20)),
        }
    }
    unreachable!("a thousand times is enough");
}

fn sealed_hours(bed: &Bed) -> Vec<Hour> {
    bed.ledger.book().sealed(ALL_HOURS).unwrap().into_iter().map(|sealed| sealed.hour).collect()
}

/// Every hour is there, was written once, and says what the ledger says.
#[track_caller]
fn expect_each_hour_once(bed: &Bed, sealer: &Sealer, server: &BucketServer) {
    let written = server.written();
    assert_eq!(written.len(), HOURS as usize, "{written:?}");
    assert!(written.values().all(|times| *times == 1), "{written:?}");
    let read = fixtures::wait(sealer.read_back(ALL_HOURS)).unwrap();
    assert_eq!((read.objects, &read.missing, &read.damaged), (u64::from(HOURS), &vec![], &vec![]));
    let ledger = Totals::recorded(bed.ledger.book(), ALL_HOURS, &*names()).unwrap();
    assert_eq!(compare(&ledger, &read.totals), []);
}

#[test]
fn a_network_that_breaks_in_the_middle_neither_loses_nor_doubles_an_hour() {
    let (bed, server) = (bed(), BucketServer::start());
    let proxy = ChaosProxy::start(server.address());
    let sealer = sealer(&bed.ledger, proxy.address());
    let over = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice::new(40);
            while !over.load(Ordering::Relaxed) {
                proxy.set(Mode::Latency(Duration::from_millis(1 + dice.below(8))));
                wait::pause(Duration::from_millis(40 + dice.below(120)));
                // Cut in the middle of a request, or with the answer lost.
                proxy.set(*dice.pick(&[Mode::Cut, Mode::HalfCut, Mode::BlackHole]));
                wait::pause(Duration::from_millis(dice.below(60)));
            }
            proxy.set(Mode::Pass);
        });
        let failed = seal_all(&sealer);
        over.store(true, Ordering::Relaxed);
        failed
    });
    println!("{} connections, {failed} times given up", proxy.accepted());
    assert!(proxy.accepted() > u64::from(HOURS), "nothing was ever tried again");
    expect_each_hour_once(&bed, &sealer, &server);
}

#[test]
fn a_server_that_is_killed_loses_hours_that_are_named_and_restored() {
    let (bed, mut server) = (bed(), BucketServer::start());
    let sealer = sealer(&bed.ledger, server.address());
    let mut dice = Dice::new(41);
    let failed = thread::scope(|scope| {
        let sealing = scope.spawn(|| seal_all(&sealer));
        for part in 1..=3 {
            // Uploads are under way: some hours are sealed, others are not.
            let book = bed.ledger.book();
            wait::until("some hours are sealed", || {
                (book.sealed_count(ALL_HOURS).unwrap() >= part * u64::from(HOURS) / 5).then_some(())
            });
            wait::pause(Duration::from_millis(dice.below(30)));
            server.kill();
            wait::pause(Duration::from_millis(dice.below(30)));
            server.restart();
        }
        sealing.join().unwrap()
    });
    let kept = server.written();
    assert_eq!(sealed_hours(&bed).len(), HOURS as usize);
    let read = fixtures::wait(sealer.read_back(ALL_HOURS)).unwrap();
    println!("{failed} times given up, {} hours lost with the server", read.missing.len());
    assert_eq!(read.damaged, []);
    // Exactly those that are not there, and at least what was there before the last kill.
    assert_eq!(read.missing.len() + kept.len(), HOURS as usize);
    assert!(read.missing.len() >= 3 * HOURS as usize / 5, "{:?}", read.missing);
    let is_kept = |hour: &Hour| {
        let folder = format!("dt={}/hour={:02}/", hour.date(), hour.of_day());
        kept.keys().any(|name| name.contains(&folder))
    };
    assert!(!read.missing.iter().any(is_kept), "{:?}", read.missing);

    fixtures::wait(sealer.seal_again(&read.missing, at(HOURS, 0))).unwrap();
    expect_each_hour_once(&bed, &sealer, &server);
}
