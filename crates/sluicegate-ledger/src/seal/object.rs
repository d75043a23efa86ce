//! The object of an hour: a Parquet file in memory.

use bytes::Bytes;
use object_store::path::Path;

use super::error::SealError;
use crate::chain::Digest;
use crate::export::{ExportError, Lexicon, Names, ParquetRows};
use crate::hour::Hour;
use crate::quarter::quarters_of;
use crate::usage::Book;

/// The object of an hour.
pub(super) struct Object {
    pub(super) hour: Hour,
    pub(super) path: Path,
    pub(super) bytes: Bytes,
    pub(super) digest: Digest,
    pub(super) rows: u64,
    pub(super) requests: i128,
    pub(super) total: i128,
}

impl Object {
    /// From the rows of the hour, which is closed.
    pub(super) fn make(
        book: &Book,
        hour: Hour,
        path: Path,
        names: &dyn Names,
        node: &str,
    ) -> Result<Self, SealError> {
        let open = book.standing()?.map_or(Hour::FIRST, |standing| standing.open);
        if hour >= open {
            return Err(SealError::Open { hour });
        }
        let mut lexicon = Lexicon::new(names);
        let mut file = ParquetRows::new(Vec::new())?;
        file.describe("sluicegate.hour", &hour.to_string());
        file.describe("sluicegate.node", node);
        let (mut rows, mut requests, mut total) = (0, 0, 0);
        book.each_row(quarters_of(&(hour..hour.next())), |row| -> Result<(), ExportError> {
            rows += 1;
            requests += row.sums.requests;
            total += row.sums.total();
            file.push(lexicon.name(&row)?)
        })?;
        if rows == 0 {
            return Err(SealError::Empty { hour });
        }
        let bytes = Bytes::from(file.finish()?);
        Ok(Self { hour, path, digest: Digest::of(&bytes), bytes, rows, requests, total })
    }
}
