//! A digest of rows: what the chain signs of them.

use std::ops::Range;

use sluicegate_core::digest::Digest;

use super::book::Book;
use super::error::BookError;
use super::row::Row;
use crate::hour::Hour;
use crate::quarter::quarters_of;

const CONTEXT: &str = "sluicegate 2026 usage rollup v1";

/// The bit of the marks, not one of them, that says there is the quarter of a charge.
const HAS_CHARGE: u8 = 1 << 7;

/// Rows that are being digested, in the order of the book.
pub(crate) struct RowDigest {
    hasher: blake3::Hasher,
    pub(crate) rows: u64,
}

impl RowDigest {
    pub(crate) fn new() -> Self {
        Self { hasher: blake3::Hasher::new_derive_key(CONTEXT), rows: 0 }
    }

    pub(crate) fn add(&mut self, Row { key, sums }: &Row) {
        self.rows += 1;
        self.hasher.update(&key.quarter.number().to_le_bytes());
        self.hasher.update(&key.account.to_le_bytes());
        self.hasher.update(&key.key.to_le_bytes());
        self.hasher.update(&key.route.to_le_bytes());
        self.hasher.update(&key.tier.to_le_bytes());
        // The marks say whether the quarter of the charge follows: without it the bytes are those of earlier versions.
        let has_charge = if key.charge.is_some() { HAS_CHARGE } else { 0 };
        self.hasher.update(&[key.unit.number(), key.marks.number() | has_charge]);
        if let Some(charge) = key.charge {
            self.hasher.update(&charge.number().to_le_bytes());
        }
        for number in sums.numbers() {
            self.hasher.update(&number.to_le_bytes());
        }
    }

    pub(crate) fn finish(&self) -> Digest {
        Digest(*self.hasher.finalize().as_bytes())
    }
}

impl Book {
    /// How many rows these hours have, and a digest of them.
    pub(crate) fn digest(&self, hours: &Range<Hour>) -> Result<(u64, Digest), BookError> {
        let mut digest = RowDigest::new();
        self.each_row(quarters_of(hours), |row| -> Result<(), BookError> {
            digest.add(&row);
            Ok(())
        })?;
        Ok((digest.rows, digest.finish()))
    }
}
