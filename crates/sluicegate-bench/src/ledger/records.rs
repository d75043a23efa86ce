//! Records as a node would write them, and writing many.

use std::sync::Barrier;
use std::time::Duration;

use anyhow::Result;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{BilledPrint, Flags, Kind, Record, Settlement, Spool, Unit};

use crate::timing::stopwatch;

/// 2026-09-21T13:00:00Z.
const START: u32 = 1_789_995_600;
/// Records that are made before they are timed.
const BLOCK: usize = 65_536;

/// Records that are timed together where they come at the pace of decisions, and how long a decision takes.
const GROUP: u64 = 16;
const DECISION: Duration = Duration::from_micros(1);

/// Who uses what, when.
#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    /// An hour in which 10,000 accounts send requests to five routes.
    Busy,
    /// A year in which these accounts use two keys and two routes in each hour.
    Year { accounts: u64 },
}

impl Pattern {
    /// How many rows an account has in each hour of a year.
    pub(crate) const ROWS_OF_AN_HOUR: u64 = 3;

    fn record(self, number: u64) -> Record {
        let (account, key, route, hour) = match self {
            // A stride that meets all accounts in an order that is nobody's.
            Self::Busy => {
                let account = number.wrapping_mul(7_919) % 10_000 + 1;
                (account, account * 10, (number % 5) as u32 + 1, number / 5_000_000)
            }
            Self::Year { accounts } => {
                let (row, rest) = (number % Self::ROWS_OF_AN_HOUR, number / Self::ROWS_OF_AN_HOUR);
                let (key, route) = match row {
                    0 => (1, 1),
                    1 => (1, 2),
                    _ => (2, 1),
                };
                (rest % accounts + 1, key, route, rest / accounts)
            }
        };
        let seconds = u32::try_from(hour).unwrap_or(0) * 3_600;
        let at = Timestamp::from_secs(START + seconds + (number % 3_600) as u32);
        Record {
            kind: Kind::Charge,
            at,
            charged_at: at,
            decision: u128::from(number),
            home: HomeId(u128::from(account)),
            account,
            key,
            key_number: 1,
            route,
            tier: 1,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost: 1,
            overage: 0,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: BilledPrint::UNKNOWN,
        }
    }
}

/// Appends so many records from this many threads, and says how many nanoseconds each took its thread.
pub(crate) fn fill(spool: &Spool, pattern: Pattern, records: u64, threads: u32) -> Result<f64> {
    let start = Barrier::new(threads as usize);
    let share = records / u64::from(threads);
    let took: Vec<f64> = std::thread::scope(|scope| {
        let run = |thread: u32| {
            let start = &start;
            let first = share * u64::from(thread);
            let end = if thread + 1 == threads { records } else { first + share };
            scope.spawn(move || {
                start.wait();
                append(spool, pattern, first..end)
            })
        };
        let threads: Vec<_> = (0..threads).map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("appending does not panic")).collect()
    });
    Ok(took.iter().sum::<f64>() / took.len() as f64)
}

/// Nanoseconds of each append. Making the records is not timed, and neither is waiting for room: a disk that takes
/// gigabytes at once is not what is measured.
fn append(spool: &Spool, pattern: Pattern, numbers: std::ops::Range<u64>) -> f64 {
    let count = (numbers.end - numbers.start).max(1);
    let mut took = 0.0;
    for block in numbers.clone().step_by(BLOCK) {
        let end = numbers.end.min(block + BLOCK as u64);
        let records: Vec<Record> = (block..end).map(|number| pattern.record(number)).collect();
        let mut rest = &records[..];
        while !rest.is_empty() {
            let watch = stopwatch();
            let appended = append_some(spool, rest);
            took += watch.elapsed().as_secs_f64();
            rest = &rest[appended..];
            if !rest.is_empty() {
                std::thread::yield_now();
            }
        }
    }
    took * 1e9 / count as f64
}

/// Appends records as a busy server does, and gives the nanoseconds that each took: of groups, since one alone is too
/// short to be timed, with as long between them as their decisions would take.
pub(crate) fn paced(spool: &Spool, pattern: Pattern, groups: u64) -> Vec<f64> {
    let mut took = Vec::new();
    for group in 0..groups {
        let first = group * GROUP;
        let records: Vec<Record> = (first..first + GROUP).map(|number| pattern.record(number)).collect();
        let watch = stopwatch();
        let appended = append_some(spool, &records);
        let nanos = watch.elapsed().as_secs_f64() * 1e9;
        if appended == records.len() {
            took.push(nanos / GROUP as f64);
        }
        while watch.elapsed() < DECISION * u32::try_from(GROUP).unwrap_or(1) {
            std::hint::spin_loop();
        }
    }
    took
}

/// As many as there is room for.
fn append_some(spool: &Spool, records: &[Record]) -> usize {
    for (appended, record) in records.iter().enumerate() {
        match spool.reserve() {
            Ok(room) => drop(room.append(record)),
            Err(_) => return appended,
        }
    }
    records.len()
}
