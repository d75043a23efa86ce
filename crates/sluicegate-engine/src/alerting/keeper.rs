//! Keeping the list of alerts as the rules want it: what begins is put there, what is over is noted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use sluicegate_core::time::Timestamp;
use sluicegate_store::alerts::{AlertClock, AlertKind, AlertState, Alerts, Announced, News, Tell};
use sluicegate_store::directory::StoreError;
use sluicegate_store::redis::alerts::counts::Lease;

use super::STEP_S;
use super::counts::Observed;
use super::evaluate::Evaluation;
use super::rules::{Rules, Wanted};
use super::tally::Tally;
use crate::decision::StoreMode;
use crate::engine::Engine;
use crate::ids;
use crate::pulse::{Change, Changed};

/// The lease of whoever delivers.
const DELIVERY: &str = "delivery";

/// What is remembered between two looks.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    /// The step that runs, once one has begun.
    pub(super) step: Option<u64>,
    /// What was counted up to its beginning.
    pub(super) before: Observed,
    pub(super) tally: Option<Tally>,
    /// What fires by this node's own list; nothing before that was read.
    pub(super) own: Option<BTreeSet<String>>,
    /// The rules about all nodes, while this one asks them.
    pub(super) evaluation: Option<Evaluation>,
}

impl Engine {
    /// Where this node keeps alerts that it tells on its own, if that is not where all nodes keep theirs.
    pub fn own_alerts(&self) -> Option<&Alerts> {
        self.alerting.shared.as_ref().map(|_| &self.alerting.own)
    }

    /// How many alerts fire, as this node knew a few seconds ago.
    pub fn alerts_firing(&self) -> usize {
        self.alerting.firing.load(Ordering::Relaxed)
    }

    /// Takes the lease by which one node at a time delivers what all have to tell. Without other nodes it is always
    /// there.
    pub async fn lease_delivery(&self, length: Duration) -> Result<Lease, StoreError> {
        match &self.alerting.shared {
            None => Ok(Lease::Here),
            Some(shared) => shared.lease(DELIVERY, length).await,
        }
    }

    /// Looks whether something begins or is over that people should hear of. About once a second; nobody's request
    /// waits for it. What cannot be told the store now is told later.
    pub async fn tend_alerts(&self, now: Timestamp) {
        let mut keeper = self.alerting.keeper.lock().await;
        let keeper = &mut *keeper;
        let looked = match &self.alerting.shared {
            None => self.look_alone(keeper, now).await,
            Some(shared) => {
                let own = self.look_at_myself(keeper, now).await;
                // Before anybody is told of the store's return, it is asked for nothing.
                let others = if self.store_mode() == StoreMode::Normal {
                    self.look_together(keeper, shared, now).await
                } else {
                    keeper.evaluation = None;
                    // What is counted meanwhile is of no step that comes after.
                    drop(self.count(keeper, now));
                    Ok(())
                };
                own.and(others)
            }
        };
        if let Err(error) = looked {
            tracing::debug!("alerts could not be kept, and are looked at again: {error}");
        }
    }

    /// The alerts about this node alone.
    fn own_conditions(&self) -> BTreeMap<String, Wanted> {
        let node = self.alerting.shared.as_ref().map(|shared| shared.node_name());
        let mut wanted = BTreeMap::new();
        if let Some(rejected) = self.alerting.conditions.now().rejected {
            let (problems, first) = (rejected.problems, rejected.first);
            let kind = AlertKind::ReloadRejected { node: node.clone(), problems, first };
            wanted.insert(subject(&kind, node.as_deref()), Wanted::Kind(kind));
        }
        wanted.extend(self.clock_conditions(node.as_deref()));
        if let Some(refused) = self.sign_in_alert(self.now()) {
            let kind = AlertKind::SignInsRefused { node: node.clone(), refused: refused.into() };
            wanted.insert(subject(&kind, node.as_deref()), Wanted::Kind(kind));
        }
        if let Some(node) = node.filter(|_| self.store_mode() == StoreMode::Degraded) {
            let kind = AlertKind::StoreDegraded { node: node.clone() };
            wanted.insert(subject(&kind, Some(&node)), Wanted::Kind(kind));
        }
        wanted
    }

    /// An alert for each clock that leapt ahead and is not followed.
    fn clock_conditions(&self, node: Option<&str>) -> impl Iterator<Item = (String, Wanted)> {
        let status = self.clock_status();
        let held = [(AlertClock::System, status.wall), (AlertClock::Store, status.store)];
        held.into_iter().filter_map(move |(clock, held)| {
            let ahead_s = held?.ahead.0 / 1_000_000_000;
            let kind = AlertKind::ClockImplausible { node: node.map(str::to_owned), clock, ahead_s };
            Some((format!("{} {}", subject(&kind, node), clock.as_str()), Wanted::Kind(kind)))
        })
    }

