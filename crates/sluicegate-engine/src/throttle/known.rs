//! Throttles that were asked for: those used lately are kept ready.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;

use parking_lot::RwLock;
use sluicegate_core::book::LimitId;
use sluicegate_core::image::encode_entry;
use sluicegate_core::limit::{Limit, LimitName};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::meter::Terms;
use sluicegate_core::rule::Rule;
use sluicegate_core::tariff::Plan;

use super::{ThrottleAnswer, Throttled};
use crate::decision::StoreMode;

/// How many are kept ready. One that is evicted is made again when it is asked for.
pub(super) const THROTTLES_MAX: usize = 4_096;

/// A limit that belongs to no tier, made ready. Clones are one.
#[derive(Clone, Debug)]
pub struct Throttle(Arc<Ready>);

#[derive(Debug)]
struct Ready {
    rule: Rule,
    plan: Arc<Plan>,
    untouched: LimitNow,
}

impl Throttle {
    fn new(name: &LimitName, rule: &Rule, enter: impl Fn(&Limit) -> LimitId) -> Self {
        let limit = super::limit(name, rule);
        let untouched = LimitNow::untouched(&limit);
        let plan = Arc::new(Plan::of_limit(limit, enter));
        Self(Arc::new(Ready { rule: rule.clone(), plan, untouched }))
    }

    /// What its meter says of a subject that was never seen.
    pub fn limit(&self) -> &LimitNow {
        &self.0.untouched
    }

    pub(super) fn rule(&self) -> &Rule {
        &self.0.rule
    }

    pub(super) fn plan(&self) -> &Arc<Plan> {
        &self.0.plan
    }

    /// The answer without asking a meter.
    pub(super) fn untouched(&self) -> Throttled {
        let limit = self.0.untouched.clone();
        Throttled { answer: ThrottleAnswer::Fits, limit, mode: StoreMode::Normal }
    }
}

/// Throttles by the bytes of their limits, in two generations. When the younger one is full, what was not used since
/// the last time goes: nobody is refused because the table is full, and the least recently used are evicted first.
#[derive(Debug, Default)]
pub(crate) struct Throttles(RwLock<Generations>);

type Generation = HashMap<Vec<u8>, Throttle, RandomState>;

#[derive(Debug, Default)]
struct Generations {
    young: Generation,
    old: Generation,
}

impl Throttles {
    /// The throttle of a limit. `enter` gives a new one its number in the book.
    pub(super) fn get(&self, name: &LimitName, rule: &Rule, enter: impl Fn(&Limit) -> LimitId) -> Throttle {
        let mut image = Vec::new();
        encode_entry(name, Terms { rule, included: None, keeps_past: false }, &mut image);
        if let Some(known) = self.0.read().young.get(&image) {
            return known.clone();
        }
        let mut known = self.0.write();
        let Generations { young, old } = &mut *known;
        let throttle = young.get(&image).cloned().or_else(|| old.remove(&image));
        let throttle = throttle.unwrap_or_else(|| Throttle::new(name, rule, enter));
        if young.len() >= THROTTLES_MAX / 2 {
            *old = std::mem::take(young);
        }
        young.insert(image, throttle.clone());
        throttle
    }

    /// How many are kept ready.
    #[cfg(test)]
    fn len(&self) -> usize {
        let known = self.0.read();
        known.young.len() + known.old.len()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use sluicegate_core::rule::{Amount, Windowed};
    use sluicegate_core::time::Window;

    use super::*;

    #[test]
    fn the_least_recently_used_definitions_are_evicted_and_made_again() {
        let (throttles, made) = (Throttles::default(), Cell::new(0));
        let get = |limit: u64| {
            let rule = Windowed { limit: Amount::new(limit).unwrap(), window: Window::SECOND };
            let name = LimitName::new("throttle").unwrap();
            throttles.get(&name, &Rule::FixedWindow(rule), |_| {
                made.set(made.get() + 1);
                LimitId::from_number(0)
            })
        };
        for limit in 2..100_000 {
            // One that is in use all the time.
            get(1);
            get(limit);
            assert!(throttles.len() <= THROTTLES_MAX);
        }
        assert_eq!(made.get(), 99_999, "each was made once");
        get(2);
        assert_eq!(made.get(), 100_000, "it was evicted long ago");
    }
}
