//! Names for the numbers that records have.

use std::collections::BTreeMap;

use super::error::ExportError;
use crate::quarter::Quarter;
use crate::record::Unit;
use crate::usage::{Marks, Row, Sums};

/// Something that records have a number for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Named {
    /// An account, by its serial.
    Account(u64),
    /// A key, by its serial.
    Key(u64),
    /// A route, by the number of its name.
    Route(u32),
    /// A tier, by the number of its name.
    Tier(u32),
}

/// Whoever knows the names.
pub trait Names: Send + Sync {
    /// The name, which must always be the same: sealed hours hold it. Nothing if it cannot be told at the moment;
    /// then nothing is written.
    fn name(&self, what: Named) -> Option<String>;

    /// What an account is called where people read it: one that is deleted is marked, since another may have its name.
    fn shown_account(&self, serial: u64) -> Option<String> {
        self.name(Named::Account(serial))
    }
}

impl<F: Fn(Named) -> Option<String> + Send + Sync> Names for F {
    fn name(&self, what: Named) -> Option<String> {
        self(what)
    }
}

/// A row with names. Nothing where there is none, such as the account of a caller without a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedRow {
    /// The quarter of an hour it was recorded in.
    pub start: Quarter,
    /// The quarter in which its charge was made, where that is another.
    pub charge: Option<Quarter>,
    /// The serial of the account; 0 if there is none, or it is not known.
    pub serial: u64,
    /// The id of the account.
    pub account: Option<String>,
    /// The id of the key.
    pub key: Option<String>,
    /// The name of the route.
    pub route: Option<String>,
    /// The name of the tier.
    pub tier: Option<String>,
    /// What its amounts count.
    pub unit: Unit,
    /// What is said of it.
    pub marks: Marks,
    /// How much.
    pub sums: Sums,
}

impl NamedRow {
    /// The quarter it counts in: that of its charge.
    pub fn charge_start(&self) -> Quarter {
        self.charge.unwrap_or(self.start)
    }
}

/// How many names are remembered: then they are forgotten, and asked for again.
const REMEMBERED_MAX: usize = 100_000;

/// How deleted accounts are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deleted {
    /// As they were always called: for what is compared later, and for whoever sends bills to customers.
    Plain,
    /// With a mark.
    Marked,
}

/// Names that were asked for.
pub(crate) struct Lexicon<'n> {
    names: &'n dyn Names,
    known: BTreeMap<Named, String>,
    deleted: Deleted,
}

impl<'n> Lexicon<'n> {
    /// Names that never change.
    pub(crate) fn new(names: &'n dyn Names) -> Self {
        Self { names, known: BTreeMap::new(), deleted: Deleted::Plain }
    }

    /// The same, with a mark at accounts that are deleted.
    pub(crate) fn marking_deleted(names: &'n dyn Names) -> Self {
        Self { deleted: Deleted::Marked, ..Self::new(names) }
    }

    pub(crate) fn name(&mut self, row: &Row) -> Result<NamedRow, ExportError> {
        let key = row.key;
        Ok(NamedRow {
            start: key.quarter,
            charge: key.charge,
            serial: key.account,
            account: self.find(Named::Account(key.account), key.account)?,
            key: self.find(Named::Key(key.key), key.key)?,
            route: self.find(Named::Route(key.route), u64::from(key.route))?,
            tier: self.find(Named::Tier(key.tier), u64::from(key.tier))?,
            unit: key.unit,
            marks: key.marks,
            sums: row.sums,
        })
    }

    /// The name of an account alone.
    pub(crate) fn account(&mut self, serial: u64) -> Result<Option<String>, ExportError> {
        self.find(Named::Account(serial), serial)
    }

    fn find(&mut self, what: Named, number: u64) -> Result<Option<String>, ExportError> {
        if number == 0 {
            return Ok(None);
        }
        if let Some(name) = self.known.get(&what) {
            return Ok(Some(name.clone()));
        }
        let name = match (what, self.deleted) {
            (Named::Account(serial), Deleted::Marked) => self.names.shown_account(serial),
            _ => self.names.name(what),
        };
        let name = name.ok_or(ExportError::Unnamed(what))?;
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        self.known.insert(what, name.clone());
        Ok(Some(name))
    }
}
