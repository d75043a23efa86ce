//! Who is calling and what its limits say, for the handlers of a request that passed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Who is calling, and what its limits say: in the extensions of every request that [`SluicegateLayer::new`] or
/// [`RemoteLayer`] lets through. Clones are cheap.
///
/// [`SluicegateLayer::new`]: crate::SluicegateLayer::new
/// [`RemoteLayer`]: crate::RemoteLayer
#[derive(Clone)]
pub struct Decision(Arc<Kind>);

/// A decision, wherever it was made.
enum Kind {
    #[cfg(feature = "embedded")]
    Embedded(embedded::Made),
    #[cfg(feature = "remote")]
    Remote(Box<sluicegate_client::decision::Decision>),
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
#[non_exhaustive]
pub enum Mode {
    /// It did.
    Normal,
    /// It was away, and the decision was made by what `degraded` in the policy says.
    Degraded,
}

impl Decision {
    /// Its id: what `sluicegate explain` and the logs call it.
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
                sluicegate_client::limits::Mode::Degraded => Mode::Degraded,
                sluicegate_client::limits::Mode::Normal => Mode::Normal,
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
    pub(crate) fn embedded(
        decision: &mut sluicegate_engine::Decision,
        engine: &Arc<sluicegate_engine::Engine>,
    ) -> Self {
        Self(Arc::new(Kind::Embedded(embedded::Made::of(decision, engine))))
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn is_of_engine(&self, engine: &Arc<sluicegate_engine::Engine>) -> bool {
        match &*self.0 {
            Kind::Embedded(made) => made.is_of(engine),
            #[cfg(feature = "remote")]
            Kind::Remote(_) => false,
        }
    }

    #[cfg(feature = "remote")]
    pub(crate) fn remote(decision: sluicegate_client::decision::Decision) -> Self {
        Self(Arc::new(Kind::Remote(Box::new(decision))))
    }
}

/// In one line: who, which tier, and what is left of each limit.
impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left: Vec<_> = self
            .limits()
            .map(|limit| format!("{} {}/{}", limit.name, limit.remaining, limit.limit))
            .collect();
        f.debug_struct("Decision")
            .field("id", &self.id())
            .field("account", &self.account())
            .field("tier", &self.tier())
            .field("mode", &self.mode())
            .field("left", &format_args!("{}", left.join(", ")))
            .finish()
    }
}

#[cfg(feature = "embedded")]
mod embedded {
    //! What is kept of a decision of the engine: the parts themselves, and no copies.

    use std::sync::Arc;
    use std::time::Duration;

    use sluicegate_core::limit_now::LimitNow;
    use sluicegate_engine::{Decision, DecisionText, Engine, StoreMode};

    use super::{Limit, Mode};

    pub(super) struct Made {
        /// The address of the engine, only to be compared: its layer keeps the engine for as long as the request.
        engine: usize,
        id: DecisionText,
        account: Option<Arc<sluicegate_engine::Account>>,
        plan: Option<Arc<sluicegate_core::tariff::Plan>>,
        mode: StoreMode,
        pub(super) limits: Vec<LimitNow>,
    }

    impl Made {
        pub(super) fn of(decision: &mut Decision, engine: &Arc<Engine>) -> Self {
            Self {
                engine: Arc::as_ptr(engine).addr(),
                id: decision.id.text(),
                account: decision.account.clone(),
                plan: decision.plan.clone(),
                mode: decision.mode,
                limits: std::mem::take(&mut decision.limits),
            }
        }

        pub(super) fn is_of(&self, engine: &Arc<Engine>) -> bool {
            self.engine == Arc::as_ptr(engine).addr()
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
