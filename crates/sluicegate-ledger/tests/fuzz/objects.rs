//! Sealed hours that were changed in object storage: told, and in no total.

use std::sync::Arc;
use std::time::Duration;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt as _};
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::export::Named;
use sluicegate_ledger::seal::Destination;
use sluicegate_ledger::{
    BilledPrint, Flags, Hour, Kind, Ledger, LedgerSettings, Record, Settlement, Spool, SpoolSettings, Unit,
};
use sluicegate_testkit::dice::Dice;

use crate::harm::{any, cases, hurt};
use crate::scratch::scratch;

/// Without anything in common: no compression takes them apart.
const ACCOUNTS: [&str; 9] = ["alpha", "bravo", "carol", "delta", "ember", "fjord", "gamut", "hotel", "india"];

fn at(hour: u32) -> Timestamp {
    Timestamp::from_secs(1_789_995_600 + hour * 3_600)
}

/// What an account used in the first hour.
fn charge(account: u64) -> Record {
    Record {
        kind: Kind::Charge,
        at: at(0),
        charged_at: at(0),
        decision: 7,
        home: HomeId(3),
        account,
        key: 5,
        key_number: 6,
        route: 7,
        tier: 8,
        env: KeyEnv::Live,
        unit: Unit::Requests,
        cost: account * 100,
        overage: 0,
        idempotency: None,
        flags: Flags::NONE,
        settlement: Settlement::default(),
        billed: BilledPrint::UNKNOWN,
    }
}

/// The object with some harm done to it.
fn harmed(dice: &mut Dice, original: &[u8]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    match dice.below(12) {
        0 => bytes = any(dice, 3_000),
        // The name of an account, as somebody would who wants another to pay. Compression may have taken it apart.
        1 => match bytes.windows(5).position(|window| window == b"delta") {
            Some(at) => bytes[at..at + 5].copy_from_slice(b"alpha"),
            None => hurt(dice, &mut bytes),
        },
        _ => hurt(dice, &mut bytes),
    }
    bytes
}

#[test]
fn an_object_that_was_changed_is_in_no_total() {
    let dir = scratch();
    let settings = SpoolSettings { segment_records: 64, flush_every: Duration::from_millis(1) };
    let spool = Spool::open(&dir.path().join("spool"), settings).unwrap();
    let ledger = LedgerSettings { grace: Nanos::ZERO, ..LedgerSettings::default() };
    let ledger = Ledger::open(&dir.path().join("ledger"), ledger).unwrap();
    for account in 1..=9 {
        spool.reserve().unwrap().append(&charge(account));
    }
    ledger.close_due(&spool, at(1)).unwrap();
    let store = Arc::new(InMemory::new());
    let destination = Destination::new(Arc::clone(&store) as Arc<dyn ObjectStore>, Path::default(), "memory");
    let names = Arc::new(|what: Named| match what {
        Named::Account(serial) => Some(ACCOUNTS[usize::try_from(serial).unwrap() - 1].to_owned()),
        _ => Some("x".to_owned()),
    });
    let sealer = ledger.sealer(destination, names);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let hours = || Hour::of(at(0))..Hour::of(at(2));
    runtime.block_on(async {
        assert_eq!(sealer.seal_due(at(1), |_| {}).await.unwrap().hours, 1);
        let object = ledger.book().sealed(hours()).unwrap()[0].object.clone();
        let path = Path::from(object.as_str());
        let original = store.get_opts(&path, GetOptions::default()).await.unwrap().bytes().await.unwrap();
        let whole = sealer.read_back(hours()).await.unwrap();
        assert_eq!((whole.totals.get("india", Some(Hour::of(at(0)))), whole.damaged.len()), (900, 0));
        let mut changed = Vec::new();
        cases(400, |dice| changed.push(harmed(dice, &original)));
        for bytes in changed {
            let is_same = bytes == original;
            store.put(&path, bytes.into()).await.unwrap();
            let read = sealer.read_back(hours()).await.unwrap();
            assert_eq!(read.damaged.len(), usize::from(!is_same));
            assert_eq!(read.totals == whole.totals, is_same);
            // Whoever sealed it was killed before it was noted: it is taken for what was sealed only if it says that.
            let book = rusqlite::Connection::open(dir.path().join("ledger/usage.db")).unwrap();
            book.execute("DELETE FROM sealed", []).unwrap();
            if sealer.seal_due(at(1), |_| {}).await.is_ok() {
                assert_eq!(sealer.read_back(hours()).await.unwrap().totals, whole.totals);
            }
            sealer.seal_again(&[Hour::of(at(0))], at(1)).await.unwrap();
        }
    });
}
