//! Finishing permits of services where several nodes share a store: one node settles each permit.
//!
//! A node claims the permit in the store, with the answer. A node that finds a claim gives its answer. What the request
//! cost more or less is recorded after the claim. A process that is killed between the two loses nothing: a record
//! that settles nothing announces the claim before it (`CLAIMS`), and its position is the token of the claim. The next
//! process makes every claim again that was announced and not recorded, and records those that are its own. The store
//! gets the difference only from the journal, which settles each record once.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::Durability;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Position, ReadError, Record};
use sluicegate_store::database::FINISHED_REMEMBERED;
use sluicegate_store::redis::{PermitClaim, QueryError, StoreMode};

use super::Shared;
use crate::engine::{Counters, Engine};
use crate::finish::{FinishError, Finished};
use crate::ids::DecisionId;
use crate::permit::{Kept, Permit};
use crate::settlement::Ending;

/// How long a claim is remembered in the store: a little longer than the last late finish that can come.
const REMEMBERED: Duration = Duration::from_nanos(FINISHED_REMEMBERED.0 + 3_600_000_000_000);
/// How long it is waited before a claim is made again whose reply was lost.
const PAUSE: Duration = Duration::from_millis(250);
/// The token of a claim that no record follows.
const NO_RECORD: u64 = u64::MAX;

/// The claims of this node whose outcome is not known, or not recorded yet.
#[derive(Debug)]
pub(crate) struct Claiming {
    open: Mutex<BTreeMap<DecisionId, Announced>>,
    /// Where the records of this process begin.
    begins: Position,
}

/// A claim that was announced.
#[derive(Clone, Copy, Debug)]
struct Announced {
    at: Position,
    home: HomeId,
    /// What is recorded if it succeeds.
    record: Record,
}

/// How often a claim was made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Try {
    /// Never before: what is not sent has not happened.
    First,
    /// Before, by this process or an earlier one, and it may have happened.
    Again,
}

impl Claiming {
    pub(super) fn new(begins: Position) -> Self {
        Self { open: Mutex::default(), begins }
    }

    /// The first record that is needed by a claim: the journal must not pass it.
    pub(super) fn first(&self) -> Option<Position> {
        self.open.lock().values().map(|announced| announced.at).min()
    }
}

impl Engine {
    pub(crate) async fn finish_shared(
        &self,
        shared: &Shared,
        text: &str,
        status: Option<u16>,
        cost: Option<u64>,
        now: Timestamp,
    ) -> Result<Finished, FinishError> {
        let sealed = self.open_permit(text, now)?;
        let is_late = now >= sealed.ends;
        let standing = self.standing_anywhere(sealed.account).await;
        let standing = standing.map_err(|_| FinishError::Unavailable)?;
        if sealed.flags.contains(Flags::KEY_LIMITS) {
            let learnt = self.learn_limited_key(sealed.account, sealed.key, sealed.key_number).await;
            learnt.map_err(|_| FinishError::Unavailable)?;
        }
        let permit = self.permit_of(sealed, standing.as_deref());
        if !is_late {
            self.observe_hold(&permit, now);
        }
        if permit.kept == Kept::Here {
            let finished = self.finish_in_memory(&permit, status, cost, now)?;
            self.wait_for_owed(shared, permit.home, None).await;
            return Ok(finished);
        }
        let (home, key) = turn_of(&permit);
        let _turn = shared.turns.take(home, key).await;
        // First, and whatever becomes of the rest: the request has ended.
        shared.release(&permit, None, now);
        let known = shared.recent.hold(permit.decision).finished();
        let finished = match known {
            Some(finished) => finished,
            None => self.claim(shared, &permit, status, cost, now).await?,
        };
        shared.recent.hold(permit.decision).finish(finished, now);
        let failed = status.is_some_and(|status| (500..600).contains(&status));
        if let Some((name, end)) = permit.attempt_end(failed, finished.settled) {
            shared.release(&permit, Some((name, end)), now);
            let mut names = self.idempotency.hold(permit.home, name.idempotency.key);
            names.ended(permit.home, name.idempotency.key, permit.decision, end);
        }
        Ok(finished)
    }

