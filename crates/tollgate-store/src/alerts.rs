//! Alerts: what people should hear of, each once, whoever notices it and however often.
//!
//! Whoever notices something inserts its mark, unless it is there; with the mark, the alert comes into the list that
//! people are shown. In a database both are one transaction. In Redis the mark lies with the home and holds the alert
//! until that is in the list: whoever finds such a mark after a crash puts it there, where it can be only once.

mod embedded;
pub(crate) mod text;

use tollgate_core::limit::LimitName;
use tollgate_core::plan::HomeId;
use tollgate_core::time::Timestamp;

use crate::database::Database;
use crate::directory::{Page, Paged, StoreError};
use crate::redis::{self, Link};

/// How many alerts are kept: the last ones.
pub const ALERTS_MAX: u32 = 1_000;

/// An alert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alert {
    /// Its number; later ones are larger.
    pub seq: u64,
    /// What it says.
    pub news: News,
}

/// What an alert says, before it has a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct News {
    /// Its id: no other alert has it.
    pub id: String,
    /// When it was noticed.
    pub at: Timestamp,
    /// What happened.
    pub kind: AlertKind,
}

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
}

impl AlertKind {
    /// The word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::QuotaThreshold { .. } => "quota.threshold",
            Self::QuotaOverage(_) => "quota.overage",
        }
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

/// What is announced once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Whose meter it is about.
    pub home: HomeId,
    /// Of which limit.
    pub limit: LimitName,
    /// The number of the key whose own meter it is; 0: all share it.
    pub sharer: u32,
    /// The amount of the limit.
    pub amount: u64,
    /// Which of the things that are announced of it.
    pub threshold: u8,
    /// The second in which the period began; 0: the window slides.
    pub period: u32,
    /// Until when it is not announced again.
    pub until: Timestamp,
}

/// Whether something was announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Announced {
    /// Now, by this call.
    Now,
    /// Before.
    Before,
}

/// The alerts, wherever they are kept.
#[derive(Clone, Debug)]
pub enum Alerts {
    /// In the database of this process.
    Embedded(Database),
    /// In a Redis that several nodes share.
    Shared(Link),
}

impl Alerts {
    /// Puts the news into the list, unless that was done under this mark. When it fails, it may have been done; doing it
    /// again does no harm.
    pub async fn announce(&self, mark: Mark, news: News, now: Timestamp) -> Result<Announced, StoreError> {
        match self {
            Self::Embedded(database) => Ok(embedded::announce(database, mark, &news, now).await?),
            Self::Shared(link) => Ok(redis::alerts::announce(link, &mark, &news, now).await?),
        }
    }

    /// The alerts, the newest first.
    pub async fn list(&self, page: Page) -> Result<Paged<Alert>, StoreError> {
        match self {
            Self::Embedded(database) => Ok(embedded::list(database, page).await?),
            Self::Shared(link) => Ok(redis::alerts::list(link, page).await?),
        }
    }
}
