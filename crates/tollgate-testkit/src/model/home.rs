//! The meters of one home, and the settling of several charges: all or none.

use std::collections::BTreeMap;

use super::meter::Meter;
use super::view::View;
use super::{Answer, Charge, Mode, Outcome};

/// The meters of one home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    meters: BTreeMap<u64, Meter>,
}

impl Home {
    /// Settles `charges`, given in the order rate, concurrency, quota. Slots are taken under the id `slot`.
    pub fn ask(&mut self, charges: &[Charge], mode: Mode, slot: u64, now: u64) -> Answer {
        let mut views: Vec<View> = charges
            .iter()
            .map(|charge| View::new(charge, self.meters.get(&charge.meter), slot, now))
            .collect();
        let outcome = settle(&views, mode);
        if mode != Mode::Peek {
            let admitted = matches!(outcome, Outcome::Admitted { .. });
            for view in &mut views {
                if admitted {
                    view.pay();
                }
                // What an edit or a clock step has made of a meter is kept even where the request is refused.
                if admitted || self.meters.contains_key(&view.charge.meter) {
                    self.meters.insert(view.charge.meter, view.meter.clone());
                }
            }
        }
        Answer { outcome, readings: views.iter().map(View::reading).collect() }
    }

    /// Gives back `charge.cost` that was charged at `charged_at`; a concurrency charge releases `slot` instead.
    ///
    /// `charge.rule` and `charge.period` are those of `now`, not those of `charged_at`. A meter that was never
    /// charged has nothing to give back.
    pub fn refund(&mut self, charge: &Charge, slot: u64, charged_at: u64, now: u64) {
        if let Some(meter) = self.meters.get(&charge.meter) {
            let mut view = View::new(charge, Some(meter), slot, now);
            view.give_back(charged_at);
            self.meters.insert(charge.meter, view.meter);
        }
    }
}

fn settle(views: &[View], mode: Mode) -> Outcome {
    if let Some(by) = views.iter().position(|view| view.never_fits(mode)) {
        return Outcome::NeverFits { by };
    }
    if let Some(by) = views.iter().position(|view| view.refuses(mode)) {
        let refusing = views.iter().filter(|view| view.refuses(mode));
        return Outcome::Refused { by, retry_after: refusing.map(View::wait).max().unwrap_or(0) };
    }
    Outcome::Admitted { overage: views.iter().map(View::added_overage).fold(0, u64::saturating_add) }
}
