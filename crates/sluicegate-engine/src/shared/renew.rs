//! Slots that are held for longer, where they are in a shared store: of requests in flight here, and of services.

use std::time::Duration;

use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::Charges;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::Flags;
use sluicegate_store::redis::{Homes, Owed};

use super::Shared;
use crate::engine::Engine;
use crate::finish::FinishError;
use crate::permit::{HandedPermit, Kept, Permit};
use crate::request::Hold;

/// The most slots that are renewed in one call: as many as one call takes.
const AT_ONCE: usize = 256;
/// How often it is tried. The next renewal is due well before a lease ends.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

impl Shared {
    /// Renews the slots of requests of one home that take long. Says how many calls that takes.
    pub(crate) fn renew_slots(&self, home: HomeId, permits: &[Permit], now: Timestamp) -> usize {
        let renewals: Vec<Owed> = permits.iter().map(|permit| self.renewal(permit, now)).collect();
        let calls = renewals.len().div_ceil(AT_ONCE);
        self.runtime.spawn(renew_all(self.homes.clone(), home, renewals));
        calls
    }

    fn renewal(&self, permit: &Permit, now: Timestamp) -> Owed {
        let request = permit.request(Mode::Force, Charges::Slots, Amount::ONE, now);
        Owed { hold: permit.hold, ..self.owed_by(permit, request) }
    }

    /// Frees the slot that one permit has, and holds that of another in its place.
    pub(crate) fn swap_slots(&self, freed: &Permit, held: &Permit, now: Timestamp) {
        let homes = self.homes.clone();
        let freed = self.owed_by(freed, freed.release(now));
        let renewal = self.renewal(held, now);
        self.runtime.spawn(async move {
            if homes.settle(freed).await.is_ok() {
                let home = renewal.request.home;
                renew_all(homes, home, vec![renewal]).await;
            }
        });
    }
}

/// One call after the other: decisions of the same home come in between.
async fn renew_all(homes: Homes, home: HomeId, renewals: Vec<Owed>) {
    for some in renewals.chunks(AT_ONCE) {
        for tries in 1..=TRIES {
            if homes.renew(home, some.to_vec()).await.is_ok() {
                break;
            }
            tokio::time::sleep(PAUSE * tries).await;
        }
    }
}

impl Engine {
    pub(crate) async fn renew_shared(
        &self,
        shared: &Shared,
        text: &str,
        hold: Nanos,
        now: Timestamp,
    ) -> Result<HandedPermit, FinishError> {
        let sealed = self.open_to_renew(text, now)?;
        let standing = self.standing_anywhere(sealed.account).await;
        let standing = standing.map_err(|_| FinishError::Unavailable)?;
        if sealed.flags.contains(Flags::KEY_LIMITS) {
            let learnt = self.learn_limited_key(sealed.account, sealed.key, sealed.key_number).await;
            learnt.map_err(|_| FinishError::Unavailable)?;
        }
        let mut permit = self.permit_of(sealed, standing.as_deref());
        if permit.kept == Kept::Here {
            return self.renew_in_memory(permit, hold, now);
        }
        permit.hold = Hold::For(hold).span();
        self.expect_open(shared, &permit).await?;
        if permit.is_held_by_service() {
            let renewed = shared.homes.settle(shared.renewal(&permit, now)).await;
            let renewed = renewed.map_err(|_| FinishError::Unavailable)?;
            if !matches!(renewed.outcome, Outcome::Admitted { .. }) {
                return Err(FinishError::Expired);
            }
            if let Err(error) = self.expect_open(shared, &permit).await {
                // It was finished meanwhile, and its slot is released once more.
                shared.release(&permit, None, now);
                return Err(error);
            }
        }
        self.handed_on(permit, now)
    }

    /// That nobody has finished a permit.
    async fn expect_open(&self, shared: &Shared, permit: &Permit) -> Result<(), FinishError> {
        if shared.recent.hold(permit.decision).finished().is_some() {
            return Err(FinishError::Finished);
        }
        match shared.claims.find(permit.home, permit.decision.0).await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err(FinishError::Finished),
            Err(_) => Err(FinishError::Unavailable),
        }
    }
}
