//! What alerts are about.

use sluicegate_core::time::Timestamp;

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AlertKind {
    /// So much of a quota is used.
    QuotaThreshold {
        /// At least so much of it, in percent.
        percent: u8,
        /// Of which quota.
        quota: QuotaUse,
    },
    /// More than a quota is used, and billed.
    QuotaOverage(QuotaUse),
    /// A caller uses nearly all of its rate, minute after minute.
    CallerRate(RateUse),
    /// Too many of all requests are refused.
    RefusalsShare {
        /// So many were refused within a minute.
        refused: u64,
        /// Of so many.
        requests: u64,
    },
    /// One address is refused too often.
    AddressRefusals {
        /// The keyed hash of the address.
        address: u64,
        /// How often within the hour.
        refusals: u64,
    },
    /// The shared store is away, and a node decides alone.
    StoreDegraded {
        /// Which node.
        node: String,
    },
    /// A policy file did not come into force.
    ReloadRejected {
        /// On which node; nothing where there is only one.
        node: Option<String>,
        /// How many problems it has.
        problems: u64,
        /// The first of them.
        first: String,
    },
    /// Meters differ from the ledger.
    LedgerDrift {
        /// How many of them.
        quotas: u64,
        /// By how much.
        units: u64,
    },
    /// A clock leapt ahead and is not followed yet.
    ClockImplausible {
        /// On which node; nothing where there is only one.
        node: Option<String>,
        /// Which clock.
        clock: AlertClock,
        /// By how many seconds it is ahead.
        ahead_s: u64,
    },
    /// Many wrong tokens were sent.
    SignInsRefused {
        /// To which node; nothing where there is only one.
        node: Option<String>,
        /// How many within two minutes.
        refused: u64,
    },
}

/// A clock that a node decides by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlertClock {
    /// The wall clock of the node's system.
    System,
    /// The time of the shared store.
    Store,
}

impl AlertClock {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Store => "store",
        }
    }
}

/// Whether what an alert is about goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlertState {
    /// It does.
    Firing,
    /// It did.
    Resolved,
    /// It has happened: there is nothing that could end.
    Noted,
}

impl AlertState {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Firing => "firing",
            Self::Resolved => "resolved",
            Self::Noted => "noted",
        }
    }
}

impl AlertKind {
    /// The word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::QuotaThreshold { .. } => "quota.threshold",
            Self::QuotaOverage(_) => "quota.overage",
            Self::CallerRate(_) => "caller.rate",
            Self::RefusalsShare { .. } => "refusals.share",
            Self::AddressRefusals { .. } => "address.refusals",
            Self::StoreDegraded { .. } => "store.degraded",
            Self::ReloadRejected { .. } => "reload.rejected",
            Self::LedgerDrift { .. } => "ledger.drift",
            Self::ClockImplausible { .. } => "clock.implausible",
            Self::SignInsRefused { .. } => "signins.refused",
        }
    }

    /// Whether it ends some day.
    pub const fn ends(&self) -> bool {
        !matches!(self, Self::QuotaThreshold { .. } | Self::QuotaOverage(_))
    }
}

/// How much of a quota is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotaUse {
    /// The id of the account.
    pub account: String,
    /// The name of the limit.
    pub limit: String,
    /// The id of the key whose own quota it is; nothing where the keys of the account share it.
    pub key: Option<String>,
    /// What is used.
    pub used: u64,
    /// Of how much.
    pub amount: u64,
    /// When the period ends; nothing where the window slides.
    pub period_end: Option<Timestamp>,
}

/// How much of a rate is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateUse {
    /// By whom.
    pub caller: RateCaller,
    /// The name of the limit.
    pub limit: String,
    /// What was used in the last minute.
    pub used: u64,
    /// Of so much that the rate admits in a minute, rounded down.
    pub per_minute: u64,
}

/// Whose rate it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RateCaller {
    /// An account's.
    Account {
        /// Its id.
        id: String,
        /// The id of the key whose own rate it is; nothing where the keys of the account share it.
        key: Option<String>,
    },
    /// A caller's without a key, by its id.
    Client(String),
}
