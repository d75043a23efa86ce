//! The meters of one home, and the settling of several charges: all or none.

use std::collections::BTreeMap;

use super::meter::Meter;
use super::view::View;
use super::{Answer, Charge, Due, Expects, Mode, Outcome, overage};

/// The meters of one home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    meters: BTreeMap<u64, Meter>,
}

impl Home {
    /// Settles `charges`, given in the order rate, concurrency, quota, conduct. Slots are taken under the id `slot`.
    pub fn ask(&mut self, charges: &[Charge], mode: Mode, slot: u64, now: u64) -> Answer {
        self.ask_expecting(charges, None, mode, slot, now)
    }

    /// Settles `charges` if the meter of one of them says what is expected.
    pub fn ask_expecting(
        &mut self,
        charges: &[Charge],
        expects: Option<Expects>,
        mode: Mode,
        slot: u64,
        now: u64,
    ) -> Answer {
        let mut views: Vec<View> = charges
            .iter()
            .map(|charge| View::new(charge, self.meters.get(&charge.meter), slot, now))
            .collect();
        let outcome = elsewhere(&views, expects).unwrap_or_else(|| settle(&views, mode));
        if mode != Mode::Peek && !matches!(outcome, Outcome::Elsewhere { .. }) {
            for view in &mut views {
                let due = match view.charge.due {
                    Due::Admission => matches!(outcome, Outcome::Admitted { .. }),
                    Due::Refusal => mode == Mode::Charge && matches!(outcome, Outcome::Refused { .. }),
                };
                if due {
                    view.pay(mode);
                }
                // What an edit or a clock step has made of a meter is kept even where the request is refused.
                if due || self.meters.contains_key(&view.charge.meter) {
                    self.meters.insert(view.charge.meter, view.meter.clone());
                }
            }
        }
        Answer { outcome, readings: views.iter().map(View::reading).collect() }
    }

    /// Gives back `charge.cost` of the `reserved` units that were charged at `charged_at`; a concurrency charge
    /// releases `slot` instead. Says by how much the overage fell.
    ///
    /// `charge.rule` and `charge.period` are those of `now`, not those of `charged_at`. A meter that was never
    /// charged has nothing to give back. Nothing is given back of what is due on refusal.
    pub fn refund(&mut self, charge: &Charge, reserved: u64, slot: u64, charged_at: u64, now: u64) -> u64 {
        let Some(meter) = self.meters.get(&charge.meter) else { return 0 };
        let mut view = View::new(charge, Some(meter), slot, now);
        let before = view.meter.clone();
        if charge.due == Due::Admission {
            view.give_back(charged_at, reserved);
        }
        let fell = -overage::change(&before, &view.meter);
        self.meters.insert(charge.meter, view.meter);
        u64::try_from(fell).unwrap_or(0)
    }
}

/// That the meter of which something is expected does not say it.
fn elsewhere(views: &[View], expects: Option<Expects>) -> Option<Outcome> {
    let Expects { place, least, most } = expects?;
    let remaining = views.get(place)?.reading().remaining;
    if remaining < least || remaining > most { Some(Outcome::Elsewhere { remaining }) } else { None }
}

fn settle(views: &[View], mode: Mode) -> Outcome {
    let views: Vec<(usize, &View)> =
        views.iter().enumerate().filter(|(_, view)| view.charge.due == Due::Admission).collect();
    if let Some((by, _)) = views.iter().find(|(_, view)| view.never_fits(mode)) {
        return Outcome::NeverFits { by: *by };
    }
    if let Some((by, _)) = views.iter().find(|(_, view)| view.refuses(mode)) {
        let refusing = views.iter().filter(|(_, view)| view.refuses(mode));
        let waits = refusing.map(|(_, view)| view.wait());
        return Outcome::Refused { by: *by, retry_after: waits.max().unwrap_or(0) };
    }
    let overage = views.iter().map(|(_, view)| view.added_overage(mode));
    Outcome::Admitted { overage: overage.fold(0, u64::saturating_add) }
}
