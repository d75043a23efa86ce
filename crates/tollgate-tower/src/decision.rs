//! Who is calling and what its limits say, for the handlers of a request that passed.

use std::sync::Arc;
use std::time::Duration;

/// Who is calling, and what its limits say: in the extensions of every request that [`TollgateLayer::new`] or
/// [`RemoteLayer`] lets through. Clones are cheap.
///
/// [`TollgateLayer::new`]: crate::TollgateLayer::new
/// [`RemoteLayer`]: crate::RemoteLayer
#[derive(Clone, Debug)]
pub struct Decision(Arc<Kind>);

/// A decision, wherever it was made.
#[derive(Debug)]
enum Kind {
    #[cfg(feature = "embedded")]
    Embedded(embedded::Made),
    #[cfg(feature = "remote")]
    Remote(tollgate_client::decision::Decision),
}

/// What one limit says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limit<'d> {
    /// Its name: `rate`, `quota`, `concurrency`, or that of a further limit of the tier.
    pub name: &'d str,
    /// The amount for its window.
    pub limit: u64,
    /// What is left of it.
    pub remaining: u64,
    /// How long until it is as if never used; for a quota, until its period ends.
    pub reset: Duration,
}

/// Whether the store decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It did.
    Normal,
    /// It was away, and the decision was made by what `degraded` in the policy says.
    Degraded,
}

impl Decision {
    /// Its id: what `tollgate explain` and the logs call it.
    pub fn id(&self) -> &str {
        match &*self.0 {
            #[cfg(feature = "embedded")]
            Kind::Embedded(made) => made.id(),
            #[cfg(feature = "remote")]
            Kind::Remote(made) => &made.decision_id,
        }
    }

    /// The caller's account; nothing: it has none, and was let in without a key.
    pub fn account(&self) -> Option<&str> {
        match &*self.0 {
            #[cfg(feature = "embedded")]
            Kind::Embedded(made) => made.account(),
            #[cfg(feature = "remote")]
            Kind::Remote(made) => made.account.as_deref(),
        }
    }

    /// The caller's tier.
    pub fn tier(&self) -> Option<&str> {
        match &*self.0 {
            #[cfg(feature = "embedded")]
            Kind::Embedded(made) => made.tier(),
            #[cfg(feature = "remote")]
            Kind::Remote(made) => made.tier.as_deref(),
        }
    }

    /// Whether the store decided.
    pub fn mode(&self) -> Mode {
        match &*self.0 {
            #[cfg(feature = "embedded")]
            Kind::Embedded(made) => made.mode(),
            #[cfg(feature = "remote")]
            Kind::Remote(made) => match made.mode {
                tollgate_client::limits::Mode::Degraded => Mode::Degraded,
                tollgate_client::limits::Mode::Normal => Mode::Normal,
            },
        }
    }

    /// What its limits say, this request included. A caller that is not limited has none.
    pub fn limits(&self) -> impl Iterator<Item = Limit<'_>> {
        let count = match &*self.0 {
            #[cfg(feature = "embedded")]
            Kind::Embedded(made) => made.limits.len(),
            #[cfg(feature = "remote")]
            Kind::Remote(made) => made.limits.len(),
        };
        (0..count).filter_map(|index| self.limit_at(index))
    }

    /// What the limit of this name says.
    pub fn limit(&self, name: &str) -> Option<Limit<'_>> {
        self.limits().find(|limit| limit.name == name)
    }

    fn limit_at(&self, index: usize) -> Option<Limit<'_>> {
        match &*self.0 {
            #[cfg(feature = "embedded")]
            Kind::Embedded(made) => made.limit_at(index),
            #[cfg(feature = "remote")]
            Kind::Remote(made) => made.limits.get(index).map(|now| Limit {
                name: &now.name,
                limit: now.limit,
                remaining: now.remaining,
                reset: Duration::from_millis(now.reset_ms),
            }),
        }
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn embedded(decision: &mut tollgate_engine::Decision) -> Self {
        Self(Arc::new(Kind::Embedded(embedded::Made::of(decision))))
    }

    #[cfg(feature = "remote")]
    pub(crate) fn remote(decision: tollgate_client::decision::Decision) -> Self {
        Self(Arc::new(Kind::Remote(decision)))
    }
}

#[cfg(feature = "embedded")]
mod embedded {
    //! What is kept of a decision of the engine: the parts themselves, and no copies.

    use std::time::Duration;

    use tollgate_core::limit_now::LimitNow;
    use tollgate_engine::{Decision, DecisionText, StoreMode};

    use super::{Limit, Mode};

    #[derive(Debug)]
    pub(super) struct Made {
        id: DecisionText,
        account: Option<std::sync::Arc<tollgate_engine::Account>>,
        plan: Option<std::sync::Arc<tollgate_core::tariff::Plan>>,
        mode: StoreMode,
        pub(super) limits: Vec<LimitNow>,
    }

    impl Made {
        pub(super) fn of(decision: &mut Decision) -> Self {
            Self {
                id: decision.id.text(),
                account: decision.account.clone(),
                plan: decision.plan.clone(),
                mode: decision.mode,
                limits: std::mem::take(&mut decision.limits),
            }
        }

        pub(super) fn id(&self) -> &str {
            &self.id
        }

        pub(super) fn account(&self) -> Option<&str> {
            self.account.as_ref().map(|account| account.id.as_str())
        }

        pub(super) fn tier(&self) -> Option<&str> {
            self.plan.as_ref().map(|plan| plan.name.as_str())
        }

        pub(super) fn mode(&self) -> Mode {
            match self.mode {
                StoreMode::Normal => Mode::Normal,
                StoreMode::Degraded => Mode::Degraded,
            }
        }

        pub(super) fn limit_at(&self, index: usize) -> Option<Limit<'_>> {
            self.limits.get(index).map(|now| Limit {
                name: now.name.as_str(),
                limit: now.limit,
                remaining: now.remaining,
                // As the decision API says it, so that both ways give the same.
                reset: Duration::from_millis(now.reset.as_millis_ceil()),
            })
        }
    }
}
