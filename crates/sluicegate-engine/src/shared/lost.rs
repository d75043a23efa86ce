//! Calls of the store that were cut off, on disk.
//!
//! The caller was told that nothing was settled, and what the call may have done is undone. A process that ends
//! before that has left a record (`DOUBT`) of what was asked for and in which call, before anything else was decided
//! about the request. The next process takes no calls of that home until it knows what the call did and has undone
//! it. The store remembers the last call of each node, so that is done once, however often the process ends meanwhile.
//! What others were billed because of such a call is given back with it, and recorded.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use parking_lot::Mutex;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::rule::Amount;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind, Position, ReadError, Record, Settlement, Unit};
use sluicegate_store::redis::{Billed, Homes, NameUse, NodeId, Owed, RequestName, SentIn, Seq, Undone};

use super::Shared;
use crate::engine::Engine;
use crate::ids::DecisionId;
use crate::permit::{Permit, SlotKey};
use crate::record::{billed_print, record};

/// What is known of calls that were cut off.
#[derive(Debug, Default)]
pub(crate) struct LostCalls {
    /// The records of those of which it may not be known yet what they did.
    open: Mutex<BTreeMap<Position, (HomeId, Seq)>>,
    /// Those of processes before this one that are still to be looked into: the last of each home.
    earlier: Mutex<BTreeMap<HomeId, Earlier>>,
}

/// A call that a process before this one has lost.
#[derive(Debug)]
struct Earlier {
    seq: Seq,
    /// A record for each request of it that was answered.
    asked: Vec<Record>,
}

impl LostCalls {
    /// The first record that is still needed: the journal must not pass it.
    pub(super) fn first(&self, homes: &Homes) -> Option<Position> {
        let mut open = self.open.lock();
        open.retain(|_, (home, seq)| homes.is_open(*home, *seq));
        open.keys().next().copied()
    }
}

impl Engine {
    /// Notes that it is not known whether a call has charged a request, before that is decided otherwise.
    pub(crate) fn note_lost(&self, shared: &Shared, permit: &Permit, call: SentIn, now: Timestamp) {
        // Without room nothing else is recorded either, and this process undoes what it did.
        let Ok(room) = self.spool.reserve() else { return };
        let charge = record(permit, Kind::Charge, permit.usage(), 0, now);
        // In one step: the journal does not pass what is open.
        let mut open = shared.lost.open.lock();
        let at = room.append(&charge.in_doubt(call.seq.get(), call.place));
        open.insert(at, (permit.home, call.seq));
    }

    /// Takes no calls of homes of which a process before this one has lost one.
    pub(crate) fn block_lost(&self) -> Result<(), ReadError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let (mut open, mut earlier) = (BTreeMap::new(), BTreeMap::new());
        self.spool.read(self.journal_begins(), |at, record| {
            let Some(seq) = record.lost_call().and_then(|lost| Seq::new(lost.seq)) else { return };
            open.insert(at, (record.home, seq));
            let last = earlier.entry(record.home).or_insert(Earlier { seq, asked: Vec::new() });
            if last.seq < seq {
                // The store was asked again since: what the other did is undone.
                *last = Earlier { seq, asked: Vec::new() };
            }
            if last.seq == seq {
                last.asked.push(*record);
            }
        })?;
        for (home, lost) in &earlier {
            shared.homes.block(*home, lost.seq);
        }
        shared.lost.open.lock().extend(open);
        *shared.lost.earlier.lock() = earlier;
        Ok(())
    }

    /// Has the calls looked into that processes before this one have lost. It is waited for their plans alone.
    pub(super) async fn undo_lost(&self, shared: &Shared) {
        let earlier = std::mem::take(&mut *shared.lost.earlier.lock());
        for (home, Earlier { seq, asked }) in earlier {
            let mut asks = Vec::new();
            for record in asked {
                asks.extend(self.lost_ask(shared, &record).await);
            }
            shared.homes.undo_lost(home, seq, asks);
        }
    }

    /// What a call asked for, and its place there. Nothing if its account is not known any more.
    async fn lost_ask(&self, shared: &Shared, record: &Record) -> Option<(u16, Owed)> {
        let lost = record.lost_call()?;
        let plan = self.plan_of_payer(record).await?;
        let decision = DecisionId(record.decision);
        let slot = SlotKey::of(decision);
        let request = Request {
            home: record.home,
            key: record.tagged_key_number(),
            route: self.snapshot.load().route_of_number(record.route),
            cost: Amount::new(lost.cost)?,
            now: self.now(),
            mode: Mode::Charge,
            which: Charges::All,
            slot: slot.id,
        };
        let name = lost.name.map(|name| RequestName {
            key: name.key,
            request: name.request,
            decision: record.decision,
            since: None,
            used: NameUse::Vouched,
        });
        let holder = slot.holder.map_or(shared.node, NodeId);
        let Record { account, key, route, decision, .. } = *record;
        let billed = (account != 0).then_some(Billed { account, key, route, decision, overage: 0 });
        Some((lost.place, Owed { holder, name, billed, ..shared.owed(&plan, request) }))
    }

    /// Records what was given back of the overage with calls that were undone: others were billed because of them.
    pub(super) fn record_undone(&self, shared: &Shared) {
        while let Ok(room) = self.spool.reserve()
            && let Some(undone) = shared.homes.next_undone()
        {
            room.append(&self.refund_of(&undone));
        }
    }

    fn refund_of(&self, undone: &Undone) -> Record {
        let Undone { owed, billed, charged_at, overage } = undone;
        let key = owed.request.key;
        Record {
            kind: Kind::Refund,
            at: self.now(),
            charged_at: *charged_at,
            decision: billed.decision,
            home: owed.request.home,
            account: billed.account,
            key: billed.key,
            key_number: key.and_then(KeyEnv::untag).map_or(0, NonZeroU32::get),
            route: billed.route,
            tier: owed.plan.number,
            env: key.map_or(KeyEnv::Live, KeyEnv::of_tagged),
            unit: Unit::Requests,
            cost: 0,
            overage: *overage,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: billed_print(&owed.plan),
        }
    }
}
