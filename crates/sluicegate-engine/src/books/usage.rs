//! Asking for usage by the names that people have for things.

use std::fmt;
use std::ops::Range;

use jiff::tz::TimeZone;
use sluicegate_ledger::Quarter;
use sluicegate_ledger::usage::{Query, RollError, Step, Usage};
use sluicegate_store::directory::StoreError;
use sluicegate_store::key_text::KeyId;

use super::Books;

/// Which usage is asked for, by names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Of this account only: an id, or an id, a tilde and a unique id. Of an id that nobody has any more, the last
    /// account that had it.
    pub account: Option<String>,
    /// Of this key only.
    pub key: Option<String>,
    /// Of this route only.
    pub route: Option<String>,
    /// In these quarters of hours.
    pub quarters: Range<Quarter>,
    /// How long each point of the series is.
    pub step: Step,
    /// The time zone in which days and months begin.
    pub zone: TimeZone,
}

/// Something that usage is asked of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// An account.
    Account,
    /// A key.
    Key,
    /// A route.
    Route,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
    /// There is no such thing.
    Unknown(Which),
    /// The directory cannot be asked.
    Directory(StoreError),
    /// The book failed.
    Book(RollError),
    /// The process is ending.
    Ending,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(Which::Account) => f.write_str("there is no such account"),
            Self::Unknown(Which::Key) => f.write_str("there is no such key"),
            Self::Unknown(Which::Route) => f.write_str("no route was ever called this"),
            Self::Directory(error) => error.fmt(f),
            Self::Book(error) => error.fmt(f),
            Self::Ending => f.write_str("the process is ending"),
        }
    }
}

impl std::error::Error for AskError {}

impl Books {
    /// What was used up to this moment.
    pub async fn usage(self: std::sync::Arc<Self>, asked: &Asked) -> Result<Usage, AskError> {
        let query = self.query(asked).await?;
        self.usage_of(query).await
    }

    /// What was used up to this moment, by the numbers of the ledger.
    pub async fn usage_of(self: std::sync::Arc<Self>, query: Query) -> Result<Usage, AskError> {
        // On a thread that may wait for the disk.
        let work = move || self.ledger.query(self.engine.spool(), &query).map_err(AskError::Book);
        tokio::task::spawn_blocking(work).await.map_err(|_| AskError::Ending)?
    }

    /// The question in the numbers of the ledger.
    pub async fn query(&self, asked: &Asked) -> Result<Query, AskError> {
        let directory = self.engine.directory();
        let account = match &asked.account {
            None => None,
            Some(text) => Some(self.payer(text).await?.serial),
        };
        let key = match &asked.key {
            None => None,
            Some(id) => {
                let id = KeyId::parse(id).ok_or(AskError::Unknown(Which::Key))?;
                let found = directory.find_key(id).await.map_err(AskError::Directory)?;
                Some(found.ok_or(AskError::Unknown(Which::Key))?.serial)
            }
        };
        let route = match &asked.route {
            None => None,
            Some(name) => Some(self.engine.names.find(name).ok_or(AskError::Unknown(Which::Route))?),
        };
        let (quarters, zone) = (asked.quarters.clone(), asked.zone.clone());
        Ok(Query { account, key, route, quarters, step: asked.step, zone })
    }
}
