//! Throttles that were asked for: each is made once, and there are only so many.

use std::collections::HashMap;
use std::fmt;
use std::hash::RandomState;
use std::sync::Arc;

use parking_lot::RwLock;
use sluicegate_core::book::LimitId;
use sluicegate_core::image::encode_entry;
use sluicegate_core::limit::{Limit, LimitName};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::meter::Terms;
use sluicegate_core::policy::TierName;
use sluicegate_core::rule::Rule;
use sluicegate_core::tariff::Plan;

use super::{ThrottleAnswer, Throttled};
use crate::decision::StoreMode;

/// How many different limits may be asked for while a process lives. Every one of them is in the book of limits for
/// good, so that whoever makes up numbers at will must find an end.
pub(super) const THROTTLES_MAX: usize = 4_096;

/// A limit that belongs to no tier, made ready. Clones are one.
#[derive(Clone, Debug)]
pub struct Throttle {
    pub(super) plan: Arc<Plan>,
    untouched: Arc<LimitNow>,
}

impl Throttle {
    /// What its meter says of somebody who was never seen.
    pub fn limit(&self) -> &LimitNow {
        &self.untouched
    }

    /// What is said without asking a meter.
    pub(super) fn untouched(&self) -> Throttled {
        let limit = LimitNow::clone(&self.untouched);
        Throttled { answer: ThrottleAnswer::Fits, limit, mode: StoreMode::Normal }
    }
}

/// More different limits were asked for than there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyThrottles;

impl fmt::Display for TooManyThrottles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {THROTTLES_MAX} different limits were asked for since the start: use fewer")
    }
}

impl std::error::Error for TooManyThrottles {}

/// All of them, by the bytes of their limits.
#[derive(Debug, Default)]
pub(crate) struct Throttles(RwLock<HashMap<Vec<u8>, Throttle, RandomState>>);

impl Throttles {
    /// The throttle of a limit. `enter` gives a new one its number in the book.
    pub(super) fn get(
        &self,
        name: &LimitName,
        rule: &Rule,
        enter: impl Fn(&Limit) -> LimitId,
    ) -> Result<Throttle, TooManyThrottles> {
        let mut image = Vec::new();
        encode_entry(name, Terms { rule, included: None, keeps_past: false }, &mut image);
        if let Some(known) = self.0.read().get(&image) {
            return Ok(known.clone());
        }
        let mut known = self.0.write();
        if known.len() >= THROTTLES_MAX && !known.contains_key(&image) {
            return Err(TooManyThrottles);
        }
        // Whatever a limit may be called, a tier may be.
        let tier = TierName::new(name.as_str()).ok_or(TooManyThrottles)?;
        let limit = super::limit(name, rule);
        let make = || {
            let untouched = Arc::new(LimitNow::untouched(&limit));
            Throttle { untouched, plan: Arc::new(Plan::of_limit(tier, limit, enter)) }
        };
        let made = known.entry(image).or_insert_with(make);
        Ok(made.clone())
    }
}
