//! Many accounts at once: written to the data directory by this process, while no server has it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_store::database::Database;
use sluicegate_store::directory::{AccountId, Directory, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyEnv, KeyHasher};
use tokio::task::JoinSet;

use crate::load::sluicegate::TWO_LIMITS;

/// Writes in line at a time: they share transactions.
const WRITERS: usize = 2_000;
/// An instant in the past of every server.
const MADE_AT: Timestamp = Timestamp::from_nanos(1_790_000_000_000_000_000);

/// Makes accounts with a key each. The keys are hashed with a secret of nobody: they are there, but admit nobody.
pub(crate) async fn fill(data_dir: &Path, count: u32) -> Result<()> {
    let database = Database::open(&data_dir.join("sluicegate.db"))?;
    let directory = Arc::new(Directory::open(database, HomeHasher::new([7; 16]), KeyHasher::new(&[7; 32]))?);
    let mut making = JoinSet::new();
    for number in 0..count {
        if making.len() >= WRITERS
            && let Some(made) = making.join_next().await
        {
            made??;
        }
        making.spawn(make(Arc::clone(&directory), number));
    }
    while let Some(made) = making.join_next().await {
        made??;
    }
    Ok(())
}

async fn make(directory: Arc<Directory>, number: u32) -> Result<()> {
    let id = format!("filled-{number:06}");
    let by = Writer { who: "bench".to_owned(), now: MADE_AT };
    let account = NewAccount {
        id: Some(AccountId::new(&id).context("an id")?),
        name: DisplayName::new("Filled")?,
        tier: TierName::new(TWO_LIMITS).context("a tier")?,
        billing_day: None,
        timezone: None,
    };
    directory.create_account(account, &by).await?;
    let key = NewKey {
        name: DisplayName::new("Filled")?,
        env: KeyEnv::Live,
        scopes: Scopes::default(),
        expires_at: None,
    };
    directory.create_key(&id, key, &by).await?;
    Ok(())
}
