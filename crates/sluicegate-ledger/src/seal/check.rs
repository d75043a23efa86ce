//! Reading sealed hours back: what they say, and which of them are not what was sealed.

use std::ops::Range;

use object_store::path::Path;
use object_store::{GetOptions, ObjectStore};

use super::error::SealError;
use super::{SealedTotals, Sealer};
use crate::chain::Digest;
use crate::export::read_parquet;
use crate::hour::Hour;
use crate::usage::SealedHour;

impl Sealer {
    /// Reads the objects of these hours.
    pub async fn read_back(&self, hours: Range<Hour>) -> Result<SealedTotals, SealError> {
        let sealed = self.blocking(move |book| Ok(book.sealed(hours)?)).await?;
        let mut read = SealedTotals::default();
        for hour in sealed {
            self.read_hour(&hour, &mut read).await?;
        }
        Ok(read)
    }

    async fn read_hour(&self, sealed: &SealedHour, read: &mut SealedTotals) -> Result<(), SealError> {
        let path = Path::from(sealed.object.as_str());
        let bytes = match self.store().get_opts(&path, GetOptions::default()).await {
            Ok(found) => found.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => {
                read.missing.push(sealed.hour);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        read.objects += 1;
        // Only the bytes that were sealed: others may come to the same total, and give it to somebody else.
        let is_same = Digest::of(&bytes).0 == sealed.digest;
        let rows = if is_same { read_parquet(bytes).ok() } else { None };
        let Some(rows) = rows else {
            read.damaged.push(sealed.hour);
            return Ok(());
        };
        for row in rows {
            read.totals.add(
                row.account.as_deref().unwrap_or_default(),
                Some(row.start.hour()),
                row.sums.total(),
            );
        }
        Ok(())
    }
}
