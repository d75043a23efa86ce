//! Announcing what was noticed, behind the requests.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sluicegate_core::plan::Sharer;
use sluicegate_core::time::Nanos;
use sluicegate_store::alerts::{AlertKind, Alerts, Announced, Mark, News, QuotaUse};
use sluicegate_store::directory::StoreError;

use super::{Level, Note, Span};
use crate::engine::Engine;

/// For so long after its end a period is remembered: what was noticed at its end may be announced later.
const LATE: Nanos = Nanos::from_secs(3_600);
/// How long it is waited after a store that was away.
const PAUSE: Duration = Duration::from_millis(250);

impl Engine {
    /// The alerts of this node, or of all nodes.
    pub fn alerts(&self) -> &Alerts {
        &self.thresholds.alerts
    }

    /// How often each level of a quota was announced by this process.
    pub fn thresholds_announced(&self) -> [(Level, u64); Level::ALL.len()] {
        Level::ALL.map(|level| (level, self.thresholds.announced[level.place()].load(Ordering::Relaxed)))
    }

    /// Announces what requests notice of quotas, for as long as this is polled.
    pub async fn keep_thresholds(&self) {
        loop {
            let note = self.thresholds.waiting.lock().await.recv().await;
            let Some(note) = note else { return };
            self.announce_or_forget(&note).await;
        }
    }

    /// Announces what requests have noticed so far.
    pub async fn announce_thresholds(&self) {
        loop {
            let Ok(note) = self.thresholds.waiting.lock().await.try_recv() else { return };
            self.announce_or_forget(&note).await;
        }
    }

    async fn announce_or_forget(&self, note: &Note) {
        if let Err(error) = self.announce(note).await {
            tracing::debug!("a quota could not be announced, and is noticed again: {error}");
            self.thresholds.seen.forget(note.spot);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Announces every level up to the one that was noticed.
    async fn announce(&self, note: &Note) -> Result<(), StoreError> {
        let Some(account) = self.account_id(note.payer.account).await? else { return Ok(()) };
        let key = if note.sharer == Sharer::ALL {
            None
        } else {
            self.directory.find_key_by_serial(note.payer.key).await?.map(|key| key.id.to_string())
        };
        let quota = QuotaUse {
            account,
            limit: note.limit.to_string(),
            key,
            used: note.used,
            amount: note.amount,
            period_end: match note.span {
                Span::Period(period) => Some(period.end),
                Span::Sliding(_) => None,
            },
        };
        for level in note.level.and_below() {
            let kind = match level {
                Level::Overage => AlertKind::QuotaOverage(quota.clone()),
                _ => AlertKind::QuotaThreshold { percent: level.percent(), quota: quota.clone() },
            };
            let news = News { id: self.alert_id(note.at), at: note.at, resolved_at: None, kind };
            let (mark, tell) = (note.mark(level), self.tell(false));
            let announced = self.thresholds.alerts.announce(mark, news, tell, note.at).await?;
            if announced == Announced::Now {
                self.thresholds.announced[level.place()].fetch_add(1, Ordering::Relaxed);
                tracing::info!(
                    account = quota.account,
                    limit = quota.limit,
                    key = quota.key,
                    percent = level.percent(),
                    used = quota.used,
                    amount = quota.amount,
                    "{}",
                    if level == Level::Overage { "a quota is exceeded" } else { "a quota is used up so far" }
                );
            }
        }
        Ok(())
    }

    /// What the account is called; nothing if it is deleted.
    pub(crate) async fn account_id(&self, serial: u64) -> Result<Option<String>, StoreError> {
        if let Some(account) = self.directory.account_by_serial(serial) {
            return Ok(Some(account.id.to_string()));
        }
        let found = self.directory.find_account_by_serial(serial).await?;
        Ok(found.filter(|account| account.deleted_at.is_none()).map(|account| account.id.to_string()))
    }
}

impl Note {
    fn mark(&self, level: Level) -> Mark {
        let (period, until) = match self.span {
            Span::Period(period) => (period.start.as_secs(), period.end.plus(LATE)),
            Span::Sliding(window) => (0, self.at.plus(window)),
        };
        Mark {
            home: self.payer.home,
            limit: self.limit.clone(),
            sharer: self.sharer.get(),
            amount: self.amount,
            threshold: level as u8,
            period,
            until,
        }
    }
}
