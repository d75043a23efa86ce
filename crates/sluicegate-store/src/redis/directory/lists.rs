//! Reads for people: pages of lists, and one thing by its name.

use std::sync::Arc;

use crate::redis::driver::{Value, cmd};
use sluicegate_core::audit::Head;
use tokio::sync::oneshot;

use super::error::RedisError;
use super::layout::{ACCOUNTS, AUDIT, IDS, KEY_IDS};
use super::reply::Reply;
use super::{RedisDirectory, Shared, ask, audit, scripts, text};
use crate::audit::AuditEntry;
use crate::database::Pending;
use crate::directory::Counts;
use crate::directory::account::{Account, AccountId};
use crate::directory::error::{ReadError, StoreError, What};
use crate::directory::makings::StandingText;
use crate::directory::page::{Page, Paged};
use crate::directory::record::{AccountRecord, AuditRecord, KeyRecord};
use crate::key_text::KeyId;

/// How many negotiated tiers are read at once: each may be long.
const CUSTOM_ROWS: u32 = 50;

impl RedisDirectory {
    pub(crate) async fn list_accounts(&self, page: Page) -> Result<Paged<AccountRecord>, RedisError> {
        let items = self.shared.list_accounts("live", page.after(0), page.rows()).await?;
        Ok(page.of(items, |record| record.serial))
    }

    pub(crate) async fn find_account(&self, id: &str) -> Result<Option<AccountRecord>, RedisError> {
        Ok(self.shared.find_account(id).await?.map(|found| found.record))
    }

    pub(crate) async fn find_account_by_serial(
        &self,
        serial: u64,
    ) -> Result<Option<AccountRecord>, RedisError> {
        let found = self.shared.field(ACCOUNTS, &serial.to_string()).await?;
        found.map(|found| text::account(&found)).transpose()
    }

    pub(crate) async fn find_deleted_accounts(&self, id: &str) -> Result<Vec<AccountRecord>, RedisError> {
        let serials = self.shared.field(IDS, &format!("~{id}")).await?.unwrap_or_default();
        let mut found = Vec::new();
        for serial in serials.split_ascii_whitespace() {
            let text = self.shared.field(ACCOUNTS, serial).await?;
            found.extend(text.map(|text| text::account(&text)).transpose()?);
        }
        Ok(found)
    }

    pub(crate) async fn list_keys(
        &self,
        account: &AccountId,
        page: Page,
    ) -> Result<Paged<KeyRecord>, ReadError> {
        // The numbers of keys have 32 bits; nothing comes after a cursor beyond them.
        let after = page.after(0).min(i64::from(u32::MAX)).to_string();
        let arguments = [account.as_str(), &after, &page.rows().to_string()];
        let found = ask::list(&self.shared.server, &scripts::LIST_KEYS, &arguments).await?;
        let mut texts = found.texts();
        let Some(account) = texts.next() else { return Err(ReadError::NotFound(What::Account)) };
        let account = text::account(account?)?;
        let items =
            texts.map(|key| Ok(text::key(key?, &account)?.record)).collect::<Result<_, RedisError>>()?;
        Ok(page.of(items, |record: &KeyRecord| u64::from(record.number)))
    }

    pub(crate) async fn find_key(&self, id: KeyId) -> Result<Option<KeyRecord>, RedisError> {
        Ok(self.shared.find_key(id).await?.key()?.map(|key| key.record))
    }

    pub(crate) async fn find_key_by_serial(&self, serial: u64) -> Result<Option<KeyRecord>, RedisError> {
        let id = self.shared.field(KEY_IDS, &serial.to_string()).await?;
        match id.as_deref().and_then(KeyId::parse) {
            Some(id) => self.find_key(id).await,
            None => Ok(None),
        }
    }

    pub(crate) async fn list_audit(&self, page: Page) -> Result<Paged<AuditRecord>, RedisError> {
        let mut newest_first = cmd("XREVRANGE");
        newest_first.arg(AUDIT).arg(format!("(0-{}", page.after(u64::MAX))).arg("-");
        newest_first.arg("COUNT").arg(page.rows());
        let entries = Reply::of(ask::command(&self.shared.server.link, &newest_first).await?)?;
        let entries: Vec<AuditEntry> =
            entries.into_parts().map(|entry| audit::entry(&entry?)).collect::<Result<_, _>>()?;
        let items = self.shared.linked(entries).await?;
        Ok(page.of(items, |record: &AuditRecord| record.seq))
    }

    pub(crate) fn audit_after(&self, seq: u64, rows: u16) -> Pending<Vec<AuditEntry>, StoreError> {
        let (answer, pending) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            // Nobody may be waiting any more.
            let _ = answer.send(shared.audit_after(seq, rows).await.map_err(StoreError::Redis));
        });
        Pending::asked(pending)
    }

    pub(crate) async fn audit_head(&self) -> Result<Head, RedisError> {
        self.shared.audit_head().await
    }

    pub(crate) async fn counts(&self) -> Result<Counts, RedisError> {
        let counts = ask::list(&self.shared.server, &scripts::COUNT, &[]).await?;
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Counts { accounts: count(counts.number(0)?), keys: count(counts.number(1)?) })
    }

    pub(crate) fn custom_accounts(&self) -> Pending<Vec<Arc<Account>>, StoreError> {
        let (answer, pending) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            // Nobody may be waiting any more.
            let _ = answer.send(shared.custom_accounts().await.map_err(StoreError::Redis));
        });
        Pending::asked(pending)
    }
}

impl Shared {
    /// Entries, the newest first, with their links.
    async fn linked(&self, entries: Vec<AuditEntry>) -> Result<Vec<AuditRecord>, RedisError> {
        let (Some(newest), Some(oldest)) = (entries.first(), entries.last()) else { return Ok(Vec::new()) };
        let links = self.links(oldest.seq, newest.seq).await?;
        let with_link = |entry: AuditEntry| {
            let seq = entry.seq;
            let found = links.binary_search_by_key(&seq, |head| head.seq).ok();
            let record = found.and_then(|place| entry.record(links[place].link));
            record.ok_or_else(|| RedisError::Nonsense(format!("audit entry {seq}")))
        };
        entries.into_iter().map(with_link).collect()
    }

    async fn list_accounts(
        &self,
        set: &str,
        after: i64,
        rows: u32,
    ) -> Result<Vec<AccountRecord>, RedisError> {
        let arguments = [set, &after.to_string(), &rows.to_string()];
        let found = ask::list(&self.server, &scripts::LIST_ACCOUNTS, &arguments).await?;
        found.texts().map(|account| text::account(account?)).collect()
    }

    async fn custom_accounts(&self) -> Result<Vec<Arc<Account>>, RedisError> {
        let (mut accounts, mut after) = (Vec::new(), 0);
        loop {
            let records = self.list_accounts("custom", after, CUSTOM_ROWS).await?;
            let Some(last) = records.last() else { return Ok(accounts) };
            after = i64::try_from(last.serial).unwrap_or(i64::MAX);
            for record in records {
                let standing = self.cache.makings().standing(StandingText::of(&record))?;
                accounts.push(self.cache.makings().account(record.serial, record.id, standing));
            }
        }
    }

    /// One field of a hash.
    async fn field(&self, hash: &str, field: &str) -> Result<Option<String>, RedisError> {
        match ask::command(&self.server.link, cmd("HGET").arg(hash).arg(field)).await? {
            Value::Nil => Ok(None),
            Value::BulkString(bytes) => Ok(String::from_utf8(bytes).ok()),
            _ => Err(RedisError::Nonsense("an answer of another form".to_owned())),
        }
    }
}
