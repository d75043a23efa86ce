//! Pressure against a list of everything that was seen.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sluicegate_core::policy::Pressure;
use sluicegate_core::time::{Nanos, Timestamp, Window};

use super::tests::hash;
use super::{PressureTable, Squeeze};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn pressure() -> impl Strategy<Value = Pressure> {
    (1_u32..30, 2_u64..1_000, 1_u32..5_000).prop_map(|(fingerprints, window, length)| Pressure {
        fingerprints,
        window: Window::from_secs(window).unwrap(),
        length: Nanos::from_secs(length),
        ..Pressure::default()
    })
}

/// How many different fingerprints came later than `within` before `now`, and until then.
fn distinct(seen: &[(Timestamp, u64)], within: Nanos, now: Timestamp) -> usize {
    let recent = seen.iter().filter(|(at, _)| now.since(*at) < within);
    recent.map(|(_, fingerprint)| fingerprint).collect::<BTreeSet<_>>().len()
}

proptest! {
    #[test]
    fn squeezed_when_there_are_too_many_and_only_then(
        pressure in pressure(),
        fingerprints in prop::collection::vec(any::<u64>(), 60),
        calls in prop::collection::vec((0_usize..60, 0_u64..30_000_000_000), 1..300),
    ) {
        let (table, mut now, mut seen) = (PressureTable::new(0), START, Vec::new());
        let (mut reasons, needed) = (Vec::new(), pressure.fingerprints as usize);
        for (which, pause) in calls {
            now = now.plus(Nanos(pause));
            seen.push((now, fingerprints[which]));
            let squeeze = table.note(7, fingerprints[which], &pressure, now);
            // The bound is the window: nobody who came before it counts.
            if distinct(&seen, Nanos(pressure.window.as_nanos()), now) >= needed {
                reasons.push(now);
            }
            let explained = |until| reasons.iter().any(|reason| reason.plus(pressure.length) >= until);
            if let Squeeze::Until(until) = squeeze {
                prop_assert!(explained(until), "{until:?} for {needed}");
            }
            // The count may be off by a tick of the window, and by two that share their 22 bits.
            if distinct(&seen, Nanos(pressure.window.as_nanos() / 256 * 254), now) > needed {
                prop_assert_ne!(squeeze, Squeeze::No);
            }
            prop_assert_eq!(table.look(7, now), squeeze);
        }
    }
}

#[test]
fn what_many_threads_see_is_counted_together() {
    let pressure = Pressure {
        fingerprints: 400,
        window: Window::MINUTE,
        length: Nanos::from_secs(60),
        ..Pressure::default()
    };
    let table = PressureTable::new(4);
    let (table, pressure) = (&table, &pressure);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            scope.spawn(move || {
                for number in 0..100 {
                    table.note(7, hash(thread * 100 + number), pressure, START);
                }
            });
        }
    });
    assert_ne!(table.look(7, START), Squeeze::No);
    let squeezed = table.list(None, START, 10);
    assert!((700..=900).contains(&squeezed[0].fingerprints), "{squeezed:?}");
}