    /// Claims a permit, and records what it settles if it is this node's. The turn of the permit is held.
    async fn claim(
        &self,
        shared: &Shared,
        permit: &Permit,
        status: Option<u16>,
        cost: Option<u64>,
        now: Timestamp,
    ) -> Result<Finished, FinishError> {
        let open = shared.claiming.open.lock().get(&permit.decision).copied();
        if let Some(announced) = open {
            // An earlier finish is still in doubt: its answer is the one.
            return self.resolve_and_wait(shared, announced, Try::Again).await;
        }
        if shared.homes.mode() == StoreMode::Degraded {
            return Err(FinishError::Unavailable);
        }
        let failed = status.is_some_and(|status| (500..600).contains(&status));
        let finished = permit.finished(failed, cost);
        let Some(record) = self.owed_difference(permit, finished, Ending::of(permit, failed), now) else {
            let claim = self.claim_of(shared, NO_RECORD, finished);
            let claims = shared.claims.claim(permit.home, permit.decision.0, claim, REMEMBERED).await;
            return claims.map(answer_of).map_err(|_| FinishError::Unavailable);
        };
        let Ok(room) = self.spool.reserve() else {
            Counters::count(&self.counters.unrecorded);
            return Err(FinishError::Unavailable);
        };
        let at = {
            let mut open = shared.claiming.open.lock();
            let at = room.append(&record.claiming());
            open.insert(permit.decision, Announced { at, home: permit.home, record });
            at
        };
        self.durable_if_strict(at).await;
        let announced = Announced { at, home: permit.home, record };
        self.resolve_and_wait(shared, announced, Try::First).await
    }

    /// Makes a claim that was announced, and waits until what it settles is in force.
    async fn resolve_and_wait(
        &self,
        shared: &Shared,
        announced: Announced,
        tried: Try,
    ) -> Result<Finished, FinishError> {
        let (finished, recorded) =
            self.resolve(shared, announced, tried).await.ok_or(FinishError::Unavailable)?;
        if let Some(at) = recorded.filter(|_| finished.settled > finished.reserved) {
            self.finish_in_force(shared, at).await;
        }
        Ok(finished)
    }

    fn claim_of(&self, shared: &Shared, token: u64, finished: Finished) -> PermitClaim {
        PermitClaim { node: shared.node, token, reserved: finished.reserved, settled: finished.settled }
    }

    /// Makes a claim that was announced, and records what it settles if it stands. Says where; nothing at all: it is
    /// not known yet, and stays open.
    async fn resolve(
        &self,
        shared: &Shared,
        announced: Announced,
        tried: Try,
    ) -> Option<(Finished, Option<Position>)> {
        let Announced { at, home, record } = announced;
        let (reserved, settled) = record.finished()?;
        let claim = self.claim_of(shared, at.0, Finished { reserved, settled });
        let decision = DecisionId(record.decision);
        match shared.claims.claim(home, record.decision, claim, REMEMBERED).await {
            Ok(stands) => {
                if stands != claim {
                    shared.claiming.open.lock().remove(&decision);
                    return Some((answer_of(stands), None));
                }
                let room = self.spool.reserve().ok()?;
                let recorded = {
                    // In one step, also for a caller that goes away: what is open is not recorded.
                    let mut open = shared.claiming.open.lock();
                    open.remove(&decision);
                    room.append(&record)
                };
                shared.in_force.owe(&record, recorded);
                shared.journal.wake();
                self.durable_if_strict(recorded).await;
                Some((answer_of(stands), Some(recorded)))
            }
            Err(QueryError::NotSent) if tried == Try::First => {
                // It has not happened. The next finish announces another claim.
                shared.claiming.open.lock().remove(&decision);
                None
            }
            Err(_) => None,
        }
    }

    async fn durable_if_strict(&self, position: Position) {
        if self.snapshot.load().policy().ledger.durability == Durability::Strict {
            let _ = tokio::time::timeout(Duration::from_secs(5), self.spool.wait_durable(position)).await;
        }
    }

    /// Finds the claims that earlier processes have announced and not recorded.
    pub(super) fn read_announced(&self, shared: &Shared, from: Position) -> Result<(), ReadError> {
        let until = shared.claiming.begins;
        if from >= until {
            return Ok(());
        }
        let mut found = BTreeMap::new();
        self.spool.read_until(from, until, |at, record| {
            if record.flags.contains(Flags::FINISHED) {
                found.remove(&DecisionId(record.decision));
            } else if let Some(finish) = record.claims() {
                let announced = Announced { at, home: record.home, record: finish };
                found.insert(DecisionId(record.decision), announced);
            }
        })?;
        shared.claiming.open.lock().extend(found);
        Ok(())
    }

    /// Makes the claims again whose outcome is not known, for as long as this is polled.
    pub async fn keep_claims(&self) {
        let Some(shared) = &self.shared else { return };
        loop {
            let open: Vec<Announced> = shared.claiming.open.lock().values().copied().collect();
            for announced in open {
                let decision = DecisionId(announced.record.decision);
                let _turn = shared.turns.take(announced.home, key_of(decision)).await;
                let still = shared.claiming.open.lock().get(&decision).copied();
                if let Some(announced) = still {
                    self.resolve(shared, announced, Try::Again).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn answer_of(claim: PermitClaim) -> Finished {
    Finished { reserved: claim.reserved, settled: claim.settled }
}

/// Under which a permit waits for its turn.
fn turn_of(permit: &Permit) -> (HomeId, u64) {
    (permit.home, key_of(permit.decision))
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is unique")]
fn key_of(decision: DecisionId) -> u64 {
    decision.0 as u64
}
