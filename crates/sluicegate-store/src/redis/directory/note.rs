//! Notes: audit entries of what was done to callers.

use std::sync::Arc;

use super::written::{WriteId, Written, arguments};
use super::{RedisDirectory, Shared, ask, scripts};
use crate::directory::error::WriteError;
use crate::directory::note::Note;
use crate::directory::record::Writer;

impl RedisDirectory {
    pub(crate) async fn note(&self, note: Note, by: &Writer) -> Result<(), WriteError> {
        let (shared, by) = (Arc::clone(&self.shared), by.clone());
        self.done(async move { shared.note(&note, &by).await }).await
    }
}

impl Shared {
    async fn note(&self, note: &Note, by: &Writer) -> Result<(), WriteError> {
        let [before, after] = note.says().map(Option::unwrap_or_default);
        let arguments = arguments(by, note.action(), [&note.target, &before, &after]);
        let reply = ask::write(&self.server, &scripts::NOTE, &WriteId::random()?, &arguments).await?;
        match Written::of(&reply)? {
            Written::Done { .. } => Ok(()),
            Written::Changed | Written::Exists | Written::NoAccount | Written::TooMany => {
                Err(Written::odd().into())
            }
        }
    }
}
