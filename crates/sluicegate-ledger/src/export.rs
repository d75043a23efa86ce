//! Usage for other programs: tables, and events that billing systems take.
//!
//! Events are made of closed hours only, with ids that follow from what they are about: sent twice, they count once.

mod cloud_events;
mod error;
mod id;
mod names;
#[cfg(feature = "export")]
mod parquet;
mod stripe;
mod table;

use std::io::Write;

pub use error::ExportError;
pub(crate) use names::Lexicon;
pub use names::{Named, NamedRow, Names};
#[cfg(feature = "export")]
pub(crate) use parquet::{ParquetRows, read as read_parquet};
pub use stripe::StripeEvents;

use crate::hour::Hour;
use crate::quarter::Quarter;
use crate::usage::{Book, Query, Row};

/// What usage is written as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Format {
    /// Comma-separated values with a header, as RFC 4180 has them.
    Csv,
    /// A JSON object on each line.
    JsonLines,
    /// An Apache Parquet file.
    Parquet,
    /// A CloudEvents 1.0 event on each line, as OpenMeter takes them.
    CloudEvents,
    /// A meter event for Stripe on each line.
    Stripe(StripeEvents),
}

impl Format {
    /// Whether rows become events, which must not change any more.
    const fn is_events(&self) -> bool {
        matches!(self, Self::CloudEvents | Self::Stripe(_))
    }
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exported {
    /// How many rows or events.
    pub rows: u64,
    /// Rows for which there is no event: nobody can be billed for them, or there is nothing to bill.
    pub left_out: u64,
    /// Hours from this one on are not closed, and in no event.
    pub open: Hour,
}

/// Writes the usage that `query` asks for, whatever its step: as a table what was charged in its quarters, as events
/// what was recorded in them. What is in the spool and not in the book yet is not in it. `node` is part of the ids of
/// events.
pub fn export(
    book: &Book,
    query: &Query,
    format: &Format,
    (node, names): (&str, &dyn Names),
    out: impl Write + Send,
) -> Result<Exported, ExportError> {
    let open = book.standing()?.map_or(Hour::FIRST, |standing| standing.open);
    let closed = Quarter::first_of(open);
    // Events go to customers by the ids that these have there, also after the account was deleted here.
    let mut lexicon = if format.is_events() { Lexicon::new(names) } else { Lexicon::marking_deleted(names) };
    let mut sheet = Sheet::new(format, node, out)?;
    let mut exported = Exported { open, ..Exported::default() };
    let each = |row: Row| -> Result<(), ExportError> {
        if is_wanted(query, &row) {
            match sheet.write(lexicon.name(&row)?)? {
                Written::Yes => exported.rows += 1,
                Written::LeftOut => exported.left_out += 1,
            }
        }
        Ok(())
    };
    if format.is_events() {
        // By when they were recorded: exports of successive hours send each event once, however late it came.
        book.each_row(query.quarters.start..query.quarters.end.min(closed), each)?;
    } else {
        book.each_row_by_charge(query.quarters.clone(), each)?;
    }
    sheet.finish()?;
    Ok(exported)
}

fn is_wanted(query: &Query, row: &Row) -> bool {
    query.account.is_none_or(|it| it == row.key.account)
        && query.key.is_none_or(|it| it == row.key.key)
        && query.route.is_none_or(|it| it == row.key.route)
}

/// Whether something was written of a row.
pub(crate) enum Written {
    Yes,
    LeftOut,
}

/// What is being written.
enum Sheet<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    JsonLines(W),
    #[cfg(feature = "export")]
    Parquet(Box<ParquetRows<W>>),
    CloudEvents(W, String),
    Stripe(W, String, StripeEvents),
}

impl<W: Write + Send> Sheet<W> {
    fn new(format: &Format, node: &str, out: W) -> Result<Self, ExportError> {
        Ok(match format {
            Format::Csv => Self::Csv(Box::new(table::begin_csv(out)?)),
            Format::JsonLines => Self::JsonLines(out),
            #[cfg(not(feature = "export"))]
            Format::Parquet => return Err(ExportError::NotBuilt),
            #[cfg(feature = "export")]
            Format::Parquet => Self::Parquet(Box::new(ParquetRows::new(out)?)),
            Format::CloudEvents => Self::CloudEvents(out, node.to_owned()),
            Format::Stripe(events) => Self::Stripe(out, node.to_owned(), events.clone()),
        })
    }

    fn write(&mut self, row: NamedRow) -> Result<Written, ExportError> {
        match self {
            Self::Csv(csv) => table::write_csv(csv, &row)?,
            Self::JsonLines(out) => table::write_json(out, &row)?,
            #[cfg(feature = "export")]
            Self::Parquet(rows) => rows.push(row)?,
            Self::CloudEvents(out, node) => cloud_events::write(out, node, &row)?,
            Self::Stripe(out, node, events) => return stripe::write(out, node, events, &row),
        }
        Ok(Written::Yes)
    }

    fn finish(self) -> Result<(), ExportError> {
        match self {
            Self::Csv(mut csv) => csv.flush()?,
            Self::JsonLines(mut out) | Self::CloudEvents(mut out, _) | Self::Stripe(mut out, ..) => {
                out.flush()?;
            }
            #[cfg(feature = "export")]
            Self::Parquet(rows) => rows.finish()?.flush()?,
        }
        Ok(())
    }
}