    /// There are no other nodes: the rules are about this one.
    async fn look_alone(&self, keeper: &mut Keeper, now: Timestamp) -> Result<(), StoreError> {
        if keeper.evaluation.is_none() {
            let firing = self.alerting.own.firing().await?;
            keeper.own = Some(firing.iter().map(|(subject, _)| subject.clone()).collect());
            keeper.evaluation = Some(Evaluation::alone(Rules::restored(&firing)));
        }
        let counted = self.count(keeper, now);
        let Some(evaluation) = &mut keeper.evaluation else { return Ok(()) };
        evaluation.here(counted);
        evaluation.rules.drift.compared(self.alerting.conditions.now().drift);
        let mut wanted = evaluation.rules.wanted();
        wanted.extend(self.own_conditions());
        let Some(firing) = &mut keeper.own else { return Ok(()) };
        let done = self.reconcile(&self.alerting.own, firing, wanted, self.tell(false), now).await;
        self.alerting.firing.store(firing.len(), Ordering::Relaxed);
        done
    }

    /// What this node finds out about itself, and keeps on its own.
    async fn look_at_myself(&self, keeper: &mut Keeper, now: Timestamp) -> Result<(), StoreError> {
        let own = &self.alerting.own;
        let mut firing = match keeper.own.take() {
            Some(firing) => firing,
            None => own.firing().await?.into_iter().map(|(subject, _)| subject).collect(),
        };
        let done = self.reconcile(own, &mut firing, self.own_conditions(), self.tell(true), now).await;
        if self.store_mode() == StoreMode::Degraded {
            self.alerting.firing.store(firing.len(), Ordering::Relaxed);
        }
        keeper.own = Some(firing);
        done
    }

    /// Tells the other nodes what this one has kept on its own.
    pub(super) async fn tell_nodes(&self) -> Result<(), StoreError> {
        while let Some(unshared) = self.alerting.own.unshared().await? {
            let tell = Tell { post: false, nodes: true };
            let (subject, news) = (&unshared.subject, &unshared.news);
            match news.state() {
                AlertState::Resolved => {
                    self.alerts().resolve(subject, news.told_at(), tell).await?;
                }
                AlertState::Firing | AlertState::Noted => {
                    self.alerts().fire(subject, news, tell).await?;
                }
            }
            self.alerting.own.shared(unshared.seq).await?;
        }
        Ok(())
    }

    /// Whether alerts are delivered at the moment, and whether other nodes have to be told of them.
    pub(crate) fn tell(&self, nodes: bool) -> Tell {
        Tell { post: self.snapshot.load().policy().alerts.webhook.is_some(), nodes }
    }

    /// Has the list say what is wanted. `firing` is what it says, and is kept so.
    pub(super) async fn reconcile(
        &self,
        alerts: &Alerts,
        firing: &mut BTreeSet<String>,
        wanted: BTreeMap<String, Wanted>,
        tell: Tell,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let over: Vec<String> =
            firing.iter().filter(|subject| !wanted.contains_key(*subject)).cloned().collect();
        for subject in over {
            if let Some(news) = alerts.resolve(&subject, now, tell).await? {
                tracing::info!(
                    alert = news.kind.as_str(),
                    id = news.id,
                    since = %instant(news.at),
                    "alert resolved: {}",
                    news.title()
                );
                self.tell_of_alert(now, news.title());
            }
            firing.remove(&subject);
        }
        for (subject, wanted) in wanted {
            if firing.contains(&subject) {
                continue;
            }
            let Some(kind) = self.alert_kind(wanted).await? else { continue };
            let news = News { id: self.alert_id(now), at: now, resolved_at: None, kind };
            if alerts.fire(&subject, &news, tell).await? == Announced::Now {
                let alert = news.kind.as_str();
                tracing::warn!(alert, id = news.id, "alert fired: {}", news.title());
                self.tell_of_alert(now, news.title());
            }
            firing.insert(subject);
        }
        Ok(())
    }

    fn tell_of_alert(&self, at: Timestamp, text: String) {
        self.pulse.tell(Change { at, what: Changed::Alert, text });
    }

    pub(crate) fn alert_id(&self, at: Timestamp) -> String {
        let id = self.ids.next(at, ids::Finisher::Process);
        let digits = ids::digits(id.0);
        format!("alr_{}", str::from_utf8(&digits).unwrap_or_default())
    }
}

fn subject(kind: &AlertKind, node: Option<&str>) -> String {
    match node {
        Some(node) => format!("{} {node}", kind.as_str()),
        None => kind.as_str().to_owned(),
    }
}

fn instant(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(at.as_secs().into()).unwrap_or_default()
}

/// The number of the step.
pub(super) const fn step_of(at: Timestamp) -> u64 {
    at.as_secs() as u64 / STEP_S as u64
}
