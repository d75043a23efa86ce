//! Delivering what waits, in order: a message that fails is tried again before any other, and given up after three
//! days.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::policy::{Alerts as Settings, HttpUrl};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{Engine, StoreMode};
use sluicegate_store::alerts::{Alerts, Letter};
use sluicegate_store::directory::StoreError;
use sluicegate_store::redis::alerts::counts::Lease;
use tokio::sync::Mutex;

use super::message::Message;
use super::post::post;
use super::sign::SigningSecret;
use crate::secret_source::secret_at;

/// From the first byte of a try to the answer.
const WAIT: Duration = Duration::from_secs(15);
/// How long a node that delivers for all has that to itself, from each message on. Longer than a try.
const LEASE_LENGTH: Duration = Duration::from_secs(60);
/// How long it is waited after the first failure in a row, the second, and so on; after all further ones, as after the
/// last.
const PAUSES: [Nanos; 4] =
    [Nanos::from_secs(5), Nanos::from_secs(300), Nanos::from_secs(1_800), Nanos::from_secs(3_600)];
/// What is older is given up when it cannot be delivered.
const GIVEN_UP_AFTER: Nanos = Nanos::from_secs(3 * 86_400);

/// Delivers alerts to where the policy says.
#[derive(Debug)]
pub struct Delivery {
    engine: Arc<Engine>,
    /// What is signed with where the policy names no secret.
    secret: SigningSecret,
    wait: Duration,
    /// Of all nodes, or of the only one.
    common: Mutex<Tries>,
    /// Of this node.
    own: Mutex<Tries>,
}

/// How trying goes. A restart, and another URL, is a reason to try at once.
#[derive(Debug, Default)]
struct Tries {
    url: Option<HttpUrl>,
    failures: usize,
    next: Timestamp,
}

/// What became of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Went {
    /// It was delivered: the next one.
    Well,
    /// Not now.
    NotNow,
}

impl Delivery {
    /// Signs with this secret where the policy names none.
    pub fn new(engine: Arc<Engine>, secret: SigningSecret) -> Self {
        Self { engine, secret, wait: WAIT, common: Mutex::default(), own: Mutex::default() }
    }

    /// The same with another patience for each try.
    #[must_use]
    pub fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Delivers what waits and is due. About once a second.
    pub async fn tend(&self) {
        let policy = self.engine.policy();
        let settings = &policy.policy().alerts;
        if settings.webhook.is_none() {
            return;
        }
        let common = async {
            if self.engine.store_mode() == StoreMode::Normal {
                self.all_of(self.engine.alerts(), &self.common, settings).await;
            }
        };
        let own = async {
            if let Some(own) = self.engine.own_alerts() {
                self.all_of(own, &self.own, settings).await;
            }
        };
        // A store that does not answer keeps nobody from hearing that it does not.
        tokio::join!(common, own);
    }

    async fn all_of(&self, alerts: &Alerts, tries: &Mutex<Tries>, settings: &Settings) {
        let Some(url) = &settings.webhook else { return };
        // One pass at a time: two would send the same.
        let Ok(mut tries) = tries.try_lock() else { return };
        if tries.url.as_ref() != Some(url) {
            *tries = Tries { url: Some(url.clone()), ..Tries::default() };
        }
        loop {
            match self.one_of(alerts, &mut tries, url, settings).await {
                Ok(Went::Well) => {}
                Ok(Went::NotNow) => return,
                Err(error) => {
                    tracing::debug!("the outbox cannot be used now: {error}");
                    return;
                }
            }
        }
    }

    async fn one_of(
        &self,
        alerts: &Alerts,
        tries: &mut Tries,
        url: &HttpUrl,
        settings: &Settings,
    ) -> Result<Went, StoreError> {
        let now = self.engine.now();
        if now < tries.next {
            return Ok(Went::NotNow);
        }
        let Some(letter) = alerts.letter().await? else { return Ok(Went::NotNow) };
        let shared = matches!(alerts, Alerts::Shared(_));
        if shared && self.engine.lease_delivery(LEASE_LENGTH).await? == Lease::Elsewhere {
            return Ok(Went::NotNow);
        }
        match self.send(&letter, url, settings, now).await {
            Ok(()) => {
                if tries.failures > 0 {
                    tracing::info!(%url, "alerts are delivered again");
                }
                (tries.failures, tries.next) = (0, Timestamp::EPOCH);
                alerts.delivered(letter.seq, self.engine.now()).await?;
                Ok(Went::Well)
            }
            Err(why) => {
                self.failed(alerts, tries, url, &why).await?;
                Ok(Went::NotNow)
            }
        }
    }

    async fn send(
        &self,
        letter: &Letter,
        url: &HttpUrl,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<(), String> {
        let secret = match settings.secret.clone() {
            None => self.secret.clone(),
            Some(source) => {
                // A file may be slow, or no file at all.
                let read = tokio::task::spawn_blocking(move || secret_at(&source)).await;
                let text = read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
                SigningSecret::parse(&text).map_err(|error| error.to_string())?
            }
        };
        let message = Message::of(letter.news.clone());
        post(url, &secret, &message, now, self.wait).await.map_err(|error| error.to_string())
    }

    async fn failed(
        &self,
        alerts: &Alerts,
        tries: &mut Tries,
        url: &HttpUrl,
        why: &str,
    ) -> Result<(), StoreError> {
        let now = self.engine.now();
        let pause = pause_after(tries.failures);
        if tries.failures == 0 {
            tracing::warn!(%url, "an alert could not be delivered, and is tried again: {why}");
        }
        tries.failures += 1;
        tries.next = now.plus(pause);
        alerts.not_delivered(why, now).await?;
        let before = Timestamp::from_nanos(now.as_nanos().saturating_sub(GIVEN_UP_AFTER.0));
        let dropped = alerts.give_up(before).await?;
        if dropped > 0 {
            tracing::error!(%url, dropped, "alerts that could not be delivered for three days were given up: {why}");
        }
        Ok(())
    }
}

/// How long it is waited after so many failures in a row, before this one.
fn pause_after(failures: usize) -> Nanos {
    PAUSES[failures.min(PAUSES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_an_hour_and_no_further() {
        let pauses: Vec<u64> = (0..6).map(|failures| pause_after(failures).as_secs_ceil()).collect();
        assert_eq!(pauses, [5, 300, 1_800, 3_600, 3_600, 3_600]);
    }
}
