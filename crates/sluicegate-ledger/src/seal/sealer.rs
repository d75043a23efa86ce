//! Sealing hours, in order.

use std::sync::Arc;

use object_store::{GetOptions, ObjectStore, PutMode, PutOptions};
use sluicegate_core::time::Timestamp;

use super::error::SealError;
use super::object::Object;
use super::{Destination, Progress, Sealed};
use crate::chain::Digest;
use crate::export::{Names, read_parquet};
use crate::hour::Hour;
use crate::usage::{Book, SealedHour};

/// Whose hours are sealed, and to where.
#[derive(Clone)]
pub struct Sealer {
    pub(crate) book: Arc<Book>,
    pub(crate) names: Arc<dyn Names>,
    pub(crate) node: String,
    pub(crate) destination: Destination,
}

/// Whether an object is where it belongs now, or was already.
enum Put {
    Made,
    /// One was there with the same rows; its bytes have this digest.
    Found(Digest),
}

impl Sealer {
    /// Seals every closed hour that is not, in order. Dropping it on the way harms nothing.
    pub async fn seal_due(
        &self,
        now: Timestamp,
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<Sealed, SealError> {
        let mut sealed = Sealed::default();
        while let Some((hour, until)) = self.blocking(next_hour).await? {
            let mut object = self.make(hour).await?;
            sealed.hours += 1;
            sealed.rows += object.rows;
            if let Put::Found(digest) = self.put(&object).await? {
                sealed.found += 1;
                // What is there is what must still be there when it is read back.
                object.digest = digest;
            }
            self.remember(&object, now).await?;
            progress(Progress { hour, until, sealed });
        }
        Ok(sealed)
    }

    /// Writes the objects of these hours anew, whatever is there: for objects that were lost or changed.
    pub async fn seal_again(&self, hours: &[Hour], now: Timestamp) -> Result<Sealed, SealError> {
        let mut sealed = Sealed::default();
        for &hour in hours {
            let object = self.make(hour).await?;
            let (bytes, options) = (object.bytes.clone().into(), PutOptions::from(PutMode::Overwrite));
            self.store().put_opts(&object.path, bytes, options).await?;
            sealed.hours += 1;
            sealed.rows += object.rows;
            self.remember(&object, now).await?;
        }
        Ok(sealed)
    }

    async fn make(&self, hour: Hour) -> Result<Object, SealError> {
        let (names, node) = (Arc::clone(&self.names), self.node.clone());
        let path = self.destination.object(hour, &self.node);
        self.blocking(move |book| Object::make(book, hour, path, &*names, &node)).await
    }

    async fn put(&self, object: &Object) -> Result<Put, SealError> {
        let options = PutOptions::from(PutMode::Create);
        match self.store().put_opts(&object.path, object.bytes.clone().into(), options).await {
            Ok(_) => Ok(Put::Made),
            Err(object_store::Error::AlreadyExists { .. }) => self.compare(object).await,
            Err(error) => Err(error.into()),
        }
    }

    /// The same bytes, or other bytes with the same rows: another version of the program may have written them.
    async fn compare(&self, object: &Object) -> Result<Put, SealError> {
        let found = self.store().get_opts(&object.path, GetOptions::default()).await?.bytes().await?;
        let digest = Digest::of(&found);
        if digest == object.digest {
            return Ok(Put::Found(digest));
        }
        let (ours, theirs) = (read_parquet(object.bytes.clone()), read_parquet(found));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => Ok(Put::Found(digest)),
            _ => Err(SealError::Differs { object: object.path.to_string() }),
        }
    }

    async fn remember(&self, object: &Object, now: Timestamp) -> Result<(), SealError> {
        let sealed = SealedHour {
            hour: object.hour,
            object: object.path.to_string(),
            digest: object.digest.0,
            rows: object.rows,
            requests: object.requests,
            total: object.total,
            at: now,
        };
        self.blocking(move |book| Ok(book.remember_sealed(&sealed)?)).await
    }

    pub(super) fn store(&self) -> &Arc<dyn ObjectStore> {
        self.destination.store()
    }

    /// The book is read and written where waiting for the disk hinders nobody.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Book) -> Result<T, SealError> + Send + 'static,
    ) -> Result<T, SealError> {
        let book = Arc::clone(&self.book);
        let done = tokio::task::spawn_blocking(move || work(&book)).await;
        done.map_err(|_| SealError::Interrupted)?
    }
}

/// The next hour to seal, and the first that is not closed.
fn next_hour(book: &Book) -> Result<Option<(Hour, Hour)>, SealError> {
    let open = book.standing()?.map_or(Hour::FIRST, |standing| standing.open);
    Ok(book.next_unsealed()?.map(|hour| (hour, open)))
}
