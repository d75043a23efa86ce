//! Alerts: what people should hear of, each once, whoever notices it and however often.
//!
//! Some things happen, and are noted: whoever notices inserts a mark, unless it is there; with the mark, the alert
//! comes into the list that people are shown. In a database both are one transaction. In Redis the mark lies with the
//! home and holds the alert until that is in the list: whoever finds such a mark after a crash puts it there, where
//! it can be only once. Other things begin and end: these fire under the name of their subject, and are resolved
//! under it. What is to be delivered comes into the outbox in the same step.

mod board;
mod embedded;
mod kind;
mod outbox;
pub(crate) mod text;
mod title;

use sluicegate_core::limit::LimitName;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;

use crate::database::Database;
use crate::directory::{Page, Paged, StoreError};
use crate::redis::{self, Link};

pub use board::Unshared;
pub use kind::{AlertClock, AlertKind, AlertState, QuotaUse, RateCaller, RateUse};
pub use outbox::{Letter, OUTBOX_MAX, Posted};

/// How many alerts are kept: the last ones, and those that fire.
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
    /// When it was over, if it is.
    pub resolved_at: Option<Timestamp>,
    /// What happened.
    pub kind: AlertKind,
}

impl News {
    /// Whether it goes on.
    pub const fn state(&self) -> AlertState {
        match (self.kind.ends(), self.resolved_at) {
            (false, _) => AlertState::Noted,
            (true, None) => AlertState::Firing,
            (true, Some(_)) => AlertState::Resolved,
        }
    }

    /// When what it says last happened.
    pub fn told_at(&self) -> Timestamp {
        self.resolved_at.unwrap_or(self.at)
    }
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

/// Who is told besides those who look at the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tell {
    /// Whether it is to be delivered.
    pub post: bool,
    /// Whether other nodes are to hear of it, which have a list of their own.
    pub nodes: bool,
}

impl Tell {
    /// Nobody.
    pub const NOBODY: Self = Self { post: false, nodes: false };
}

/// Which alerts of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// All that are kept.
    All,
    /// Those in this state.
    In(AlertState),
}

impl Which {
    pub(crate) fn has(self, news: &News) -> bool {
        match self {
            Self::All => true,
            Self::In(state) => news.state() == state,
        }
    }
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
    /// Puts the news into the list, unless that was done under this mark. When it fails, it may have been done; doing
    /// it again does no harm.
    pub async fn announce(
        &self,
        mark: Mark,
        news: News,
        tell: Tell,
        now: Timestamp,
    ) -> Result<Announced, StoreError> {
        match self {
            Self::Embedded(database) => Ok(embedded::announce(database, mark, &news, tell, now).await?),
            Self::Shared(link) => Ok(redis::alerts::announce(link, &mark, &news, tell, now).await?),
        }
    }

    /// The alerts, the newest first.
    pub async fn list(&self, page: Page, which: Which) -> Result<Paged<Alert>, StoreError> {
        if which == Which::In(AlertState::Firing) {
            let mut firing: Vec<Alert> = self.firing().await?.into_iter().map(|(_, alert)| alert).collect();
            firing.sort_by_key(|alert| std::cmp::Reverse(alert.seq));
            let before = page.after(u64::MAX).cast_unsigned();
            firing.retain(|alert| alert.seq < before);
            return Ok(page.of(firing, |alert| alert.seq));
        }
        match self {
            Self::Embedded(database) => Ok(embedded::list(database, page, which).await?),
            Self::Shared(link) => Ok(redis::alerts::list(link, page, which).await?),
        }
    }
}
